//! YAML files: a stream is cut into documents, and a large list into its items, before anything is parsed.
//!
//! Cutting needs no parser because of YAML's indentation rules:
//!
//! - `---` and `...` at the start of a line end a document wherever they stand, in block scalars too.
//! - Below a mapping at column 0, everything that belongs to a key is indented, except a list, whose dashes may stand
//!   at column 0 too. So behind the key `items`, a line with a dash in the list's column begins an entry, and a line
//!   with text at or left of that column that has no dash ends the list. Text, block scalars and flow collections
//!   inside an entry stand further right.
//!
//! A file that breaks these rules is no YAML; its pieces do not parse, and that is reported.

use std::io::{self, BufRead};

use serde_json::Value;

use super::build::{self, Failure, Shape};
use super::input::{self, Line, Lines};
use super::{ListKind, MAX_OBJECT_BYTES, Out};

/// A document up to this size is parsed as a whole; anchors then reach across the items of a list.
const WHOLE_BYTES: usize = 1 << 20;

/// Reads a stream of documents.
pub(super) fn read(reader: impl BufRead, out: &mut Out<'_>) -> io::Result<()> {
    let mut lines = Lines::new(reader);
    let mut chunk = Chunk::default();
    let mut documents = 0;
    let mut line_number = 0;
    while let Some(Line { bytes, at_start }) = lines.next()? {
        line_number += u64::from(at_start);
        let start = at_start && is_mark(bytes, b"---");
        let end = at_start && is_mark(bytes, b"...");
        if end || (start && chunk.is_document()) {
            chunk.finish(out);
            chunk = Chunk::default();
        }
        if end {
            continue;
        }
        let class = if start { Class::Start } else { classify(bytes) };
        let was_document = chunk.is_document();
        chunk.note(class, bytes, line_number);
        if !was_document && chunk.is_document() {
            documents += 1;
            chunk.document = documents;
        }
        chunk.push(class, bytes, line_number, out);
    }
    chunk.finish(out);
    Ok(())
}

fn is_mark(line: &[u8], mark: &[u8]) -> bool {
    line.strip_prefix(mark).is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// What a line is for the purpose of cutting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// `---`, perhaps with text behind it.
    Start,
    /// Nothing but blanks or a comment. In a block scalar this may be text; it never begins or ends anything.
    Blank,
    /// Text, and the column of its first character; whether that is the dash of a list.
    Text { column: usize, dash: bool },
}

fn classify(line: &[u8]) -> Class {
    let column = line.iter().take_while(|b| **b == b' ').count();
    let text = line[column..].trim_ascii_end();
    match text.trim_ascii_start() {
        [] | [b'#', ..] => Class::Blank,
        _ => Class::Text { column, dash: text[0] == b'-' && text.get(1).is_none_or(u8::is_ascii_whitespace) },
    }
}

/// `word:` at the start of a line.
fn is_key(line: &[u8]) -> bool {
    let word = line.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
    word > 0 && line[word..].starts_with(b":") && line.get(word + 1).is_none_or(u8::is_ascii_whitespace)
}

/// `items:` with nothing behind it.
fn is_items_key(line: &[u8]) -> bool {
    line.strip_prefix(b"items:").is_some_and(|rest| match rest.trim_ascii() {
        [] => true,
        [b'#', ..] => rest[0].is_ascii_whitespace(),
        _ => false,
    })
}

/// How far a document has been recognised as a list of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Outline {
    /// Nothing but blanks, comments and directives so far.
    #[default]
    Empty,
    /// A mapping at column 0.
    Mapping,
    /// The line `items:` was the last one with text.
    ItemsKey,
    /// The items' dashes stand in this column; the first one at this offset of the document.
    Items { column: usize, offset: usize },
    /// Anything else.
    Other,
}

/// The state of a list whose items are parsed one by one.
#[derive(Debug)]
struct Split {
    column: usize,
    head: Value,
    kind: Option<ListKind>,
    in_tail: bool,
}

/// One document, or the part of it that is not parsed yet.
#[derive(Debug, Default)]
struct Chunk {
    document: usize,
    buffer: Vec<u8>,
    /// The line with which the buffer begins.
    first_line: u64,
    marked: bool,
    outline: Outline,
    split: Option<Split>,
    items_read: usize,
    /// An error is reported: the rest of the document is only read over.
    failed: bool,
}

impl Chunk {
    /// Whether there is more here than blanks, comments and directives.
    fn is_document(&self) -> bool {
        self.marked || self.outline != Outline::Empty
    }

    /// Learns from a line what the document looks like.
    fn note(&mut self, class: Class, line: &[u8], number: u64) {
        if self.buffer.is_empty() && self.split.is_none() {
            self.first_line = number;
        }
        match (class, self.outline) {
            (Class::Blank, _) => {}
            (Class::Start, _) => {
                self.marked = true;
                if classify(&line[3..]) != Class::Blank {
                    self.outline = Outline::Other;
                }
            }
            (Class::Text { .. }, Outline::Empty) if !self.marked && line.starts_with(b"%") => {}
            (Class::Text { column, .. }, Outline::Empty | Outline::Mapping) => {
                self.outline = match self.outline {
                    _ if column == 0 && is_items_key(line) => Outline::ItemsKey,
                    Outline::Mapping => Outline::Mapping,
                    _ if column == 0 && is_key(line) => Outline::Mapping,
                    _ => Outline::Other,
                };
            }
            (Class::Text { column, dash: true }, Outline::ItemsKey) => {
                self.outline = Outline::Items { column, offset: self.buffer.len() };
            }
            (Class::Text { .. }, Outline::ItemsKey) => self.outline = Outline::Other,
            (Class::Text { .. }, Outline::Items { .. } | Outline::Other) => {}
        }
    }

    fn push(&mut self, class: Class, line: &[u8], number: u64, out: &mut Out<'_>) {
        if self.failed {
            return;
        }
        if self.buffer.len() + line.len() > MAX_OBJECT_BYTES {
            let reason = format!("more than {} MiB of text in one object", MAX_OBJECT_BYTES >> 20);
            return self.fail(out, Failure { line: 1, reason });
        }
        if self.split.is_some() {
            return self.push_split(class, line, number, out);
        }
        self.buffer.extend_from_slice(line);
        if let Outline::Items { column, offset } = self.outline
            && self.buffer.len() > WHOLE_BYTES
        {
            self.begin_split(column, offset, out);
        }
    }

    /// From here on the items are parsed as they come.
    fn begin_split(&mut self, column: usize, offset: usize, out: &mut Out<'_>) {
        let items = self.buffer.split_off(offset);
        let mut head = Value::Null;
        let parsed = input::text(&self.buffer)
            .map_err(failure)
            .and_then(|text| build::parse(text, Shape::Mapping, &mut |_, value, _| head = value));
        if let Err(failure) = parsed {
            return self.fail(out, failure);
        }
        let first = self.first_line + self.buffer.iter().filter(|b| **b == b'\n').count() as u64;
        self.buffer.clear();
        self.first_line = first;
        let kind = ListKind::of(&head);
        self.split = Some(Split { column, head, kind, in_tail: false });
        for (number, line) in (first..).zip(items.split_inclusive(|b| *b == b'\n')) {
            if !self.failed {
                self.push_split(classify(line), line, number, out);
            }
        }
    }

    fn push_split(&mut self, class: Class, line: &[u8], number: u64, out: &mut Out<'_>) {
        if let (Some(split), Class::Text { column, dash }) = (&mut self.split, class)
            && !split.in_tail
            && column <= split.column
        {
            let in_tail = !(dash && column == split.column);
            self.flush_item(out);
            if let Some(split) = &mut self.split {
                split.in_tail = in_tail;
            }
        }
        if self.buffer.is_empty() {
            self.first_line = number;
        }
        self.buffer.extend_from_slice(line);
    }

    /// Parses the item in the buffer.
    fn flush_item(&mut self, out: &mut Out<'_>) {
        if self.failed || self.buffer.is_empty() {
            return;
        }
        let buffer = std::mem::take(&mut self.buffer);
        if let Err(failure) = self.parse(&buffer, Shape::Entries, out) {
            return self.fail(out, failure);
        }
        self.buffer = buffer;
        self.buffer.clear();
        self.buffer.shrink_to(WHOLE_BYTES);
    }

    /// The document is over.
    fn finish(&mut self, out: &mut Out<'_>) {
        if self.failed || !self.is_document() {
            return;
        }
        let in_tail = self.split.as_ref().map(|split| split.in_tail);
        let buffer = std::mem::take(&mut self.buffer);
        let outcome = match in_tail {
            None => self.parse(&buffer, Shape::Document, out),
            Some(false) => self.parse(&buffer, Shape::Entries, out),
            Some(true) => self.parse_tail(&buffer),
        };
        if let Err(failure) = outcome {
            self.fail(out, failure);
        }
    }

    fn parse(&mut self, bytes: &[u8], shape: Shape, out: &mut Out<'_>) -> Result<(), Failure> {
        let text = input::text(bytes).map_err(failure)?;
        let (document, first_line) = (self.document, self.first_line);
        let list = self.split.as_ref().and_then(|split| split.kind.as_ref());
        let items_read = &mut self.items_read;
        build::parse(text, shape, &mut |line, value, kind| {
            *items_read += 1;
            out.value(document, first_line + line - 1, value, kind.or(list));
        })
    }

    /// What stands behind the items: more keys of the list.
    fn parse_tail(&self, bytes: &[u8]) -> Result<(), Failure> {
        let text = input::text(bytes).map_err(failure)?;
        let mut tail = Value::Null;
        build::parse(text, Shape::Mapping, &mut |_, value, _| tail = value)?;
        let head = self.split.as_ref().and_then(|split| split.head.as_object());
        match tail
            .as_object()
            .and_then(|tail| tail.keys().find(|key| head.is_some_and(|h| h.contains_key(*key))))
        {
            Some(key) => {
                let key: String = key.chars().take(80).collect();
                Err(Failure { line: 1, reason: format!("the key {key:?} stands twice in a mapping") })
            }
            None => Ok(()),
        }
    }

    fn fail(&mut self, out: &mut Out<'_>, failure: Failure) {
        self.failed = true;
        let mut reason = failure.reason;
        if self.items_read > 0 {
            let count = self.items_read;
            reason.push_str(&format!(
                "; the {count} items before it are read, the rest of the document is not"
            ));
        }
        out.problem(self.document, self.first_line + failure.line.saturating_sub(1), reason);
        self.buffer = Vec::new();
    }
}

fn failure((line, reason): (u64, &'static str)) -> Failure {
    Failure { line, reason: reason.to_owned() }
}
