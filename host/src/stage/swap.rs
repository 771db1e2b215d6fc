//! Makes staged sets the files on disk.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tracing::{info, warn};

use super::StageError;
use super::compare::Attributes;
use super::layout::{Layout, Place, names_in};
use super::lock::Lock;
use super::ops::{Operation, Ops, failed};
use super::prepare::{SetFile, StagedSet};
use super::sweep;

/// Swaps the sets of a group: all that can fail is done first, then one rename a directory.
pub(super) fn swap(sets: &mut [StagedSet], wait: Duration) -> Result<(), StageError> {
    // The sets are in the order of their directories, so two processes cannot wait for each other.
    let locks: Vec<Lock> =
        sets.iter().map(|set| Lock::wait(&set.layout.directory, wait)).collect::<Result<_, _>>()?;
    let result = swap_locked(sets);
    for set in sets {
        set.release();
        sweep::sweep_locked(&set.layout.directory, &set.ops);
    }
    drop(locks);
    result
}

fn swap_locked(sets: &[StagedSet]) -> Result<(), StageError> {
    let armed = sets.iter().map(Armed::new).collect::<Result<Vec<_>, _>>()?;
    write_in_place(&armed)?;
    for (count, one) in armed.iter().enumerate() {
        if let Err(error) = one.flip() {
            armed[..=count].iter().rev().for_each(Armed::flip_back);
            return Err(error);
        }
    }
    Ok(())
}

/// A set of which every name shows what it showed before, and goes through the group's link.
struct Armed<'a> {
    set: &'a StagedSet,
    /// The version folder before the swap.
    before: Option<String>,
    /// The files whose names cannot be links.
    in_place: Vec<&'a SetFile>,
}

impl<'a> Armed<'a> {
    fn new(set: &'a StagedSet) -> Result<Self, StageError> {
        let layout = &set.layout;
        let mut places = Vec::new();
        for file in &set.files {
            places.push((file, layout.place(OsStr::new(&file.name))?));
        }
        let mut before = layout.current()?;
        let taken: Vec<(&str, PathBuf)> = places
            .iter()
            .filter(|(_, place)| matches!(place, Place::File | Place::OtherGroup(_)))
            .filter_map(|(file, place)| {
                Some((file.name.as_str(), place.source(layout, OsStr::new(&file.name))?))
            })
            .collect();
        if !taken.is_empty() {
            before = Some(preserve(layout, &set.ops, before, &taken)?);
        }
        let mut in_place = Vec::new();
        for (file, place) in places {
            if !link_name(layout, &set.ops, &file.name, &place)? {
                in_place.push(file);
            }
        }
        // The new folder and all the names are durable before the link can be.
        set.ops.sync_path(&layout.directory)?;
        Ok(Self { set, before, in_place })
    }

    fn flip(&self) -> Result<(), StageError> {
        if self.in_place.len() == self.set.files.len() && self.before.is_none() {
            return Ok(());
        }
        let layout = &self.set.layout;
        point(layout, &self.set.ops, &self.set.version)?;
        self.set.ops.sync_path(&layout.directory)?;
        info!(directory = %layout.directory.display(), version = %self.set.version, "swapped");
        Ok(())
    }

    /// Points the group's link to where it pointed before, if it does not.
    fn flip_back(&self) {
        let layout = &self.set.layout;
        let back = layout.current().and_then(|current| match &self.before {
            _ if current == self.before => Ok(()),
            Some(before) => point(layout, &self.set.ops, before),
            None => self.set.ops.remove(&layout.link()),
        });
        if let Err(error) = back {
            warn!(directory = %layout.directory.display(), %error, "a failed swap could not be taken back");
        }
    }
}

/// Points the group's link to a version folder, at one instant.
fn point(layout: &Layout, ops: &Ops, version: &str) -> Result<(), StageError> {
    make_fresh_link(layout, ops, Path::new(version))?;
    ops.rename(&layout.fresh_link(), &layout.link())
}

fn make_fresh_link(layout: &Layout, ops: &Ops, target: &Path) -> Result<(), StageError> {
    let path = layout.fresh_link();
    match ops.link(target, &path) {
        Err(error) if error.io_kind() == Some(io::ErrorKind::AlreadyExists) => {
            ops.remove(&path)?;
            ops.link(target, &path)
        }
        other => other,
    }
}

/// Makes a destination a link through the group's link; `false` if it is a mount point and cannot be one.
///
/// A missing one gets its link before there is a file behind it: to readers it is missing until the swap.
fn link_name(layout: &Layout, ops: &Ops, name: &str, place: &Place) -> Result<bool, StageError> {
    let (path, target) = (layout.file(OsStr::new(name)), layout.target(OsStr::new(name)));
    match place {
        Place::Ours => Ok(true),
        Place::Mount => Ok(false),
        Place::Missing => ops.link(&target, &path).map(|()| true),
        Place::File | Place::OtherGroup(_) => {
            make_fresh_link(layout, ops, &target)?;
            match ops.rename(&layout.fresh_link(), &path) {
                Err(error) if error.io_kind() == Some(io::ErrorKind::ResourceBusy) => {
                    ops.remove(&layout.fresh_link()).map(|()| false)
                }
                other => other.map(|()| true),
            }
        }
    }
}

/// Makes the group's link point to a folder with the files that readers see now, those that are not behind the link
/// yet among them. After that, a name can become a link and show the same file as before.
fn preserve(
    layout: &Layout,
    ops: &Ops,
    current: Option<String>,
    taken: &[(&str, PathBuf)],
) -> Result<String, StageError> {
    let version = layout.next_version()?;
    let folder = layout.directory.join(&version);
    ops.create_directory(&folder)?;
    for (name, source) in taken {
        keep(ops, source, &folder.join(name))?;
    }
    if let Some(current) = current {
        let current = layout.directory.join(current);
        for name in names_in(&current)? {
            if !taken.iter().any(|(taken, _)| *taken == name) {
                keep(ops, &current.join(&name), &folder.join(&name))?;
            }
        }
    }
    let opened = File::open(&folder).map_err(failed(Operation::Read, &folder))?;
    ops.set_mode(&opened, &folder, 0o755)?;
    ops.sync(&opened, &folder)?;
    ops.sync_path(&layout.directory)?;
    point(layout, ops, &version)?;
    ops.sync_path(&layout.directory)?;
    info!(directory = %layout.directory.display(), files = taken.len(), "took over files that were there");
    Ok(version)
}

/// Gives a file a second name, or copies it where that cannot be. A link to nothing is left out.
fn keep(ops: &Ops, from: &Path, to: &Path) -> Result<(), StageError> {
    let found = match fs::metadata(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(failed(Operation::Read, from))?,
    };
    if ops.hard_link(from, to).is_ok() {
        return Ok(());
    }
    let mut source = File::open(from).map_err(failed(Operation::Read, from))?;
    let mut copy = ops.create(to)?;
    ops.copy(&mut source, &mut copy, to)?;
    ops.set_attributes(&copy, to, Attributes::of(&found))?;
    ops.sync(&copy, to)
}

/// Writes the files whose destinations are mount points. All get their room before any is touched.
fn write_in_place(armed: &[Armed<'_>]) -> Result<(), StageError> {
    let mut writes = Vec::new();
    for one in armed {
        for file in one.in_place.iter().filter(|file| !file.same) {
            writes.push(InPlace::open(one.set, file)?);
        }
    }
    writes.into_iter().try_for_each(InPlace::write)
}

struct InPlace<'a> {
    ops: &'a Ops,
    path: PathBuf,
    from: File,
    to: File,
    attributes: Attributes,
}

impl<'a> InPlace<'a> {
    fn open(set: &'a StagedSet, file: &SetFile) -> Result<Self, StageError> {
        let staged = set.folder().join(&file.name);
        let path = set.layout.file(OsStr::new(&file.name));
        let from = File::open(&staged).map_err(failed(Operation::Read, &staged))?;
        let to = OpenOptions::new().write(true).open(&path).map_err(failed(Operation::Write, &path))?;
        let len = from.metadata().map_err(failed(Operation::Read, &staged))?.len();
        set.ops.reserve(&to, &path, len)?;
        Ok(Self { ops: &set.ops, path, from, to, attributes: file.attributes })
    }

    fn write(mut self) -> Result<(), StageError> {
        // A file that gets a secret is closed to others before it is written.
        let found = self.to.metadata().map_err(failed(Operation::Read, &self.path))?;
        if Attributes::of(&found) != self.attributes {
            self.ops.set_mode(&self.to, &self.path, 0o600)?;
        }
        let len = self.ops.copy(&mut self.from, &mut self.to, &self.path)?;
        self.ops.truncate(&self.to, &self.path, len)?;
        self.ops.set_attributes(&self.to, &self.path, self.attributes)?;
        self.ops.sync(&self.to, &self.path)?;
        info!(path = %self.path.display(), "written in place: it is a mount point");
        Ok(())
    }
}
