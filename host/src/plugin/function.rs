//! Functions that plugins bring for templates, and their values.

use serde_json::Value;

use super::contract::functions;
use crate::types::tame;

/// The most functions of a plugin.
const MAX_FUNCTIONS: usize = 64;

/// The most parameters of a function.
const MAX_PARAMETERS: usize = 16;

/// A function that a plugin brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The name in templates.
    pub name: String,
    /// The parameters.
    pub parameters: Vec<functions::Parameter>,
    /// A line of help.
    pub help: String,
}

impl Function {
    /// The parameters as documentation shows them: `a b [c]`.
    pub fn signature(&self) -> String {
        let shown = self.parameters.iter().map(|parameter| match parameter.optional {
            true => format!("[{}]", parameter.name),
            false => parameter.name.clone(),
        });
        shown.collect::<Vec<_>>().join(" ")
    }
}

/// Checks what a plugin says of its functions.
pub(super) fn check(list: Vec<functions::Function>) -> Result<Vec<Function>, String> {
    if list.len() > MAX_FUNCTIONS {
        return Err(format!("has {} functions; at most {MAX_FUNCTIONS} are possible", list.len()));
    }
    let mut checked: Vec<Function> = Vec::new();
    for functions::Function { name, parameters, help } in list {
        if !is_name(&name) {
            return Err(format!(
                "has a function called {:?}: a name has lower case letters, digits and `_`, from a letter, at most 64",
                tame(&name, 80)
            ));
        }
        if checked.iter().any(|other| other.name == name) {
            return Err(format!("has two functions called `{name}`"));
        }
        if parameters.len() > MAX_PARAMETERS || !parameters.iter().all(|parameter| is_name(&parameter.name)) {
            return Err(format!(
                "its function `{name}` has a parameter with a wrong name, or more than {MAX_PARAMETERS} parameters"
            ));
        }
        if parameters.windows(2).any(|pair| pair[0].optional && !pair[1].optional) {
            return Err(format!("its function `{name}` has a required parameter behind an optional one"));
        }
        checked.push(Function { name, parameters, help: tame(&help, 200) });
    }
    Ok(checked)
}

fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// The arguments of a call, checked against the parameters.
pub(super) fn arguments(function: &Function, values: &[&Value]) -> Result<Vec<functions::Value>, String> {
    let required = function.parameters.iter().filter(|parameter| !parameter.optional).count();
    if values.len() < required || values.len() > function.parameters.len() {
        return Err(format!("takes: {}", function.signature()));
    }
    let pairs = function.parameters.iter().zip(values);
    pairs
        .map(|(parameter, value)| {
            let given = to_guest(value);
            let fits = match (parameter.kind, &given) {
                (functions::ParameterKind::Any, _) => true,
                (_, functions::Value::None) => parameter.optional,
                (functions::ParameterKind::Boolean, functions::Value::Boolean(_))
                | (functions::ParameterKind::Integer, functions::Value::Integer(_))
                | (functions::ParameterKind::Text, functions::Value::Text(_))
                | (functions::ParameterKind::Json, functions::Value::Json(_)) => true,
                _ => false,
            };
            if fits {
                Ok(given)
            } else {
                Err(format!("`{}` must be {}", parameter.name, kind(parameter.kind)))
            }
        })
        .collect()
}

fn kind(kind: functions::ParameterKind) -> &'static str {
    match kind {
        functions::ParameterKind::Any => "a value",
        functions::ParameterKind::Boolean => "true or false",
        functions::ParameterKind::Integer => "an integer",
        functions::ParameterKind::Text => "a text",
        functions::ParameterKind::Json => "a list or a map",
    }
}

fn to_guest(value: &Value) -> functions::Value {
    match value {
        Value::Null => functions::Value::None,
        Value::Bool(value) => functions::Value::Boolean(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => functions::Value::Integer(number),
            None => functions::Value::Json(number.to_string()),
        },
        Value::String(text) => functions::Value::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => functions::Value::Json(value.to_string()),
    }
}

/// What a guest returned, as a value for templates.
pub(super) fn from_guest(value: functions::Value) -> Result<Value, String> {
    let value = match value {
        functions::Value::None => Value::Null,
        functions::Value::Boolean(value) => value.into(),
        functions::Value::Integer(value) => value.into(),
        functions::Value::Text(text) => text.into(),
        functions::Value::Json(text) => {
            let value: Value =
                serde_json::from_str(&text).map_err(|error| format!("returned what is no JSON: {error}"))?;
            if !value.is_array() && !value.is_object() {
                return Err("returned as JSON what is neither a list nor a map".to_owned());
            }
            value
        }
    };
    // Typed values of templates begin with a control character; nobody but the host may make one.
    if has_control(&value) {
        return Err("returned a text with control characters".to_owned());
    }
    Ok(value)
}

fn has_control(value: &Value) -> bool {
    match value {
        Value::String(text) => text_has_control(text),
        Value::Array(values) => values.iter().any(has_control),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| text_has_control(name) || has_control(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn text_has_control(text: &str) -> bool {
    // Most texts are told by their bytes: U+0080 to U+009F begin with 0xC2 in UTF-8.
    let can_be = |byte: u8| byte < b' ' || byte == 0x7f || byte == 0xc2;
    text.bytes().fold(false, |any, byte| any | can_be(byte)) && text.contains(char::is_control)
}
