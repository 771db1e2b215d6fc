//! Objects come, change and go.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::Value;

use crate::world::{World, peer, until};

/// Whether the status says that the first group's BIRD runs what was rendered last.
fn runs_the_last(status: &Value) -> bool {
    status["groups"][0]["loaded_revision"] == status["rendered_revision"]
}

#[test]
fn edits_and_deletions_are_followed() {
    let world = World::new();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    world.shows("bird.cfg", "10.0.0.254", true);

    // Written in place, replaced by renaming, and deleted.
    world.bench.put("objects/extra.yaml", &peer("10.9.0.1"));
    world.shows("bird.cfg", "10.9.0.1", true);
    world.put_peer("extra.yaml", "10.9.0.2");
    world.shows("bird.cfg", "10.9.0.2", true);
    world.shows("bird.cfg", "10.9.0.1", false);
    fs::remove_file(world.path("objects/extra.yaml")).unwrap();
    world.shows("bird.cfg", "10.9.0.2", false);
    daemon.ready();
    // The files are there a moment before BIRD has them.
    until("BIRD runs what was rendered last", || runs_the_last(&daemon.status()).then_some(()));
}

#[test]
fn a_projected_configmap_is_followed_when_its_link_is_replaced() {
    let world = World::new();
    let _birds = world.birds();
    let objects = world.path("objects");
    fs::rename(objects.join("cluster.yaml"), world.path("cluster.yaml")).unwrap();
    let version = |number: u32, address: &str| {
        let folder = objects.join(format!("..{number}"));
        fs::create_dir(&folder).unwrap();
        fs::copy(world.path("cluster.yaml"), folder.join("cluster.yaml")).unwrap();
        fs::write(folder.join("peer.yaml"), peer(address)).unwrap();
        symlink(format!("..{number}"), objects.join("..data_tmp")).unwrap();
        fs::rename(objects.join("..data_tmp"), objects.join("..data")).unwrap();
    };
    version(1, "10.9.0.1");
    for name in ["cluster.yaml", "peer.yaml"] {
        symlink(format!("..data/{name}"), objects.join(name)).unwrap();
    }
    let daemon = world.start();
    daemon.ready();
    world.shows("bird.cfg", "10.9.0.1", true);
    for number in 2..5 {
        version(number, &format!("10.9.0.{number}"));
        fs::remove_dir_all(objects.join(format!("..{}", number - 1))).unwrap();
        world.shows("bird.cfg", &format!("10.9.0.{number}"), true);
        world.shows("bird.cfg", "10.0.0.254", true);
    }
    daemon.ready();
}

#[test]
fn while_the_folder_is_gone_the_files_stay_and_what_is_gone_afterwards_goes() {
    let world = World::new();
    let _birds = world.birds();
    world.put_peer("extra.yaml", "10.9.0.1");
    let daemon = world.start();
    daemon.ready();
    let before = world.out("bird.cfg");

    fs::rename(world.path("objects"), world.path("moved")).unwrap();
    daemon.unready("source files: ");
    assert_eq!(world.out("bird.cfg"), before);
    assert_eq!(daemon.status()["sources"][0]["in_sync"], false);

    // Another folder comes in its place, in which one object is missing.
    fs::remove_file(world.path("moved/extra.yaml")).unwrap();
    fs::create_dir(world.path("fresh")).unwrap();
    fs::copy(world.path("moved/cluster.yaml"), world.path("fresh/cluster.yaml")).unwrap();
    fs::rename(world.path("fresh"), world.path("objects")).unwrap();
    world.shows("bird.cfg", "10.9.0.1", false);
    daemon.ready();
    world.put_peer("extra.yaml", "10.9.0.3");
    world.shows("bird.cfg", "10.9.0.3", true);
    let (_, metrics) = daemon.get("/metrics");
    assert!(metrics.contains("tailorbird_source_lost_total{source=\"files\"} 1"), "{metrics}");
}

#[test]
fn a_folder_that_is_not_there_at_the_start_is_waited_for_and_the_files_stay() {
    let world = World::new();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    drop(daemon);
    let before = world.out("bird.cfg");
    fs::rename(world.path("objects"), world.path("moved")).unwrap();
    let daemon = world.start();
    // It has looked.
    daemon.unready("source files: /");
    let status = daemon.status();
    assert_eq!((&status["rounds"], &status["sources"][0]["in_sync"]), (&0.into(), &false.into()), "{status}");
    assert_eq!(world.out("bird.cfg"), before);
    fs::rename(world.path("moved"), world.path("objects")).unwrap();
    daemon.ready();
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    // It is told once, however often it was looked for.
    assert_eq!(daemon.log().matches("out of sync").count(), 1, "{}", daemon.log());
}

#[test]
fn a_folder_that_is_replaced_in_one_step_is_followed() {
    let world = World::new();
    let _birds = world.birds();
    let (objects, next) = (world.path("objects"), world.path("next"));
    let version = |number: u32| world.path(&format!("v{number}"));
    fs::rename(&objects, version(1)).unwrap();
    symlink(version(1), &objects).unwrap();
    let daemon = world.start();
    daemon.ready();
    for number in 2..5 {
        fs::create_dir(version(number)).unwrap();
        fs::copy(version(1).join("cluster.yaml"), version(number).join("cluster.yaml")).unwrap();
        let address = format!("10.9.0.{number}");
        fs::write(version(number).join("peer.yaml"), peer(&address)).unwrap();
        symlink(version(number), &next).unwrap();
        fs::rename(&next, &objects).unwrap();
        world.shows("bird.cfg", &address, true);
        world.shows("bird.cfg", &format!("10.9.0.{}", number - 1), false);
        // The new folder is watched, the old one is not missed.
        fs::remove_file(version(number).join("peer.yaml")).unwrap();
        world.shows("bird.cfg", &address, false);
        world.put_peer("peer.yaml", &address);
        world.shows("bird.cfg", &address, true);
        daemon.ready();
    }
    assert_eq!(daemon.status()["sources"][0]["times_lost"], 0);
}

#[test]
fn what_the_system_has_no_room_to_tell_is_found() {
    let world = World::new();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    let queue = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let queue: usize = queue.trim().parse().unwrap();
    if queue > 1 << 17 {
        eprintln!("skipped: the queue of {queue} events is too long to be filled");
        return;
    }
    // Nobody takes events while the daemon stands still; those behind a full queue are told to nobody.
    daemon.signal(Signal::STOP);
    let names = [world.path("objects/a.txt"), world.path("objects/b.txt")];
    for event in 0..queue {
        fs::write(&names[event % 2], "").unwrap();
    }
    world.put_peer("extra.yaml", "10.9.0.1");
    let begin = Instant::now();
    daemon.signal(Signal::CONT);
    world.shows("bird.cfg", "10.9.0.1", true);
    daemon.ready();
    world.put_peer("extra.yaml", "10.9.0.2");
    world.shows("bird.cfg", "10.9.0.2", true);
    eprintln!("a change behind {queue} others was in place after {:?}", begin.elapsed());
}

#[test]
fn a_burst_of_changes_takes_a_handful_of_rounds_and_the_last_one_counts() {
    let world = World::new();
    world.bench.put(
        "tailorbird.toml",
        &crate::world::QUICK.replace("quiet = \"20ms\"", "quiet = \"100ms\"\nbound = \"1s\""),
    );
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    let before = daemon.status()["rounds"].as_u64().unwrap();
    let begin = Instant::now();
    for number in 0..1000u32 {
        world.put_peer("extra.yaml", &format!("10.9.{}.{}", number / 250, number % 250 + 1));
    }
    let took = begin.elapsed().as_secs();
    world.shows("bird.cfg", "10.9.3.250", true);
    daemon.ready();
    // The status of a round is there when it has ended.
    let rounds = until("the round is over", || {
        let status = daemon.status();
        let rounds = status["rounds"].as_u64()? - before;
        (rounds > 0 && runs_the_last(&status)).then_some(rounds)
    });
    // The bound lets one through each second, and the quiet period some more where the writer was held up.
    assert!(rounds <= 5 + 5 * (took + 1), "{rounds} rounds in {took} s");
}

#[test]
fn what_changes_nothing_is_not_loaded() {
    let world = World::new();
    let [bird, _six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    let loads = bird.loads();
    // A node far away gets a label that nobody selects by; then something that counts.
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: elsewhere, labels: {a: b}}\n";
    world.put_object("node.yaml", node);
    let rounds = || daemon.status()["rounds"].as_u64().unwrap();
    let after = |before: u64| until("there is another round", || (rounds() > before).then_some(()));
    after(1);
    let before = rounds();
    world.put_object("node.yaml", &node.replace("a: b", "a: c"));
    after(before);
    assert_eq!(bird.loads(), loads);
    world.put_peer("extra.yaml", "10.9.0.1");
    until("a change that counts is loaded", || (bird.loads() > loads).then_some(()));
    assert_eq!(bird.loads(), loads + 1);
}

#[test]
fn a_mistake_in_a_file_takes_nothing_away_and_is_told_until_it_is_mended() {
    let world = World::new();
    let _birds = world.birds();
    world.put_peer("extra.yaml", "10.9.0.1");
    let daemon = world.start();
    daemon.ready();
    for broken in ["kind: [", "\u{0}\u{1}\u{2}", "{\"apiVersion\": \"v1\", "] {
        world.put_object("extra.yaml", broken);
        daemon.unready("extra.yaml");
        // Others go on, and nothing is lost.
        let address = format!("10.8.0.{}", broken.len());
        world.put_peer("other.yaml", &address);
        world.shows("bird.cfg", &address, true);
        world.shows("bird.cfg", "10.9.0.1", true);
        world.put_peer("extra.yaml", "10.9.0.1");
        daemon.ready();
    }
    world.put_object("extra.yaml", "");
    world.shows("bird.cfg", "10.9.0.1", false);
    daemon.ready();

    // An object that is malformed has its name in the status, and its peer goes: nobody knows what it meant.
    world.put_object("extra.yaml", &peer("10.9.0.7").replace("65001", "nonsense"));
    until("the object is reported", || {
        daemon.status()["objects"]
            .as_array()?
            .iter()
            .any(|o| o["object"].to_string().contains("p-10-9-0-7"))
            .then_some(())
    });
    world.shows("bird.cfg", "10.9.0.7", false);
}

#[test]
fn what_cannot_be_read_at_the_start_may_be_what_counts_and_nothing_is_rendered_before_it_can() {
    let world = World::new();
    let _birds = world.birds();
    world.put_object("extra.yaml", "kind: [");
    let daemon = world.start();
    daemon.unready("extra.yaml");
    assert_eq!(world.out("bird.cfg"), "");
    assert_eq!(daemon.status()["sources"][0]["in_sync"], false);
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    daemon.ready();
}

#[test]
fn a_file_that_goes_takes_its_object_although_the_one_that_it_had_hidden_is_replaced_too() {
    let world = World::new();
    let _birds = world.birds();
    let objects = world.path("objects");
    let version = |number: u32, files: &[(&str, &str)]| {
        let folder = objects.join(format!("..{number}"));
        fs::create_dir(&folder).unwrap();
        for (name, address) in files {
            fs::write(folder.join(name), peer(address).replace(&address.replace('.', "-"), "same")).unwrap();
        }
        symlink(format!("..{number}"), objects.join("..data_tmp")).unwrap();
        fs::rename(objects.join("..data_tmp"), objects.join("..data")).unwrap();
    };
    version(1, &[("y.yaml", "10.9.0.1"), ("z.yaml", "10.9.0.2")]);
    for name in ["y.yaml", "z.yaml"] {
        symlink(format!("..data/{name}"), objects.join(name)).unwrap();
    }
    let daemon = world.start();
    daemon.ready();
    world.shows("bird.cfg", "10.9.0.2", true);
    world.shows("bird.cfg", "10.9.0.1", false);
    fs::remove_file(objects.join("z.yaml")).unwrap();
    version(2, &[("y.yaml", "10.9.0.1")]);
    world.shows("bird.cfg", "10.9.0.1", true);
    world.shows("bird.cfg", "10.9.0.2", false);
}

#[test]
fn a_pipe_among_the_objects_holds_nothing_up() {
    let world = World::new();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    let pipe = world.path("objects/pipe.yaml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    daemon.unready("pipe.yaml: it is no regular file");
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    fs::remove_file(pipe).unwrap();
    daemon.ready();
}

#[test]
fn status_files_of_workloads_that_lead_nowhere_hold_nothing_up() {
    let world = World::new();
    let _birds = world.birds();
    let folder = world.path("status");
    fs::create_dir_all(folder.join("endpoint-status")).unwrap();
    symlink("nowhere", folder.join("endpoint-status/dead")).unwrap();
    let mut command = world.command();
    command.env("CALICO_ENDPOINT_STATUS_PATH_PREFIX", &folder);
    let daemon = world.start_as(command);
    daemon.ready();
    symlink("nowhere", folder.join("endpoint-status/dead-too")).unwrap();
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    daemon.ready();
    assert_eq!(daemon.status()["sources"][1]["times_lost"], 0);
}

#[test]
fn a_secret_that_comes_changes_loses_its_key_or_goes_is_enough_to_render_anew() {
    let world = World::new();
    let _birds = world.birds();
    let cluster = fs::read_to_string(world.path("objects/cluster.yaml")).unwrap();
    let (rest, secret) = cluster.rsplit_once("---").unwrap();
    world.put_object("cluster.yaml", rest);
    let daemon = world.start();
    daemon.ready();
    world.shows("bird.cfg", "password", false);
    world.put_object("secret.yaml", secret);
    world.shows("bird.cfg", crate::common::SECRET, true);
    world.put_object("secret.yaml", &secret.replace(crate::common::SECRET, "another-word"));
    world.shows("bird.cfg", "another-word", true);
    world.put_object("secret.yaml", &secret.replace("switch:", "another:"));
    world.shows("bird.cfg", "password", false);
    world.put_object("secret.yaml", secret);
    world.shows("bird.cfg", crate::common::SECRET, true);
    fs::remove_file(world.path("objects/secret.yaml")).unwrap();
    world.shows("bird.cfg", "password", false);
    assert!(!daemon.log().contains(crate::common::SECRET) && !daemon.log().contains("another-word"));
}
