//! The memory that loaded plugins hold while nobody asks them.
//!
//! It is measured in a process of its own, which loads them from a cache that another process has filled: compiling them
//! would leave memory behind that is not theirs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tailorbird::plugin::config::Configuration;
use tailorbird::plugin::{PluginSet, Sandbox};

const CACHE: &str = "TAILORBIRD_BENCH_IDLE";

/// The folder of the cache, in a process that is to load the plugins and nothing else.
pub(crate) fn asked() -> Option<PathBuf> {
    std::env::var_os(CACHE).map(PathBuf::from)
}

/// Loads plugins, each configured once and then left alone, and prints what that added: the first one brings with it what
/// the sandbox itself needs, the same ones once more share the pages of their code with nobody.
pub(crate) fn load(cache: &Path, configuration: &Configuration) {
    let sandbox = Sandbox::new(Some(cache.to_owned())).expect("a sandbox");
    let mut before = Resident::now();
    let mut kept = Vec::new();
    let all = &configuration.plugins;
    for (what, plugins, goal) in [
        ("the first, with what the sandbox needs", &all[..1], false),
        ("the other four", &all[1..], true),
        ("all five once more", &all[..], true),
    ] {
        let some = Configuration { plugins: plugins.to_vec(), ..configuration.clone() };
        kept.push(PluginSet::load(&sandbox, &some).expect("the default plugins load"));
        let after = Resident::now();
        let mebibytes = |from: u64, to: u64| (to as f64 - from as f64) / 1024.0 / plugins.len() as f64;
        let each = mebibytes(before.all, after.all);
        let goal = match goal {
            true => format!("  goal: at most 2 MiB{}", super::verdict(each <= 2.0)),
            false => String::new(),
        };
        println!(
            "resident memory of an idle plugin, {what:<40} {each:>5.2} MiB, of which {:>5.2} MiB are pages of files{goal}",
            mebibytes(before.all - before.private, after.all - after.private),
        );
        before = after;
    }
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
    /// What is resident when the allocator has given back what was needed for a moment: it waits some milliseconds, and for
    /// somebody who asks for memory.
    fn now() -> Self {
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(5));
            drop(std::hint::black_box(vec![0_u8; 1 << 20]));
        }
        let text = fs::read_to_string("/proc/self/status").expect("Linux tells");
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
            number.and_then(|number| number.parse().ok()).expect(name)
        };
        Self { all: field("VmRSS"), private: field("RssAnon") }
    }
}
