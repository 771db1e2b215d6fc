//! A server that follows a script, one for each connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use tempfile::TempDir;

/// What the server does next.
#[derive(Clone)]
pub(crate) enum Step {
    /// Writes this.
    Say(String),
    /// Reads a line, which must be this command.
    Expect(&'static str),
    /// Reads this command and answers it, as often as it comes; what else comes is for the next step.
    Each(&'static str, String),
    /// Writes this again and again until the client goes.
    Flood(&'static [u8]),
    /// Says nothing more and waits until the client goes.
    Hang,
}

/// The greeting of a BIRD.
pub(crate) fn greet() -> Step {
    say("0001 BIRD 2.19.2 ready.\n")
}

pub(crate) fn say(text: impl Into<String>) -> Step {
    Step::Say(text.into())
}

/// Reads a command and answers it.
pub(crate) fn answer(command: &'static str, text: impl Into<String>) -> [Step; 2] {
    [Step::Expect(command), say(text)]
}

/// The answer to `show status` of a BIRD that read its configuration this many seconds ago, less than a minute.
pub(crate) fn status(last_line: &str, age: u32) -> String {
    format!(
        "1000-BIRD 2.19.2\n1011-Router ID is 10.0.0.1\n Hostname is node\n Current server time is 2026-11-29 12:00:59.500\n \
         Last reboot on 2026-11-29 11:00:00.000\n Last reconfiguration on 2026-11-29 12:00:{:02}.500\n0013 {last_line}\n",
        59 - age
    )
}

pub(crate) const UP: &str = "Daemon is up and running";
pub(crate) const BUSY: &str = "Reconfiguration in progress";
pub(crate) const ENDING: &str = "Shutdown in progress";

/// A server with a socket of its own.
pub(crate) struct Fake {
    folder: TempDir,
    thread: JoinHandle<()>,
}

impl Fake {
    /// With a script for each connection that will come.
    pub(crate) fn new(scripts: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("bird.ctl")).unwrap();
        let scripts: Vec<_> = scripts.into_iter().collect();
        let thread = std::thread::spawn(move || {
            for script in scripts {
                play(listener.accept().unwrap().0, script);
            }
        });
        Self { folder, thread }
    }

    /// With one connection.
    pub(crate) fn once(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::new([steps.into_iter().collect()])
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("bird.ctl")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sees that every script was followed to its end.
    pub(crate) fn finish(self) {
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

fn play(stream: UnixStream, script: Vec<Step>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    let mut ahead: Option<String> = None;
    let mut next = |ahead: &mut Option<String>| {
        ahead.take().unwrap_or_else(|| {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            line.trim_end_matches('\n').to_owned()
        })
    };
    for step in script {
        match step {
            // The client may be gone by then: its business.
            Step::Say(text) => drop(writer.write_all(text.as_bytes())),
            Step::Expect(command) => assert_eq!(next(&mut ahead), command),
            Step::Each(command, answer) => loop {
                let line = next(&mut ahead);
                if line != command {
                    ahead = Some(line);
                    break;
                }
                drop(writer.write_all(answer.as_bytes()));
            },
            Step::Flood(bytes) => while writer.write_all(bytes).is_ok() {},
            Step::Hang => drop(writer.read_to_end(&mut Vec::new())),
        }
    }
}
