//! With BIRD 1.x itself, in a network of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::world::{World, until};

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts `bird` or `bird6` over the files that the daemon writes, where its routes reach nobody.
fn bird(world: &World, program: &PathBuf, name: &str) -> Running {
    drop(fs::remove_file(world.path("run").join(format!("{name}.ctl"))));
    let child = Command::new("unshare")
        .args(["--map-root-user", "--net", "--"])
        .arg(program)
        .args(["-f", "-c"])
        .arg(world.path("out").join(format!("{name}.cfg")))
        .arg("-s")
        .arg(world.path("run").join(format!("{name}.ctl")))
        .arg("-P")
        .arg(world.path("run").join(format!("{name}.pid")))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Running(child)
}

#[test]
fn bird_runs_what_the_objects_say_and_is_healed_when_it_was_killed() {
    let Some(folder) = std::env::var_os("TAILORBIRD_BIRD1").map(PathBuf::from) else {
        eprintln!("skipped: TAILORBIRD_BIRD1 names no folder with bird and bird6");
        return;
    };
    let alone = Command::new("unshare").args(["--map-root-user", "--net", "true"]).output();
    if !alone.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: there is no network of its own for BIRD here");
        return;
    }
    let world = World::new();
    let mut command = world.command();
    command.env("TAILORBIRD_BIRD1", &folder);
    let daemon = world.start_as(command);
    daemon.unready("bird.ctl");
    world.shows("bird.cfg", "10.0.0.254", true);
    world.shows("bird6.cfg", "router id", true);

    let four = bird(&world, &folder.join("bird"), "bird");
    let _six = bird(&world, &folder.join("bird6"), "bird6");
    daemon.ready();
    let sessions = |neighbor: &str| {
        let status = daemon.status();
        let birds = status["birds"].as_array().unwrap().clone();
        let mut sessions = birds.iter().flat_map(|bird| bird["sessions"].as_array().unwrap());
        sessions.any(|session| session["neighbor"] == neighbor)
    };
    until("the sessions are told", || sessions("10.0.0.254").then_some(()));

    world.put_peer("extra.yaml", "10.9.0.1");
    until("the new session is there", || sessions("10.9.0.1").then_some(()));
    daemon.ready();

    drop(four);
    daemon.unready("BIRD at");
    fs::remove_file(world.path("objects/extra.yaml")).unwrap();
    world.shows("bird.cfg", "10.9.0.1", false);
    let _four = bird(&world, &folder.join("bird"), "bird");
    daemon.ready();
    assert!(sessions("10.0.0.254") && !sessions("10.9.0.1"));
}
