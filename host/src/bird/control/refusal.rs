//! What BIRD says about a configuration that it cannot read.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::bird::check::mask_words;

/// A configuration that BIRD does not take. The one that it had stays in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// BIRD's words without the place, passwords masked.
    pub message: String,
    /// Where in the files it is, if BIRD named a place.
    #[serde(flatten)]
    pub place: Option<Place>,
}

/// A place in a configuration; it may be in a file that the configuration includes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file, as BIRD names it.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
}

impl Refusal {
    /// From BIRD's words: `FILE:LINE:COLUMN message`, or `FILE, line LINE: message` of old ones, or neither.
    pub(super) fn parse(words: &str) -> Self {
        let (place, message) =
            with_column(words).or_else(|| with_word(words)).map_or((None, words), |(file, line, message)| {
                (Some(Place { file: file.into(), line }), message)
            });
        Self { message: mask_words(message.trim()), place }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(Place { file, line }) => write!(f, "{}, line {line}: {}", file.display(), self.message),
            None => f.write_str(&self.message),
        }
    }
}

fn with_column(words: &str) -> Option<(&str, u32, &str)> {
    words.match_indices(':').find_map(|(at, _)| {
        let (line, rest) = number(&words[at + 1..])?;
        let (_, rest) = number(rest.strip_prefix(':')?)?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        Some((&words[..at], line, rest.strip_prefix(' ')?))
    })
}

fn with_word(words: &str) -> Option<(&str, u32, &str)> {
    let (file, rest) = words.split_once(", line ")?;
    let (line, rest) = number(rest)?;
    Some((file, line, rest.strip_prefix(':')?))
}

/// A number at the beginning, and what comes behind it.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}
