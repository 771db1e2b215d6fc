use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Holds a JSON schema against the settings that a policy accepts, and says what differs.
///
/// `read` makes something of settings, as [`configure`](super::configure) does, and refuses what the policy refuses. The
/// schema is one of an object without further properties, in which each property has a `description` and a `default`. What
/// is looked at: the names are those that serde knows (the settings must have `deny_unknown_fields`), settings with all
/// defaults are as those without any, every one of `enum` and `examples` is accepted, and of an integer `minimum` and
/// `maximum` are accepted and the next number beyond is not.
///
/// ```
/// use tailorbird_guest::testing::{configure, schema_faults};
/// # use tailorbird_guest::Policy;
/// # #[derive(PartialEq, Debug)]
/// # struct Bound(u8);
/// # #[derive(serde::Deserialize)]
/// # #[serde(deny_unknown_fields)]
/// # struct Settings { longest: Option<u8> }
/// # impl Policy for Bound {
/// #     type Settings = Settings;
/// #     fn configure(settings: Settings) -> Result<Self, String> { Ok(Self(settings.longest.unwrap_or(24))) }
/// # }
///
/// let schema = r#"{
///     "type": "object",
///     "additionalProperties": false,
///     "properties": {
///         "longest": {"description": "…", "type": "integer", "minimum": 0, "maximum": 255, "default": 24}
///     }
/// }"#;
/// assert!(schema_faults(schema, configure::<Bound>).is_empty());
/// assert_eq!(schema_faults(&schema.replace(": 24", ": 25"), configure::<Bound>).len(), 1);
/// ```
pub fn schema_faults<T: PartialEq>(schema: &str, read: impl Fn(&str) -> Result<T, String>) -> Vec<String> {
    let schema: Value = match serde_json::from_str(schema) {
        Ok(schema) => schema,
        Err(error) => return vec![format!("the schema is no JSON: {error}")],
    };
    let mut faults = Vec::new();
    if schema["type"] != "object" || schema["additionalProperties"] != Value::Bool(false) {
        faults.push("the schema is not one of an object without further properties".to_owned());
    }
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);

    const UNKNOWN: &str = "no such setting";
    let refusal = read(&Value::from(Map::from_iter([(UNKNOWN.to_owned(), Value::Null)])).to_string());
    match refusal.err().and_then(|error| known_names(&error)) {
        None => faults.push("an unknown setting is not refused".to_owned()),
        Some(known) => {
            let written: BTreeSet<String> = properties.keys().cloned().collect();
            for name in known.symmetric_difference(&written) {
                faults.push(format!("`{name}` is not in both the schema and the settings"));
            }
        }
    }

    let defaults = properties.iter().map(|(name, property)| (name.clone(), property["default"].clone()));
    let defaults = Value::from(Map::from_iter(defaults)).to_string();
    match (read("{}"), read(&defaults)) {
        (Ok(without), Ok(with)) if without == with => {}
        (Ok(_), Ok(_)) => {
            faults.push("the defaults of the schema are others than those of the settings".into());
        }
        (Err(error), _) | (_, Err(error)) => faults.push(format!("the defaults are refused: {error}")),
    }

    for (name, property) in properties {
        if property["description"].as_str().is_none_or(str::is_empty) {
            faults.push(format!("`{name}` has no description"));
        }
        let alone =
            |value: &Value| read(&Value::from(Map::from_iter([(name.clone(), value.clone())])).to_string());
        for list in ["enum", "examples"] {
            for value in property[list].as_array().into_iter().flatten() {
                if let Err(error) = alone(value) {
                    faults.push(format!("`{name}`: {value} is refused: {error}"));
                }
            }
        }
        for (bound, beyond) in [("minimum", -1), ("maximum", 1)] {
            let Some(bound) = property[bound].as_i64() else { continue };
            if let Err(error) = alone(&bound.into()) {
                faults.push(format!("`{name}`: {bound} is refused: {error}"));
            }
            if alone(&(bound + beyond).into()).is_ok() {
                faults.push(format!("`{name}`: {} is accepted", bound + beyond));
            }
        }
    }
    faults
}

/// The names that serde says it had expected.
fn known_names(error: &str) -> Option<BTreeSet<String>> {
    let (_, expected) = error.split_once("unknown field")?.1.split_once(", ")?;
    Some(expected.split('`').skip(1).step_by(2).map(str::to_owned).collect())
}
