//! Sets of six files that carry their set's name, and what must hold of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tailorbird::stage::{FileCheck, Group, Options, Outcome, StageError, StagedFile, apply};

pub(crate) const NAMES: [&str; 6] =
    ["bird.cfg", "bird_aggr.cfg", "bird_ipam.cfg", "bird6.cfg", "bird6_aggr.cfg", "bird6_ipam.cfg"];

/// A set: each name with its content.
pub(crate) type Set = BTreeMap<String, String>;

/// A set of these names; the content says of which set it is.
pub(crate) fn set_of(names: &[&str], tag: &str) -> Set {
    names.iter().map(|name| ((*name).to_owned(), format!("# {tag} of {name}\n"))).collect()
}

/// The set of all six names.
pub(crate) fn set(tag: &str) -> Set {
    set_of(&NAMES, tag)
}

/// A file with nothing set.
pub(crate) fn file<'a>(dest: &Path, content: &'a String) -> StagedFile<'a> {
    StagedFile { dest: dest.to_owned(), content, mode: None, uid: None, gid: None }
}

/// The group of a set in a directory.
pub(crate) fn group<'a>(name: &str, directory: &Path, set: &'a Set) -> Group<'a> {
    let files = set.iter().map(|(name, content)| file(&directory.join(name), content)).collect();
    Group { name: name.to_owned(), files, checks: Vec::<FileCheck>::new() }
}

/// Stages and swaps a set of the group `bird`.
pub(crate) fn put(directory: &Path, set: &Set) -> Result<Outcome, StageError> {
    apply(&group("bird", directory, set), &Options::default())
}

/// Plain files, as another program leaves them.
pub(crate) fn put_plain(directory: &Path, set: &Set) {
    for (name, content) in set {
        fs::write(directory.join(name), content).unwrap();
    }
}

/// What a reader sees by the names of a directory. A name that cannot be opened is missing.
pub(crate) fn seen(directory: &Path) -> Set {
    let names = names(directory).into_iter().filter(|name| !name.starts_with(".."));
    names.filter_map(|name| Some((name.clone(), fs::read_to_string(directory.join(name)).ok()?))).collect()
}

/// All names in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Asserts that a directory holds this set of the group `bird`, and nothing else.
#[track_caller]
pub(crate) fn assert_clean(directory: &Path, set: &Set) {
    assert_eq!(&seen(directory), set);
    let version = fs::read_link(directory.join("..bird")).unwrap().to_str().unwrap().to_owned();
    let mut expected: Vec<String> =
        set.keys().cloned().chain(["..bird".to_owned(), version.clone()]).collect();
    expected.sort();
    assert_eq!(names(directory), expected);
    assert_eq!(names(&directory.join(version)), set.keys().cloned().collect::<Vec<_>>());
}

/// A mount that is undone at the end.
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// Mounts; `None`, and a word about it, where that is not allowed.
    pub(crate) fn new(test: &str, arguments: &[&str], at: &Path) -> Option<Self> {
        let done = Command::new("mount").args(arguments).arg(at).output();
        if done.is_ok_and(|done| done.status.success()) {
            return Some(Self(at.to_owned()));
        }
        eprintln!("{test}: skipped, as mounting is not allowed here");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}
