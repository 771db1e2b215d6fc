use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Pool, ValueError};

/// The name of an object: 1 to 253 letters, digits, `-`, `_` and `.`, as Kubernetes and Calico allow it.
///
/// Such a text can stand in a BIRD symbol, a comment and a key of the view without changing their structure.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, shared.
    pub fn shared(&self) -> Arc<str> {
        self.0.clone()
    }

    /// The same name, shared with all that have it.
    pub fn pooled(self, pool: &mut Pool) -> Self {
        Self(pool.share(self.0))
    }
}

impl FromStr for Name {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        if text.is_empty()
            || text.len() > 253
            || !text.bytes().all(allowed)
            || text.bytes().all(|b| b == b'.')
        {
            return Err(ValueError::new("not an object name (1 to 253 letters, digits, `-`, `_`, `.`)"));
        }
        Ok(Self(text.into()))
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A network interface's name, or a pattern over such names with `*` and `?`.
///
/// It holds printable ASCII without blanks, quotes, `/` and `\`, so it can stand between BIRD's double quotes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfacePattern(Arc<str>);

impl InterfacePattern {
    /// The pattern without quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InterfacePattern {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let allowed = |b: u8| {
            b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'/' | b'\\' | b'#' | b';' | b'{' | b'}')
        };
        if text.is_empty() || text.len() > 64 || !text.bytes().all(allowed) {
            return Err(ValueError::new(
                "not an interface name or pattern (printable, no blanks, quotes, `/`, `\\`, `#`, `;`, braces)",
            ));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for InterfacePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
