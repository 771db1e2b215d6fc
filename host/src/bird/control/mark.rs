//! What tells one state of a file, and of the links to it, from another.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::watch::Stamp;

/// The symbolic links that are followed to a file, as the system does.
const LINKS: usize = 40;

/// A file as it was: itself, and the symbolic links on the way to it. Two marks are equal when nothing of it was written,
/// replaced or renamed between them. Nothing else can be told from them, so no clock that jumps matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(Vec<Stamp>);

impl Mark {
    /// The file as it is now.
    ///
    /// # Errors
    ///
    /// The file is not there or may not be seen, or its links go in a circle.
    pub fn of(file: &Path) -> io::Result<Self> {
        let mut parts = Vec::new();
        let mut path = std::path::absolute(file)?;
        for _ in 0..=LINKS {
            let Some(link) = first_link(&path)? else {
                parts.push(Stamp::from(&fs::symlink_metadata(&path)?));
                return Ok(Self(parts));
            };
            parts.push(Stamp::from(&fs::symlink_metadata(&link)?));
            let target = link.parent().unwrap_or(Path::new("/")).join(fs::read_link(&link)?);
            let rest = path.strip_prefix(&link).map_err(io::Error::other)?;
            path = if rest.as_os_str().is_empty() { target } else { target.join(rest) };
        }
        Err(io::Error::other(format!("{}: more than {LINKS} symbolic links on the way", file.display())))
    }
}

/// The first part of an absolute path that is a symbolic link.
fn first_link(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut part = PathBuf::new();
    for component in path.components() {
        if component == Component::CurDir {
            continue;
        }
        part.push(component);
        if fs::symlink_metadata(&part)?.is_symlink() {
            return Ok(Some(part));
        }
    }
    Ok(None)
}
