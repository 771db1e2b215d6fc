//! What the sandbox does with plugins that keep to the contract, and with those that don't.
#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod common;
mod hostile;
mod loading;
mod templates;
