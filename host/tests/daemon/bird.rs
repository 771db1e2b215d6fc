//! BIRD is away, slow, or does not do as it is told.

use rustix::process::Signal;

use crate::fake::Mode;
use crate::world::{Daemon, QUICK, World, until};

#[test]
fn a_bird_that_comes_late_goes_and_comes_back_is_seen_and_gets_the_files() {
    let world = World::new();
    let daemon = world.start();
    daemon.unready("bird.ctl");
    world.shows("bird.cfg", "10.0.0.254", true);
    let birds = world.birds();
    daemon.ready();
    assert!(birds[0].loads() >= 1 && birds[1].loads() >= 1);
    until("the session is told", || {
        (daemon.status()["birds"][0]["sessions"][0]["state"] == "Established").then_some(())
    });

    drop(birds);
    let reason = daemon.unready("bird.ctl");
    assert!(reason.contains("BIRD at"), "{reason}");
    until("the metric says that BIRD is down", || {
        daemon.get("/metrics").1.contains("tailorbird_bird_up{bird=\"bird\"} 0").then_some(())
    });
    // What changes meanwhile is in force when it is back. It runs what it found on disk, or something older: it is told.
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    let birds = world.birds();
    daemon.ready();
    assert!(birds[0].loads() >= 1);
}

#[test]
fn a_bird_that_is_new_and_up_is_told_without_any_change() {
    let world = World::new();
    let [bird, six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    drop(bird);
    daemon.unready("bird.ctl");
    let bird = world.bird("bird");
    until("the new BIRD is told", || (bird.loads() > 0).then_some(()));
    daemon.ready();
    // The other one was left alone.
    assert_eq!(six.loads(), 1);
}

#[test]
fn a_reload_that_fails_in_any_way_is_told_and_tried_again() {
    let world = World::new();
    let [bird, _six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    let modes = [
        (Mode::Lie, "failed at verify"),
        (Mode::Refuse, "failed at reload"),
        (Mode::Garbage, "failed at reload"),
        (Mode::Hang, "failed at reload"),
    ];
    for (number, (mode, told)) in modes.into_iter().enumerate() {
        bird.set(mode);
        let address = format!("10.9.0.{}", number + 1);
        world.put_peer("extra.yaml", &address);
        daemon.unready(&format!("group bird: {told}"));
        // The files are in place, and BIRD does not run them: both are told.
        world.shows("bird.cfg", &address, true);
        let group = daemon.group("bird");
        assert!(group["written_revision"].as_u64() > group["loaded_revision"].as_u64(), "{mode:?}: {group}");
        assert_eq!(daemon.group("bird6")["state"], "in-force");
        let loads = bird.loads();
        bird.set(Mode::Fine);
        daemon.ready();
        assert!(bird.loads() > loads);
    }
    let log = daemon.log();
    let said = log.lines().filter(|line| line.contains("syntax error")).count();
    assert_eq!(said, 1, "a failure that stays the same is logged once: {log}");
}

#[test]
fn a_check_that_hangs_or_refuses_keeps_the_old_files_until_it_is_right() {
    let world = World::new();
    let [bird, _six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    let (before, loads) = (world.out("bird.cfg"), bird.loads());
    world.bench.daemon("bird", "exec sleep 1000");
    world.put_peer("extra.yaml", "10.9.0.1");
    daemon.unready("group bird: failed at check");
    assert_eq!(world.out("bird.cfg"), before);

    world.bench.daemon("bird", "echo \"$3:7:1 no such thing\"; exit 1");
    daemon.unready("no such thing");
    assert_eq!((world.out("bird.cfg"), bird.loads()), (before, loads));
    let staged = std::fs::read_dir(world.path("out")).unwrap();
    let versions =
        staged.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("..bird@"));
    assert_eq!(versions.count(), 1, "what was staged is removed");

    world.bench.daemon("bird", "exit 0");
    world.shows("bird.cfg", "10.9.0.1", true);
    daemon.ready();
}

#[test]
fn newer_input_does_not_wait_for_an_old_failure() {
    let world = World::new();
    let _birds = world.birds();
    world.bench.daemon("bird", "if grep -q 10.9.0.66 \"$3\"; then echo bad; exit 1; fi");
    let daemon = world.start();
    daemon.ready();
    world.put_peer("extra.yaml", "10.9.0.66");
    until("it has failed several times", || {
        (daemon.group("bird")["attempts"].as_u64() >= Some(3)).then_some(())
    });
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    daemon.ready();
    assert_eq!(daemon.group("bird")["attempts"], 0);
}

#[test]
fn a_bird_that_hangs_or_talks_nonsense_is_noticed_while_nothing_changes() {
    let world = World::new();
    let [bird, _six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    for mode in [Mode::Hang, Mode::Garbage] {
        bird.set(mode);
        let reason = daemon.unready("bird.ctl");
        assert!(reason.contains("BIRD at") && !reason.contains("bird6.ctl"), "{reason}");
        assert_eq!(daemon.status()["birds"][0]["up"], false);
        bird.set(Mode::Fine);
        daemon.ready();
    }
}

#[test]
fn a_bird_that_somebody_took_back_is_told_again() {
    let world = World::new();
    let [bird, six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    for round in 2..4 {
        bird.go_back();
        until("BIRD is told again", || (bird.loads() == round).then_some(()));
        daemon.ready();
    }
    assert_eq!(six.loads(), 1);
}

#[test]
fn files_that_somebody_else_changed_are_put_right() {
    let world = World::new();
    let [bird, _six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    let right = world.out("bird.cfg");
    // Written over, and gone.
    let file = std::fs::canonicalize(world.path("out/bird.cfg")).unwrap();
    std::fs::write(&file, "log syslog all;\n").unwrap();
    until("the file is as it was", || (world.out("bird.cfg") == right).then_some(()));
    until("BIRD is told", || (bird.loads() >= 2).then_some(()));
    daemon.ready();
    std::fs::remove_file(world.path("out/bird.cfg")).unwrap();
    until("the file is there again", || (world.out("bird.cfg") == right).then_some(()));
    daemon.ready();
}

/// A daemon on a node without any program of BIRD.
fn without_programs(world: &World) -> Daemon {
    let mut command = world.command();
    command.env_remove("TAILORBIRD_BIRD1").env("PATH", world.path("nothing"));
    world.start_as(command)
}

#[test]
fn without_a_program_the_bird_that_runs_checks_the_files() {
    let world = World::new();
    let daemon = without_programs(&world);
    // It needs the files to begin.
    world.shows("bird.cfg", "10.0.0.254", true);
    daemon.logs("put in place unchecked");
    let [bird, _six] = world.birds();
    daemon.ready();
    assert_eq!(bird.checks(), 0);

    let (before, loads) = (world.out("bird.cfg"), bird.loads());
    bird.set(Mode::Refuse);
    world.put_peer("extra.yaml", "10.9.0.1");
    let reason = daemon.unready("group bird: failed at check");
    // It names the file that people know.
    assert!(reason.contains("syntax error") && !reason.contains('@'), "{reason}");
    assert_eq!((world.out("bird.cfg"), bird.loads()), (before.clone(), loads));
    for mode in [Mode::Hang, Mode::Garbage] {
        bird.set(mode);
        daemon.unready("group bird: failed at check");
        until("it is asked again", || (daemon.group("bird")["attempts"].as_u64() >= Some(2)).then_some(()));
        assert_eq!(world.out("bird.cfg"), before, "{mode:?}");
    }
    bird.set(Mode::Fine);
    world.shows("bird.cfg", "10.9.0.1", true);
    daemon.ready();
    assert!(bird.checks() >= 2);
    let said = daemon.log().matches("syntax error").count();
    assert_eq!(said, 1, "{}", daemon.log());
}

#[test]
fn bird_goes_back_unless_what_it_took_is_seen_in_force() {
    let world = World::new();
    world.bench.put("tailorbird.toml", &format!("{QUICK}undo_after = \"10s\"\n"));
    let [bird, _six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    assert_eq!(bird.confirmed_and_undone(), (1, 0));
    bird.set(Mode::Lie);
    world.put_peer("extra.yaml", "10.9.0.1");
    let reason = daemon.unready("group bird: failed at verify");
    assert!(reason.contains("was undone"), "{reason}");
    let (confirmed, undone) = bird.confirmed_and_undone();
    assert!(confirmed == 1 && undone >= 1);
    bird.set(Mode::Fine);
    daemon.ready();
    assert_eq!(bird.confirmed_and_undone().0, 2);
}

#[test]
fn every_file_that_is_gone_comes_back_whoever_tells_bird() {
    for reload in ["auto", "none"] {
        let world = World::new();
        world.bench.put("tailorbird.toml", &format!("{QUICK}reload = \"{reload}\"\n"));
        let _birds = world.birds();
        let daemon = world.start();
        daemon.ready();
        let right = world.bench.set();
        for gone in ["bird_aggr.cfg", "bird6_ipam.cfg"] {
            std::fs::remove_file(world.path("out").join(gone)).unwrap();
            until("the file is there again", || (world.bench.set() == right).then_some(()));
        }
        std::fs::remove_dir_all(world.path("out")).unwrap();
        std::fs::create_dir(world.path("out")).unwrap();
        until("all files are there again", || (world.bench.set() == right).then_some(()));
        daemon.ready();
    }
}

#[test]
fn what_is_read_again_and_the_same_is_neither_loaded_nor_logged() {
    let world = World::new();
    let birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    let in_force = || daemon.log().matches("in force").count();
    let (loads, lines) = ([birds[0].loads(), birds[1].loads()], in_force());
    daemon.signal(Signal::HUP);
    daemon.logs("templates reloaded");
    daemon.logs("configuration reloaded");
    // Nor is what tells BIRD in the same way with other patience.
    world.bench.put("tailorbird.toml", &QUICK.replace("reload_timeout = \"1s\"", "reload_timeout = \"2s\""));
    until("it is read", || (daemon.log().matches("configuration reloaded").count() >= 2).then_some(()));
    world.put_peer("extra.yaml", "10.9.0.1");
    until("a change that counts is loaded", || (birds[0].loads() > loads[0]).then_some(()));
    daemon.ready();
    assert_eq!([birds[0].loads(), birds[1].loads()], [loads[0] + 1, loads[1]]);
    assert_eq!(in_force(), lines + 1, "{}", daemon.log());
}
