//! Templates, plugins and the configuration file change while the daemon runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use crate::component::Guest;
use crate::world::{QUICK, World, until};

/// A resource of a group of its own.
fn resource(world: &World, name: &str, template: &str) {
    let text =
        format!("[template]\nsrc = \"{name}.hbs\"\ndest = \"/x/{name}.txt\"\nfamily = \"v4\"\nmodel = 1\n");
    world.bench.put(&format!("confdir/conf.d/{name}.toml"), &text);
    world.bench.put(&format!("confdir/templates/{name}.hbs"), template);
}

#[test]
fn a_template_that_fails_holds_up_its_own_group_and_no_other() {
    let world = World::new();
    resource(&world, "a", "{{#each_item peers}}{{ip}}\n{{/each_item}}");
    resource(&world, "b", "{{#each_item peers}}{{ip}} b\n{{/each_item}}");
    let mut command = world.command();
    command.arg("--confdir").arg(world.path("confdir"));
    let daemon = world.start_as(command);
    daemon.ready();
    world.shows("b.txt", "10.0.0.254 b", true);

    for broken in ["{{#each_item peers}}", "{{no_such_function 1}}", "{{{"] {
        resource(&world, "b", broken);
        let reason = daemon.unready("group b.txt: failed");
        assert!(!reason.contains("group a.txt"), "{reason}");
        let address = format!("10.9.0.{}", broken.len());
        world.put_peer("extra.yaml", &address);
        world.shows("a.txt", &address, true);
        world.shows("b.txt", &address, false);
        resource(&world, "b", "{{#each_item peers}}{{ip}} b\n{{/each_item}}");
        world.shows("b.txt", &format!("{address} b"), true);
        daemon.ready();
    }

    // A folder without any resource is a mistake; those in use stay.
    fs::rename(world.path("confdir/conf.d"), world.path("confdir/away")).unwrap();
    daemon.unready("templates: ");
    world.put_peer("extra.yaml", "10.9.0.200");
    world.shows("a.txt", "10.9.0.200", true);
    fs::rename(world.path("confdir/away"), world.path("confdir/conf.d")).unwrap();
    daemon.ready();
}

#[test]
fn a_resource_has_commands_of_its_own_and_their_end_counts() {
    let world = World::new();
    let script = |name: &str, text: &str| world.bench.daemon(name, text);
    let at = |name: &str| world.path("birds").join(name).display().to_string();
    let put = |commands: &str| {
        let text = format!(
            "[template]\nsrc = \"a.hbs\"\ndest = \"/x/a.txt\"\nfamily = \"v4\"\nmodel = 1\n{commands}"
        );
        world.bench.put("confdir/conf.d/a.toml", &text);
    };
    world.bench.put("confdir/templates/a.hbs", "{{#each_item peers}}{{ip}}\n{{/each_item}}");
    put(&format!("check_cmd = \"{} {{{{src}}}}\"\nreload_cmd = \"{}\"\n", at("check"), at("reload")));
    let runs = world.path("runs");
    let count = format!("echo >> {}", runs.display());
    script("check", "exit 0");
    script("reload", &count);
    let mut command = world.command();
    command.arg("--confdir").arg(world.path("confdir"));
    let daemon = world.start_as(command);
    daemon.ready();
    let times = || fs::read_to_string(&runs).unwrap_or_default().lines().count();
    assert_eq!(times(), 1);

    script("check", "grep -q 10.9.0.1 \"$1\" && { echo not this; exit 1; }; exit 0");
    world.put_peer("extra.yaml", "10.9.0.1");
    daemon.unready("not this");
    assert_eq!(daemon.group("a.txt")["step"], "check");
    world.shows("a.txt", "10.9.0.1", false);
    assert_eq!(times(), 1);
    script("check", "exit 0");
    daemon.ready();
    assert_eq!(times(), 2);

    for (address, wrong, told) in [
        ("10.9.0.2", "echo cannot; exit 3", "cannot"),
        ("10.9.0.3", "exec sleep 1000", "did not end within 1s"),
        ("10.9.0.4", "kill -9 $$", "group a.txt: failed at reload"),
    ] {
        script("reload", wrong);
        world.put_peer("extra.yaml", address);
        daemon.unready(told);
        assert_eq!(daemon.group("a.txt")["step"], "reload", "{told}");
        world.shows("a.txt", address, true);
        script("reload", &count);
        daemon.ready();
    }
    assert_eq!(times(), 5);
}

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

#[test]
fn a_configuration_that_is_a_link_into_a_folder_beside_it_is_followed() {
    let world = World::new();
    let _birds = world.birds();
    // As a ConfigMap is projected.
    let version = |number: u32, text: &str| {
        world.bench.put(&format!("..{number}/tailorbird.toml"), text);
        symlink(format!("..{number}"), world.path("..data_tmp")).unwrap();
        fs::rename(world.path("..data_tmp"), world.path("..data")).unwrap();
    };
    version(1, QUICK);
    fs::remove_file(world.path("tailorbird.toml")).unwrap();
    symlink("..data/tailorbird.toml", world.path("tailorbird.toml")).unwrap();
    let daemon = world.start();
    daemon.ready();
    let begin = Instant::now();
    for number in 0..4 {
        version(2 + 2 * number, "[daemon]\nquite = 1\n");
        daemon.unready("quite");
        version(3 + 2 * number, QUICK);
        daemon.ready();
    }
    // A look from time to time would need half a minute for each.
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}
