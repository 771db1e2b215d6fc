//! Types to read into, and streams made by hand.
#![allow(dead_code, unreachable_pub)]

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use tailorbird_gob::{Decoder, Encoder, Error, Limits, Record, TypeId};

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct Envelope {
    pub message: Option<Message>,
}

#[derive(Debug, PartialEq, Deserialize)]
pub enum Message {
    #[serde(rename = "a.List")]
    List(List),
    #[serde(rename = "a.Text")]
    Text(String),
    #[serde(rename = "a.Nothing")]
    Nothing,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct List {
    pub items: Vec<Item>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct Item {
    pub name: String,
    pub tags: Vec<String>,
    #[serde(deserialize_with = "bytes")]
    pub at: Vec<u8>,
    pub flag: bool,
    pub size: u64,
}

fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    struct Bytes;
    impl Visitor<'_> for Bytes {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes")
        }

        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }
    }
    from.deserialize_bytes(Bytes)
}

pub fn read_all<T: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>, Error> {
    let mut decoder = Decoder::new(Limits::default());
    decoder.push(bytes);
    let mut values = Vec::new();
    while let Some(value) = decoder.next()? {
        values.push(value);
    }
    Ok(values)
}

/// Reads in pieces; what was read, and why no more. What is kept meanwhile has a bound.
pub fn read_pieces(bytes: &[u8], size: usize, limits: Limits) -> (Vec<Envelope>, Option<Error>) {
    let mut decoder = Decoder::new(limits);
    let mut values = Vec::new();
    for piece in bytes.chunks(size.max(1)) {
        decoder.push(piece);
        loop {
            match decoder.next() {
                Ok(Some(value)) => values.push(value),
                Ok(None) => break,
                Err(error) => return (values, Some(error)),
            }
        }
        assert!(decoder.waiting() <= (limits.message + 9) * limits.spread, "too much is kept");
    }
    (values, None)
}

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

pub fn uint(number: u64) -> Vec<u8> {
    match number {
        0..0x80 => vec![number as u8],
        0x80..0x100 => vec![0xff, number as u8],
        _ => [&[0xfeu8][..], &u16::try_from(number).unwrap().to_be_bytes()].concat(),
    }
}

pub fn int(number: i64) -> Vec<u8> {
    let doubled = number.unsigned_abs() * 2;
    uint(if number < 0 { doubled - 1 } else { doubled })
}

pub fn text(text: &str) -> Vec<u8> {
    [&uint(text.len() as u64)[..], text.as_bytes()].concat()
}

pub fn message(payload: &[u8]) -> Vec<u8> {
    [&uint(payload.len() as u64)[..], payload].concat()
}

/// A definition: which of the forms, and what follows the common part.
pub fn definition_payload(id: i64, form: u8, rest: &[u8]) -> Vec<u8> {
    let common = [&[1u8, 1][..], &text("T"), &[1], &int(id), &[0]].concat();
    [&int(-id)[..], &[form + 1], &common[..], rest, &[0, 0]].concat()
}

pub fn definition(id: i64, form: u8, rest: &[u8]) -> Vec<u8> {
    message(&definition_payload(id, form, rest))
}

/// The fields of a struct, as they follow the common part.
pub fn fields(names: &[&str], kinds: &[i64]) -> Vec<u8> {
    let field = |(name, kind): (&&str, &i64)| [&[1u8][..], &text(name), &[1], &int(*kind), &[0]].concat();
    [&[1u8][..], &uint(names.len() as u64), &names.iter().zip(kinds).flat_map(field).collect::<Vec<u8>>()]
        .concat()
}

/// Type 64: a struct that holds an interface.
pub fn envelope_definition() -> Vec<u8> {
    definition(64, 2, &fields(&["Message"], &[8]))
}

/// A stream whose types are all defined in front, with a list of each of these lengths.
pub fn plain(lengths: &[usize]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new();
    let envelope = encoder.structure(&mut bytes, "Envelope", &[("Message", TypeId::INTERFACE)]);
    let item = encoder.structure(&mut bytes, "Item", &[("Name", TypeId::TEXT), ("Size", TypeId::UINT)]);
    let items = encoder.slice(&mut bytes, "[]Item", item);
    let list = encoder.structure(&mut bytes, "List", &[("Items", items)]);
    for &length in lengths {
        let items =
            (0..length as u64).map(|at| Record::new().text(0, &format!("item-{at}")).uint(1, at * 100));
        let list = Record::new().interface(0, "a.List", list, Record::new().records(0, items));
        encoder.write(&mut bytes, envelope, list);
    }
    bytes
}

/// A stream as Go writes it: the types of what an interface holds are defined in the midst of the value.
pub fn spread() -> Vec<u8> {
    let list = definition_payload(65, 2, &fields(&["Items"], &[66]));
    let value = hex("01 01 01 01 61 00 00");
    [
        envelope_definition(),
        message(&[&hex("ff80 01")[..], &text("a.List"), &list].concat()),
        definition(66, 1, &[&[1u8][..], &int(67)].concat()),
        definition(67, 2, &fields(&["Name"], &[6])),
        message(&[&hex("ff82")[..], &uint(value.len() as u64), &value, &[0]].concat()),
    ]
    .concat()
}
