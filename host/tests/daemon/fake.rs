//! A stand-in for a running BIRD, which can be made to misbehave.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use crate::world::until;

/// What it does when it is told to read its configuration; `Hang` and `Garbage` are its answer to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Does it.
    Fine,
    /// Refuses the file.
    Refuse,
    /// Says that it is done, and does nothing.
    Lie,
    /// Never answers.
    Hang,
    /// Answers what is no answer.
    Garbage,
}

struct State {
    mode: Mutex<Mode>,
    loads: AtomicUsize,
    looks: AtomicUsize,
    checks: AtomicUsize,
    confirmed: AtomicUsize,
    undone: AtomicUsize,
    begun: Instant,
    /// When it has read its configuration.
    read: Mutex<Instant>,
    ended: AtomicBool,
}

/// A server at a socket; it is gone with this value.
pub(crate) struct FakeBird {
    socket: PathBuf,
    state: Arc<State>,
}

impl FakeBird {
    pub(crate) fn start(socket: &Path) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        let now = Instant::now();
        let state = Arc::new(State {
            mode: Mutex::new(Mode::Fine),
            loads: AtomicUsize::new(0),
            looks: AtomicUsize::new(0),
            checks: AtomicUsize::new(0),
            confirmed: AtomicUsize::new(0),
            undone: AtomicUsize::new(0),
            begun: now,
            read: Mutex::new(now),
            ended: AtomicBool::new(false),
        });
        let shared = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.ended.load(Ordering::SeqCst) {
                    return;
                }
                let state = shared.clone();
                // The client may go at any time: its business.
                thread::spawn(move || drop(state.talk(stream.unwrap())));
            }
        });
        Self { socket: socket.to_owned(), state }
    }

    pub(crate) fn set(&self, mode: Mode) {
        *self.state.mode.lock().unwrap() = mode;
    }

    /// How often it was told to read its configuration, and did.
    pub(crate) fn loads(&self) -> usize {
        self.state.loads.load(Ordering::SeqCst)
    }
}

impl FakeBird {
    /// How often its protocols were asked for.
    fn looks(&self) -> usize {
        self.state.looks.load(Ordering::SeqCst)
    }

    /// Waits until its protocols have been asked for so many times more.
    #[track_caller]
    pub(crate) fn looked(&self, times: usize) {
        let before = self.looks();
        until("BIRD is asked how it is", || (self.looks() >= before + times).then_some(()));
    }

    /// How often it was asked to check a file.
    pub(crate) fn checks(&self) -> usize {
        self.state.checks.load(Ordering::SeqCst)
    }

    /// How often it was told to keep what it would have undone, and to undo it.
    pub(crate) fn confirmed_and_undone(&self) -> (usize, usize) {
        (self.state.confirmed.load(Ordering::SeqCst), self.state.undone.load(Ordering::SeqCst))
    }

    /// It goes back to what it ran when it began, as by another's `configure undo`.
    pub(crate) fn go_back(&self) {
        *self.state.read.lock().unwrap() = self.state.begun;
    }
}

impl Drop for FakeBird {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::SeqCst);
        // So that the server notices; the socket may have been removed.
        drop(UnixStream::connect(&self.socket));
        drop(std::fs::remove_file(&self.socket));
    }
}

impl State {
    fn time(&self, at: Instant) -> String {
        let since = (at - self.begun).as_millis();
        let (minutes, millis) = (since / 60_000, since % 60_000);
        format!("2026-11-29 12:{minutes:02}:{:02}.{:03}", millis / 1000, millis % 1000)
    }

    fn talk(&self, mut stream: UnixStream) -> std::io::Result<()> {
        stream.write_all(b"0001 BIRD 2.19.2 ready.\n")?;
        let mut asked = BufReader::new(stream.try_clone()?);
        let (mut line, mut answers) = (String::new(), String::new());
        loop {
            line.clear();
            if asked.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let mode = *self.mode.lock().unwrap();
            let answer = match (line.trim_end(), mode) {
                (_, Mode::Hang) => continue,
                (_, Mode::Garbage) => "no answer at all\n".to_owned(),
                ("restrict", _) => "0016 Access restricted\n".to_owned(),
                ("configure confirm", _) => {
                    self.confirmed.fetch_add(1, Ordering::SeqCst);
                    "0018 Reconfiguration confirmed\n".to_owned()
                }
                ("configure undo", _) => {
                    self.undone.fetch_add(1, Ordering::SeqCst);
                    "0003 Reconfigured\n".to_owned()
                }
                (check, mode) if check.starts_with("configure check ") => {
                    self.checks.fetch_add(1, Ordering::SeqCst);
                    let file = check.split('"').nth(1).unwrap_or_default();
                    let read = std::fs::read_to_string(file).unwrap_or_default();
                    let fine = mode != Mode::Refuse && read.contains("router id");
                    let answer = if fine {
                        "0020 Configuration OK".into()
                    } else {
                        format!("8002 {file}:3:1 syntax error")
                    };
                    format!("0002-Reading configuration from {file}\n{answer}\n")
                }
                ("configure" | "configure timeout 10", Mode::Refuse) => {
                    "0002-Reading configuration from /x/bird.cfg\n8002 /x/bird.cfg:3:1 syntax error\n"
                        .to_owned()
                }
                ("configure" | "configure timeout 10", mode) => {
                    if mode == Mode::Fine {
                        *self.read.lock().unwrap() = Instant::now();
                        self.loads.fetch_add(1, Ordering::SeqCst);
                    }
                    "0002-Reading configuration from /x/bird.cfg\n0003 Reconfigured\n".to_owned()
                }
                ("show status", _) => format!(
                    "1000-BIRD 2.19.2\n1011-Router ID is 10.0.0.1\n Hostname is node\n Current server time is {}\n \
                     Last reboot on {}\n Last reconfiguration on {}\n0013 Daemon is up and running\n",
                    self.time(Instant::now()),
                    self.time(self.begun),
                    self.time(*self.read.lock().unwrap()),
                ),
                ("show protocols all", _) => {
                    self.looks.fetch_add(1, Ordering::SeqCst);
                    "2002-Name       Proto      Table      State  Since         Info\n\
                     1002-Mesh_10_0_0_2 BGP        ---        up     12:00:00.000  Established   \n\
                     1006-  BGP state:          Established\n     Neighbor address: 10.0.0.2\n \n0000 \n"
                        .to_owned()
                }
                (other, _) => format!("9001 syntax error, unexpected {other}\n"),
            };
            answers.push_str(&answer);
            // What was asked at once is answered at once.
            if asked.buffer().is_empty() {
                stream.write_all(answers.as_bytes())?;
                answers.clear();
            }
        }
    }
}
