//! Writes plugins for Tailorbird.
//!
//! A plugin is a WebAssembly component, and a pure function: the same settings, the same request and the same keys read
//! give the same answer. There is no clock, no randomness, no file and no network in it.
//!
//! A plugin is a type with settings ([`Policy`]) and one or more of
//! - [`Peers`]: which peerings a node has;
//! - [`Filter`]: what routes it originates, and the rules for what comes in and goes out;
//! - [`Functions`]: functions for templates.
//!
//! [`export!`] makes it a plugin, and [`manifest!`] says what it is called and which keys it wants to read. What it reads
//! comes from a [`Kv`]; words for the operator go to [`log`]. [`testing`] has what native unit tests need.
//!
//! ```
//! use tailorbird_guest::{Kv, NoSettings, Peers, Policy, Request, Selection};
//!
//! struct Nothing;
//!
//! impl Policy for Nothing {
//!     type Settings = NoSettings;
//!
//!     fn configure(_: NoSettings) -> Result<Self, String> {
//!         Ok(Self)
//!     }
//! }
//!
//! impl Peers for Nothing {
//!     fn select(&self, _: &Request<'_>, _: &dyn Kv) -> Result<Selection, String> {
//!         Ok(Selection::unchanged())
//!     }
//! }
//!
//! tailorbird_guest::export!(Nothing: Peers);
//! tailorbird_guest::manifest! {
//!     name: "nothing",
//!     description: "Leaves everything as it is.",
//!     wants: [],
//! }
//! # fn main() {}
//! ```

#[cfg(any(target_arch = "wasm32", test))]
mod allocator;
#[doc(hidden)]
#[allow(clippy::all, clippy::unwrap_used, clippy::semicolon_if_nothing_returned)]
pub mod bindings;
#[doc(hidden)]
pub mod component;
mod filter;
mod functions;
mod kv;
pub mod log;
mod manifest;
mod peering;
mod peers;
mod policy;
mod prefix;
pub mod testing;
mod text;
mod values;

pub use bindings::filter::exports::tailorbird::policy::filter::{Direction, PeerType, RouteKind};
pub use bindings::host::tailorbird::policy::types::{Family, NextHop, PeeringKind};
pub use filter::{Decision, Destination, Filter, Operation, PrefixRange, Route, Rule, RuleSet, Service};
pub use functions::{
    Callable, FromValue, Function, Functions, IntoAnswer, IntoValue, Json, ParameterKind, Value, WithKv,
};
pub use kv::{Kv, Memory, Page, Row};
pub use manifest::{CONTRACT, Manifest};
pub use peering::Peering;
pub use peers::{Addition, Candidate, Change, ClusterIdChoice, Node, Peers, Request, Selection};
pub use policy::{NoSettings, Policy};
pub use prefix::Prefix;
pub use values::{AsNumber, ClusterId, Community, ParseError, Priority};

/// The family of an address.
pub fn family(address: std::net::IpAddr) -> Family {
    if address.is_ipv4() { Family::V4 } else { Family::V6 }
}
