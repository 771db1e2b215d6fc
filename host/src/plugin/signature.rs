//! Detached Ed25519 signatures (RFC 8032): `PLUGIN.wasm.sig` beside `PLUGIN.wasm`, over the component's bytes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::pkcs8::DecodePublicKey;
use ed25519_dalek::{Signature, VerifyingKey};

use super::LoadError;

/// A public key that signs plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads a key in PEM (`openssl pkey -pubout`).
    ///
    /// # Errors
    /// The text is no Ed25519 public key; the message says so.
    pub fn from_pem(text: &str) -> Result<Self, String> {
        VerifyingKey::from_public_key_pem(text)
            .map(Self)
            .map_err(|error| format!("is no Ed25519 public key in PEM: {error}"))
    }
}

/// Where the signature of a component is: its path and `.sig`.
pub fn signature_path(component: &Path) -> PathBuf {
    let mut path = component.as_os_str().to_owned();
    path.push(".sig");
    path.into()
}

/// The longest file that a signature is looked for in, in bytes.
const LONGEST: u64 = 4096;

/// The file, or its beginning if it is longer than [`LONGEST`].
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let mut text = Vec::new();
    File::open(path)?.take(LONGEST + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// Checks the signature of a component. It is 64 bytes, or those in base64.
///
/// # Errors
/// There is no signature, or none of the keys made it.
pub(super) fn check(component: &Path, bytes: &[u8], keys: &[PublicKey]) -> Result<(), LoadError> {
    let fail = |reason: String| Err(LoadError::new(&component.display().to_string(), reason));
    let path = signature_path(component);
    let text = match read_bounded(&path) {
        Ok(text) if text.len() as u64 <= LONGEST => text,
        Ok(_) => return fail(format!("its signature {} is too long", path.display())),
        Err(error) => {
            return fail(format!(
                "keys are configured, and its signature {} cannot be read: {error}",
                path.display()
            ));
        }
    };
    let raw = match <[u8; 64]>::try_from(&text[..]) {
        Ok(raw) => Some(raw),
        Err(_) => BASE64_STANDARD.decode(text.trim_ascii()).ok().and_then(|raw| raw.try_into().ok()),
    };
    let Some(raw) = raw else {
        return fail(format!("{} is no Ed25519 signature (64 bytes, or those in base64)", path.display()));
    };
    let signature = Signature::from_bytes(&raw);
    if keys.iter().any(|key| key.0.verify_strict(bytes, &signature).is_ok()) {
        return Ok(());
    }
    fail(format!("{} was not made by any of the configured keys over these bytes", path.display()))
}
