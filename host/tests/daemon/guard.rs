//! A large removal is held.

use std::process::Command;

use crate::fake::Mode;
use crate::world::{Daemon, QUICK, World, configuration, peer, until};

/// A world whose node has 13 sessions, 12 of them from one file.
fn world() -> World {
    let world = World::new();
    let peers: Vec<String> = (1..=12).map(|last| peer(&format!("10.9.0.{last}"))).collect();
    world.put_object("peers.yaml", &peers.join("---\n"));
    world.bench.put("tailorbird.toml", &format!("{QUICK}[daemon.guard]\npeers = 0.8\n"));
    world
}

fn confirm(world: &World, daemon: &Daemon) -> String {
    let mut command: Command = world.bench.command(&format!("confirm --http {}", daemon.http));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The id of what is held of a group.
fn held(daemon: &Daemon, group: &str) -> String {
    daemon.group(group)["held"].as_str().unwrap().to_owned()
}

#[test]
fn a_large_removal_is_held_until_it_is_confirmed() {
    let world = world();
    let [bird, _six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    world.shows("bird.cfg", "10.9.0.12", true);
    assert_eq!(confirm(&world, &daemon), "nothing is held\n");

    world.put_object("peers.yaml", "");
    let reason = daemon.unready("group bird: held at guard: would remove 12 of 14 sessions at once");
    assert!(reason.contains("edit of a BGPConfiguration or BGPPeer"), "{reason}");
    world.shows("bird.cfg", "10.9.0.12", true);
    assert!(daemon.get("/metrics").1.contains("tailorbird_group_held{group=\"bird\"} 1"));
    assert_eq!(daemon.group("bird")["state"], "held");

    // BIRD refuses the first attempt: what was confirmed stays so.
    bird.set(Mode::Refuse);
    let id = held(&daemon, "bird");
    let said = confirm(&world, &daemon);
    let shown = format!("group bird: {} (id {id})", reason.split_once("guard: ").unwrap().1.trim());
    assert_eq!(said.lines().collect::<Vec<&str>>(), [shown.lines().next().unwrap(), "let through: bird"]);
    daemon.unready("group bird: failed at reload");
    bird.set(Mode::Fine);
    world.shows("bird.cfg", "10.9.0.12", false);
    daemon.ready();
}

#[test]
fn a_large_removal_is_forgotten_when_its_cause_goes() {
    let world = world();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    let peers = std::fs::read_to_string(world.path("objects/peers.yaml")).unwrap();
    world.put_object("peers.yaml", "");
    daemon.unready("held at guard");
    world.put_object("peers.yaml", &peers);
    daemon.ready();
    world.shows("bird.cfg", "10.9.0.12", true);
}

#[test]
fn a_large_removal_is_held_after_a_new_start_too() {
    let world = world();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    drop(daemon);
    world.put_object("peers.yaml", "");
    let daemon = world.start();
    daemon.unready("held at guard");
    world.shows("bird.cfg", "10.9.0.12", true);
}

/// The other 13 nodes of a mesh, in one file.
fn nodes() -> String {
    let node = |number: u32| {
        format!(
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: n{number}\n  annotations: {{projectcalico.org/IPv4Address: 10.0.1.{number}/16, projectcalico.org/IPv6Address: \"fd00::1:{number}/64\"}}\n"
        )
    };
    (1..=13).map(node).collect::<Vec<String>>().join("---\n")
}

#[test]
fn only_what_somebody_edits_while_it_runs_is_deliberate_and_only_for_what_it_changes() {
    let let_through = format!("{QUICK}[daemon.guard]\npeers = 0.8\nlet_deliberate_through = true\n");
    let world = World::new();
    world.bench.put("tailorbird.toml", &let_through);
    world.put_object("nodes.yaml", &nodes());
    // One of the two daemons is away, so not everything comes into force.
    let _bird = world.bird("bird");
    let daemon = world.start();
    daemon.unready("bird6.ctl");
    world.shows("bird.cfg", "10.0.1.13", true);
    world.shows("bird6.cfg", "fd00::1:13", true);
    // The peers that were there at the start are nobody's edit, nor is a peer's edit one of the nodes.
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    for _ in 0..2 {
        world.put_object("nodes.yaml", "");
        for group in ["bird", "bird6"] {
            let reason = daemon.unready(&format!("group {group}: held at guard: would remove 13 of"));
            assert!(!reason.contains("edit of a"), "{reason}");
        }
        world.put_object("nodes.yaml", &nodes());
        until("nothing is held", || (daemon.group("bird")["state"] == "in-force").then_some(()));
    }
    drop(daemon);
    // After a new start as well.
    world.put_object("nodes.yaml", "");
    let daemon = world.start();
    daemon.unready("group bird: held at guard");
    daemon.unready("group bird6: held at guard");
    world.put_object("nodes.yaml", &nodes());
    until("nothing is held", || (daemon.group("bird")["state"] == "in-force").then_some(()));
    // An edit is.
    world.put_object("mesh.yaml", &configuration("nodeToNodeMeshEnabled: false"));
    world.shows("bird.cfg", "10.0.1.13", false);
    world.shows("bird6.cfg", "fd00::1:13", false);
}

#[test]
fn what_is_held_is_left_alone_until_something_changes() {
    let world = world();
    let [bird, _six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    world.put_object("peers.yaml", "");
    daemon.unready("held at guard");
    bird.looked(5);
    let (_, metrics) = daemon.get("/metrics");
    let attempts = "tailorbird_group_failures_total{group=\"bird\",step=\"guard\"} 1\n";
    assert!(metrics.contains(attempts), "{metrics}");
    let log = daemon.log();
    assert_eq!(log.lines().filter(|line| line.contains("would remove 12 of 14")).count(), 1, "{log}");
    // Other limits are a reason to think again.
    world.bench.put("tailorbird.toml", QUICK);
    world.shows("bird.cfg", "10.9.0.12", false);
    daemon.ready();
}

#[test]
fn a_confirmation_is_for_what_was_seen_and_only_while_it_is_what_is_to_come() {
    let world = world();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    world.put_object("peers.yaml", "");
    daemon.unready("would remove 12 of 14");
    let first = held(&daemon, "bird");
    for (ids, code) in [("", 400), ("all of it", 400), ("0123456789abcdef", 409)] {
        let (answered, _, body) = daemon.say("POST", "/confirm", ids);
        assert_eq!(answered, code, "{ids}: {body}");
    }
    // Other peers come: another change is held now.
    world.put_peer("extra.yaml", "10.9.1.1");
    until("something else is held", || (held(&daemon, "bird") != first).then_some(()));
    assert_eq!(daemon.say("POST", "/confirm", &first).0, 409);
    let mut late = world.bench.command(&format!("confirm {first} --http {}", daemon.http));
    let output = late.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains(&format!("nothing is held by the id {first}")),
        "{said}"
    );

    // Nobody knows what is to come.
    let second = held(&daemon, "bird");
    std::fs::rename(world.path("objects"), world.path("away")).unwrap();
    daemon.unready("source files");
    let (code, _, body) = daemon.say("POST", "/confirm", &second);
    assert!(code == 409 && body.contains("/readyz says"), "{body}");
    std::fs::rename(world.path("away"), world.path("objects")).unwrap();
    until("it is in sync again", || (daemon.status()["sources"][0]["in_sync"] == true).then_some(()));
    world.put_object("bgp.yaml", &configuration("asNumber: banana"));
    daemon.unready("banana");
    assert_eq!(daemon.say("POST", "/confirm", &second).0, 409);
    assert_eq!(held(&daemon, "bird"), second);
    world.shows("bird.cfg", "10.9.0.12", true);

    std::fs::remove_file(world.path("objects/bgp.yaml")).unwrap();
    until("it can be rendered again", || daemon.status()["blocked"].as_array()?.is_empty().then_some(()));
    let (code, _, body) = daemon.say("POST", "/confirm", &second);
    assert_eq!((code, body.as_str()), (200, "{\"confirmed\":[\"bird\"]}"));
    world.shows("bird.cfg", "10.9.0.12", false);
    daemon.ready();
}

#[test]
fn a_confirmation_that_took_too_long_counts_no_more() {
    let world = world();
    let quick = std::fs::read_to_string(world.path("tailorbird.toml")).unwrap();
    world.bench.put("tailorbird.toml", &quick.replace("check_timeout = \"1s\"", "check_timeout = \"1h\""));
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    world.put_object("peers.yaml", "");
    daemon.unready("group bird: held at guard");
    let id = held(&daemon, "bird");
    // The check of the other daemon's files takes longer than an answer may.
    let (begun, go) = (world.path("begun"), world.path("go"));
    let script = format!("touch {}; while ! test -e {}; do sleep 0.05; done", begun.display(), go.display());
    world.bench.daemon("bird6", &script);
    world.put_peer("six.yaml", "fd00::99");
    until("the check goes on", || begun.exists().then_some(()));
    assert_eq!(daemon.say("POST", "/confirm", &id).0, 504);
    std::fs::write(go, "").unwrap();
    // Another question comes behind it.
    assert_eq!(daemon.say("POST", "/confirm", "0123456789abcdef").0, 409);
    assert_eq!(held(&daemon, "bird"), id);
    world.shows("bird.cfg", "10.9.0.12", true);
}
