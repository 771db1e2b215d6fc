//! Real etcds, the program in the folder that `KUBEBUILDER_ASSETS` names.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use tailorbird::syncer::etcd::Config;
use tempfile::TempDir;

use crate::server::{AT_MOST, free_ports, http, skipped};

/// gRPC's codes for a server that is not there, and for what is asked of too early or too late a time.
const UNAVAILABLE: u32 = 14;
const OUT_OF_RANGE: u32 = 11;

/// An etcd of its own for a test; it is killed with this value.
pub(crate) struct Etcd {
    program: PathBuf,
    folder: TempDir,
    child: Option<Child>,
    /// Where it speaks without TLS, and where with it.
    ports: [u16; 2],
    /// Where it speaks to its peers, and who all of them are.
    peer: u16,
    all: String,
    more: Vec<String>,
    token: Mutex<Option<String>>,
}

impl Etcd {
    /// Starts one with more words on its command line; none, with a word, where there is no etcd.
    pub(crate) async fn start(more: &[&str]) -> Option<Self> {
        let [etcd] = Self::start_members(more).await?;
        Some(etcd)
    }

    /// Starts the members of one cluster.
    pub(crate) async fn start_members<const N: usize>(more: &[&str]) -> Option<[Self; N]> {
        let Some(parts) = std::env::var_os("KUBEBUILDER_ASSETS").filter(|folder| !folder.is_empty()) else {
            skipped("KUBEBUILDER_ASSETS does not name a folder with etcd");
            return None;
        };
        let peers = free_ports::<N>();
        let all = peers.iter().map(|peer| format!("{0}=http://127.0.0.1:{0}", peer));
        let all = all.collect::<Vec<String>>().join(",");
        let mut members = peers.map(|peer| Self {
            program: Path::new(&parts).join("etcd"),
            folder: tempfile::tempdir().unwrap(),
            child: None,
            ports: free_ports(),
            peer,
            all: all.clone(),
            more: more.iter().map(|word| (*word).to_owned()).collect(),
            token: Mutex::default(),
        });
        members.iter_mut().for_each(Self::spawn);
        for member in &members {
            member.until_healthy().await;
        }
        Some(members)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs it again on its old address, with the data that is there.
    pub(crate) async fn begin(&mut self) {
        self.spawn();
        self.until_healthy().await;
    }

    fn spawn(&mut self) {
        let [plain, tls] = self.ports;
        let plain = format!("http://127.0.0.1:{plain}");
        let peer = format!("http://127.0.0.1:{}", self.peer);
        let is_tls = self.more.iter().any(|word| word == "--cert-file");
        let clients = if is_tls { format!("{plain},https://127.0.0.1:{tls}") } else { plain };
        let log = fs::File::create(self.folder.path().join("log")).unwrap();
        let mut command = Command::new(&self.program);
        command.env_clear().args(["--unsafe-no-fsync", "--log-level", "error"]);
        command.args(["--name", &self.peer.to_string(), "--initial-cluster", &self.all]);
        command.arg("--data-dir").arg(self.data());
        command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]).args(&self.more);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.child = Some(command.spawn().unwrap());
    }

    async fn until_healthy(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !http(self.ports[0], "GET /health HTTP/1.0\r\n\r\n").await.contains("\"true\"") {
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "etcd does not become healthy: {}", log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Stops it where it is: it answers nothing, and its connections stay.
    pub(crate) fn freeze(&self) {
        let pid = rustix::process::Pid::from_child(self.child.as_ref().unwrap());
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    }

    /// Kills it.
    pub(crate) fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended before.
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// Keeps its data, which must not be in use, for later.
    pub(crate) fn save(&self) {
        copy(&self.data(), &self.folder.path().join("saved"));
    }

    /// Has it begin with the data that was kept.
    pub(crate) fn restore(&self) {
        fs::remove_dir_all(self.data()).unwrap();
        copy(&self.folder.path().join("saved"), &self.data());
    }

    /// Has it begin without data, as another cluster.
    pub(crate) fn replace(&mut self) {
        fs::remove_dir_all(self.data()).unwrap();
        self.more.extend(["--initial-cluster-token", "another"].map(str::to_owned));
    }

    /// Where it is found.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[0]))
    }

    pub(crate) fn config(&self) -> Config {
        config(self.address())
    }

    /// Has it speak TLS too from its next start on, with these files in a folder, to clients of an authority.
    pub(crate) fn with_tls(&mut self, folder: &Path, server: &str, authority: &str) {
        let file = |name: String| folder.join(name).display().to_string();
        let files = [
            ("--cert-file", format!("{server}.pem")),
            ("--key-file", format!("{server}.key")),
            ("--trusted-ca-file", format!("{authority}.pem")),
        ];
        self.more = vec!["--client-cert-auth".to_owned()];
        self.more.extend(files.into_iter().flat_map(|(word, name)| [word.to_owned(), file(name)]));
    }

    /// Where it is found with TLS.
    pub(crate) fn secure_address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[1]))
    }

    pub(crate) fn secure(&self) -> Config {
        Config::new(format!("https://{}", self.secure_address()).parse().unwrap())
    }

    /// Asks it for something, as the user that was said to ask.
    pub(crate) async fn ask(&self, path: &str, body: &Value) -> Value {
        let deadline = Instant::now() + AT_MOST;
        loop {
            let answer = self.try_ask(path, body).await;
            if answer["header"].is_object() {
                return answer;
            }
            // The part of it that speaks HTTP may not have found the other one yet.
            assert!(answer["code"] == UNAVAILABLE && Instant::now() < deadline, "{path}: {answer}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The same, with whatever comes of it.
    pub(crate) async fn try_ask(&self, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let token = self.token.lock().unwrap().clone().map(|token| format!("Authorization: {token}\r\n"));
        let request = format!(
            "POST /v3/{path} HTTP/1.0\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{body}",
            token.unwrap_or_default(),
            body.len()
        );
        serde_json::from_str(&http(self.ports[0], &request).await).unwrap_or_default()
    }

    /// Gives a key a value.
    pub(crate) async fn put(&self, key: &str, value: &str) {
        self.ask("kv/put", &pair(key, value)).await;
    }

    /// Takes all of Calico's keys away.
    pub(crate) async fn wipe(&self) {
        let range = json!({"key": BASE64.encode("/calico/"), "range_end": BASE64.encode("/calico0")});
        self.ask("kv/deleterange", &range).await;
    }

    /// Forgets all history.
    pub(crate) async fn compact(&self) {
        let answer = self.ask("kv/range", &json!({"key": BASE64.encode("x")})).await;
        let revision = &answer["header"]["revision"];
        let answer = self.try_ask("kv/compaction", &json!({"revision": revision, "physical": true})).await;
        // It may have been forgotten before.
        assert!(answer["header"].is_object() || answer["code"] == OUT_OF_RANGE, "{answer}");
    }

    /// Lets nobody in any more but `root` and, with the password, the user `calico`, who may read the keys of a range.
    pub(crate) async fn ask_who_asks(&self, password: &str, from: &str, to: &str) {
        for (user, password) in [("root", "root"), ("calico", password)] {
            self.ask("auth/user/add", &json!({"name": user, "password": password})).await;
        }
        for (user, role) in [("root", "root"), ("calico", "reader")] {
            self.ask("auth/role/add", &json!({"name": role})).await;
            self.ask("auth/user/grant", &json!({"user": user, "role": role})).await;
        }
        let range = json!({"permType": "READ", "key": BASE64.encode(from), "range_end": BASE64.encode(to)});
        self.ask("auth/role/grant", &json!({"name": "reader", "perm": range})).await;
        self.ask("auth/enable", &json!({})).await;
        self.ask_as_root().await;
    }

    /// From here on `root` asks; a token is good for a time, and as long as this etcd runs.
    pub(crate) async fn ask_as_root(&self) {
        *self.token.lock().unwrap() = None;
        let answer = self.ask("auth/authenticate", &json!({"name": "root", "password": "root"})).await;
        *self.token.lock().unwrap() = Some(answer["token"].as_str().unwrap().to_owned());
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.end();
    }
}

/// A key and its value, as etcd's JSON has them.
pub(crate) fn pair(key: &str, value: &str) -> Value {
    json!({"key": BASE64.encode(key), "value": BASE64.encode(value)})
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(fs::copy(&path, to).unwrap()),
        }
    }
}

/// How an etcd at an address is spoken to.
pub(crate) fn config(at: SocketAddr) -> Config {
    Config::new(format!("http://{at}").parse().unwrap())
}
