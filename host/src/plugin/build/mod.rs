//! From a crate to a component, without an external tool but cargo.
//!
//! A toolchain that can compile for WebAssembly is found ([`Toolchain`]), or the error says which command brings one; cargo
//! builds the core module; [`component()`] makes it a component with the manifest where the host reads it.

mod cargo;
mod component;
mod toolchain;

use std::io;
use std::path::{Path, PathBuf};

pub use component::{EncodeError, component};
pub use toolchain::{Machine, NoToolchain, Toolchain};

use super::{LoadError, PluginFile};

/// What was built.
#[derive(Debug, Clone)]
pub struct Built {
    /// Where the component is.
    pub path: PathBuf,
    /// The component, read as the host reads it.
    pub plugin: PluginFile,
}

/// Why a plugin was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Nothing here compiles for WebAssembly.
    #[error(transparent)]
    Toolchain(#[from] NoToolchain),
    /// The folder holds no crate that can be a plugin.
    #[error("{dir}: {reason}", dir = dir.display())]
    Crate {
        /// The folder.
        dir: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A program could not be started, or its output not be read.
    #[error("cannot run {program}: {error}", program = program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Cargo said what is wrong.
    #[error("{dir}: cargo could not build it (its own words are above)", dir = dir.display())]
    Failed {
        /// The crate's folder.
        dir: PathBuf,
    },
    /// The module is no plugin.
    #[error("{module}: {error}", module = module.display())]
    Encode {
        /// The core module.
        module: PathBuf,
        /// Why.
        error: EncodeError,
    },
    /// The component is one that no host would load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A file could not be read or written.
    #[error("{path}: {error}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Builds the crate in `dir` as a plugin. The component is written to `out`, or else to `plugins/<crate>.wasm` in cargo's
/// target folder. Cargo's progress goes to standard error.
///
/// Where the standard library is compiled from source, that happens in a folder of the user's cache, once for all plugins,
/// unless `CARGO_TARGET_DIR` or cargo's configuration names another.
///
/// # Errors
/// No toolchain, no crate, cargo's own errors, or a module that is no plugin.
pub fn build(dir: &Path, out: Option<&Path>) -> Result<Built, BuildError> {
    let package = cargo::package(dir)?;
    let toolchain = Toolchain::find(&Machine::here(dir))?;
    let module = cargo::compile(&toolchain, dir, &package)?;
    let bytes =
        component(&module.bytes).map_err(|error| BuildError::Encode { module: module.path, error })?;
    let path = match out {
        Some(path) => path.to_owned(),
        None => package.target.join("plugins").join(format!("{}.wasm", package.name)),
    };
    let plugin = PluginFile::parse(&package.name, bytes)?;
    write(&path, &plugin.bytes)?;
    Ok(Built { path, plugin })
}

/// Writes a whole file or none: a host may be watching it.
fn write(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .tempfile_in(folder)?;
        io::Write::write_all(&mut file, bytes)?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error: io::Error| BuildError::File { path: path.to_owned(), error })
}
