//! What the engine knows of BIRD: its language as typed values, and the daemon's own check of a file.

pub mod check;
mod literal;

pub use literal::Literal;
