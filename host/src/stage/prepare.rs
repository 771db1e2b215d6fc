//! Puts a group's files beside their destinations, under their final names.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tracing::debug;

use super::compare::{Attributes, has_content};
use super::layout::{Layout, Place, names_in};
use super::lock::Lock;
use super::ops::{Operation, Ops, failed};
use super::{FileCheck, Group, Options, Outcome, StageError, StagedFile, is_group_name, swap, sweep};

/// A group whose files are staged. Dropped, it removes them again.
#[derive(Debug)]
#[must_use = "what is staged is removed again unless it is swapped"]
pub struct Prepared {
    sets: Vec<StagedSet>,
    outcome: Outcome,
    checks: Vec<FileCheck>,
    check_timeout: Duration,
    lock_wait: Duration,
}

/// The files of a group that go to one directory.
#[derive(Debug)]
pub(super) struct StagedSet {
    pub(super) layout: Layout,
    /// The version folder that holds them.
    pub(super) version: String,
    pub(super) files: Vec<SetFile>,
    pub(super) ops: Ops,
    /// The lock of the version folder: it tells others that the folder is in work.
    lock: Option<Lock>,
    /// The directory as it was given.
    shown: PathBuf,
}

/// A file of a staged set.
#[derive(Debug, Clone)]
pub(super) struct SetFile {
    pub(super) name: String,
    pub(super) attributes: Attributes,
    /// Whether the destination is the same already.
    pub(super) same: bool,
}

/// Stages a group: compares it with what is on disk and, where anything differs, writes the set beside it.
///
/// What interrupted swaps left in the directories is removed first.
///
/// # Errors
///
/// [`StageError`]; then nothing is staged.
pub fn prepare(group: &Group<'_>, options: &Options) -> Result<Prepared, StageError> {
    let ops = Ops { hook: options.hook.clone() };
    let mut prepared = Prepared {
        sets: Vec::new(),
        outcome: Outcome::default(),
        checks: group.checks.clone(),
        check_timeout: options.check_timeout,
        lock_wait: options.lock_wait,
    };
    for (directory, files) in by_directory(group)? {
        let layout = Layout::new(directory, &group.name);
        sweep::sweep(&layout.directory, &ops);
        let plans = files.iter().map(|file| Plan::new(&layout, file)).collect::<Result<Vec<_>, _>>()?;
        let removed = removed_names(&layout, &plans)?;
        prepared.outcome.note(&plans, &removed);
        if !removed.is_empty() || plans.iter().any(|plan| !plan.same) {
            prepared.sets.push(StagedSet::write(layout, &plans, options.lock_wait, &ops)?);
        }
    }
    Ok(prepared)
}

impl Prepared {
    /// Whether everything is on disk already, so that nothing was staged.
    pub fn is_unchanged(&self) -> bool {
        self.sets.is_empty()
    }

    /// What a swap would do.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Where a destination's file is staged, if its directory has anything new.
    pub fn staged(&self, dest: &Path) -> Option<PathBuf> {
        self.find(dest).map(|(set, name)| set.folder().join(name))
    }

    /// Runs the group's checks on the staged files.
    ///
    /// # Errors
    ///
    /// The first check that does not pass.
    pub fn check(&self) -> Result<(), StageError> {
        for check in &self.checks {
            let Some((set, name)) = self.find(&check.dest) else { continue };
            let folder = set.folder();
            check.check.run(&folder.join(name), self.check_timeout).map_err(|error| StageError::Check {
                path: check.dest.clone(),
                source: Box::new(error.relocated(&folder, &set.shown)),
            })?;
        }
        Ok(())
    }

    /// Makes the staged files the files on disk.
    ///
    /// # Errors
    ///
    /// [`StageError`]; then the destinations show what they showed before, except those that are mount points.
    pub fn swap(mut self) -> Result<Outcome, StageError> {
        swap::swap(&mut self.sets, self.lock_wait)?;
        Ok(std::mem::take(&mut self.outcome))
    }

    fn find(&self, dest: &Path) -> Option<(&StagedSet, String)> {
        let (directory, name) = split(dest).ok()?;
        self.sets.iter().find(|set| set.layout.directory == directory).map(|set| (set, name))
    }
}

impl Outcome {
    fn note(&mut self, plans: &[Plan<'_>], removed: &[String]) {
        for plan in plans {
            let list = if plan.same { &mut self.unchanged } else { &mut self.written };
            list.push(plan.file.dest.clone());
        }
        let directory = plans.first().and_then(|plan| plan.file.dest.parent()).unwrap_or(Path::new(""));
        self.removed.extend(removed.iter().map(|name| directory.join(name)));
    }
}

type ByDirectory<'a, 'b> = BTreeMap<PathBuf, Vec<&'b StagedFile<'a>>>;

/// The files by their canonical directory.
fn by_directory<'a, 'b>(group: &'b Group<'a>) -> Result<ByDirectory<'a, 'b>, StageError> {
    if !is_group_name(&group.name) {
        return Err(StageError::GroupName { name: group.name.clone() });
    }
    let (mut directories, mut seen) = (ByDirectory::new(), BTreeSet::new());
    for file in &group.files {
        let place = split(&file.dest)?;
        directories.entry(place.0.clone()).or_default().push(file);
        if !seen.insert(place) {
            let reason = "two files of the group have it";
            return Err(StageError::Destination { path: file.dest.clone(), reason });
        }
    }
    for check in &group.checks {
        if !seen.contains(&split(&check.dest)?) {
            let reason = "there is a check for it, and no file";
            return Err(StageError::Destination { path: check.dest.clone(), reason });
        }
    }
    Ok(directories)
}

/// A destination's canonical directory and its name there.
fn split(dest: &Path) -> Result<(PathBuf, String), StageError> {
    let bad = |reason| StageError::Destination { path: dest.to_owned(), reason };
    let name = dest.file_name().ok_or_else(|| bad("it does not name a file"))?;
    let name = name.to_str().ok_or_else(|| bad("its name is not valid UTF-8"))?;
    if name.starts_with("..") {
        return Err(bad("names that begin with two dots are for folders and links of this program"));
    }
    let parent = match dest.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(bad("it does not name a file")),
    };
    match parent.canonicalize() {
        Ok(directory) => Ok((directory, name.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(StageError::MissingDirectory { path: parent.to_owned() })
        }
        Err(error) => Err(failed(Operation::Read, parent)(error)),
    }
}

/// What is to become of a file, where this stands at its destination.
struct Plan<'a> {
    file: &'a StagedFile<'a>,
    name: String,
    attributes: Attributes,
    same: bool,
    /// A file with the same content on disk, and its inode.
    twin: Option<(PathBuf, u64)>,
}

impl<'a> Plan<'a> {
    fn new(layout: &Layout, file: &'a StagedFile<'a>) -> Result<Self, StageError> {
        let (_, name) = split(&file.dest)?;
        let place = layout.place(OsStr::new(&name))?;
        let found = layout.metadata(OsStr::new(&name))?;
        let attributes = Attributes::wanted(file, found.as_ref());
        let (mut same, mut twin) = (false, None);
        if let Some(found) = &found {
            same = Attributes::of(found) == attributes && has_content(&file.dest, found, file.content)?;
            if same && place != Place::Mount {
                twin = place.source(layout, OsStr::new(&name)).map(|path| (path, found.ino()));
            }
        }
        Ok(Self { file, name, attributes, same, twin })
    }
}

/// The names that the group has on disk and will not have any more.
fn removed_names(layout: &Layout, plans: &[Plan<'_>]) -> Result<Vec<String>, StageError> {
    let kept: BTreeSet<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    let mut names = names_in(&layout.directory)?;
    names.retain(|name| {
        let target = fs::read_link(layout.file(OsStr::new(name)));
        !kept.contains(name.as_str()) && target.is_ok_and(|target| target == layout.target(OsStr::new(name)))
    });
    names.sort();
    Ok(names)
}

impl StagedSet {
    /// The folder that holds the staged files.
    pub(super) fn folder(&self) -> PathBuf {
        self.layout.directory.join(&self.version)
    }

    /// Ends the work on the folder: from now on it is a leftover unless the group's link points to it.
    pub(super) fn release(&mut self) {
        self.lock = None;
    }

    fn write(layout: Layout, plans: &[Plan<'_>], wait: Duration, ops: &Ops) -> Result<Self, StageError> {
        let shown = plans.first().and_then(|plan| plan.file.dest.parent()).unwrap_or(Path::new(""));
        let set = Self::create(layout, shown.to_owned(), plans, wait, ops)?;
        let folder = set.folder();
        for plan in plans {
            let path = folder.join(&plan.name);
            if !set.share(plan, &path)? {
                set.write_file(plan, &path)?;
            }
        }
        // Who may enter the directory may enter the folder: the files' own modes say who reads them.
        let opened = File::open(&folder).map_err(failed(Operation::Read, &folder))?;
        ops.set_mode(&opened, &folder, 0o755)?;
        ops.sync(&opened, &folder)?;
        debug!(folder = %folder.display(), files = plans.len(), "staged");
        Ok(set)
    }

    /// Creates the version folder.
    fn create(
        layout: Layout,
        shown: PathBuf,
        plans: &[Plan<'_>],
        wait: Duration,
        ops: &Ops,
    ) -> Result<Self, StageError> {
        // While the directory is locked, nobody takes the new folder for a leftover.
        let _lock = Lock::wait(&layout.directory, wait)?;
        let version = layout.next_version()?;
        let files = plans.iter().map(|plan| SetFile {
            name: plan.name.clone(),
            attributes: plan.attributes,
            same: plan.same,
        });
        let folder = layout.directory.join(&version);
        ops.create_directory(&folder)?;
        let mut set = Self { layout, version, files: files.collect(), ops: ops.clone(), lock: None, shown };
        set.lock = Some(Lock::wait(&folder, wait)?);
        Ok(set)
    }

    /// Gives a file that is on disk already its name in the folder too, if the file system and the kernel allow.
    fn share(&self, plan: &Plan<'_>, path: &Path) -> Result<bool, StageError> {
        let Some((twin, inode)) = &plan.twin else { return Ok(false) };
        if self.ops.hard_link(twin, path).is_err() {
            return Ok(false);
        }
        let linked = fs::symlink_metadata(path).map_err(failed(Operation::Read, path))?;
        if linked.is_file() && linked.ino() == *inode {
            // Another program may have written it and not synced it.
            self.ops.sync_path(path)?;
            return Ok(true);
        }
        self.ops.remove(path)?;
        Ok(false)
    }

    fn write_file(&self, plan: &Plan<'_>, path: &Path) -> Result<(), StageError> {
        let file = self.ops.create(path)?;
        self.ops.write(&file, path, plan.file.content)?;
        self.ops.set_attributes(&file, path, plan.attributes)?;
        self.ops.sync(&file, path)
    }
}

impl Drop for StagedSet {
    fn drop(&mut self) {
        // An error means that the link is not ours: then it does not point here.
        let current = self.layout.current().ok().flatten();
        if current.as_deref() == Some(self.version.as_str()) {
            return;
        }
        if let Err(error) = self.ops.remove_directory(&self.folder()) {
            tracing::warn!(folder = %self.folder().display(), %error, "a staged folder stays");
        }
    }
}
