//! Much, large and deep.

use std::fmt::Write;

use crate::common::Bench;

#[test]
fn an_object_of_ten_megabytes() {
    let bench = Bench::new();
    let note = "x".repeat(10 << 20);
    bench.put("objects/large.yaml", &format!("apiVersion: crd.projectcalico.org/v1\nkind: BGPPeer\nmetadata: {{name: large, annotations: {{note: {note}}}}}\nspec: {{peerIP: 10.0.0.99, asNumber: 65099}}\n"));
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0).silent();
    assert!(bench.set()["bird.cfg"].contains("neighbor 10.0.0.99 as 65099;"));
    // As the value of a field it is an error, and the message stays short.
    bench.put("objects/large.yaml", &format!("apiVersion: crd.projectcalico.org/v1\nkind: BGPPeer\nmetadata: {{name: large}}\nspec: {{peerIP: {note}, asNumber: 65099}}\n"));
    let ran = bench
        .run("render --objects OBJECTS --node worker-1 --out OUT")
        .ends(3)
        .tells("BGPPeer large: spec.peerIP");
    assert!(ran.err.len() < 2000, "{} bytes of message", ran.err.len());
}

#[test]
fn a_selector_that_is_nested_deeply() {
    let bench = Bench::new();
    for (open, close) in [("(", ")"), ("!(", ")"), ("!", "")] {
        let selector = format!("{}has(a){}", open.repeat(10_000), close.repeat(10_000));
        bench.put("objects/deep.yaml", &format!("apiVersion: crd.projectcalico.org/v1\nkind: BGPPeer\nmetadata: {{name: deep}}\nspec: {{nodeSelector: '{selector}', peerIP: 10.0.0.99, asNumber: 65099}}\n"));
        let ran = bench.run("render --objects OBJECTS --node worker-1 --out OUT");
        assert!(ran.code == Some(0) || ran.code == Some(3), "{ran:?}");
        assert!(ran.err.len() < 2000, "{} bytes of message", ran.err.len());
        assert_eq!(bench.set().len(), 6);
    }
}

#[test]
fn many_peers() {
    let bench = Bench::new();
    let mut text = String::new();
    let count = 20_000;
    for i in 0..count {
        writeln!(text, "---\napiVersion: crd.projectcalico.org/v1\nkind: BGPPeer\nmetadata: {{name: p{i}}}\nspec: {{peerIP: 10.{}.{}.7, asNumber: 65001}}", 100 + i / 250, i % 250).unwrap();
    }
    bench.put("objects/peers.yaml", &text);
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0).silent();
    let sessions = bench.set()["bird.cfg"].matches("\nprotocol bgp Global_").count();
    assert_eq!(sessions, count + 1);
}
