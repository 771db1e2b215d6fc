//! The world ends at each change of the file system in turn; and each change fails in turn.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tailorbird::stage::{Hook, Options, apply, prepare};
use tempfile::tempdir;

use crate::common::{NAMES, Set, assert_clean, group, names, put, put_plain, seen, set, set_of};

/// What is there before a swap.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) old: fn(&Path) -> Set,
    pub(crate) new: fn() -> Set,
}

/// All that can be there.
pub(crate) const SCENARIOS: [Scenario; 6] = [
    Scenario { name: "first start", old: |_| Set::new(), new: || set("new") },
    Scenario {
        name: "over a set of ours",
        old: |dir| {
            put(dir, &set("old")).unwrap();
            set("old")
        },
        new: || set("new"),
    },
    Scenario {
        name: "take-over of plain files",
        old: |dir| {
            put_plain(dir, &set("old"));
            set("old")
        },
        new: || set("new"),
    },
    Scenario {
        name: "names come and go",
        old: |dir| {
            put(dir, &set_of(&NAMES[..4], "old")).unwrap();
            set_of(&NAMES[..4], "old")
        },
        new: || set_of(&NAMES[2..], "new"),
    },
    Scenario {
        name: "some plain, some ours, some missing, some the same",
        old: |dir| {
            put(dir, &set_of(&NAMES[..3], "old")).unwrap();
            put_plain(dir, &set_of(&NAMES[2..4], "old"));
            fs::remove_file(dir.join(NAMES[2])).unwrap();
            put_plain(dir, &set_of(&NAMES[2..3], "old"));
            set_of(&NAMES[..4], "old")
        },
        new: || {
            let mut new = set("new");
            new.extend(set_of(&NAMES[1..2], "old"));
            new
        },
    },
    Scenario {
        name: "files of other groups",
        old: |dir| {
            let (four, six) = (set_of(&NAMES[..3], "old"), set_of(&NAMES[3..], "old"));
            apply(&group("four", dir, &four), &Options::default()).unwrap();
            apply(&group("six", dir, &six), &Options::default()).unwrap();
            set("old")
        },
        new: || set("new"),
    },
];

/// Options whose operations fail as `fails` says of their number.
fn failing(fails: impl Fn(usize) -> bool + Send + Sync + 'static) -> (Options, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let hook = Hook::new(move |_, _| {
        let number = counter.fetch_add(1, Ordering::Relaxed);
        if fails(number) { Err(io::Error::other("the world ends")) } else { Ok(()) }
    });
    (Options { hook, ..Options::default() }, count)
}

#[test]
fn a_crash_at_any_operation_leaves_one_whole_set_and_the_next_run_cleans_up() {
    for scenario in &SCENARIOS {
        let (mut olds, mut news) = (0, 0);
        for end in 0.. {
            let dir = tempdir().unwrap();
            let (old, new) = ((scenario.old)(dir.path()), (scenario.new)());
            let (options, count) = failing(move |number| number >= end);
            let result = apply(&group("bird", dir.path(), &new), &options);
            if count.load(Ordering::Relaxed) <= end {
                result.unwrap();
                assert_clean(dir.path(), &new);
                break;
            }
            let found = seen(dir.path());
            assert!(found == old || found == new, "{}, operation {end}: {found:?}", scenario.name);
            *(if found == new { &mut news } else { &mut olds }) += 1;
            put(dir.path(), &new).unwrap();
            assert_clean(dir.path(), &new);
        }
        eprintln!("{}: {olds} operations leave the old set, {news} the new one", scenario.name);
        assert!(olds > 10 && news > 0);
    }
}

#[test]
fn a_failure_of_any_operation_leaves_the_old_set_and_nothing_else() {
    for scenario in &SCENARIOS {
        for at in 0.. {
            let dir = tempdir().unwrap();
            let (old, new) = ((scenario.old)(dir.path()), (scenario.new)());
            let (options, count) = failing(move |number| number == at);
            let result = apply(&group("bird", dir.path(), &new), &options);
            let found = seen(dir.path());
            match &result {
                Ok(_) => assert_eq!(found, new, "{}, operation {at}", scenario.name),
                Err(error) => {
                    assert_eq!(found, old, "{}, operation {at}: {error}", scenario.name);
                    assert_nothing_staged(dir.path());
                }
            }
            if count.load(Ordering::Relaxed) <= at {
                break;
            }
        }
    }
}

/// Asserts that each version folder has its link.
fn assert_nothing_staged(directory: &Path) {
    for name in names(directory).iter().filter(|name| name.contains('@')) {
        let link = directory.join(name.split_once('@').unwrap().0);
        assert_eq!(fs::read_link(link).unwrap().to_str().unwrap(), name);
    }
}

#[test]
fn what_another_process_stages_is_not_a_leftover() {
    let dir = tempdir().unwrap();
    let (one, two) = (set("one"), set("two"));
    let first = prepare(&group("bird", dir.path(), &one), &Options::default()).unwrap();
    let second = prepare(&group("bird", dir.path(), &two), &Options::default()).unwrap();
    second.swap().unwrap();
    first.swap().unwrap();
    assert_clean(dir.path(), &one);
}

#[test]
fn leftovers_are_removed_when_nothing_changes() {
    let dir = tempdir().unwrap();
    put(dir.path(), &set("old")).unwrap();
    let (options, _) = failing(|number| number >= 10);
    assert!(apply(&group("bird", dir.path(), &set("new")), &options).is_err());
    assert_eq!(names(dir.path()).len(), 6 + 1 + 2);
    assert!(put(dir.path(), &set("old")).unwrap().is_unchanged());
    assert_clean(dir.path(), &set("old"));
}

#[test]
fn a_link_that_is_named_like_a_version_leads_the_sweep_nowhere() {
    let (dir, other) = (tempdir().unwrap(), tempdir().unwrap());
    fs::write(other.path().join("precious"), "").unwrap();
    put(dir.path(), &set("old")).unwrap();
    std::os::unix::fs::symlink(other.path(), dir.path().join("..bird@7")).unwrap();
    std::os::unix::fs::symlink(other.path(), dir.path().join("..else@1")).unwrap();
    put(dir.path(), &set("new")).unwrap();
    assert_eq!(names(other.path()), ["precious"]);
}
