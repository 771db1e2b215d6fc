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

/// The lines of the table with this title, up to the empty line behind it.
fn table<'a>(out: &'a str, title: &str) -> Vec<&'a str> {
    let lines: Vec<&str> =
        out.lines().skip_while(|line| !line.starts_with(title)).take_while(|line| !line.is_empty()).collect();
    assert!(!lines.is_empty(), "no table `{title}` in:\n{out}");
    lines[1..].to_vec()
}

/// A row's median and 99th percentile are times that were measured.
fn plausible(row: &serde_json::Value) {
    assert!(row["samples"].as_u64().unwrap() > 0, "{row}");
    assert!(row["median_ns"].as_u64().unwrap() <= row["p99_ns"].as_u64().unwrap(), "{row}");
}

fn names<'a>(rows: &'a serde_json::Value, field: &str) -> Vec<&'a str> {
    rows.as_array().unwrap().iter().map(|row| row[field].as_str().unwrap()).collect()
}

#[test]
fn a_rendering_is_measured() {
    let bench = Bench::new();
    bench.run("bench generate --nodes 9 --out made").ends(0);
    fs::create_dir(bench.path("disk")).unwrap();
    let line = "bench render --objects made --node node-00002 --runs 2 --disk disk";
    let ran = bench.run(line).ends(0);
    let phases = table(&ran.out, "phase");
    for (row, start) in phases.iter().zip([
        "read the objects ",
        "load the templates ",
        "engine",
        "plugins",
        "templates",
        "stage and swap",
        "check ",
        "from objects in memory",
        "the same texts",
        "floor: the disk alone",
    ]) {
        assert!(row.starts_with(start), "{row}");
    }
    assert_eq!(phases.len(), 10);
    assert!(phases[9].contains(" 1.00 x "), "the floor is its own measure: {}", phases[9]);
    let templates = table(&ran.out, "template ");
    assert_eq!(templates.len(), 6);
    assert!(templates[0].starts_with("bird.cfg of ") && templates[0].contains(" items, "), "{templates:?}");
    assert!(table(&ran.out, "selector").iter().any(|row| row.contains(" of 9 nodes")));
    for words in [
        "A rendering from nothing takes ",
        "The slowest template is bird",
        "No plugin is asked.",
        "The slowest selector is \"",
    ] {
        assert!(ran.out.lines().any(|line| line.starts_with(words)), "{words}: {}", ran.out);
    }
    assert_eq!(fs::read_dir(bench.path("disk")).unwrap().count(), 0, "nothing is left on the disk");
    assert!(!ran.out.contains('\r') && !ran.err.contains('\r'), "progress is for terminals");

    let all = bench.run(&format!("{line} -o json")).ends(0).json();
    for list in ["phases", "templates", "selectors"] {
        all[list].as_array().unwrap().iter().for_each(plausible);
    }
    assert_eq!((&all["node"], &all["folder"]), (&"node-00002".into(), &"disk".into()));
    let whole: f64 =
        all["templates"].as_array().unwrap().iter().map(|row| row["share"].as_f64().unwrap()).sum();
    assert!((whole - 1.0).abs() < 1e-6, "shares of templates make up all: {whole}");
    let written: u64 =
        all["templates"].as_array().unwrap().iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
    assert_eq!(all["bytes"], written);
    assert!(written > 1000);
}

#[test]
fn each_kind_of_change_is_measured() {
    let bench = Bench::new();
    bench.run("bench generate --nodes 30 --topology top-of-rack --racks 2 --out made").ends(0);
    let line = "bench change --objects made --node node-00000 --runs 2 --disk .";
    let all = bench.run(&format!("{line} -o json")).ends(0).json();
    let kinds = [
        "node address",
        "node label",
        "peer",
        "filter",
        "service",
        "slice",
        "pool",
        "block",
        "configuration",
        "secret",
        "templates, all anew",
    ];
    assert_eq!(names(&all["changes"], "what"), kinds);
    assert_eq!(all["missing"], serde_json::json!([]));
    for change in all["changes"].as_array().unwrap() {
        plausible(change);
        for phase in ["engine", "plugins", "templates", "files"] {
            plausible(&change["phases"][phase]);
        }
    }
    let of =
        |what: &str| all["changes"].as_array().unwrap().iter().find(|change| change["what"] == what).unwrap();
    // A node without a mesh has no session with another node, so its files do not change.
    assert_eq!(
        (&of("node address")["bytes"], &of("node address")["of_floor"]),
        (&0.into(), &serde_json::Value::Null)
    );
    for what in
        ["peer", "filter", "service", "pool", "block", "configuration", "secret", "templates, all anew"]
    {
        assert!(of(what)["bytes"].as_u64().unwrap() > 0, "{}", of(what));
        assert!(of(what)["of_floor"].as_f64().unwrap() > 0.0, "{}", of(what));
    }
    assert_eq!(of("service")["work"]["services_computed"], 1);
    assert_eq!(of("peer")["work"]["items_rendered"], 1);
    let ran = bench.run(line).ends(0);
    assert_eq!(table(&ran.out, "change, to files in place").len(), kinds.len());
    assert!(ran.out.contains("\nThe slowest change is that of a "), "{}", ran.out);
}

#[test]
fn changes_that_the_objects_do_not_allow_are_named() {
    let bench = Bench::new();
    let ran = bench.run("bench change --objects OBJECTS --node worker-1 --runs 1").ends(0);
    assert!(
        ran.out.contains("Not measured, because no object can be changed so: node label, filter, service, slice, block, configuration."),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("BGPPeer switch: "), "{}", ran.out);
    for out in [&ran.out, &ran.err] {
        assert!(!out.contains(crate::common::SECRET) && !out.contains("another-password"));
    }
}

#[test]
fn memory_is_measured() {
    let bench = Bench::new();
    let line = "bench memory --objects OBJECTS --node worker-1";
    let all = bench.run(&format!("{line} -o json")).ends(0).silent().json();
    assert_eq!(all["nodes"], 2);
    let stages = all["stages"].as_array().unwrap();
    assert_eq!(names(&all["stages"], "what").len(), 3);
    for stage in stages {
        assert!(
            0 < stage["resident"].as_u64().unwrap() && stage["resident"].as_u64() <= stage["peak"].as_u64(),
            "{stage}"
        );
    }
    let ran = bench.run(line).ends(0).silent().prints("The cluster has 2 nodes, and the files have ");
    assert_eq!(table(&ran.out, "memory after").len(), 3);
}

#[test]
fn what_cannot_be_measured_is_said() {
    let bench = Bench::new();
    bench.put("empty/conf.d/note", "");
    bench.put("broken/conf.d/x.toml", "[template]\nsrc = \"x.hbs\"\ndest = \"/x\"\n");
    for (line, code, words) in [
        ("render --objects OBJECTS --node worker-3", 1, "there is no node worker-3 among the 2 nodes"),
        ("render --objects nowhere --node worker-1", 1, "nowhere: there is no such file or folder"),
        ("render --objects - --node worker-1", 1, "--objects -: standard input can be read once only"),
        ("render --node worker-1", 2, "--objects"),
        (
            "render --objects OBJECTS --node worker-1 --disk nowhere",
            1,
            "--disk nowhere: no files can be written there",
        ),
        ("render --objects OBJECTS --node worker-1 --runs 0", 2, "1..=10000"),
        (
            "render --objects OBJECTS --node worker-1 --confdir empty",
            1,
            "there is no template resource (*.toml) in empty/conf.d",
        ),
        ("change --objects OBJECTS --node worker-1 --confdir broken", 1, "x.toml: `src`"),
        ("plugins --objects OBJECTS --node worker-1", 1, "there is no plugin to measure"),
        ("memory --objects nowhere --node worker-1", 1, "nowhere: there is no such file or folder"),
    ] {
        bench.run(&format!("bench {line}")).ends(code).prints_nothing().tells(words);
    }
    // As with other commands, the rest is worked on, and the exit code says so.
    bench.put(
        "objects/bad.yaml",
        "apiVersion: crd.projectcalico.org/v1\nkind: BGPPeer\nmetadata: {name: bad}\nspec: {peerIP: x}\n",
    );
    bench
        .run("bench render --objects OBJECTS --node worker-1 --runs 1")
        .ends(3)
        .tells("BGPPeer bad: spec.peerIP");
    // What a checker refuses is no set of files that could be put in place.
    bench.put("objects/bad.yaml", "");
    bench.daemon("bird", "echo 'line 1: no' >&2; exit 1");
    bench
        .run("bench render --objects OBJECTS --node worker-1 --runs 1")
        .ends(1)
        .prints_nothing()
        .tells("line 1: no");
}
