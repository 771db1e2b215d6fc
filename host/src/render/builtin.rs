use std::fs;
use std::path::Path;

use super::resource::{self, Resource};
use super::source::Sources;
use super::{ExportError, ResourceError};
use crate::types::Name;

/// A file of the built-in set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltInFile {
    /// The path in a configuration folder: `conf.d/…` or `templates/…`.
    pub path: &'static str,
    /// The contents.
    pub text: &'static str,
}

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(BuiltInFile { path: $path, text: include_str!(concat!("../../../templates/bird1/", $path)) }),*]
    };
}

const BIRD1: &[BuiltInFile] = files![
    "conf.d/bird.toml",
    "conf.d/bird6.toml",
    "conf.d/bird6_aggr.toml",
    "conf.d/bird6_ipam.toml",
    "conf.d/bird_aggr.toml",
    "conf.d/bird_ipam.toml",
    "templates/bird.hbs",
    "templates/bird_aggr.hbs",
    "templates/bird_ipam.hbs",
];

/// The files of the built-in set, which writes the layout of BIRD 1.x.
pub fn built_in_files() -> &'static [BuiltInFile] {
    BIRD1
}

/// The resources of the built-in set, for the node of this name.
pub fn built_in(node: &Name) -> Vec<Result<Resource, ResourceError>> {
    let files = BIRD1.iter().filter_map(|file| Some((file.path.strip_prefix("conf.d/")?, file.text)));
    resource::load_all(
        files.map(|(path, text)| (path.to_owned(), Ok(text.to_owned()))),
        &Sources::BuiltIn,
        node,
        &[],
    )
}

pub(super) fn template(name: &str) -> Option<&'static str> {
    BIRD1.iter().find(|file| file.path.strip_prefix("templates/") == Some(name)).map(|file| file.text)
}

/// Writes the built-in set into a configuration folder, as a start for one's own.
///
/// # Errors
///
/// A file that is there and differs is an error, and nothing is written, unless `force` is set. A file or folder
/// that cannot be read or written is an error.
pub fn export(folder: &Path, force: bool) -> Result<(), ExportError> {
    if !force {
        for file in BIRD1 {
            let path = folder.join(file.path);
            match fs::read(&path) {
                Ok(bytes) if bytes == file.text.as_bytes() => {}
                Ok(_) => return Err(ExportError::Differs(path)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(ExportError::Io { path, source }),
            }
        }
    }
    for file in BIRD1 {
        let path = folder.join(file.path);
        let fail = |source| ExportError::Io { path: path.clone(), source };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        fs::write(&path, file.text).map_err(fail)?;
    }
    Ok(())
}
