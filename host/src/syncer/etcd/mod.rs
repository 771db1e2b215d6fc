//! etcd, in which Calico keeps its objects where no Kubernetes does.
//!
//! A connection reads the folders that matter, page by page and all at one revision, and watches them from there. What is
//! told goes into the same mirror as Typha's data, so a slow rendering never makes the server wait, and nothing is told that
//! is as it was.
//!
//! What goes wrong:
//! - When a connection ends the next endpoint is tried, at growing distances, and everything is read anew. A server cannot
//!   be asked whether what happened meanwhile is still the history that was followed before: data that was restored from
//!   a copy can have the same cluster's name and a newer revision.
//! - A server that has lost its leader, or is silent, is left for the next one.
//! - A value that cannot be read makes its object malformed, as in a file. A key of a kind that is not read is passed over.

mod config;
mod connection;
mod discovery;
mod failure;
mod known;
mod message;
mod probe;
mod resolver;
mod session;
mod source;

pub use config::{Config, Endpoint, Endpoints, Identity, Members, Pace, Tls, User};
pub use discovery::{Discovery, Domain, NameServers};
pub use probe::probe;
pub use source::Etcd;
