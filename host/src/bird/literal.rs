use std::fmt;

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::types::{ClusterId, Community, InterfacePattern, Name, Password};

/// A piece of BIRD's language that is whole by construction: a string in quotes, a symbol, a number, a statement.
///
/// A template can place it and cannot take it apart: serialized, it begins with [`Literal::MARK`], which no value
/// from an object can hold, and which the renderer's guard takes off. Text without the mark that has any
/// character of BIRD's structure in it does not pass that guard.
#[derive(Clone, PartialEq, Eq)]
pub struct Literal(String);

impl Literal {
    /// The first character of a serialized literal.
    pub const MARK: char = '\u{1}';

    /// An interface name or pattern as a string: `"eth*"`.
    pub fn interface(pattern: &InterfacePattern) -> Self {
        Self(format!("\"{pattern}\""))
    }

    /// A password as a string.
    pub fn password(password: &Password) -> Self {
        Self(format!("\"{}\"", password.reveal()))
    }

    /// A community as a tuple: `(100, 6532)`.
    pub fn community(community: Community) -> Self {
        Self(community.to_string())
    }

    /// A cluster id.
    pub fn cluster_id(id: ClusterId) -> Self {
        Self(id.to_string())
    }

    /// A symbol in quotes: `'bgp_` *name* *suffix* `'`. The suffix is this program's own text.
    ///
    /// BIRD takes symbols of up to 64 characters, so a name of more than 45 is shortened: its first 28, `_`, and
    /// the first 16 hexadecimal digits of its SHA-256.
    pub(crate) fn symbol(name: &Name, suffix: &'static str) -> Self {
        let name = name.as_str();
        if name.len() <= 45 {
            return Self(format!("'bgp_{name}{suffix}'"));
        }
        let mut short = name[..28].to_owned();
        short.push('_');
        short.push_str(&hex(&Sha256::digest(name.as_bytes())[..8]).to_uppercase());
        Self(format!("'bgp_{short}{suffix}'"))
    }

    /// A symbol for a set of rules of this text, in quotes: `'plugin_` *hash* *suffix* `'`, and the name in it. A
    /// BGPFilter's symbol begins otherwise.
    pub(super) fn rules_symbol(lines: &[Literal], suffix: &'static str) -> (Self, Name) {
        let mut hash = Sha256::new();
        for line in lines {
            hash.update(line.0.as_bytes());
            hash.update(b"\n");
        }
        let text = format!("plugin_{}", hex(&hash.finalize()[..8]));
        match text.parse() {
            Ok(name) => (Self(format!("'{text}{suffix}'")), name),
            Err(error) => unreachable!("{text}: {error}"),
        }
    }

    /// Text that this program composed of typed values. It is for [`crate::bird`] alone.
    pub(super) fn composed(text: String) -> Self {
        Self(text)
    }

    /// The text as it stands in the file.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A literal may be a password.
impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Literal(..)")
    }
}

impl Serialize for Literal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}{}", Self::MARK, self.0))
    }
}
