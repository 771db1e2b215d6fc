//! What the default plugins cost: the same work without and with them, by turns, in one process.
//!
//! It takes the components from the folder `TAILORBIRD_PLUGINS`, else from `target/plugins`, where `make plugins` puts
//! them, and measures nothing without them. Compiling them is no part of what is measured.

mod memory;
mod scene;

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tailorbird::engine::{Changes, Engine, Event, Settings, Snapshot};
use tailorbird::generator::{Change, ClusterSpec, event};
use tailorbird::measure::Times;
use tailorbird::pipeline::Pipeline;
use tailorbird::plugin::config::Configuration;
use tailorbird::plugin::{PluginSet, Sandbox};
use tailorbird::policy::Overlay;
use tailorbird::render::{Renderer, SharedCalls, load_with, plugin_functions};
use tailorbird::types::Name;
use tailorbird_bench::scene::{DEFAULTS, configuration};

use scene::Scene;

/// The allocator of the `tailorbird` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const NODES: u32 = 5_000;

/// Calls of a function in the template that is measured.
const CALLS: u32 = 1_000;

/// Default plugins, which have been built.
fn configured(names: &[&str], settings: &Value) -> Configuration {
    configuration(names, settings).expect("the default plugins are built")
}

/// The times of both sides of a comparison.
#[derive(Debug, Default)]
struct Turns {
    without: Times,
    with: Times,
}

impl Turns {
    /// Lets both sides take turns, after one turn that does not count.
    fn take(turns: usize, mut without: impl FnMut() -> Duration, mut with: impl FnMut() -> Duration) -> Self {
        let mut taken = Self::default();
        for turn in 0..=turns {
            let times = (without(), with());
            if turn > 0 {
                taken.without.push(times.0);
                taken.with.push(times.1);
            }
        }
        taken
    }

    fn medians(self) -> (Duration, Duration) {
        (self.without.median(), self.with.median())
    }
}

/// What was made, and the time that it took; to throw it away is not part of that.
fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begin = Instant::now();
    let made = work();
    (begin.elapsed(), made)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Prints a comparison whose goal is a difference.
fn print_difference(what: &str, (without, with): (Duration, Duration), most: Option<Duration>) {
    let more = milliseconds(with) - milliseconds(without);
    let goal = most.map_or_else(String::new, |most| {
        format!("  goal: at most {:.3} ms more{}", milliseconds(most), verdict(more <= milliseconds(most)))
    });
    println!(
        "{what:<58} {:>10.3} ms {:>10.3} ms {more:>+10.3} ms{goal}",
        milliseconds(without),
        milliseconds(with)
    );
}

/// Prints a comparison whose goal is a ratio.
fn print_ratio(what: &str, (without, with): (Duration, Duration), most: f64) {
    let ratio = with.as_secs_f64() / without.as_secs_f64();
    println!(
        "{what:<58} {:>10.3} ms {:>10.3} ms {ratio:>9.2} ×   goal: at most {most} ×{}",
        milliseconds(without),
        milliseconds(with),
        verdict(ratio <= most)
    );
}

fn verdict(met: bool) -> &'static str {
    if met { ", met" } else { ", MISSED" }
}

/// From nothing, and after changes, without and with all of the default plugins.
fn cluster(sandbox: &Sandbox, scene: &Scene, turns: usize) {
    let configuration = configured(&DEFAULTS, &scene.settings);
    let set = PluginSet::load(sandbox, &configuration).expect("the default plugins load");
    let none = PluginSet::default();
    let plain: Vec<_> = scene.events(&none);
    let events: Vec<_> = scene.events(&set);

    let mut work = Vec::new();
    let cold = Turns::take(
        turns,
        || {
            let (mut pipeline, events) = (scene.pipeline(&none), plain.clone());
            timed(|| scene::render(&mut pipeline, events)).0
        },
        || {
            let (mut pipeline, events) = (scene.pipeline(&set), events.clone());
            let (time, rendered) = timed(|| scene::render(&mut pipeline, events));
            if work.is_empty() {
                work = scene.work(&pipeline, &rendered);
            }
            time
        },
    );
    println!("\n{}", scene.what);
    for line in &work {
        println!("  {line}");
    }
    print_ratio("from parsed objects to the files", cold.medians(), 1.2);

    let mut without = scene.pipeline(&none);
    drop(scene::render(&mut without, plain));
    let mut with = scene.pipeline(&set);
    drop(scene::render(&mut with, events));
    let most = Some(Duration::from_millis(3));
    let turns = |change| [&none, &set].map(|plugins| scene.turns(change, plugins));
    for (what, [plain, events], most) in [
        ("another node's address changes", turns(Change::NodeAddress(1)), most),
        ("another node's label changes", turns(Change::NodeLabel(1)), most),
        ("another node leaves, and joins", [&none, &set].map(|plugins| scene.leaves(plugins)), most),
        ("a Service changes", turns(Change::Service(1)), None),
    ] {
        let taken = Turns::take(60, following(&mut without, plain), following(&mut with, events));
        print_difference(what, taken.medians(), most);
    }
}

/// Turns of one side: events that take each other back.
fn following(pipeline: &mut Pipeline, events: [Event; 2]) -> impl FnMut() -> Duration {
    let mut turn = 0;
    move || {
        turn += 1;
        let event = events[turn % 2].clone();
        timed(|| scene::render(pipeline, [event])).0
    }
}

/// 5,000 peers through a `peers` plugin: the overlay's whole work, from nothing and after a change of another node.
fn peers(sandbox: &Sandbox) {
    let spec = ClusterSpec { dual_stack: false, peers: 0, ..ClusterSpec::mesh(NODES + 1) };
    let configuration = configured(&DEFAULTS[..1], &json!({}));
    let set = PluginSet::load(sandbox, &configuration).expect("the plugin loads");
    let none = PluginSet::default();
    let mut engine = scene::engine(&spec, &set);
    engine.apply(spec.objects().map(event));
    let turn = |set: &PluginSet| {
        let snapshot = engine.snapshot();
        let changes = Changes { from: snapshot.revision, to: snapshot.revision, ..Changes::default() };
        let (mut session, mut overlay) = (set.begin(snapshot, Instant::now()), Overlay::new());
        let begin = Instant::now();
        let derived = overlay.derive(snapshot, changes, &mut session);
        let time = begin.elapsed();
        assert!(derived.is_ok_and(|derived| derived.errors.is_empty()));
        time
    };
    let taken = Turns::take(40, || turn(&none), || turn(&set));
    println!("\n5,000 peers of one family through `rack-reflectors`, from nothing");
    print_difference(
        "question, call, check of the answer, what follows",
        taken.medians(),
        Some(Duration::from_millis(5)),
    );
}

/// A template that calls a function many times, one of this program and one of a plugin.
fn functions(sandbox: &Sandbox) {
    let configuration = configured(&DEFAULTS[4..], &json!({}));
    let set = PluginSet::load(sandbox, &configuration).expect("the plugin loads");
    let node: Name = "node".parse().expect("a name");
    let empty = Engine::new(Settings::new(node.clone())).snapshot().clone();
    println!("\nA function from a template, called {CALLS} times, native and of a plugin");
    for (native, plugin) in [
        ("cidr_network \"10.64.16.0/20\"", "prefix_last \"10.64.16.0/20\""),
        (
            "lower \"The quick brown fox jumps over the lazy dog, 64 bytes long here\"",
            "hash \"The quick brown fox jumps over the lazy dog, 64 bytes long here\" 60",
        ),
    ] {
        let side = |call: &str| {
            let folder = tempfile::tempdir().expect("a folder");
            for part in ["conf.d", "templates"] {
                fs::create_dir(folder.path().join(part)).expect("a folder");
            }
            let resource =
                "[template]\nsrc = \"a.hbs\"\ndest = \"/x/a.cfg\"\nformat = \"text\"\nkeys = [\"/turn\"]\n";
            fs::write(folder.path().join("conf.d/a.toml"), resource).expect("a file");
            let template = format!("{{{{{call}}}}}\n").repeat(CALLS as usize);
            fs::write(folder.path().join("templates/a.hbs"), template).expect("a file");
            let functions = plugin_functions(&set).expect("their names are free");
            let loaded = load_with(folder.path(), &node, &functions).into_iter().collect::<Result<_, _>>();
            let mut renderer = Renderer::new(loaded.expect("the template can be used"));
            let (mut revision, set, empty) = (1, set.clone(), empty.clone());
            move || {
                // A key that the template may read is another one: it is rendered anew.
                revision += 1;
                let view = empty.view.with(revision, "/turn", Some(&revision.to_string()));
                let snapshot = Snapshot { revision, view, ..empty.clone() };
                let (time, ()) = timed(|| {
                    let session = Arc::new(Mutex::new(set.begin(&snapshot, Instant::now())));
                    let calls: SharedCalls = session;
                    let rendering = renderer.render_with(&snapshot, Some(&calls));
                    assert!(rendering.files.iter().all(Result::is_ok), "{:?}", rendering.files);
                });
                time
            }
        };
        let taken = Turns::take(100, side(native), side(plugin));
        let what = |call: &str| call.split(' ').next().unwrap_or_default().to_owned();
        let what = format!("{} and {}", what(native), what(plugin));
        print_difference(&what, taken.medians(), Some(Duration::from_micros(1) * CALLS));
    }
}

fn main() {
    let Some(all) = configuration(&DEFAULTS, &json!({})) else {
        println!("not measured: the default plugins are not built; `make plugins` builds them");
        return;
    };
    if let Some(cache) = memory::asked() {
        return memory::load(&cache, &all);
    }
    // As with other benches: words choose what is measured.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let chosen = |part: &str| words.is_empty() || words.iter().any(|word| part.contains(word.as_str()));
    let sandbox = Sandbox::new(None).expect("a sandbox");
    println!("{:<58} {:>13} {:>13}", "", "without", "with");
    if chosen("functions") {
        functions(&sandbox);
    }
    if chosen("peers") {
        peers(&sandbox);
    }
    if chosen("client") {
        cluster(&sandbox, &scene::client(NODES), 10);
    }
    if chosen("reflector") {
        cluster(&sandbox, &scene::reflector(NODES), 10);
    }
    if chosen("memory") {
        memory::measure();
    }
}
