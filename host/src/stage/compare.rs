//! What a file is to be, and whether the one on disk is that already.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::ops::{Operation, failed};
use super::{Content, StageError, StagedFile};

const DEFAULT_MODE: u32 = 0o644;

/// The mode bits that count.
const MODE_BITS: u32 = 0o7777;

/// Mode and owner that a file is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Attributes {
    /// Those of a file on disk.
    pub(super) fn of(found: &Metadata) -> Self {
        Self { mode: found.permissions().mode() & MODE_BITS, uid: found.uid(), gid: found.gid() }
    }

    /// Those that are asked for, where the file on disk is this one.
    pub(super) fn wanted(file: &StagedFile<'_>, found: Option<&Metadata>) -> Self {
        let kept = found.map_or(DEFAULT_MODE, |found| Self::of(found).mode);
        Self {
            mode: file.mode.map_or(kept, |mode| mode & MODE_BITS),
            uid: file.uid.unwrap_or_else(|| rustix::process::geteuid().as_raw()),
            gid: file.gid.unwrap_or_else(|| rustix::process::getegid().as_raw()),
        }
    }
}

/// Whether the file at this path has this content.
pub(super) fn has_content(path: &Path, found: &Metadata, content: &dyn Content) -> Result<bool, StageError> {
    if found.len() != content.len() {
        return Ok(false);
    }
    let file = File::open(path).map_err(failed(Operation::Read, path))?;
    equals(BufReader::with_capacity(64 * 1024, file), content).map_err(failed(Operation::Read, path))
}

fn equals(mut reader: impl BufRead, content: &dyn Content) -> io::Result<bool> {
    for chunk in content.chunks() {
        let mut rest = chunk.as_bytes();
        while !rest.is_empty() {
            let there = reader.fill_buf()?;
            let count = there.len().min(rest.len());
            if count == 0 || there[..count] != rest[..count] {
                return Ok(false);
            }
            reader.consume(count);
            rest = &rest[count..];
        }
    }
    Ok(reader.fill_buf()?.is_empty())
}
