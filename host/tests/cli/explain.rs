//! `tailorbird explain` on manifests.

use std::path::Path;

use crate::common::{Bench, SECRET};

/// The examples of a page: command lines, each with what it prints.
fn examples(page: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        if let Some(command) = line.strip_prefix("    $ tailorbird ") {
            examples.push((command.to_owned(), String::new()));
            open = true;
        } else if let Some((_, printed)) = examples.last_mut().filter(|_| open) {
            match line.strip_prefix("    ") {
                Some(text) => printed.extend([text, "\n"]),
                None if line.is_empty() => printed.push('\n'),
                None => open = false,
            }
        }
    }
    examples
}

#[test]
fn the_examples_of_the_page_are_what_is_printed() {
    let bench = Bench::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let examples = examples(include_str!("../../../docs/explain.md"));
    assert!(examples.len() >= 4, "{examples:?}");
    for (line, printed) in examples {
        let told = crate::common::Ran::of(bench.command(&line).current_dir(&root)).ends(0).silent();
        assert_eq!(told.out.trim_end(), printed.trim_end(), "{line}");
    }
}

#[test]
fn a_session_is_explained_to_people_and_to_programs() {
    let bench = Bench::new();
    let told = bench.run("explain peer 10.0.0.2 --objects OBJECTS --node worker-1").ends(0).silent();
    let told = told.prints("PRESENT: node worker-1 has a session with 10.0.0.2, an address of node worker-2");
    told.prints("Mesh_10_0_0_2 in bird.cfg").prints("BGPConfiguration default  [mesh]");
    let json =
        bench.run("explain peer 10.0.0.254 --objects OBJECTS --node worker-1 -o json").ends(0).silent();
    assert!(!json.out.contains(SECRET), "{json:?}");
    let answer = json.json();
    assert_eq!((answer["present"].as_bool(), answer["node"].as_str()), (Some(true), Some("worker-1")));
    assert_eq!(answer["places"][0]["name"], "Global_10_0_0_254");
    assert_eq!(answer["because"][0]["rule"], "peer-address");
    assert_eq!(answer["because"][0]["object"], "BGPPeer switch");
}

#[test]
fn what_is_absent_is_an_answer_and_no_failure() {
    let bench = Bench::new();
    for (line, words) in [
        ("explain peer 10.9.9.9", "no node has the address 10.9.9.9"),
        ("explain route 10.96.0.1", "does not originate 10.96.0.1/32"),
        ("explain filter swich", "there is no BGPFilter swich"),
        ("explain node worker-3", "there is node worker-2"),
    ] {
        let line = format!("{line} --objects OBJECTS --node worker-1");
        bench.run(&line).ends(0).silent().prints("ABSENT: ").prints(words);
    }
}

#[test]
fn objects_that_are_left_out_are_reported_as_ever() {
    let bench = Bench::new();
    bench.put(
        "objects/typo.yaml",
        "apiVersion: crd.projectcalico.org/v1\nkind: BGPPeer\nmetadata: {name: typo}\nspec: {peerIP: 10.0.0.300}\n",
    );
    let told = bench.run("explain peer 10.0.0.30 --objects OBJECTS --node worker-1").ends(3);
    told.tells("typo.yaml").prints("BGPPeer typo  [report]").prints("10.0.0.300");
}

#[test]
fn what_could_not_be_read_is_noted() {
    let bench = Bench::new();
    bench.put("objects/torn.yaml", "kind: [\n");
    let told = bench.run("explain peer 10.9.9.9 --objects OBJECTS --node worker-1 -o json").ends(3);
    let notes = told.json()["notes"].to_string();
    assert!(notes.contains("not read") && notes.contains("torn.yaml"), "{notes}");
}

#[test]
fn what_is_no_question_is_refused() {
    let bench = Bench::new();
    bench
        .run("explain peer worker-2 --objects OBJECTS --node worker-1")
        .ends(2)
        .tells("node NAME")
        .prints_nothing();
    bench.run("explain route 10.0.0.0/40 --objects OBJECTS --node worker-1").ends(2).tells("10.0.0.0/40");
    bench.run("explain bgppeer x --objects OBJECTS --node worker-1").ends(2).prints_nothing();
    bench.run("explain peer 10.0.0.2 --objects OBJECTS").ends(2).prints_nothing();
    bench.run("explain peer 10.0.0.2 --objects OBJECTS --node worker-11").ends(1).tells("worker-1");
    bench.run("explain peer 10.0.0.2 --objects OBJECTS --node a --http 127.0.0.1:1").ends(2).prints_nothing();
}

#[test]
fn without_objects_a_daemon_is_asked_and_must_be_there() {
    let bench = Bench::new();
    // Nobody listens on the port of discarded bytes.
    bench.run("explain peer 10.0.0.2 --http 127.0.0.1:9").ends(1).tells("127.0.0.1:9 does not answer");
    bench.run("explain peer 10.0.0.2 --plugin p.wasm").ends(1).tells("--plugin");
}
