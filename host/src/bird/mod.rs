//! What the engine knows of BIRD: its language as typed values, the daemon's own check of a file, and its control socket.

pub mod check;
pub mod control;
mod filter;
mod literal;
mod route_policy;

pub use filter::{Call, Compiled, Signature, Warning, compile, signature};
pub use filter::{
    PluginAction, PluginFunction, PluginOperation, PluginRule, PrefixRange, PrefixSet, Way, compile_rules,
};
pub use literal::Literal;
pub use route_policy::Export;
