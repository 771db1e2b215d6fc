//! Plugins and the configuration file change while the daemon runs.

use std::fs;

use crate::component::Guest;
use crate::world::{QUICK, World, until};

fn with_plugin(path: &str, daemon: &str) -> String {
    format!("[[plugin]]\npath = \"{path}\"\n{daemon}")
}

/// Replaced as a whole: a half-written component is another test's business.
fn put_plugin(world: &World, name: &str, component: &[u8]) {
    fs::write(world.path("new.wasm"), component).unwrap();
    fs::rename(world.path("new.wasm"), world.path(name)).unwrap();
}

#[test]
fn a_plugin_is_replaced_by_a_good_one_and_never_by_a_broken_one() {
    let world = World::new();
    let _birds = world.birds();
    let (old, new) = (Guest::new("p", "filter-plugin"), Guest::new("p", "filter-plugin").pages(2));
    put_plugin(&world, "p.wasm", &old.component());
    world.bench.put("tailorbird.toml", &with_plugin("p.wasm", QUICK));
    let daemon = world.start();
    daemon.ready();
    let digest = || daemon.status()["plugins"][0]["sha256"].as_str().unwrap().to_owned();
    let first = digest();

    put_plugin(&world, "p.wasm", b"nothing that could run");
    daemon.unready("configuration: ");
    assert_eq!(digest(), first);
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    fs::remove_file(world.path("p.wasm")).unwrap();
    daemon.unready("configuration: ");

    put_plugin(&world, "p.wasm", &new.component());
    daemon.ready();
    let second = digest();
    assert_ne!(second, first);

    // A file that only the configuration of now names is followed as well.
    put_plugin(&world, "q.wasm", &old.component());
    world.bench.put("tailorbird.toml", &with_plugin("q.wasm", QUICK));
    until("the other file is in use", || (digest() == first).then_some(()));
    put_plugin(&world, "q.wasm", &new.component());
    until("its replacement is in use", || (digest() == second).then_some(()));
    daemon.ready();
}

#[test]
fn a_mistake_in_the_configuration_is_told_and_an_edit_counts_at_once() {
    let world = World::new();
    let [bird, _six] = world.birds();
    let daemon = world.start();
    daemon.ready();
    for (mistake, told) in [
        ("[daemon]\nquite = \"1s\"\n", "quite"),
        ("[daemon]\nprobe = \"1ms\"\n", "daemon.probe"),
        ("[[plugin]]\npath = \"none.wasm\"\n", "none.wasm"),
        ("[", "configuration: "),
    ] {
        world.bench.put("tailorbird.toml", mistake);
        let reason = daemon.unready("configuration: ");
        until("the mistake is named", || daemon.get("/readyz").1.contains(told).then_some(()));
        assert!(reason.contains("what was there before is in use"), "{reason}");
    }
    world.bench.put("tailorbird.toml", QUICK);
    daemon.ready();

    // From now on somebody else tells BIRD.
    let loads = bird.loads();
    world.bench.put("tailorbird.toml", &format!("{QUICK}reload = \"none\"\n"));
    until("BIRD is looked after by somebody else", || {
        daemon.status()["birds"].as_array()?.is_empty().then_some(())
    });
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    daemon.ready();
    assert_eq!(bird.loads(), loads);
}

#[test]
fn a_configuration_with_a_mistake_is_no_beginning() {
    let world = World::new();
    world.bench.put("tailorbird.toml", "[daemon]\nquite = \"1s\"\n");
    let output = world.command().output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("tailorbird.toml") && said.contains("quite"), "{said}");
}
