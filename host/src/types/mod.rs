//! Values that cannot be wrong: each is parsed once, at the edge, and prints itself as BIRD reads it.
//!
//! No value of these types can close a string, a comment or a block of a BIRD file.

mod address;
mod community;
mod foreign;
mod key_pattern;
mod name;
mod number;
mod pool;
mod prefix;
mod secret;

pub use address::{ClusterId, Endpoint, Family, InterfaceAddress};
pub use community::Community;
pub(crate) use foreign::tame;
pub use key_pattern::KeyPattern;
pub use name::{InterfacePattern, Name};
pub use number::{AsNumber, Port, Priority, Seconds};
pub use pool::Pool;
pub use prefix::Prefix;
pub use secret::{Password, SecretKeyRef};

/// Why a text is not a value of the type asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ValueError {
    /// What is wrong, as a phrase that can follow `field = value: `.
    pub reason: String,
}

impl ValueError {
    /// An error with this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}
