//! What a node's rendering costs in memory: from nothing, after one change of each kind, after a burst; with and without the
//! default plugins, which `make plugins` builds. Everything is for the node with index 0; nothing is written.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion, SamplingMode, Throughput};
use tailorbird::engine::Event;
use tailorbird::generator::{Change, ClusterSpec, event, write_yaml};
use tailorbird::manifest::{Entry, Format, read_from};
use tailorbird::measure::{MeasuredNode, Step, assemble};
use tailorbird::plugin::{PluginSet, Sandbox};
use tailorbird::resources::Defaults;
use tailorbird_bench::scene::{
    cluster, default_plugins, events, fresh, is_quick, node_name, rendered, settings, sizes,
    sizes_to_the_largest, templates,
};

/// One change of each kind. The first peer is every node's, whatever the size.
const CHANGES: [(&str, Change); 10] = [
    ("node address", Change::NodeAddress(1)),
    ("node label", Change::NodeLabel(1)),
    ("peer", Change::Peer(0)),
    ("filter", Change::Filter(1)),
    ("service", Change::Service(1)),
    ("slice", Change::Slice(1)),
    ("pool", Change::Pool(0)),
    ("block", Change::Block(0)),
    ("configuration", Change::Configuration),
    ("secret", Change::Secret(0)),
];

/// Without plugins, and with the default ones if they are built.
fn sets() -> Vec<(&'static str, PluginSet)> {
    let sandbox = Sandbox::new(None).expect("a sandbox");
    let with = default_plugins(&sandbox, &settings("64512:40")).map(|set| ("with plugins", set));
    if with.is_none() {
        eprintln!("not measured with plugins: `make plugins` builds them");
    }
    [("without plugins", PluginSet::default())].into_iter().chain(with).collect()
}

/// A group of benchmarks, as long as this run has time for.
pub(crate) fn group<'a>(c: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(name);
    let (warm_up, measure) = if is_quick() { (50, 200) } else { (200, 800) };
    group.warm_up_time(Duration::from_millis(warm_up)).measurement_time(Duration::from_millis(measure));
    group.sample_size(if is_quick() { 10 } else { 20 });
    group
}

fn step(node: &mut MeasuredNode, events: impl IntoIterator<Item = Event>) -> Step {
    node.step(events).unwrap_or_else(|error| panic!("{error}"))
}

/// From parsed objects to six files.
pub(crate) fn cold(c: &mut Criterion) {
    for (with, plugins) in sets() {
        let mut group = group(c, &format!("cold, {with}"));
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        let sizes = if plugins.is_empty() { sizes_to_the_largest() } else { sizes() };
        for size in sizes {
            let spec = cluster(size);
            let all = events(&spec);
            group.bench_function(size.to_string(), |b| {
                b.iter_batched(
                    || (fresh(&spec, &plugins), all.clone()),
                    |(mut node, events)| (step(&mut node, events), node),
                    BatchSize::PerIteration,
                );
            });
        }
    }
}

/// Measures steps that take each other back, by turns.
fn alternate(
    group: &mut BenchmarkGroup<'_, WallTime>,
    id: &str,
    node: &mut MeasuredNode,
    turns: [Vec<Event>; 2],
    mut before: impl FnMut(&mut MeasuredNode, usize),
) {
    let mut turn = 0;
    group.bench_function(id, |b| {
        b.iter_custom(|iterations| {
            let mut time = Duration::ZERO;
            for _ in 0..iterations {
                turn += 1;
                before(node, turn);
                time += step(node, turns[turn % 2].clone()).time();
            }
            time
        });
    });
    // The next one begins where this one did.
    step(node, turns[0].clone());
}

fn turns(spec: &ClusterSpec, changes: impl Iterator<Item = Change> + Clone) -> [Vec<Event>; 2] {
    [0, 1].map(|round| {
        let changed =
            changes.clone().map(|change| spec.change(change, round).expect("the cluster has the object"));
        changed.map(event).collect()
    })
}

/// One change: applied, asked about, rendered. And bursts of changes that come at once.
pub(crate) fn change(c: &mut Criterion) {
    let sandbox = Sandbox::new(None).expect("a sandbox");
    for (with, plugins) in sets() {
        let mut group = group(c, &format!("change, {with}"));
        for size in sizes() {
            let spec = cluster(size);
            let mut node = rendered(&spec, &plugins);
            for (kind, change) in CHANGES {
                let turns = turns(&spec, std::iter::once(change));
                alternate(&mut group, &format!("{kind}/{size}"), &mut node, turns, |_, _| {});
            }
            for burst in [10, 100, 1_000].into_iter().filter(|burst| *burst < size) {
                let turns = turns(&spec, (1..=burst).map(Change::NodeAddress));
                alternate(&mut group, &format!("burst of {burst}/{size}"), &mut node, turns, |_, _| {});
            }
            let name = node_name(&spec);
            let nothing = || [Vec::new(), Vec::new()];
            alternate(&mut group, &format!("template/{size}"), &mut node, nothing(), |node, _| {
                node.put_templates(templates(&name));
            });
            if !plugins.is_empty() {
                let others = ["64512:40", "64512:41"].map(|community| {
                    default_plugins(&sandbox, &settings(community)).expect("they are built")
                });
                alternate(
                    &mut group,
                    &format!("plugin settings/{size}"),
                    &mut node,
                    nothing(),
                    |node, turn| {
                        node.put_plugins(others[turn % 2].clone());
                    },
                );
            }
        }
    }
}

/// A label that takes a node from one of a thousand selectors to another: each rack has peers of its own.
pub(crate) fn selectors(c: &mut Criterion) {
    let spec = ClusterSpec { racks_per_zone: 333, ..ClusterSpec::top_of_rack(1_000) };
    let mut node = rendered(&spec, &PluginSet::default());
    let turns = turns(&spec, std::iter::once(Change::NodeLabel(1)));
    let mut group = group(c, "selectors");
    alternate(&mut group, "node label, 999 selectors", &mut node, turns, |_, _| {});
}

/// The files put together as texts, beside a copy of the bytes, than which no renderer of whole files can be faster.
pub(crate) fn assembling(c: &mut Criterion) {
    let mut group = group(c, "assemble");
    for size in sizes() {
        let spec = cluster(size);
        let mut node = fresh(&spec, &PluginSet::default());
        let done = step(&mut node, spec.objects().map(event));
        let texts: Vec<_> = done.rendering.files.iter().flatten().map(|file| file.text.clone()).collect();
        let whole: Vec<_> = texts.iter().map(assemble).collect();
        group.bench_function(format!("files/{size}"), |b| {
            b.iter(|| texts.iter().map(assemble).collect::<Vec<_>>());
        });
        group.bench_function(format!("copy of the bytes/{size}"), |b| b.iter(|| black_box(whole.clone())));
    }
}

/// From a dump in YAML to parsed objects.
pub(crate) fn parse(c: &mut Criterion) {
    let mut dump = Vec::new();
    write_yaml(&ClusterSpec::mesh(500), &mut dump).expect("memory takes all");
    let defaults = Defaults::new("kube-system".parse().expect("a name"));
    let mut group = group(c, "parse");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).throughput(Throughput::Bytes(dump.len() as u64));
    group.bench_function("yaml/500", |b| {
        b.iter(|| {
            let mut objects = 0_usize;
            read_from(Path::new("dump.yaml"), &dump[..], Format::Yaml, &defaults, &mut |at, entry| {
                assert!(matches!(entry, Entry::Object(_)), "{at}: {entry:?}");
                objects += 1;
            });
            objects
        });
    });
}
