use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tailorbird::stage::{Content, Group, Options, apply, create_directory, is_same, prepare};
use tempfile::tempdir;

use crate::common::{NAMES, assert_clean, file, group, names, put, put_plain, seen, set, set_of};

fn identity(path: &Path) -> (u64, i64, i64, i64, u32) {
    let found = fs::metadata(path).unwrap();
    (found.ino(), found.mtime(), found.mtime_nsec(), found.ctime_nsec(), found.mode())
}

#[test]
fn first_start_then_change_then_nothing() {
    let dir = tempdir().unwrap();
    let (old, new) = (set("old"), set("new"));
    assert_eq!(put(dir.path(), &old).unwrap().written.len(), 6);
    assert_clean(dir.path(), &old);
    put(dir.path(), &new).unwrap();
    assert_clean(dir.path(), &new);

    let before: Vec<_> = names(dir.path()).iter().map(|name| identity(&dir.path().join(name))).collect();
    let outcome = put(dir.path(), &new).unwrap();
    assert!(outcome.is_unchanged());
    assert_eq!(outcome.unchanged.len(), 6);
    let after: Vec<_> = names(dir.path()).iter().map(|name| identity(&dir.path().join(name))).collect();
    assert_eq!(before, after);
}

#[test]
fn plain_files_that_are_the_same_stay_plain() {
    let dir = tempdir().unwrap();
    put_plain(dir.path(), &set("old"));
    let before: Vec<_> = NAMES.iter().map(|name| identity(&dir.path().join(name))).collect();
    let old = set("old");
    let prepared = prepare(&group("bird", dir.path(), &old), &Options::default()).unwrap();
    assert!(prepared.is_unchanged());
    assert!(prepared.swap().unwrap().is_unchanged());
    let after: Vec<_> = NAMES.iter().map(|name| identity(&dir.path().join(name))).collect();
    assert_eq!(before, after);
    assert_eq!(names(dir.path()).len(), 6);
}

#[test]
fn a_file_that_did_not_change_is_not_written_again() {
    let dir = tempdir().unwrap();
    put(dir.path(), &set("old")).unwrap();
    let mut next = set("old");
    next.insert("bird_aggr.cfg".into(), "# new\n".into());
    let inode = fs::metadata(dir.path().join("bird.cfg")).unwrap().ino();
    let outcome = put(dir.path(), &next).unwrap();
    assert_eq!(outcome.written, [dir.path().join("bird_aggr.cfg")]);
    assert_clean(dir.path(), &next);
    assert_eq!(fs::metadata(dir.path().join("bird.cfg")).unwrap().ino(), inode);
}

#[test]
fn names_come_and_go() {
    let dir = tempdir().unwrap();
    put(dir.path(), &set_of(&NAMES[..4], "old")).unwrap();
    let new = set_of(&NAMES[2..], "new");
    let outcome = put(dir.path(), &new).unwrap();
    assert_eq!(outcome.removed, [dir.path().join("bird.cfg"), dir.path().join("bird_aggr.cfg")]);
    assert_clean(dir.path(), &new);
    // A set with nothing but fewer names is a change too.
    let fewer = set_of(&NAMES[3..], "new");
    assert_eq!(put(dir.path(), &fewer).unwrap().removed, [dir.path().join("bird_ipam.cfg")]);
    assert_clean(dir.path(), &fewer);
}

#[test]
fn plain_files_are_taken_over_and_others_are_left_alone() {
    let dir = tempdir().unwrap();
    put_plain(dir.path(), &set("old"));
    fs::write(dir.path().join("other"), "x").unwrap();
    put(dir.path(), &set("new")).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("other")).unwrap(), "x");
    fs::remove_file(dir.path().join("other")).unwrap();
    assert_clean(dir.path(), &set("new"));

    // Another program puts a plain file over a link: it is taken over again.
    let fresh = dir.path().join("fresh");
    fs::write(&fresh, "foreign").unwrap();
    fs::rename(&fresh, dir.path().join("bird.cfg")).unwrap();
    put(dir.path(), &set("new")).unwrap();
    assert_clean(dir.path(), &set("new"));
}

#[test]
fn mode_is_kept_or_set_and_owner_is_set() {
    let dir = tempdir().unwrap();
    put_plain(dir.path(), &set("old"));
    let path = dir.path().join("bird.cfg");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    put(dir.path(), &set("new")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
    assert_eq!(fs::metadata(dir.path().join("bird6.cfg")).unwrap().mode() & 0o7777, 0o644);
    put(dir.path(), &set("newer")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);

    let content = "# newer of bird.cfg\n".to_owned();
    let mut secret = file(&path, &content);
    assert!(is_same(&secret).unwrap());
    secret.mode = Some(0o600);
    assert!(!is_same(&secret).unwrap());
    let group = |file| Group { name: "bird".into(), files: vec![file], checks: vec![] };
    apply(&group(secret), &Options::default()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);

    if !rustix::process::geteuid().is_root() {
        eprintln!("owner: skipped, only root can give files away");
        return;
    }
    let mut given = file(&path, &content);
    (given.uid, given.gid) = (Some(7), Some(8));
    assert_eq!(apply(&group(given), &Options::default()).unwrap().written, std::slice::from_ref(&path));
    let found = fs::metadata(&path).unwrap();
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (7, 8, 0o600));
    // Unset, it is the process's again.
    assert!(!is_same(&file(&path, &content)).unwrap());
}

#[test]
fn groups_in_one_directory_are_independent() {
    let dir = tempdir().unwrap();
    let (four, six) = (set_of(&NAMES[..3], "four"), set_of(&NAMES[3..], "six"));
    let options = Options::default();
    let (four_group, six_group) = (group("bird", dir.path(), &four), group("bird6", dir.path(), &six));
    let first = prepare(&four_group, &options).unwrap();
    let second = prepare(&six_group, &options).unwrap();
    first.swap().unwrap();
    drop(second);
    assert_clean(dir.path(), &four);
    apply(&six_group, &options).unwrap();
    assert_eq!(seen(dir.path()).len(), 6);
    assert_eq!(names(dir.path()).len(), 6 + 2 + 2);

    // A group of another name takes the names over; nothing of the two is left.
    put(dir.path(), &set("one")).unwrap();
    assert_clean(dir.path(), &set("one"));
}

#[test]
fn a_group_in_two_directories() {
    let dir = tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b/c"));
    create_directory(&a).unwrap();
    create_directory(&b).unwrap();
    create_directory(&b).unwrap();
    put_plain(&b, &set("old"));
    let (left, right) = (set_of(&NAMES[..2], "new"), set("new"));
    let mut both = group("bird", &a, &left);
    both.files.extend(group("bird", &b, &right).files);
    assert_eq!(apply(&both, &Options::default()).unwrap().written.len(), 8);
    assert_clean(&a, &left);
    assert_clean(&b, &right);
}

#[test]
fn a_reader_of_one_resolution_never_sees_a_mixed_set() {
    let dir = tempdir().unwrap();
    put(dir.path(), &set("0")).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut whole = 0;
            while !done.load(Ordering::Relaxed) || whole == 0 {
                let folder = dir.path().join(fs::read_link(dir.path().join("..bird")).unwrap());
                let contents: Vec<String> =
                    NAMES.iter().filter_map(|name| fs::read_to_string(folder.join(name)).ok()).collect();
                if contents.len() == NAMES.len() {
                    let tags = contents.iter().map(|text| text.split(' ').nth(1).unwrap());
                    assert_eq!(tags.collect::<std::collections::BTreeSet<_>>().len(), 1, "{contents:?}");
                    whole += 1;
                }
                // By their names, the files are never missing.
                for name in NAMES {
                    fs::read_to_string(dir.path().join(name)).unwrap();
                }
            }
        });
        for round in 1..40 {
            put(dir.path(), &set(&round.to_string())).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_clean(dir.path(), &set("39"));
}

/// Content in many pieces, as a renderer has it.
struct Pieces(Vec<String>);

impl Content for Pieces {
    fn len(&self) -> u64 {
        self.0.iter().map(|piece| piece.len() as u64).sum()
    }

    fn chunks(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(self.0.iter().map(String::as_str))
    }
}

#[test]
fn content_in_pieces() {
    let dir = tempdir().unwrap();
    let dest: PathBuf = dir.path().join("bird.cfg");
    let mut pieces = Pieces((0..40_000).map(|n| format!("# {n}\n")).collect());
    let stage = |content: &Pieces| {
        let file =
            tailorbird::stage::StagedFile { dest: dest.clone(), content, mode: None, uid: None, gid: None };
        let group = Group { name: "bird.cfg".into(), files: vec![file], checks: vec![] };
        apply(&group, &Options::default()).unwrap().is_unchanged()
    };
    assert!(!stage(&pieces));
    assert!(stage(&pieces));
    assert_eq!(fs::read_to_string(&dest).unwrap(), pieces.0.concat());
    // Of the same length, and different in one character at the end.
    *pieces.0.last_mut().unwrap() = "# 39998\n".into();
    assert!(!stage(&pieces));
    assert!(!pieces.is_empty());
}

#[test]
fn the_directory_may_be_reached_through_a_link() {
    let dir = tempdir().unwrap();
    create_directory(&dir.path().join("real")).unwrap();
    symlink("real", dir.path().join("alias")).unwrap();
    put(&dir.path().join("alias"), &set("new")).unwrap();
    assert_clean(&dir.path().join("real"), &set("new"));
}
