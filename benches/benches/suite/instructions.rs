//! Instructions of the main paths, counted by valgrind's callgrind: a quiet measure, the same on a busy machine.
//!
//! They are compared with `instructions.json` beside this crate's `Cargo.toml`, and those that drift by more than 5 % are reported; that is
//! no failure, for another compiler counts differently. `--record` writes the counts down as the new baseline.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use tailorbird::engine::Event;
use tailorbird::generator::{Change, ClusterSpec, event, write_yaml};
use tailorbird::manifest::{Format, read_from};
use tailorbird::measure::{MeasuredNode, assemble};
use tailorbird::plugin::PluginSet;
use tailorbird::resources::Defaults;
use tailorbird_bench::scene::{cluster, fresh, rendered};

/// The path that a process under valgrind is to take.
const PATH: &str = "TAILORBIRD_BENCH_PATH";

/// The size of the cluster.
const NODES: u32 = 200;

/// From this on a drift is reported.
const DRIFT: f64 = 0.05;

const PATHS: [&str; 10] = [
    "parse a dump in YAML",
    "from nothing",
    "node address",
    "node label",
    "peer",
    "filter",
    "service",
    "slice",
    "burst of 100 nodes",
    "assemble the files",
];

/// What a process under valgrind is asked to do, if this is one.
pub(crate) fn asked() -> Option<Result<()>> {
    std::env::var(PATH).ok().map(|path| take(&path))
}

pub(crate) fn run() -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("instructions are not counted: there is no valgrind");
        return Ok(());
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.json");
    let baseline: BTreeMap<String, u64> = match fs::read(&file) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| file.display().to_string())?,
        Err(_) => BTreeMap::new(),
    };
    let mut counts = BTreeMap::new();
    let mut drifted = 0;
    println!("{:<24}  {:>16}  {:>16}  {:>8}", "instructions of", "now", "baseline", "drift");
    for path in PATHS {
        let now = count(path)?;
        counts.insert(path.to_owned(), now);
        match baseline.get(path) {
            Some(&before) => {
                let drift = now as f64 / before as f64 - 1.0;
                let far = drift.abs() > DRIFT;
                drifted += usize::from(far);
                let word = if far { "  DRIFTED" } else { "" };
                println!("{path:<24}  {now:>16}  {before:>16}  {:>+6.1} %{word}", drift * 100.0);
            }
            None => println!("{path:<24}  {now:>16}  {:>16}", "none"),
        }
    }
    if drifted > 0 {
        println!("{drifted} of {} paths drifted by more than {:.0} %", PATHS.len(), DRIFT * 100.0);
    }
    if std::env::args().any(|argument| argument == "--record") {
        fs::write(&file, serde_json::to_string_pretty(&counts)? + "\n")
            .with_context(|| file.display().to_string())?;
        println!("recorded in {}", file.display());
    }
    Ok(())
}

/// Takes a path under callgrind; returns the instructions within [`measured_path`].
fn count(path: &str) -> Result<u64> {
    let folder = tempfile::tempdir()?;
    let out: PathBuf = folder.path().join("out");
    let done = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*measured_path*"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe()?)
        .env(PATH, path)
        .output()?;
    ensure!(done.status.success(), "{path}: {}", String::from_utf8_lossy(&done.stderr));
    let text = fs::read_to_string(&out).with_context(|| out.display().to_string())?;
    let total =
        text.lines().find_map(|line| line.strip_prefix("totals:").or_else(|| line.strip_prefix("summary:")));
    let total = total.with_context(|| format!("{path}: callgrind counted nothing"))?.trim().parse()?;
    ensure!(total > 0, "{path}: callgrind counted nothing");
    Ok(total)
}

/// What is counted is what happens in here.
#[inline(never)]
fn measured_path(work: &mut dyn FnMut()) {
    black_box(work)();
}

/// Takes one path.
fn take(path: &str) -> Result<()> {
    let spec = cluster(NODES);
    let none = PluginSet::default();
    let change = |change| -> Result<()> {
        let mut node = rendered(&spec, &none);
        step(&mut node, vec![turn(&spec, change)?])
    };
    match path {
        "parse a dump in YAML" => {
            let mut dump = Vec::new();
            write_yaml(&ClusterSpec { services: 50, ..cluster(50) }, &mut dump)?;
            let defaults = Defaults::new("kube-system".parse()?);
            let mut objects = 0;
            measured_path(&mut || {
                read_from(Path::new("dump"), &dump[..], Format::Yaml, &defaults, &mut |_, _| objects += 1);
            });
            ensure!(objects > 0, "nothing was read");
            Ok(())
        }
        "from nothing" => {
            let events = spec.objects().map(event).collect();
            step(&mut fresh(&spec, &none), events)
        }
        "node address" => change(Change::NodeAddress(1)),
        "node label" => change(Change::NodeLabel(1)),
        "peer" => change(Change::Peer(0)),
        "filter" => change(Change::Filter(1)),
        "service" => change(Change::Service(1)),
        "slice" => change(Change::Slice(1)),
        "burst of 100 nodes" => {
            let events =
                (1..=100).map(|node| turn(&spec, Change::NodeAddress(node))).collect::<Result<_>>()?;
            step(&mut rendered(&spec, &none), events)
        }
        "assemble the files" => {
            let mut node = fresh(&spec, &none);
            let step = node.step(spec.objects().map(event))?;
            let mut bytes = 0;
            measured_path(&mut || {
                bytes = step.rendering.files.iter().flatten().map(|file| assemble(&file.text).len()).sum();
            });
            ensure!(bytes > 0, "nothing was rendered");
            Ok(())
        }
        other => bail!("there is no path {other}"),
    }
}

fn turn(spec: &ClusterSpec, change: Change) -> Result<Event> {
    Ok(event(spec.change(change, 1).context("the cluster has the object")?))
}

fn step(node: &mut MeasuredNode, events: Vec<Event>) -> Result<()> {
    let mut events = Some(events);
    let mut done = None;
    measured_path(&mut || done = Some(node.step(events.take().unwrap_or_default())));
    done.context("the path was taken")??;
    Ok(())
}
