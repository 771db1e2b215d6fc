use std::fmt;
use std::str::FromStr;

use crate::types::ValueError;

/// The name of a plugin's crate: 1 to 64 lower case letters, digits and `-`, from a letter to a letter or a digit, and no
/// word that Rust has another use for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrateName(String);

impl CrateName {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Words that no crate can be called, and crates that a plugin needs or is tested with.
const TAKEN: &str = " as async await become box break const continue crate do dyn else enum extern false final fn for gen \
    if impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try type \
    typeof union unsafe unsized use virtual where while yield abstract \
    alloc core proc-macro std test build deps examples incremental serde serde-json tailorbird-guest wit-bindgen ";

impl FromStr for CrateName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let shaped = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.len() <= 64
            && text.bytes().all(allowed)
            && !text.ends_with('-');
        if !shaped {
            return Err(ValueError::new("not a crate name (1 to 64 of a-z, 0-9 and `-`, from a letter)"));
        }
        if TAKEN.split(' ').any(|word| word == text) {
            return Err(ValueError::new("a name that Rust, or the library for plugins, has another use for"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for CrateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "zone-mesh", "p2", &"x".repeat(64)] {
            assert!(good.parse::<CrateName>().is_ok(), "{good:?}");
        }
        for bad in [
            "",
            "-a",
            "a-",
            "2a",
            "A",
            "a_b",
            "a/b",
            "../a",
            "a b",
            "ä",
            "a\n",
            "fn",
            "serde",
            "test",
            "abstract",
            &"x".repeat(65),
        ] {
            assert!(bad.parse::<CrateName>().is_err(), "{bad:?}");
        }
    }
}
