//! What the engine and the templates promise together: objects in, files out.
//!
//! - `property`: random histories of every kind of object over a small universe of names and addresses;
//! - `scenarios`: situations that went wrong elsewhere, each a test of its own;
//! - `rules`: the smaller promises, one assertion each;
//! - `golden`: whole sets of files, beside the objects they come of.

#![allow(clippy::unwrap_used)]

mod cluster;
mod golden;
mod property;
mod rules;
mod scenarios;
#[path = "../support/mod.rs"]
mod support;
mod universe;
