//! Removes what interrupted swaps left, and what a finished one leaves behind.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use tracing::{debug, warn};

use super::StageError;
use super::layout::{group_of, is_fresh_link, names_in, version_of};
use super::lock::Lock;
use super::ops::Ops;

/// Something that no reader can reach any more.
#[derive(Debug, PartialEq, Eq)]
enum Leftover {
    /// A link that was not renamed into place, a destination's link to nothing, or the link of a group that no
    /// destination goes through.
    Link(PathBuf),
    /// A version folder that no link points to. It may be one that is being staged: then it is locked.
    Folder(PathBuf),
}

/// Removes leftovers of every group in a directory, if there are any and nobody works there.
pub(super) fn sweep(directory: &Path, ops: &Ops) {
    let swept = find(directory).and_then(|found| {
        if found.is_empty() {
            return Ok(());
        }
        match Lock::attempt(directory)? {
            Some(_lock) => remove(find(directory)?, ops),
            None => Ok(()),
        }
    });
    report(directory, swept);
}

/// The same by who holds the directory's lock.
pub(super) fn sweep_locked(directory: &Path, ops: &Ops) {
    report(directory, find(directory).and_then(|found| remove(found, ops)));
}

/// Leftovers take room and do no harm: they are no reason to fail.
fn report(directory: &Path, swept: Result<(), StageError>) {
    if let Err(error) = swept {
        warn!(directory = %directory.display(), %error, "leftovers of an earlier swap stay");
    }
}

fn find(directory: &Path) -> Result<Vec<Leftover>, StageError> {
    let names = names_in(directory)?;
    let (mut used, mut found) = (BTreeSet::new(), Vec::new());
    for name in &names {
        let path = directory.join(name);
        let Ok(target) = fs::read_link(&path) else { continue };
        if is_fresh_link(name) {
            found.push(Leftover::Link(path));
        } else if let Some(group) = group_of(directory, OsStr::new(name), &target) {
            if path.exists() {
                used.insert(group);
            } else {
                found.push(Leftover::Link(path));
            }
        }
    }
    let mut referenced = BTreeSet::new();
    for name in &names {
        let path = directory.join(name);
        let Some(group) = name.strip_prefix("..") else { continue };
        let Some(version) =
            fs::read_link(&path).ok().and_then(|target| target.into_os_string().into_string().ok())
        else {
            continue;
        };
        if version_of(&version) != Some(group) {
            continue;
        }
        if used.contains(group) {
            referenced.insert(version);
        } else {
            found.push(Leftover::Link(path));
        }
    }
    let is_folder = |name: &String| {
        // A link would lead to somebody else's folder.
        directory.join(name).symlink_metadata().is_ok_and(|meta| meta.is_dir())
    };
    let folders = names
        .iter()
        .filter(|name| version_of(name).is_some() && !referenced.contains(*name))
        .filter(|name| is_folder(name));
    found.extend(folders.map(|name| Leftover::Folder(directory.join(name))));
    Ok(found)
}

fn remove(leftovers: Vec<Leftover>, ops: &Ops) -> Result<(), StageError> {
    for leftover in leftovers {
        match leftover {
            Leftover::Link(path) => {
                debug!(path = %path.display(), "removing a link that leads nowhere");
                ops.remove(&path)?;
            }
            Leftover::Folder(path) => {
                if let Some(_lock) = Lock::attempt(&path)? {
                    debug!(path = %path.display(), "removing a folder that is not in use");
                    ops.remove_directory(&path)?;
                }
            }
        }
    }
    Ok(())
}
