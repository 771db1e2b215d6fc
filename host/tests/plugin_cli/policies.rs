//! Plugins that decide on peerings, routes and rules.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::common::{Bench, read_set};
use crate::component::Guest;
use crate::put;

/// A configuration with a route to advertise, beside the cluster with two nodes and a peer.
const CIDR: &str = "apiVersion: crd.projectcalico.org/v1\nkind: BGPConfiguration\nmetadata: {name: default}\n\
                    spec: {serviceClusterIPs: [{cidr: 10.96.0.0/12}]}\n";

pub(crate) fn bench() -> Bench {
    let bench = Bench::new();
    bench.put("objects/configuration.yaml", CIDR);
    bench
}

/// Stores a list's place and length into two fields of the answer.
fn list(field: u32, at: u32, count: u32) -> String {
    format!(
        "(i32.store (i32.const {}) (i32.const {at})) (i32.store (i32.const {}) (i32.const {count}))\n",
        2048 + field,
        2052 + field
    )
}

/// Stores an answer's number.
fn number(at: u32, value: u32) -> String {
    format!("(i32.store (i32.const {at}) (i32.const {value}))\n")
}

/// A plugin that drops a candidate and is a reflector with the cluster id 1.2.3.4.
pub(crate) fn dropping(candidate: u32) -> Guest {
    let cluster_id = number(2068, 2) + &number(2072, 0x0102_0304);
    let body = number(3000, candidate) + &list(28, 3000, 1) + &cluster_id + "(i32.const 2048)";
    Guest::new("picky", "peers-plugin").body("peers#select", &body)
}

/// A plugin that refuses whatever comes in on the first session.
pub(crate) fn refusing() -> Guest {
    let rules = list(4, 3000, 1) + "(i32.store8 (i32.const 3080) (i32.const 1))";
    let sets = number(3204, 1) + &list(36, 3200, 1);
    let assignments = list(44, 3300, 1);
    let body = rules + &sets + &assignments + "(i32.const 2048)";
    Guest::new("strict", "filter-plugin").body("filter#rules", &body)
}

/// A plugin that gives the first route the community 65535:0 and lets it go to no peer.
fn marking(community: u32) -> Guest {
    let communities = format!("(i32.store (i32.const 3004) (i32.const {community}))") + &list(12, 3000, 1);
    let decision = "(i32.store8 (i32.const 3104) (i32.const 1))".to_owned()
        + &number(3112, 1)
        + "(i32.store8 (i32.const 3124) (i32.const 1))"
        + &list(28, 3100, 1);
    let body = communities + &decision + "(i32.const 2048)";
    Guest::new("marker", "filter-plugin").body("filter#advertise", &body)
}

fn failing(world: &'static str, export: &'static str) -> Guest {
    Guest::new("broken", world).body(export, "(unreachable)")
}

#[test]
fn an_answer_is_shown_with_names() {
    let bench = bench();
    let run = |file: &str, export: &str| {
        let line = format!("plugin run {file} --export {export} --objects OBJECTS --node worker-1 -o json");
        bench.run(&line).ends(0).json()
    };
    put(&bench, "picky.wasm", &dropping(0).component());
    let all = run("picky.wasm", "peers.select");
    let first = all["answer"]["drop"][0].as_str().unwrap().to_owned();
    assert!(["Mesh_10_0_0_2", "Global_10_0_0_254"].contains(&&*first), "{first}");
    assert_eq!(all["answer"], json!({ "cluster_id": "1.2.3.4", "drop": [first], "change": [], "add": [] }));
    assert_eq!((&all["error"], &all["calls"]), (&Value::Null, &json!(1)));

    put(&bench, "strict.wasm", &refusing().component());
    let all = run("strict.wasm", "filter.rules");
    let sets = all["answer"]["sets"].as_array().unwrap();
    assert_eq!(sets.len(), 1);
    assert_eq!(sets[0]["rules"], json!([{ "action": "reject" }]));
    assert_eq!((&sets[0]["import"].as_array().unwrap().len(), &sets[0]["export"]), (&1, &json!([])));

    put(&bench, "marker.wasm", &marking(65535).component());
    let all = run("marker.wasm", "filter.advertise");
    assert_eq!(
        all["answer"],
        json!({ "decisions": [{
            "route": "10.96.0.0/12", "accept": true, "communities": ["65535:0"], "to": [],
        }] })
    );
}

#[test]
fn an_answer_that_cannot_be_used_is_shown_and_named() {
    let bench = bench();
    put(&bench, "picky.wasm", &dropping(7).component());
    let line = "plugin run picky.wasm --objects OBJECTS --node worker-1";
    let ran = bench.run(&format!("{line} -o json")).ends(1);
    let all = ran.json();
    assert_eq!(all["answer"]["drop"], json!(["(candidate 7 of 2: out of range)"]));
    let error = all["error"].as_str().unwrap();
    assert!(error.contains('7') && !error.contains("picky"), "{error}");
    ran.tells("error: peers.select: ");
    // A golden case can hold it.
    bench.put("cases/a/case.toml", "node = \"worker-1\"\n");
    bench.put("cases/a/objects.yaml", crate::common::CLUSTER);
    bench.run("plugin test picky.wasm --bless").ends(0);
    let expected = std::fs::read_to_string(bench.path("cases/a/expected.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&expected).unwrap(), json!({ "error": error }));
    bench.run("plugin test picky.wasm").ends(0);
}

#[test]
fn every_command_works_with_the_plugins() {
    let bench = bench();
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
    let before = bench.set();
    put(&bench, "picky.wasm", &dropping(0).component());
    put(&bench, "strict.wasm", &refusing().component());
    put(&bench, "marker.wasm", &marking(65535).component());
    for (file, gone, new) in [
        ("picky.wasm", "neighbor ", "rr cluster id 1.2.3.4"),
        ("strict.wasm", "", "reject;"),
        ("marker.wasm", "", "route_policies"),
    ] {
        let with = format!("--objects OBJECTS --node worker-1 --plugin {file}");
        let ran = bench.run(&format!("diff {with} --out OUT")).ends(1);
        let lines = |sign: char, text: &str| {
            ran.out.lines().any(|line| line.starts_with(sign) && line.contains(text))
        };
        assert!(gone.is_empty() || lines('-', gone), "{ran:#?}");
        assert!(file == "picky.wasm" || lines('+', new), "{ran:#?}");
        bench.run(&format!("check {with}")).ends(0);
        bench.run(&format!("render {with} --out OUT")).ends(0);
        assert_ne!(bench.set(), before, "{file}");
        bench.run(&format!("diff {with} --out OUT")).ends(0);
        bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
        assert_eq!(bench.set(), before, "without the plugin all is as it was");
    }
}

/// All files in the destination, with what tells that one was written.
pub(crate) fn traces(bench: &Bench) -> BTreeMap<String, (String, u64)> {
    use std::os::unix::fs::MetadataExt;
    let inode = |name: &str| std::fs::metadata(bench.out().join(name)).unwrap().ino();
    read_set(&bench.out()).into_iter().map(|(name, text)| (name.clone(), (text, inode(&name)))).collect()
}

#[test]
fn a_failure_is_what_on_error_says() {
    let bench = bench();
    let render = "render --objects OBJECTS --node worker-1 --out OUT";
    for (world, export, call) in [
        ("peers-plugin", "peers#select", "peers.select"),
        ("filter-plugin", "filter#rules", "filter.rules"),
        ("filter-plugin", "filter#advertise", "filter.advertise"),
    ] {
        bench.run(render).ends(0);
        let before = traces(&bench);
        put(&bench, "broken.wasm", &failing(world, export).component());
        let cause = format!("plugin broken: {call}: wasm trap: wasm `unreachable` instruction executed");
        let with = |on_error: &str| {
            bench.put("t.toml", &format!("[[plugin]]\npath = \"broken.wasm\"\non_error = \"{on_error}\"\n"));
            format!("{render} --config t.toml -o json")
        };
        let ran = bench.run(&with("keep")).ends(1).prints_nothing().tells(&format!("error: {cause}\n"));
        ran.tells("error: nothing was rendered");
        assert_eq!(traces(&bench), before, "the last good files stay, byte for byte");
        bench.run("check --objects OBJECTS --node worker-1 --config t.toml").ends(1).tells(&cause);
        bench.run("diff --objects OBJECTS --node worker-1 --out OUT --config t.toml").ends(2).tells(&cause);

        for (on_error, code, word, severity) in
            [("skip", 0, "warning", "warning"), ("reject", 3, "error", "left-out")]
        {
            let ran = bench.run(&with(on_error)).ends(code);
            let told: Vec<&str> = ran.err.lines().filter(|line| line.contains("broken")).collect();
            assert_eq!(told, [format!("{word}: {cause}")]);
            let all = ran.json();
            let reports = all["reports"].as_array().unwrap();
            let report = reports.iter().find(|report| report["plugin"] == "broken").unwrap();
            assert_eq!((&report["severity"], &report["call"]), (&json!(severity), &json!(call)));
            match on_error {
                "skip" => assert_eq!(traces(&bench), before),
                _ => assert!(before.iter().any(|(name, (text, _))| bench.set()[name] != *text), "{call}"),
            }
        }
    }
}

#[test]
fn nothing_is_written_at_a_cold_start_with_a_plugin_that_fails() {
    let bench = bench();
    put(&bench, "broken.wasm", &failing("peers-plugin", "peers#select").component());
    bench.run("render --objects OBJECTS --node worker-1 --out OUT --plugin broken.wasm").ends(1);
    assert!(!bench.out().exists());
}

#[test]
fn policies_are_measured_beside_the_host() {
    let bench = bench();
    put(&bench, "strict.wasm", &refusing().component());
    let line = "plugin bench strict.wasm --objects OBJECTS --node worker-1 -o json";
    let all = bench.run(line).ends(0).silent().json();
    let rows = all["measured"].as_array().unwrap();
    let calls: Vec<&str> = rows.iter().map(|row| row["call"].as_str().unwrap()).collect();
    assert_eq!(calls, ["instantiate and configure", "filter.advertise", "filter.rules"]);
    for row in &rows[1..] {
        for field in ["calls", "median_ns", "p99_ns", "fuel", "host_median_ns"] {
            assert!(row[field].as_u64().is_some_and(|value| value > 0), "{field}: {row}");
        }
    }
}
