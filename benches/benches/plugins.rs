//! What the default plugins cost, beside the same work without them.
//!
//! It takes the components from `target/plugins`, where `make plugins` puts them, and measures nothing without them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, SamplingMode, criterion_group, criterion_main};
use tailorbird::delivery::Destination;
use tailorbird::engine::{Engine, Event, Settings, Snapshot};
use tailorbird::pipeline::{Pipeline, Templates};
use tailorbird::plugin::config::{Configuration, Entry};
use tailorbird::plugin::{PluginSet, Sandbox};
use tailorbird::render::{Renderer, SharedCalls, load_with, plugin_functions};
use tailorbird::resources::{ObjectKey, Parsed, Resource};
use tailorbird::types::Name;
use tailorbird_bench::{Change, ClusterSpec};

/// The allocator of the `tailorbird` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const DEFAULTS: [&str; 5] = ["rack-reflectors", "drain", "service-policy", "martians", "net"];

const NODES: u32 = 5_000;

/// Calls of a function in the template that is measured.
const CALLS: usize = 1_000;

/// Some of the default plugins; none if they have not been built.
fn plugins(names: &[&str]) -> Option<PluginSet> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/plugins");
    let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(format!("{name}.wasm"))).collect();
    if !paths.iter().all(|path| path.is_file()) {
        eprintln!(
            "not measured: {} has not all of {}; `make plugins` builds them",
            folder.display(),
            names.join(", ")
        );
        return None;
    }
    let configuration =
        Configuration { plugins: paths.into_iter().map(Entry::trial).collect(), ..Configuration::default() };
    let sandbox = Sandbox::new(None).expect("a sandbox");
    Some(PluginSet::load(&sandbox, &configuration).expect("the default plugins load"))
}

fn event((key, resource): (ObjectKey, Resource)) -> Event {
    Event::Upsert(Parsed { key, resource: Ok(resource), warnings: Vec::new() })
}

fn name(spec: &ClusterSpec) -> Name {
    spec.node_name(0).parse().expect("a node's name is a name")
}

fn pipeline(spec: &ClusterSpec, plugins: &PluginSet) -> Pipeline {
    let name = name(spec);
    let templates = Templates::load(None, &name, plugins).expect("the built-in set can be used");
    let settings = Settings { published: plugins.published().into(), ..Settings::new(name) };
    Pipeline::new(Engine::new(settings), plugins.clone(), templates)
}

fn render(pipeline: &mut Pipeline) {
    let rendered = pipeline.render(&Destination::Own, Instant::now()).expect("it is rendered");
    assert!(rendered.failures.is_empty(), "{:?}", rendered.failures);
    assert!(rendered.groups.iter().all(|group| group.errors.is_empty()));
}

/// From nothing, and after a change of another node's address, with and without plugins.
fn cluster(c: &mut Criterion) {
    let spec = ClusterSpec::mesh(NODES);
    let sets = [
        ("without", Some(PluginSet::default())),
        ("reflectors", plugins(&DEFAULTS[..1])),
        ("defaults", plugins(&DEFAULTS)),
    ];
    let events: Vec<Event> = spec.objects().map(event).collect();
    let mut group = c.benchmark_group("plugins");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(8));
    for (label, set) in &sets {
        let Some(set) = set else { continue };
        group.bench_function(format!("cold/{label}"), |b| {
            b.iter_batched(
                || (pipeline(&spec, set), events.clone()),
                |(mut pipeline, events)| {
                    pipeline.apply(events);
                    render(&mut pipeline);
                    pipeline
                },
                BatchSize::PerIteration,
            );
        });
        let mut pipeline = pipeline(&spec, set);
        pipeline.apply(events.clone());
        render(&mut pipeline);
        let change = Change::NodeAddress(1);
        let turns = [1, 2].map(|round| event(spec.change(change, round).expect("the cluster has the node")));
        let mut turns = turns.iter().cycle();
        group.bench_function(format!("address/{label}"), |b| {
            b.iter_batched(
                || turns.next().cloned(),
                |event| {
                    pipeline.apply(event);
                    render(&mut pipeline);
                },
                BatchSize::PerIteration,
            );
        });
    }
}

/// A template that calls a function many times, one of a plugin and one of this program.
fn functions(c: &mut Criterion) {
    let Some(set) = plugins(&["net"]) else { return };
    let node: Name = "node".parse().expect("a name");
    let empty = Engine::new(Settings::new(node.clone())).snapshot().clone();
    let mut group = c.benchmark_group("functions");
    for (label, call) in [("native", "cidr_network"), ("plugin", "prefix_last")] {
        let folder = tempfile::tempdir().expect("a folder");
        for part in ["conf.d", "templates"] {
            fs::create_dir(folder.path().join(part)).expect("a folder");
        }
        let resource =
            "[template]\nsrc = \"a.hbs\"\ndest = \"/x/a.cfg\"\nformat = \"text\"\nkeys = [\"/turn\"]\n";
        fs::write(folder.path().join("conf.d/a.toml"), resource).expect("a file");
        let template = format!("{{{{{call} \"10.64.16.0/20\"}}}}\n").repeat(CALLS);
        fs::write(folder.path().join("templates/a.hbs"), template).expect("a file");
        let functions = plugin_functions(&set).expect("their names are free");
        let loaded = load_with(folder.path(), &node, &functions).into_iter().collect::<Result<_, _>>();
        let mut renderer = Renderer::new(loaded.expect("the template can be used"));
        let mut revision = 1;
        group.bench_function(format!("{CALLS}-calls/{label}"), |b| {
            b.iter_batched(
                || {
                    // A key that the template may read is another one: it is rendered anew.
                    revision += 1;
                    let view = empty.view.with(revision, "/turn", Some(&revision.to_string()));
                    Snapshot { revision, view, ..empty.clone() }
                },
                |snapshot| {
                    let session = Arc::new(Mutex::new(set.begin(&snapshot, Instant::now())));
                    let calls: SharedCalls = session;
                    let rendering = renderer.render_with(&snapshot, Some(&calls));
                    assert!(rendering.files.iter().all(Result::is_ok), "{:?}", rendering.files);
                },
                BatchSize::PerIteration,
            );
        });
    }
}

criterion_group!(benches, cluster, functions);
criterion_main!(benches);
