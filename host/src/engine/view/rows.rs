//! Keys that are stored as text.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::sync::Arc;

use crate::types::Password;

/// A key of the view and what it holds, or a path at the beginning of a key. There are many in a large cluster, so each is
/// one text, and what few have is apart.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The key, and the value that everyone may see behind it.
    text: Arc<str>,
    /// Where the value begins.
    value: usize,
    /// The revision of the last change.
    pub(super) revision: u64,
}

impl Row {
    pub(super) fn new(key: &str, value: &str, revision: u64) -> Self {
        Self { text: [key, value].concat().into(), value: key.len(), revision }
    }

    /// What stands for a path that is the beginning of a text; the text is shared.
    pub(super) fn path(text: &Arc<str>, path: &str, revision: u64) -> Self {
        Self { text: text.clone(), value: path.len(), revision }
    }

    pub(super) fn key(&self) -> &str {
        &self.text[..self.value]
    }

    pub(super) fn value(&self) -> &str {
        &self.text[self.value..]
    }

    /// The text that holds both.
    pub(super) fn text(&self) -> &Arc<str> {
        &self.text
    }
}

/// Rows are told apart by their keys alone.
impl Ord for Row {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(other.key())
    }
}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Row {}

impl Borrow<str> for Row {
    fn borrow(&self) -> &str {
        self.key()
    }
}

/// A text with a password, which does not print itself.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SecretText {
    pub(super) text: Arc<str>,
    pub(super) password: Password,
}

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(Password::HIDDEN)
    }
}
