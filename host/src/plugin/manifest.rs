//! What a component says of itself, read before anything is compiled.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use wasmparser::{ComponentExternalKind, Encoding, Parser, Payload};

use super::LoadError;
use crate::regular;
use crate::types::{KeyPattern, Name};

/// The custom section that holds the manifest.
pub const MANIFEST_SECTION: &str = "tailorbird.plugin";

/// The version of the contract that this host has.
pub const CONTRACT: &str = "0.1.0";

/// The package that all interfaces of the contract are in.
const PACKAGE: &str = "tailorbird:policy/";

/// What a component says of itself in its section `tailorbird.plugin`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Manifest {
    /// The name, which errors, logs and metrics use.
    pub name: String,
    /// The plugin's own version.
    pub version: String,
    /// The version of the contract that it was built against.
    pub contract: String,
    /// A line about it.
    #[serde(default)]
    pub description: String,
    /// The keys that it wants to read.
    #[serde(default)]
    pub wants: Vec<String>,
}

impl Manifest {
    /// Reads the contents of the section.
    ///
    /// # Errors
    /// They are no JSON, or a field is missing or of another kind; as a phrase.
    pub fn parse(section: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(section).map_err(|error| format!("its manifest cannot be read: {error}"))
    }
}

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest from its 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut digest = [0; 32];
        for (index, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
        }
        Some(Self(digest))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The interfaces of the contract that a component exports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interfaces {
    /// `peers`.
    pub peers: bool,
    /// `filter`.
    pub filter: bool,
    /// `functions`.
    pub functions: bool,
}

impl Interfaces {
    /// The names of those that there are.
    pub fn names(self) -> Vec<&'static str> {
        let all = [("peers", self.peers), ("filter", self.filter), ("functions", self.functions)];
        all.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect()
    }
}

/// A component that is a plugin as far as can be told without compiling it.
#[derive(Debug, Clone)]
pub struct PluginFile {
    /// The component; nothing in a set of plugins, which has it compiled.
    pub bytes: Arc<[u8]>,
    /// Its digest.
    pub digest: Digest,
    /// Its manifest.
    pub manifest: Manifest,
    /// The name of the manifest, checked.
    pub name: Name,
    /// The keys that it wants.
    pub wants: Vec<KeyPattern>,
    /// What it imports, by name.
    pub imports: Vec<String>,
    /// What it exports, by name.
    pub exports: Vec<String>,
    /// The interfaces among its exports.
    pub interfaces: Interfaces,
}

impl PluginFile {
    /// Reads a component from a file of at most `max` bytes.
    ///
    /// # Errors
    /// The file cannot be read, is too long, or [`PluginFile::parse`] refuses it.
    pub fn read(path: &Path, max: usize) -> Result<Self, LoadError> {
        let shown = path.display().to_string();
        let bytes = regular::read(path, max).map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => {
                LoadError::new(&shown, format!("is longer than {max} bytes, the limit `component`"))
            }
            _ => LoadError::new(&shown, format!("cannot be read: {error}")),
        })?;
        Self::parse(&shown, bytes)
    }

    /// Reads a component; `shown` is what errors call it.
    ///
    /// # Errors
    /// It is no component, has no manifest or a wrong one, imports what the contract does not have, or exports nothing of
    /// it.
    pub fn parse(shown: &str, bytes: impl Into<Arc<[u8]>>) -> Result<Self, LoadError> {
        let bytes = bytes.into();
        let fail = |reason: String| LoadError::new(shown, reason);
        let Outline { manifest, imports, exports, fault } = Outline::of(&bytes);
        if let Some(fault) = fault {
            return Err(fail(fault));
        }
        let manifest = manifest.ok_or_else(|| {
            fail(format!(
                "has no manifest (custom section `{MANIFEST_SECTION}`): `tailorbird plugin build` puts it in"
            ))
        })?;
        let manifest = Manifest::parse(&manifest).map_err(fail)?;
        let name: Name = manifest
            .name
            .parse()
            .map_err(|error| fail(format!("its manifest: name {:?}: {error}", manifest.name)))?;
        if !compatible(&manifest.contract) {
            return Err(fail(format!(
                "was built for version {:?} of the contract; this host has {CONTRACT}",
                manifest.contract
            )));
        }
        let wants = manifest
            .wants
            .iter()
            .map(|text| text.parse().map_err(|error| fail(format!("its manifest: wants {text:?}: {error}"))));
        let wants = wants.collect::<Result<Vec<KeyPattern>, _>>()?;
        for import in &imports {
            match interface(import) {
                Some("types" | "kv" | "log") => {}
                _ => return Err(fail(format!("imports `{import}`, {}", foreign(import)))),
            }
        }
        let mut interfaces = Interfaces::default();
        let mut lifecycle = false;
        for export in &exports {
            match interface(export) {
                Some("lifecycle") => lifecycle = true,
                Some("peers") => interfaces.peers = true,
                Some("filter") => interfaces.filter = true,
                Some("functions") => interfaces.functions = true,
                _ if export.starts_with(PACKAGE) => {
                    return Err(fail(format!(
                        "exports `{export}`, which version {CONTRACT} of the contract does not have"
                    )));
                }
                _ => {}
            }
        }
        if !lifecycle {
            return Err(fail(format!("does not export `{PACKAGE}lifecycle@{CONTRACT}`")));
        }
        if interfaces.names().is_empty() {
            return Err(fail("exports none of `peers`, `filter` and `functions`".to_owned()));
        }
        let digest = Digest::of(&bytes);
        Ok(Self { bytes, digest, manifest, name, wants, imports, exports, interfaces })
    }
}

/// Why an import is not there.
fn foreign(import: &str) -> &'static str {
    if import.starts_with("wasi:") {
        "but there is no WASI here: build for wasm32-unknown-unknown, not for a target with WASI"
    } else {
        "but only kv, log and types of the contract can be imported"
    }
}

/// The contract's interface of a name.
fn interface(name: &str) -> Option<&str> {
    name.strip_prefix(PACKAGE)?.strip_suffix(CONTRACT)?.strip_suffix('@')
}

/// A plugin of the same 0.x version is compatible, as in semantic versioning.
fn compatible(version: &str) -> bool {
    let ours = CONTRACT.rsplit_once('.').map_or(CONTRACT, |(minor, _)| minor);
    version.rsplit_once('.').is_some_and(|(minor, patch)| {
        minor == ours && !patch.is_empty() && patch.len() < 6 && patch.bytes().all(|b| b.is_ascii_digit())
    })
}

/// What a component's outermost sections hold, whether it is a plugin or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// The section with the manifest.
    pub manifest: Option<Vec<u8>>,
    /// What it imports, by name and in that order.
    pub imports: Vec<String>,
    /// The interfaces that it exports, by name and in that order.
    pub exports: Vec<String>,
    /// What stopped the reading, as a phrase; the rest is what stood before it.
    pub fault: Option<String>,
}

impl Outline {
    /// The outline of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        found.fault = found.read(bytes).err();
        // A component has them in an order that the linker happened to leave.
        found.imports.sort_unstable();
        found.exports.sort_unstable();
        found
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), String> {
        const BROKEN: &str = "is no component, or not a whole one";
        let broken = |error: wasmparser::BinaryReaderError| format!("{BROKEN}: {error}");
        // What the parser says of other files is a listing of bytes.
        if !bytes.starts_with(b"\0asm") {
            return Err(format!("{BROKEN}: it does not begin as WebAssembly does"));
        }
        let mut depth = 0usize;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(broken)? {
                Payload::Version { encoding, .. } => {
                    if depth == 0 && encoding == Encoding::Module {
                        return Err("is a core module, not a component: `tailorbird plugin build` makes one"
                            .to_owned());
                    }
                    depth += 1;
                }
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::CustomSection(section) if depth == 1 && section.name() == MANIFEST_SECTION => {
                    let before = self.manifest.replace(section.data().to_vec());
                    if before.is_some() {
                        return Err(format!("has two manifests (custom section `{MANIFEST_SECTION}`)"));
                    }
                }
                Payload::ComponentImportSection(section) if depth == 1 => {
                    for import in section {
                        self.imports.push(import.map_err(broken)?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(section) if depth == 1 => {
                    for export in section {
                        let export = export.map_err(broken)?;
                        if export.kind == ComponentExternalKind::Instance {
                            self.exports.push(export.name.name.to_owned());
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
