//! The cost of a change follows the change: work is counted, at two sizes of the cluster, and must be the same.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use tailorbird::engine::{Engine, Event, Settings, Work};
use tailorbird::resources::{Defaults, Document, parse};

fn event(object: &Value) -> Event {
    let defaults = Defaults::new("kube-system".parse().unwrap());
    match parse(object, &defaults).unwrap() {
        Document::Object(parsed) => {
            assert!(parsed.resource.is_ok(), "{:?}", parsed.resource);
            Event::Upsert(parsed)
        }
        _ => panic!("{object} is not read"),
    }
}

fn delete(object: &Value) -> Event {
    match event(object) {
        Event::Upsert(parsed) => Event::Delete(parsed.key),
        other => other,
    }
}

fn node(index: usize, address: usize, rack: &str) -> Value {
    json!({"apiVersion": "projectcalico.org/v3", "kind": "Node",
        "metadata": {"name": format!("node-{index:05}"), "labels": {"rack": rack, "zone": "z"}},
        "spec": {"bgp": {
            "ipv4Address": format!("10.{}.{}.{}/16", address / 60_000, address / 250 % 240, address % 250 + 1),
            "ipv6Address": format!("fd00::{address:x}/64")}}})
}

fn peer(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "projectcalico.org/v3", "kind": "BGPPeer", "metadata": {"name": name}, "spec": spec})
}

fn filter(cidr: &str) -> Value {
    json!({"apiVersion": "projectcalico.org/v3", "kind": "BGPFilter", "metadata": {"name": "f"},
        "spec": {"exportV4": [{"action": "Reject", "matchOperator": "In", "cidr": cidr}]}})
}

fn service(index: usize, external: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("s-{index}"), "namespace": "default"},
        "spec": {"type": "LoadBalancer", "clusterIP": format!("10.96.{}.{}", index / 250, index % 250 + 1),
            "externalTrafficPolicy": "Local", "externalIPs": [external]}})
}

fn slice(index: usize, node: &str) -> Value {
    json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": format!("s-{index}-a"), "namespace": "default",
            "labels": {"kubernetes.io/service-name": format!("s-{index}")}},
        "addressType": "IPv4", "endpoints": [{"addresses": ["10.1.1.1"], "nodeName": node}]})
}

fn configuration(extra: Value) -> Value {
    let mut spec = json!({"serviceClusterIPs": [{"cidr": "10.96.0.0/12"}], "serviceExternalIPs": [{"cidr": "192.0.2.0/24"}]});
    if let (Value::Object(spec), Value::Object(extra)) = (&mut spec, extra) {
        spec.extend(extra);
    }
    json!({"apiVersion": "projectcalico.org/v3", "kind": "BGPConfiguration", "metadata": {"name": "default"}, "spec": spec})
}

/// A full mesh of `nodes`, with peers of every sort that do not grow with it.
fn cluster(nodes: usize) -> Engine {
    let mut engine = Engine::new(Settings::new("node-00000".parse().unwrap()));
    let mut objects = vec![configuration(json!({})), filter("10.0.0.0/8")];
    objects.extend((0..nodes).map(|i| node(i, i, &format!("r{}", i / 10))));
    // A peer for each rack, a hundred at both sizes, none of which but one is this node's.
    objects.extend((0..100).map(|i| {
        peer(
            &format!("tor-{i:03}"),
            json!({"nodeSelector": format!("rack == 'r{i}'"), "peerIP": format!("172.16.0.{i}"), "asNumber": 65001,
                "filters": ["f"]}),
        )
    }));
    objects.push(peer("rack", json!({"nodeSelector": "rack == 'r0'", "peerSelector": "rack == 'r0'"})));
    objects.push(peer(
        "with-secret",
        json!({"peerIP": "172.17.0.1", "asNumber": 65002,
        "password": {"secretKeyRef": {"name": "bgp", "key": "a"}}}),
    ));
    objects.extend((0..nodes).flat_map(|i| [service(i, "192.0.2.1"), slice(i, "node-00000")]));
    engine.apply(objects.iter().map(event));
    engine
}

/// The work of one batch, in two clusters.
fn work_of(sizes: [usize; 2], batch: impl Fn() -> Vec<Event>) -> [Work; 2] {
    sizes.map(|size| {
        let mut engine = cluster(size);
        let before = engine.work();
        let changes = engine.apply(batch());
        assert_eq!(changes.to, changes.from + 1, "the batch must change something");
        engine.work() - before
    })
}

/// Asserts that a batch costs the same in a cluster of 100 nodes and one of 400, and no more than this.
#[track_caller]
fn check(at_most: Work, batch: impl Fn() -> Vec<Event>) {
    let [small, large] = work_of([100, 400], batch);
    assert_eq!(small, large, "the cost grows with the cluster");
    let within = small.keys_touched <= at_most.keys_touched
        && small.selectors_evaluated <= at_most.selectors_evaluated
        && small.peers_computed <= at_most.peers_computed
        && small.services_computed <= at_most.services_computed;
    assert!(within, "{small:?} is more than {at_most:?}");
}

fn work(
    keys_touched: usize,
    selectors_evaluated: usize,
    peers_computed: usize,
    services_computed: usize,
) -> Work {
    Work { keys_touched, selectors_evaluated, peers_computed, services_computed }
}

#[test]
fn the_address_of_another_node() {
    check(work(4, 0, 4, 0), || vec![event(&node(50, 9_999, "r5"))]);
}

#[test]
fn the_address_of_a_node_of_the_same_rack() {
    check(work(6, 0, 12, 0), || vec![event(&node(5, 9_999, "r0"))]);
}

#[test]
fn a_label_that_moves_a_node_between_selectors() {
    // The selectors of the racks mention the label; what they select matters here for rack r0 alone.
    check(work(4, 102, 8, 0), || vec![event(&node(50, 50, "r0"))]);
}

#[test]
fn a_label_that_no_selector_mentions() {
    check(work(1, 0, 0, 0), || {
        let mut other = node(50, 50, "r5");
        other["metadata"]["labels"]["colour"] = json!("red");
        vec![event(&other), event(&filter("11.0.0.0/8"))]
    });
}

#[test]
fn a_node_that_comes_and_one_that_goes() {
    check(work(10, 110, 6, 0), || vec![event(&node(9_000, 9_000, "r900"))]);
    check(work(10, 0, 6, 0), || vec![delete(&node(50, 50, "r5"))]);
}

#[test]
fn a_peer_of_this_node() {
    check(work(2, 0, 4, 0), || vec![event(&peer("new", json!({"peerIP": "172.18.0.1", "asNumber": 65009})))]);
    check(work(2, 0, 4, 0), || vec![delete(&peer("with-secret", json!({})))]);
}

#[test]
fn a_peer_that_keeps_its_selectors() {
    let spec =
        json!({"nodeSelector": "rack == 'r7'", "peerIP": "172.16.0.7", "asNumber": 65007, "filters": ["f"]});
    check(work(1, 0, 0, 0), || vec![event(&peer("tor-007", spec.clone())), event(&filter("11.0.0.0/8"))]);
}

#[test]
fn a_configuration_that_comes_with_its_services() {
    let mut engine = Engine::new(Settings::new("node-00000".parse().unwrap()));
    let services = (0..50).flat_map(|i| [service(i, "192.0.2.1"), slice(i, "node-00000")]);
    engine.apply(services.chain([configuration(json!({}))]).map(|object| event(&object)));
    assert_eq!(engine.work().services_computed, 50, "each Service is computed once");
}

#[test]
fn the_rules_of_a_filter() {
    check(work(1, 0, 0, 0), || vec![event(&filter("11.0.0.0/8"))]);
}

#[test]
fn a_filter_that_goes() {
    check(work(1, 0, 101, 0), || vec![delete(&filter("10.0.0.0/8"))]);
}

#[test]
fn a_service_and_a_slice() {
    check(work(2, 0, 0, 1), || vec![event(&service(7, "192.0.2.77"))]);
    check(work(2, 0, 0, 1), || vec![event(&slice(7, "node-00001"))]);
    check(work(2, 0, 0, 1), || vec![delete(&slice(7, ""))]);
}

#[test]
fn a_secret() {
    check(work(1, 0, 2, 0), || {
        vec![event(
            &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bgp", "namespace": "kube-system"},
            "stringData": {"a": "hush"}}),
        )]
    });
}

#[test]
fn a_pool_and_a_block() {
    check(work(1, 0, 0, 0), || {
        vec![event(
            &json!({"apiVersion": "projectcalico.org/v3", "kind": "IPPool", "metadata": {"name": "p"},
            "spec": {"cidr": "10.244.0.0/16"}}),
        )]
    });
    check(work(1, 0, 0, 0), || {
        vec![event(
            &json!({"apiVersion": "crd.projectcalico.org/v1", "kind": "BlockAffinity", "metadata": {"name": "b"},
            "spec": {"cidr": "10.244.0.0/26", "node": "node-00000", "state": "confirmed", "deleted": "false"}}),
        )]
    });
}

#[test]
fn the_log_level() {
    check(work(2, 0, 0, 0), || vec![event(&configuration(json!({"logSeverityScreen": "Debug"})))]);
}

#[test]
fn an_object_that_is_what_it_was() {
    let mut engine = cluster(100);
    let before = engine.work();
    let changes = engine.apply([
        event(&node(50, 50, "r5")),
        event(&service(7, "192.0.2.1")),
        event(&slice(7, "node-00000")),
    ]);
    assert_eq!(changes.to, changes.from);
    assert_eq!(engine.work().keys_touched, before.keys_touched);
    assert_eq!(engine.work().peers_computed, before.peers_computed);
}
