//! A crate to begin a plugin with.
//!
//! The binary carries the library for plugins, so that the crate builds wherever it is, until the library is published.

mod cases;
mod files;
mod name;

use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::regular::is_free;

pub use files::{File, files};
pub use name::CrateName;

/// What a plugin does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Chooses peers
    Peers,
    /// Filters routes
    Filter,
    /// Has functions for templates
    Functions,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Peers => "peers",
            Self::Filter => "filter",
            Self::Functions => "functions",
        })
    }
}

/// Why a crate was not written.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// There is something already.
    #[error("{path} is there already, and is not empty: choose another name, or remove it", path = .0.display())]
    Taken(PathBuf),
    /// The library is not where it was said to be.
    #[error(
        "{path}: this is not the library for plugins: there is no Cargo.toml of `tailorbird-guest` in it",
        path = .0.display()
    )]
    NoSdk(PathBuf),
    /// A file could not be read or written.
    #[error("{path}: {error}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Writes a crate to a folder, which is made if need be. With `sdk`, it uses the library there; else a copy is laid
/// beside it.
///
/// # Errors
/// There is something in the folder, the library is not there, or a file cannot be written.
pub fn write(dir: &Path, name: &CrateName, kind: Kind, sdk: Option<&Path>) -> Result<(), ScaffoldError> {
    let fail = |path: &Path| {
        let path = path.to_owned();
        move |error| ScaffoldError::File { path, error }
    };
    let sdk = sdk.map(find_sdk).transpose()?;
    if !is_free(dir).map_err(fail(dir))? {
        return Err(ScaffoldError::Taken(dir.to_owned()));
    }
    for File { path, text } in files(name, kind, sdk.as_deref()) {
        let path = dir.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(fail(folder))?;
        }
        std::fs::write(&path, text).map_err(fail(&path))?;
    }
    Ok(())
}

/// The library's folder as an absolute path, since the crate is in another folder than this process.
fn find_sdk(path: &Path) -> Result<PathBuf, ScaffoldError> {
    let there = path.canonicalize().ok().filter(|path| {
        std::fs::read_to_string(path.join("Cargo.toml"))
            .is_ok_and(|manifest| manifest.lines().any(|line| line == "name = \"tailorbird-guest\""))
    });
    there.ok_or_else(|| ScaffoldError::NoSdk(path.to_owned()))
}
