//! What the engine knows of BIRD: its language as typed values, and the daemon's own check of a file.

pub mod check;
mod filter;
mod literal;

pub use filter::{Call, Compiled, Signature, Warning, compile, signature};
pub use literal::Literal;
