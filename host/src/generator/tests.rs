use std::collections::HashSet;
use std::net::IpAddr;

use crate::resources::{Kind, ObjectKey, Resource};
use serde_json::Value;

use super::*;

/// One small cluster of each shape.
fn small() -> Vec<ClusterSpec> {
    let shapes = [ClusterSpec::mesh(30), ClusterSpec::reflectors(30), ClusterSpec::top_of_rack(30)];
    let v4 = ClusterSpec { dual_stack: false, own_as_every: 7, ..ClusterSpec::mesh(11) };
    let bare =
        ClusterSpec { services: 0, pools: 0, blocks_per_node: 0, filters: 0, peers: 0, secrets: 0, ..v4 };
    shapes.into_iter().chain([v4, bare]).collect()
}

#[test]
fn presets_can_be_generated() {
    for spec in small().into_iter().chain([
        ClusterSpec::large(),
        ClusterSpec::mesh(1),
        ClusterSpec::top_of_rack(5000),
    ]) {
        assert_eq!(spec.check(), Ok(()), "{spec:?}");
    }
    let large = ClusterSpec::large();
    let sizes = (large.nodes, large.services, large.services * large.slices_per_service);
    assert_eq!(sizes, (5_000, 10_000, 30_000));
    assert!(ClusterSpec { zones: 0, ..ClusterSpec::large() }.check().is_err());
}

#[test]
fn names_and_addresses_are_unique() {
    for spec in small().into_iter().chain([ClusterSpec::large()]) {
        let mut keys: HashSet<ObjectKey> = HashSet::new();
        let mut addresses: HashSet<IpAddr> = HashSet::new();
        let mut cidrs = HashSet::new();
        for (key, resource) in spec.objects() {
            assert!(keys.insert(key.clone()), "{key} twice");
            match resource {
                Resource::KubeNode(node) => {
                    for address in [node.bgp.ipv4, node.bgp.ipv6].into_iter().flatten() {
                        assert!(addresses.insert(address.ip()), "{key}: {address:?} twice");
                    }
                }
                Resource::Service(service) => {
                    for ip in
                        service.cluster_ips.into_iter().chain(service.external_ips).chain(service.ingress_ips)
                    {
                        assert!(addresses.insert(ip), "{key}: {ip} twice");
                    }
                }
                Resource::BlockAffinity(block) => assert!(cidrs.insert(block.cidr.net()), "{key} twice"),
                Resource::IpPool(pool) => assert!(cidrs.insert(pool.cidr.net()), "{key} twice"),
                _ => {}
            }
        }
    }
}

#[test]
fn blocks_lie_in_pools_of_their_family() {
    let objects: Vec<_> = ClusterSpec { blocks_per_node: 90, ..ClusterSpec::mesh(30) }.objects().collect();
    let pools: Vec<_> = objects
        .iter()
        .filter_map(|(_, r)| if let Resource::IpPool(p) = r { Some(&p.cidr) } else { None })
        .collect();
    for (key, resource) in &objects {
        if let Resource::BlockAffinity(block) = resource {
            assert_eq!(
                pools.iter().filter(|pool| pool.net().contains(&block.cidr.net())).count(),
                1,
                "{key}"
            );
        }
    }
}

#[test]
fn references_have_a_target() {
    for spec in small() {
        let keys: HashSet<String> = spec.objects().map(|(key, _)| key.to_string()).collect();
        for (key, resource) in spec.objects() {
            match resource {
                Resource::BgpPeer(peer) => {
                    for name in peer.filters {
                        assert!(keys.contains(&format!("BGPFilter {name}")), "{key}: {name}");
                    }
                    if let Some(password) = peer.password {
                        assert!(keys.contains(&format!("Secret kube-system/{}", password.name)), "{key}");
                    }
                }
                Resource::EndpointSlice(slice) => {
                    let service = slice.service.map(|name| name.to_string()).unwrap_or_default();
                    assert!(keys.contains(&format!("Service {}/{service}", slice.namespace)), "{key}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn changes_are_what_they_say() {
    let spec = ClusterSpec::reflectors(30);
    let objects: std::collections::HashMap<_, _> = spec.objects().collect();
    let kinds = [
        Change::NodeAddress,
        Change::NodeLabel,
        Change::Peer,
        Change::Filter,
        Change::Service,
        Change::Slice,
        Change::Pool,
        Change::Block,
        Change::Secret,
        |_| Change::Configuration,
    ];
    for kind in kinds {
        for i in 0..2 {
            let rounds: Vec<_> = (0..4).filter_map(|round| spec.change(kind(i), round)).collect();
            assert_eq!(rounds.len(), 4, "{:?}", kind(i));
            assert_eq!(objects.get(&rounds[0].0), Some(&rounds[0].1), "{:?} in round 0", kind(i));
            for pair in rounds.windows(2) {
                assert_eq!(pair[0].0, pair[1].0);
                assert_ne!(pair[0].1, pair[1].1, "{:?}", kind(i));
            }
            assert_eq!(spec.change(kind(i), 3), spec.change(kind(i), 3));
        }
    }
    assert_eq!(spec.change(Change::NodeAddress(30), 1), None);
}

#[test]
fn every_object_is_written_in_every_form() {
    for spec in small() {
        let count = spec.objects().count();
        let (mut yaml, mut json, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        write_yaml(&spec, &mut yaml).unwrap();
        write_json(&spec, &mut json).unwrap();
        write_json_lines(&spec, &mut lines).unwrap();
        let list: Value = serde_json::from_slice(&json).unwrap();
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), count);
        let lines = String::from_utf8(lines).unwrap();
        assert!(
            lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).eq(items.iter().cloned())
        );
        let yaml = String::from_utf8(yaml).unwrap();
        assert_eq!(yaml.lines().filter(|line| line.starts_with("- ")).count(), count);
        assert!(yaml.starts_with("apiVersion: v1\nitems:\n- apiVersion: "));
        assert!(yaml.ends_with("\nkind: List\nmetadata:\n  resourceVersion: \"\"\n"));
    }
}

#[test]
fn a_node_is_as_large_as_a_real_one() {
    for (key, resource) in ClusterSpec::mesh(20).objects().filter(|(key, _)| key.kind == Kind::KubeNode) {
        let mut out = Vec::new();
        yaml::write_item(&mut out, &manifest(&resource).unwrap()).unwrap();
        assert!((3_000..5_500).contains(&out.len()), "{key}: {}", out.len());
    }
}

/// The bytes of a cluster stay what they are: measurements of different versions compare.
#[test]
fn output_is_stable() {
    let mut out = Vec::new();
    for spec in small() {
        write_json_lines(&spec, &mut out).unwrap();
    }
    assert_eq!(random::hash(&String::from_utf8(out).unwrap()), 5_680_721_447_160_676_996);
}
