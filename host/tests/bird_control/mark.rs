//! What tells one state of a file from another.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use tailorbird::bird::control::Mark;

/// The change is seen; file systems tick slowly, so it is made until they do.
fn changes(file: &Path, mut change: impl FnMut()) {
    let before = Mark::of(file).unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while Mark::of(file).unwrap() == before {
        assert!(Instant::now() < patience, "the change is not seen");
        change();
    }
}

#[test]
fn a_change_of_the_file_or_of_a_link_to_it_counts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for version in ["v1", "v2"] {
        fs::create_dir(at(version)).unwrap();
        fs::write(at(version).join("bird.cfg"), version).unwrap();
    }
    symlink("v1", at("current")).unwrap();
    symlink("current/bird.cfg", at("bird.cfg")).unwrap();
    let file = at("bird.cfg");

    changes(&file, || fs::write(at("v1/bird.cfg"), "more").unwrap());
    // An older file comes in its place: the swap is the change.
    changes(&file, || {
        symlink("v2", at("next")).unwrap();
        fs::rename(at("next"), at("current")).unwrap();
    });
    changes(&file, || {
        symlink(at("v2/bird.cfg"), at("next")).unwrap();
        fs::rename(at("next"), at("bird.cfg")).unwrap();
    });
    // What is not on the way does not count.
    let before = Mark::of(&file).unwrap();
    fs::write(at("v1/bird.cfg"), "nobody sees this").unwrap();
    assert_eq!(Mark::of(&file).unwrap(), before);
}

#[test]
fn a_file_that_is_not_there_has_no_mark() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(Mark::of(&at("none")).is_err());
    symlink("none", at("dangling")).unwrap();
    assert!(Mark::of(&at("dangling")).is_err());
    symlink("b", at("a")).unwrap();
    symlink("a", at("b")).unwrap();
    assert!(Mark::of(&at("a")).unwrap_err().to_string().contains("symbolic links"));
}
