//! What several test programs use.
#![allow(dead_code, unreachable_pub)]

pub mod bird;
pub mod tokens;
