//! The fan-out of a datastore to many nodes: Typha, and its data for BGP.
//!
//! A connection brings a greeting, everything there is, and then every change; see `session`. What is told goes into a
//! `mirror`, from which it is passed on at the speed of whoever takes it, so that a slow rendering never makes the server
//! wait. When a connection ends, another instance is tried, at growing distances; what comes anew is compared with what was
//! known, and nothing is told that is as it was.
//!
//! What goes wrong:
//! - A stream that cannot be understood ends its connection, and only that.
//! - A value that cannot be read makes its object malformed, as in a file. A key of a kind that is not read is passed over.
//! - A server that reads its datastore again is waited for like one that is away: [`Pace::grace`].

mod config;
mod connection;
mod discovery;
mod message;
mod probe;
mod session;
mod snappy;
mod source;
mod tls;
mod wire;

pub use config::{At, Config, Pace, ServerIdentity, Tls};
pub use probe::probe;
pub use source::Typha;
