use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tailorbird::bird::check::{Check, CheckError, Daemon};
use tailorbird::stage::{FileCheck, Options, StageError, apply};
use tempfile::tempdir;

use crate::common::{Set, assert_clean, group, names, put, set};

fn apply_checked(directory: &Path, set: &Set, check: Check, timeout: Duration) -> Result<(), StageError> {
    let mut group = group("bird", directory, set);
    group.checks.push(FileCheck { dest: directory.join("bird.cfg"), check });
    apply(&group, &Options { check_timeout: timeout, ..Options::default() }).map(drop)
}

fn command(directory: &Path, set: &Set, command: &str) -> Result<(), StageError> {
    apply_checked(directory, set, Check::Command(command.into()), Duration::from_secs(30))
}

#[track_caller]
fn refusal(error: StageError) -> CheckError {
    match error {
        StageError::Check { source, .. } => *source,
        other => panic!("{other}"),
    }
}

#[test]
fn a_check_sees_the_whole_new_set_and_runs_only_for_news() {
    let dir = tempdir().unwrap();
    let new = set("new");
    let siblings = "test $(grep -l new $(dirname {{.src}})/*.cfg | wc -l) = 6";
    command(dir.path(), &new, siblings).unwrap();
    assert_clean(dir.path(), &new);
    command(dir.path(), &new, "false").unwrap();
}

#[test]
fn a_failed_check_leaves_everything_and_says_why() {
    let dir = tempdir().unwrap();
    let mut new = set("new");
    new.insert("bird_aggr.cfg".into(), "a\n  password \"geheim\" foo;\n".into());
    let words = "echo \"$(dirname \"$TAILORBIRD_SRC\")/bird_aggr.cfg:2:21 no foo\"; echo out; exit 3";
    let error = command(dir.path(), &new, words).unwrap_err().to_string();
    let expected = format!("{}/bird_aggr.cfg:2:21 no foo", dir.path().display());
    assert!(error.contains(&expected), "{error}");
    assert!(error.contains("line 2: password (hidden) foo;"), "{error}");
    assert!(error.contains("exit status: 3"), "{error}");
    assert!(!error.contains("geheim"), "{error}");
    assert!(names(dir.path()).is_empty());

    put(dir.path(), &set("old")).unwrap();
    assert!(command(dir.path(), &new, "cat {{src}} $(dirname {{src}})/bird_aggr.cfg; false").is_err());
    assert_clean(dir.path(), &set("old"));
}

#[test]
fn output_of_a_check_does_not_show_passwords_and_is_bounded() {
    let dir = tempdir().unwrap();
    let mut new = set("new");
    new.insert("bird.cfg".into(), "password \"geheim\";\n".into());
    let error = command(dir.path(), &new, "cat {{src}}; seq 100000 >&2; exit 1").unwrap_err().to_string();
    assert!(error.contains("password (hidden);"), "{error}");
    assert!(!error.contains("geheim"));
    assert!(error.len() < 100_000);
}

#[test]
fn a_file_name_cannot_change_the_command() {
    let dir = tempdir().unwrap();
    let folder = dir.path().join("a b; touch pwned $(touch pwned) '\"");
    fs::create_dir(&folder).unwrap();
    let new = set("new");
    for text in ["grep -q new {{.src}}", "grep -q new '{{src}}'", "grep -q new \"{{.src}}\""] {
        command(&folder, &new, text).unwrap();
        for name in names(&folder) {
            let path = folder.join(name);
            fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)).unwrap();
        }
    }
    let error = command(&folder, &new, "sh -c 'cat {{.src}}'").unwrap_err();
    assert!(matches!(refusal(error), CheckError::UnsafePath { .. }));
    assert!(names(&folder).is_empty());
    assert!(!Path::new("pwned").exists());
}

#[test]
fn a_check_that_hangs_is_stopped() {
    let dir = tempdir().unwrap();
    let begin = Instant::now();
    let check = Check::Command("echo begun; sleep 100 & wait".into());
    let error = apply_checked(dir.path(), &set("new"), check, Duration::from_millis(100)).unwrap_err();
    assert!(error.to_string().contains("begun"), "{error}");
    assert!(matches!(refusal(error), CheckError::TimedOut { .. }));
    assert!(begin.elapsed() < Duration::from_secs(30));
    assert!(names(dir.path()).is_empty());
}

#[test]
fn a_check_that_is_not_there() {
    let dir = tempdir().unwrap();
    let check = Check::Bird(PathBuf::from("/nowhere/bird"));
    let error = apply_checked(dir.path(), &set("new"), check, Duration::from_secs(30)).unwrap_err();
    assert!(error.to_string().contains("/nowhere/bird"), "{error}");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn the_daemon_is_found() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("bird6"), "").unwrap();
    let folders = std::env::join_paths([Path::new("/nowhere"), dir.path()]).unwrap();
    assert_eq!(Daemon::Bird6.locate_in(&folders), Some(dir.path().join("bird6")));
    assert_eq!(Daemon::Bird.locate_in(&folders), None);
}

#[test]
fn the_real_daemon_checks_the_set() {
    let Some(check) = Check::installed(Daemon::Bird).unwrap() else {
        eprintln!("the_real_daemon_checks_the_set: skipped, there is no bird here");
        return;
    };
    let dir = tempdir().unwrap();
    let mut new = Set::new();
    new.insert(
        "bird.cfg".into(),
        "router id 192.0.2.1;\ninclude \"bird_aggr.cfg\";\nprotocol device {}\n".into(),
    );
    new.insert("bird_aggr.cfg".into(), "protocol static {\n}\n".into());
    apply_checked(dir.path(), &new, check.clone(), Duration::from_secs(30)).unwrap();
    assert_clean(dir.path(), &new);

    let mut bad = new.clone();
    bad.insert("bird_aggr.cfg".into(), "protocol bgp x {\n  password \"geheim\" foo;\n}\n".into());
    let error = apply_checked(dir.path(), &bad, check, Duration::from_secs(30)).unwrap_err().to_string();
    assert!(error.contains(&format!("{}/bird_aggr.cfg:2:", dir.path().display())), "{error}");
    assert!(error.contains("line 2: password (hidden) foo;"), "{error}");
    assert_clean(dir.path(), &new);
}
