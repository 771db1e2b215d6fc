//! The memory that loaded plugins hold while nobody asks them.
//!
//! It is measured in a process of its own, which loads them from a cache that another process has filled: compiling them
//! would leave memory behind that is not theirs.

use std::path::{Path, PathBuf};
use std::process::Command;

use tailorbird::measure::Resident;
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
    let resident = || Resident::settled().expect("Linux tells");
    let mut before = resident();
    let mut kept = Vec::new();
    let all = &configuration.plugins;
    for (what, plugins, goal) in [
        ("the first, with what the sandbox needs", &all[..1], false),
        ("the other four", &all[1..], true),
        ("all five once more", &all[..], true),
    ] {
        let some = Configuration { plugins: plugins.to_vec(), ..configuration.clone() };
        kept.push(PluginSet::load(&sandbox, &some).expect("the default plugins load"));
        let after = resident();
        let mebibytes =
            |from: u64, to: u64| (to as f64 - from as f64) / f64::from(1 << 20) / plugins.len() as f64;
        let each = mebibytes(before.now, after.now);
        let goal = match goal {
            true => format!("  goal: at most 2 MiB{}", super::verdict(each <= 2.0)),
            false => String::new(),
        };
        println!(
            "resident memory of an idle plugin, {what:<40} {each:>5.2} MiB, of which {:>5.2} MiB are pages of files{goal}",
            mebibytes(before.now - before.anonymous, after.now - after.anonymous),
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
