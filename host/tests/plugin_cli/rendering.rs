//! Renderings with plugins.

use serde_json::json;

use crate::common::Bench;
use crate::component::Guest;
use crate::{echo, put};

/// A folder of templates with one file, which calls `f`.
fn with_template(bench: &Bench, template: &str) {
    bench.put(
        "conf/conf.d/own.toml",
        "[template]\nsrc = \"own.hbs\"\ndest = \"/etc/own.conf\"\nformat = \"text\"\n",
    );
    bench.put("conf/templates/own.hbs", template);
}

const RENDER: &str = "render --objects OBJECTS --node worker-1 --confdir conf --out OUT --no-check";

fn own(bench: &Bench) -> String {
    std::fs::read_to_string(bench.out().join("own.conf")).unwrap()
}

#[test]
fn templates_call_the_functions_of_plugins() {
    let bench = Bench::new();
    put(&bench, "net.wasm", &echo("net").component());
    with_template(&bench, "{{f \"word\"}} {{#if (f 0)}}a{{else}}b{{/if}}\n");
    bench.run(RENDER).ends(1).tells("there is no function `f`");
    bench.run(&format!("{RENDER} --plugin net.wasm")).ends(0).tells("note: plugin net ");
    assert_eq!(own(&bench), "word b\n");
    bench.put("tailorbird.toml", "[[plugin]]\npath = \"net.wasm\"\n");
    let diff = "diff --objects OBJECTS --node worker-1 --out OUT";
    bench.run(&format!("{diff} --confdir conf --config tailorbird.toml")).ends(0).silent();
    // A plugin without a part in the files changes nothing.
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
    bench.run(&format!("{diff} --config tailorbird.toml")).ends(0).silent();
}

#[test]
fn a_function_with_a_name_that_is_taken_is_refused() {
    let bench = Bench::new();
    // The function's name stands at 1200, one byte long.
    let guest = echo("net").more(r#"(data (i32.const 1200) "split") (data (i32.const 1148) "\05\00\00\00")"#);
    let guest = guest.more(r#"(data (i32.const 1144) "\b0\04\00\00\05\00\00\00")"#);
    put(&bench, "net.wasm", &guest.component());
    let reason = "plugin net: has a function `split`, a name that templates already have a meaning for";
    bench
        .run("get --objects OBJECTS --node worker-1 --plugin net.wasm")
        .ends(1)
        .prints_nothing()
        .tells(reason);
    bench.run("plugin inspect net.wasm").ends(1).tells("has a function `split`");
}

#[test]
fn what_a_plugin_fails_at_is_what_the_operator_wants() {
    let bench = Bench::new();
    put(&bench, "net.wasm", &echo("net").component());
    with_template(&bench, "{{f \"word\"}}\n");
    bench.run(&format!("{RENDER} --plugin net.wasm")).ends(0);
    put(&bench, "net.wasm", &Guest::function("net", "(unreachable)").component());
    let render = format!("{RENDER} --config tailorbird.toml");
    let cause = "plugin net: functions.call: `f`: wasm trap: wasm `unreachable` instruction executed";
    for on_error in ["", "on_error = \"keep\"", "on_error = \"reject\""] {
        bench.put("tailorbird.toml", &format!("[[plugin]]\npath = \"net.wasm\"\n{on_error}\n"));
        bench.run(&render).ends(1).tells(cause).prints("FAILED, nothing changed");
        assert_eq!(own(&bench), "word\n");
    }
    bench.put("tailorbird.toml", "[[plugin]]\npath = \"net.wasm\"\non_error = \"skip\"\n");
    let ran = bench.run(&format!("{render} -o json")).ends(0);
    let told: Vec<&str> = ran.err.lines().filter(|line| line.contains("unreachable")).collect();
    assert_eq!(told, [format!("warning: {cause}")]);
    let reports = ran.json()["reports"].as_array().unwrap().clone();
    let of_plugin = reports.iter().find(|report| report["plugin"] == "net").unwrap();
    assert_eq!(of_plugin["severity"], "warning");
    assert_eq!(of_plugin["call"], "functions.call");
    assert_eq!(of_plugin["reason"], json!("`f`: wasm trap: wasm `unreachable` instruction executed"));
    assert_eq!(own(&bench), "\n");
}

#[test]
fn the_keys_that_plugins_may_read_are_in_the_view() {
    let bench = Bench::new();
    bench.put(
        "objects/labelled.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: worker-3, labels: {zone: b, rack: r1}}\n",
    );
    let get = "get /tailorbird --objects OBJECTS --node worker-1";
    bench.run(get).ends(1).prints_nothing().tells("there is no key at or below /tailorbird");
    let net = echo("net").wants(&["/tailorbird/v1/node/*/labels/zone"]).component();
    put(&bench, "net.wasm", &net);
    let ran = bench.run(&format!("{get} --plugin net.wasm")).ends(0);
    assert_eq!(ran.out, "/tailorbird/v1/node/worker-3/labels/zone b\n");
    // A grant alone publishes nothing; what counts is what somebody wants, too.
    put(&bench, "still.wasm", &Guest::new("still", "filter-plugin").component());
    bench.put("tailorbird.toml", "[[plugin]]\npath = \"still.wasm\"\ngrants = [\"/tailorbird\"]\n");
    bench.run(&format!("{get} --config tailorbird.toml")).ends(1).prints_nothing();
}

#[test]
fn an_explanation_names_the_plugin_that_changed_the_files() {
    let bench = Bench::new();
    let guest = Guest::new("racks", "peers-plugin").body("peers#select", "(unreachable)");
    put(&bench, "racks.wasm", &guest.component());
    let explain = "explain peer 10.0.0.2 --objects OBJECTS --node worker-1";
    bench.put("tailorbird.toml", "[[plugin]]\npath = \"racks.wasm\"\non_error = \"reject\"\n");
    bench
        .run(&format!("{explain} --config tailorbird.toml"))
        .ends(3)
        .tells("plugin racks: peers.select: wasm trap")
        .prints("ABSENT: node worker-1 has no session with 10.0.0.2")
        .prints("plugin racks  [plugin-failed]")
        .prints("BGPConfiguration default  [mesh]");
    // One without which nothing may be rendered.
    bench
        .run(&format!("{explain} --plugin racks.wasm -o json"))
        .ends(3)
        .tells("plugin racks: peers.select: wasm trap")
        .prints("plugins have not been asked about this revision");
    put(&bench, "racks.wasm", &Guest::new("racks", "peers-plugin").component());
    bench.run(&format!("{explain} --config tailorbird.toml")).ends(0).silent().prints("PRESENT: ");
}
