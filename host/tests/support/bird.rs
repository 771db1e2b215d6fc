//! The real daemons, as checkers.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// `bird` and `bird6` of BIRD 1.x.
pub struct Birds {
    bird: PathBuf,
    bird6: PathBuf,
    /// Calico's own build knows IPIP tunnels; others refuse the attribute.
    tunnels: bool,
}

impl Birds {
    /// Those in the folder that `TAILORBIRD_BIRD1` names, else those on the PATH.
    pub fn find() -> Option<Self> {
        let folders: Vec<PathBuf> = match std::env::var_os("TAILORBIRD_BIRD1") {
            Some(folder) => vec![PathBuf::from(folder)],
            None => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]).collect()
            }
        };
        let has = |folder: &Path| folder.join("bird").is_file() && folder.join("bird6").is_file();
        let folder = folders.into_iter().find(|folder| has(folder))?;
        let (bird, bird6) = (folder.join("bird"), folder.join("bird6"));
        let tunnels = knows_tunnels(&bird);
        Some(Self { bird, bird6, tunnels })
    }

    /// What the daemons say of a set of files, by name.
    pub fn check(&self, files: &BTreeMap<String, String>) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            // A daemon without tunnels judges all but their names.
            let text = if self.tunnels { text.clone() } else { without_tunnels(text) };
            fs::write(folder.path().join(name), text).unwrap();
        }
        run(&self.bird, &folder.path().join("bird.cfg"))?;
        run(&self.bird6, &folder.path().join("bird6.cfg"))
    }
}

fn knows_tunnels(bird: &Path) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.cfg");
    fs::write(
        &file,
        "router id 1.1.1.1;\nprotocol device {}\nfilter f { krt_tunnel = \"tunl0\"; accept; }\n",
    )
    .unwrap();
    run(bird, &file).is_ok()
}

fn without_tunnels(text: &str) -> String {
    text.replace("krt_tunnel=\"tunl0\"", "preference=preference")
        .replace("krt_tunnel=\"\"", "preference=preference")
}

/// Runs the daemon's own check; silence and success are the only good answer.
fn run(daemon: &Path, file: &Path) -> Result<(), String> {
    let output = Command::new(daemon).arg("-p").arg("-c").arg(file).output().unwrap();
    let words = [&output.stdout[..], &output.stderr[..]].concat();
    if output.status.success() && words.is_empty() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&words).into_owned())
}

impl Birds {
    /// The routes that come through a filter of a running `bird`, each with its BGP attributes. `functions` come first
    /// in its configuration, `filter` is the body of the filter, and `routes` are prefixes that start there.
    pub fn pass(
        &self,
        functions: &str,
        filter: &str,
        routes: &[&str],
    ) -> BTreeMap<String, BTreeMap<String, String>> {
        // A route that passes in any case: when it is there, all are.
        const LAST: &str = "255.255.255.0/24";
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let routes: String =
            routes.iter().chain([&LAST]).map(|route| format!("route {route} blackhole;\n")).collect();
        let text = format!(
            "router id 192.0.2.1;\ntable passed;\n{functions}\n\
             protocol static static1 {{ import all;\n{routes}}}\n\
             protocol pipe pipe1 {{ peer table passed; import none; export filter {{\n\
             if (net = {LAST}) then accept;\n{filter}\n}}; }}\n"
        );
        fs::write(at("bird.cfg"), &text).unwrap();
        let mut daemon = Command::new(&self.bird)
            .args(["-d", "-c"])
            .arg(at("bird.cfg"))
            .arg("-s")
            .arg(at("bird.ctl"))
            .arg("-P")
            .arg(at("bird.pid"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let found = loop {
            let found = passed(&at("bird.ctl")).unwrap_or_default();
            if found.contains_key(LAST) || Instant::now() > deadline || daemon.try_wait().unwrap().is_some() {
                break found;
            }
            std::thread::yield_now();
        };
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        let mut found = found;
        assert!(found.remove(LAST).is_some(), "the daemon does not run with\n{text}");
        found
    }
}

/// Asks a daemon for the routes of the table `passed`.
fn passed(socket: &Path) -> std::io::Result<BTreeMap<String, BTreeMap<String, String>>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(b"show route table passed all\n")?;
    let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut current = String::new();
    for line in BufReader::new(stream).lines() {
        let line = line?;
        if line.starts_with("0000") || line.starts_with('8') || line.starts_with('9') {
            break;
        }
        // The first line of a kind begins with the kind's number.
        let line = match line.split_once('-') {
            Some((code, rest)) if code.len() == 4 && code.bytes().all(|b| b.is_ascii_digit()) => rest,
            _ => &line,
        };
        if let Some((name, value)) = line.trim().strip_prefix("BGP.").and_then(|rest| rest.split_once(": ")) {
            found.entry(current.clone()).or_default().insert(name.to_owned(), value.to_owned());
        } else if let Some(prefix) = line.split_whitespace().next().filter(|word| word.contains('/')) {
            current = prefix.to_owned();
            found.entry(current.clone()).or_default();
        }
    }
    Ok(found)
}
