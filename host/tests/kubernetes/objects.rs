//! Objects of a small cluster with a little of everything.

use serde_json::{Value, json};

use tailorbird::engine::Settings;
use tailorbird::syncer::kubernetes::CalicoGroup;

/// The settings of the node that the tests render for.
pub(crate) fn settings() -> Settings {
    Settings::new("worker-1".parse().unwrap())
}

/// A node with an address that ends in a number.
pub(crate) fn node(number: u8) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": format!("worker-{number}"),
            "labels": {"rack": format!("r{}", number % 2)},
            "annotations": {
                "projectcalico.org/IPv4Address": format!("10.0.0.{number}/24"),
                "projectcalico.org/IPv6Address": format!("fd00::{number}/64"),
            },
        },
    })
}

/// One of Calico's objects.
pub(crate) fn calico(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "crd.projectcalico.org/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// A peer at an address that ends in a number.
pub(crate) fn peer(number: u8) -> Value {
    calico(
        "BGPPeer",
        &format!("peer-{number}"),
        json!({"peerIP": format!("10.1.0.{number}"), "asNumber": 65001}),
    )
}

/// A Secret with one value.
pub(crate) fn secret(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "kube-system"},
        "stringData": {"password": value},
    })
}

/// A Service with an external address that ends in a number, and a slice that has it ready on this node.
pub(crate) fn service(number: u8) -> [Value; 2] {
    let name = format!("service-{number}");
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": format!("10.96.1.{number}"),
            "clusterIPs": [format!("10.96.1.{number}")],
            "externalIPs": [format!("192.0.2.{number}")],
            "externalTrafficPolicy": "Local",
            "ports": [{"port": 80}],
        },
    });
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": format!("{name}-slice"),
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": name},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.64.0.7"], "nodeName": "worker-1", "conditions": {"ready": true}}],
    });
    [service, slice]
}

/// A cluster.
pub(crate) fn cluster() -> Vec<Value> {
    let mut objects = vec![
        calico(
            "BGPConfiguration",
            "default",
            json!({"asNumber": 64513, "serviceExternalIPs": [{"cidr": "192.0.2.0/24"}],
                   "serviceClusterIPs": [{"cidr": "10.96.0.0/12"}]}),
        ),
        calico("BGPConfiguration", "node.worker-1", json!({"logSeverityScreen": "Debug"})),
        calico("IPPool", "pool", json!({"cidr": "10.64.0.0/16", "ipipMode": "Never", "natOutgoing": true})),
        calico(
            "BGPFilter",
            "deny",
            json!({"exportV4": [{"cidr": "10.9.0.0/16", "matchOperator": "In", "action": "Reject"}]}),
        ),
        calico(
            "BGPPeer",
            "switch",
            json!({"peerIP": "10.0.0.254", "asNumber": 65000, "filters": ["deny"],
                   "password": {"secretKeyRef": {"name": "bgp", "key": "password"}}}),
        ),
        calico("BGPPeer", "rack", json!({"nodeSelector": "rack == 'r1'", "peerSelector": "rack == 'r0'"})),
        secret("bgp", "sesame-4711"),
        secret("other", "nobody-asks"),
    ];
    let block = |name: &str, node: &str, third: u8| {
        let spec = json!({"cidr": format!("10.64.{third}.0/26"), "node": node, "state": "confirmed", "deleted": "false"});
        calico("BlockAffinity", name, spec)
    };
    let mut labelled = block("labelled", "worker-1", 1);
    // By the hash of `worker-1`.
    labelled["metadata"]["labels"] = json!({"projectcalico.org/hostname-hash": hash("worker-1")});
    let mut others = block("others", "worker-2", 3);
    others["metadata"]["labels"] = json!({"projectcalico.org/hostname-hash": hash("worker-2")});
    objects.extend([
        labelled,
        block("unlabelled", "worker-1", 2),
        others,
        block("unlabelled-others", "worker-2", 4),
    ]);
    objects.extend((1..=4).map(node));
    objects.extend(service(1));
    objects
}

/// The label's value for a node.
pub(crate) fn hash(node: &str) -> &'static str {
    match node {
        "worker-1" => "CPU5J3TPSNHFA66J45DG4Z5C3PSJAZ36LD46JZLYEGZSTAWBUCUA",
        "worker-2" => "53WSO6MBY4ZPU6KG6FI4VASUYQ3HFBO7TQGX7PRHXADNUR67KKUA",
        other => panic!("{other}"),
    }
}

/// The objects of a cluster in the other group.
pub(crate) fn moved(objects: &[Value]) -> Vec<Value> {
    let mut objects = objects.to_vec();
    for object in &mut objects {
        if object["apiVersion"] == CalicoGroup::Crd.as_str() {
            object["apiVersion"] = CalicoGroup::V3.as_str().into();
        }
    }
    objects
}
