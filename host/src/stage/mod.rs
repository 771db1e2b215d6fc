//! Text becomes files: staged, checked, and swapped as a set.
//!
//! A [`Group`] is the set of files that one daemon reads. Its files are on disk like this:
//!
//! ```text
//! DIR/bird.cfg       -> ..bird/bird.cfg        one link a file; it never changes again
//! DIR/bird_aggr.cfg  -> ..bird/bird_aggr.cfg
//! DIR/..bird         -> ..bird@7               the one link that a swap renames
//! DIR/..bird@7/bird.cfg, bird_aggr.cfg         the files
//! ```
//!
//! **What a reader sees.** All names of a group in one directory change at one instant, the rename of `..bird`. That
//! holds for names that come or go with a set, for a first start (all names appear at once), and for a take-over of
//! plain files that another program left: they first become links to a folder that holds those very files.
//! A reader that opens one name after another can still meet the swap between two of them, as with any set of
//! files; BIRD is told to load the files after a swap, so it reads the whole new set.
//!
//! **After a crash** at any instant, also of the machine, the names show the old set or the new one. What was left is
//! removed by the next [`prepare`] in that directory.
//!
//! **Groups in one directory** are independent. **A group in several directories** is a set in each of them; they
//! are swapped one after the other, and if one fails those before it are swapped back, but a crash between two can
//! leave one directory new and another old, and `include`s across directories see the old file during a check. A
//! directory in which the group has no file any more is not looked at: the last files stay there.
//!
//! **What is excepted**: a destination that is a mount point itself (a file that is bind-mounted) cannot be
//! replaced. It is written in place, after room for all of it was reserved: not atomic, and not undone if a later
//! step fails.
//!
//! **Disk use** is twice the set during a swap, less the files that did not change (they are the same file on disk),
//! and the set itself after it: the old set is removed at once, as it may hold passwords that are no longer valid.

mod compare;
mod content;
mod error;
mod layout;
mod lock;
mod ops;
mod prepare;
mod swap;
mod sweep;

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bird::check::{CHECK_TIMEOUT, Check};

pub use content::Content;
pub use error::StageError;
pub use ops::{Hook, Operation};
pub use prepare::{Prepared, prepare};

use compare::Attributes;
use ops::failed;

/// Files that are swapped together.
pub struct Group<'a> {
    /// The name: 1 to 64 ASCII letters, digits, `.`, `_` and `-`, not beginning with `.`.
    pub name: String,
    /// The files, at least one; no destination twice.
    pub files: Vec<StagedFile<'a>>,
    /// The checks that must pass before a swap, in order.
    pub checks: Vec<FileCheck>,
}

/// A rendered file.
pub struct StagedFile<'a> {
    /// Where it goes. Its directory must exist.
    pub dest: PathBuf,
    /// The text.
    pub content: &'a dyn Content,
    /// The mode; unset, it is that of the file which is there, else 0644.
    pub mode: Option<u32>,
    /// The owner; unset, it is this process's effective user.
    pub uid: Option<u32>,
    /// The owning group; unset, it is this process's effective group.
    pub gid: Option<u32>,
}

/// A check of one of a group's files; the others stand beside it, under their final names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCheck {
    /// The destination of the file.
    pub dest: PathBuf,
    /// The check.
    pub check: Check,
}

/// How to work.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long to wait for another process that works in the same directory.
    pub lock_wait: Duration,
    /// How long a check may take.
    pub check_timeout: Duration,
    /// For tests.
    pub hook: Hook,
}

impl Default for Options {
    fn default() -> Self {
        Self { lock_wait: Duration::from_secs(10), check_timeout: CHECK_TIMEOUT, hook: Hook::default() }
    }
}

/// What a swap did, by the destinations as they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Files whose content, mode or owner is new.
    pub written: Vec<PathBuf>,
    /// Files that were the same already.
    pub unchanged: Vec<PathBuf>,
    /// Files that the group had before and has no more.
    pub removed: Vec<PathBuf>,
}

impl Outcome {
    /// Whether the daemon has nothing new to load.
    pub fn is_unchanged(&self) -> bool {
        self.written.is_empty() && self.removed.is_empty()
    }
}

/// Stages, checks and swaps a group. When nothing differs, nothing is touched and no check is run.
///
/// # Errors
///
/// [`StageError`]; the files on disk are then those from before.
pub fn apply(group: &Group<'_>, options: &Options) -> Result<Outcome, StageError> {
    let prepared = prepare(group, options)?;
    prepared.check()?;
    prepared.swap()
}

/// Whether the destination has this content, mode and owner already.
///
/// # Errors
///
/// The destination cannot be read.
pub fn is_same(file: &StagedFile<'_>) -> Result<bool, StageError> {
    match fs::metadata(&file.dest) {
        Ok(found) => Ok(Attributes::of(&found) == Attributes::wanted(file, Some(&found))
            && compare::has_content(&file.dest, &found, file.content)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(Operation::Read, &file.dest)(error)),
    }
}

/// Creates a directory for destinations, and its parents, where they do not exist.
///
/// # Errors
///
/// It cannot be created, or it is not a directory.
pub fn create_directory(path: &Path) -> Result<(), StageError> {
    let create = || {
        DirBuilder::new().recursive(true).mode(0o755).create(path)?;
        match path.canonicalize()?.parent() {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    };
    create().map_err(failed(Operation::CreateDirectory, path))
}

fn is_group_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(known)
}
