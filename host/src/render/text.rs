use std::fmt;
use std::sync::Arc;

use super::blocks::Blocks;

#[derive(Debug, Clone)]
enum Segment {
    Literal(Arc<str>),
    /// The texts of a collection's items.
    Fragments(Blocks),
}

/// A rendered file as a rope: pieces of its template's own text, and the kept texts of collections between them.
///
/// A clone is cheap. The text is never put together unless [`ToString::to_string`] asks for it.
#[derive(Debug, Clone, Default)]
pub struct Text {
    segments: Arc<[Segment]>,
    len: usize,
}

impl Text {
    /// The length in bytes; it costs nothing to ask.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The text piece by piece.
    pub fn chunks(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().flat_map(|segment| {
            let (literal, fragments) = match segment {
                Segment::Literal(text) => (Some(&**text), None),
                Segment::Fragments(fragments) => (None, Some(fragments)),
            };
            literal.into_iter().chain(fragments.into_iter().flat_map(Blocks::chunks))
        })
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chunks().try_for_each(|chunk| f.write_str(chunk))
    }
}

/// Puts a [`Text`] together.
#[derive(Debug, Default)]
pub(super) struct TextBuilder {
    segments: Vec<Segment>,
    len: usize,
}

impl TextBuilder {
    pub(super) fn literal(&mut self, text: &Arc<str>) {
        self.len += text.len();
        self.segments.push(Segment::Literal(text.clone()));
    }

    /// Adds the texts of a collection.
    pub(super) fn fragments(&mut self, fragments: &Blocks) {
        self.len += fragments.bytes();
        self.segments.push(Segment::Fragments(fragments.clone()));
    }

    pub(super) fn build(self) -> Text {
        Text { segments: self.segments.into(), len: self.len }
    }
}
