//! What is rare and must hold all the same: odd spellings, long lists, objects that are hardly there.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tailorbird::engine::{Engine, Event, Settings};
use tailorbird::resources::{Defaults, Document, parse};
use tailorbird::types::Family;

fn event(object: &Value) -> Event {
    match parse(object, &Defaults::default()).unwrap() {
        Document::Object(parsed) => Event::Upsert(parsed),
        other => panic!("{object}: {other:?}"),
    }
}

fn calico(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "projectcalico.org/v3", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn node(name: &str, address: &str, annotations: Value, pod_cidrs: &[&str]) -> Value {
    let mut all = json!({"projectcalico.org/IPv4Address": address});
    if let (Value::Object(all), Value::Object(annotations)) = (&mut all, annotations) {
        all.extend(annotations);
    }
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": all},
        "spec": {"podCIDRs": pod_cidrs}})
}

fn engine(change: impl FnOnce(&mut Settings), objects: &[Value]) -> Engine {
    let mut settings = Settings::new("node-1".parse().unwrap());
    change(&mut settings);
    let mut engine = Engine::new(settings);
    engine.apply(objects.iter().map(event));
    engine
}

fn keys(engine: &Engine, prefix: &str) -> Vec<String> {
    engine.snapshot().view.list(prefix).map(|(key, _)| key.into_owned()).collect()
}

#[test]
fn pools_and_blocks_are_one_however_their_prefix_is_spelled() {
    let affinity =
        json!({"cidr": "FD00:0:1:0::/122", "node": "node-1", "state": "confirmed", "deleted": "false"});
    let engine = engine(
        |_| {},
        &[
            node("node-1", "10.0.0.1/24", json!({}), &[]),
            calico("IPPool", "a", json!({"cidr": "FD00:0:1::/48", "disableBGPExport": true})),
            calico("IPPool", "b", json!({"cidr": "fd00:0:1:0::/48"})),
            calico("BlockAffinity", "x", affinity),
        ],
    );
    assert_eq!(keys(&engine, "/calico/v1/ipam"), ["/calico/v1/ipam/v6/pool/fd00:0:1::-48"]);
    assert_eq!(keys(&engine, "/calico/ipam"), ["/calico/ipam/v2/host/node-1/ipv6/block/fd00:0:1::-122"]);
    let base = &engine.snapshot().model(Family::V6).base;
    assert_eq!((base.disabled_pools.len(), base.exported_pools.len()), (1, 0), "the lowest name wins");
}

#[test]
fn a_pool_that_cannot_be_named_blocks_as_any_malformed_one() {
    let pool = |metadata: Value| {
        json!({"apiVersion": "projectcalico.org/v3", "kind": "IPPool", "metadata": metadata,
            "spec": {"cidr": "10.0.0.0/8", "disableBGPExport": true}})
    };
    for metadata in [json!({"name": "a b"}), json!({}), json!(null), json!("text"), json!({"name": true})] {
        let engine = engine(|_| {}, &[node("node-1", "10.0.0.1/24", json!({}), &[]), pool(metadata.clone())]);
        let blocking: Vec<String> = engine.blocking().iter().map(ToString::to_string).collect();
        assert!(matches!(&blocking[..], [one] if one.contains("IPPool _")), "{metadata}: {blocking:?}");
        assert_eq!(engine.reports().count(), 1);
    }
    // A peer that cannot be named is left out alone.
    assert!(parse(&calico("BGPPeer", "a b", json!({})), &Defaults::default()).is_err());
}

#[test]
fn an_object_of_calico_in_an_unknown_version_is_not_passed_over() {
    let versioned = |kind: &str, version: &str| {
        let mut object = calico(kind, "default", json!({"cidr": "10.0.0.0/8"}));
        object["apiVersion"] = version.into();
        object
    };
    for version in ["projectcalico.org/v1", "crd.projectcalico.org/v3"] {
        for (kind, blocks) in [("IPPool", 1), ("BGPConfiguration", 1), ("BGPPeer", 0), ("BGPFilter", 0)] {
            let engine = engine(|_| {}, &[versioned(kind, version)]);
            let said: Vec<String> = engine.reports().map(|report| report.error.to_string()).collect();
            assert!(matches!(&said[..], [one] if one.contains("not a version that is read")), "{said:?}");
            assert_eq!(engine.blocking().len(), blocks, "{kind}");
        }
        // A kind that is of no interest stays so.
        let other = parse(&versioned("FelixConfiguration", version), &Defaults::default());
        assert!(matches!(other, Ok(Document::Ignored { .. })));
    }
}

#[test]
fn with_pod_cidrs_the_address_in_wireguard_comes_from_them() {
    let written = json!({"projectcalico.org/IPv4WireguardInterfaceAddr": "10.99.0.1",
        "projectcalico.org/WireguardPublicKey": "key"});
    let keyless = json!({"projectcalico.org/IPv4WireguardInterfaceAddr": "10.99.0.2"});
    for (pods, expected) in [(true, ["10.244.1.1", "10.99.0.2"]), (false, ["10.99.0.1", "10.99.0.2"])] {
        let engine = engine(
            |settings| settings.use_pod_cidr = pods,
            &[
                node("node-1", "10.0.0.1/24", written.clone(), &["10.244.1.0/24"]),
                node("node-2", "10.0.0.2/24", keyless.clone(), &["10.244.2.0/24"]),
            ],
        );
        let found = ["node-1", "node-2"].map(|name| {
            let key = format!("/calico/bgp/v1/host/{name}/wireguard_addr_v4");
            engine.snapshot().view.get(&key).unwrap().into_owned()
        });
        assert_eq!(found, expected);
    }
}

/// Runs within a time that no search of a long list for each of its entries would keep.
fn quick(what: &str, objects: &[Value]) -> Engine {
    let start = Instant::now();
    let engine = engine(|_| {}, objects);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "{what} took {took:?}");
    engine
}

#[test]
fn the_cost_of_an_object_follows_its_size() {
    const COUNT: usize = 100_000;
    let bad: Vec<String> = (0..COUNT).map(|i| format!("x{i}")).collect();
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"clusterIP": "10.96.0.1", "externalIPs": bad}});
    assert_eq!(quick("a Service with many bad addresses", &[service]).reports().count(), COUNT);

    let defined: Vec<Value> = (0..COUNT)
        .map(|i| json!({"name": format!("c{i}"), "value": format!("{}:{}", i % 100, i / 100)}))
        .collect();
    let used: Vec<String> = (0..COUNT).map(|i| format!("c{i}")).collect();
    let spec = json!({"communities": defined, "prefixAdvertisements": [{"cidr": "10.0.0.0/8", "communities": used}]});
    let named =
        quick("a configuration with many communities", &[calico("BGPConfiguration", "default", spec)]);
    assert_eq!(named.snapshot().model(Family::V4).base.communities[0].communities.len(), COUNT);
}
