//! The memory that loaded plugins hold while nobody asks them.
//!
//! It is measured in a process of its own, which loads them from a cache that another process has filled: compiling them
//! would leave memory behind that is not theirs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tailorbird::plugin::config::Configuration;
use tailorbird::plugin::{PluginSet, Sandbox};

const CACHE: &str = "TAILORBIRD_BENCH_IDLE";

/// The folder of the cache, in a process that is to load the plugins and nothing else.
pub(crate) fn asked() -> Option<PathBuf> {
    std::env::var_os(CACHE).map(PathBuf::from)
}

/// Loads the plugins, each configured once and then left alone, and prints what that added.
pub(crate) fn load(cache: &Path, configuration: &Configuration) {
    let sandbox = Sandbox::new(Some(cache.to_owned())).expect("a sandbox");
    let before = Resident::now();
    let set = PluginSet::load(&sandbox, configuration).expect("the default plugins load");
    let after = Resident::now();
    let plugins = set.facts().len() as f64;
    let mebibytes = |from: u64, to: u64| (to as f64 - from as f64) / 1024.0 / plugins;
    let all = mebibytes(before.all, after.all);
    println!(
        "resident memory of an idle plugin, of {plugins}: {all:.2} MiB; private {:.2} MiB, pages of files {:.2} MiB  goal: at most 2 MiB{}",
        mebibytes(before.private, after.private),
        mebibytes(before.all - before.private, after.all - after.private),
        super::verdict(all <= 2.0)
    );
}

/// Measures in processes of their own.
pub(crate) fn measure() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("cache");
    let program = std::env::current_exe().expect("the path of this program");
    let run = || Command::new(&program).env(CACHE, &cache).output().expect("the program runs again");
    // The first one compiles.
    assert!(run().status.success());
    print!("\n{}", String::from_utf8_lossy(&run().stdout));
}

/// Resident memory of this process, in KiB.
struct Resident {
    all: u64,
    /// Pages that are of no file.
    private: u64,
}

impl Resident {
    fn now() -> Self {
        let text = fs::read_to_string("/proc/self/status").expect("Linux tells");
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
            number.and_then(|number| number.parse().ok()).expect(name)
        };
        Self { all: field("VmRSS"), private: field("RssAnon") }
    }
}
