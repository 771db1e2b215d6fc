//! What several test programs use.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod bird;
pub mod cases;
pub mod component;
pub mod rendered;
pub mod tokens;
