//! What a node's rendering costs: from nothing, and after one change of the cluster.
//!
//! Everything runs in memory and for the node with index 0; nothing is written.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use tailorbird::engine::{Engine, Event, Settings};
use tailorbird::generator::{Change, ClusterSpec, event, write_yaml};
use tailorbird::manifest::{Entry, Format, read_from};
use tailorbird::render::{Renderer, Rendering, built_in};
use tailorbird::resources::Defaults;
use tailorbird::types::Name;

/// The allocator of the `tailorbird` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [u32; 2] = [500, 5_000];

fn name(spec: &ClusterSpec) -> Name {
    spec.node_name(0).parse().expect("a node's name is a name")
}

/// The engine and the renderer of one node.
struct Node {
    engine: Engine,
    renderer: Renderer,
    rendering: Option<Rendering>,
}

impl Node {
    fn new(name: Name) -> Self {
        let resources = built_in(&name).into_iter().collect::<Result<_, _>>();
        let renderer = Renderer::new(resources.expect("the built-in set can be used"));
        Self { engine: Engine::new(Settings::new(name)), renderer, rendering: None }
    }

    /// Takes a batch and renders the six files as ropes, instead of those before.
    fn follow(&mut self, batch: impl IntoIterator<Item = Event>) {
        let changes = self.engine.apply(batch);
        self.renderer.note(&changes);
        self.rendering = Some(self.renderer.render(self.engine.snapshot()));
    }

    /// The six files, put together.
    fn assemble(&self) -> Vec<String> {
        let files = self.rendering.iter().flat_map(|rendering| &rendering.files);
        files
            .map(|file| {
                let text = &file.as_ref().expect("the file is rendered").text;
                let mut whole = String::with_capacity(text.len());
                whole.extend(text.chunks());
                whole
            })
            .collect()
    }
}

/// The node 0 of a cluster, with its files rendered.
fn node(spec: &ClusterSpec) -> Node {
    let mut node = Node::new(name(spec));
    node.follow(spec.objects().map(event));
    assert_eq!(node.assemble().len(), 6);
    node
}

fn group<'a>(c: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(name);
    group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(4));
    group
}

/// From parsed objects to six files.
fn cold(c: &mut Criterion) {
    let mut group = group(c, "cold");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for (label, spec) in
        SIZES.map(|nodes| (nodes.to_string(), ClusterSpec::mesh(nodes))).into_iter().chain([large()])
    {
        let events: Vec<Event> = spec.objects().map(event).collect();
        group.bench_function(label, |b| {
            b.iter_batched(
                || (Node::new(name(&spec)), events.clone()),
                |(mut node, events)| {
                    node.follow(events);
                    node
                },
                BatchSize::PerIteration,
            );
        });
    }
}

fn large() -> (String, ClusterSpec) {
    ("large".to_owned(), ClusterSpec::large())
}

/// Measures a change that is made and taken back by turns.
fn alternate(
    group: &mut BenchmarkGroup<'_, WallTime>,
    id: &str,
    spec: &ClusterSpec,
    change: Change,
    node: &mut Node,
    after: impl Fn(&Node),
) {
    let turns = [1, 2].map(|round| event(spec.change(change, round).expect("the cluster has the object")));
    let mut turns = turns.iter().cycle();
    group.bench_function(id, |b| {
        b.iter_batched(
            || turns.next().cloned(),
            |event| {
                node.follow(event);
                after(node);
            },
            BatchSize::PerIteration,
        );
    });
    // The next change begins where this one did.
    node.follow(spec.change(change, 0).map(event));
}

/// One change: applied, noted, rendered.
fn change(c: &mut Criterion) {
    let mut group = group(c, "change");
    let nothing = |_: &Node| {};
    for size in SIZES {
        let spec = ClusterSpec::mesh(size);
        let mut node = node(&spec);
        for (kind, change) in [
            ("address", Change::NodeAddress(1)),
            ("label", Change::NodeLabel(1)),
            // The first one is every node's, whatever the size.
            ("peer", Change::Peer(0)),
            ("filter", Change::Filter(1)),
            ("service", Change::Service(1)),
            ("slice", Change::Slice(1)),
        ] {
            alternate(&mut group, &format!("{kind}/{size}"), &spec, change, &mut node, nothing);
        }
        alternate(
            &mut group,
            &format!("address-and-assemble/{size}"),
            &spec,
            Change::NodeAddress(1),
            &mut node,
            |node| drop(black_box(node.assemble())),
        );
        // What no renderer of whole files can be faster than.
        let files = node.assemble();
        group.bench_function(format!("copy-of-the-bytes/{size}"), |b| b.iter(|| black_box(files.clone())));
    }
    let (label, spec) = large();
    let mut node = node(&spec);
    for (kind, change) in [("service", Change::Service(1)), ("slice", Change::Slice(1))] {
        alternate(&mut group, &format!("{kind}/{label}"), &spec, change, &mut node, nothing);
    }
}

/// From a dump in YAML to parsed objects.
fn parse(c: &mut Criterion) {
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

criterion_group!(benches, cold, change, parse);
criterion_main!(benches);
