//! The datastore of files: manifests, and the status files of local workloads.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::engine::{Batch, Event};
use crate::manifest::{self, Entry, Source};
use crate::regular;
use crate::resources::{Defaults, Kind, ObjectKey, Parsed, parse_workload};

/// What a reading of files met.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Objects that were read, malformed ones included.
    pub objects: usize,
    /// Objects of kinds that are not read.
    pub ignored: usize,
    /// What could not be read, with its place.
    pub problems: Vec<(Source, String)>,
    /// Where the objects stand that are malformed or have values that were left out, and those that people write.
    pub places: BTreeMap<ObjectKey, Source>,
}

/// Reads manifests into a batch, in the order given: a later object replaces an earlier one of the same kind,
/// namespace and name. A path is a file or a folder of `*.yaml`, `*.yml` and `*.json`.
pub fn load_manifests(paths: &[PathBuf], defaults: &Defaults, batch: &mut Batch<'_>) -> Loaded {
    let mut loaded = Loaded::default();
    manifest::read(paths, defaults, &mut |source, entry| match entry {
        Entry::Object(parsed) => {
            loaded.objects += 1;
            if has_place(&parsed) {
                loaded.places.insert(parsed.key.clone(), source);
            }
            batch.push(Event::Upsert(parsed));
        }
        Entry::Ignored { .. } => loaded.ignored += 1,
        Entry::Problem(problem) => loaded.problems.push((source, problem)),
    });
    loaded
}

/// Whether a report may name the object: what machines write in bulk is reported only if it is malformed, and the places
/// of all of it would need as much room as the objects.
fn has_place(parsed: &Parsed) -> bool {
    let by_hand = [Kind::BgpConfiguration, Kind::BgpPeer, Kind::BgpFilter, Kind::IpPool];
    parsed.resource.is_err() || !parsed.warnings.is_empty() || by_hand.contains(&parsed.key.kind)
}

/// The most that a status file may hold, in bytes.
const MAX_STATUS_FILE: usize = 1 << 20;

/// Reads the status files of local workloads; a folder that is not there holds none.
///
/// # Errors
/// The folder or a file in it that cannot be read, as a text for the operator; the other files are read all the same.
pub fn load_workloads(folder: &Path, batch: &mut Batch<'_>) -> Vec<String> {
    let files = match workload_files(folder) {
        Ok(files) => files,
        Err(error) => return vec![error],
    };
    let mut errors = Vec::new();
    for path in files {
        match read_workload(&path) {
            Ok(None) => {}
            Ok(Some((name, bytes))) => batch.push(Event::Upsert(parse_workload(&name, &bytes))),
            Err(error) => errors.push(error),
        }
    }
    errors
}

/// The status files in a folder, by name; none when there is no such folder.
pub(super) fn workload_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("{}: cannot list the folder: {error}", folder.display())),
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    files.sort();
    Ok(files)
}

/// A status file's name and contents; none for what is no such file.
pub(super) fn read_workload(path: &Path) -> Result<Option<(String, Vec<u8>)>, String> {
    // The node agent writes a file under a temporary name first.
    let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| !name.starts_with('.'))
    else {
        return Ok(None);
    };
    let bytes = read_bounded(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(bytes.map(|bytes| (name.to_owned(), bytes)))
}

fn read_bounded(path: &Path) -> Result<Option<Vec<u8>>, String> {
    if path.metadata().is_ok_and(|meta| !meta.is_file()) {
        return Ok(None);
    }
    match regular::read(path, MAX_STATUS_FILE) {
        Ok(bytes) => Ok(Some(bytes)),
        // It was renamed or removed since the folder was listed.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            Err(format!("is larger than the {MAX_STATUS_FILE} bytes that a status file may hold"))
        }
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}
