//! Plugins on the command line, driven as operators and authors of plugins drive them.

#![allow(clippy::unwrap_used)]

#[path = "../cli/common.rs"]
#[allow(dead_code)]
mod common;
#[path = "../support/component.rs"]
#[allow(dead_code, unreachable_pub)]
mod component;

mod building;
mod configuration;
mod golden;
mod hostile;
mod inspect;
mod measure;
mod new;
mod policies;
mod rendering;
mod run;

use std::path::PathBuf;

use common::Bench;
use component::Guest;

/// Puts a plugin beside the objects.
fn put(bench: &Bench, name: &str, component: &[u8]) -> PathBuf {
    let path = bench.path(name);
    std::fs::write(&path, component).unwrap();
    path
}

/// A plugin whose function `f` returns its first argument.
fn echo(name: &str) -> Guest {
    // The result: `ok` at 0, the value's 16 bytes at 8.
    Guest::function(name, "(memory.copy (i32.const 2056) (local.get $ptr) (i32.const 16)) (i32.const 2048)")
}

/// The SHA-256 of some bytes, in hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    tailorbird::plugin::Digest::of(bytes).to_string()
}
