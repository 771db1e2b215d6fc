//! `tailorbird.toml`, `--config` and `--plugin`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::common::{Bench, Ran};
use crate::component::Guest;
use crate::{echo, put, sha256};

const GET: &str = "get /calico/v1/ipam --objects OBJECTS --node worker-1";

#[test]
fn what_is_wrong_with_the_configuration_is_said() {
    let bench = Bench::new();
    let component = echo("net").wants(&["/calico/bgp/v1", "/tailorbird/v1/node/*/labels"]).component();
    put(&bench, "net.wasm", &component);
    put(&bench, "plain.wasm", &echo("plain").component());
    bench.put("no.pem", "no key");
    bench.put(
        "key.pem",
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n",
    );
    fs::set_permissions(bench.path("objects"), Permissions::from_mode(0o755)).unwrap();
    let wrong = "0".repeat(64);
    for (text, reasons) in [
        ("[[plugin]]\npaht = \"a\"\n", vec!["tailorbird.toml: ", "line 2", "unknown field `paht`"]),
        ("plugins = 1\n", vec!["tailorbird.toml: ", "line 1"]),
        ("[[plugin]\n", vec!["tailorbird.toml: ", "line 1"]),
        (
            "[[plugin]]\npath = \"plain.wasm\"\non_error = \"panic\"\n",
            vec!["line 3", "`keep`, `reject`, `skip`"],
        ),
        ("[[plugin]]\npath = \"plain.wasm\"\nplacement = \"top\"\n", vec!["line 3", "`before` or `after`"]),
        (
            "[[plugin]]\npath = \"plain.wasm\"\nsha256 = \"12\"\n",
            vec!["[[plugin]] number 1 (plain.wasm)", "not 64 hexadecimal digits"],
        ),
        (
            &format!("[[plugin]]\npath = \"plain.wasm\"\nsha256 = \"{wrong}\"\n"),
            vec!["plugin plain: ", "has the SHA-256", &sha256(&echo("plain").component())],
        ),
        (
            "[[plugin]]\npath = \"net.wasm\"\ngrants = [\"/calico/bgp\"]\n",
            vec![
                "plugin net: wants to read \"/tailorbird/v1/node/*/labels\", which is not granted",
                "grants = [\"/calico/bgp\", \"/tailorbird/v1/node/*/labels\"]",
            ],
        ),
        (
            "[[plugin]]\npath = \"plain.wasm\"\ngrants = [\"calico\"]\n",
            vec!["grants: \"calico\"", "begin with `/`"],
        ),
        (
            "[[plugin]]\npath = \"plain.wasm\"\n[[plugin]]\npath = \"plain.wasm\"\n",
            vec!["plugin plain: there are two plugins of this name", "another `name`"],
        ),
        (
            "[[plugin]]\npath = \"plain.wasm\"\n[[plugin]]\npath = \"plain.wasm\"\nname = \"other\"\n",
            vec!["plugin other: has a function `f`, and so has plugin plain"],
        ),
        ("[[plugin]]\npath = \"nosuch.wasm\"\n", vec!["nosuch.wasm: cannot be read"]),
        (
            "[[plugin]]\npath = \"plain.wasm\"\nlimits.memory = 1\n",
            vec!["limits.memory = 1: must be 65536 to 268435456"],
        ),
        ("[[plugin]]\npath = \"plain.wasm\"\nlimits.fuel = 1\n", vec!["line 3", "unknown field `fuel`"]),
        ("[[plugin]]\npath = \"plain.wasm\"\nname = \"a b\"\n", vec!["plugin plain: name = \"a b\": "]),
        ("[plugins]\nkeys = [\"nosuch.pem\"]\n", vec!["plugins.keys: ", "nosuch.pem"]),
        ("[plugins]\nkeys = [\"no.pem\"]\n", vec!["no.pem is no Ed25519 public key"]),
        (
            "[plugins]\nkeys = [\"key.pem\"]\n[[plugin]]\npath = \"plain.wasm\"\n",
            vec!["keys are configured", "plain.wasm.sig cannot be read"],
        ),
        (
            "[plugins]\ncache = \"objects\"\n[[plugin]]\npath = \"plain.wasm\"\n",
            vec!["sandbox: ", "mode 0700"],
        ),
    ] {
        bench.put("tailorbird.toml", text);
        let ran = bench.run(&format!("{GET} --config tailorbird.toml")).ends(1).prints_nothing();
        for reason in reasons {
            assert!(ran.err.contains(reason), "{reason} is missing for {text}\n{}", ran.err);
        }
        // Nor is anything written, and `diff` says that it is in trouble.
        bench.run("render --objects OBJECTS --node worker-1 --out OUT --config tailorbird.toml").ends(1);
        assert!(!bench.out().exists());
        bench.run("diff --objects OBJECTS --node worker-1 --out OUT --config tailorbird.toml").ends(2);
    }
}

#[test]
fn every_plugin_that_cannot_be_used_is_named() {
    let bench = Bench::new();
    bench.put("tailorbird.toml", "[[plugin]]\npath = \"one.wasm\"\n[[plugin]]\npath = \"two.wasm\"\n");
    let ran = bench.run(&format!("{GET} --config tailorbird.toml --plugin three.wasm")).ends(1);
    for name in ["one.wasm", "two.wasm", "three.wasm"] {
        let lines = ran.err.lines().filter(|line| line.starts_with("error: plugin ") && line.contains(name));
        assert_eq!(lines.count(), 1, "{}", ran.err);
    }
}

#[test]
fn the_configuration_is_found() {
    let bench = Bench::new();
    bench.put("conf/tailorbird.toml", "[[plugin]]\npath = \"nosuch.wasm\"\n");
    bench.put("empty.toml", "");
    // A path in the file is relative to the file.
    bench.run(&format!("{GET} --config conf/tailorbird.toml")).ends(1).tells("conf/nosuch.wasm: ");
    let run = |line: &str, value: &str| Ran::of(bench.command(line).env("TAILORBIRD_CONFIG", value));
    run(GET, "conf/tailorbird.toml").ends(1).tells("conf/nosuch.wasm: ");
    run(&format!("{GET} --config empty.toml"), "conf/tailorbird.toml").ends(0).silent();
    run(GET, "").ends(0).silent();
    run(GET, "nosuch.toml").ends(1).tells("error: nosuch.toml: cannot be read: ");
}

#[test]
fn a_plugin_on_trial_may_read_what_it_wants() {
    let bench = Bench::new();
    put(&bench, "net.wasm", &echo("net").wants(&["/calico/bgp/v1"]).component());
    put(&bench, "still.wasm", &Guest::new("still", "filter-plugin").component());
    let ran = bench.run(&format!("{GET} --plugin net.wasm --plugin still.wasm")).ends(0);
    assert_eq!(
        ran.err,
        "note: plugin net 1.2.3 (net.wasm) is on trial and may read all that it wants: /calico/bgp/v1\n\
         note: plugin still 1.2.3 (still.wasm) is on trial and may read all that it wants: nothing\n"
    );
    for command in ["render --out OUT", "check", "diff --out OUT"] {
        let line = format!("{command} --objects OBJECTS --node worker-1 --plugin net.wasm");
        bench.run(&line).ends(0).tells("note: plugin net ");
    }
}
