//! Compiled components, kept between runs.
//!
//! Loading native code that somebody else wrote would be running it, so the folder must belong to this user with mode
//! 0700, and so must each file, which begins with the digest of what follows.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

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

    /// The compiled form of a component for an engine, if it is there, whole and ours.
    pub(super) fn get(&self, component: Digest, engine: u64) -> Option<Vec<u8>> {
        let path = self.path(component, engine);
        let meta = fs::symlink_metadata(&path).ok()?;
        let ours = meta.is_file()
            && meta.uid() == rustix::process::geteuid().as_raw()
            && meta.mode() & 0o077 == 0
            && meta.len() <= MAX_FILE;
        if !ours {
            return None;
        }
        let mut bytes = fs::read(&path).ok()?;
        let (digest, rest) = bytes.split_at_checked(32)?;
        if Digest::of(rest).0 != digest {
            return None;
        }
        Some(bytes.split_off(32))
    }

    /// Keeps the compiled form of a component. What cannot be kept is compiled again the next time.
    pub(super) fn put(&self, component: Digest, engine: u64, compiled: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".new").tempfile_in(&self.folder)?;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(&Digest::of(compiled).0)?;
        file.write_all(compiled)?;
        file.persist(self.path(component, engine)).map_err(|error| error.error)?;
        Ok(())
    }
}
