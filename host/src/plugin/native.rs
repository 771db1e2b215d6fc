//! The one place where native code is taken from a file.

use wasmtime::Engine;
use wasmtime::component::Component;

/// A component that [`super::cache::Cache`] kept.
///
/// Wasmtime trusts such bytes. They come from a folder and a file of this user that nobody else can write, and their digest
/// is right; wasmtime itself checks that they were made by the same engine.
#[allow(unsafe_code)]
pub(super) fn deserialize(engine: &Engine, compiled: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: see above.
    unsafe { Component::deserialize(engine, compiled) }
}
