//! The command line, driven as users drive it.

#![allow(clippy::unwrap_used)]

mod commands;
mod common;
mod destinations;
mod input;
mod kill;
mod render;
mod scale;
mod secrets;
