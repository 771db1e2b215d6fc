use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tailorbird::stage::{Group, Hook, Operation, Options, StageError, apply, create_directory, prepare};
use tempfile::tempdir;

use crate::common::{Mount, NAMES, assert_clean, file, group, names, put, put_plain, seen, set, set_of};

#[track_caller]
fn assert_says(error: &StageError, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}

#[test]
fn a_missing_directory() {
    let dir = tempdir().unwrap();
    let missing = dir.path().join("config");
    let error = put(&missing, &set("new")).unwrap_err();
    assert_says(&error, &[missing.to_str().unwrap(), "does not exist", "create it"]);
    assert!(names(dir.path()).is_empty());
    create_directory(&missing).unwrap();
    put(&missing, &set("new")).unwrap();
}

#[test]
fn destinations_that_are_no_files() {
    let dir = tempdir().unwrap();
    put_plain(dir.path(), &set_of(&NAMES[1..], "old"));
    let bird = dir.path().join("bird.cfg");
    fs::create_dir(&bird).unwrap();
    assert_says(&put(dir.path(), &set("new")).unwrap_err(), &[bird.to_str().unwrap(), "is a directory"]);
    fs::remove_dir(&bird).unwrap();
    let socket = UnixListener::bind(&bird).unwrap();
    assert_says(&put(dir.path(), &set("new")).unwrap_err(), &[bird.to_str().unwrap(), "is a socket"]);
    drop(socket);
    fs::remove_file(&bird).unwrap();

    fs::write(dir.path().join("mine"), "x").unwrap();
    symlink("mine", &bird).unwrap();
    assert_says(
        &put(dir.path(), &set("new")).unwrap_err(),
        &[bird.to_str().unwrap(), "symbolic link to mine"],
    );
    assert_eq!(fs::read_to_string(&bird).unwrap(), "x");
    assert_eq!(names(dir.path()).len(), 7);
}

#[test]
fn links_that_kubernetes_made_are_not_ours() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("..2024_01_01")).unwrap();
    fs::write(dir.path().join("..2024_01_01/bird.cfg"), "x").unwrap();
    symlink("..2024_01_01", dir.path().join("..data")).unwrap();
    symlink("..data/bird.cfg", dir.path().join("bird.cfg")).unwrap();
    let error = put(dir.path(), &set("new")).unwrap_err();
    assert!(matches!(error, StageError::ForeignLink { .. }), "{error}");
    assert_eq!(names(dir.path()).len(), 3);
    put(dir.path(), &set_of(&NAMES[1..], "new")).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("bird.cfg")).unwrap(), "x");
}

#[test]
fn destinations_and_groups_that_cannot_be() {
    let dir = tempdir().unwrap();
    let text = String::new();
    let stage = |name: &str, dests: &[&str]| {
        let files = dests.iter().map(|dest| file(&dir.path().join(dest), &text)).collect();
        apply(&Group { name: name.into(), files, checks: vec![] }, &Options::default()).unwrap_err()
    };
    for name in ["", "a/b", "..", "a@1", "bird one"] {
        assert!(matches!(stage(name, &["a"]), StageError::GroupName { .. }));
    }
    assert_says(&stage("bird", &["a", "./a"]), &["two files"]);
    assert_says(&stage("bird", &["..bird"]), &["two dots"]);
    assert_says(&stage("bird", &[".."]), &["does not name a file"]);
    assert!(names(dir.path()).is_empty());
}

#[test]
fn a_directory_that_another_process_has_locked() {
    let dir = tempdir().unwrap();
    put(dir.path(), &set("old")).unwrap();
    let other = File::open(dir.path()).unwrap();
    other.lock().unwrap();
    let options = Options { lock_wait: Duration::from_millis(30), ..Options::default() };
    let new = set("new");
    let error = prepare(&group("bird", dir.path(), &new), &options).unwrap_err();
    assert_says(&error, &[dir.path().to_str().unwrap(), "another process"]);
    other.unlock().unwrap();

    let prepared = prepare(&group("bird", dir.path(), &new), &options).unwrap();
    other.lock().unwrap();
    assert!(matches!(prepared.swap().unwrap_err(), StageError::Locked { .. }));
    other.unlock().unwrap();
    assert_clean(dir.path(), &set("old"));
}

#[test]
fn a_group_that_fails_does_not_hold_up_another() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("bird.cfg")).unwrap();
    put(dir.path(), &set_of(&NAMES[..3], "four")).unwrap_err();
    let six = set_of(&NAMES[3..], "six");
    apply(&group("bird6", dir.path(), &six), &Options::default()).unwrap();
    assert_eq!(seen(dir.path()), six);
}

#[test]
fn a_second_directory_that_fails_takes_the_first_back() {
    let dir = tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    for directory in [&a, &b] {
        create_directory(directory).unwrap();
        put(directory, &set("old")).unwrap();
    }
    let new = set("new");
    let mut both = group("bird", &a, &new);
    both.files.extend(group("bird", &b, &new).files);
    let hook = Hook::new(|operation, path| match operation {
        Operation::Rename if path.ends_with("b/..bird") => Err(io::Error::other("no")),
        _ => Ok(()),
    });
    apply(&both, &Options { hook, ..Options::default() }).unwrap_err();
    assert_clean(&a, &set("old"));
    assert_clean(&b, &set("old"));
}

#[test]
fn a_full_disk() {
    let dir = tempdir().unwrap();
    let Some(_mount) = Mount::new("a_full_disk", &["-t", "tmpfs", "-o", "size=256k", "tmpfs"], dir.path())
    else {
        return;
    };
    put_plain(dir.path(), &set("old"));
    let mut new = set("new");
    new.insert("bird_aggr.cfg".into(), "# x\n".repeat(100_000));
    let error = put(dir.path(), &new).unwrap_err();
    assert_eq!(error.io_kind(), Some(io::ErrorKind::StorageFull));
    assert_says(&error, &["bird_aggr.cfg", "write", "free some space"]);
    assert_eq!(seen(dir.path()), set("old"));
    assert_eq!(names(dir.path()).len(), 6);
    // The room is free again.
    put(dir.path(), &set("new")).unwrap();
    assert_clean(dir.path(), &set("new"));
}

#[test]
fn a_read_only_file_system() {
    let dir = tempdir().unwrap();
    let Some(_mount) = Mount::new("a_read_only_file_system", &["-t", "tmpfs", "tmpfs"], dir.path()) else {
        return;
    };
    put(dir.path(), &set("old")).unwrap();
    let remount = |how: &str| {
        let done = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(dir.path()).status();
        assert!(done.unwrap().success());
    };
    remount("ro");
    assert!(put(dir.path(), &set("old")).unwrap().is_unchanged());
    let error = put(dir.path(), &set("new")).unwrap_err();
    assert_says(&error, &[dir.path().to_str().unwrap(), "create the directory", "mount the volume writable"]);
    remount("rw");
    assert_clean(dir.path(), &set("old"));
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

#[test]
fn a_file_that_is_a_mount_point_is_written_in_place() {
    let dir = tempdir().unwrap();
    let host = tempdir().unwrap();
    put_plain(dir.path(), &set("old"));
    let (source, bird) = (host.path().join("bird.cfg"), dir.path().join("bird.cfg"));
    fs::write(&source, "# a longer old text than the new one, to be cut off\n").unwrap();
    let arguments = ["--bind", source.to_str().unwrap()];
    let Some(_mount) = Mount::new("a_file_that_is_a_mount_point", &arguments, &bird) else { return };
    let before = inode(&source);
    assert_eq!(put(dir.path(), &set("new")).unwrap().written.len(), 6);
    assert_eq!(seen(dir.path()), set("new"));
    assert_eq!(inode(&source), before);
    assert_eq!(fs::read_to_string(&source).unwrap(), set("new")["bird.cfg"]);
    assert!(put(dir.path(), &set("new")).unwrap().is_unchanged());

    // A group that is this one file has no link at all.
    let alone = set_of(&NAMES[..1], "alone");
    apply(&group("alone", dir.path(), &alone), &Options::default()).unwrap();
    assert_eq!(fs::read_to_string(&source).unwrap(), alone["bird.cfg"]);
    assert!(!names(dir.path()).iter().any(|name| name.contains("alone")));
}

#[test]
fn a_mount_point_that_only_the_rename_finds() {
    let dir = tempdir().unwrap();
    put_plain(dir.path(), &set("old"));
    let before = inode(&dir.path().join("bird.cfg"));
    let hook = Hook::new(|operation, path| match operation {
        Operation::Rename if path.ends_with("bird.cfg") => Err(io::ErrorKind::ResourceBusy.into()),
        _ => Ok(()),
    });
    let new = set("new");
    apply(&group("bird", dir.path(), &new), &Options { hook, ..Options::default() }).unwrap();
    assert_eq!(seen(dir.path()), new);
    assert_eq!(inode(&dir.path().join("bird.cfg")), before);
}

#[test]
fn an_owner_that_may_not_be_given() {
    let dir = tempdir().unwrap();
    put(dir.path(), &set("old")).unwrap();
    let text = "new".to_owned();
    let mut given = file(&dir.path().join("bird.cfg"), &text);
    given.uid = Some(rustix::process::geteuid().as_raw() + 1);
    let hook = Hook::new(|operation, _| match operation {
        Operation::SetOwner => Err(io::ErrorKind::PermissionDenied.into()),
        _ => Ok(()),
    });
    let group = Group { name: "bird".into(), files: vec![given], checks: vec![] };
    let error = apply(&group, &Options { hook, ..Options::default() }).unwrap_err();
    assert_says(&error, &["set the owner", "bird.cfg", "leave out `uid`"]);
    assert_clean(dir.path(), &set("old"));
}
