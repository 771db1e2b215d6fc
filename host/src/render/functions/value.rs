use std::cmp::Ordering;

use serde_json::Value;

use super::{Reader, has_control, list_of, text_of};

type Answer = Result<Value, String>;

pub(super) fn json(arguments: &[&Value], _: &Reader) -> Answer {
    let value: Value = serde_json::from_str(&text_of(arguments[0])?)
        .map_err(|error| format!("no JSON (line {}, column {})", error.line(), error.column()))?;
    // An escape in JSON could write the mark of a typed value.
    if has_control(&value) { Err("the JSON has control characters".to_owned()) } else { Ok(value) }
}

pub(super) fn to_json(arguments: &[&Value], _: &Reader) -> Answer {
    Ok(arguments[0].to_string().into())
}

pub(super) fn default(arguments: &[&Value], _: &Reader) -> Answer {
    let empty = matches!(arguments[0], Value::Null) || arguments[0].as_str() == Some("");
    Ok(arguments[usize::from(empty)].clone())
}

pub(super) fn is_set(arguments: &[&Value], _: &Reader) -> Answer {
    Ok((!arguments[0].is_null()).into())
}

pub(super) fn sort(arguments: &[&Value], _: &Reader) -> Answer {
    let mut values = list_of(arguments[0])?.to_vec();
    for value in &values {
        text_of(value)?;
    }
    values.sort_by(|a, b| match (a.as_f64(), b.as_f64()) {
        (Some(x), Some(y)) => x.partial_cmp(&y).unwrap_or(Ordering::Equal),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => text_of(a).unwrap_or_default().cmp(&text_of(b).unwrap_or_default()),
    });
    Ok(values.into())
}

/// A whole number, also as text.
pub(super) fn integer(value: &Value) -> Result<i64, String> {
    value
        .as_i64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
        .ok_or_else(|| "not a whole number".to_owned())
}

pub(super) fn add(arguments: &[&Value], _: &Reader) -> Answer {
    let sum = integer(arguments[0])?.checked_add(integer(arguments[1])?);
    sum.map(Value::from).ok_or_else(|| "the sum is too large".to_owned())
}

pub(super) fn sub(arguments: &[&Value], _: &Reader) -> Answer {
    let difference = integer(arguments[0])?.checked_sub(integer(arguments[1])?);
    difference.map(Value::from).ok_or_else(|| "the difference is too large".to_owned())
}
