//! What several test programs use.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod bird;
pub mod tokens;
pub mod component;
