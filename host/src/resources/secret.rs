use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use super::field::{Field, Read};
use super::{ObjectKey, Text, namespace_of};
use crate::types::{Name, Password, ValueError};

/// Secret: values that could be passwords. `Debug` shows keys only.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The namespace.
    pub namespace: Name,
    /// The name.
    pub name: Name,
    /// For each key the password, or why its value cannot be one.
    pub values: BTreeMap<Text, Result<Password, ValueError>>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("keys", &self.values.keys())
            .finish()
    }
}

/// Reads a Secret: `data`, with `stringData` over it. No error carries a value.
pub(super) fn read(key: &ObjectKey, root: &Field<'_>) -> Read<Secret> {
    let mut values: BTreeMap<Text, Result<Password, ValueError>> = BTreeMap::new();
    for (name, field) in mapping(root, "data")?.entries()? {
        values.insert(name.into(), from_data(field.value()));
    }
    for (name, field) in mapping(root, "stringData")?.entries()? {
        values.insert(name.into(), from_text(field.value()));
    }
    Ok(Secret { namespace: namespace_of(key), name: key.name.clone(), values })
}

/// A field of the Secret that must be a mapping. Its value stays out of the error.
fn mapping<'a>(root: &'a Field<'a>, name: &'a str) -> Read<Field<'a>> {
    let field = root.get(name)?;
    match field.value() {
        None | Some(Value::Object(_)) => Ok(field),
        Some(_) => {
            let mut error = field.missing();
            error.value.clear();
            error.reason = "must be a mapping".to_owned();
            Err(error)
        }
    }
}

fn from_data(value: Option<&Value>) -> Result<Password, ValueError> {
    match value {
        None | Some(Value::Null) => "".parse(),
        Some(Value::String(text)) => {
            // Block scalars and wrapped lines leave blanks in between, which carry nothing.
            let compact: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
            let bytes = BASE64.decode(compact).map_err(|_| ValueError::new("the value is not base64"))?;
            let text =
                String::from_utf8(bytes).map_err(|_| ValueError::new("the value is not UTF-8 text"))?;
            text.parse()
        }
        Some(_) => Err(ValueError::new("the value is not base64 text")),
    }
}

fn from_text(value: Option<&Value>) -> Result<Password, ValueError> {
    match value {
        None | Some(Value::Null) => "".parse(),
        Some(Value::String(text)) => text.parse(),
        // The text that was meant is lost: `0123` has become a number.
        Some(_) => Err(ValueError::new("the value must be text: put it in quotes")),
    }
}
