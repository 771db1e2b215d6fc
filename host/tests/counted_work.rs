//! The cost of a change follows the change: for every kind of change the whole work is counted, from the objects to the texts of
//! the files, plugins' calls included, in clusters of three sizes. It must be the same but for what a change has to touch.

#![allow(clippy::unwrap_used)]

#[path = "support/component.rs"]
#[allow(dead_code, unreachable_pub)]
mod component;

use std::collections::BTreeMap;

use component::Guest;
use serde_json::{Value, json};
use tailorbird::engine::{Event, Settings};
use tailorbird::generator::{Change, ClusterSpec, event};
use tailorbird::measure::{Called, MeasuredNode, Step};
use tailorbird::plugin::PluginSet;
use tailorbird::render::{Resource, built_in};
use tailorbird::resources::{Defaults, Document, parse};
use tailorbird::types::Name;

const SIZES: [u32; 3] = [48, 192, 768];

/// Clusters that differ in the number of nodes and of what comes with them; node 0 has a session with each other one.
fn spec(nodes: u32) -> ClusterSpec {
    ClusterSpec { racks_per_zone: 8, peers: 1, secrets: 1, ..ClusterSpec::mesh(nodes) }
}

fn read(object: &Value) -> Event {
    match parse(object, &Defaults::new("kube-system".parse().unwrap())).unwrap() {
        Document::Object(parsed) => Event::Upsert(parsed),
        other => panic!("{other:?}"),
    }
}

/// Peers with selectors, as many at every size: one that takes the nodes of another rack to node 0, and some of other racks.
fn peers() -> impl Iterator<Item = Event> {
    let peer = |name: &str, spec: Value| {
        read(
            &json!({"apiVersion": "projectcalico.org/v3", "kind": "BGPPeer", "metadata": {"name": name}, "spec": spec}),
        )
    };
    let rack = |rack: &str| format!("rack == '{rack}'");
    let pair = json!({"nodeSelector": rack("zone-0-rack-00"), "peerSelector": rack("zone-1-rack-01")});
    let others = (0..20).map(move |i| {
        let spec = json!({"nodeSelector": rack(&format!("zone-2-rack-{i:02}")), "peerIP": format!("192.0.2.{i}"), "asNumber": 65001});
        peer(&format!("other-{i}"), spec)
    });
    // No change here is of the label that these mention.
    let quiet = (0..20).map(move |i| {
        let spec = json!({"nodeSelector": format!("colour == 'c{i:02}'"), "peerIP": format!("192.0.2.{i}"), "asNumber": 65001});
        peer(&format!("quiet-{i}"), spec)
    });
    std::iter::once(peer("pair", pair)).chain(others).chain(quiet)
}

/// A Service that a node announces while it has an endpoint.
fn local_service() -> Event {
    read(
        &json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "local", "namespace": "default"},
        "spec": {"type": "LoadBalancer", "clusterIP": "10.111.0.1", "externalTrafficPolicy": "Local", "externalIPs": ["100.127.0.1"]}}),
    )
}

/// Its slice, with an endpoint on this node.
fn local_slice(node: &str) -> Event {
    read(&json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": "local-a", "namespace": "default", "labels": {"kubernetes.io/service-name": "local"}},
        "addressType": "IPv4", "endpoints": [{"addresses": ["10.128.0.1"], "nodeName": node}]}))
}

fn this_node(spec: &ClusterSpec) -> Name {
    spec.node_name(0).parse().unwrap()
}

/// Plugins that are asked about everything and answer nothing. Another number in the settings makes others of them.
fn plugins(setting: u32) -> PluginSet {
    let guests = [Guest::new("peers", "peers-plugin"), Guest::new("filter", "filter-plugin")];
    component::set(&guests, setting)
}

fn templates(node: &Name) -> Vec<Resource> {
    built_in(node).into_iter().collect::<Result<_, _>>().unwrap()
}

/// The work of one step, counted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Count(BTreeMap<String, usize>);

impl Count {
    fn of(step: &Step) -> Self {
        let (work, stats) = (step.work, step.rendering.stats);
        let mut count: BTreeMap<String, usize> = [
            ("keys", work.keys_touched),
            ("selectors", work.selectors_evaluated),
            ("sessions", work.peers_computed),
            ("services", work.services_computed),
            ("compared", stats.items_compared),
            ("items", stats.fragments_rendered),
            ("templates", stats.templates_rendered),
            ("bytes", stats.bytes_rendered),
        ]
        .into_iter()
        .map(|(name, number)| (name.to_owned(), number))
        .collect();
        for (Called { export, .. }, calls) in &step.calls {
            count.insert(format!("{export} calls"), calls.calls);
            count.insert(format!("{export} items"), calls.items);
        }
        Self(count)
    }

    fn get(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or_default()
    }
}

/// A node of each size, everything rendered and asked.
struct Nodes(Vec<(ClusterSpec, MeasuredNode)>);

impl Nodes {
    fn new() -> Self {
        let plugins = plugins(0);
        let node = |size| {
            let spec = spec(size);
            let name = this_node(&spec);
            let mut node = MeasuredNode::new(Settings::new(name.clone()), plugins.clone(), templates(&name));
            let own = [local_service(), local_slice("node-00001")];
            node.step(spec.objects().map(event).chain(peers()).chain(own)).unwrap();
            (spec, node)
        };
        Self(SIZES.map(node).into())
    }

    fn step(&mut self, mut step: impl FnMut(&ClusterSpec, &mut MeasuredNode) -> Step) -> Vec<Count> {
        self.0.iter_mut().map(|(spec, node)| Count::of(&step(spec, node))).collect()
    }

    /// The work of a change, which is taken back.
    fn change(
        &mut self,
        there: impl Fn(&ClusterSpec) -> Event,
        back: impl Fn(&ClusterSpec) -> Event,
    ) -> Vec<Count> {
        let counts = self.step(|spec, node| {
            let revision = node.engine().snapshot().revision;
            let changed = node.step([there(spec)]).unwrap();
            assert!(node.engine().snapshot().revision > revision, "it changes something");
            changed
        });
        self.step(|spec, node| node.step([back(spec)]).unwrap());
        counts
    }

    /// The same with a change of the generated cluster.
    fn generated(&mut self, change: Change) -> Vec<Count> {
        let turn = |round| move |spec: &ClusterSpec| event(spec.change(change, round).unwrap());
        self.change(turn(1), turn(0))
    }
}

/// Asserts that work is the same at each size, and within bounds, but for what must grow; and that this grows with the cluster and
/// not faster.
#[track_caller]
fn check(what: &str, counts: &[Count], most: &[(&str, usize)], grows: &[&str]) {
    let names: std::collections::BTreeSet<&String> = counts.iter().flat_map(|count| count.0.keys()).collect();
    for name in names {
        let of: Vec<usize> = counts.iter().map(|count| count.get(name)).collect();
        if let (true, Some(export)) = (grows.contains(&&**name), name.strip_suffix(" calls")) {
            // A call is about 512 items.
            let most = counts.iter().map(|count| count.get(&format!("{export} items")).div_ceil(512) + 1);
            assert!(of.iter().zip(most).all(|(calls, most)| *calls <= most), "{what}: {name}: {of:?}");
        } else if grows.contains(&&**name) {
            for (pair, sizes) in of.windows(2).zip(SIZES.windows(2)) {
                let most = pair[0] * sizes[1] as usize / sizes[0] as usize * 11 / 10;
                assert!(
                    pair[0] < pair[1] && pair[1] <= most,
                    "{what}: {name} should follow the size: {of:?}"
                );
            }
        } else {
            assert!(
                of.iter().all(|number| *number == of[0]),
                "{what}: {name} grows with the cluster: {of:?}"
            );
            let most = most.iter().find(|(bounded, _)| bounded == name).map_or(0, |(_, most)| *most);
            assert!(of[0] <= most, "{what}: {name} is {} and should be at most {most}", of[0]);
        }
    }
}

/// What a plugin for peerings is told of: all sessions and all nodes.
const TOLD: &str = "peers.select items";

#[test]
fn changes_of_one_object() {
    let mut nodes = Nodes::new();
    let asked_peers = ("peers.select calls", 1);
    let asked_rules = ("filter.rules calls", 1);
    for (change, most, grows) in [
        (
            Change::NodeAddress(1),
            &[
                ("keys", 2),
                ("sessions", 2),
                ("compared", 4),
                ("items", 2),
                ("bytes", 2000),
                asked_peers,
                asked_rules,
                ("filter.rules items", 2),
            ][..],
            &[TOLD][..],
        ),
        (
            Change::NodeLabel(1),
            &[
                ("keys", 2),
                ("selectors", 22),
                ("sessions", 4),
                ("compared", 4),
                ("items", 2),
                ("bytes", 2000),
                asked_peers,
                asked_rules,
                ("filter.rules items", 2),
            ],
            &[TOLD],
        ),
        (
            Change::Peer(0),
            &[
                ("keys", 1),
                ("sessions", 2),
                ("compared", 4),
                ("items", 1),
                ("bytes", 1000),
                asked_peers,
                asked_rules,
                ("filter.rules items", 1),
            ],
            &[TOLD],
        ),
        (Change::Filter(1), &[("keys", 1), ("compared", 1), ("items", 1), ("bytes", 1000)], &[]),
        (
            Change::Service(0),
            &[
                ("keys", 2),
                ("services", 1),
                ("compared", 4),
                ("items", 4),
                ("bytes", 300),
                ("filter.advertise calls", 1),
                ("filter.advertise items", 2),
            ],
            &[],
        ),
        (Change::Pool(0), &[("keys", 1), ("templates", 3), ("bytes", 6000)], &[]),
        (
            Change::Block(0),
            &[
                ("keys", 1),
                ("compared", 4),
                ("items", 2),
                ("bytes", 300),
                ("filter.advertise calls", 1),
                ("filter.advertise items", 1),
            ],
            &[],
        ),
        // The password is that of the mesh: each of its sessions is another one.
        (Change::Secret(0), &[("keys", 1)], &["sessions", "compared", "items", "bytes"]),
        // The port is in each session too, and in the head of the files.
        (
            Change::Configuration,
            &[asked_peers, ("templates", 6)],
            &[
                TOLD,
                "keys",
                "sessions",
                "compared",
                "items",
                "bytes",
                "filter.rules items",
                "filter.rules calls",
            ],
        ),
    ] {
        check(&format!("{change:?}"), &nodes.generated(change), most, grows);
    }
    let slice = nodes.change(|spec| local_slice(&spec.node_name(0)), |spec| local_slice(&spec.node_name(1)));
    let most = [
        ("keys", 2),
        ("compared", 4),
        ("services", 1),
        ("items", 4),
        ("bytes", 300),
        ("filter.advertise calls", 1),
        ("filter.advertise items", 2),
    ];
    check("a slice", &slice, &most, &[]);
}

#[test]
fn all_of_it_anew() {
    let mut nodes = Nodes::new();
    let same =
        nodes.step(|spec, node| node.step([event(spec.change(Change::NodeAddress(1), 0).unwrap())]).unwrap());
    check("an object that is what it was", &same, &[], &[]);

    // Other settings make another plugin: it is asked about everything, and nothing is rendered as it answers the same.
    let other = plugins(1);
    let settings = nodes.step(|_, node| {
        node.put_plugins(other.clone());
        node.step([]).unwrap()
    });
    let asked = [
        TOLD,
        "filter.rules items",
        "filter.rules calls",
        "filter.advertise items",
        "filter.advertise calls",
    ];
    check("plugin settings", &settings, &[("peers.select calls", 1)], &asked);

    // No plugin is asked because of a template.
    let template = nodes.step(|spec, node| {
        node.put_templates(templates(&this_node(spec)));
        node.step([]).unwrap()
    });
    check("a template", &template, &[("templates", 6)], &["compared", "items", "bytes"]);
}
