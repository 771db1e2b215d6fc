use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{ClusterSpec, manifest, objects, yaml};
use crate::regular::is_free;
use crate::resources::Kind;

/// Why manifests were not written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder holds something already.
    #[error(
        "{} is there already: name a folder that is not, or an empty one, so that no older manifest is left among the new ones",
        .0.display()
    )]
    Occupied(PathBuf),
    /// A file or folder that cannot be written.
    #[error("{}: cannot be written: {error}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Writes the cluster as a folder of YAML files for `kubectl apply -f FOLDER`, which takes files by name: namespaces first,
/// and of other kinds whatever is referred to before what refers to it. Nothing that an API server fills in is there
/// (`uid`, `resourceVersion`, times, owners); a `status` is, which `apply` passes over and a renderer of files reads.
///
/// All of it is there, or nothing: it is written beside the folder and moved in place. Returns the files, with the number
/// of objects in each.
///
/// # Errors
/// [`FolderError`].
///
/// # Panics
/// When [`ClusterSpec::check`] would fail.
pub fn write_folder(spec: &ClusterSpec, folder: &Path) -> Result<Vec<(PathBuf, usize)>, FolderError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| FolderError::Io { path, error }
    };
    if !is_free(folder).map_err(failed(folder))? {
        return Err(FolderError::Occupied(folder.to_owned()));
    }
    let parent = folder.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed(parent))?;
    let staged = tempfile::Builder::new().prefix(".generated-").tempdir_in(parent).map_err(failed(parent))?;
    let written = write_files(spec, staged.path()).map_err(failed(folder))?;
    fs::set_permissions(staged.path(), Permissions::from_mode(0o755)).map_err(failed(folder))?;
    fs::rename(staged.path(), folder).map_err(failed(folder))?;
    // It has another name now, and nothing is left to remove.
    let _ = staged.keep();
    Ok(written.into_iter().map(|(name, count)| (folder.join(name), count)).collect())
}

/// The files of a folder while they are written, one kind after the other.
struct Files<'a> {
    folder: &'a Path,
    open: Option<BufWriter<File>>,
    written: Vec<(&'static str, usize)>,
}

impl Files<'_> {
    /// Writes an object to the end of a file, which is the one before or a new one.
    fn put(&mut self, name: &'static str, value: &Value) -> io::Result<()> {
        if self.written.last().is_none_or(|(last, _)| *last != name) {
            self.close()?;
            self.open = Some(BufWriter::new(File::create_new(self.folder.join(name))?));
            self.written.push((name, 0));
        }
        if let Some((_, count)) = self.written.last_mut() {
            *count += 1;
        }
        self.open.as_mut().map_or(Ok(()), |out| yaml::write_document(out, value))
    }

    fn close(&mut self) -> io::Result<()> {
        self.open.take().map_or(Ok(()), |mut out| out.flush())
    }
}

fn write_files(spec: &ClusterSpec, folder: &Path) -> io::Result<Vec<(&'static str, usize)>> {
    let mut files = Files { folder, open: None, written: Vec::new() };
    for name in objects::namespaces(spec) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        files.put("00-namespaces.yaml", &namespace)?;
    }
    for (key, resource) in spec.objects() {
        if let (Some(name), Some(mut value)) = (file_of(key.kind), manifest(&resource)) {
            strip(&mut value);
            files.put(name, &value)?;
        }
    }
    files.close()?;
    Ok(files.written)
}

/// The file of a kind; names sort in the order in which the objects come.
fn file_of(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::BgpConfiguration => "10-bgpconfigurations.yaml",
        Kind::Secret => "20-secrets.yaml",
        Kind::KubeNode => "30-nodes.yaml",
        Kind::IpPool => "40-ippools.yaml",
        Kind::BlockAffinity => "50-blockaffinities.yaml",
        Kind::BgpFilter => "60-bgpfilters.yaml",
        Kind::BgpPeer => "70-bgppeers.yaml",
        Kind::Service => "80-services.yaml",
        Kind::EndpointSlice => "90-endpointslices.yaml",
        Kind::CalicoNode | Kind::Workload => return None,
    })
}

/// Takes out what an API server fills in, or what refers to it.
fn strip(value: &mut Value) {
    if let Some(metadata) = value["metadata"].as_object_mut() {
        for field in ["creationTimestamp", "resourceVersion", "uid", "generateName", "ownerReferences"] {
            metadata.remove(field);
        }
    }
}
