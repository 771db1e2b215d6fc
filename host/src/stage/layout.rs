//! How a set of files lies in its directory, and what is found there.

use std::ffi::OsStr;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::ops::{Operation, failed};
use super::{StageError, is_group_name};

/// What stands between the name of a group's link and the number of a version folder. No group has it in its name.
const VERSION_MARK: char = '@';

/// The end of the name of a link that is about to be renamed into place.
const FRESH_LINK: &str = "@link";

/// The directory of a set, and the names that belong to a group in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Layout {
    /// The directory, canonical.
    pub(super) directory: PathBuf,
    group: String,
}

impl Layout {
    pub(super) fn new(directory: PathBuf, group: &str) -> Self {
        Self { directory, group: group.to_owned() }
    }

    /// `..bird`.
    pub(super) fn link_name(&self) -> String {
        format!("..{}", self.group)
    }

    /// `DIR/..bird`, the link to the version folder whose files are the present ones.
    pub(super) fn link(&self) -> PathBuf {
        self.directory.join(self.link_name())
    }

    /// `DIR/..bird@link`, where a link is made before it is renamed into place.
    pub(super) fn fresh_link(&self) -> PathBuf {
        self.directory.join(format!("..{}{FRESH_LINK}", self.group))
    }

    /// `DIR/bird.cfg`.
    pub(super) fn file(&self, name: &OsStr) -> PathBuf {
        self.directory.join(name)
    }

    /// `..bird/bird.cfg`, what the link `bird.cfg` points to.
    pub(super) fn target(&self, name: &OsStr) -> PathBuf {
        Path::new(&self.link_name()).join(name)
    }

    /// The version folder that is the present one, by its name, if the group has one here.
    pub(super) fn current(&self) -> Result<Option<String>, StageError> {
        let path = self.link();
        match fs::read_link(&path) {
            Ok(target) => match target.to_str() {
                Some(name) if version_of(name) == Some(self.group.as_str()) => Ok(Some(name.to_owned())),
                _ => Err(StageError::ForeignLink { path, target }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                Err(StageError::NotAFile { path, kind: "something else in the place of this group's link" })
            }
            Err(error) => Err(failed(Operation::Read, &path)(error)),
        }
    }

    /// A version folder that does not exist yet, greater than all that do.
    pub(super) fn next_version(&self) -> Result<String, StageError> {
        let prefix = format!("..{}{VERSION_MARK}", self.group);
        let greatest = names_in(&self.directory)?
            .iter()
            .filter_map(|name| name.strip_prefix(&prefix)?.parse::<u64>().ok())
            .max()
            .unwrap_or(0);
        Ok(format!("{prefix}{}", greatest.saturating_add(1)))
    }

    /// What stands at a destination.
    pub(super) fn place(&self, name: &OsStr) -> Result<Place, StageError> {
        let path = self.file(name);
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Place::Missing),
            found => found.map_err(failed(Operation::Read, &path))?,
        };
        if found.is_symlink() {
            return self.linked_place(name, path);
        }
        if let Some(kind) = not_a_file(found.file_type()) {
            return Err(StageError::NotAFile { path, kind });
        }
        Ok(if is_mount(&path) { Place::Mount } else { Place::File })
    }

    fn linked_place(&self, name: &OsStr, path: PathBuf) -> Result<Place, StageError> {
        let target = fs::read_link(&path).map_err(failed(Operation::Read, &path))?;
        if target == self.target(name) {
            return Ok(Place::Ours);
        }
        match group_of(&self.directory, name, &target) {
            Some(_) => Ok(Place::OtherGroup(self.directory.join(target))),
            None => Err(StageError::ForeignLink { path, target }),
        }
    }

    /// The metadata of the file that a reader of a destination gets.
    pub(super) fn metadata(&self, name: &OsStr) -> Result<Option<Metadata>, StageError> {
        let path = self.file(name);
        match fs::metadata(&path) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(Operation::Read, &path)(error)),
        }
    }
}

/// What stands at a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing.
    Missing,
    /// A link through this group's link.
    Ours,
    /// A link through the link of another group; here is its file without the first link.
    OtherGroup(PathBuf),
    /// A file.
    File,
    /// A file that is a mount point: no other can take its name.
    Mount,
}

impl Place {
    /// The path of the file itself, not of a link to it; `None` if there is none.
    pub(super) fn source(&self, layout: &Layout, name: &OsStr) -> Option<PathBuf> {
        match self {
            Place::Missing => None,
            Place::Ours => Some(layout.directory.join(layout.target(name))),
            Place::OtherGroup(path) => Some(path.clone()),
            Place::File | Place::Mount => Some(layout.file(name)),
        }
    }
}

fn not_a_file(kind: FileType) -> Option<&'static str> {
    match kind {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a directory"),
        kind if kind.is_socket() => Some("a socket"),
        kind if kind.is_fifo() => Some("a named pipe"),
        _ => Some("a device"),
    }
}

/// Whether a path is a mount point. A kernel before 5.8 does not say: there the rename that fails with EBUSY does.
fn is_mount(path: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// The group of a version folder's name: `bird` of `..bird@12`.
pub(super) fn version_of(name: &str) -> Option<&str> {
    let (group, version) = name.strip_prefix("..")?.split_once(VERSION_MARK)?;
    let numbered = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    (numbered && is_group_name(group)).then_some(group)
}

/// Whether a name is that of a link that was to be renamed into place.
pub(super) fn is_fresh_link(name: &str) -> bool {
    name.strip_prefix("..").and_then(|name| name.strip_suffix(FRESH_LINK)).is_some_and(is_group_name)
}

/// The group whose link a destination's link goes through, if that group's link is one of ours or is missing: a
/// first swap that was interrupted leaves such links.
pub(super) fn group_of(directory: &Path, name: &OsStr, target: &Path) -> Option<String> {
    let group = group_in_target(name, target)?;
    match fs::read_link(directory.join(format!("..{group}"))) {
        Ok(version) => (version_of(version.to_str()?)? == group).then_some(group),
        Err(error) => (error.kind() == io::ErrorKind::NotFound).then_some(group),
    }
}

/// `bird` when the link `bird.cfg` points to `..bird/bird.cfg`.
fn group_in_target(name: &OsStr, target: &Path) -> Option<String> {
    let group = target.parent()?.to_str()?.strip_prefix("..")?;
    (target.file_name()? == name && is_group_name(group)).then(|| group.to_owned())
}

/// The names in a directory that are Unicode: ours are.
pub(super) fn names_in(directory: &Path) -> Result<Vec<String>, StageError> {
    let entries = fs::read_dir(directory).map_err(failed(Operation::Read, directory))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed(Operation::Read, directory))?.file_name();
        names.extend(name.into_string());
    }
    Ok(names)
}
