//! Nodes of generated clusters, with and without the default plugins.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tailorbird::engine::{Event, Settings};
use tailorbird::generator::{ClusterSpec, event};
use tailorbird::measure::MeasuredNode;
use tailorbird::plugin::config::{Configuration, Entry};
use tailorbird::plugin::{PluginSet, Sandbox};
use tailorbird::render::{Resource, built_in};
use tailorbird::types::Name;

/// The sizes that are measured, in nodes; the first and the third in a quick run.
pub const SIZES: [u32; 5] = [100, 500, 1_000, 5_000, 10_000];

/// The largest size: only memory, and a rendering from nothing without plugins, are measured at it, for the rest would take minutes.
const LARGEST: u32 = 20_000;

/// The variable that makes a run quick: fewer sizes and samples.
pub const QUICK: &str = "TAILORBIRD_BENCH_QUICK";

/// The default plugins; the last has functions alone, which no built-in template calls.
pub const DEFAULTS: [&str; 5] = ["rack-reflectors", "drain", "service-policy", "martians", "net"];

/// Whether this run is to be quick.
pub fn is_quick() -> bool {
    std::env::var_os(QUICK).is_some_and(|value| !value.is_empty())
}

/// The sizes of this run.
pub fn sizes() -> Vec<u32> {
    if is_quick() { vec![SIZES[0], SIZES[2]] } else { SIZES.into() }
}

/// The same, and the largest.
pub fn sizes_to_the_largest() -> Vec<u32> {
    let largest = (!is_quick()).then_some(LARGEST);
    sizes().into_iter().chain(largest).collect()
}

/// The cluster of a size: a full mesh with both families, two Services a node, ten peers outside.
pub fn cluster(nodes: u32) -> ClusterSpec {
    ClusterSpec::mesh(nodes)
}

/// The name of the node that is measured.
///
/// # Panics
/// When the generator gives no name, which is a mistake in it.
pub fn node_name(spec: &ClusterSpec) -> Name {
    spec.node_name(0).parse().unwrap_or_else(|error| panic!("{error}"))
}

/// The built-in templates.
///
/// # Panics
/// When one cannot be used, which is a mistake in it.
pub fn templates(node: &Name) -> Vec<Resource> {
    let loaded: Result<Vec<_>, _> = built_in(node).into_iter().collect();
    loaded.unwrap_or_else(|error| panic!("{error}"))
}

/// A component that `make plugins` has built, in the folder `TAILORBIRD_PLUGINS`, else in `target/plugins`.
pub fn component(name: &str) -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/plugins");
    let folder = std::env::var_os("TAILORBIRD_PLUGINS").map_or(built, PathBuf::from);
    let path = folder.join(format!("{name}.wasm"));
    path.is_file().then_some(path)
}

/// These default plugins with their settings, by name; none if they have not been built.
pub fn configuration(names: &[&str], settings: &Value) -> Option<Configuration> {
    let entry = |name: &&str| {
        let settings: Map<String, Value> = settings[*name].as_object().cloned().unwrap_or_default();
        Some(Entry { settings, ..Entry::trial(component(name)?) })
    };
    let plugins = names.iter().map(entry).collect::<Option<_>>()?;
    Some(Configuration { plugins, ..Configuration::default() })
}

/// Those that policies are measured with; none if they have not been built.
///
/// # Panics
/// When they are there and cannot be used.
pub fn default_plugins(sandbox: &Sandbox, settings: &Value) -> Option<PluginSet> {
    let configuration = configuration(&DEFAULTS[..4], settings)?;
    Some(PluginSet::load(sandbox, &configuration).unwrap_or_else(|errors| panic!("{errors:?}")))
}

/// Settings of `service-policy` that give Services of some namespaces a community.
pub fn settings(community: &str) -> Value {
    json!({ "service-policy": { "namespaces": { "team-07": { "communities": [community] }, "team-13": { "advertise": false } } } })
}

/// All objects of a cluster, as events.
pub fn events(spec: &ClusterSpec) -> Vec<Event> {
    spec.objects().map(event).collect()
}

/// Node 0 of a cluster, which knows nothing yet.
pub fn fresh(spec: &ClusterSpec, plugins: &PluginSet) -> MeasuredNode {
    let name = node_name(spec);
    let templates = templates(&name);
    MeasuredNode::new(Settings::new(name), plugins.clone(), templates)
}

/// The same with all files rendered.
///
/// # Panics
/// When it cannot be rendered.
pub fn rendered(spec: &ClusterSpec, plugins: &PluginSet) -> MeasuredNode {
    let mut node = fresh(spec, plugins);
    node.step(spec.objects().map(event)).unwrap_or_else(|error| panic!("{error}"));
    node
}
