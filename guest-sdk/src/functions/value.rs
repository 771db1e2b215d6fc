use std::net::{IpAddr, Ipv4Addr};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::functions::exports::tailorbird::policy::functions as wire;
use crate::functions::ParameterKind;
use crate::values::ParseError;
use crate::{AsNumber, ClusterId, Community, Prefix};

/// A value of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    None,
    /// Yes or no.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Text.
    Text(String),
    /// A list or a map, as JSON.
    Json(String),
}

impl Value {
    pub(crate) fn from_wire(value: wire::Value) -> Self {
        match value {
            wire::Value::None => Self::None,
            wire::Value::Boolean(value) => Self::Boolean(value),
            wire::Value::Integer(value) => Self::Integer(value),
            wire::Value::Text(text) => Self::Text(text),
            wire::Value::Json(json) => Self::Json(json),
        }
    }

    pub(crate) fn into_wire(self) -> wire::Value {
        match self {
            Self::None => wire::Value::None,
            Self::Boolean(value) => wire::Value::Boolean(value),
            Self::Integer(value) => wire::Value::Integer(value),
            Self::Text(text) => wire::Value::Text(text),
            Self::Json(json) => wire::Value::Json(json),
        }
    }

    /// A list or a map.
    ///
    /// # Errors
    /// The value has no form in JSON, as a map whose keys are no text.
    pub fn json(value: &impl Serialize) -> Result<Self, String> {
        serde_json::to_string(value).map(Self::Json).map_err(|error| error.to_string())
    }

    /// What it is, for messages.
    fn describe(&self) -> String {
        match self {
            Self::None => "nothing".into(),
            Self::Boolean(value) => format!("`{value}`"),
            Self::Integer(value) => format!("`{value}`"),
            Self::Text(text) | Self::Json(text) => format!("`{text}`"),
        }
    }

    fn is_not(&self, what: impl std::fmt::Display) -> String {
        format!("{} is {what}", self.describe())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// An argument of a function.
///
/// - `bool`, `i64`, `u32`, `u16`, `u8`: as they are; numbers also as text;
/// - `String`: text; numbers too;
/// - [`IpAddr`], [`Prefix`], [`Community`], [`AsNumber`], [`ClusterId`]: text; an AS number also as a number;
/// - `Vec<T>`: a list of those;
/// - `Option<T>`: may be left out;
/// - [`Value`]: whatever it is;
/// - [`Json<T>`]: a list or a map that serde reads.
pub trait FromValue: Sized {
    /// What the parameter takes, as the host is told.
    const KIND: ParameterKind;
    /// Whether it may be left out.
    const OPTIONAL: bool = false;

    /// Reads an argument.
    ///
    /// # Errors
    /// What is wrong with it, with the value.
    fn from_value(value: Value) -> Result<Self, String>;
}

impl FromValue for Value {
    const KIND: ParameterKind = ParameterKind::Any;

    fn from_value(value: Value) -> Result<Self, String> {
        Ok(value)
    }
}

impl FromValue for bool {
    const KIND: ParameterKind = ParameterKind::Boolean;

    fn from_value(value: Value) -> Result<Self, String> {
        match value {
            Value::Boolean(value) => Ok(value),
            other => Err(other.is_not("neither true nor false")),
        }
    }
}

impl FromValue for i64 {
    const KIND: ParameterKind = ParameterKind::Any;

    fn from_value(value: Value) -> Result<Self, String> {
        let number = match &value {
            Value::Integer(number) => Some(*number),
            Value::Text(text) => text.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| value.is_not("no whole number"))
    }
}

macro_rules! small_numbers {
    ($($type:ty)*) => {$(
        impl FromValue for $type {
            const KIND: ParameterKind = ParameterKind::Any;

            fn from_value(value: Value) -> Result<Self, String> {
                let number = i64::from_value(value)?;
                Self::try_from(number)
                    .map_err(|_| format!("`{number}` is not between {} and {}", Self::MIN, Self::MAX))
            }
        }

        impl IntoValue for $type {
            fn into_value(self) -> Value {
                Value::Integer(self.into())
            }
        }
    )*};
}

small_numbers!(u8 u16 u32);

impl FromValue for String {
    const KIND: ParameterKind = ParameterKind::Any;

    fn from_value(value: Value) -> Result<Self, String> {
        match value {
            Value::Text(text) => Ok(text),
            Value::Integer(number) => Ok(number.to_string()),
            other => Err(other.is_not("no text")),
        }
    }
}

impl FromValue for IpAddr {
    const KIND: ParameterKind = ParameterKind::Text;

    fn from_value(value: Value) -> Result<Self, String> {
        read(value, |text| text.parse().map_err(|_| ParseError("no IP address")))
    }
}

fn read<T>(value: Value, parse: impl FnOnce(&str) -> Result<T, ParseError>) -> Result<T, String> {
    match &value {
        Value::Text(text) => parse(text).map_err(|error| value.is_not(error)),
        Value::Integer(number) => parse(&number.to_string()).map_err(|error| value.is_not(error)),
        _ => Err(value.is_not("no text")),
    }
}

macro_rules! texts {
    ($($type:ty: $kind:ident)*) => {$(
        impl FromValue for $type {
            const KIND: ParameterKind = ParameterKind::$kind;

            fn from_value(value: Value) -> Result<Self, String> {
                read(value, str::parse)
            }
        }

        impl IntoValue for $type {
            fn into_value(self) -> Value {
                Value::Text(self.to_string())
            }
        }
    )*};
}

texts!(Prefix: Text Community: Text ClusterId: Text);

impl FromValue for AsNumber {
    const KIND: ParameterKind = ParameterKind::Any;

    fn from_value(value: Value) -> Result<Self, String> {
        read(value, str::parse)
    }
}

impl IntoValue for AsNumber {
    fn into_value(self) -> Value {
        Value::Integer(self.get().into())
    }
}

impl<T: FromValue> FromValue for Option<T> {
    const KIND: ParameterKind = T::KIND;
    const OPTIONAL: bool = true;

    fn from_value(value: Value) -> Result<Self, String> {
        match value {
            Value::None => Ok(None),
            other => T::from_value(other).map(Some),
        }
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    const KIND: ParameterKind = ParameterKind::Json;

    fn from_value(value: Value) -> Result<Self, String> {
        let items = match &value {
            Value::Json(json) => serde_json::from_str::<Vec<serde_json::Value>>(json).ok(),
            _ => None,
        };
        let items = items.ok_or_else(|| value.is_not("no list"))?;
        items.into_iter().map(|item| T::from_value(from_json(item))).collect()
    }
}

fn from_json(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::None,
        serde_json::Value::Bool(value) => Value::Boolean(value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => Value::Integer(number),
            None => Value::Text(number.to_string()),
        },
        serde_json::Value::String(text) => Value::Text(text),
        other => Value::Json(other.to_string()),
    }
}

/// A list or a map that serde reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromValue for Json<T> {
    const KIND: ParameterKind = ParameterKind::Json;

    fn from_value(value: Value) -> Result<Self, String> {
        match value {
            Value::Json(json) => serde_json::from_str(&json).map(Self).map_err(|error| error.to_string()),
            other => Err(other.is_not("neither a list nor a map")),
        }
    }
}

/// A result of a function. Lists become JSON; `Option::None` becomes nothing.
pub trait IntoValue {
    /// The value.
    fn into_value(self) -> Value;
}

impl IntoValue for Value {
    fn into_value(self) -> Value {
        self
    }
}

macro_rules! plain {
    ($($type:ty)*) => {$(
        impl IntoValue for $type {
            fn into_value(self) -> Value {
                Value::from(self)
            }
        }
    )*};
}

plain!(bool i64 String &str);

impl IntoValue for IpAddr {
    fn into_value(self) -> Value {
        Value::Text(match self {
            IpAddr::V4(address) => ipv4_text(address),
            IpAddr::V6(address) => address.to_string(),
        })
    }
}

/// An address as text. The formatter of the standard library takes several times as many steps, and templates call functions for
/// thousands of addresses.
fn ipv4_text(address: Ipv4Addr) -> String {
    let mut text = String::with_capacity(15);
    for (place, octet) in address.octets().into_iter().enumerate() {
        if place > 0 {
            text.push('.');
        }
        let digits = [octet / 100, octet / 10 % 10, octet % 10];
        let first = if octet > 99 { 0 } else { 2 - usize::from(octet > 9) };
        text.extend(digits[first..].iter().map(|digit| char::from(b'0' + digit)));
    }
    text
}

impl<T: IntoValue> IntoValue for Option<T> {
    fn into_value(self) -> Value {
        self.map_or(Value::None, T::into_value)
    }
}

impl<T: IntoValue> IntoValue for Vec<T> {
    fn into_value(self) -> Value {
        let items = self.into_iter().map(|item| match item.into_value() {
            Value::None => serde_json::Value::Null,
            Value::Boolean(value) => value.into(),
            Value::Integer(number) => number.into(),
            Value::Text(text) => text.into(),
            // Nothing but this library and serde_json makes JSON; text that is none stays text.
            Value::Json(json) => serde_json::from_str(&json).unwrap_or_else(|_| json.into()),
        });
        Value::Json(serde_json::Value::Array(items.collect()).to_string())
    }
}

/// A result, or a text for the operator in its place.
pub trait IntoAnswer {
    /// The answer.
    ///
    /// # Errors
    /// The text.
    fn into_answer(self) -> Result<Value, String>;
}

impl<T: IntoValue> IntoAnswer for T {
    fn into_answer(self) -> Result<Value, String> {
        Ok(self.into_value())
    }
}

impl<T: IntoValue> IntoAnswer for Result<T, String> {
    fn into_answer(self) -> Result<Value, String> {
        self.map(T::into_value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_everywhere() {
        for octet in 0..=255 {
            let address = Ipv4Addr::new(octet, 10, 100, 255 - octet);
            assert_eq!(ipv4_text(address), address.to_string());
        }
    }
}
