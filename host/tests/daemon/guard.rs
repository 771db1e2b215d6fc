//! A large removal is held.

use std::process::Command;

use crate::fake::Mode;
use crate::world::{Daemon, QUICK, World, peer, until};

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
    assert_eq!(confirm(&world, &daemon), "let through: bird\n");
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
    let mesh = "apiVersion: crd.projectcalico.org/v1\nkind: BGPConfiguration\nmetadata: {name: default}\nspec: {nodeToNodeMeshEnabled: false}\n";
    world.put_object("mesh.yaml", mesh);
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
    let looks = bird.looks();
    until("BIRD is asked several times", || (bird.looks() >= looks + 5).then_some(()));
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
