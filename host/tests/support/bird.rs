//! The real daemons, as checkers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
