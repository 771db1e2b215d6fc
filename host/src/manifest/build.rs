//! From YAML events to values.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value};

use super::{ListKind, MAX_ALIAS_BYTES, MAX_DEPTH, scalar};

/// Why a document cannot be read, and in which line of its text, from 1.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) line: u64,
    pub(super) reason: String,
}

/// What a text holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A document; if it is a mapping with a list `items`, each of these is a value of its own.
    Document,
    /// Entries of a list; each is a value of its own.
    Entries,
    /// A mapping: the part of a list that is not its items. The mapping is the value.
    Mapping,
}

/// Takes values with the line at which each begins, from 1, and what the items of a typed list are.
pub(super) type Sink<'a> = dyn FnMut(u64, Value, Option<&ListKind>) + 'a;

/// Parses a text and passes each value on as soon as it is complete.
pub(super) fn parse(text: &str, shape: Shape, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let mut builder = Builder {
        shape,
        stack: Vec::new(),
        anchors: FxHashMap::default(),
        spare: MAX_ALIAS_BYTES,
        streamed: false,
        skip: None,
        sink,
    };
    let mut documents = 0;
    let mut parser = Parser::new_from_str(text);
    while let Some(step) = parser.next_event() {
        let (event, span) = step.map_err(|error| Failure {
            line: error.marker().line() as u64,
            reason: format!("not YAML: {} (column {})", error.info(), error.marker().col() + 1),
        })?;
        let line = span.start.line() as u64;
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
            if documents > 1 {
                let reason = "another document begins here, but not at the start of a line".to_owned();
                return Err(Failure { line, reason });
            }
        }
        builder.take(event, line).map_err(|reason| Failure { line, reason })?;
    }
    Ok(())
}

enum Node {
    Mapping {
        map: Map<String, Value>,
        key: Option<String>,
        merge: Vec<Value>,
    },
    Sequence(Vec<Value>),
    /// A list whose entries leave at once.
    Stream(Option<ListKind>),
}

struct Frame {
    node: Node,
    anchor: usize,
    line: u64,
}

struct Builder<'a, 'b> {
    shape: Shape,
    stack: Vec<Frame>,
    anchors: FxHashMap<usize, Value>,
    /// How much aliases may still add.
    spare: usize,
    /// There was a list whose entries have left.
    streamed: bool,
    /// Inside a value that is left out: how many of its mappings and lists are open.
    skip: Option<usize>,
    sink: &'a mut Sink<'b>,
}

const TOO_DEEP: &str = "mappings and lists are nested too deeply";

impl Builder<'_, '_> {
    fn take(&mut self, event: Event<'_>, line: u64) -> Result<(), String> {
        if let Some(open) = self.skip {
            let open = match event {
                Event::MappingStart(..) | Event::SequenceStart(..) => open + 1,
                Event::MappingEnd | Event::SequenceEnd => open - 1,
                _ => open,
            };
            if open > MAX_DEPTH {
                return Err(TOO_DEEP.to_owned());
            }
            self.skip = (open > 0).then_some(open);
            return Ok(());
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => self.scalar(text, style, anchor, tag.as_deref(), line),
            Event::MappingStart(anchor, _) => {
                let node = Node::Mapping { map: Map::new(), key: None, merge: Vec::new() };
                self.open(node, anchor, line)
            }
            Event::SequenceStart(anchor, _) => {
                let node = if self.begins_stream(anchor) {
                    Node::Stream(self.list_kind())
                } else {
                    Node::Sequence(Vec::new())
                };
                self.open(node, anchor, line)
            }
            Event::MappingEnd | Event::SequenceEnd => self.close(),
            Event::Alias(id) => {
                let Some(value) = self.anchors.get(&id) else {
                    return Err(
                        "the alias stands for a value that it is part of, or that is not kept".to_owned()
                    );
                };
                charge(&mut self.spare, value, self.stack.len())?;
                let value = value.clone();
                self.put(value, line)
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    /// Whether a list that begins now is one whose entries leave at once.
    fn begins_stream(&self, anchor: usize) -> bool {
        match (self.shape, self.stack.as_slice()) {
            (Shape::Entries, []) => true,
            (Shape::Document, [Frame { node: Node::Mapping { key: Some(key), .. }, .. }]) => {
                key == "items" && anchor == 0
            }
            _ => false,
        }
    }

    fn list_kind(&self) -> Option<ListKind> {
        match self.stack.first() {
            Some(Frame { node: Node::Mapping { map, .. }, .. }) => {
                let word = |name| map.get(name).and_then(Value::as_str);
                let kind = word("kind")?.strip_suffix("List").filter(|kind| !kind.is_empty())?;
                Some(ListKind { kind: kind.to_owned(), api_version: word("apiVersion")?.to_owned() })
            }
            _ => None,
        }
    }

    fn open(&mut self, node: Node, anchor: usize, line: u64) -> Result<(), String> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(TOO_DEEP.to_owned());
        }
        if let Some(Frame { node: Node::Mapping { key, .. }, .. }) = self.stack.last() {
            match key.as_deref() {
                None => return Err("a key must be text".to_owned()),
                // The API server's bookkeeping is often most of an object, and never needed.
                Some("managedFields") if self.is_in_metadata() => {
                    self.skip = Some(1);
                    return self.drop_key();
                }
                Some(_) => {}
            }
        }
        self.stack.push(Frame { node, anchor, line });
        Ok(())
    }

    fn is_in_metadata(&self) -> bool {
        matches!(
            self.stack.as_slice(),
            [.., Frame { node: Node::Mapping { key: Some(key), .. }, .. }, _] if key == "metadata"
        )
    }

    fn drop_key(&mut self) -> Result<(), String> {
        if let Some(Frame { node: Node::Mapping { key, .. }, .. }) = self.stack.last_mut() {
            *key = None;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        let value = match frame.node {
            Node::Mapping { mut map, merge, .. } => {
                for value in merge {
                    merge_into(&mut map, value)?;
                }
                Value::Object(map)
            }
            Node::Sequence(list) => Value::Array(list),
            Node::Stream(_) => {
                if let Some(Frame { node: Node::Mapping { map, key, .. }, .. }) = self.stack.last_mut()
                    && let Some(key) = key.take()
                {
                    // Only a second `items` can meet it.
                    map.insert(key, Value::Null);
                }
                self.streamed = true;
                return Ok(());
            }
        };
        self.keep(frame.anchor, &value)?;
        self.put(value, frame.line)
    }

    fn keep(&mut self, anchor: usize, value: &Value) -> Result<(), String> {
        if anchor != 0 {
            charge(&mut self.spare, value, self.stack.len())?;
            self.anchors.insert(anchor, value.clone());
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        line: u64,
    ) -> Result<(), String> {
        let plain = style == ScalarStyle::Plain;
        let value = match tag {
            None if plain => scalar::resolve(&text),
            None => Value::String(text.into_owned()),
            Some(tag) => tagged(tag, text)?,
        };
        self.keep(anchor, &value)?;
        self.put(value, line)
    }

    fn set_key(&mut self, text: String) -> Result<(), String> {
        if let Some(Frame { node: Node::Mapping { map, key, .. }, .. }) = self.stack.last_mut() {
            if map.contains_key(&text) {
                return Err(format!("the key {:?} stands twice in a mapping", short(&text)));
            }
            *key = Some(text);
        }
        Ok(())
    }

    /// Puts a complete value where it belongs.
    fn put(&mut self, value: Value, line: u64) -> Result<(), String> {
        let Some(frame) = self.stack.last_mut() else { return self.finish(value, line) };
        match &mut frame.node {
            Node::Sequence(list) => list.push(value),
            Node::Stream(kind) => {
                let kind = kind.clone();
                (self.sink)(line, value, kind.as_ref());
            }
            Node::Mapping { map, key, merge } => match key.take() {
                None => return self.set_key(key_text(value)?),
                Some(key) if key == "<<" && (value.is_object() || value.is_array()) => merge.push(value),
                Some(key) => {
                    map.insert(key, value);
                }
            },
        }
        Ok(())
    }

    /// The whole text is read.
    fn finish(&mut self, value: Value, line: u64) -> Result<(), String> {
        match self.shape {
            // The header of a list is no value.
            Shape::Document if self.streamed => {}
            Shape::Mapping if !value.is_object() && !value.is_null() => {
                return Err("a mapping is expected here".to_owned());
            }
            Shape::Entries => return Err("a list is expected here".to_owned()),
            _ => (self.sink)(line, value, None),
        }
        Ok(())
    }
}

/// Keys are text; what is none becomes it as in JSON.
fn key_text(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Null => Ok("null".to_owned()),
        Value::Array(_) | Value::Object(_) => Err("a key must be text".to_owned()),
    }
}

fn tagged(tag: &Tag, text: Cow<'_, str>) -> Result<Value, String> {
    let name = format!("{}{}", tag.handle, tag.suffix);
    let Some(kind) = name.strip_prefix("tag:yaml.org,2002:") else {
        return Ok(Value::String(text.into_owned()));
    };
    let value = match kind {
        "str" | "timestamp" => return Ok(Value::String(text.into_owned())),
        "int" | "float" | "bool" | "null" => scalar::resolve(&text),
        _ => return Err(format!("the tag !!{} is not supported", short(kind))),
    };
    let fits = match kind {
        "int" => value.is_i64() || value.is_u64(),
        "float" => value.is_number(),
        "bool" => value.is_boolean(),
        _ => value.is_null(),
    };
    if fits { Ok(value) } else { Err(format!("the value does not fit its tag !!{kind}")) }
}

/// Adds what a merge key (`<<`) brings; what the mapping has itself stays.
fn merge_into(map: &mut Map<String, Value>, value: Value) -> Result<(), String> {
    match value {
        Value::Object(other) => {
            for (key, value) in other {
                map.entry(key).or_insert(value);
            }
            Ok(())
        }
        Value::Array(list) if list.iter().all(Value::is_object) => {
            list.into_iter().try_for_each(|value| merge_into(map, value))
        }
        _ => Err("a merge key (<<) needs a mapping or a list of mappings".to_owned()),
    }
}

/// Takes what a copy of the value costs off the budget.
fn charge(spare: &mut usize, value: &Value, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(TOO_DEEP.to_owned());
    }
    let own = match value {
        Value::String(text) => 32 + text.len(),
        Value::Object(map) => 32 + map.keys().map(|key| 64 + key.len()).sum::<usize>(),
        _ => 32,
    };
    *spare = spare
        .checked_sub(own)
        .ok_or_else(|| format!("anchors and aliases add more than {} MiB", MAX_ALIAS_BYTES >> 20))?;
    match value {
        Value::Array(list) => list.iter().try_for_each(|value| charge(spare, value, depth + 1)),
        Value::Object(map) => map.values().try_for_each(|value| charge(spare, value, depth + 1)),
        _ => Ok(()),
    }
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}
