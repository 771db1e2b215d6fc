//! WebAssembly plugins: what loads, limits and calls them.
//!
//! A plugin is a component of the contract in `guest-sdk/wit`. It is read and checked ([`PluginFile`]) before anything of it
//! is compiled, compiled once ([`Sandbox`]), and given a store of its own in every rendering ([`Session`]) with limits on all
//! that it can use ([`Limits`]). What it answers is raw: [`crate::policy`] checks it.

pub mod build;
mod cache;
pub mod columns;
pub mod config;
pub mod contract;
mod error;
mod function;
mod guest;
mod health;
mod limits;
mod manifest;
mod native;
mod reads;
mod sandbox;
pub mod scaffold;
mod session;
mod set;
mod signature;

pub use error::LoadError;
pub use function::Function;
pub use guest::LogLine;
pub use limits::{Limits, MAX_MEMORY};
pub use manifest::{CONTRACT, Digest, Interfaces, MANIFEST_SECTION, Manifest, Outline, PluginFile};
pub use sandbox::Sandbox;
pub use session::{Session, Usage};
pub use set::{ActiveSet, PluginSet};
pub use signature::{PublicKey, signature_path};
