//! Plugins that do harm, or would, in a rendering that goes to disk: the files stay as they are, the sibling does its part, and the
//! next rendering is as ever.

use crate::component::{Guest, with_section};
use crate::policies::{bench, dropping, refusing, traces};
use crate::put;

const RENDER: &str = "render --objects OBJECTS --node worker-1 --out OUT --config t.toml";

fn guest(world: &'static str) -> Guest {
    Guest::new("hostile", world)
}

fn rules(body: &str) -> Guest {
    guest("filter-plugin").body("filter#rules", body)
}

/// A body that does something a million times.
fn a_million(times: &str) -> String {
    format!(
        "(local $n i32) (loop $l {times} (local.set $n (i32.add (local.get $n) (i32.const 1))) \
         (br_if $l (i32.lt_u (local.get $n) (i32.const 1000000)))) (i32.const 1024)"
    )
}

/// A component, and what is told of it.
fn cases() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let fine = guest("filter-plugin");
    let component = fine.component();
    let wasi = wat::parse_str(
        "(component (import \"wasi:cli/environment@0.2.0\" (instance (export \"f\" (func)))))",
    );
    let lists = "(call $list (i32.const 1200) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) \
                 (i32.const 1000) (i32.const 2100))";
    let logs = "(call $log (i32.const 1) (i32.const 1200) (i32.const 1))";
    // A million communities: 16 MB, more than a call may hand over.
    let many = "(drop (memory.grow (i32.const 300))) (i32.store (i32.const 2060) (i32.const 8192)) \
                (i32.store (i32.const 2064) (i32.const 1000000)) (i32.const 2048)";
    vec![
        ("no component", b"#!/bin/sh\necho".to_vec(), "is no component"),
        ("half of one", component[..component.len() / 2].to_vec(), "not a whole one"),
        (
            "WASI",
            with_section(wasi.unwrap(), "tailorbird.plugin", fine.manifest().as_bytes()),
            "there is no WASI here",
        ),
        ("no grant", fine.clone().wants(&["/calico"]).component(), "grants = [\"/calico\"]"),
        (
            "another contract",
            Guest { contract: "9.0.0".to_owned(), ..fine.clone() }.component(),
            "this host has 0.1.0",
        ),
        ("11 MiB", with_section(component, "ballast", &vec![0; 11 << 20]), "is longer than 10485760 bytes"),
        (
            "a trap in configure",
            fine.clone().configure("(unreachable)").component(),
            "plugin hostile: lifecycle.configure: wasm trap",
        ),
        (
            "a loop in configure",
            fine.configure("(loop $l (br $l)) (unreachable)").component(),
            "plugin hostile: lifecycle.configure: used up its fuel",
        ),
        (
            "a loop",
            rules("(loop $l (br $l)) (unreachable)").component(),
            "plugin hostile: filter.rules: used up its fuel",
        ),
        (
            "memory without end",
            rules("(loop $l (drop (memory.grow (i32.const 16))) (br $l)) (unreachable)").component(),
            "plugin hostile: filter.rules: asked for 33619968 bytes of memory",
        ),
        (
            "recursion",
            rules("(call $deep (i32.const 0))")
                .more("(func $deep (param i32) (result i32) (call $deep (local.get 0)))")
                .component(),
            "plugin hostile: filter.rules: used up its stack",
        ),
        (
            "a million lines",
            rules(&a_million(logs)).component(),
            "plugin hostile: filter.rules: asked the host for more than its fuel allows",
        ),
        (
            "a million listings",
            rules(&a_million(lists)).component(),
            "plugin hostile: filter.rules: asked the host for more than its fuel allows",
        ),
        (
            "a million communities",
            guest("filter-plugin").body("filter#advertise", many).component(),
            "plugin hostile: filter.advertise: too much data is being copied between the host and the guest",
        ),
        (
            "a place too far",
            Guest { name: "hostile".to_owned(), ..dropping(99) }.component(),
            "plugin hostile: peers.select: drop[0]: there is no place 99",
        ),
    ]
}

#[track_caller]
fn check(case: &str) {
    let (what, component, told) = cases().into_iter().find(|(what, ..)| *what == case).unwrap();
    let bench = bench();
    put(&bench, "strict.wasm", &refusing().component());
    let strict = "[[plugin]]\npath = \"strict.wasm\"\n";
    bench.put("t.toml", strict);
    bench.run(RENDER).ends(0);
    let before = traces(&bench);

    put(&bench, "hostile.wasm", &component);
    let peer = "apiVersion: crd.projectcalico.org/v1\nkind: BGPPeer\nmetadata: {name: late}\n\
                spec: {peerIP: 10.0.0.99, asNumber: 65099}\n";
    bench.put("objects/late.yaml", peer);
    bench.put("t.toml", &format!("{strict}[[plugin]]\npath = \"hostile.wasm\"\ngrants = []\n"));
    for _ in 0..2 {
        let ran = bench.run(RENDER).ends(1).prints_nothing();
        assert!(ran.err.contains("plugin ") && ran.err.contains("hostile"), "{what}: {}", ran.err);
        assert!(ran.err.contains(told), "{what}: {}", ran.err);
        assert!(ran.err.len() < 4096, "{what}: {} bytes are told", ran.err.len());
        assert_eq!(traces(&bench), before, "{what}: the last good files stay, byte for byte");
    }

    bench.put("t.toml", strict);
    bench.run(RENDER).ends(0);
    let file = &bench.set()["bird.cfg"];
    assert!(file.contains("neighbor 10.0.0.99 as 65099;"), "{what}: the change is there");
    assert!(file.contains("# Rules of plugins"), "{what}: the sibling did its part");
}

macro_rules! each {
    ($($test:ident: $what:literal,)*) => {
        $(#[test]
        fn $test() {
            check($what);
        })*

        #[test]
        fn every_case_has_its_test() {
            let tested: Vec<&str> = vec![$($what),*];
            assert_eq!(cases().iter().map(|(what, ..)| *what).collect::<Vec<_>>(), tested);
        }
    };
}

each! {
    no_component: "no component",
    half_of_a_component: "half of one",
    wasi: "WASI",
    no_grant: "no grant",
    another_contract: "another contract",
    eleven_mebibytes: "11 MiB",
    a_trap_in_configure: "a trap in configure",
    a_loop_in_configure: "a loop in configure",
    a_loop: "a loop",
    memory_without_end: "memory without end",
    recursion: "recursion",
    a_million_lines: "a million lines",
    a_million_listings: "a million listings",
    a_million_communities: "a million communities",
    a_place_too_far: "a place too far",
}
