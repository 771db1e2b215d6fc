//! The default set of plugins, built from its source and at work on the cluster of `examples/plugins`.

#![allow(clippy::unwrap_used)]

#[path = "support/bird.rs"]
#[allow(dead_code, unreachable_pub)]
mod bird;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tailorbird::plugin::build::{Machine, Toolchain, build};

const PLUGINS: [&str; 5] = ["rack-reflectors", "drain", "service-policy", "martians", "net"];

/// The least part of its items that each plugin changes in the example.
const LEAST: f64 = 0.05;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn example(path: &str) -> String {
    repository().join("examples/plugins").join(path).display().to_string()
}

/// Whether the plugins cannot be built here; it says so.
fn nothing_compiles() -> bool {
    let Err(reason) = Toolchain::find(&Machine::here(repository())) else { return false };
    // Not by a macro of the standard library: those are shown of tests that fail, and this is to be seen.
    let mut out = std::io::stderr();
    writeln!(out, "skipped: the default plugins were not built, for {reason}").unwrap();
    true
}

/// The folder with the components, built once.
fn components() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("defaults");
        fs::create_dir_all(&folder).unwrap();
        for name in PLUGINS {
            let out = folder.join(format!("{name}.wasm"));
            if let Err(error) = build(&repository().join("plugins").join(name), Some(&out)) {
                panic!("{name}: {error}");
            }
        }
        folder
    })
}

fn tailorbird<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tailorbird")).args(arguments).output().unwrap()
}

fn succeed(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}{told}", String::from_utf8_lossy(&output.stdout));
    told.into_owned()
}

/// The example's configuration with some of its plugins, as just built.
fn configuration(plugins: &[&str]) -> String {
    let mut file: toml::Table = fs::read_to_string(example("tailorbird.toml")).unwrap().parse().unwrap();
    let entries = file["plugin"].as_array_mut().unwrap();
    let name = |entry: &toml::Value| {
        Path::new(entry["path"].as_str().unwrap()).file_stem().unwrap().to_str().unwrap().to_owned()
    };
    assert_eq!(entries.iter().map(name).collect::<BTreeSet<_>>(), PLUGINS.map(str::to_owned).into());
    entries.retain(|entry| plugins.contains(&name(entry).as_str()));
    for entry in entries {
        let path = components().join(name(entry)).with_extension("wasm");
        entry["path"] = path.display().to_string().into();
    }
    file.to_string()
}

/// The files of a node by name, with some of the plugins, and what was told.
struct Rendered {
    files: BTreeMap<String, String>,
    told: String,
}

fn render(node: &str, plugins: &[&str]) -> Rendered {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("tailorbird.toml");
    fs::write(&config, configuration(plugins)).unwrap();
    // The example's own templates beside those of the built-in set, as its README says.
    let confdir = folder.path().join("confdir");
    if plugins.contains(&"net") {
        succeed(&tailorbird([Path::new("templates"), Path::new("export"), &confdir]));
        for file in ["conf.d/probes.toml", "templates/probes.hbs"] {
            fs::copy(example(&format!("confdir/{file}")), confdir.join(file)).unwrap();
        }
    }
    let out = folder.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailorbird"));
    command.args(["render", "--objects", &example("objects"), "--node", node, "--config"]).arg(&config);
    if confdir.exists() {
        command.arg("--confdir").arg(&confdir);
    }
    let told = succeed(&command.arg("--out").arg(&out).output().unwrap());
    let read = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path()).ok()?;
        Some((entry.file_name().into_string().unwrap(), text))
    };
    let files = fs::read_dir(&out).unwrap().filter_map(|entry| read(entry.unwrap())).collect();
    Rendered { files, told }
}

impl Rendered {
    /// The sessions of both families: their statements by their names.
    fn sessions(&self) -> BTreeMap<(&str, &str), &str> {
        let mut sessions = BTreeMap::new();
        for file in ["bird.cfg", "bird6.cfg"] {
            for text in self.files[file].split("\nprotocol bgp ").skip(1) {
                let (name, body) = text.split_once(' ').unwrap();
                let body = body.split_once("\n}").unwrap().0;
                sessions.insert((file, name), body);
            }
        }
        sessions
    }

    /// The prefixes of Services that are originated.
    fn service_routes(&self) -> BTreeSet<&str> {
        let lines = ["bird_aggr.cfg", "bird6_aggr.cfg"].into_iter().flat_map(|file| self.files[file].lines());
        let routes = lines.filter_map(|line| line.trim().strip_prefix("route ")?.strip_suffix(" blackhole;"));
        routes.filter(|prefix| prefix.ends_with("/32") || prefix.ends_with("/128")).collect()
    }
}

fn part(changed: usize, all: usize) -> f64 {
    assert!(all > 0, "there is nothing to change");
    let part = changed as f64 / all as f64;
    assert!(part >= LEAST, "{changed} of {all}");
    part
}

/// The part of a session's statements between two lines.
fn between<'a>(session: &'a str, from: &str, to: &str) -> &'a str {
    session.split_once(from).unwrap().1.split_once(to).unwrap().0
}

#[test]
fn each_plugin_answers_as_its_cases_say() {
    if nothing_compiles() {
        return;
    }
    for name in PLUGINS {
        let cases = repository().join("plugins").join(name).join("cases");
        let component = components().join(name).with_extension("wasm");
        let output =
            tailorbird([Path::new("plugin"), Path::new("test"), &component, Path::new("--cases"), &cases]);
        let told = succeed(&output);
        assert!(String::from_utf8_lossy(&output.stdout).contains(" 0 failed"), "{name}: {told}");
    }
}

#[test]
fn reflectors_take_the_place_of_most_sessions() {
    if nothing_compiles() {
        return;
    }
    let (before, after) = (render("e1-2", &[]), render("e1-2", &["rack-reflectors"]));
    let (before, after) = (before.sessions(), after.sessions());
    let dropped = before.keys().filter(|name| !after.contains_key(*name)).count();
    assert!(part(dropped, before.len()) > 0.5);
    // Other sessions are left as they were.
    assert!(
        before
            .iter()
            .filter(|((_, name), _)| !name.starts_with("Mesh_"))
            .all(|(key, session)| after[key] == *session)
    );
}

#[test]
fn a_drained_node_marks_what_all_sessions_export() {
    if nothing_compiles() {
        return;
    }
    for (node, drained) in [("e1-2", true), ("w2-4", true), ("w1-1", false)] {
        let (before, after) = (render(node, &[]), render(node, &["drain"]));
        let (before, after) = (before.sessions(), after.sessions());
        let exports = |sessions: &BTreeMap<(&str, &str), &str>| -> Vec<String> {
            sessions
                .values()
                .map(|session| between(session, "export filter {", "\n  };").to_owned())
                .collect()
        };
        let changed = exports(&before).iter().zip(&exports(&after)).filter(|(a, b)| a != b).count();
        assert_eq!(changed, if drained { before.len() } else { 0 }, "{node}");
    }
}

#[test]
fn services_decide_on_their_routes() {
    if nothing_compiles() {
        return;
    }
    let (before, after) = (render("e1-2", &[]), render("e1-2", &["service-policy"]));
    let (routes, left) = (before.service_routes(), after.service_routes());
    let policies = after.files["bird.cfg"].clone() + &after.files["bird6.cfg"];
    let changed = routes
        .iter()
        .filter(|prefix| !left.contains(*prefix) || policies.contains(&format!("net = {prefix}")))
        .count();
    assert!(part(changed, routes.len()) < 1.0, "some stay as they are");
    assert!(left.is_subset(&routes));
    // The malformed annotation is told with its Service.
    assert!(after.told.contains("lab/trial"), "{}", after.told);
    assert!(!left.contains("10.96.0.50/32") && left.contains("10.96.0.20/32"));
}

#[test]
fn sessions_with_switches_refuse_martians() {
    if nothing_compiles() {
        return;
    }
    let (before, after) = (render("e1-2", &[]), render("e1-2", &["martians"]));
    let (before, after) = (before.sessions(), after.sessions());
    let import = |session: &&str| between(session, "import filter {", "\n  };").to_owned();
    let changed: Vec<_> = before
        .iter()
        .filter(|(key, session)| import(session) != import(&after[*key]))
        .map(|((_, name), _)| *name)
        .collect();
    part(changed.len(), before.len());
    assert_eq!(changed, ["Node_172_20_1_1", "Node_2001_db8_20_1__1"]);
}

#[test]
fn a_template_calls_functions() {
    if nothing_compiles() {
        return;
    }
    let probes = render("e1-2", &["net"]).files["probes.yaml"].clone();
    let lines: Vec<&str> = probes.lines().filter(|line| line.starts_with("- ")).collect();
    let called =
        lines.iter().filter(|line| line.contains("second: ") || line.contains("last: 10.64.0.126")).count();
    part(called, lines.len());
    assert!(probes.contains("first: 10.64.0.65, last: 10.64.0.126, pool: 10.64.0.0/16"), "{probes}");
}

#[test]
fn bird_accepts_what_all_of_them_make() {
    if nothing_compiles() {
        return;
    }
    let Some(birds) = bird::Birds::find() else {
        println!("SKIPPED: there is no bird and bird6 (TAILORBIRD_BIRD1, or on the PATH)");
        return;
    };
    for node in ["e1-1", "e1-2", "w1-1", "w2-4"] {
        let mut rendered = render(node, &PLUGINS);
        rendered.files.remove("probes.yaml").unwrap();
        if let Err(error) = birds.check(&rendered.files) {
            panic!("{node}: {error}");
        }
    }
}
