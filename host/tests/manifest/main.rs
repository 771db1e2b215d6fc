//! Manifests: YAML and JSON in every shape, where errors stand, and the bounds.

#![allow(clippy::unwrap_used)]

mod property;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tailorbird::manifest::{Entry, Format, Source, read, read_from};
use tailorbird::resources::{Defaults, Resource};

fn collect(text: &[u8], format: Format) -> Vec<(Source, Entry)> {
    let mut found = Vec::new();
    read_from(Path::new("dump.yaml"), text, format, &Defaults::default(), &mut |source, entry| {
        found.push((source, entry));
    });
    found
}

/// One line for each entry: `document:line kind name`, or `document:line! problem`.
fn summary(text: impl AsRef<[u8]>, format: Format) -> Vec<String> {
    let entries = collect(text.as_ref(), format);
    entries
        .iter()
        .map(|(source, entry)| {
            let place = format!("{}:{}", source.document, source.line);
            match entry {
                Entry::Object(parsed) => match &parsed.resource {
                    Ok(_) => format!("{place} {}", parsed.key),
                    Err(error) => format!("{place} {error}"),
                },
                Entry::Ignored { api_version, kind } => format!("{place} ignored {api_version} {kind}"),
                Entry::Problem(reason) => format!("{place}! {reason}"),
            }
        })
        .collect()
}

fn yaml(text: impl AsRef<[u8]>) -> Vec<String> {
    summary(text, Format::Yaml)
}

fn node(name: &str) -> String {
    format!("apiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n")
}

/// The labels of the only object, a Node.
fn labels(text: &str) -> Vec<(String, String)> {
    match collect(text.as_bytes(), Format::Yaml).as_slice() {
        [(_, Entry::Object(parsed))] => match &parsed.resource {
            Ok(Resource::KubeNode(node)) => {
                node.labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn documents_of_every_shape_are_read() {
    let (a, b) = (node("a"), node("b"));
    let cases: Vec<(String, Vec<&str>)> = vec![
        (String::new(), vec![]),
        ("# only a comment\n\n".to_owned(), vec![]),
        ("---\n---\n# nothing\n---\n".to_owned(), vec![]),
        (a.clone(), vec!["1:1 Node a"]),
        (format!("---\n{a}"), vec!["1:2 Node a"]),
        (format!("{a}---\n{b}"), vec!["1:1 Node a", "2:6 Node b"]),
        (format!("{a}---\n\n---\n# x\n{b}"), vec!["1:1 Node a", "3:9 Node b"]),
        (format!("{a}...\n# between\n---\n{b}"), vec!["1:1 Node a", "2:8 Node b"]),
        (format!("# head\n%YAML 1.1\n---\n{a}--- # and\n{b}"), vec!["1:4 Node a", "2:9 Node b"]),
        (format!("\u{feff}{a}"), vec!["1:1 Node a"]),
        (a.replace('\n', "\r\n") + "---\r\n" + &b.replace('\n', "\r\n"), vec!["1:1 Node a", "2:6 Node b"]),
        (
            "--- {apiVersion: v1, kind: Node, metadata: {name: a}}\n--- {\"kind\": \"Pod\", \"apiVersion\": \"v1\"}"
                .to_owned(),
            vec!["1:1 Node a", "2:2 ignored v1 Pod"],
        ),
        (
            "apiVersion: v1\nitems:\n- kind: Node\n  apiVersion: v1\n  metadata: {name: a}\n-\n  kind: Node\n  \
             apiVersion: v1\n  metadata: {name: b}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n"
                .to_owned(),
            vec!["1:3 Node a", "1:7 Node b"],
        ),
        (
            "kind: NodeList\napiVersion: v1\nitems:\n  - metadata: {name: a}\n  - metadata: {name: b}\n".to_owned(),
            vec!["1:4 Node a", "1:5 Node b"],
        ),
        ("kind: List\napiVersion: v1\nitems: []\n".to_owned(), vec![]),
        ("kind: List\napiVersion: v1\nitems:\n".to_owned(), vec![]),
        ("kind: List\napiVersion: v1\n".to_owned(), vec![]),
        (
            "kind: List\napiVersion: v1\nitems:\n- kind: NodeList\n  apiVersion: v1\n  items: [{metadata: {name: a}}]\n"
                .to_owned(),
            vec!["1:4 Node a"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(yaml(&text), expected, "{text}");
    }
}

#[test]
fn json_of_every_shape_is_read() {
    let a = r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}"#;
    let b = r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"b"}}"#;
    let cases: Vec<(String, Vec<&str>)> = vec![
        (String::new(), vec![]),
        (a.to_owned(), vec!["1:1 Node a"]),
        (format!("\u{feff}{a}"), vec!["1:1 Node a"]),
        (format!("{a}{b}"), vec!["1:1 Node a", "2:1 Node b"]),
        (format!("{a}\n\n{b}\n"), vec!["1:1 Node a", "2:3 Node b"]),
        (
            format!("{{\"apiVersion\":\"v1\",\n\"items\":[\n{a},\n{b}],\n\"kind\":\"List\"}}\n{a}"),
            vec!["1:3 Node a", "1:4 Node b", "2:6 Node a"],
        ),
        (
            r#"{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}"#.to_owned(),
            vec!["1:1 Node a"],
        ),
        (r#"{"kind":"List","apiVersion":"v1","items":null}"#.to_owned(), vec![]),
        (format!("{{\n\"kind\": ]\n}}\n{b}"), vec!["1:2! not JSON: expected value", "2:4 Node b"]),
        (
            format!("{{\"items\":[{a},{{\"kind\""),
            vec![
                "1:1 Node a",
                "1:1! not JSON: EOF while parsing an object; the 1 items before it are read, the rest of the list is not",
            ],
        ),
        ("[1]".to_owned(), vec!["1:1! not JSON: invalid type: sequence, expected an object"]),
        (
            r#"{"kind":"Node","kind":"Node"}"#.to_owned(),
            vec!["1:1! not JSON: the key \"kind\" stands twice in an object"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(summary(&text, Format::Json), expected, "{text}");
    }
}

#[test]
fn a_broken_document_is_one_error_and_the_rest_is_read() {
    let (a, b) = (node("a"), node("b"));
    let cases: Vec<(&str, &str, &str)> = vec![
        ("a: [1, 2\nb: 3\n", "2:", "not YAML"),
        ("a: \"no end\nb: 3\n", "2:", "not YAML"),
        ("a: b: c\n", "2:6!", "not YAML"),
        ("a: 1\n\tb: 2\n", "2:", "not YAML"),
        ("a: 1\nb: 2\na: 3\n", "2:8!", "the key \"a\" stands twice"),
        ("a: *nowhere\n", "2:6!", "not YAML"),
        ("a: &x {b: *x}\n", "2:6!", "part of"),
        ("? [a]\n: b\n", "2:6!", "a key must be text"),
        ("a: !!binary YQ==\n", "2:6!", "!!binary"),
        ("a: !!int b\n", "2:6!", "!!int"),
        ("<<: [1]\n", "2:", "merge key"),
        ("just text\n", "2:6!", "not an object"),
        ("- a\n- b\n", "2:6!", "not an object"),
        ("kind: Node\n", "2:6!", "Node: apiVersion: must be set"),
        ("apiVersion: v1\n", "2:6!", "kind: must be set"),
        ("apiVersion: v1\nkind: Node\n", "2:6!", "Node: metadata.name: must be set"),
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: 'a b'}\n",
            "2:6!",
            "metadata.name = \"a b\": not an object",
        ),
        ("a: b\x00c\n", "2:6!", "control character"),
    ];
    for (middle, place, reason) in cases {
        let text = format!("{a}---\n{middle}---\n{b}");
        let found = yaml(&text);
        assert_eq!(found.len(), 3, "{middle}: {found:?}");
        assert_eq!(found[0], "1:1 Node a");
        assert!(found[1].starts_with(place) && found[1].contains(reason), "{middle}: {}", found[1]);
        assert!(found[2].starts_with("3:") && found[2].ends_with(" Node b"), "{middle}: {}", found[2]);
    }
    let mut bytes = format!("{a}---\na: 1\nb: ").into_bytes();
    bytes.extend(b"\xff\xfe\n---\n");
    bytes.extend(b.as_bytes());
    assert_eq!(yaml(bytes), ["1:1 Node a", "2:7! not UTF-8 text", "3:9 Node b"]);
}

#[test]
fn an_error_in_a_list_ends_its_document_only() {
    let text = "kind: List\nitems:\n- {kind: Node, apiVersion: v1, metadata: {name: a}}\n- {kind: [\n---\n"
        .to_owned();
    let found = yaml(text + &node("b"));
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[1].ends_with("; the 1 items before it are read, the rest of the document is not"),
        "{found:?}"
    );
    assert_eq!(found[2], "2:6 Node b");
}

#[test]
fn unquoted_words_are_what_kubernetes_takes_them_for() {
    let cases = [
        ("yes", "true"),
        ("No", "false"),
        ("on", "true"),
        ("OFF", "false"),
        ("True", "true"),
        ("'yes'", "yes"),
        ("\"on\"", "on"),
        ("!!str yes", "yes"),
        ("! yes", "yes"),
        ("!!bool yes", "true"),
        ("5663:12", "5663:12"),
        ("100:6532", "100:6532"),
        ("1:30:00", "1:30:00"),
        ("2024-01-02", "2024-01-02"),
        ("2024-01-02T10:00:00Z", "2024-01-02T10:00:00Z"),
        ("10.0.0.1", "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("0x1F", "31"),
        ("0o17", "15"),
        ("017", "15"),
        ("089", "89"),
        ("0b101", "5"),
        ("1_000", "1000"),
        ("+5", "5"),
        ("-5", "-5"),
        ("--5", "--5"),
        ("0x-5", "0x-5"),
        ("1.5", "1.5"),
        (".5", "0.5"),
        ("1e3", "1000"),
        ("1e", "1e"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        (".", "."),
        (".inf", ".inf"),
        ("~", ""),
        ("Null", ""),
        ("", ""),
        ("yes please", "yes please"),
        ("|\n      two\n      lines", "two\nlines\n"),
        (">-\n      two\n      lines", "two lines"),
        ("nUll", "nUll"),
    ];
    for (written, expected) in cases {
        let text = format!("{}  labels:\n    x: {written}\n", node("a"));
        assert_eq!(labels(&text), [("x".to_owned(), expected.to_owned())], "{written}");
    }
}

#[test]
fn anchors_and_merge_keys_work_within_a_document() {
    let text = format!(
        "{}  labels:\n    a: &x one\n    b: *x\n    <<: {{c: three, a: no}}\n    <<: [{{d: four}}]\n",
        node("a")
    );
    let expected = [("a", "one"), ("b", "one"), ("c", "three"), ("d", "four")];
    assert_eq!(labels(&text), expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
}

#[test]
fn managed_fields_are_left_out_unread() {
    let text = format!("{}  managedFields:\n  - a: 1\n    a: 2\n  labels:\n    x: y z\n", node("a"));
    assert_eq!(labels(&text), [("x".to_owned(), "y z".to_owned())]);
}

#[test]
fn bombs_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}", level - 1);
        writeln!(bomb, "a{level}: &a{level} [{}]", vec![below; 9].join(", ")).unwrap();
    }
    let wide = format!("{}  labels: {}1{}\n", node("a"), "[".repeat(10_000), "]".repeat(10_000));
    let mut tall = String::new();
    for level in 0..3_000 {
        writeln!(tall, "{}k:", " ".repeat(level)).unwrap();
    }
    let dashes = "- ".repeat(10_000);
    for text in [bomb, wide, tall, dashes] {
        let found = yaml(format!("{text}\n---\n{}", node("b")));
        assert_eq!(found.len(), 2, "{found:?}");
        let words = ["aliases add more than", "nested too deeply", "recursion limit"];
        assert!(words.iter().any(|word| found[0].contains(word)), "{found:?}");
        assert!(found[1].ends_with("Node b"), "{found:?}");
    }
    let deep = format!("{}{}\n{}", "{\"a\":".repeat(10_000), "1", r#"{"kind":"Pod","apiVersion":"v1"}"#);
    let found = summary(deep, Format::Json);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("recursion limit exceeded"), "{found:?}");
}

#[test]
fn large_objects_are_read_and_larger_ones_refused() {
    let big = |size: usize| format!("{}  annotations:\n    big: {}\n", node("big"), "x".repeat(size));
    assert_eq!(yaml(big(10 << 20)), ["1:1 Node big"]);
    let found = yaml(big(33 << 20) + "---\n" + &node("b"));
    assert_eq!(found.len(), 2);
    assert!(found[0].contains("more than 32 MiB"), "{}", found[0]);
    assert_eq!(found[1], "2:8 Node b");

    let big = |size: usize| {
        format!(
            "{{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"big\",\"uid\":\"{}\"}}}}\n",
            "x".repeat(size)
        )
    };
    assert_eq!(summary(big(10 << 20), Format::Json), ["1:1 Node big"]);
    let found = summary(big(33 << 20) + r#"{"kind":"Pod","apiVersion":"v1"}"#, Format::Json);
    assert_eq!(found, ["1:1! more than 32 MiB of text in one object", "2:2 ignored v1 Pod"]);
}

/// A list of nodes as `kubectl get -o yaml` prints it, with text that looks like structure inside block scalars.
fn dump(count: usize, indent: &str) -> String {
    let mut text = "apiVersion: v1\nitems:\n".to_owned();
    for n in 0..count {
        let item = format!(
            "- apiVersion: v1\n  kind: Node\n  metadata:\n    annotations:\n      text: |\n        - not an item\n\n\
             {}        # not a comment\n        items:\n    # a comment\n    name: n{n}\n  spec:\n    taints:\n    - key: \
             {}\n",
            if indent.is_empty() { "# a comment at the left\n" } else { "" },
            "x".repeat(200),
        );
        for line in item.lines() {
            writeln!(text, "{indent}{line}").unwrap();
        }
    }
    text + "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
}

#[test]
fn a_large_list_is_the_same_item_by_item() {
    for indent in ["", "  "] {
        let count = 6000;
        let text = dump(count, indent).replace("# a comment at the left\n        # not a comment\n", "");
        assert!(text.len() > 2 << 20);
        let found = yaml(format!("{text}---\n{}", node("last")));
        assert_eq!(found.len(), count + 1, "{:?}", found.iter().find(|line| line.contains('!')));
        let lines_each = (text.lines().count() - 5) / count;
        for (n, line) in found[..count].iter().enumerate() {
            assert_eq!(line, &format!("1:{} Node n{n}", 3 + n * lines_each));
        }
        assert!(found[count].starts_with("2:") && found[count].ends_with("Node last"));
    }
}

#[test]
fn errors_in_a_large_list_stand_where_they_are() {
    let count = 6000;
    let text = dump(count, "").replace("# a comment at the left\n        # not a comment\n", "");
    let lines: Vec<&str> = text.lines().collect();
    // A quote that never ends in item 5000.
    let at = lines.iter().position(|line| line.ends_with("name: n5000")).unwrap();
    let broken: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(n, line)| if n == at { "    name: \"n5000".to_owned() } else { (*line).to_owned() })
        .collect();
    let found = yaml(broken.join("\n") + "\n---\n" + &node("b"));
    assert_eq!(found.len(), 5002);
    assert!(found[5000].starts_with(&format!("1:{}!", at + 1)), "{} {at}", found[5000]);
    assert!(found[5000].contains("the 5000 items before it are read"), "{}", found[5000]);
    assert!(found[5001].ends_with("Node b"));

    // Cut in the middle of an item: what is there of it is an object or an error, and nothing hangs.
    let found = yaml(&text[..text.len() / 2]);
    assert!(found.len() > 2900, "{}", found.len());
    // The same key before and behind the items.
    let found = yaml(text + "apiVersion: v1\n");
    assert!(found[count].contains("the key \"apiVersion\" stands twice"), "{}", found[count]);
}

#[test]
fn files_and_folders_are_read_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("b.yaml"), node("b")).unwrap();
    std::fs::write(path("a.json"), r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}"#).unwrap();
    std::fs::write(path("c.yml"), node("c")).unwrap();
    std::fs::write(path("d.txt"), "no manifest").unwrap();
    std::fs::write(path(".hidden.yaml"), "no manifest").unwrap();
    std::fs::create_dir(path("sub.yaml")).unwrap();
    std::fs::write(path("sub.yaml/x.yaml"), node("x")).unwrap();
    std::fs::write(path("dump"), "  {\"kind\":\"Pod\",\n\"apiVersion\":\"v1\"} {").unwrap();
    let paths: Vec<PathBuf> =
        vec![path("c.yml"), folder.path().to_owned(), path("missing.yaml"), path("dump")];
    let mut found = Vec::new();
    read(&paths, &Defaults::default(), &mut |source, entry| {
        let what = match entry {
            Entry::Object(parsed) => parsed.key.to_string(),
            Entry::Ignored { kind, .. } => kind,
            Entry::Problem(reason) => reason,
        };
        let file = source.to_string();
        found.push(format!(
            "{}: {what}",
            file.strip_prefix(&*folder.path().to_string_lossy()).unwrap_or(&file)
        ));
    });
    let expected = [
        "/c.yml: document 1, line 1: Node c",
        "/a.json: document 1, line 1: Node a",
        "/b.yaml: document 1, line 1: Node b",
        "/c.yml: document 1, line 1: Node c",
        "/missing.yaml: there is no such file or folder",
        "/dump: document 1, line 1: Pod",
        "/dump: document 2, line 2: not JSON: EOF while parsing an object",
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_manifest_of_the_conformance_cases_is_read_without_an_error() {
    let cases = match std::env::var_os("TAILORBIRD_CONFORMANCE") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance"),
    }
    .join("cases");
    let Ok(folders) = cases.read_dir() else {
        eprintln!("skipped: there is no {}", cases.display());
        return;
    };
    let (mut objects, mut warnings) = (0, Vec::new());
    for folder in folders {
        let folder = folder.unwrap().path();
        read(std::slice::from_ref(&folder), &Defaults::default(), &mut |source, entry| match entry {
            Entry::Object(parsed) => {
                assert!(parsed.resource.is_ok(), "{source}: {:?}", parsed.resource);
                objects += 1;
                warnings.extend(parsed.warnings.iter().map(|warning| format!("{source}: {warning}")));
            }
            Entry::Ignored { kind, .. } => panic!("{source}: {kind} is ignored"),
            Entry::Problem(reason) => panic!("{source}: {reason}"),
        });
    }
    assert!(objects > 4000, "{objects}");
    for warning in &warnings {
        assert!(warning.contains("status.loadBalancer.ingress["), "{warning}");
    }
}
