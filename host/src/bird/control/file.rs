//! The path of a configuration, as it can be said to BIRD.

use std::fmt;
use std::path::Path;

/// What a path may have in bytes: the command that holds it must fit into BIRD's buffer.
const LIMIT: usize = 1024;

/// The absolute path of a configuration, as BIRD sees it: BIRD reads it, in its own container if it has one.
///
/// BIRD has no way to write a quote or a control character between its quotes, so such a path is none of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile(String);

/// A path that cannot be said to BIRD.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path:?}: {reason}")]
pub struct PathError {
    /// The path.
    pub path: String,
    /// What is wrong with it, and what to do.
    pub reason: &'static str,
}

impl ConfigFile {
    /// A path that begins with `/`.
    ///
    /// # Errors
    ///
    /// It is relative, too long, not UTF-8, or has a `"` or a control character.
    pub fn new(path: &Path) -> Result<Self, PathError> {
        let bad = |reason| PathError { path: path.display().to_string(), reason };
        let text = path.to_str().ok_or_else(|| bad("a path for BIRD must be UTF-8: rename the file"))?;
        if !path.is_absolute() {
            return Err(bad("BIRD would look for it in its own folder: write the whole path, from /"));
        }
        if text.len() > LIMIT {
            return Err(bad("a path for BIRD must not have more than 1024 bytes: put the file elsewhere"));
        }
        if text.contains('"') || text.contains(char::is_control) {
            return Err(bad(
                "a path for BIRD must have no quotes and no control characters: rename the file",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The path.
    pub fn path(&self) -> &Path {
        Path::new(&self.0)
    }
}

/// The path between quotes.
impl fmt::Display for ConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}
