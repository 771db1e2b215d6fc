//! Pieces of the one text that came with a request, and the other way round. A column has a piece as one number: its start,
//! plus its length times 2^32.

use crate::bindings::host::tailorbird::policy::types as wire;

/// A piece of a text. The host gives none that is not there; one would be empty.
pub(crate) fn piece(text: &str, packed: u64) -> &str {
    let (start, length) = unpacked(packed);
    text.get(start..start.saturating_add(length)).unwrap_or_default()
}

/// The start and the length of a piece.
fn unpacked(packed: u64) -> (usize, usize) {
    (packed as u32 as usize, (packed >> 32) as u32 as usize)
}

/// A piece in one number.
pub(crate) fn packed(start: u32, length: u32) -> u64 {
    u64::from(length) << 32 | u64::from(start)
}

/// The same, where an empty piece stands for none.
pub(crate) fn some_piece(text: &str, packed: u64) -> Option<&str> {
    Some(piece(text, packed)).filter(|text| !text.is_empty())
}

/// Whether a piece of a text is the same as another text: as fast as can be, since a policy looks for a label among those of
/// thousands of nodes.
pub(crate) fn is_piece(text: &str, packed: u64, wanted: &str) -> bool {
    let (start, length) = unpacked(packed);
    length == wanted.len()
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
pub(crate) fn part<T>(list: &[T], packed: u64) -> &[T] {
    let (start, count) = unpacked(packed);
    list.get(start..start.saturating_add(count)).unwrap_or_default()
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

    /// Adds a piece, for a column.
    pub(crate) fn add_packed(&mut self, piece: &str) -> u64 {
        let wire::Span { start, length } = self.add(piece);
        packed(start, length)
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
            let span = packed(1, count(length));
            let Some(piece) = TEXT.get(1..1 + length) else { continue };
            assert!(is_piece(TEXT, span, piece), "{piece}");
            assert!(!is_piece(TEXT, span, &format!("{piece}>")));
            for place in 0..length {
                let mut other = piece.as_bytes().to_vec();
                other[place] ^= 1;
                assert!(!is_piece(TEXT, span, std::str::from_utf8(&other).unwrap()), "{piece} {place}");
            }
        }
        let outside = packed(u32::MAX, 1);
        assert!(!is_piece(TEXT, outside, ">"));
    }
}
