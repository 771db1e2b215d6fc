//! BIRD is away, slow, or does not do as it is told.

use crate::fake::Mode;
use crate::world::{World, until};

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
