//! Every change of the file system goes through here: each error gets its path and operation, and tests can let the
//! world end at any of them.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use super::compare::Attributes;
use super::{Content, StageError};

/// A kind of access to the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A file or directory is looked at.
    Read,
    /// A directory is locked.
    Lock,
    /// A directory is created.
    CreateDirectory,
    /// A file is created.
    Create,
    /// A file is written.
    Write,
    /// A file or directory is made durable.
    Sync,
    /// A mode is set.
    SetMode,
    /// An owner is set.
    SetOwner,
    /// A symbolic link is made.
    Link,
    /// A second name of a file is made.
    HardLink,
    /// A name replaces another.
    Rename,
    /// A file, link or directory is removed.
    Remove,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Read => "read",
            Operation::Lock => "lock",
            Operation::CreateDirectory => "create the directory",
            Operation::Create => "create",
            Operation::Write => "write",
            Operation::Sync => "sync to disk",
            Operation::SetMode => "set the mode of",
            Operation::SetOwner => "set the owner of",
            Operation::Link => "create the symbolic link",
            Operation::HardLink => "link",
            Operation::Rename => "rename into place",
            Operation::Remove => "remove",
        })
    }
}

type Callback = dyn Fn(Operation, &Path) -> io::Result<()> + Send + Sync;

/// A function that is called before each change of the file system; an error that it gives counts as the
/// operation's own, which is then not done. Tests use it to try every failure, and every instant of a crash.
#[derive(Clone, Default)]
pub struct Hook(Option<Arc<Callback>>);

impl Hook {
    /// A hook that calls this function.
    pub fn new(callback: impl Fn(Operation, &Path) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Hook(set)" } else { "Hook(none)" })
    }
}

/// The error of an operation on a path.
pub(super) fn failed(operation: Operation, path: &Path) -> impl FnOnce(io::Error) -> StageError {
    move |source| StageError::Io { operation, path: path.to_owned(), source }
}

/// The operations.
#[derive(Debug, Clone, Default)]
pub(super) struct Ops {
    pub(super) hook: Hook,
}

impl Ops {
    fn run<T>(
        &self,
        operation: Operation,
        path: &Path,
        action: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, StageError> {
        let allowed = self.hook.0.as_ref().map_or(Ok(()), |hook| hook(operation, path));
        allowed.and_then(|()| action()).map_err(failed(operation, path))
    }

    /// Creates a directory that only we can enter.
    pub(super) fn create_directory(&self, path: &Path) -> Result<(), StageError> {
        self.run(Operation::CreateDirectory, path, || DirBuilder::new().mode(0o700).create(path))
    }

    /// Creates a file that only we can read.
    pub(super) fn create(&self, path: &Path) -> Result<File, StageError> {
        self.run(Operation::Create, path, || {
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
        })
    }

    /// Writes a content.
    pub(super) fn write(&self, file: &File, path: &Path, content: &dyn Content) -> Result<(), StageError> {
        self.run(Operation::Write, path, || {
            let mut writer = BufWriter::with_capacity(64 * 1024, file);
            content.chunks().try_for_each(|chunk| writer.write_all(chunk.as_bytes()))?;
            writer.flush()
        })
    }

    /// Copies what can be read to where this file stands.
    pub(super) fn copy(&self, from: &mut File, to: &mut File, path: &Path) -> Result<u64, StageError> {
        self.run(Operation::Write, path, || io::copy(from, to))
    }

    /// Reserves room for a file of this length without changing it, where the file system can.
    pub(super) fn reserve(&self, file: &File, path: &Path, len: u64) -> Result<(), StageError> {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        self.run(Operation::Write, path, || match fallocate(file, FallocateFlags::KEEP_SIZE, 0, len.max(1)) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => Ok(other?),
        })
    }

    pub(super) fn truncate(&self, file: &File, path: &Path, len: u64) -> Result<(), StageError> {
        self.run(Operation::Write, path, || file.set_len(len))
    }

    /// Sets owner and mode where they differ. The owner comes first: a change of it takes bits from the mode.
    pub(super) fn set_attributes(
        &self,
        file: &File,
        path: &Path,
        wanted: Attributes,
    ) -> Result<(), StageError> {
        let found = Attributes::of(&file.metadata().map_err(failed(Operation::Read, path))?);
        if (found.uid, found.gid) != (wanted.uid, wanted.gid) {
            self.run(Operation::SetOwner, path, || {
                std::os::unix::fs::fchown(file, Some(wanted.uid), Some(wanted.gid))
            })?;
        }
        self.set_mode(file, path, wanted.mode)
    }

    pub(super) fn set_mode(&self, file: &File, path: &Path, mode: u32) -> Result<(), StageError> {
        self.run(Operation::SetMode, path, || file.set_permissions(Permissions::from_mode(mode)))
    }

    pub(super) fn sync(&self, file: &File, path: &Path) -> Result<(), StageError> {
        self.run(Operation::Sync, path, || file.sync_all())
    }

    /// Makes the entries of a directory, or the content of a file, durable.
    pub(super) fn sync_path(&self, path: &Path) -> Result<(), StageError> {
        self.run(Operation::Sync, path, || File::open(path)?.sync_all())
    }

    pub(super) fn link(&self, target: &Path, path: &Path) -> Result<(), StageError> {
        self.run(Operation::Link, path, || std::os::unix::fs::symlink(target, path))
    }

    pub(super) fn hard_link(&self, from: &Path, path: &Path) -> Result<(), StageError> {
        self.run(Operation::HardLink, path, || fs::hard_link(from, path))
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> Result<(), StageError> {
        self.run(Operation::Rename, to, || fs::rename(from, to))
    }

    /// Removes a file or link; one that is not there is as good.
    pub(super) fn remove(&self, path: &Path) -> Result<(), StageError> {
        self.run(Operation::Remove, path, || ignore_missing(fs::remove_file(path)))
    }

    /// Removes a directory and the files in it.
    pub(super) fn remove_directory(&self, path: &Path) -> Result<(), StageError> {
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(failed(Operation::Read, path))?,
        };
        for entry in entries {
            self.remove(&entry.map_err(failed(Operation::Read, path))?.path())?;
        }
        self.run(Operation::Remove, path, || ignore_missing(fs::remove_dir(path)))
    }
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
