//! The process is killed at each of its system calls that touch files, in turn.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use tempfile::tempdir;

use crate::common::{assert_clean, put, seen};
use crate::crash::{SCENARIOS, Scenario};

/// More than the calls of a kind that the test harness makes around a test.
const HARNESS_CALLS: usize = 50;

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
    // strace counts by thread and name: after these, no thread of the harness can be the one that is killed.
    for _ in 0..HARNESS_CALLS {
        fs::write("/dev/null", "x").unwrap();
    }
    put(Path::new(&directory), &(scenario.new)()).unwrap();
}

/// A system call: its name, and which one of that name it is.
type Call = (String, usize);

/// Runs [`child`] under strace, killed at this system call.
fn run_child(directory: &Path, scenario: usize, kill: Option<&Call>, log: &Path) -> Option<ExitStatus> {
    let mut command = Command::new("strace");
    command.arg("-f").arg("-o").arg(log).arg("-e").arg(format!("trace={CALLS}"));
    if let Some((name, number)) = kill {
        command.arg("-e").arg(format!("inject={name}:signal=SIGKILL:when={number}"));
    }
    command.arg(std::env::current_exe().unwrap()).args(["--exact", "traced::child"]);
    // The loader would look for libraries in more places than can be counted.
    command.env(DIRECTORY, directory).env(SCENARIO, scenario.to_string()).env_remove("LD_LIBRARY_PATH");
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()
}

/// The calls of the swap: all of its thread from the first that names the directory.
fn calls(log: &Path, directory: &Path) -> Vec<Call> {
    let log = fs::read_to_string(log).unwrap();
    let named = |line: &str| line.contains(directory.to_str().unwrap());
    let thread = log.lines().find(|line| named(line)).unwrap().split(' ').next().unwrap();
    let (mut counts, mut calls, mut begun) = (BTreeMap::<String, usize>::new(), Vec::new(), false);
    for line in log.lines() {
        let Some((who, rest)) = line.split_once(' ') else { continue };
        let Some((name, _)) = rest.trim_start().split_once('(') else { continue };
        if who != thread || name.contains(' ') {
            continue;
        }
        let count = counts.entry(name.to_owned()).or_default();
        *count += 1;
        begun |= named(line);
        if begun {
            calls.push((name.to_owned(), *count));
        }
    }
    calls
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
        let (mut olds, mut news) = (0, 0);
        for call in calls(&log, dir.path()) {
            *(if kill_at(scenario, index, &call, &log) { &mut news } else { &mut olds }) += 1;
        }
        eprintln!("{}: killed at {olds} calls with the old set, at {news} with the new", scenario.name);
        assert!(olds > 10 && news > 0);
    }
}

/// Whether the new set is there after the child was killed at a system call.
fn kill_at(scenario: &Scenario, index: usize, call: &Call, log: &Path) -> bool {
    let dir = tempdir().unwrap();
    let (old, new) = ((scenario.old)(dir.path()), (scenario.new)());
    let status = run_child(dir.path(), index, Some(call), log).unwrap();
    assert!(!status.success(), "{}: {call:?} was not reached", scenario.name);
    assert!(
        fs::read_to_string(log).unwrap().contains(dir.path().to_str().unwrap()),
        "{call:?} came too early"
    );
    let found = seen(dir.path());
    assert!(found == old || found == new, "{}, {call:?}: {found:?}", scenario.name);
    put(dir.path(), &new).unwrap();
    assert_clean(dir.path(), &new);
    found == new
}
