//! Conversion of documents to objects: every field, and everything that makes an object malformed.

macro_rules! resource {
    ($variant:ident, $document:expr) => {
        match crate::object(&$document) {
            tailorbird::resources::Parsed {
                resource: Ok(tailorbird::resources::Resource::$variant(resource)),
                warnings,
                ..
            } => {
                let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
                (resource, warnings)
            }
            other => panic!("{other:?}"),
        }
    };
}

mod bgp;
mod other;

use serde_json::{Value, json};
use tailorbird::resources::{Defaults, Document, Parsed, parse};

fn object(document: &Value) -> Parsed {
    match parse(document, &Defaults::default()) {
        Ok(Document::Object(parsed)) => parsed,
        other => panic!("{other:?}"),
    }
}

fn calico(kind: &str, spec: Value) -> Value {
    json!({"apiVersion": "projectcalico.org/v3", "kind": kind, "metadata": {"name": "x"}, "spec": spec})
}

/// What is wrong with a spec: `field = "value": reason`.
fn fault(kind: &str, spec: Value) -> String {
    match object(&calico(kind, spec.clone())).resource {
        Err(error) => error.to_string().replacen(&format!("{kind} x: "), "", 1),
        Ok(resource) => panic!("{spec}: {resource:?}"),
    }
}

/// The `Debug` form of a good object.
fn good(kind: &str, spec: Value) -> String {
    match object(&calico(kind, spec.clone())).resource {
        Ok(resource) => format!("{resource:?}"),
        Err(error) => panic!("{spec}: {error}"),
    }
}

fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in {text:?}");
}
