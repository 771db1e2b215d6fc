//! A large removal is held.

use std::process::Command;

use crate::fake::Mode;
use crate::world::{Daemon, World, peer};

/// A world whose node has 13 sessions, 12 of them from one file.
fn world() -> World {
    let world = World::new();
    let peers: Vec<String> = (1..=12).map(|last| peer(&format!("10.9.0.{last}"))).collect();
    world.put_object("peers.yaml", &peers.join("---\n"));
    world.bench.put("tailorbird.toml", &format!("{}[daemon.guard]\npeers = 0.8\n", crate::world::QUICK));
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
