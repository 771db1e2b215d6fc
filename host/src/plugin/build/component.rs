use wasmparser::{Encoding, Parser, Payload};
use wit_component::ComponentEncoder;

use crate::plugin::MANIFEST_SECTION;

/// Why a core module cannot be made a plugin.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// It is no module, or not a whole one.
    #[error("is no WebAssembly module: {0}")]
    Malformed(#[from] wasmparser::BinaryReaderError),
    /// It is a component already.
    #[error("is a component already")]
    Component,
    /// It has no manifest.
    #[error("has no manifest: add `tailorbird_guest::manifest! {{ … }}` to the crate")]
    NoManifest,
    /// It has more than one.
    #[error("has more than one manifest: `manifest!` stands once in a crate and its dependencies")]
    Manifests,
    /// It exports nothing of the contract.
    #[error(
        "exports no plugin: add `tailorbird_guest::export!(…);` to the crate, and `crate-type = [\"cdylib\"]`"
    )]
    NoExports,
    /// It does not fit the contract.
    #[error("does not fit the contract: {0}")]
    Encode(String),
}

/// The custom sections that say which worlds of the contract a module is of; wit-bindgen's own names.
const WORLDS: &str = "component-type";

/// Makes a component of a core module: the manifest moves from the module to the component's own sections, and names and
/// debug information go.
///
/// # Errors
/// It is no module, has no manifest, or does not fit the contract.
pub fn component(module: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let Parts { module, manifest } = take_apart(module)?;
    let mut component = ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .and_then(|encoder| encoder.encode())
        // The causes say what is missing in which world.
        .map_err(|error| EncodeError::Encode(format!("{error:#}")))?;
    append_custom(&mut component, MANIFEST_SECTION, &manifest);
    Ok(component)
}

struct Parts {
    /// The module with no custom section but those that the encoder reads.
    module: Vec<u8>,
    manifest: Vec<u8>,
}

fn take_apart(module: &[u8]) -> Result<Parts, EncodeError> {
    let mut rest = Vec::with_capacity(module.len());
    let mut manifest = None;
    let mut worlds = false;
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        match &payload {
            Payload::Version { encoding: Encoding::Component, .. } => return Err(EncodeError::Component),
            Payload::Version { range, .. } => rest.extend_from_slice(&module[range.clone()]),
            Payload::CustomSection(section) if section.name() == MANIFEST_SECTION => {
                if manifest.replace(section.data().to_vec()).is_some() {
                    return Err(EncodeError::Manifests);
                }
            }
            Payload::CustomSection(section) if !section.name().starts_with(WORLDS) => {}
            _ => {
                worlds |= matches!(&payload, Payload::CustomSection(_));
                if let Some((id, range)) = payload.as_section() {
                    rest.push(id);
                    append_number(&mut rest, range.len());
                    rest.extend_from_slice(&module[range]);
                }
            }
        }
    }
    if !worlds {
        return Err(EncodeError::NoExports);
    }
    Ok(Parts { module: rest, manifest: manifest.ok_or(EncodeError::NoManifest)? })
}

fn append_custom(out: &mut Vec<u8>, name: &str, data: &[u8]) {
    let mut section = Vec::with_capacity(name.len() + data.len() + 5);
    append_number(&mut section, name.len());
    section.extend_from_slice(name.as_bytes());
    section.extend_from_slice(data);
    out.push(0);
    append_number(out, section.len());
    out.extend_from_slice(&section);
}

/// Appends a length as LEB128.
fn append_number(out: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}
