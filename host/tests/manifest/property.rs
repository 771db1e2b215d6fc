use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};
use tailorbird::manifest::{Entry, Format};
use tailorbird::resources::Resource;

use crate::collect;

/// Writes a value in block style, in quotes wherever a plain scalar could mean something else.
fn print(value: &Value, indent: usize, out: &mut String) {
    let pad = "  ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                write!(out, "\n{pad}{}:", Value::from(key.as_str())).unwrap();
                print(value, indent + 1, out);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for value in list {
                write!(out, "\n{pad}-").unwrap();
                print(value, indent + 1, out);
            }
        }
        _ => write!(out, " {value}").unwrap(),
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[ -~]{1,8}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().filter(|(key, _)| key != "<<").collect())),
        ]
    })
}

/// The spec of the only object, a filter, whose JSON is kept for the view.
fn spec_of(text: &str, format: Format) -> Value {
    match collect(text.as_bytes(), format).as_slice() {
        [(_, Entry::Object(parsed))] => match &parsed.resource {
            Ok(Resource::BgpFilter(filter)) => {
                serde_json::from_str::<Value>(&filter.json).unwrap()["spec"]["any"].take()
            }
            other => panic!("{other:?}\n{text}"),
        },
        other => panic!("{other:?}\n{text}"),
    }
}

proptest! {
    #[test]
    fn yaml_and_json_say_the_same(value in any_value()) {
        let object = json!({
            "apiVersion": "projectcalico.org/v3", "kind": "BGPFilter", "metadata": {"name": "f"}, "spec": {"any": value},
        });
        let mut text = String::new();
        print(&object, 0, &mut text);
        prop_assert_eq!(&spec_of(&text, Format::Yaml), &value);
        prop_assert_eq!(&spec_of(&object.to_string(), Format::Json), &value);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        collect(&bytes, Format::Yaml);
        collect(&bytes, Format::Json);
    }

    #[test]
    fn anything_like_yaml_is_survived(text in "([-:?,#&*!|>'\"%@`~<=.a-b0-1\\[\\]{} \t\r\n]|\n- |\n  |items:|---\n|: |\u{feff}|\u{85}){0,60}") {
        collect(text.as_bytes(), Format::Yaml);
        collect(text.as_bytes(), Format::Json);
    }
}
