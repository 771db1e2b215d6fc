//! Compiled components, kept between runs.
//!
//! Loading native code that somebody else wrote would be running it, so the folder must belong to this user with mode
//! 0700, and so must each file, which ends with the digest of what comes before. A file is never written to: another one takes
//! its place.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use super::manifest::Digest;

/// The longest file that is read.
const MAX_FILE: u64 = 256 << 20;

/// A folder of compiled components.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Opens the folder, or makes it.
    pub(super) fn open(folder: &Path) -> Result<Self, String> {
        let fail = |error: io::Error| format!("the cache folder {}: {error}", folder.display());
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(fail(error)),
            _ => {}
        }
        let meta = fs::symlink_metadata(folder).map_err(fail)?;
        if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o077 != 0 {
            return Err(format!(
                "the cache folder {} must be a folder of this user with mode 0700: what is in it is run",
                folder.display()
            ));
        }
        Ok(Self { folder: folder.to_owned() })
    }

    fn path(&self, component: Digest, engine: u64) -> PathBuf {
        self.folder.join(format!("{component}-{engine:016x}.cwasm"))
    }

    /// The file of the compiled form of a component for an engine, if it is there, whole and ours.
    pub(super) fn get(&self, component: Digest, engine: u64) -> Option<File> {
        let flags = i32::try_from(OFlags::NOFOLLOW.bits()).ok()?;
        let file = File::options().read(true).custom_flags(flags).open(self.path(component, engine)).ok()?;
        let meta = file.metadata().ok()?;
        let ours = meta.is_file()
            && meta.uid() == rustix::process::geteuid().as_raw()
            && meta.mode() & 0o077 == 0
            && meta.len() <= MAX_FILE;
        if !ours {
            return None;
        }
        is_whole(&file, meta.len()).ok()?.then_some(file)
    }

    /// Keeps the compiled form of a component. What cannot be kept is compiled again the next time.
    pub(super) fn put(&self, component: Digest, engine: u64, compiled: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".new").tempfile_in(&self.folder)?;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(compiled)?;
        file.write_all(&Digest::of(compiled).0)?;
        file.persist(self.path(component, engine)).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Whether a file ends with the digest of what comes before. It is not read as a whole, for it is mapped into memory later.
fn is_whole(mut file: &File, length: u64) -> io::Result<bool> {
    let Some(mut left) = length.checked_sub(32) else { return Ok(false) };
    let (mut hash, mut piece) = (Sha256::new(), vec![0; 64 << 10]);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        let read = file.read(&mut piece[..most])?;
        if read == 0 {
            return Ok(false);
        }
        hash.update(&piece[..read]);
        left -= read as u64;
    }
    let mut digest = [0; 32];
    file.read_exact(&mut digest)?;
    Ok(digest == *hash.finalize())
}
