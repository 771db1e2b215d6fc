use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Name, ValueError};

/// A BGP password (the key of RFC 2385). It never prints itself: `Debug` says `(hidden)`.
///
/// BIRD's strings have no escapes, so a password holds no double quote and no control character.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Password(Arc<str>);

impl Password {
    /// What every reader but BIRD's own file sees.
    pub const HIDDEN: &'static str = "(hidden)";

    /// The secret itself, for the one place that writes it into BIRD's file.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for Password {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text.is_empty() {
            return Err(ValueError::new("the password is empty"));
        }
        if text.chars().any(|c| c == '"' || c.is_control()) {
            return Err(ValueError::new(
                "the password has a double quote or a control character, which BIRD cannot write",
            ));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::HIDDEN)
    }
}

/// Where a password stands: a key of a Secret in this component's own namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretKeyRef {
    /// The Secret's name.
    pub name: Name,
    /// The key in it.
    pub key: Arc<str>,
}
