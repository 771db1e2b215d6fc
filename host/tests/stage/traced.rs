//! The process is killed at each of its system calls that touch files, in turn.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use tempfile::tempdir;

use crate::common::{assert_clean, put, seen};
use crate::crash::{SCENARIOS, Scenario};

/// More than the calls of the test harness around a test.
const HARNESS_CALLS: usize = 100;

/// Where the child process swaps, and which scenario.
const DIRECTORY: &str = "TAILORBIRD_TEST_DIRECTORY";
const SCENARIO: &str = "TAILORBIRD_TEST_SCENARIO";

/// A name with a question mark may be unknown to an architecture.
const CALLS: &str = "openat,write,fsync,?rename,?renameat,?renameat2,?symlink,?symlinkat,?link,?linkat,?unlink,\
                     ?unlinkat,?rmdir,?mkdir,?mkdirat,fchmod,?chmod,fchown,flock,ftruncate";

#[test]
fn child() {
    let (Some(directory), Ok(scenario)) = (std::env::var_os(DIRECTORY), std::env::var(SCENARIO)) else {
        return;
    };
    let scenario = &SCENARIOS[scenario.parse::<usize>().unwrap()];
    // strace counts the calls of each thread: after these, the harness's own thread cannot be the one that is killed.
    for _ in 0..HARNESS_CALLS {
        fs::File::open("/dev/null").unwrap();
    }
    put(Path::new(&directory), &(scenario.new)()).unwrap();
}

/// Runs [`child`] under strace, killed at this system call.
fn run_child(directory: &Path, scenario: usize, kill: Option<usize>, log: &Path) -> Option<ExitStatus> {
    let mut command = Command::new("strace");
    command.arg("-f").arg("-o").arg(log).arg("-e").arg(format!("trace={CALLS}"));
    if let Some(number) = kill {
        command.arg("-e").arg(format!("inject={CALLS}:signal=SIGKILL:when={number}"));
    }
    command.arg(std::env::current_exe().unwrap()).args(["--exact", "traced::child"]);
    command.env(DIRECTORY, directory).env(SCENARIO, scenario.to_string()).env_remove("LD_LIBRARY_PATH");
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()
}

/// The numbers of the first call that names the directory, and of the last call of its thread.
fn range(log: &Path, directory: &Path) -> (usize, usize) {
    let log = fs::read_to_string(log).unwrap();
    let named = |line: &&str| line.contains(directory.to_str().unwrap());
    let thread = log.lines().find(named).unwrap().split(' ').next().unwrap();
    let calls: Vec<&str> =
        log.lines().filter(|line| line.starts_with(thread) && !line.contains("+++")).collect();
    let first = calls.iter().position(named).unwrap();
    assert!(first >= HARNESS_CALLS && log.lines().count() < calls.len() + HARNESS_CALLS);
    (first + 1, calls.len())
}

#[test]
fn killed_at_any_system_call() {
    let logs = tempdir().unwrap();
    let log = logs.path().join("log");
    for (index, scenario) in SCENARIOS.iter().enumerate() {
        let dir = tempdir().unwrap();
        (scenario.old)(dir.path());
        if !run_child(dir.path(), index, None, &log).is_some_and(|status| status.success()) {
            eprintln!("killed_at_any_system_call: skipped, strace is not there or may not trace");
            return;
        }
        let (first, last) = range(&log, dir.path());
        let (mut olds, mut news) = (0, 0);
        for number in first..=last {
            if kill_at(scenario, index, number, &log) { news += 1 } else { olds += 1 }
        }
        eprintln!("{}: killed at {olds} calls with the old set, at {news} with the new", scenario.name);
        assert!(olds > 10 && news > 0);
    }
}

/// Whether the new set is there after the child was killed at a system call.
fn kill_at(scenario: &Scenario, index: usize, number: usize, log: &Path) -> bool {
    let dir = tempdir().unwrap();
    let (old, new) = ((scenario.old)(dir.path()), (scenario.new)());
    let status = run_child(dir.path(), index, Some(number), log).unwrap();
    assert!(!status.success(), "{}: call {number} was not reached", scenario.name);
    let found = seen(dir.path());
    assert!(found == old || found == new, "{}, call {number}: {found:?}", scenario.name);
    put(dir.path(), &new).unwrap();
    assert_clean(dir.path(), &new);
    found == new
}
