//! Staging and swapping through the public interface.

#![allow(clippy::unwrap_used)]

mod basics;
mod checks;
mod common;
mod crash;
mod failures;
mod traced;
