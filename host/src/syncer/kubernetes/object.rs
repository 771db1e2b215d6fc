//! From the text of an object or of an event to what the engine takes.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::collection::Collection;
use super::failure::Failure;
use crate::resources::{Defaults, Document, ObjectKey, Parsed, Resource, parse};

/// The version of an object: the API server counts every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u64);

/// What is told of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
// Nearly all changes are objects, so there is nothing to gain by a box.
#[allow(clippy::large_enum_variant)]
pub(super) enum Change {
    /// It is there, and like this.
    There(Parsed, Option<Version>),
    /// It is not there, or no matter of this node.
    Gone(ObjectKey),
    /// It cannot even be named: the name as it was written, and why.
    Nameless(String, String),
}

/// What a line of a watch says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// What changed; nothing in a bookmark.
    pub(super) change: Option<Change>,
    /// The version from which the watch would go on.
    pub(super) version: String,
}

/// Reads an item of a list.
pub(super) fn read_item(text: &[u8], of: &Collection, defaults: &Defaults) -> Result<Change, Failure> {
    let Pruned(object) = serde_json::from_slice(text).map_err(|error| unreadable("an object", &error))?;
    Ok(there(object, of, defaults))
}

/// Reads a line of a watch.
pub(super) fn read_event(line: &[u8], of: &Collection, defaults: &Defaults) -> Result<Step, Failure> {
    #[derive(Deserialize)]
    struct Event {
        r#type: String,
        object: Pruned,
    }
    let Event { r#type, object: Pruned(object) } =
        serde_json::from_slice(line).map_err(|error| unreadable("an event", &error))?;
    let version = word(&object, "resourceVersion").to_owned();
    let change = match r#type.as_str() {
        "BOOKMARK" => None,
        "ADDED" | "MODIFIED" => Some(there(object, of, defaults)),
        "DELETED" => Some(match there(object, of, defaults) {
            Change::There(parsed, _) => Change::Gone(parsed.key),
            other => other,
        }),
        "ERROR" => return Err(Failure::from_event(&object)),
        other => return Err(Failure::Broken(format!("an event of the unknown type {other:?}"))),
    };
    if version.is_empty() {
        return Err(Failure::Broken(format!("an event of type {type} without a version", r#type = r#type)));
    }
    Ok(Step { change, version })
}

fn unreadable(what: &str, error: &serde_json::Error) -> Failure {
    Failure::Broken(format!("{what} cannot be read: {error}"))
}

fn word<'a>(object: &'a Value, field: &str) -> &'a str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn there(mut object: Value, of: &Collection, defaults: &Defaults) -> Change {
    // The items of a list of a built-in kind do not say what they are.
    if let Some(map) = object.as_object_mut() {
        map.insert("kind".to_owned(), of.kind.as_str().into());
        map.insert("apiVersion".to_owned(), of.api_version().into());
    }
    let version = word(&object, "resourceVersion").parse().ok().map(Version);
    match parse(&object, defaults) {
        Ok(Document::Object(parsed)) => match (&parsed.resource, &of.node) {
            (Ok(Resource::BlockAffinity(block)), Some(node)) if block.node != *node => {
                Change::Gone(parsed.key)
            }
            _ => Change::There(parsed, version),
        },
        Ok(Document::Ignored { .. }) => Change::Nameless(
            word(&object, "name").to_owned(),
            "this is not the kind that was asked for".to_owned(),
        ),
        Err(error) => Change::Nameless(word(&object, "name").to_owned(), error.to_string()),
    }
}

/// An object without what is large and never needed: the API server's bookkeeping, and most of a status.
pub(in crate::syncer) struct Pruned(pub(in crate::syncer) Value);

impl<'de> Deserialize<'de> for Pruned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Part::Object.deserialize(deserializer).map(Pruned)
    }
}

/// The parts of an object that something is left out of.
#[derive(Clone, Copy)]
enum Part {
    Object,
    Metadata,
    Status,
}

impl Part {
    fn is_needed(self, key: &str) -> bool {
        match self {
            Part::Object => true,
            Part::Metadata => key != "managedFields",
            Part::Status => matches!(key, "loadBalancer" | "podCIDRs" | "wireguardPublicKey"),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    // What is no mapping holds nothing that is needed, and must not keep the rest from being read: the object that is an
    // error has the word `Failure` for its status.
    fn visit_str<E>(self, _: &str) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        while from.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            if !self.is_needed(&key) {
                from.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = match (self, key.as_str()) {
                (Part::Object, "metadata") => from.next_value_seed(Part::Metadata)?,
                (Part::Object, "status") => from.next_value_seed(Part::Status)?,
                _ => from.next_value()?,
            };
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Kind;

    fn nodes(line: &str) -> Result<Step, Failure> {
        read_event(line.as_bytes(), &Collection::all(Kind::KubeNode), &Defaults::default())
    }

    #[test]
    fn an_error_within_a_watch_keeps_its_code_and_words() {
        let line = r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
            "message":"too old resource version: 1 (7)","reason":"Expired","code":410}}"#;
        let failure = nodes(line).expect_err("an error");
        assert!(failure.is_expired(), "{failure}");
        assert_eq!(failure.to_string(), "410: too old resource version: 1 (7)");
    }

    #[test]
    fn an_object_of_any_shape_costs_no_other_object() {
        let node = |rest: &str| format!(r#"{{"metadata":{{"name":"a","resourceVersion":"7"}}{rest}}}"#);
        for rest in [r#","status":"well""#, r#","status":[1,{}]"#, r#","status":null"#, r#","status":-1.5"#] {
            let event = format!(r#"{{"type":"ADDED","object":{}}}"#, node(rest));
            let step = nodes(&event).unwrap_or_else(|failure| panic!("{rest}: {failure}"));
            assert!(matches!(step.change, Some(Change::There(..))), "{rest}: {step:?}");
        }
        for item in ["{}", r#"{"metadata":7}"#, r#"{"metadata":{"name":["a"]}}"#, "[]", "true"] {
            let change = read_item(item.as_bytes(), &Collection::all(Kind::KubeNode), &Defaults::default());
            assert!(matches!(change, Ok(Change::Nameless(..))), "{item}: {change:?}");
        }
    }

    #[test]
    fn an_event_without_a_version_or_of_an_unknown_type_is_none() {
        for line in [
            r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#,
            r#"{"type":"MOVED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}"#,
            r#"{"type":"ADDED"}"#,
            r#"{"type":"ADDED","object":{"metadata":{"name":"a","#,
        ] {
            assert!(matches!(nodes(line), Err(Failure::Broken(_))), "{line}");
        }
        let bookmark = nodes(r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}"#);
        assert_eq!(bookmark, Ok(Step { change: None, version: "9".to_owned() }));
    }
}
