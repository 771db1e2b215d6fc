//! The cost of a change follows the change: what is asked for one change is the same at two sizes of the cluster.

use tailorbird::plugin::contract::filter::{Action, Direction};

use crate::cluster::{configuration, node, peer, service, slice};
use crate::native::{Count, Native, Rules, advertise_answer, answer, rule};
use crate::world::World;

fn a_node(index: usize, address: usize) -> String {
    let bgp = format!("{{ipv4Address: 10.1.{}.{}/16}}", address / 200, address % 200 + 1);
    node(&format!("n{index:04}"), &bgp, "{rack: r1}")
}

fn a_service(index: usize, external: usize) -> String {
    let ip = format!("10.96.{}.{}", index / 200, index % 200 + 1);
    let spec = format!(
        "{{type: NodePort, clusterIP: {ip}, externalIPs: [192.0.2.{external}], externalTrafficPolicy: Local}}"
    );
    [
        service(&format!("s{index}"), &spec, &[]),
        slice(&format!("s{index}"), &format!("s{index}"), "IPv4", "[{nodeName: a}]"),
    ]
    .concat()
}

/// Plugins of every sort, each of which reads something.
fn plugins() -> [Native; 2] {
    let peers = Native::new("peers").select(|kv, _| {
        kv.get("/tailorbird/v1/node/a/labels/rr");
        Ok(answer())
    });
    let filter = Native::new("filter")
        .advertise(|kv, _| {
            kv.get("/calico/bgp/v1/global/loglevel");
            Ok(advertise_answer())
        })
        .rules(|kv, request| {
            kv.list("/tailorbird/v1/node/a");
            let mut rules = Rules::default();
            for session in 0..request.sessions.len() {
                rules.assign(session, Direction::Import, &[rule(Action::Reject)]);
            }
            Ok(rules.done())
        });
    [peers, filter]
}

fn cluster(size: usize) -> World {
    let mut yaml = configuration(
        "{serviceClusterIPs: [{cidr: 10.96.0.0/12}], serviceExternalIPs: [{cidr: 192.0.2.0/24}]}",
    );
    yaml.push_str(&node("a", "{ipv4Address: 10.0.0.1/24}", "{}"));
    (0..size).for_each(|index| yaml.push_str(&a_node(index, index)));
    (0..size).for_each(|index| yaml.push_str(&a_service(index, 1)));
    let mut world = World::new(plugins()).having(&yaml);
    world.derive().unwrap();
    world
}

/// What is asked, and how many items differ, for one change.
fn asked(size: usize, yaml: &str) -> (Count, usize) {
    let mut world = cluster(size);
    world.apply(yaml);
    let derived = world.derive().unwrap();
    (world.count, derived.changes.items.values().map(std::collections::BTreeSet::len).sum())
}

#[track_caller]
fn check(yaml: &str, count: Count, items: usize) {
    let [small, large] = [30, 120].map(|size| asked(size, yaml));
    assert_eq!(small, large, "the cost grows with the cluster");
    assert_eq!(small, (count, items));
}

#[test]
fn another_node_changes() {
    let count = Count { selects: 1, routes: 0, sessions: 1 };
    check(&a_node(7, 3000), count, 2);
    check(&a_node(5000, 5000), count, 1);
}

#[test]
fn a_peer_comes() {
    check(
        &peer("p", "{peerIP: 192.0.2.77, asNumber: 65001}"),
        Count { selects: 1, routes: 0, sessions: 1 },
        1,
    );
}

#[test]
fn a_service_changes() {
    check(&a_service(7, 9), Count { selects: 0, routes: 1, sessions: 0 }, 1);
    check(&a_service(5000, 1), Count { selects: 0, routes: 1, sessions: 0 }, 1);
}

#[test]
fn something_changes_that_no_plugin_sees() {
    check(
        &node("n0007", "{ipv4Address: 10.1.0.8/16}", "{rack: r1, x: y}"),
        Count { selects: 1, routes: 0, sessions: 0 },
        0,
    );
    let world = |size| {
        let mut world = cluster(size);
        for plugin in &mut world.plugins {
            plugin.facts.rights = Default::default();
        }
        world.derive().unwrap();
        world.apply(&node("n0007", "{ipv4Address: 10.1.0.8/16}", "{rack: r1, x: y}"));
        world.derive().unwrap();
        world.count
    };
    assert_eq!(world(30), Count::default());
}

#[test]
fn what_is_published_of_a_node_and_of_a_service() {
    let touched = |size, yaml: &str| {
        let mut world = cluster(size);
        let before = world.engine.work().keys_touched;
        world.apply(yaml);
        world.engine.work().keys_touched - before
    };
    let label = node("n0007", "{ipv4Address: 10.1.0.8/16}", "{rack: r1, x: y}");
    let annotated = a_service(7, 1).replace("name: 's7'", "name: 's7', annotations: {a: b, c: d}");
    for (yaml, keys) in [(label, 1), (annotated, 2)] {
        assert_eq!([30, 120].map(|size| touched(size, &yaml)), [keys, keys]);
    }
}
