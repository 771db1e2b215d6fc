use std::io::{self, Write};

use serde_json::Value;

use super::{ClusterSpec, manifest, yaml};

/// Writes the cluster as one `kind: List` in YAML, as `kubectl get -o yaml` prints it, without holding it in memory.
///
/// # Errors
///
/// Those of the writer.
pub fn write_yaml(spec: &ClusterSpec, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"apiVersion: v1\nitems:\n")?;
    for manifest in manifests(spec) {
        yaml::write_item(out, &manifest)?;
    }
    out.write_all(b"kind: List\nmetadata:\n  resourceVersion: \"\"\n")
}

/// Writes the cluster as one `kind: List` in JSON, an item a line.
///
/// # Errors
///
/// Those of the writer.
pub fn write_json(spec: &ClusterSpec, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{\"apiVersion\":\"v1\",\"items\":[")?;
    for (nth, manifest) in manifests(spec).enumerate() {
        out.write_all(if nth == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &manifest)?;
    }
    out.write_all(b"\n],\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"\"}}\n")
}

/// Writes the cluster as JSON documents, one a line.
///
/// # Errors
///
/// Those of the writer.
pub fn write_json_lines(spec: &ClusterSpec, out: &mut impl Write) -> io::Result<()> {
    for manifest in manifests(spec) {
        serde_json::to_writer(&mut *out, &manifest)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn manifests(spec: &ClusterSpec) -> impl Iterator<Item = Value> {
    spec.objects().filter_map(|(_, resource)| manifest(&resource))
}
