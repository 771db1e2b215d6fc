//! Signals, logs, and what an idle daemon costs.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::world::{World, configuration, peer, until};

#[test]
fn it_ends_within_five_seconds_even_while_a_check_hangs() {
    let world = World::new();
    world.bench.put(
        "tailorbird.toml",
        &crate::world::QUICK.replace("check_timeout = \"1s\"", "check_timeout = \"1h\""),
    );
    let _birds = world.birds();
    let mut daemon = world.start();
    daemon.ready();
    let before = world.out("bird.cfg");
    let pid = world.path("pid");
    // It ends with this test, not an hour later.
    world.bench.daemon("bird", &format!("echo $$ > {}; exec sleep 60", pid.display()));
    world.put_peer("extra.yaml", "10.9.0.1");
    until("the check hangs", || fs::read_to_string(&pid).ok().filter(|text| text.ends_with('\n')));
    daemon.unready("a check or a reload has been going on");
    assert_eq!(daemon.get("/livez").0, 200);
    let begin = Instant::now();
    daemon.signal(Signal::TERM);
    let status = daemon.end();
    assert!(status.success(), "{status}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(world.out("bird.cfg"), before);
    // The next start cleans up and goes on.
    world.bench.daemon("bird", "exit 0");
    let daemon = world.start();
    daemon.ready();
    world.shows("bird.cfg", "10.9.0.1", true);
}

#[test]
fn an_idle_daemon_ends_at_once() {
    for signal in [Signal::TERM, Signal::INT] {
        let world = World::new();
        let _birds = world.birds();
        let mut daemon = world.start();
        daemon.ready();
        let begin = Instant::now();
        daemon.signal(signal);
        assert!(daemon.end().success());
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        assert!(daemon.log().contains("ends"));
    }
}

#[test]
fn a_hangup_reads_everything_again() {
    let world = World::new();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    daemon.signal(Signal::HUP);
    daemon.logs("templates reloaded");
    daemon.logs("configuration reloaded");
    daemon.ready();
}

#[test]
fn a_hangup_looks_at_files_whose_changes_nobody_tells() {
    let world = World::new();
    let _birds = world.birds();
    // The file lies elsewhere, so the folder does not change with it.
    let elsewhere = world.bench.put("elsewhere/extra.yaml", "");
    std::os::unix::fs::symlink(&elsewhere, world.path("objects/extra.yaml")).unwrap();
    let daemon = world.start();
    daemon.ready();
    // Without the signal it would be found too, after up to ten seconds.
    let begin = Instant::now();
    for number in 1..=5 {
        let address = format!("10.9.0.{number}");
        fs::write(&elsewhere, peer(&address)).unwrap();
        daemon.signal(Signal::HUP);
        world.shows("bird.cfg", &address, true);
    }
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn logs_follow_the_severity_of_the_objects_and_can_be_json() {
    let world = World::new();
    let _birds = world.birds();
    let mut command = world.command();
    command.args(["--log-format", "json"]);
    let daemon = world.start_as(command);
    daemon.ready();
    daemon.logs("in force");
    for line in daemon.log().lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(
            event["level"].is_string() && event["timestamp"].is_string() && event["message"].is_string(),
            "{line}"
        );
    }
    let severity = |severity: &str| {
        world.put_object("log.yaml", &configuration(&format!("logSeverityScreen: {severity}")));
    };
    let in_force = || daemon.log().matches("\"in force\"").count();
    severity("Error");
    world.shows("bird.cfg", "debug", false);
    daemon.ready();
    let quiet = in_force();
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    daemon.ready();
    assert_eq!(in_force(), quiet, "what goes well is not logged at this level");
    severity("Info");
    until("it is logged again", || (in_force() > quiet).then_some(()));
}

#[test]
fn an_idle_daemon_sleeps() {
    let world = World::new();
    world.bench.put("tailorbird.toml", "");
    let birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    let switches = || -> u64 {
        let threads = fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap();
        let of = |folder: fs::DirEntry| {
            // A thread may end between the two.
            let text = fs::read_to_string(folder.path().join("status")).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            line.trim().parse::<u64>().ok()
        };
        threads.filter_map(|entry| of(entry.unwrap())).sum()
    };
    // From a look at BIRD to the next but one: it is the rate over time that is promised. On a machine with much to do a
    // thread sleeps at locks that are held for an instant, too: then it is the next time that counts.
    birds[1].looked(1);
    let mut rates = Vec::new();
    while rates.len() < 6 && rates.iter().all(|rate| *rate > 2.0) {
        let (before, begin) = (switches(), Instant::now());
        birds[1].looked(2);
        rates.push((switches() - before) as f64 / begin.elapsed().as_secs_f64());
    }
    assert!(rates.iter().any(|rate| *rate <= 2.0), "{rates:?} voluntary context switches a second");
}
