//! `tailorbird bench`: what it prints, and never how long anything took.

use std::collections::BTreeSet;
use std::fs;

use crate::common::Bench;

#[test]
fn a_cluster_is_generated() {
    let bench = Bench::new();
    let line = "bench generate --nodes 12 --topology top-of-rack --services 5 --slices 2 --out made/cluster";
    bench
        .run(line)
        .ends(0)
        .silent()
        .prints("     12  made/cluster/30-nodes.yaml\n")
        .prints("of which 12 are nodes\n");
    bench.run("check --objects made/cluster --node node-00011").ends(0).silent();

    // It is not written over, and nothing is left beside it.
    bench.run(line).ends(1).prints_nothing().tells("--out made/cluster is there already");
    let beside: Vec<_> =
        fs::read_dir(bench.path("made")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside, ["cluster"]);

    let all = bench.run("bench generate --nodes 12 --seed 7 --out other -o json").ends(0).silent().json();
    assert_eq!((&all["nodes"], &all["seed"]), (&12.into(), &7.into()));
    let files = all["files"].as_array().unwrap();
    let paths: BTreeSet<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert!(paths.contains("other/70-bgppeers.yaml"), "{paths:?}");
    let sum: u64 = files.iter().map(|file| file["objects"].as_u64().unwrap()).sum();
    assert_eq!(all["objects"], sum);
}

#[test]
fn a_cluster_that_cannot_be_is_not_generated() {
    let bench = Bench::new();
    for (line, code, words) in [
        ("--nodes 0", 2, "1..=20000"),
        ("--nodes 20001", 2, "1..=20000"),
        ("--nodes 9 --zones 0", 1, "zones is 0, but it must be 1 to 200"),
        ("--nodes 9 --pools 0", 1, "pools is 0"),
        ("--nodes 9 --slices 1000", 1, "slices_per_service is 1000"),
    ] {
        bench.run(&format!("bench generate --out made {line}")).ends(code).prints_nothing().tells(words);
        assert!(!bench.path("made").exists(), "{line}");
    }
}
