//! Crates to begin with.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tailorbird::plugin::build::{Machine, Toolchain};

use crate::common::{Bench, Ran};

const KINDS: [&str; 3] = ["peers", "filter", "functions"];

/// The files below a folder by their names in it, without some folders.
fn files(folder: &Path, without: &[&str]) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry.unwrap();
        let name = entry.path().strip_prefix(folder).unwrap();
        if entry.file_type().is_file() && !without.iter().any(|other| name.starts_with(other)) {
            found.insert(name.to_owned(), fs::read_to_string(entry.path()).unwrap());
        }
    }
    found
}

fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk").canonicalize().unwrap()
}

/// A command that finds compilers, and keeps what it compiles from one run of the tests to the next.
fn with_compilers(mut command: Command) -> Command {
    for variable in ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        if let Some(value) = std::env::var_os(variable) {
            command.env(variable, value);
        }
    }
    command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins"));
    command.env("CARGO_NET_OFFLINE", "true");
    // A test changes no toolchain.
    command.env("RUSTUP_AUTO_INSTALL", "0");
    command
}

#[test]
fn a_new_crate_has_all_that_it_needs() {
    let bench = Bench::new();
    let mut library = files(&sdk(), &["tests", "target"]);
    let manifest = library.remove(Path::new("Cargo.toml")).unwrap();
    for kind in KINDS {
        bench.run(&format!("plugin new my-{kind} --kind {kind}")).ends(0).silent().prints("cd my-");
        let folder = bench.path(&format!("my-{kind}"));
        let mut copy = files(&folder.join("vendor/tailorbird-guest"), &[]);
        let own = copy.remove(Path::new("Cargo.toml")).unwrap();
        assert!(manifest.contains("workspace = true") && !own.contains("workspace"), "{own}");
        assert!(copy == library, "the copy has other files than the library, or others in them");
        let own = files(&folder, &["vendor"]);
        for name in ["Cargo.toml", "Cargo.lock", "README.md", ".gitignore", "src/lib.rs"] {
            assert!(own.contains_key(Path::new(name)), "{name}");
        }
        let case = own.keys().find(|name| name.starts_with("cases") && name.ends_with("case.toml")).unwrap();
        assert!(own.contains_key(&case.with_file_name("objects.yaml")));
        assert!(own.contains_key(&case.with_file_name("expected.json")));
    }
}

#[test]
fn nothing_is_written_over() {
    let bench = Bench::new();
    let kept = bench.put("taken/notes.txt", "mine");
    bench.put("file", "mine");
    for name in ["taken", "file"] {
        bench
            .run(&format!("plugin new {name}"))
            .ends(1)
            .prints_nothing()
            .tells("is there already, and is not empty");
    }
    assert_eq!(fs::read_dir(bench.path("taken")).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(kept).unwrap(), "mine");
    fs::create_dir(bench.path("empty")).unwrap();
    bench.run("plugin new empty").ends(0);
    for name in ["../up", "Capital", "fn", "serde", "a_b", "/abs"] {
        bench.run(&format!("plugin new {name}")).ends(2).prints_nothing().tells(name);
        assert!(!bench.path(name).join("Cargo.toml").exists());
    }
    bench.run("plugin new p --sdk taken").ends(1).tells("this is not the library for plugins");
    assert!(!bench.path("p").exists());
}

/// In a fresh folder, with nothing but this program and a compiler.
#[test]
fn a_new_crate_builds_and_passes_its_tests() {
    let bench = Bench::new();
    if let Err(reason) = Toolchain::find(&Machine::here(&bench.path("."))) {
        // Not by a macro of the standard library: those are shown of tests that fail, and this is to be seen.
        writeln!(std::io::stderr(), "skipped: new crates were not built, for {reason}").unwrap();
        return;
    }
    let cargo = |folder: &Path, arguments: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.env_clear().args(arguments).current_dir(folder);
        Ran::of(&mut with_compilers(cargo))
    };
    for kind in KINDS {
        let folder = bench.path(&format!("my-{kind}"));
        bench.run(&format!("plugin new my-{kind} --kind {kind}")).ends(0);
        cargo(&folder, &["test", "--locked"]).ends(0).prints("3 passed");
        let tailorbird = |line: &str| {
            let mut command = bench.command(line);
            command.current_dir(&folder);
            Ran::of(&mut with_compilers(command))
        };
        tailorbird("plugin build --out it.wasm").ends(0).prints("it.wasm\n").prints("sha256");
        tailorbird("plugin test").ends(0).prints("0 failed");
        let inspected = tailorbird("plugin inspect it.wasm").prints(&format!("my-{kind}"));
        match kind {
            // It cannot be configured without settings, and says what is missing.
            "filter" => inspected.ends(1).tells("settings: missing field `community`"),
            _ => inspected.ends(0),
        };
    }
    // What a panic says is in the log.
    let source = bench.path("my-functions/src/lib.rs");
    let code = fs::read_to_string(&source).unwrap();
    let body = "kv.get(\"/calico/bgp/v1/global/as_num\")\n    }";
    fs::write(&source, code.replacen(body, "panic!(\"nobody expected {}\", kv.revision())\n    }", 1))
        .unwrap();
    let panics = with_compilers(bench.command("plugin build my-functions --out it.wasm"));
    Ran::of(&mut { panics }).ends(0);
    bench
        .run("plugin run it.wasm --function cluster_as --objects OBJECTS --node worker-1")
        .ends(1)
        .prints("error")
        .prints("nobody expected");
}

#[test]
fn a_new_crate_can_use_the_library_where_it_is() {
    let bench = Bench::new();
    bench.run(&format!("plugin new p --sdk {}", sdk().display())).ends(0);
    assert!(!bench.path("p/vendor").exists());
    let manifest: toml::Table = fs::read_to_string(bench.path("p/Cargo.toml")).unwrap().parse().unwrap();
    assert_eq!(manifest["dependencies"]["tailorbird-guest"]["path"].as_str(), sdk().to_str());
}
