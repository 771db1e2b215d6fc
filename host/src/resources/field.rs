//! A value of a document together with where it stands, so that every error can name its field.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde_json::Value;

use super::{ObjectError, ObjectKey};
use crate::types::{AsNumber, Name, Priority, Seconds, SecretKeyRef, ValueError};

/// The outcome of reading a field.
pub(super) type Read<T> = Result<T, ObjectError>;

#[derive(Clone, Copy)]
enum Segment<'a> {
    Key(&'a str),
    Index(usize),
}

/// A field: its value, if it has one, and its path.
///
/// `null` and the empty text are like an absent field everywhere.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    object: &'a ObjectKey,
    parent: Option<&'a Field<'a>>,
    segment: Segment<'a>,
    value: Option<&'a Value>,
}

impl<'a> Field<'a> {
    /// The document itself.
    pub(super) fn root(object: &'a ObjectKey, value: &'a Value) -> Self {
        Self { object, parent: None, segment: Segment::Key(""), value: Some(value) }
    }

    /// A field of this mapping; an absent mapping has absent fields.
    pub(super) fn get(&'a self, name: &'a str) -> Read<Field<'a>> {
        let value = match self.value {
            None | Some(Value::Null) => None,
            Some(Value::Object(map)) => map.get(name).filter(|value| !value.is_null()),
            Some(Value::String(text)) if text.is_empty() => None,
            Some(_) => return Err(self.error("must be a mapping")),
        };
        Ok(Field { object: self.object, parent: Some(self), segment: Segment::Key(name), value })
    }

    /// The entries of this list; an absent list has none.
    pub(super) fn items(&'a self) -> Read<impl Iterator<Item = Field<'a>>> {
        let list: &[Value] = match self.value {
            None | Some(Value::Null) => &[],
            Some(Value::Array(list)) => list,
            Some(Value::String(text)) if text.is_empty() => &[],
            Some(_) => return Err(self.error("must be a list")),
        };
        Ok(list.iter().enumerate().map(|(index, value)| Field {
            object: self.object,
            parent: Some(self),
            segment: Segment::Index(index),
            value: Some(value),
        }))
    }

    /// The entries of this mapping by key; an absent mapping has none.
    pub(super) fn entries(&'a self) -> Read<impl Iterator<Item = (&'a str, Field<'a>)>> {
        let map = match self.value {
            None | Some(Value::Null) => None,
            Some(Value::Object(map)) => Some(map),
            Some(Value::String(text)) if text.is_empty() => None,
            Some(_) => return Err(self.error("must be a mapping")),
        };
        Ok(map.into_iter().flatten().map(|(key, value)| {
            let segment = Segment::Key(key);
            (key.as_str(), Field { object: self.object, parent: Some(self), segment, value: Some(value) })
        }))
    }

    /// The value as it stands.
    pub(super) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// Whether there is anything here: neither absent nor null nor the empty text.
    pub(super) fn is_set(&self) -> bool {
        match self.value {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(_) => true,
        }
    }

    /// The value as text. A boolean or a number, which YAML makes of an unquoted word, is its text.
    pub(super) fn text(&self) -> Read<Option<Cow<'a, str>>> {
        match self.value {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(Cow::Borrowed(text))),
            Some(Value::Bool(true)) => Ok(Some(Cow::Borrowed("true"))),
            Some(Value::Bool(false)) => Ok(Some(Cow::Borrowed("false"))),
            Some(Value::Number(number)) => Ok(Some(Cow::Owned(number.to_string()))),
            Some(_) => Err(self.error("must be text")),
        }
    }

    /// The value, parsed from its text.
    pub(super) fn parse<T: FromStr<Err = ValueError>>(&self) -> Read<Option<T>> {
        self.parse_with(T::from_str)
    }

    /// The value, parsed from its text by a function.
    pub(super) fn parse_with<T>(&self, parse: impl FnOnce(&str) -> Result<T, ValueError>) -> Read<Option<T>> {
        match self.text()? {
            None => Ok(None),
            Some(text) => parse(&text).map(Some).map_err(|error| self.error(error.reason)),
        }
    }

    /// A boolean; the words `true` and `false` are taken too.
    pub(super) fn boolean(&self) -> Read<Option<bool>> {
        match self.text()?.as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(self.error("must be true or false")),
        }
    }

    /// A whole number within bounds, both included.
    pub(super) fn integer(&self, least: i64, most: i64) -> Read<Option<i64>> {
        match self.text()? {
            None => Ok(None),
            Some(text) => match text.parse::<i64>() {
                Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
                _ => Err(self.error(format!("must be a whole number from {least} to {most}"))),
            },
        }
    }

    /// One of several words.
    pub(super) fn one_of<T: Copy>(&self, allowed: &[(&str, T)]) -> Read<Option<T>> {
        let Some(text) = self.text()? else { return Ok(None) };
        if let Some((_, value)) = allowed.iter().find(|(word, _)| *word == text) {
            return Ok(Some(*value));
        }
        let mut reason = String::from("must be one of ");
        for (at, (word, _)) in allowed.iter().filter(|(word, _)| !word.is_empty()).enumerate() {
            let _ = write!(reason, "{}{word}", if at == 0 { "" } else { ", " });
        }
        Err(self.error(reason))
    }

    /// An AS number: an integer, or text, plain or dotted.
    pub(super) fn as_number(&self) -> Read<Option<AsNumber>> {
        if matches!(self.value, Some(Value::Number(number)) if number.is_f64()) {
            return Err(self.error("an AS number in dotted form must stand in quotes"));
        }
        self.parse()
    }

    /// A route priority.
    pub(super) fn priority(&self) -> Read<Option<Priority>> {
        self.parse_with(|text| Priority::new(text.parse().unwrap_or(0)))
    }

    /// A duration as Go writes it, in whole seconds.
    pub(super) fn seconds(&self) -> Read<Option<Seconds>> {
        self.parse_with(super::duration::parse_seconds)
    }

    /// `{secretKeyRef: {name, key}}`; without the inner mapping there is no password.
    pub(super) fn secret_key_ref(&self) -> Read<Option<SecretKeyRef>> {
        // Where a mapping belongs, a text may be the password itself: it stays out of the error.
        let unseen = |mut error: ObjectError| {
            error.value.clear();
            error
        };
        let reference = self.get("secretKeyRef").map_err(unseen)?;
        if !reference.is_set() {
            return Ok(None);
        }
        let name = reference.get("name").map_err(unseen)?;
        let key = reference.get("key").map_err(unseen)?;
        let key_text = key.text()?.ok_or_else(|| key.missing())?;
        let name: Name = name.parse()?.ok_or_else(|| name.missing())?;
        Ok(Some(SecretKeyRef { name, key: (&*key_text).into() }))
    }

    /// An error about this field.
    pub(super) fn error(&self, reason: impl Into<String>) -> ObjectError {
        let value = match self.value {
            Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
            Some(value @ (Value::Bool(_) | Value::Number(_))) => Cow::Owned(value.to_string()),
            _ => Cow::Borrowed(""),
        };
        ObjectError::new(self.object, self.to_string(), &value, &ValueError::new(reason))
    }

    /// The error that a required field is not set.
    pub(super) fn missing(&self) -> ObjectError {
        self.error("must be set")
    }
}

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = match self.parent {
            None => return Ok(()),
            Some(parent) => {
                parent.fmt(f)?;
                if parent.parent.is_none() { "" } else { "." }
            }
        };
        match self.segment {
            Segment::Index(index) => write!(f, "[{index}]"),
            // A key such as `projectcalico.org/labels` would not be readable behind a dot.
            Segment::Key(key) if key.contains(['.', '/']) => write!(f, "[{key}]"),
            Segment::Key(key) => write!(f, "{dot}{key}"),
        }
    }
}
