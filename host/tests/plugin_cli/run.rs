//! `tailorbird plugin run`.

use serde_json::{Value, json};

use crate::common::{Bench, Ran};
use crate::component::Guest;
use crate::{echo, put};

/// Runs the program with these words, which may hold spaces.
fn run(bench: &Bench, words: &[&str]) -> Ran {
    Ran::of(bench.command("plugin run").args(words))
}

#[test]
fn a_function_is_called_without_a_cluster() {
    let bench = Bench::new();
    put(&bench, "net.wasm", &echo("net").component());
    for (word, value) in [
        ("7", json!(7)),
        ("true", json!(true)),
        ("null", Value::Null),
        ("10.0.0.0/8", json!("10.0.0.0/8")),
        ("\"7\"", json!("7")),
        (r#"{"a":[1,2]}"#, json!({ "a": [1, 2] })),
    ] {
        let ran = run(&bench, &["net.wasm", "--function", "f", word, "-o", "json"]).ends(0).silent();
        let all = ran.json();
        assert_eq!(all["answer"], value);
        assert_eq!(all["plugin"], "net");
        assert_eq!(all["export"], "functions.call");
        assert_eq!(all["error"], Value::Null);
        assert!(all["fuel"].as_u64().unwrap() > 0 && all["fuel_configure"].as_u64().unwrap() > 0);
        assert!(all["memory"].as_u64().unwrap() >= 65536);
        assert_eq!(all["reads"], json!({ "keys": [], "paths": [], "revision": false }));
    }
    let ran = run(&bench, &["net.wasm", "--function", "f", "words"]).ends(0).silent();
    ran.prints("\"words\"\n").prints("fuel ").prints("memory    65536 bytes\n").prints("read      nothing\n");
}

#[test]
fn what_a_call_reads_and_logs_is_shown() {
    let bench = Bench::new();
    let reading = Guest::function(
        "reader",
        "(call $get (i32.const 3000) (i32.const 18) (i32.const 4000))
         (call $list (i32.const 3000) (i32.const 10) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 5) (i32.const 4000))
         (drop (call $revision))
         (call $log (i32.const 2) (i32.const 3100) (i32.const 5))
         (i32.const 1024)",
    );
    let reading =
        reading.more(r#"(data (i32.const 3000) "/calico/v1/ipam/v4") (data (i32.const 3100) "hello")"#);
    put(&bench, "reader.wasm", &reading.wants(&["/calico"]).component());
    let line = "plugin run reader.wasm --function f --objects OBJECTS --node worker-1";
    let ran = bench.run(&format!("{line} -o json")).ends(0).json();
    assert_eq!(
        ran["reads"],
        json!({ "keys": ["/calico/v1/ipam/v4"], "paths": ["/calico/v1"], "revision": true })
    );
    assert_eq!(ran["logs"], json!([{ "level": "warning", "text": "hello" }]));
    let ran = bench.run(line).ends(0);
    ran.prints("read      /calico/v1/ipam/v4\n")
        .prints("          all below /calico/v1\n")
        .prints("          the revision\n")
        .prints("warning   hello\n");
}

#[test]
fn a_call_that_fails_says_why() {
    let bench = Bench::new();
    put(&bench, "trap.wasm", &Guest::function("trap", "(unreachable)").component());
    let ran = run(&bench, &["trap.wasm", "--function", "f", "-o", "json"]).ends(1);
    assert_eq!(ran.json()["answer"], Value::Null);
    ran.tells("error: functions.call: `f`: wasm trap: wasm `unreachable` instruction executed");
    put(&bench, "loop.wasm", &Guest::function("loop", "(loop $l (br $l)) (unreachable)").component());
    run(&bench, &["loop.wasm", "--function", "f"]).ends(1).tells("used up its fuel of 10000000");
    put(&bench, "echo.wasm", &echo("echo").component());
    run(&bench, &["echo.wasm", "--function", "f", "1", "2", "3"]).ends(1).tells("takes: [a] [b]");
}

#[test]
fn what_is_asked_must_be_there() {
    let bench = Bench::new();
    put(&bench, "echo.wasm", &echo("echo").component());
    put(&bench, "all.wasm", &Guest::new("all", "plugin").component());
    for (line, reason) in [
        ("echo.wasm", "--function is needed; the plugin has f"),
        ("echo.wasm --function g", "has no function g; it has f"),
        ("echo.wasm --export peers.select", "does not export peers.select; it has functions.call"),
        ("all.wasm", "--export is needed: peers.select, filter.advertise, filter.rules, functions.call"),
        ("all.wasm --export peers.select", "give --objects and --node"),
        ("all.wasm --export peers.select --function f", "not called by way of peers.select"),
        ("nosuch.wasm", "nosuch.wasm: cannot be read"),
        ("echo.wasm --function f --objects OBJECTS --node nosuch", "there is no node nosuch"),
    ] {
        bench.run(&format!("plugin run {line}")).ends(1).prints_nothing().tells(reason);
    }
    bench.run("plugin run echo.wasm --export peers").ends(2).tells("peers.select");
    bench.run("plugin run echo.wasm --function f --objects OBJECTS").ends(2).tells("--node <NAME>");
    run(&bench, &["echo.wasm", "--settings", "[1]"]).ends(2).tells("not a JSON object");
    run(&bench, &["echo.wasm", "--settings", "@nosuch"]).ends(2).tells("nosuch: ");
}

#[test]
fn settings_reach_the_plugin() {
    let bench = Bench::new();
    // Refuses with the settings as its words.
    let refusing = echo("picky").configure(
        "(i32.store8 (i32.const 2048) (i32.const 1)) (i32.store (i32.const 2052) (local.get $ptr))
         (i32.store (i32.const 2056) (local.get $len)) (i32.const 2048)",
    );
    put(&bench, "picky.wasm", &refusing.component());
    bench.put("settings.json", r#"{ "zone": "b" }"#);
    for (settings, shown) in
        [("{\"zone\":\"a\"}", "{\"zone\":\"a\"}"), ("@settings.json", "{\"zone\":\"b\"}")]
    {
        run(&bench, &["picky.wasm", "--function", "f", "--settings", settings])
            .ends(1)
            .tells(&format!("lifecycle.configure: {shown}"));
    }
}
