//! The daemon's own check of a file, before it becomes the file on disk.

mod mask;
mod shell;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use mask::mask;
use shell::{names_source, place_source};

use crate::types::Family;

/// The time that a check gets when nothing else is said.
pub const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// The variable that names the folder of `bird` and `bird6`; without it they are looked for in `PATH`.
pub const BIRD_FOLDER: &str = "TAILORBIRD_BIRD1";

/// The variable that holds the staged file's path while a `check_cmd` runs.
pub const SOURCE_VARIABLE: &str = "TAILORBIRD_SRC";

/// What is kept of a checker's output.
const OUTPUT_LIMIT: u64 = 64 * 1024;

/// How long to wait for output that a background process of a finished checker may still hold open.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// The daemons of BIRD 1.x. BIRD 2 and 3 have `bird` alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Daemon {
    /// `bird`.
    Bird,
    /// `bird6`.
    Bird6,
}

impl Daemon {
    /// The name of the program.
    pub fn program(self) -> &'static str {
        match self {
            Daemon::Bird => "bird",
            Daemon::Bird6 => "bird6",
        }
    }

    /// The name of its control socket.
    pub fn socket(self) -> &'static str {
        match self {
            Daemon::Bird => "bird.ctl",
            Daemon::Bird6 => "bird6.ctl",
        }
    }

    /// The daemon that routes a family.
    pub fn of(family: Family) -> Self {
        match family {
            Family::V4 => Daemon::Bird,
            Family::V6 => Daemon::Bird6,
        }
    }

    /// The family that it routes.
    pub fn family(self) -> Family {
        match self {
            Daemon::Bird => Family::V4,
            Daemon::Bird6 => Family::V6,
        }
    }

    /// The program's path: in the folder that [`BIRD_FOLDER`] names if it is set, else in the first folder of `PATH`
    /// that has both `bird` and `bird6`, for a `bird` alone is BIRD 2 or 3.
    ///
    /// # Errors
    ///
    /// [`BIRD_FOLDER`] is set, and the program is not there.
    pub fn locate(self) -> Result<Option<PathBuf>, MissingDaemon> {
        if let Some(folder) = std::env::var_os(BIRD_FOLDER).filter(|folder| !folder.is_empty()) {
            let found = self.locate_in(&folder);
            return found.map(Some).ok_or(MissingDaemon { daemon: self, folder: folder.into() });
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let both = |folder: &PathBuf| {
            [Daemon::Bird, Daemon::Bird6].iter().all(|daemon| folder.join(daemon.program()).is_file())
        };
        Ok(std::env::split_paths(&path).find(both).map(|folder| folder.join(self.program())))
    }

    /// The program's path in the first of these folders (separated as in `PATH`) that has it.
    pub fn locate_in(self, folders: &OsStr) -> Option<PathBuf> {
        std::env::split_paths(folders).map(|folder| folder.join(self.program())).find(|path| path.is_file())
    }
}

/// The folder that was named for the daemons does not have this one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{BIRD_FOLDER}={}: there is no program {} in that folder", folder.display(), daemon.program())]
pub struct MissingDaemon {
    /// The daemon.
    pub daemon: Daemon,
    /// The folder.
    pub folder: PathBuf,
}

/// How a file is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// `PROGRAM -p -c FILE`: BIRD parses the file and whatever it includes, and does nothing else.
    Bird(PathBuf),
    /// A command for `sh -c`, in which `{{.src}}` or `{{src}}` stands for the file.
    ///
    /// The path is not pasted into the command: the placeholder becomes `"$TAILORBIRD_SRC"`, quotes right around
    /// it are taken off first. Within a longer quoted text (`sh -c 'bird -p -c {{.src}}'`) the path itself is
    /// put in, and refused if it holds anything but ASCII letters, digits and `/ . _ - + @ , : =`.
    Command(String),
}

impl Check {
    /// The check of a daemon of this machine, if it is installed.
    ///
    /// # Errors
    ///
    /// It is not where it was said to be.
    pub fn installed(daemon: Daemon) -> Result<Option<Self>, MissingDaemon> {
        Ok(daemon.locate()?.map(Check::Bird))
    }

    /// Whether it is about the file that it is run with, or the same for any.
    pub fn names_file(&self) -> bool {
        match self {
            Check::Bird(_) => true,
            Check::Command(command) => names_source(command),
        }
    }

    /// Checks a file. `Ok` when the checker ends with status 0 in time.
    ///
    /// # Errors
    ///
    /// [`CheckError`] with the checker's own words; its whole process group is killed when the time is over.
    pub fn run(&self, file: &Path, timeout: Duration) -> Result<(), CheckError> {
        let mut command = self.command(file)?;
        let checker = self.name();
        let ran = run_bounded(&mut command, timeout)
            .map_err(|source| CheckError::NotRun { checker: checker.clone(), source })?;
        let words = mask_words(ran.words.trim());
        match ran.status {
            None => Err(CheckError::TimedOut { checker, after: timeout, words }),
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let line = NamedLine::find(&ran.words, file);
                Err(CheckError::Refused { checker, status, words, line })
            }
        }
    }

    /// The program or the command, for people.
    pub fn name(&self) -> String {
        match self {
            Check::Bird(program) => program.display().to_string(),
            Check::Command(command) => command.clone(),
        }
    }

    fn command(&self, file: &Path) -> Result<Command, CheckError> {
        match self {
            Check::Bird(program) => {
                let mut command = Command::new(program);
                command.arg("-p").arg("-c").arg(file);
                Ok(command)
            }
            Check::Command(text) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(place_source(text, file)?).env(SOURCE_VARIABLE, file);
                Ok(command)
            }
        }
    }
}

/// Why a check did not pass.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The checker could not be started.
    #[error("the check `{checker}` could not be run: {source}")]
    NotRun {
        /// The program or command.
        checker: String,
        /// Why.
        source: io::Error,
    },
    /// The checker did not end in time and was killed.
    #[error("the check `{checker}` did not end within {after:?} and was stopped{}", said(words))]
    TimedOut {
        /// The program or command.
        checker: String,
        /// The time it had.
        after: Duration,
        /// What it said until then.
        words: String,
    },
    /// The checker refused the file.
    #[error("the check `{checker}` refused the file ({status}){}{}", said(words), shown(line))]
    Refused {
        /// The program or command.
        checker: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said, passwords masked.
        words: String,
        /// The line that it named, if it named one.
        line: Option<NamedLine>,
    },
    /// The path would be read by the shell as more than a path.
    #[error(
        "the check `{checker}` has its file inside a quoted text, where the path {} could change the command: \
         put {{{{.src}}}} outside quotes, or give the destination a plain name",
        path.display()
    )]
    UnsafePath {
        /// The command.
        checker: String,
        /// The path.
        path: PathBuf,
    },
    /// A BIRD that runs was to check the file, and refused it or could not be asked.
    #[error("{words}")]
    Running {
        /// What it said, or why it could not be asked; passwords masked.
        words: String,
    },
}

impl CheckError {
    /// The same error with one path prefix in place of another: users know the destination, not the folder where
    /// it was staged.
    pub fn relocated(mut self, from: &Path, to: &Path) -> Self {
        let (from_text, to_text) = (from.display().to_string(), to.display().to_string());
        if let CheckError::TimedOut { words, .. }
        | CheckError::Refused { words, .. }
        | CheckError::Running { words } = &mut self
        {
            *words = words.replace(&from_text, &to_text);
        }
        if let CheckError::Refused { line: Some(line), .. } = &mut self
            && let Ok(rest) = line.path.strip_prefix(from)
        {
            line.path = to.join(rest);
        }
        self
    }
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

fn shown(line: &Option<NamedLine>) -> String {
    line.as_ref().map(|line| format!("\n  line {}: {}", line.number, line.text)).unwrap_or_default()
}

/// A line of a rendered file that a checker named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedLine {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub number: usize,
    /// Its text, passwords masked.
    pub text: String,
}

impl NamedLine {
    /// The first `file:line` or `file, line N` in a checker's words that names the checked file or one beside it.
    fn find(words: &str, checked: &Path) -> Option<Self> {
        let entries = fs::read_dir(checked.parent()?).ok()?;
        entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let (at, number) = mention(words, path.to_str()?)?;
                Some((at, path, number))
            })
            .min()
            .and_then(|(_, path, number)| {
                let text = line_text(&path, number).ok()??;
                Some(Self { path, number, text })
            })
    }
}

/// Where the words name a line of this file, and which line.
fn mention(words: &str, path: &str) -> Option<(usize, usize)> {
    words.match_indices(path).find_map(|(at, _)| {
        let rest = &words[at + path.len()..];
        let digits = rest.strip_prefix(':').or_else(|| rest.strip_prefix(", line "))?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().ok().map(|number| (at, number))
    })
}

/// A line of a file, masked and cut to a length that fits a message.
fn line_text(path: &Path, number: usize) -> io::Result<Option<String>> {
    let mut reader = BufReader::new(File::open(path)?);
    let (mut before, mut line) = (String::new(), Vec::new());
    for current in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        if current == number {
            return Ok(Some(mask(&before, text.trim()).chars().take(200).collect()));
        }
        if !text.trim().is_empty() {
            before = text.trim().to_owned();
        }
    }
    Ok(None)
}

/// A text in BIRD's language as it may be shown: without passwords.
pub fn mask_words(words: &str) -> String {
    let mut before = "";
    let mut masked = String::with_capacity(words.len());
    for line in words.split_inclusive('\n') {
        let text = line.trim_end_matches('\n');
        masked.push_str(&mask(before, text));
        masked.push_str(&line[text.len()..]);
        if !text.trim().is_empty() {
            before = text;
        }
    }
    masked
}

struct Ran {
    /// Absent when the time was over.
    status: Option<ExitStatus>,
    words: String,
}

fn run_bounded(command: &mut Command, timeout: Duration) -> io::Result<Ran> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let outputs = [capture(child.stdout.take()), capture(child.stderr.take())];
    let status = wait_bounded(child, timeout)?;
    let words: Vec<String> =
        outputs.into_iter().map(Captured::finish).filter(|words| !words.is_empty()).collect();
    Ok(Ran { status, words: words.join("\n") })
}

/// Waits for the end of a process; kills its group when the time is over.
fn wait_bounded(mut child: Child, timeout: Duration) -> io::Result<Option<ExitStatus>> {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let (sender, receiver) = mpsc::channel();
    let waiter = thread::spawn(move || {
        // The receiver is gone when the time was over: then nobody asks for the status.
        let _ = sender.send(child.wait());
    });
    match receiver.recv_timeout(timeout) {
        Ok(status) => status.map(Some),
        Err(_) => {
            if let Some(group) = group {
                rustix::process::kill_process_group(group, rustix::process::Signal::KILL)?;
            }
            // It was killed, so this ends.
            let _ = waiter.join();
            Ok(None)
        }
    }
}

struct Captured {
    text: Arc<Mutex<Vec<u8>>>,
    done: mpsc::Receiver<()>,
}

/// Reads an output to its end in the background and keeps its beginning.
fn capture(output: Option<impl Read + Send + 'static>) -> Captured {
    let text = Arc::new(Mutex::new(Vec::new()));
    let (sender, done) = mpsc::channel();
    if let Some(mut output) = output {
        let kept = Arc::clone(&text);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = OUTPUT_LIMIT.saturating_sub(kept.len() as u64) as usize;
                kept.extend_from_slice(&buffer[..count.min(room)]);
            }
            drop(sender);
        });
    }
    Captured { text, done }
}

impl Captured {
    fn finish(self) -> String {
        // An error means that the reader is at the end, or still reads after the grace: both are good enough.
        let _ = self.done.recv_timeout(OUTPUT_GRACE);
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).trim().to_owned()
    }
}
