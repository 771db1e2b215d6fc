//! Real daemons, each with a folder, a socket and addresses of its own, stopped when the test ends.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tailorbird::bird::control::Control;
use tempfile::TempDir;

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A BIRD of this machine.
#[derive(Clone)]
pub(crate) struct Version {
    /// 1, 2 or 3.
    pub number: u8,
    program: PathBuf,
}

/// Runs a test with each BIRD that the environment names.
pub(crate) fn each(test: impl Fn(Version)) {
    for number in 1..=3 {
        let variable = format!("TAILORBIRD_BIRD{number}");
        let program = std::env::var_os(&variable).map(|folder| PathBuf::from(folder).join("bird"));
        match program.filter(|program| program.is_file()) {
            Some(program) => test(Version { number, program }),
            None => eprintln!("skipped for BIRD {number}: {variable} names no folder with a program bird"),
        }
    }
}

/// Two neighbours' addresses that no other test has.
pub(crate) fn addresses() -> [String; 2] {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let (id, next) = (std::process::id(), NEXT.fetch_add(2, Ordering::Relaxed));
    [next, next + 1].map(|last| format!("127.{}.{}.{last}", 1 + id / 250 % 250, 1 + id % 250))
}

impl Version {
    /// A configuration with this router, static routes to these networks, and these further lines.
    pub(crate) fn config(&self, router: u8, networks: &[&str], more: &str) -> String {
        let routes: String =
            networks.iter().map(|network| format!("  route {network} blackhole;\n")).collect();
        let channel = if self.number == 1 { "" } else { "  ipv4;\n" };
        format!(
            "router id 10.0.0.{router};\nprotocol device {{ }}\nprotocol static networks {{\n{channel}{routes}}}\n{more}"
        )
    }

    /// The lines of a session between two addresses.
    pub(crate) fn session(&self, local: &str, local_as: u32, remote: &str, remote_as: u32) -> String {
        let times = "connect delay time 1; connect retry time 1; error wait time 1, 2;";
        if self.number == 1 {
            format!(
                "listen bgp address {local} port 1790;\nprotocol bgp session {{\n  local {local} as {local_as};\n  neighbor {remote} \
                 port 1790 as {remote_as};\n  multihop 2; source address {local}; {times}\n  import all; export all;\n}}\n"
            )
        } else {
            format!(
                "protocol bgp session {{\n  description \"the other one\";\n  local {local} port 1790 as {local_as};\n  neighbor \
                 {remote} port 1790 as {remote_as};\n  multihop 2; strict bind yes; {times}\n  ipv4 {{ import all; export all; \
                 }};\n}}\n"
            )
        }
    }

    /// Starts a daemon, which answers when this returns.
    pub(crate) fn start(&self, config: &str) -> Daemon {
        let folder = tempfile::tempdir().unwrap();
        let config_file = folder.path().join("bird.cfg");
        fs::write(&config_file, config).unwrap();
        let socket = folder.path().join("bird.ctl");
        let log = folder.path().join("log");
        let child = Command::new(&self.program)
            .args(["-f", "-c"])
            .arg(&config_file)
            .arg("-s")
            .arg(&socket)
            .arg("-P")
            .arg(folder.path().join("pid"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut daemon = Daemon { folder, child };
        until("the daemon answers", || {
            if let Some(status) = daemon.child.try_wait().unwrap() {
                panic!("BIRD {} ended ({status}): {}", self.number, fs::read_to_string(&log).unwrap());
            }
            Control::connect(&socket, PATIENCE).ok()
        });
        daemon
    }
}

pub(crate) struct Daemon {
    folder: TempDir,
    child: Child,
}

impl Daemon {
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("bird.ctl")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn control(&self) -> Control {
        Control::connect(&self.socket(), PATIENCE).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it as a crash would: what it had stays.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks until there is something.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "it did not come to pass that {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
