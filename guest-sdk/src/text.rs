//! Pieces of the one text that came with a request, and the other way round.

use crate::bindings::host::tailorbird::policy::types as wire;

/// A piece of a text. The host gives none that is not there; one would be empty.
pub(crate) fn piece(text: &str, span: wire::Span) -> &str {
    let start = span.start as usize;
    text.get(start..start.saturating_add(span.length as usize)).unwrap_or_default()
}

/// The same, where an empty piece stands for none.
pub(crate) fn some_piece(text: &str, span: wire::Span) -> Option<&str> {
    Some(piece(text, span)).filter(|text| !text.is_empty())
}

/// A piece of a list. The host gives none that is not there; one would be empty.
pub(crate) fn part<T>(list: &[T], range: wire::Range) -> &[T] {
    let start = range.start as usize;
    list.get(start..start.saturating_add(range.count as usize)).unwrap_or_default()
}

/// A text, and its pieces.
#[derive(Debug, Default)]
pub(crate) struct Text(pub(crate) String);

impl Text {
    /// Adds a piece.
    pub(crate) fn add(&mut self, piece: &str) -> wire::Span {
        let start = count(self.0.len());
        self.0.push_str(piece);
        wire::Span { start, length: count(piece.len()) }
    }
}

/// Adds items to a list.
pub(crate) fn add_all<T>(list: &mut Vec<T>, items: impl IntoIterator<Item = T>) -> wire::Range {
    let start = list.len();
    list.extend(items);
    wire::Range { start: count(start), count: count(list.len() - start) }
}

/// A length on the wire. Memory ends long before a length that this cannot hold.
pub(crate) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
