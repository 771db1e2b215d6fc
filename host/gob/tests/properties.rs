//! Properties of the decoder over streams of any kind.

#![allow(clippy::unwrap_used)]

mod support;

use proptest::prelude::*;
use serde::de::IgnoredAny;
use support::*;
use tailorbird_gob::{Decoder, Limits};

/// Small limits, so that they are met.
const LIMITS: Limits =
    Limits { message: 4096, elements: 500, depth: 8, types: 16, definitions: 2048, spread: 4 };

fn skipped(bytes: &[u8]) -> usize {
    let mut decoder = Decoder::new(LIMITS);
    decoder.push(bytes);
    let mut values = 0;
    while let Ok(Some(IgnoredAny)) = decoder.next() {
        values += 1;
    }
    values
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600), size in 1usize..40) {
        let (values, _) = read_pieces(&bytes, size, LIMITS);
        prop_assert!(values.len() <= bytes.len());
        skipped(&bytes);
    }

    #[test]
    fn a_stream_with_flaws_is_read_or_refused_the_same_in_any_pieces(
        lengths in prop::collection::vec(0usize..5, 1..4),
        as_go in any::<bool>(),
        flaws in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        size in 1usize..60,
    ) {
        let mut bytes = if as_go { spread() } else { plain(&lengths) };
        for (at, byte) in &flaws {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        let in_pieces = read_pieces(&bytes, size, LIMITS);
        let whole = read_pieces(&bytes, bytes.len(), LIMITS);
        prop_assert_eq!(&in_pieces.0, &whole.0);
        prop_assert_eq!(in_pieces.1.is_some(), whole.1.is_some());
        // What can be read can be passed over.
        prop_assert!(skipped(&bytes) >= whole.0.len());
    }

    #[test]
    fn lists_of_any_length_come_back(lengths in prop::collection::vec(0usize..40, 0..6)) {
        let (values, error) = read_pieces(&plain(&lengths), 7, LIMITS);
        prop_assert_eq!(error, None);
        let read: Vec<usize> = values
            .iter()
            .map(|value| match value.message.as_ref().unwrap() {
                Message::List(list) => list.items.len(),
                other => panic!("{other:?}"),
            })
            .collect();
        prop_assert_eq!(read, lengths);
    }
}
