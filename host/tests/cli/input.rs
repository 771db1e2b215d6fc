//! Objects: missing, malformed, listed, replaced.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::common::{Bench, CLUSTER, Ran};

#[test]
fn objects_that_are_not_there() {
    let bench = Bench::new();
    bench
        .run("render --objects nosuch --node worker-1 --out OUT")
        .ends(1)
        .prints_nothing()
        .tells("error: nosuch: there is no such file or folder\n");
    // A folder without manifests is a mistake, beside others too.
    bench.put("empty/README.md", "nothing");
    bench.put("empty/deeper/cluster.yaml", CLUSTER);
    for objects in ["empty", "OBJECTS empty"] {
        bench
            .run(&format!("render --objects {objects} --node worker-1 --out OUT"))
            .ends(1)
            .prints_nothing()
            .tells("error: empty: there is no manifest (*.yaml, *.yml, *.json) in it");
    }
    // So is a cluster without nodes.
    bench.put("other.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n");
    bench
        .run("render --objects other.yaml --node worker-1 --out OUT")
        .ends(1)
        .tells("the objects hold no node at all");
    assert!(!bench.out().exists());
}

#[test]
fn a_node_of_another_name() {
    let bench = Bench::new();
    for command in ["render --out OUT", "check", "get"] {
        let ran = bench.run(&format!("{command} --objects OBJECTS --node worker-3")).ends(1).prints_nothing();
        ran.tells(
            "error: there is no node worker-3 among the 2 nodes; the nearest names are worker-1, worker-2\n",
        );
    }
    assert!(!bench.out().exists());
}

#[test]
fn one_malformed_among_good_ones() {
    let bench = Bench::new();
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
    let before = bench.set();
    let text = "apiVersion: crd.projectcalico.org/v1
kind: BGPPeer
metadata: {name: bad}
spec: {peerIP: 10.0.0.300, asNumber: 65000}
---
kind: BGPPeer
metadata: {name: [
---
apiVersion: crd.projectcalico.org/v1
kind: BGPPeer
metadata: {name: lost}
spec: {nodeSelector: 'has(', peerIP: 10.0.0.7, asNumber: 65000}
";
    let path = bench.put("objects/more.yaml", text);
    let path = path.display();
    let ran = bench
        .run("render --objects OBJECTS --node worker-1 --out OUT")
        .ends(3)
        .prints("bird: unchanged")
        .tells(&format!("error: {path}: document 1, line 1: BGPPeer bad: spec.peerIP = \"10.0.0.300\": "))
        .tells(&format!("error: {path}: document 2, line "))
        .tells(&format!(
            "error: {path}: document 3, line 9: BGPPeer lost: spec.nodeSelector = \"has(\": column "
        ));
    assert_eq!(ran.err.lines().count(), 3, "each is told once: {}", ran.err);
    assert_eq!(bench.set(), before);
    let all = bench.run("check --objects OBJECTS --node worker-1 -o json").ends(3).json();
    let reports = all["reports"].as_array().unwrap();
    assert_eq!(reports.len(), 3, "{all:#}");
    let bad = reports.iter().find(|report| report["object"] == "BGPPeer bad").unwrap();
    assert_eq!(
        (&bad["severity"], &bad["field"], &bad["value"]),
        (&"left-out".into(), &"spec.peerIP".into(), &"10.0.0.300".into())
    );
    bench.run("get --objects OBJECTS --node worker-1").ends(3).tells("BGPPeer bad");
    bench.run("diff --objects OBJECTS --node worker-1 --out OUT").ends(0).tells("BGPPeer bad");
}

#[test]
fn what_would_open_the_cluster_blocks_everything() {
    let bench = Bench::new();
    let configuration = "kind: BGPConfiguration\nmetadata: {name: default}\nspec: {asNumber: nope}\n";
    let own = "kind: BGPConfiguration\nmetadata: {name: node.worker-1}\nspec: {listenPort: 99999}\n";
    let pool = "kind: IPPool\nmetadata: {name: bad}\nspec: {cidr: nope}\n";
    for (text, name) in [
        (configuration, "BGPConfiguration default"),
        (own, "BGPConfiguration node.worker-1"),
        (pool, "IPPool bad"),
    ] {
        bench.put("objects/more.yaml", &format!("apiVersion: crd.projectcalico.org/v1\n{text}"));
        for (line, code) in [("render --out OUT", 1), ("check", 1), ("diff --out OUT", 2)] {
            let ran =
                bench.run(&format!("{line} --objects OBJECTS --node worker-1")).ends(code).prints_nothing();
            let ran = ran
                .tells("more.yaml: document 1, line 1: ")
                .tells(&format!("error: nothing is rendered while these are malformed: {name}\n"));
            assert_eq!(ran.err.lines().count(), 2, "{}", ran.err);
        }
        assert!(!bench.out().exists());
    }
    // Another node's own configuration holds up nobody else.
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(1);
    bench.put(
        "objects/more.yaml",
        &format!("apiVersion: crd.projectcalico.org/v1\n{own}").replace("worker-1", "worker-2"),
    );
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(3).tells("node.worker-2");
}

#[test]
fn a_list_as_kubectl_prints_it() {
    let bench = Bench::new();
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
    let mut dump = String::from("apiVersion: v1\nitems:\n");
    for document in CLUSTER.split("---\n") {
        for (number, line) in document.lines().enumerate() {
            dump += &format!("{}{line}\n", if number == 0 { "- " } else { "  " });
        }
    }
    dump += "kind: List\nmetadata:\n  resourceVersion: \"\"\n";
    bench.put("dump.yaml", &dump);
    bench.run("diff --objects dump.yaml --node worker-1 --out OUT").ends(0).silent().prints_nothing();
    // And through a pipe.
    let mut command = bench.command("diff --objects - --node worker-1 --out OUT");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(dump.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success() && done.stdout.is_empty() && done.stderr.is_empty(), "{done:?}");
}

#[test]
fn a_later_path_replaces_an_earlier_one() {
    let bench = Bench::new();
    bench.put("first.yaml", "apiVersion: crd.projectcalico.org/v1\nkind: BGPPeer\nmetadata: {name: switch}\nspec: {peerIP: 10.0.0.9, asNumber: 1}\n");
    bench.put("second.json", r#"{"apiVersion": "crd.projectcalico.org/v1", "kind": "BGPPeer", "metadata": {"name": "switch"}, "spec": {"peerIP": "10.0.0.8", "asNumber": 2}}"#);
    let peers = |objects: &str| {
        bench.run(&format!("get /calico/bgp/v1/global/peer_v4 {objects} --node worker-1")).ends(0)
    };
    peers("--objects OBJECTS first.yaml second.json").prints("peer_v4/10.0.0.8 ");
    peers("--objects OBJECTS --objects second.json --objects first.yaml").prints("peer_v4/10.0.0.9 ");
    peers("--objects first.yaml second.json OBJECTS").prints("peer_v4/10.0.0.254 ");
}

#[test]
fn what_is_not_text_is_an_error_and_no_panic() {
    let bench = Bench::new();
    fs::write(bench.path("objects/noise.yaml"), [0xff, 0xfe, 0x00, 0x80, b'\n', b':', 0x1b]).unwrap();
    bench.put("objects/words.json", "[1, \"x\"");
    let ran: Ran = bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(3);
    ran.tells("noise.yaml").tells("words.json").prints("written");
}
