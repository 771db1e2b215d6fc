//! When something is rendered, and with what.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::CLUSTER;
use crate::component::Guest;
use crate::world::{Daemon, QUICK, World, configuration, peer, put_plugin, put_template, until};

/// A plugin that breaks when it is asked about many sessions at once.
fn fragile(sessions: usize) -> Vec<u8> {
    let body = format!(
        "(if (i32.ge_u (i32.load offset=12 (local.get 0)) (i32.const {sessions})) (then (unreachable))) (i32.const 1024)"
    );
    Guest::new("p", "filter-plugin").body("filter#rules", &body).component()
}

fn with_plugin(world: &World, component: &[u8], more: &str) {
    put_plugin(world, "p.wasm", component);
    world.bench.put("tailorbird.toml", &format!("[[plugin]]\npath = \"p.wasm\"\n{more}\n{QUICK}"));
}

/// Peers from `first` on, in one file.
fn put_peers(world: &World, first: usize, count: usize) {
    let peers: Vec<String> = (first..first + count).map(|last| peer(&format!("10.9.0.{last}"))).collect();
    world.put_object("peers.yaml", &peers.join("---\n"));
}

#[test]
fn what_forbids_to_render_is_not_passed_by_reading_other_things_again() {
    let (_, without_node) = CLUSTER.split_once("---\n").unwrap();
    let off = "nodeToNodeMeshEnabled: false";
    for (file, good, bad, told) in [
        ("bgp.yaml", configuration(off), configuration(&format!("{off}, asNumber: banana")), "banana"),
        ("cluster.yaml", CLUSTER.to_owned(), without_node.to_owned(), "there is no node worker-1"),
    ] {
        let world = World::new();
        world.put_object(file, &good);
        let _birds = world.birds();
        let daemon = world.start();
        daemon.ready();
        let before = world.out("bird.cfg");
        world.put_object(file, &bad);
        daemon.unready(told);
        daemon.signal(Signal::HUP);
        daemon.unready("templates: not tried yet");
        daemon.unready("configuration: not tried yet");
        daemon.unready(told);
        assert_eq!(world.out("bird.cfg"), before, "{told}");
        world.put_object(file, &good);
        daemon.ready();
        daemon.logs("configuration reloaded");
        assert_eq!(world.out("bird.cfg"), before, "{told}");
    }
}

#[test]
fn a_daemon_that_may_not_render_sleeps_also_after_a_round_that_was_abandoned() {
    let world = World::new();
    with_plugin(&world, &fragile(5), "");
    let [bird, _six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    put_peers(&world, 1, 6);
    daemon.unready("plugin p: filter.rules");
    world.put_object("bgp.yaml", &configuration("asNumber: banana"));
    daemon.unready("banana");
    // Longer than any wait for another attempt.
    bird.looked(20);
    let used = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", daemon.id())).unwrap();
        let (_, rest) = stat.rsplit_once(')').unwrap();
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        // Linux counts it in hundredths of a second.
        Duration::from_millis(ticks * 10)
    };
    let (before, begin) = (used(), Instant::now());
    bird.looked(10);
    let (used, took) = (used() - before, begin.elapsed());
    assert!(used < took / 5, "{used:?} of {took:?}");
}

#[test]
fn plugins_are_used_from_the_first_rendering_on_that_succeeds_with_them() {
    let world = World::new();
    let whole = Guest::new("p", "filter-plugin").component();
    with_plugin(&world, &whole, "");
    let _birds = world.birds();
    put_peers(&world, 1, 8);
    let daemon = world.start();
    daemon.ready();
    let digest = || daemon.status()["plugins"][0]["sha256"].as_str().unwrap().to_owned();
    let first = digest();

    // It breaks at the objects of now, and not at others: it is tried again by itself.
    put_plugin(&world, "p.wasm", &fragile(7));
    daemon.unready("configuration: plugin p: filter.rules");
    world.put_peer("extra.yaml", "10.8.0.1");
    world.shows("bird.cfg", "10.8.0.1", true);
    assert_eq!(digest(), first);
    put_peers(&world, 1, 1);
    until("the other plugin is in use", || (digest() != first).then_some(()));
    daemon.ready();
    let second = digest();

    // What comes while nothing can be rendered is tried when something can, and what was in use is until then.
    fs::rename(world.path("objects"), world.path("away")).unwrap();
    daemon.unready("source files");
    put_plugin(&world, "p.wasm", &fragile(0));
    daemon.unready("configuration: not tried yet");
    fs::rename(world.path("away"), world.path("objects")).unwrap();
    daemon.unready("configuration: plugin p: filter.rules");
    world.put_peer("extra.yaml", "10.8.0.2");
    world.shows("bird.cfg", "10.8.0.2", true);
    assert_eq!(digest(), second);
    put_plugin(&world, "p.wasm", &whole);
    until("the first plugin is in use again", || (digest() == first).then_some(()));
    daemon.ready();
}

/// Waits until the plugin has failed so often: after five times it is left alone for 4 s.
fn failures(daemon: &Daemon, least: u64) {
    until(&format!("the plugin has failed {least} times"), || {
        (daemon.status()["plugins"][0]["failures"].as_u64()? >= least).then_some(())
    });
}

#[test]
fn a_plugin_that_failed_is_asked_again_without_any_change() {
    for on_error in ["reject", "skip"] {
        let world = World::new();
        with_plugin(&world, &fragile(5), &format!("on_error = \"{on_error}\""));
        let _birds = world.birds();
        let daemon = world.start();
        daemon.ready();
        put_peers(&world, 1, 8);
        daemon.unready("plugin p: filter.rules: wasm trap");
        world.shows("bird.cfg", "10.9.0.8", true);
        failures(&daemon, 5);
        // So few are no reason to break, but it is not asked now.
        put_peers(&world, 11, 2);
        daemon.unready("plugin p: filter.rules: is in quarantine");
        world.shows("bird.cfg", "10.9.0.11", true);
        world.shows("bird.cfg", "10.9.0.8", false);
        daemon.ready();
        assert_eq!(daemon.status()["plugins"][0]["error"], serde_json::Value::Null);
        world.shows("bird.cfg", "10.9.0.11", true);
        // Only what is news is logged.
        let log = daemon.log();
        for text in ["filter.rules: wasm trap", "is in quarantine"] {
            let lines = log.lines().filter(|line| line.contains("WARN") && line.contains(text));
            assert_eq!(lines.count(), 1, "{text}: {log}");
        }
    }
}

/// A plugin whose function breaks at an AS number.
fn picky(number: u32) -> Vec<u8> {
    let body = format!(
        "(if (i64.eq (i64.load offset=8 (local.get $ptr)) (i64.const {number})) (then (unreachable))) (i32.const 1024)"
    );
    Guest::function("p", &body).component()
}

#[test]
fn a_group_whose_function_failed_is_rendered_again_without_any_change() {
    let world = World::new();
    with_plugin(&world, &picky(65099), "");
    let template = "{{#each_item peers}}\n{{ip}}{{#if (f as_number)}} f{{/if}}\n{{/each_item}}";
    put_template(&world, "b", template);
    put_template(&world, "a", "{{#each_item peers}}{{ip}}\n{{/each_item}}");
    let mut command = world.command();
    command.arg("--confdir").arg(world.path("confdir"));
    let daemon = world.start_as(command);
    daemon.ready();
    world.put_object("extra.yaml", &peer("10.9.0.1").replace("65001", "65099"));
    let reason = daemon.unready("wasm trap");
    failures(&daemon, 5);
    assert!(reason.contains("group b.txt: failed at render") && !reason.contains("group a.txt"), "{reason}");
    world.shows("a.txt", "10.9.0.1", true);
    let attempts = || {
        let (_, text) = daemon.get("/metrics");
        let sample = "tailorbird_group_failures_total{group=\"b.txt\",step=\"render\"} ";
        let count = text.lines().find_map(|line| line.strip_prefix(sample)).unwrap().to_owned();
        count.parse::<u64>().unwrap()
    };
    let status = daemon.status();
    assert!(attempts() <= daemon.status()["rounds"].as_u64().unwrap(), "what is no rendering is no attempt");
    // What failed is told of the plugin as well.
    let plugin = &status["plugins"][0];
    assert!(plugin["error"].as_str().unwrap().contains("functions.call: `f`"), "{plugin}");
    // It would succeed now, but is not asked.
    world.put_object("extra.yaml", &peer("10.9.0.2"));
    daemon.unready("is in quarantine");
    world.shows("a.txt", "10.9.0.2", true);
    world.shows("b.txt", "10.9.0.2", true);
    daemon.ready();
}

#[test]
fn a_plugin_without_which_nothing_is_rendered_shows_its_failures() {
    let world = World::new();
    with_plugin(&world, &fragile(5), "");
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    let calls = daemon.status()["plugins"][0]["calls"].as_u64().unwrap();
    put_peers(&world, 1, 6);
    failures(&daemon, 3);
    let status = daemon.status();
    let plugin = &status["plugins"][0];
    assert!(plugin["calls"].as_u64() >= Some(calls + 3), "{plugin}");
    assert!(plugin["error"].as_str().unwrap().contains("filter.rules: wasm trap"), "{plugin}");
    // Told once, as the reason why nothing is rendered.
    let (_, reasons) = daemon.get("/readyz");
    assert_eq!(reasons.matches("plugin p").count(), 1, "{reasons}");
    put_peers(&world, 1, 1);
    daemon.ready();
    assert_eq!(daemon.status()["plugins"][0]["error"], serde_json::Value::Null);
}

#[test]
fn limits_that_are_too_narrow_for_what_there_is_are_not_taken() {
    let world = World::new();
    let rules = "(local $n i32) (local.set $n (i32.const 10000))
        (loop $on (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br_if $on (local.get $n)))
        (i32.const 1024)";
    let guest = Guest::new("p", "filter-plugin").body("filter#rules", rules).component();
    with_plugin(&world, &guest, "");
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    with_plugin(&world, &guest, "[plugin.limits]\nfuel_per_call = 5000\nfuel_per_item = 0\n");
    daemon.unready("configuration: plugin p: filter.rules: used up its fuel of 5000");
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    with_plugin(&world, &guest, "");
    daemon.ready();
}

#[test]
fn what_is_left_out_and_what_forbids_to_render_is_logged_once() {
    let world = World::new();
    let [bird, _six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    world.put_object("extra.yaml", &peer("10.9.0.7").replace("65001", "nonsense"));
    daemon.logs("left out: ");
    bird.looked(3);
    world.put_peer("other.yaml", "10.9.0.8");
    world.shows("bird.cfg", "10.9.0.8", true);
    world.put_peer("extra.yaml", "10.9.0.7");
    daemon.logs("no longer so: ");
    world.put_object("bgp.yaml", &configuration("asNumber: banana"));
    daemon.unready("banana");
    world.put_peer("other.yaml", "10.9.0.9");
    world.put_object("bgp.yaml", "");
    daemon.logs("nothing forbids to render any more");
    daemon.ready();
    let log = daemon.log();
    let lines = |text: &str, name: &str| {
        log.lines().filter(|line| line.contains(text) && line.contains(name)).count()
    };
    for (text, name) in [
        ("left out: ", "p-10-9-0-7"),
        ("no longer so: ", "p-10-9-0-7"),
        ("nothing is rendered, and the files stay: ", "banana"),
    ] {
        assert_eq!(lines(text, name), 1, "{text}{name}: {log}");
    }
}

#[test]
fn a_change_is_old_until_it_is_in_force_whatever_is_in_its_way() {
    let world = World::new();
    with_plugin(&world, &fragile(5), "");
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    let age = || {
        let (_, text) = daemon.get("/metrics");
        let age = text.lines().find_map(|line| line.strip_prefix("tailorbird_oldest_change_age_seconds "));
        age.unwrap().parse::<f64>().unwrap()
    };
    // A plugin fails.
    put_peers(&world, 1, 6);
    daemon.unready("plugin p: filter.rules");
    until("the change is a second old", || (age() >= 1.0).then_some(()));
    put_peers(&world, 1, 1);
    daemon.ready();
    assert_eq!(age(), 0.0);
    // Nothing may be rendered.
    world.put_object("bgp.yaml", &configuration("asNumber: banana"));
    daemon.unready("banana");
    until("the change is a second old", || (age() >= 1.0).then_some(()));
    world.put_object("bgp.yaml", "");
    daemon.ready();
    assert_eq!(age(), 0.0);
}

#[test]
fn counters_of_plugins_and_groups_go_with_them() {
    let world = World::new();
    with_plugin(&world, &Guest::new("p", "filter-plugin").component(), "");
    put_template(&world, "a", "{{#each_item peers}}{{ip}}\n{{/each_item}}");
    put_template(&world, "b", "{{#each_item peers}}");
    let mut command = world.command();
    command.arg("--confdir").arg(world.path("confdir"));
    let daemon = world.start_as(command);
    daemon.unready("group b.txt: failed at render");
    let text = daemon.get("/metrics").1;
    for sample in [
        "tailorbird_plugin_calls_total{plugin=\"p\"} ",
        "tailorbird_plugin_fuel_total{plugin=\"p\"} ",
        "tailorbird_plugin_failures_total{plugin=\"p\"} 0",
        "tailorbird_written_revision{group=\"b.txt\"} ",
        "tailorbird_group_failures_total{group=\"b.txt\",step=\"render\"} 1",
    ] {
        assert!(text.lines().any(|line| line.starts_with(sample)), "{sample} is missing: {text}");
    }
    world.bench.put("tailorbird.toml", QUICK);
    fs::remove_file(world.path("confdir/conf.d/b.toml")).unwrap();
    until("nothing is told of them", || {
        let text = daemon.get("/metrics").1;
        (!text.contains("plugin=\"p\"") && !text.contains("b.txt")).then_some(())
    });
    daemon.ready();
}
