//! What policies read of nodes and Services, and nothing else does: it is kept only where a pattern of keys covers it.

use super::field::{Field, Read};
use super::{Labels, ObjectError};
use crate::types::{KeyPattern, Name};

/// The facts of a Service that only policies read, as far as they are published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceFacts {
    /// `metadata.annotations`.
    pub annotations: Labels,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.type`.
    pub kind: Option<&'static str>,
}

/// The path in the view of a fact of a node, as `unschedulable` or `labels/<key>`.
pub fn node_key(name: &Name, fact: &str) -> String {
    format!("/tailorbird/v1/node/{name}/{fact}")
}

/// The path in the view of a fact of a Service, as `type` or `annotations/<key>`.
pub fn service_key(namespace: &Name, name: &Name, fact: &str) -> String {
    format!("/tailorbird/v1/service/{namespace}/{name}/{fact}")
}

/// Whether some pattern covers a key.
pub(super) fn covered(published: &[KeyPattern], key: &str) -> bool {
    published.iter().any(|pattern| pattern.covers(key))
}

/// The entries of a mapping of texts whose keys in the view are published. What is no text, or can stand in no key or
/// value of the view, is left out with a warning.
pub(super) fn read_published(
    field: Read<Field<'_>>,
    published: &[KeyPattern],
    folder: &str,
    warnings: &mut Vec<ObjectError>,
) -> Labels {
    let mut found = Labels::new();
    if !published.iter().any(|pattern| pattern.meets(folder)) {
        return found;
    }
    let mut read = |field: Field<'_>, warnings: &mut Vec<ObjectError>| -> Read<()> {
        for (name, value) in field.entries()? {
            if !covered(published, &format!("{folder}/{name}")) {
                continue;
            }
            match value.text() {
                Ok(text) if is_plain(name) && is_plain(text.as_deref().unwrap_or_default()) => {
                    found.insert(name.into(), text.as_deref().unwrap_or_default().into());
                }
                Ok(_) => warnings.push(value.error("has control characters; policies do not see it")),
                Err(error) => warnings.push(error),
            }
        }
        Ok(())
    };
    if let Err(error) = field.and_then(|field| read(field, warnings)) {
        warnings.push(error);
    }
    found
}

/// Whether a text has no control characters but those of lines. Templates read the view, and a control character is
/// how typed values begin there.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}
