//! What somebody names: regular files, read whole, within bounds and never waited for; folders that are to be filled.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Reads a file of at most `max` bytes.
///
/// # Errors
/// It cannot be read, is longer, or is no regular file: one end of a pipe would be waited for until somebody takes the other.
pub(crate) fn read(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take((max as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {max} bytes")));
    }
    Ok(bytes)
}

/// The same for text.
///
/// # Errors
/// As [`read`]; it is no UTF-8.
pub(crate) fn read_text(path: &Path, max: usize) -> io::Result<String> {
    String::from_utf8(read(path, max)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Whether something can be put where a folder is named: the folder is empty, or nothing is there.
///
/// # Errors
/// It cannot be listed.
pub(crate) fn is_free(folder: &Path) -> io::Result<bool> {
    match folder.read_dir() {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(error),
    }
}
