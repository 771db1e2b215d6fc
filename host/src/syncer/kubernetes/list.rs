//! Takes the text of a list apart while it arrives, so that only one object is held at a time.
//!
//! A page has as many objects as were asked for only if the API server likes: from its cache it may send all there are.

use serde::Deserialize;

use super::failure::Failure;
use crate::manifest::MAX_OBJECT_BYTES;

/// How much of a list may stand outside its items, in bytes.
const MAX_FRAME: usize = 1 << 20;

/// What a list says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    /// The version of the collection, from which it can be watched.
    pub(super) version: String,
    /// How to ask for the next page, if there is one.
    pub(super) next: Option<String>,
}

/// A list that arrives in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    /// All that is not an item.
    frame: Vec<u8>,
    /// The item that has begun.
    item: Vec<u8>,
    /// The key that the value at hand belongs to, if it stands in the list itself.
    key: Vec<u8>,
    place: Place,
    depth: usize,
    text: Text,
}

/// Where the next character stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the list itself, where a key is expected or begins.
    #[default]
    Key,
    /// In the list itself or in a value other than the items.
    Value,
    /// Between items.
    Items,
    /// In an item.
    Item,
}

/// Whether the next character stands in a text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// Behind a backslash.
    Escaped,
}

impl Splitter {
    /// Takes the next piece and hands over each item that is complete with it.
    pub(super) fn push(
        &mut self,
        piece: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut rest = piece;
        while let Some(&byte) = rest.first() {
            if self.place == Place::Item {
                // Nearly all of an item goes through whole.
                let plain = rest.iter().position(|&byte| self.counts(byte)).unwrap_or(rest.len());
                if plain > 0 {
                    self.item.extend_from_slice(&rest[..plain]);
                    rest = &rest[plain..];
                    continue;
                }
            }
            rest = &rest[1..];
            match self.place {
                Place::Items => self.between(byte)?,
                Place::Item => {
                    self.item.push(byte);
                    if self.advance(byte) && self.depth == 2 {
                        sink(&self.item)?;
                        self.item.clear();
                        self.place = Place::Items;
                    }
                }
                Place::Key | Place::Value => self.outside(byte),
            }
        }
        if self.item.len() > MAX_OBJECT_BYTES || self.frame.len() > MAX_FRAME {
            return Err(Failure::Broken(
                "the list has an object that is larger than any that is read".to_owned(),
            ));
        }
        Ok(())
    }

    /// The list is complete.
    ///
    /// # Errors
    /// It is not, or it is no list.
    pub(super) fn finish(self) -> Result<Page, Failure> {
        #[derive(Deserialize)]
        struct Frame {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            resource_version: String,
            #[serde(default)]
            r#continue: String,
        }
        if self.depth > 0 {
            return Err(Failure::Broken("the list ends before it is complete".to_owned()));
        }
        let Frame { metadata } = serde_json::from_slice(&self.frame)
            .map_err(|error| Failure::Broken(format!("the answer is no list: {error}")))?;
        let next = Some(metadata.r#continue).filter(|text| !text.is_empty());
        Ok(Page { version: metadata.resource_version, next })
    }

    fn between(&mut self, byte: u8) -> Result<(), Failure> {
        match byte {
            b'{' => {
                self.item.push(byte);
                self.place = Place::Item;
                self.depth += 1;
            }
            b']' => {
                self.frame.push(byte);
                self.place = Place::Value;
                self.depth -= 1;
            }
            b',' | b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => return Err(Failure::Broken("the list has an item that is no object".to_owned())),
        }
        Ok(())
    }

    fn outside(&mut self, byte: u8) {
        self.frame.push(byte);
        let in_text = self.text != Text::Outside;
        let closed = self.advance(byte);
        if self.depth != 1 {
            if self.depth == 2 && byte == b'[' && !in_text && self.key == b"\"items\"" {
                self.place = Place::Items;
            }
            return;
        }
        match (self.place, byte) {
            (Place::Key, _) if in_text || byte == b'"' => self.key.push(byte),
            (Place::Key, b':') => self.place = Place::Value,
            (Place::Value, b',') if !in_text && !closed => {
                self.key.clear();
                self.place = Place::Key;
            }
            _ => {}
        }
    }

    /// Whether a character tells anything about the nesting.
    fn counts(&self, byte: u8) -> bool {
        match self.text {
            Text::Outside => matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'),
            Text::Inside => matches!(byte, b'"' | b'\\'),
            Text::Escaped => true,
        }
    }

    /// Follows the nesting; whether the character closes a mapping or list.
    fn advance(&mut self, byte: u8) -> bool {
        match (self.text, byte) {
            (Text::Escaped, _) | (Text::Outside, b'"') => self.text = Text::Inside,
            (Text::Inside, b'\\') => self.text = Text::Escaped,
            (Text::Inside, b'"') => self.text = Text::Outside,
            (Text::Outside, b'{' | b'[') => self.depth += 1,
            (Text::Outside, b'}' | b']') => {
                self.depth = self.depth.saturating_sub(1);
                return true;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, piece: usize) -> Result<(Vec<String>, Page), Failure> {
        let mut splitter = Splitter::default();
        let mut items = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            splitter.push(piece, &mut |item| {
                items.push(String::from_utf8(item.to_vec()).expect("UTF-8"));
                Ok(())
            })?;
        }
        Ok((items, splitter.finish()?))
    }

    const LIST: &str = r#"{"kind":"NodeList","note":{"items":[1,{"a":"]"}],"q":"\"items\":["},"items" : [
        {"metadata":{"name":"a","items":["}"]},"t":"\\\"}{"} ,{},{"b":[[],{}]}],
        "metadata":{"resourceVersion":"42","continue":"x,\"y"}}"#;

    #[test]
    fn items_are_the_same_however_the_text_is_cut() {
        let whole = split(LIST, LIST.len()).expect("a list");
        let items = [r#"{"metadata":{"name":"a","items":["}"]},"t":"\\\"}{"}"#, "{}", r#"{"b":[[],{}]}"#];
        assert_eq!(whole.0, items);
        assert_eq!(whole.1, Page { version: "42".to_owned(), next: Some("x,\"y".to_owned()) });
        for piece in 1..LIST.len() {
            assert_eq!(split(LIST, piece).as_ref(), Ok(&whole), "pieces of {piece}");
        }
    }

    #[test]
    fn a_list_that_is_cut_short_is_none() {
        for end in 0..LIST.len() {
            assert!(split(&LIST[..end], 7).is_err(), "{}", &LIST[..end]);
        }
    }

    #[test]
    fn what_is_no_list_of_objects_is_an_error() {
        for text in [
            "",
            "[]",
            "null",
            "}",
            r#"{"items":[]}"#,
            r#"{"metadata":{"resourceVersion":"1"},"items":[3]}"#,
            r#"{"metadata":{"resourceVersion":"1"},"items":[]]"#,
            "<html>",
        ] {
            assert!(split(text, 3).is_err(), "{text}");
        }
        let empty = r#"{"items":null,"metadata":{"resourceVersion":"1"}}"#;
        assert_eq!(split(empty, 1).expect("a list").0, Vec::<String>::new());
    }
}
