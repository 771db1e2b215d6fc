//! What a call costs: of a function from a template, and of a plugin by the interface and the length of the list that it is about.
//! The plugins answer nothing, so what is measured is the way there and back.

use std::fs;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion};
use serde_json::Value;
use tailorbird::engine::{Engine, Settings};
use tailorbird::generator::{ClusterSpec, event};
use tailorbird::measure::Called;
use tailorbird::render::{Renderer, load};
use tailorbird::types::Name;
use tailorbird_bench::scene::{fresh, is_quick};

use super::render::group;

use guest::{Guest, set};

#[path = "../../../host/tests/support/component.rs"]
#[allow(dead_code, unreachable_pub, clippy::unwrap_used)]
mod guest;

/// Calls in one template.
const CALLS: usize = 100;

/// A hundred calls of a function of templates; `nothing` is the template without a call.
pub(crate) fn functions(c: &mut Criterion) {
    let node: Name = "node".parse().expect("a name");
    let snapshot = Engine::new(Settings::new(node.clone())).snapshot().clone();
    let mut group = group(c, "template functions, a hundred calls");
    for (name, call) in [
        ("nothing", "word\n"),
        ("lower", "{{lower \"WORD\"}}\n"),
        ("replace", "{{replace \"a-word\" \"-\" \"_\"}}\n"),
        ("cidr_network", "{{cidr_network \"10.64.16.0/20\"}}\n"),
        ("cidr_contains", "{{#if (cidr_contains \"10.64.0.0/12\" \"10.64.16.0/20\")}}word{{/if}}\n"),
        ("getv", "{{getv \"/key\" \"word\"}}\n"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        for part in ["conf.d", "templates"] {
            fs::create_dir(folder.path().join(part)).expect("a folder");
        }
        let resource =
            "[template]\nsrc = \"x.hbs\"\ndest = \"/tmp/x\"\nformat = \"text\"\nkeys = [\"/key\"]\n";
        fs::write(folder.path().join("conf.d/x.toml"), resource).expect("a file");
        fs::write(folder.path().join("templates/x.hbs"), call.repeat(CALLS)).expect("a file");
        let renderer = || {
            let resources: Result<Vec<_>, _> = load(folder.path(), &node).into_iter().collect();
            resources.map(Renderer::new)
        };
        if let Err(error) = renderer() {
            panic!("{name}: {error}");
        }
        group.bench_function(name, |b| {
            b.iter_batched(
                || renderer().expect("it was loaded before"),
                |mut renderer| (renderer.render(&snapshot), renderer),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

/// The policies, asked about clusters of several sizes. A rendering's first call of a plugin makes its instance.
pub(crate) fn policies(c: &mut Criterion) {
    let guests = [Guest::new("peers", "peers-plugin"), Guest::new("filter", "filter-plugin")];
    let sets = [0, 1].map(|setting| set(&guests, setting));
    let lengths: &[u32] = if is_quick() { &[10, 1_000] } else { &[1, 10, 100, 1_000, 10_000] };
    for &length in lengths {
        let spec = ClusterSpec {
            dual_stack: false,
            peers: 0,
            secrets: 0,
            services: length,
            slices_per_service: 1,
            ..ClusterSpec::mesh(length + 1)
        };
        let mut node = fresh(&spec, &sets[0]);
        node.step(spec.objects().map(event)).unwrap_or_else(|error| panic!("{error}"));
        for (plugin, export) in [(0, "peers.select"), (1, "filter.advertise"), (1, "filter.rules")] {
            let mut group = group(c, "plugin calls, all items");
            let mut turn = 0;
            group.bench_function(format!("{export}/{length}"), |b| {
                b.iter_custom(|iterations| {
                    let mut time = Duration::ZERO;
                    for _ in 0..iterations {
                        // With other settings it is another plugin, and asked about everything again.
                        turn += 1;
                        node.put_plugins(sets[turn % 2].clone());
                        let step = node.step([]).unwrap_or_else(|error| panic!("{error}"));
                        time += step
                            .calls
                            .get(&Called { plugin, export })
                            .map_or(Duration::ZERO, |calls| calls.time);
                    }
                    time
                });
            });
        }
    }
}

/// A function of a plugin that answers a number, with lists of several lengths.
pub(crate) fn plugin_functions(c: &mut Criterion) {
    let set = set(&[Guest::function("echo", guest::NOTHING)], 0);
    let node: Name = "node".parse().expect("a name");
    let snapshot = Engine::new(Settings::new(node)).snapshot().clone();
    let mut group = group(c, "plugin calls, one function");
    for length in [0, 10, 100, 1_000] {
        let list = Value::from_iter((0..length).map(|number| format!("item-{number}")));
        group.bench_function(format!("functions.call/{length}"), |b| {
            let mut session = set.begin(&snapshot, Instant::now());
            session.prepare(0).expect("the plugin can be configured");
            let mut calls = 0;
            b.iter(|| {
                // A rendering's fuel is bounded.
                calls += 1;
                if calls % 20 == 0 {
                    session = set.begin(&snapshot, Instant::now());
                    session.prepare(0).expect("the plugin can be configured");
                }
                session.call_function(0, 0, &[&list])
            });
        });
    }
}
