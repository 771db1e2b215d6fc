//! What the engine knows of BIRD: its language as typed values, the daemon's own check of a file, and its control socket.

pub mod check;
pub mod control;
mod filter;
mod literal;

pub use filter::{Call, Compiled, Signature, Warning, compile, signature};
pub use literal::Literal;
