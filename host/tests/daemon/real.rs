//! With BIRD 1.x itself, in a network of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::disk::{Filled, Mounted};
use crate::world::{World, until};

/// A process that ends with this value.
struct Running(Child);

impl Running {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

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

/// The folder of BIRD 1.x, if it can run here where its routes reach nobody.
fn folder() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TAILORBIRD_BIRD1").map(PathBuf::from) else {
        eprintln!("skipped: TAILORBIRD_BIRD1 names no folder with bird and bird6");
        return None;
    };
    let alone = Command::new("unshare").args(["--map-root-user", "--net", "true"]).output();
    if !alone.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: there is no network of its own for BIRD here");
        return None;
    }
    Some(folder)
}

#[test]
fn bird_runs_what_the_objects_say_and_is_healed_when_it_was_killed() {
    let Some(folder) = folder() else { return };
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

/// The longest that anything takes to be seen or to heal.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn what_goes_wrong_is_seen_in_seconds_and_heals_by_itself() {
    let Some(folder) = folder() else { return };
    let world = World::new();
    let out = world.path("out");
    let disk = Mounted::new(&out, "size=512k");
    let mut command = world.command();
    command.env("TAILORBIRD_BIRD1", &folder);
    let daemon = world.start_as(command);
    world.shows("bird.cfg", "10.0.0.254", true);
    world.shows("bird6.cfg", "router id", true);
    let four = bird(&world, &folder.join("bird"), "bird");
    let _six = bird(&world, &folder.join("bird6"), "bird6");
    daemon.ready();
    let timed = |what: &str, wait: &dyn Fn()| {
        let begin = Instant::now();
        wait();
        let took = begin.elapsed();
        eprintln!("{what}: after {took:.1?}");
        assert!(took < SOON, "{what}: {took:?}");
    };
    let told = |what: &str| {
        let status = daemon.status();
        assert_eq!(status["ready"], false);
        assert!(status["unready"].to_string().contains(what), "{what}: {status}");
    };
    let works = |address: &str| {
        world.put_peer("extra.yaml", address);
        until("the new session is at BIRD", || {
            daemon.status()["birds"].to_string().contains(address).then_some(())
        });
        daemon.ready();
    };

    drop(four);
    timed("BIRD killed, seen", &|| drop(daemon.unready("BIRD at")));
    told("BIRD at");
    let four = bird(&world, &folder.join("bird"), "bird");
    timed("BIRD back, healed", &|| daemon.ready());
    works("10.9.0.1");

    four.signal(Signal::STOP);
    timed("BIRD stands still, seen", &|| drop(daemon.unready("BIRD hangs")));
    told("BIRD hangs");
    four.signal(Signal::CONT);
    timed("BIRD goes on, healed", &|| daemon.ready());

    world.put_object("broken.yaml", "kind: [");
    timed("a file broken, seen", &|| drop(daemon.unready("broken.yaml")));
    told("broken.yaml");
    fs::remove_file(world.path("objects/broken.yaml")).unwrap();
    timed("the file gone, healed", &|| daemon.ready());
    works("10.9.0.2");

    match &disk {
        Some(_) => {
            let filled = Filled::new(&out);
            world.put_peer("extra.yaml", "10.9.0.3");
            timed("the disk full, seen", &|| drop(daemon.unready("No space left")));
            told("No space left");
            world.shows("bird.cfg", "10.9.0.2", true);
            drop(filled);
            timed("room again, healed", &|| daemon.ready());
        }
        None => eprintln!("no full disk: no file system can be mounted here"),
    }
    works("10.9.0.4");

    let (socket, away) = (world.path("run/bird.ctl"), world.path("run/away"));
    fs::rename(&socket, &away).unwrap();
    timed("the socket gone, seen", &|| drop(daemon.unready("there is no such socket")));
    told("there is no such socket");
    fs::rename(&away, &socket).unwrap();
    timed("the socket back, healed", &|| daemon.ready());
    works("10.9.0.5");
}

#[test]
fn the_bird_that_runs_checks_the_files_where_there_is_no_program_of_it() {
    let Some(folder) = folder() else { return };
    let world = World::new();
    let templates = world.path("templates");
    let mut export = world.bench.command("templates export");
    assert!(export.arg(&templates).output().unwrap().status.success());
    let mut command = world.command();
    command
        .env_remove("TAILORBIRD_BIRD1")
        .env("PATH", world.path("nothing"))
        .arg("--confdir")
        .arg(&templates);
    let daemon = world.start_as(command);
    world.shows("bird.cfg", "10.0.0.254", true);
    world.shows("bird6.cfg", "router id", true);
    let _four = bird(&world, &folder.join("bird"), "bird");
    let _six = bird(&world, &folder.join("bird6"), "bird6");
    daemon.ready();

    let template = fs::read_dir(templates.join("templates")).unwrap();
    let template = template.map(|entry| entry.unwrap().path());
    let template =
        template.into_iter().find(|path| fs::read_to_string(path).unwrap().contains("router id")).unwrap();
    let (right, before) = (fs::read_to_string(&template).unwrap(), world.out("bird.cfg"));
    let replace = |text: &str| {
        fs::write(world.path("new"), text).unwrap();
        fs::rename(world.path("new"), &template).unwrap();
    };
    replace(&format!("{right}\nprotocol nonsense {{ }}\n"));
    for name in ["bird", "bird6"] {
        let reason = daemon.unready(&format!("group {name}: failed at check"));
        assert!(reason.contains(&format!("{name}.cfg, line ")), "{reason}");
    }
    assert_eq!(world.out("bird.cfg"), before);
    replace(&right);
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    daemon.ready();
}
