//! The one way from an expression to a file, and the sink behind it.
//!
//! Handlebars calls the guard as its escape function for each `{{expression}}`. The guard can only answer with
//! text, so a refusal is a text that begins with NUL, which no template and no value can hold; the sink knows it
//! and fails, and Handlebars adds the template and line. A collection is a NUL text too, which the sink notes as
//! a place to put the fragments.

use std::io;
use std::sync::Arc;

use handlebars::Output;

use super::Format;
use crate::bird::Literal;

/// The most bytes that one file may have: 256 MiB.
pub const MAX_FILE_BYTES: usize = 256 << 20;

const NUL: char = '\0';
const REFUSED: &str = "\0!";
const SLOT: &str = "\0@";

/// The escape function of a format.
pub(super) fn guard(format: Format) -> fn(&str) -> String {
    match format {
        Format::Bird => guard_bird,
        Format::Text => guard_text,
    }
}

fn guard_bird(value: &str) -> String {
    if let Some(literal) = value.strip_prefix(Literal::MARK) {
        return place(literal, value);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '/' | '+' | '-');
    match value.char_indices().find(|&(_, c)| !plain(c)) {
        Some((at, c)) => refuse(value, at, c),
        None if value.is_empty() => {
            format!("{REFUSED}the value is empty (null or \"\"); guard the expression with `{{{{#if …}}}}`")
        }
        None => value.to_owned(),
    }
}

fn guard_text(value: &str) -> String {
    place(value.strip_prefix(Literal::MARK).unwrap_or(value), value)
}

/// Lets a text through unless it has characters that no file of text has, a mark of a typed value among them.
fn place(text: &str, value: &str) -> String {
    let stray = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    match text.char_indices().find(|&(_, c)| stray(c)) {
        Some((at, c)) => refuse(value, at, c),
        None => text.to_owned(),
    }
}

/// Says what is wrong with a value, and nothing of the value, which may be a secret.
fn refuse(value: &str, at: usize, c: char) -> String {
    let what = if c == Literal::MARK {
        "a typed value, which cannot be a part of another text".to_owned()
    } else {
        format!("the character {c:?} at byte {at}")
    };
    let length = value.len();
    format!("{REFUSED}the value of {length} bytes is no single word and no typed value: it has {what}")
}

/// What a collection writes in its place.
pub(super) fn slot_mark(slot: usize) -> String {
    format!("{SLOT}{slot}")
}

/// A piece of the output of a file's own template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Literal(Arc<str>),
    Slot(usize),
}

impl Piece {
    /// The length of its own text.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Piece::Literal(text) => text.len(),
            Piece::Slot(_) => 0,
        }
    }
}

/// The most bytes that an empty sink keeps for the next text.
const KEPT: usize = 64 << 10;

/// The output of one rendering.
#[derive(Debug, Default)]
pub(super) struct Sink {
    text: String,
    pieces: Vec<Piece>,
    written: usize,
}

impl Sink {
    /// The pieces in order.
    pub(super) fn into_pieces(mut self) -> Vec<Piece> {
        self.cut();
        self.pieces
    }

    /// The text since the last cut.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Adds a text that has passed the guard.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Empties the sink, which keeps its memory unless that is much.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(KEPT);
        self.pieces.clear();
        self.written = 0;
    }

    fn cut(&mut self) {
        if !self.text.is_empty() {
            self.pieces.push(Piece::Literal(Arc::from(self.text.as_str())));
            self.text.clear();
        }
    }
}

impl Output for Sink {
    fn write(&mut self, text: &str) -> Result<(), io::Error> {
        if text.contains(NUL) {
            if let Some(slot) = text.strip_prefix(SLOT).and_then(|slot| slot.parse().ok()) {
                self.cut();
                self.pieces.push(Piece::Slot(slot));
                return Ok(());
            }
            let reason = text.find(REFUSED).map_or("a NUL character", |at| &text[at + REFUSED.len()..]);
            return Err(io::Error::other(reason.to_owned()));
        }
        self.written += text.len();
        if self.written > MAX_FILE_BYTES {
            return Err(io::Error::other(format!("the file is longer than {MAX_FILE_BYTES} bytes")));
        }
        self.text.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_literals_pass_and_nothing_else_does() {
        for word in ["10.0.0.0/26", "fd00::1", "Mesh_10_0_0_1", "64512", "true", "10.0.0.0/8+", "a-b"] {
            assert_eq!(guard_bird(word), word);
        }
        assert_eq!(guard_bird("\u{1}\"a; b\""), "\"a; b\"");
        for bad in [
            "",
            " ",
            "a b",
            "a;b",
            "a}b",
            "{",
            "a\nb",
            "\"",
            "'",
            "#",
            "\\",
            "(",
            ",",
            "é",
            "\0",
            "a\u{1}b",
            "\u{1}a\u{1}",
            "\u{1}a\0b",
            "*",
            "=",
        ] {
            let answer = guard_bird(bad);
            assert!(answer.starts_with(REFUSED), "{bad:?} gave {answer:?}");
            assert!(Sink::default().write(&answer).is_err(), "{bad:?}");
        }
        assert!(!guard_bird("\u{1}secret\u{1}").contains("sec"));
    }

    #[test]
    fn text_keeps_lines_and_refuses_control_characters() {
        assert_eq!(guard_text("a \"b\";\n"), "a \"b\";\n");
        assert_eq!(guard_text("\u{1}\"x\""), "\"x\"");
        assert!(guard_text("a\u{1}b").starts_with(REFUSED));
        assert!(guard_text("a\0").starts_with(REFUSED));
    }
}
