//! The command line, driven as users drive it.

#![allow(clippy::unwrap_used)]

mod bench;
mod commands;
mod common;
mod destinations;
mod explain;
mod input;
mod kill;
mod render;
mod scale;
mod secrets;
