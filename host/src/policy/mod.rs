//! What plugins change about a snapshot.
//!
//! [`Plugins`] is what the overlay asks; the sandbox implements it, and so does anything else that answers.

mod ask;

pub use ask::{Asked, CallError, Facts, FunctionCalls, OnError, Placement, Plugins, Reads, Rights};
