//! A cluster, stand-ins for BIRD, and runs of the program in an environment of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

pub(crate) const FILES: [&str; 6] =
    ["bird.cfg", "bird_aggr.cfg", "bird_ipam.cfg", "bird6.cfg", "bird6_aggr.cfg", "bird6_ipam.cfg"];

/// The password of the cluster's session; nothing but BIRD's files may show it.
pub(crate) const SECRET: &str = "sesame-4711";

/// Two nodes, a pool, a peer with a password.
pub(crate) const CLUSTER: &str = r#"apiVersion: v1
kind: Node
metadata:
  name: worker-1
  annotations: {projectcalico.org/IPv4Address: 10.0.0.1/24, projectcalico.org/IPv6Address: "fd00::1/64"}
---
apiVersion: v1
kind: Node
metadata:
  name: worker-2
  annotations: {projectcalico.org/IPv4Address: 10.0.0.2/24}
---
apiVersion: crd.projectcalico.org/v1
kind: IPPool
metadata: {name: pool}
spec: {cidr: 10.64.0.0/16, natOutgoing: true}
---
apiVersion: crd.projectcalico.org/v1
kind: BGPPeer
metadata: {name: switch}
spec: {peerIP: 10.0.0.254, asNumber: 65001, password: {secretKeyRef: {name: bgp, key: switch}}}
---
apiVersion: v1
kind: Secret
metadata: {name: bgp, namespace: kube-system}
stringData: {switch: sesame-4711}
"#;

/// A folder with manifests, stand-ins for BIRD, and a destination that is not there yet.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    /// With [`CLUSTER`] and daemons that accept everything.
    pub(crate) fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["objects", "birds"] {
            fs::create_dir(bench.path(folder)).unwrap();
        }
        bench.put("objects/cluster.yaml", CLUSTER);
        bench.daemon("bird", "exit 0");
        bench.daemon("bird6", "exit 0");
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Makes a daemon of a shell script; the file to check is `$3`.
    pub(crate) fn daemon(&self, name: &str, script: &str) {
        let path = self.path("birds").join(name);
        // Written by a process of its own: a test beside this one that starts a program could keep the file open.
        // In one step, for a daemon may be running the one before: a script that is half there does something else.
        let write =
            "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2.new\" && chmod 755 \"$2.new\" && mv \"$2.new\" \"$2\"";
        let done = Command::new("sh").args(["-c", write, "sh", script]).arg(&path).status().unwrap();
        assert!(done.success());
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.path("out")
    }

    /// The program with the words of a command line; `OBJECTS` and `OUT` stand for this bench's folders.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailorbird"));
        command.env_clear().env("PATH", "/usr/bin:/bin").env("TAILORBIRD_BIRD1", self.path("birds"));
        command.env("CALICO_ENDPOINT_STATUS_PATH_PREFIX", self.path("calico"));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        for word in line.split_whitespace() {
            match word {
                "OBJECTS" => command.arg(self.path("objects")),
                "OUT" => command.arg(self.out()),
                _ => command.arg(word),
            };
        }
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        Ran::of(&mut self.command(line))
    }

    /// What is in the destination, by name.
    pub(crate) fn set(&self) -> BTreeMap<String, String> {
        read_set(&self.out())
    }
}

/// The six files of a folder, those that can be read.
pub(crate) fn read_set(folder: &Path) -> BTreeMap<String, String> {
    let read = |name: &&str| Some(((*name).to_owned(), fs::read_to_string(folder.join(name)).ok()?));
    FILES.iter().filter_map(read).collect()
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// How a run ended and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: status.code(), out: text(stdout), err: text(stderr) }
    }

    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Standard output holds this.
    #[track_caller]
    pub(crate) fn prints(self, text: &str) -> Self {
        assert!(self.out.contains(text), "`{text}` is missing on standard output: {self:#?}");
        self
    }

    /// Standard error holds this.
    #[track_caller]
    pub(crate) fn tells(self, text: &str) -> Self {
        assert!(self.err.contains(text), "`{text}` is missing on standard error: {self:#?}");
        self
    }

    /// Nothing is on standard error.
    #[track_caller]
    pub(crate) fn silent(self) -> Self {
        assert_eq!(self.err, "", "{self:#?}");
        self
    }

    /// Nothing is on standard output.
    #[track_caller]
    pub(crate) fn prints_nothing(self) -> Self {
        assert_eq!(self.out, "", "{self:#?}");
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}
