//! `render` and `check`: what is put in place, and what the checkers have to say about it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::{Bench, FILES, Ran, names};

#[test]
fn the_folder_is_made_and_holds_the_set() {
    let bench = Bench::new();
    bench
        .run("render --objects OBJECTS --node worker-1 --out out/deep")
        .ends(0)
        .silent()
        .prints("accepted by");
    let out = bench.out().join("deep");
    for file in FILES {
        assert!(fs::metadata(out.join(file)).unwrap().is_file(), "{file}");
    }
    let main = fs::read_to_string(out.join("bird.cfg")).unwrap();
    assert!(main.contains("router id 10.0.0.1;") && main.contains("neighbor 10.0.0.254 as 65001;"), "{main}");
}

#[test]
fn a_second_run_touches_nothing() {
    let bench = Bench::new();
    let line = "render --objects OBJECTS --node worker-1 --out OUT";
    bench.run(line).ends(0);
    let stamp = || {
        let all = names(&bench.out()).into_iter().map(|name| {
            let found = fs::symlink_metadata(bench.out().join(&name)).unwrap();
            (name, found.ino(), found.ctime_nsec(), found.mtime_nsec())
        });
        all.collect::<Vec<_>>()
    };
    let before = stamp();
    // Nothing new: nothing to check.
    bench.daemon("bird", "exit 1");
    let ran = bench.run(line).ends(0).silent().prints("bird: unchanged\n").prints("bird6: unchanged\n");
    assert_eq!(ran.out.matches("  unchanged  ").count(), 6);
    assert_eq!(stamp(), before);
}

#[test]
fn json_tells_the_same() {
    let bench = Bench::new();
    let line = "render --objects OBJECTS --node worker-1 --out OUT -o json";
    let first = bench.run(line).ends(0).silent().json();
    assert_eq!(first["node"], "worker-1");
    assert_eq!(first["reports"], json!([]));
    let group = &first["groups"][0];
    assert_eq!((&group["name"], &group["check"]["verdict"]), (&json!("bird"), &json!("accepted")));
    assert_eq!(group["check"]["checkers"], json!([bench.path("birds/bird")]));
    let file = &group["files"][0];
    assert_eq!(file["path"], json!(bench.out().join("bird.cfg")));
    assert_eq!(file["bytes"], fs::read(bench.out().join("bird.cfg")).unwrap().len());
    assert_eq!(file["written"], true);
    let second = bench.run(line).ends(0).json();
    assert_eq!(second["groups"][1]["check"]["verdict"], "unchanged");
    assert_eq!(second["groups"][1]["files"][0]["written"], false);
}

#[test]
fn what_bird_refuses_is_not_swapped_and_the_other_group_is() {
    let bench = Bench::new();
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
    let before = bench.set();
    bench.daemon("bird", "echo \"$3:1:7 syntax error, unexpected CF_SYM\"; exit 1");
    let ran = bench.run("render --objects OBJECTS --node worker-2 --out OUT").ends(1);
    let main = bench.out().join("bird.cfg");
    let ran = ran
        .tells(&format!("error: group bird was not changed: {}: the check `", main.display()))
        .tells(&format!("{}:1:7 syntax error, unexpected CF_SYM", main.display()))
        .tells("\n  line 1: ")
        .prints("bird: FAILED, nothing changed\nbird6: accepted by");
    assert!(!ran.err.contains("..bird@"), "the folder of staged files is nobody's business: {}", ran.err);
    let after = bench.set();
    assert_eq!(after["bird.cfg"], before["bird.cfg"]);
    assert_ne!(after["bird6.cfg"], before["bird6.cfg"]);
    let versions = names(&bench.out()).into_iter().filter(|name| name.contains('@'));
    assert_eq!(versions.count(), 2, "what was staged is gone");
    let all = bench.run("render --objects OBJECTS --node worker-2 --out OUT -o json").ends(1).json();
    assert!(all["groups"][0]["errors"][0].as_str().unwrap().contains("syntax error"), "{all:#}");
}

#[test]
fn at_a_first_start_too() {
    let bench = Bench::new();
    bench.daemon("bird", "echo no >&2; exit 1");
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(1).tells("no");
    assert_eq!(
        bench.set().into_keys().collect::<Vec<_>>(),
        ["bird6.cfg", "bird6_aggr.cfg", "bird6_ipam.cfg"]
    );
    bench
        .run("render --objects OBJECTS --node worker-1 --out OUT --no-check")
        .ends(0)
        .silent()
        .prints("NOT CHECKED");
    assert_eq!(bench.set().len(), 6);
}

#[test]
fn a_checker_that_hangs_is_stopped() {
    let bench = Bench::new();
    bench.daemon("bird", "echo thinking; sleep 600");
    let start = Instant::now();
    bench
        .run("render --objects OBJECTS --node worker-1 --out OUT --check-timeout 1")
        .ends(1)
        .tells("did not end within 1s and was stopped: thinking")
        .prints("bird: FAILED");
    assert!(start.elapsed() < Duration::from_secs(60));
    assert!(!bench.set().contains_key("bird.cfg"));
}

#[test]
fn without_bird_render_warns_and_check_fails() {
    let bench = Bench::new();
    let run = |line: &str| Ran::of(bench.command(line).env_remove("TAILORBIRD_BIRD1").env("PATH", "/nosuch"));
    run("render --objects OBJECTS --node worker-1 --out OUT")
        .ends(0)
        .tells("warning: group bird was not checked: ")
        .prints("bird: NOT CHECKED");
    run("check --objects OBJECTS --node worker-1").ends(1).tells("warning: group bird6 was not checked: ");
    // A `bird` without `bird6` beside it is of another version.
    fs::remove_file(bench.path("birds/bird6")).unwrap();
    let ran = Ran::of(
        bench
            .command("check --objects OBJECTS --node worker-1")
            .env_remove("TAILORBIRD_BIRD1")
            .env("PATH", bench.path("birds")),
    );
    ran.ends(1).tells("group bird was not checked");
    bench
        .run("check --objects OBJECTS --node worker-1")
        .ends(1)
        .tells("birds: there is no program bird6 in that folder")
        .prints("bird: accepted");
}

#[test]
fn check_puts_nothing_in_place_and_names_files_by_their_names() {
    let bench = Bench::new();
    let before = names(bench.path("").as_path());
    let temporary = bench.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let run = |line: &str| Ran::of(bench.command(line).env("TMPDIR", &temporary));
    let ran =
        run("check --objects OBJECTS --node worker-1").ends(0).silent().prints("  rendered   bird.cfg (");
    assert!(!ran.out.contains("tailorbird-check"), "{}", ran.out);
    let all = run("check --objects OBJECTS --node worker-1 -o json").ends(0).json();
    assert_eq!(all["groups"][1]["files"][0]["path"], "bird6.cfg");
    bench.daemon("bird6", "echo \"$3, line 2: no\"; exit 1");
    let ran = run("check --objects OBJECTS --node worker-1")
        .ends(1)
        .tells("error: group bird6 failed: bird6.cfg: ");
    assert!(
        ran.err.contains("bird6.cfg, line 2: no") && !ran.err.contains("tailorbird-check"),
        "{}",
        ran.err
    );
    assert_eq!(names(&temporary), Vec::<String>::new());
    fs::remove_dir(&temporary).unwrap();
    assert_eq!(names(bench.path("").as_path()), before);
}

/// A first line of defence against a wrong set: what BIRD sees is the whole set under the final names.
#[test]
fn the_checker_sees_the_whole_set() {
    let bench = Bench::new();
    bench.daemon("bird", "cd \"$(dirname \"$3\")\" && cat bird.cfg bird_aggr.cfg bird_ipam.cfg >/dev/null");
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
}
