//! The conformance cases: a cluster's objects, and the files that existing clusters run with them.
//!
//! The cases are a folder of their own, named by `TAILORBIRD_CONFORMANCE` or beside the repository
//! (`../shared/conformance`). Without it these tests pass and say that they compared nothing.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;

use support::bird::Birds;
use support::cases::{Case, Step, cases};
use support::rendered::{self, Files, renderer};
use support::tokens;
use tailorbird::engine::Engine;
use tailorbird::types::Name;

/// Compares what is rendered after a step; the differences go to `failures`.
fn compare(case: &Case, step: &Step, files: &Files, how: &str, failures: &mut Vec<String>) -> usize {
    let folder = case.folder.join(&step.expect);
    let name = case.folder.file_name().unwrap().to_str().unwrap();
    let mut compared = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        compared += 1;
        let expected = fs::read_to_string(&path).unwrap();
        let actual = files.get(file).map_or("", String::as_str);
        if let Err(difference) = tokens::compare(&expected, actual) {
            failures.push(format!("{name}, {}, {how}: {file}: {difference}", step.expect.display()));
        }
    }
    compared
}

/// Every step of every case, on one engine that is fed step by step, and on one that is fed all at once.
#[test]
fn every_case_is_equal_token_by_token() {
    let (mut failures, mut steps, mut compared) = (Vec::new(), 0, 0);
    for case in cases() {
        let node: Name = case.file.node.parse().unwrap();
        let mut engine = Engine::new(case.settings(&node));
        let mut incremental = renderer(&node);
        for (index, step) in case.file.step.iter().enumerate() {
            incremental.note(&case.apply(&mut engine, step));
            let files = rendered::files(&mut incremental, engine.snapshot());
            compared += compare(&case, step, &files, "step by step", &mut failures);
            let mut scratch = Engine::new(case.settings(&node));
            for step in &case.file.step[..=index] {
                case.apply(&mut scratch, step);
            }
            let from_scratch = rendered::files(&mut renderer(&node), scratch.snapshot());
            assert_eq!(files, from_scratch, "{}: incremental and from scratch", case.folder.display());
            steps += 1;
        }
    }
    println!("{steps} steps, {compared} files compared, {} differ", failures.len());
    assert!(failures.is_empty(), "{}\n{} files differ", failures.join("\n"), failures.len());
}

/// Every case on every node of it, and what BIRD says of the set.
#[test]
fn bird_accepts_every_case_on_every_node() {
    let Some(birds) = Birds::find() else {
        println!("SKIPPED: there is no bird and bird6 (TAILORBIRD_BIRD1, or on the PATH)");
        return;
    };
    let (mut failures, mut sets) = (Vec::new(), 0);
    for case in cases() {
        case.on_every_node(|node| {
            let mut engine = Engine::new(case.settings(node));
            let mut renderer = renderer(node);
            for step in &case.file.step {
                renderer.note(&case.apply(&mut engine, step));
            }
            sets += 1;
            if let Err(words) = birds.check(&rendered::files(&mut renderer, engine.snapshot())) {
                failures.push(format!("{} on {node}: {words}", case.folder.display()));
            }
            engine
        });
    }
    println!("{sets} sets checked, {} refused", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
