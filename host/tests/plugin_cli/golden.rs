//! `tailorbird plugin test`.

use std::fs;

use crate::common::{Bench, CLUSTER};
use crate::component::Guest;
use crate::{echo, put};

fn bench() -> Bench {
    let bench = Bench::new();
    put(&bench, "net.wasm", &echo("net").component());
    bench
}

#[test]
fn cases_pass_and_fail() {
    let bench = bench();
    bench.put("cases/list/case.toml", "function = \"f\"\narguments = [[1, \"a\", true]]\n");
    bench.put("cases/list/expected.json", "[ 1, \"a\",\n true ]");
    bench.put("cases/number/case.toml", "export = \"functions.call\"\nfunction = \"f\"\narguments = [7]\n");
    bench.put("cases/number/expected.json", "8");
    let ran = bench.run("plugin test net.wasm").ends(1).silent();
    assert_eq!(
        ran.out,
        "ok       list\nFAILED   number\n--- expected\n+++ answered\n@@ -1 +1 @@\n-8\n+7\n2 cases, 1 passed, 1 failed\n"
    );
    assert_eq!(fs::read_to_string(bench.path("cases/number/expected.json")).unwrap(), "8");
    // Blessed, it passes; what passed keeps its bytes.
    let ran = bench.run("plugin test net.wasm --bless").ends(0).silent();
    assert_eq!(ran.out, "ok       list\nblessed  number\n2 cases, 2 passed, 0 failed\n");
    assert_eq!(fs::read_to_string(bench.path("cases/number/expected.json")).unwrap(), "7\n");
    assert!(fs::read_to_string(bench.path("cases/list/expected.json")).unwrap().starts_with("[ 1"));
    let ran = bench.run("plugin test net.wasm").ends(0).silent();
    assert_eq!(ran.out, "ok       list\nok       number\n2 cases, 2 passed, 0 failed\n");
}

#[test]
fn a_failure_can_be_what_is_expected() {
    let bench = bench();
    put(&bench, "loop.wasm", &Guest::function("loop", "(loop $l (br $l)) (unreachable)").component());
    bench.put("cases/end/case.toml", "function = \"f\"\n");
    bench.put("cases/end/expected.json", r#"{ "error": "`f`: is well" }"#);
    bench.run("plugin test loop.wasm").ends(1).prints("used up its fuel of 10000000");
    bench.run("plugin test loop.wasm --bless").ends(0);
    bench.run("plugin test loop.wasm").ends(0).prints("ok       end\n");
    // The same case with another plugin is no success.
    bench.run("plugin test net.wasm").ends(1).prints("-  \"error\": ").prints("+null\n");
}

#[test]
fn a_case_has_a_cluster_and_settings() {
    let bench = Bench::new();
    // Says the settings when it is asked, by way of a refusal.
    let guest = echo("picky").configure(
        "(i32.store8 (i32.const 2048) (i32.const 1)) (i32.store (i32.const 2052) (local.get $ptr))
         (i32.store (i32.const 2056) (local.get $len)) (i32.const 2048)",
    );
    put(&bench, "picky.wasm", &guest.component());
    bench.put("cases/a/case.toml", "function = \"f\"\n[settings]\nzone = \"b\"\n");
    bench.run("plugin test picky.wasm").ends(1).prints(r#"lifecycle.configure: {"zone":"b"}"#);

    // Reads a key that only the cluster has.
    let reading = Guest::function(
        "reader",
        "(call $get (i32.const 3000) (i32.const 39) (i32.const 4000))
         (i32.store8 (i32.const 2056) (i32.const 3))
         (i32.store (i32.const 2064) (i32.load (i32.const 4004)))
         (i32.store (i32.const 2068) (i32.load (i32.const 4008)))
         (i32.const 2048)",
    );
    let reading = reading.more(r#"(data (i32.const 3000) "/calico/bgp/v1/host/worker-1/ip_addr_v4")"#);
    let reading = reading.wants(&["/calico"]);
    put(&bench, "reader.wasm", &reading.component());
    bench.put("cases/a/case.toml", "node = \"worker-1\"\nfunction = \"f\"\n");
    bench.put("cases/a/objects.yaml", CLUSTER);
    bench.put("cases/a/expected.json", "\"10.0.0.1\"");
    bench.run("plugin test reader.wasm").ends(0);
}

#[test]
fn a_case_that_cannot_be_tried_fails() {
    let bench = bench();
    put(&bench, "all.wasm", &Guest::new("all", "plugin").component());
    for (case, objects, reason) in [
        ("fnction = \"f\"\n", None, "unknown field `fnction`"),
        ("function = \"g\"\n", None, "no function g"),
        ("export = \"peers\"\n", None, "export = \"peers\": peers.select, "),
        ("function = \"f\"\n", Some(CLUSTER), "node is needed beside objects.yaml"),
        ("node = \"a/b\"\nfunction = \"f\"\n", Some(CLUSTER), "node = \"a/b\": "),
        ("node = \"nosuch\"\nfunction = \"f\"\n", Some(CLUSTER), "there is no node nosuch"),
        ("node = \"a\"\nfunction = \"f\"\n", Some("kind: [\n"), "the objects hold no node at all"),
        ("node = \"a\"\nexport = \"peers.select\"\n", None, "does not export peers.select"),
        ("function = \"f\"\n", None, "there is no expected.json; --bless writes it"),
    ] {
        let _ = fs::remove_dir_all(bench.path("cases"));
        bench.put("cases/a/case.toml", case);
        if let Some(objects) = objects {
            bench.put("cases/a/objects.yaml", objects);
        }
        let ran = bench.run("plugin test net.wasm").ends(1).prints("1 cases, 0 passed, 1 failed\n");
        ran.prints(reason).prints("FAILED   a: ");
    }
    // Objects that are left out would be a case of something else.
    bench.put("cases/a/objects.yaml", &CLUSTER.replace("10.0.0.254", "x"));
    bench.put("cases/a/case.toml", "node = \"worker-1\"\nfunction = \"f\"\n");
    bench.put("cases/a/expected.json", "null");
    bench
        .run("plugin test net.wasm")
        .ends(1)
        .prints("objects of objects.yaml were left out")
        .tells("spec.peerIP");
    // A policy is asked about a cluster.
    fs::remove_file(bench.path("cases/a/objects.yaml")).unwrap();
    bench.put("cases/a/case.toml", "export = \"filter.rules\"\n");
    bench.run("plugin test all.wasm").ends(1).prints("filter.rules is asked about a cluster");
}

#[test]
fn without_cases_there_is_no_success() {
    let bench = bench();
    bench
        .run("plugin test net.wasm")
        .ends(1)
        .prints_nothing()
        .tells("cases: the folder of the cases cannot be read");
    fs::create_dir(bench.path("cases")).unwrap();
    bench.run("plugin test net.wasm").ends(1).prints_nothing().tells("cases: there is no case in it");
    bench.put("elsewhere/a/case.toml", "function = \"f\"\n");
    bench.run("plugin test net.wasm --cases elsewhere --bless").ends(0).prints("blessed  a\n");
    bench
        .run("plugin test objects")
        .ends(1)
        .tells("objects: is neither a component nor a folder with a Cargo.toml");
    bench.run("plugin test nosuch").ends(1).tells("nosuch: is neither a component nor");
}
