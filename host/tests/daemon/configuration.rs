//! Templates, plugins and the configuration file change while the daemon runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::component::Guest;
use crate::world::{QUICK, World, put_plugin, put_template, until};

#[test]
fn a_template_that_fails_holds_up_its_own_group_and_no_other() {
    let world = World::new();
    put_template(&world, "a", "{{#each_item peers}}{{ip}}\n{{/each_item}}");
    put_template(&world, "b", "{{#each_item peers}}{{ip}} b\n{{/each_item}}");
    let mut command = world.command();
    command.arg("--confdir").arg(world.path("confdir"));
    let daemon = world.start_as(command);
    daemon.ready();
    world.shows("b.txt", "10.0.0.254 b", true);

    for broken in ["{{#each_item peers}}", "{{no_such_function 1}}", "{{{"] {
        put_template(&world, "b", broken);
        let reason = daemon.unready("group b.txt: failed");
        assert!(!reason.contains("group a.txt"), "{reason}");
        let address = format!("10.9.0.{}", broken.len());
        world.put_peer("extra.yaml", &address);
        world.shows("a.txt", &address, true);
        world.shows("b.txt", &address, false);
        put_template(&world, "b", "{{#each_item peers}}{{ip}} b\n{{/each_item}}");
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
fn the_end_does_not_wait_for_a_plugin_that_is_being_read() {
    let world = World::new();
    let _birds = world.birds();
    // More than any test takes.
    let limits = "[plugin.limits]\nfuel_per_call = 100000000000\nfuel_per_rendering = 1000000000000\n";
    let guest = Guest::new("p", "filter-plugin");
    put_plugin(&world, "p.wasm", &guest.component());
    world.bench.put("tailorbird.toml", &with_plugin("p.wasm", &format!("{limits}{QUICK}")));
    let mut daemon = world.start();
    daemon.ready();
    put_plugin(&world, "p.wasm", &guest.configure("(loop $on (br $on)) (i32.const 1024)").component());
    until("the plugin is being read", || {
        let threads = fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap();
        let busy = threads.filter_map(Result::ok).any(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            let Some((name, rest)) = stat.rsplit_once(')') else { return false };
            // The time in user mode, in hundredths of a second.
            let time = rest.split_whitespace().nth(11).and_then(|time| time.parse::<u64>().ok());
            name.ends_with("(configuration") && time >= Some(20)
        });
        busy.then_some(())
    });
    // Meanwhile all else goes on.
    world.put_peer("extra.yaml", "10.9.0.1");
    world.shows("bird.cfg", "10.9.0.1", true);
    let begin = Instant::now();
    daemon.signal(Signal::TERM);
    assert!(daemon.end().success());
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
}

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let world = World::new();
    let _birds = world.birds();
    let made = Command::new("mkfifo").arg(world.path("pipe")).status().unwrap();
    assert!(made.success());
    let daemon = world.start();
    daemon.ready();
    for configuration in [
        with_plugin("pipe", QUICK),
        format!("[plugins]\nkeys = [\"pipe\"]\n{QUICK}"),
        with_plugin("p.wasm", &format!("[plugins]\nkeys = [\"key.pem\"]\n{QUICK}")),
    ] {
        world.bench.put("key.pem", KEY);
        put_plugin(&world, "p.wasm", &Guest::new("p", "filter-plugin").component());
        if !world.path("p.wasm.sig").exists() {
            fs::hard_link(world.path("pipe"), world.path("p.wasm.sig")).unwrap();
        }
        world.bench.put("tailorbird.toml", &configuration);
        let reason = daemon.unready("configuration: ");
        assert!(reason.contains("no regular file"), "{reason}");
        world.bench.put("tailorbird.toml", QUICK);
        daemon.ready();
    }
}

/// A public key, that of RFC 8410.
const KEY: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";

#[test]
fn keys_are_followed() {
    let world = World::new();
    let _birds = world.birds();
    world.bench.put("key.pem", KEY);
    world.bench.put("tailorbird.toml", &format!("[plugins]\nkeys = [\"key.pem\"]\n{QUICK}"));
    let daemon = world.start();
    daemon.ready();
    world.bench.put("key.pem", "no key");
    daemon.unready("plugins.keys: ");
    world.bench.put("key.pem", KEY);
    daemon.ready();
    // Also one that only the file of now names, and that is not there yet.
    world.bench.put("tailorbird.toml", &format!("[plugins]\nkeys = [\"other.pem\"]\n{QUICK}"));
    daemon.unready("other.pem");
    world.bench.put("other.pem", KEY);
    daemon.ready();
}

#[test]
fn a_reload_command_gets_its_own_file_and_one_without_runs_once() {
    let world = World::new();
    let told = world.path("told");
    for (name, command) in [("a", "{{src}}"), ("b", "all"), ("c", "{{.src}}"), ("d", "all")] {
        put_template(&world, name, "{{node.name}}\n");
        let resource = world.path(&format!("confdir/conf.d/{name}.toml"));
        let text = fs::read_to_string(&resource).unwrap();
        let more = format!("group = \"g\"\nreload_cmd = \"echo {command} >> {}\"\n", told.display());
        fs::write(resource, text + &more).unwrap();
    }
    let mut command = world.command();
    command.arg("--confdir").arg(world.path("confdir"));
    let daemon = world.start_as(command);
    daemon.ready();
    let told = fs::read_to_string(told).unwrap();
    let file = |name: &str| world.path(&format!("out/{name}.txt")).display().to_string();
    assert_eq!(told.lines().collect::<Vec<&str>>(), [&*file("a"), "all", &*file("c")]);
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
