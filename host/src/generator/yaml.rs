//! YAML as kubectl prints it: block style, lists not indented, long plain text folded.

use std::io::{self, Write};

use serde_json::Value;

/// The width after which plain text goes on in the next line.
const WIDTH: usize = 80;

/// Writes `value` as an item of a list that stands at the left edge.
pub(super) fn write_item(out: &mut impl Write, value: &Value) -> io::Result<()> {
    out.write_all(b"- ")?;
    write_node(out, value, 2, true)
}

/// Writes `value`, which is an object, as a document of its own.
pub(super) fn write_document(out: &mut impl Write, value: &Value) -> io::Result<()> {
    out.write_all(b"---\n")?;
    write_node(out, value, 0, false)
}

/// Writes a value. `inline` says that the cursor stands behind a `- ` already, at the indentation of the value.
fn write_node(out: &mut impl Write, value: &Value, indent: usize, mut inline: bool) -> io::Result<()> {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                if !inline {
                    pad(out, indent)?;
                }
                inline = false;
                let column = indent + write_text(out, key, indent, usize::MAX)?;
                out.write_all(b":")?;
                match value {
                    Value::Object(map) if !map.is_empty() => {
                        out.write_all(b"\n")?;
                        write_node(out, value, indent + 2, false)?;
                    }
                    Value::Array(list) if !list.is_empty() => {
                        out.write_all(b"\n")?;
                        write_node(out, value, indent, false)?;
                    }
                    scalar => {
                        out.write_all(b" ")?;
                        write_scalar(out, scalar, indent + 2, column + 2)?;
                    }
                }
            }
            Ok(())
        }
        Value::Array(list) if !list.is_empty() => {
            for item in list {
                if !inline {
                    pad(out, indent)?;
                }
                inline = false;
                out.write_all(b"- ")?;
                write_node(out, item, indent + 2, true)?;
            }
            Ok(())
        }
        scalar => write_scalar(out, scalar, indent, indent),
    }
}

fn write_scalar(out: &mut impl Write, value: &Value, indent: usize, column: usize) -> io::Result<()> {
    match value {
        Value::String(text) => {
            if let Some(lines) =
                text.strip_suffix('\n').filter(|lines| !lines.starts_with(char::is_whitespace))
            {
                out.write_all(b"|")?;
                for line in lines.split('\n') {
                    out.write_all(b"\n")?;
                    pad(out, indent)?;
                    out.write_all(line.as_bytes())?;
                }
            } else {
                write_text(out, text, indent, column)?;
            }
        }
        other => write!(out, "{other}")?,
    }
    out.write_all(b"\n")
}

/// Writes a text plain or, where that could be read as something else, quoted. Gives the bytes written; a text that
/// starts at column `usize::MAX` is not folded.
fn write_text(out: &mut impl Write, text: &str, indent: usize, column: usize) -> io::Result<usize> {
    if !is_plain(text) {
        // A JSON string is a YAML string.
        let quoted = Value::from(text).to_string();
        out.write_all(quoted.as_bytes())?;
        return Ok(quoted.len());
    }
    let mut column = column;
    for (nth, word) in text.split(' ').enumerate() {
        if nth > 0 {
            if column != usize::MAX && column > WIDTH {
                out.write_all(b"\n")?;
                pad(out, indent)?;
                column = indent;
            } else {
                out.write_all(b" ")?;
                column = column.saturating_add(1);
            }
        }
        out.write_all(word.as_bytes())?;
        column = column.saturating_add(word.len());
    }
    Ok(text.len())
}

/// Whether a text means itself without quotes, in YAML 1.1 and 1.2.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 10] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan"];
    let Some(first) = text.bytes().next() else { return false };
    let safe = |b: u8| b.is_ascii_alphanumeric() || b" ./_-=+:,@()".contains(&b);
    if !text.bytes().all(safe)
        || text.contains(": ")
        || text.contains("  ")
        || text.ends_with([':', ' '])
        || WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
    {
        return false;
    }
    // What begins with a digit is a number, a time or a number in base 60, unless it is an address or a UUID.
    first.is_ascii_alphabetic()
        || first.is_ascii_digit()
            && (text.contains("::") || text.matches('.').count() > 1 || text.matches('-').count() > 3)
}

fn pad(out: &mut impl Write, width: usize) -> io::Result<()> {
    write!(out, "{:width$}", "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prints_as_kubectl() {
        let value = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "annotations": {"applied": "{\"a\": 1}\n", "empty": "", "ttl": "0"},
                "labels": {"node-role.kubernetes.io/control-plane": ""},
                "name": "n1",
            },
            "spec": {"none": {}, "unschedulable": true, "values": ["5663:12", "10.0.0.0/8", "fd00::", "fd00::/64"]},
            "status": {"conditions": [{
                "message": "kubelet is posting ready status and this sentence goes on for longer than one line has room",
                "times": [[1, "2025-01-02T03:04:05Z"], []],
            }]},
        });
        let mut out = Vec::new();
        write_item(&mut out, &value).unwrap();
        let expected = r#"- apiVersion: v1
  kind: Node
  metadata:
    annotations:
      applied: |
        {"a": 1}
      empty: ""
      ttl: "0"
    labels:
      node-role.kubernetes.io/control-plane: ""
    name: n1
  spec:
    none: {}
    unschedulable: true
    values:
    - "5663:12"
    - 10.0.0.0/8
    - "fd00::"
    - fd00::/64
  status:
    conditions:
    - message: kubelet is posting ready status and this sentence goes on for longer
        than one line has room
      times:
      - - 1
        - "2025-01-02T03:04:05Z"
      - []
"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
