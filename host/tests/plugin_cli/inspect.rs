//! `tailorbird plugin inspect`.

use serde_json::json;

use crate::common::Bench;
use crate::component::{Guest, with_section};
use crate::{echo, put, sha256};

#[test]
fn a_plugin_is_described() {
    let bench = Bench::new();
    let component = echo("net").wants(&["/tailorbird/v1/node/*/labels"]).component();
    put(&bench, "net.wasm", &component);
    let ran = bench.run("plugin inspect net.wasm").ends(0).silent();
    for text in ["net\n", "1.2.3\n", "0.1.0\n", "made for a test\n", "usable       yes\n", "f [a] [b]\n"] {
        assert!(ran.out.contains(text), "{text} {}", ran.out);
    }
    // The entry that it proposes is one that works.
    let (_, entry) = ran.out.split_once("tailorbird.toml:\n\n").unwrap();
    bench.put("tailorbird.toml", entry);
    bench.run("get --objects OBJECTS --node worker-1 --config tailorbird.toml").ends(0).silent();

    let about = bench.run("plugin inspect net.wasm -o json").ends(0).silent().json();
    assert_eq!(about["name"], "net");
    assert_eq!(about["sha256"], sha256(&component));
    assert_eq!(about["bytes"], component.len());
    assert_eq!(about["wants"], json!(["/tailorbird/v1/node/*/labels"]));
    assert_eq!(about["usable"], true);
    assert_eq!(
        about["exports"],
        json!(["tailorbird:policy/functions@0.1.0", "tailorbird:policy/lifecycle@0.1.0"])
    );
    assert_eq!(
        about["functions"],
        json!([{
            "name": "f",
            "help": "f",
            "parameters": [
                { "name": "a", "kind": "any", "optional": true },
                { "name": "b", "kind": "any", "optional": true },
            ],
        }])
    );
}

#[test]
fn what_cannot_be_used_is_described_too() {
    let bench = Bench::new();
    let whole = echo("net").component();
    let other = Guest { contract: "9.9.0".to_owned(), ..echo("net") };
    let refusing = echo("net").configure(
        r#"(i32.store8 (i32.const 2048) (i32.const 1)) (i32.store (i32.const 2052) (i32.const 1203))
           (i32.store (i32.const 2056) (i32.const 3)) (i32.const 2048)"#,
    );
    let refusing = refusing.more(r#"(data (i32.const 1203) "zone?")"#);
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("bare", echo("net").bare(), "has no manifest"),
        ("text", b"no component at all".to_vec(), "is no component, or not a whole one"),
        ("short", whole[..whole.len() / 2].to_vec(), "is no component, or not a whole one"),
        ("other", other.component(), "\"9.9.0\" of the contract"),
        ("two", with_section(whole.clone(), "tailorbird.plugin", b"{}"), "has two manifests"),
        ("refusing", refusing.component(), "lifecycle.configure: zon"),
    ];
    for (name, bytes, reason) in cases {
        let file = format!("{name}.wasm");
        put(&bench, &file, &bytes);
        let ran = bench.run(&format!("plugin inspect {file}")).ends(1).tells(&format!("error: {file}: "));
        ran.tells(reason).prints(&sha256(&bytes)).prints("usable       no\n");
        let about = bench.run(&format!("plugin inspect {file} -o json")).ends(1).json();
        assert_eq!(about["usable"], false);
        assert!(about["fault"].as_str().unwrap().contains(reason), "{about:#}");
    }
    bench.run("plugin inspect nosuch.wasm").ends(1).prints_nothing().tells("error: nosuch.wasm: ");
    bench.run("plugin inspect objects").ends(1).prints_nothing().tells("error: objects: is no file");
}

#[test]
fn a_component_cannot_write_to_the_terminal() {
    let bench = Bench::new();
    let manifest =
        r#"{"name":"net","version":"1\u001b[2J","contract":"0.1.0","description":"a\nusable yes"}"#;
    let component = with_section(echo("net").bare(), "tailorbird.plugin", manifest.as_bytes());
    put(&bench, "net.wasm", &component);
    let ran = bench.run("plugin inspect net.wasm").ends(0);
    assert!(!ran.out.contains('\u{1b}') && !ran.out.contains("\nusable yes"), "{ran:#?}");
}
