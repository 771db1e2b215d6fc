//! The one place where native code is taken from a file.

use std::fs::File;
use std::os::fd::AsRawFd;

use wasmtime::Engine;
use wasmtime::component::Component;

/// A component that [`super::cache::Cache`] kept. It is mapped: what of it nobody runs takes no memory.
///
/// Wasmtime trusts such bytes. They come from a folder and a file of this user that nobody else can write and this program
/// never writes to again, and their digest is right; wasmtime itself checks that they were made by the same engine.
#[allow(unsafe_code)]
pub(super) fn deserialize(engine: &Engine, compiled: &File) -> wasmtime::Result<Component> {
    // The file that was looked at, whatever its name leads to by now.
    let path = format!("/proc/self/fd/{}", compiled.as_raw_fd());
    // SAFETY: see above.
    unsafe { Component::deserialize_file(engine, path) }
}
