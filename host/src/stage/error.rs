use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::Operation;
use crate::bird::check::CheckError;

/// Why a group of files could not be staged, checked or swapped.
///
/// Unless it says otherwise, the files on disk are those from before and nothing that was staged is left.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum StageError {
    /// The name of a group cannot be part of a file name.
    #[error(
        "group `{name}`: a group's name is 1 to 64 ASCII letters, digits, `.`, `_` and `-`, and does not begin with `.`"
    )]
    GroupName { name: String },
    /// A destination cannot be a destination.
    #[error("destination {}: {reason}", path.display())]
    Destination { path: PathBuf, reason: &'static str },
    /// A destination's directory does not exist.
    #[error(
        "the directory {} does not exist: create it, or mount the volume that BIRD reads its configuration from",
        path.display()
    )]
    MissingDirectory { path: PathBuf },
    /// A destination exists and is a directory, a socket or the like.
    #[error("{} is {kind}, not a file: remove it, or give the template another `dest`", path.display())]
    NotAFile { path: PathBuf, kind: &'static str },
    /// A destination is a symbolic link that somebody else made for a reason of theirs.
    #[error(
        "{} is a symbolic link to {} that was not made here: remove it, or give the template {} as its `dest`",
        path.display(), target.display(), target.display()
    )]
    ForeignLink { path: PathBuf, target: PathBuf },
    /// Another process is at work in the directory.
    #[error(
        "{} was locked by another process for {waited:?}: only one may write there; stop the other one",
        path.display()
    )]
    Locked { path: PathBuf, waited: Duration },
    /// An operation failed.
    #[error("cannot {operation} {}: {source}{}", path.display(), advice(*operation, source))]
    Io { operation: Operation, path: PathBuf, source: io::Error },
    /// The check of a staged file did not pass.
    #[error("{}: {source}", path.display())]
    Check { path: PathBuf, source: Box<CheckError> },
}

impl StageError {
    /// The kind of the error of the operating system, if it is one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            StageError::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }
}

fn advice(operation: Operation, error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; the old files stay: free some space, there must be room for the new files beside the old"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "; the old files stay: mount the volume writable, or choose another directory"
        }
        io::ErrorKind::PermissionDenied if operation == Operation::SetOwner => {
            "; only root may give files away: run as root, or leave out `uid` and `gid`"
        }
        io::ErrorKind::PermissionDenied => "; the process needs write permission on the directory",
        _ => "",
    }
}
