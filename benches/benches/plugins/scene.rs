//! Clusters in which the default plugins have work to do.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tailorbird::delivery::Destination;
use tailorbird::engine::{CollectionId, Engine, Event, Item, Settings, Snapshot};
use tailorbird::generator::{Change, ClusterSpec, event};
use tailorbird::pipeline::{Pipeline, Rendered, Templates};
use tailorbird::plugin::PluginSet;
use tailorbird::render;
use tailorbird::resources::{Labels, ObjectKey, Resource, ServiceFacts};
use tailorbird::types::{Family, Name};

/// What the functions of `net` are used for: a line for each session and block.
const PROBES: [&str; 2] = [
    include_str!("probes-plain.hbs"),
    include_str!("../../../examples/plugins/confdir/templates/probes.hbs"),
];

/// A cluster, and the settings of the plugins.
pub(crate) struct Scene {
    pub(crate) what: &'static str,
    spec: ClusterSpec,
    /// Whether this node is the only reflector.
    reflector: bool,
    pub(crate) settings: Value,
}

/// This node is one of thousands: of a session with every other one it keeps those with its reflectors.
pub(crate) fn client(nodes: u32) -> Scene {
    Scene {
        what: "A mesh of 5,000 nodes, two families; the plugins leave this node its reflectors and the routers outside",
        spec: spec(nodes),
        reflector: false,
        settings: settings(json!({})),
    }
}

/// This node is the reflector of all others and keeps every session: the most that there can be to do.
pub(crate) fn reflector(nodes: u32) -> Scene {
    Scene {
        what: "The same, and this node is the one reflector: it keeps all sessions, and each gets rules",
        spec: spec(nodes),
        reflector: true,
        settings: settings(json!({ "group_label": "topology.kubernetes.io/region" })),
    }
}

fn spec(nodes: u32) -> ClusterSpec {
    ClusterSpec { peers: 100, ..ClusterSpec::mesh(nodes) }
}

fn settings(reflectors: Value) -> Value {
    let mut settings = tailorbird_bench::scene::settings("64512:40");
    settings["rack-reflectors"] = reflectors;
    settings
}

/// The engine of node 0, which publishes what the plugins may read.
pub(crate) fn engine(spec: &ClusterSpec, plugins: &PluginSet) -> Engine {
    let name: Name = spec.node_name(0).parse().expect("a node's name is a name");
    Engine::new(Settings { published: plugins.published().into(), ..Settings::new(name) })
}

/// Takes events and renders.
pub(crate) fn render(pipeline: &mut Pipeline, events: impl IntoIterator<Item = Event>) -> Rendered {
    pipeline.apply(events);
    let rendered = pipeline.render(&Destination::Own, Instant::now()).expect("it is rendered");
    assert!(rendered.plugins.failures.is_empty(), "{:?}", rendered.plugins.failures);
    assert!(rendered.groups.iter().all(|group| group.errors.is_empty()));
    rendered
}

impl Scene {
    /// The pipeline of node 0. Its templates are the built-in ones and one more, which uses functions if there are any.
    pub(crate) fn pipeline(&self, plugins: &PluginSet) -> Pipeline {
        let folder = tempfile::tempdir().expect("a folder");
        render::export(folder.path(), false).expect("the built-in set is written");
        let example =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/plugins/confdir/conf.d/probes.toml");
        fs::copy(example, folder.path().join("conf.d/probes.toml")).expect("a file");
        let probes = PROBES[usize::from(!plugins.is_empty())];
        fs::write(folder.path().join("templates/probes.hbs"), probes).expect("a file");
        let engine = engine(&self.spec, plugins);
        let name = self.spec.node_name(0).parse().expect("a node's name is a name");
        let templates =
            Templates::load(Some(folder.path()), &name, plugins).expect("the templates can be used");
        Pipeline::new(engine, plugins.clone(), templates)
    }

    /// The objects.
    pub(crate) fn events(&self, plugins: &PluginSet) -> Vec<Event> {
        self.spec.objects().map(|object| event(self.dressed(object, plugins))).collect()
    }

    /// An object as this scene has it: this node is cordoned, and some Services have annotations. Without a plugin that
    /// may read them, no annotation is kept when an object is parsed.
    fn dressed(
        &self,
        (key, mut resource): (ObjectKey, Resource),
        plugins: &PluginSet,
    ) -> (ObjectKey, Resource) {
        match &mut resource {
            Resource::KubeNode(node) if node.name.as_str() == self.spec.node_name(0) => {
                node.unschedulable = true;
                if self.reflector {
                    node.labels.insert("route-reflector".into(), "true".into());
                }
            }
            Resource::Service(service) if !plugins.is_empty() => {
                let number: u32 =
                    service.name.as_str().rsplit('-').next().and_then(|n| n.parse().ok()).unwrap_or(0);
                let annotation = match number % 20 {
                    0 => Some(("communities", "65000:7, 64512:1:9")),
                    10 => Some(("peers", "peer-00000")),
                    15 => Some(("advertise", "false")),
                    _ => None,
                };
                service.facts = annotation.map(|(name, value)| {
                    let annotations =
                        Labels::from_iter([(format!("bgp.tailorbird.io/{name}").into(), value.into())]);
                    Box::new(ServiceFacts { annotations, ..ServiceFacts::default() })
                });
            }
            _ => {}
        }
        (key, resource)
    }

    /// A change that is made and taken back by turns.
    pub(crate) fn turns(&self, change: Change, plugins: &PluginSet) -> [Event; 2] {
        [1, 2].map(|round| {
            let object = self.spec.change(change, round).expect("the cluster has the object");
            event(self.dressed(object, plugins))
        })
    }

    /// The last node leaves and joins by turns.
    pub(crate) fn leaves(&self, plugins: &PluginSet) -> [Event; 2] {
        let last =
            self.spec.change(Change::NodeAddress(self.spec.nodes - 1), 0).expect("the cluster has the node");
        [Event::Delete(last.0.clone()), event(self.dressed(last, plugins))]
    }

    /// What each plugin changes, in words.
    ///
    /// # Panics
    /// When one of them changes less than 5 % of its items: then nothing worth the name would be measured.
    pub(crate) fn work(&self, pipeline: &Pipeline, rendered: &Rendered) -> Vec<String> {
        let (before, after) = (pipeline.engine().snapshot(), &rendered.snapshot);
        let count = |snapshot: &Snapshot, id: CollectionId| -> usize {
            Family::ALL.into_iter().map(|family| snapshot.model(family).collection(id).items.len()).sum()
        };
        let (mut reflected, mut drained, mut filtered, mut sessions, mut external) = (0, 0, 0, 0, 0);
        for family in Family::ALL {
            let old = &before.model(family).collection(CollectionId::Peers).items;
            for (key, item) in &after.model(family).collection(CollectionId::Peers).items {
                let (Item::Peer(new), Some(Item::Peer(old))) = (&**item, old.get(key).map(|item| &**item))
                else {
                    continue;
                };
                sessions += 1;
                external += usize::from(new.kind != "mesh");
                reflected += usize::from(new.rr_cluster_id != old.rr_cluster_id);
                // One is the call of the policies of routes.
                drained += usize::from(new.export.len() > old.export.len() + 1);
                // The other one is of `drain`.
                filtered += usize::from(new.import.len() > old.import.len() + 1);
            }
        }
        let all_sessions = count(before, CollectionId::Peers);
        let all_routes = count(before, CollectionId::Routes);
        let routes = count(after, CollectionId::Routes);
        let policies = count(after, CollectionId::RoutePolicies);
        let dropped = all_sessions - sessions;
        let least = |part: usize, all: usize| assert!(part * 20 >= all, "{part} of {all}");
        least(dropped.max(reflected), all_sessions);
        least(drained, sessions);
        least(filtered, external);
        least(all_routes - routes + policies, all_routes);
        vec![
            format!(
                "rack-reflectors: of {all_sessions} sessions {dropped} go, and {reflected} are to clients"
            ),
            format!("drain: {drained} of {sessions} sessions"),
            format!("martians: {filtered} of {external} sessions with routers outside"),
            format!(
                "service-policy: of {all_routes} routes {} go, and {policies} have a policy",
                all_routes - routes
            ),
            format!(
                "net: three calls for each of {} sessions and blocks",
                sessions + count(after, CollectionId::Blocks)
            ),
        ]
    }
}
