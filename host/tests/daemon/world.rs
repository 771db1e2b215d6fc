//! A cluster in a folder, BIRD's stand-ins, and the daemon over them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::Bench;
use crate::fake::FakeBird;

/// The longest that anything is waited for. The machine may be busy with other things.
const PATIENCE: Duration = Duration::from_secs(45);

/// Looks until there is something.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "it did not come to pass that {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The daemon's part of the configuration file: everything soon.
pub(crate) const QUICK: &str =
    "[daemon]\nquiet = \"20ms\"\nprobe = \"200ms\"\ncheck_timeout = \"1s\"\nreload_timeout = \"1s\"\n";

/// A folder with `objects`, `out`, `run` for BIRD's sockets, `birds` for its programs, and `tailorbird.toml`.
pub(crate) struct World {
    pub(crate) bench: Bench,
}

impl World {
    pub(crate) fn new() -> Self {
        let bench = Bench::new();
        for folder in ["out", "run"] {
            fs::create_dir(bench.path(folder)).unwrap();
        }
        bench.put("tailorbird.toml", QUICK);
        Self { bench }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.bench.path(name)
    }

    /// A stand-in for `bird` or `bird6`.
    pub(crate) fn bird(&self, name: &str) -> FakeBird {
        FakeBird::start(&self.path("run").join(format!("{name}.ctl")))
    }

    /// Both.
    pub(crate) fn birds(&self) -> [FakeBird; 2] {
        ["bird", "bird6"].map(|name| self.bird(name))
    }

    /// A file that was rendered; empty while it is not there.
    pub(crate) fn out(&self, name: &str) -> String {
        fs::read_to_string(self.path("out").join(name)).unwrap_or_default()
    }

    /// Waits until a file that was rendered has this in it, or has it not.
    #[track_caller]
    pub(crate) fn shows(&self, name: &str, text: &str, shown: bool) {
        let not = if shown { "" } else { "not " };
        until(&format!("{name} does {not}show {text}"), || {
            let now = self.out(name);
            (!now.is_empty() && now.contains(text) == shown).then_some(())
        });
    }

    /// Writes a peer into a file of objects, in the way of an editor that replaces the file.
    pub(crate) fn put_peer(&self, file: &str, address: &str) {
        self.put_object(file, &peer(address));
    }

    pub(crate) fn put_object(&self, file: &str, text: &str) {
        self.bench.put("objects/.new", text);
        fs::rename(self.path("objects/.new"), self.path("objects").join(file)).unwrap();
    }

    pub(crate) fn command(&self) -> Command {
        let line =
            "run --objects OBJECTS --node worker-1 --out OUT --config tailorbird.toml --http 127.0.0.1:0";
        let mut command = self.bench.command(line);
        command.env("TAILORBIRD_BIRD_SOCKETS", self.path("run"));
        command
    }

    pub(crate) fn start(&self) -> Daemon {
        self.start_as(self.command())
    }

    pub(crate) fn start_as(&self, mut command: Command) -> Daemon {
        let log = self.path("log");
        let child = command.stdout(Stdio::null()).stderr(File::create(&log).unwrap()).spawn().unwrap();
        let mut daemon = Daemon { child, log, http: ([127, 0, 0, 1], 0).into() };
        daemon.http = until("the daemon says where it answers HTTP", || {
            if let Some(status) = daemon.child.try_wait().unwrap() {
                panic!("the daemon ended ({status}): {}", daemon.log());
            }
            let log = daemon.log();
            let (_, rest) = log.split_once("bound=").or_else(|| log.split_once("\"bound\":\""))?;
            let end = rest.find(|c: char| c.is_whitespace() || c == '"')?;
            rest[..end].parse().ok()
        });
        daemon
    }
}

/// A global peer.
pub(crate) fn peer(address: &str) -> String {
    let name = address.replace(['.', ':'], "-");
    format!(
        "apiVersion: crd.projectcalico.org/v1\nkind: BGPPeer\nmetadata: {{name: p-{name}}}\nspec: {{peerIP: \"{address}\", asNumber: 65001}}\n"
    )
}

/// The cluster's BGPConfiguration.
pub(crate) fn configuration(spec: &str) -> String {
    format!(
        "apiVersion: crd.projectcalico.org/v1\nkind: BGPConfiguration\nmetadata: {{name: default}}\nspec: {{{spec}}}\n"
    )
}

/// Replaced as a whole: a half-written component is another test's business.
pub(crate) fn put_plugin(world: &World, name: &str, component: &[u8]) {
    fs::write(world.path("new.wasm"), component).unwrap();
    fs::rename(world.path("new.wasm"), world.path(name)).unwrap();
}

/// A resource of a group of its own.
pub(crate) fn put_template(world: &World, name: &str, template: &str) {
    let text =
        format!("[template]\nsrc = \"{name}.hbs\"\ndest = \"/x/{name}.txt\"\nfamily = \"v4\"\nmodel = 1\n");
    world.bench.put(&format!("confdir/conf.d/{name}.toml"), &text);
    world.bench.put(&format!("confdir/templates/{name}.hbs"), template);
}

/// A daemon that runs; it is killed with this value.
pub(crate) struct Daemon {
    child: Child,
    log: PathBuf,
    pub(crate) http: SocketAddr,
}

impl Daemon {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    #[track_caller]
    pub(crate) fn logs(&self, text: &str) {
        until(&format!("the log shows {text}"), || self.log().contains(text).then_some(()));
    }

    /// Asks; the code, the head and the body.
    pub(crate) fn ask(&self, method: &str, path: &str) -> (u16, String, String) {
        self.say(method, path, "")
    }

    /// Asks with a body.
    pub(crate) fn say(&self, method: &str, path: &str, body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.http).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let code = head.split_whitespace().nth(1).unwrap().parse().unwrap();
        (code, head.to_ascii_lowercase(), body.to_owned())
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let (code, _, body) = self.ask("GET", path);
        (code, body)
    }

    pub(crate) fn status(&self) -> Value {
        let (code, body) = self.get("/status");
        assert_eq!(code, 200);
        serde_json::from_str(&body).unwrap()
    }

    /// A group, as the status has it.
    pub(crate) fn group(&self, name: &str) -> Value {
        let status = self.status();
        let mut groups = status["groups"].as_array().unwrap().iter();
        groups
            .find(|group| group["name"] == name)
            .unwrap_or_else(|| panic!("no group {name}: {status}"))
            .clone()
    }

    /// Waits until everything is in force.
    #[track_caller]
    pub(crate) fn ready(&self) {
        let mut last = String::new();
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let (code, body) = self.get("/readyz");
            if code == 200 {
                return;
            }
            last = body;
            thread::sleep(Duration::from_millis(10));
        }
        panic!("not ready: {last}\n{}", self.log());
    }

    /// Waits until it is not ready, for a reason with these words.
    #[track_caller]
    pub(crate) fn unready(&self, words: &str) -> String {
        let mut last = String::new();
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let (code, body) = self.get("/readyz");
            if code == 503 && body.contains(words) {
                return body;
            }
            last = body;
            thread::sleep(Duration::from_millis(10));
        }
        panic!("`{words}` is no reason: {last}\n{}", self.log());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it has ended.
    pub(crate) fn end(&mut self) -> ExitStatus {
        until("the daemon ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended before.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
