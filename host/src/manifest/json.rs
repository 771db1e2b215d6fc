//! JSON files: any number of values one behind the other, the items of a list one by one.
//!
//! Behind a value that cannot be read, reading goes on at the next line that begins with `{`.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, Read};

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Map, Value};

use super::input::BOM;
use super::{ListKind, MAX_OBJECT_BYTES, Out};

/// Reads a stream of values.
pub(super) fn read(mut reader: impl BufRead, out: &mut Out<'_>) -> io::Result<()> {
    if reader.fill_buf()?.starts_with(BOM) {
        reader.consume(BOM.len());
    }
    let place = Place { line: Cell::new(1), spare: Cell::new(MAX_OBJECT_BYTES), last: Cell::new(b'\n') };
    let mut input = Input { reader, place: &place };
    let mut document = 0;
    while input.skip_blanks()? {
        document += 1;
        place.renew();
        let mut items_read = 0;
        let top = Top { document, place: &place, items_read: &mut items_read, out };
        let Err(error) = top.deserialize(&mut Deserializer::from_reader(&mut input)) else { continue };
        let line = place.line.get();
        let mut reason = match error.classify() {
            serde_json::error::Category::Io if place.spare.get() == 0 => {
                format!("more than {} MiB of text in one object", MAX_OBJECT_BYTES >> 20)
            }
            serde_json::error::Category::Io => return Err(error.into()),
            _ => format!("not JSON: {}", without_place(&error.to_string())),
        };
        if items_read > 0 {
            reason.push_str(&format!(
                "; the {items_read} items before it are read, the rest of the list is not"
            ));
        }
        out.problem(document, line, reason);
        input.skip_to_object()?;
    }
    Ok(())
}

/// The message without its line and column, which count from the start of the value.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

/// Where reading stands, and how much of the current object may still come.
struct Place {
    line: Cell<u64>,
    spare: Cell<usize>,
    last: Cell<u8>,
}

impl Place {
    fn renew(&self) {
        self.spare.set(MAX_OBJECT_BYTES);
    }
}

/// Counts lines and bounds objects.
struct Input<'p, R> {
    reader: R,
    place: &'p Place,
}

impl<R: BufRead> Input<'_, R> {
    fn take(&mut self, byte: u8) {
        self.reader.consume(1);
        self.place.last.set(byte);
        if byte == b'\n' {
            self.place.line.set(self.place.line.get() + 1);
        }
    }

    /// Whether anything follows but blanks.
    fn skip_blanks(&mut self) -> io::Result<bool> {
        loop {
            match self.reader.fill_buf()?.first() {
                None => return Ok(false),
                Some(byte) if byte.is_ascii_whitespace() => {
                    let byte = *byte;
                    self.take(byte);
                }
                Some(_) => return Ok(true),
            }
        }
    }

    /// Goes on to a line that begins with `{`, or to the end.
    fn skip_to_object(&mut self) -> io::Result<()> {
        loop {
            let Some(&byte) = self.reader.fill_buf()?.first() else { return Ok(()) };
            if byte == b'{' && self.place.last.get() == b'\n' {
                return Ok(());
            }
            self.take(byte);
        }
    }
}

impl<R: BufRead> Read for Input<'_, R> {
    /// One byte at a time, so that nothing is taken that is not parsed.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(to) = buf.first_mut() else { return Ok(0) };
        let spare = self.place.spare.get();
        if spare == 0 {
            return Err(io::Error::other("the object is too large"));
        }
        let Some(&byte) = self.reader.fill_buf()?.first() else { return Ok(0) };
        *to = byte;
        self.place.spare.set(spare - 1);
        self.take(byte);
        Ok(1)
    }
}

/// A value of the stream. Items of a list go out one by one, any other value at its end.
struct Top<'a, 'o> {
    document: usize,
    place: &'a Place,
    items_read: &'a mut usize,
    out: &'a mut Out<'o>,
}

impl<'de> DeserializeSeed<'de> for Top<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Top<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let line = self.place.line.get();
        let mut map = Map::new();
        let mut streamed = false;
        while let Some(key) = access.next_key::<String>()? {
            refuse_repeated(&map, &key)?;
            let value = if key == "items" {
                let list = Items {
                    document: self.document,
                    place: self.place,
                    kind: kind_of(&map),
                    items_read: &mut *self.items_read,
                    out: &mut *self.out,
                };
                let (value, was_list) = access.next_value_seed(list)?;
                streamed |= was_list;
                value
            } else {
                access.next_value_seed(Tree { in_metadata: key == "metadata" })?
            };
            map.insert(key, value);
        }
        if !streamed {
            self.out.value(self.document, line, Value::Object(map), None);
        }
        Ok(())
    }
}

fn kind_of(map: &Map<String, Value>) -> Option<ListKind> {
    let word = |name| map.get(name).and_then(Value::as_str);
    let kind = word("kind")?.strip_suffix("List").filter(|kind| !kind.is_empty())?;
    Some(ListKind { kind: kind.to_owned(), api_version: word("apiVersion")?.to_owned() })
}

fn refuse_repeated<E: serde::de::Error>(map: &Map<String, Value>, key: &str) -> Result<(), E> {
    if map.contains_key(key) {
        let key: String = key.chars().take(80).collect();
        return Err(E::custom(format_args!("the key {key:?} stands twice in an object")));
    }
    Ok(())
}

/// The items of a list; what is no list is a plain value.
struct Items<'a, 'o> {
    document: usize,
    place: &'a Place,
    kind: Option<ListKind>,
    items_read: &'a mut usize,
    out: &'a mut Out<'o>,
}

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = (Value, bool);

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = (Value, bool);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok((Value::Null, false))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        loop {
            self.place.renew();
            let start = Cell::new(0);
            let Some(value) = access.next_element_seed(Item { place: self.place, start: &start })? else {
                break;
            };
            *self.items_read += 1;
            self.out.value(self.document, start.get(), value, self.kind.as_ref());
        }
        Ok((Value::Null, true))
    }
}

/// An item, with the line where it begins.
struct Item<'a> {
    place: &'a Place,
    start: &'a Cell<u64>,
}

impl<'de> DeserializeSeed<'de> for Item<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.start.set(self.place.line.get());
        Tree { in_metadata: false }.deserialize(deserializer)
    }
}

/// A value of any shape, without `metadata.managedFields`.
#[derive(Clone, Copy)]
struct Tree {
    in_metadata: bool,
}

impl<'de> DeserializeSeed<'de> for Tree {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        serde_json::Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = access.next_element_seed(Tree { in_metadata: false })? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            refuse_repeated::<A::Error>(&map, &key)?;
            if self.in_metadata && key == "managedFields" {
                access.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = access.next_value_seed(Tree { in_metadata: key == "metadata" })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
