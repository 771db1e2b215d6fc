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

/// Whether a piece of a text is the same as another text: as fast as can be, since a policy looks for a label among those of
/// thousands of nodes.
pub(crate) fn is_piece(text: &str, span: wire::Span, wanted: &str) -> bool {
    let start = span.start as usize;
    span.length as usize == wanted.len()
        && text
            .as_bytes()
            .get(start..start.saturating_add(wanted.len()))
            .is_some_and(|own| same(own, wanted.as_bytes()))
}

/// Whether two pieces of one length are the same. WebAssembly has no instruction that compares memory, so that comparing
/// eight bytes in a step makes a difference.
fn same(one: &[u8], other: &[u8]) -> bool {
    let ((words, _), (other_words, _)) = (one.as_chunks::<8>(), other.as_chunks::<8>());
    let word = |word: &[u8; 8]| u64::from_le_bytes(*word);
    match (one.last_chunk(), other.last_chunk()) {
        // The last word overlaps those before it.
        (Some(last), Some(other_last)) => {
            word(last) == word(other_last)
                && words.iter().zip(other_words).all(|(one, other)| word(one) == word(other))
        }
        _ => one == other,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_compared_to_its_last_byte() {
        const TEXT: &str = "<topology.kubernetes.io/zone>";
        for length in 0..TEXT.len() {
            let span = wire::Span { start: 1, length: count(length) };
            let Some(piece) = TEXT.get(1..1 + length) else { continue };
            assert!(is_piece(TEXT, span, piece), "{piece}");
            assert!(!is_piece(TEXT, span, &format!("{piece}>")));
            for place in 0..length {
                let mut other = piece.as_bytes().to_vec();
                other[place] ^= 1;
                assert!(!is_piece(TEXT, span, std::str::from_utf8(&other).unwrap()), "{piece} {place}");
            }
        }
        let outside = wire::Span { start: u32::MAX, length: 1 };
        assert!(!is_piece(TEXT, outside, ">"));
    }
}
