//! Any bytes, in pieces, read into a type and passed over: nothing may panic, and what is kept has a bound.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tailorbird_gob::{Decoder, Limits};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Envelope<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

#[derive(Deserialize)]
enum Message<'a> {
    #[serde(borrow, rename = "a.List")]
    List(List<'a>),
    #[allow(dead_code)]
    #[serde(rename = "a.Text")]
    Text(String),
    #[serde(rename = "a.Nothing")]
    Nothing,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct List<'a> {
    #[serde(borrow)]
    items: Vec<Item<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Item<'a> {
    name: &'a [u8],
    tags: Vec<String>,
    flag: bool,
    size: u64,
    number: i32,
    half: f64,
    map: std::collections::BTreeMap<String, Vec<u8>>,
    pair: (u8, u8),
    any: Option<Box<Message<'a>>>,
}

const LIMITS: Limits =
    Limits { message: 1 << 16, elements: 4096, depth: 16, types: 64, definitions: 8192, spread: 8 };

fuzz_target!(|input: &[u8]| {
    // The first byte is the size of the pieces.
    let Some((&size, bytes)) = input.split_first() else { return };
    let mut decoder = Decoder::new(LIMITS);
    let mut read = 0;
    'all: for piece in bytes.chunks(usize::from(size).max(1)) {
        decoder.push(piece);
        loop {
            match decoder.next::<Envelope<'_>>() {
                Ok(Some(Envelope { message })) => {
                    if let Some(Message::List(list)) = message {
                        assert!(list.items.len() <= LIMITS.elements);
                    }
                    read += 1;
                }
                Ok(None) => break,
                Err(error) => {
                    assert!(error.offset <= bytes.len() as u64);
                    break 'all;
                }
            }
        }
        assert!(decoder.waiting() <= (LIMITS.message + 9) * (LIMITS.spread + 1));
    }
    // Whatever can be read can be passed over.
    let mut decoder = Decoder::new(LIMITS);
    decoder.push(bytes);
    let mut passed = 0;
    while let Ok(Some(IgnoredAny)) = decoder.next() {
        passed += 1;
    }
    assert!(passed >= read);
});
