use std::collections::{BTreeMap, BTreeSet};

use tailorbird_guest::AsNumber;
use tailorbird_guest::testing::{
    ClusterNode, MockKv, OnePeering, PeersRequest, configure, schema_faults, take_log,
};

use super::*;

const ZONE: &str = "topology.kubernetes.io/zone";
const LABEL: &str = "route-reflector";

/// A node with addresses of both families, in a zone.
fn node(index: usize, zone: &str) -> ClusterNode {
    let address = format!("10.0.{}.{}", index / 250, index % 250 + 1);
    ClusterNode::new(format!("n{index:04}"), &address)
        .address(&format!("fd00::{:x}", index + 1))
        .label(ZONE, zone)
}

/// So many nodes, in turn in so many zones.
fn cluster(nodes: usize, zones: usize) -> Vec<ClusterNode> {
    (0..nodes).map(|index| node(index, &format!("z{}", index % zones))).collect()
}

fn name(index: usize) -> String {
    format!("n{index:04}")
}

/// What a node has, when the policy has been asked.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    cluster_id: Option<ClusterId>,
    /// For each peer and family the peer's cluster id.
    peers: BTreeMap<(String, Family4), Option<ClusterId>>,
}

/// Whether it is IPv4: a family that can be ordered.
type Family4 = bool;

fn selected(settings: &str, request: &PeersRequest) -> Result<Seen, String> {
    let policy: RackReflectors = configure(settings).unwrap();
    let view = request.view();
    let selection = policy.select(&view, &MockKv::new())?;
    let apply = |choice, now: Option<ClusterId>| match choice {
        ClusterIdChoice::Unchanged => now,
        ClusterIdChoice::None => None,
        ClusterIdChoice::Set(id) => Some(id),
    };
    let mut seen = Seen {
        cluster_id: apply(selection.cluster_id(), view.this_node().unwrap().cluster_id()),
        ..Seen::default()
    };
    let dropped: BTreeSet<usize> = selection.dropped().collect();
    assert_eq!(dropped.len(), selection.dropped().len(), "dropped twice");
    let changed: BTreeMap<usize, &Change> = selection.changed().collect();
    for candidate in view.candidates().filter(|candidate| !dropped.contains(&candidate.index())) {
        let Some(remote) = candidate.node() else { continue };
        let now = candidate.peering().remote_cluster_id();
        let id = match changed.get(&candidate.index()) {
            None => now,
            Some(change) if **change == Change::new().remote_cluster_id(ClusterIdChoice::None) => None,
            Some(change) => {
                assert_eq!(**change, Change::new().remote_cluster_id(seen.cluster_id));
                seen.cluster_id
            }
        };
        let key = (remote.name().to_owned(), candidate.peering().family() == Family::V4);
        assert_eq!(seen.peers.insert(key, id), None, "two sessions with {}", remote.name());
    }
    for addition in selection.added() {
        let remote = view.nodes().nth(addition.node_index()).unwrap();
        let with = |choice: ClusterIdChoice| {
            Addition::new(remote, addition.family()).mesh_password().remote_cluster_id(choice)
        };
        let id = match addition {
            own if *own == with(ClusterIdChoice::Unchanged) => remote.cluster_id(),
            own if *own == with(ClusterIdChoice::None) => None,
            own => {
                assert_eq!(*own, with(seen.cluster_id.into()));
                seen.cluster_id
            }
        };
        let key = (remote.name().to_owned(), addition.family() == Family::V4);
        assert_eq!(seen.peers.insert(key, id), None, "two sessions with {}", remote.name());
    }
    Ok(seen)
}

/// What all nodes have, by their names.
fn network(settings: &str, nodes: &[ClusterNode], mesh: bool) -> BTreeMap<String, Seen> {
    let names = PeersRequest::no_mesh("", nodes.to_vec());
    let names: Vec<String> = names.view().nodes().map(|node| node.name().to_owned()).collect();
    let see = |name: String| {
        let request = match mesh {
            true => PeersRequest::mesh(&name, nodes.to_vec()),
            false => PeersRequest::no_mesh(&name, nodes.to_vec()),
        };
        let seen = selected(settings, &request).unwrap();
        (name, seen)
    };
    names.into_iter().map(see).collect()
}

fn peers<'a>(network: &'a BTreeMap<String, Seen>, name: &str) -> BTreeSet<&'a str> {
    network[name].peers.keys().map(|(peer, _)| peer.as_str()).collect()
}

fn reflectors(network: &BTreeMap<String, Seen>) -> BTreeSet<&str> {
    let ids = network.iter().filter(|(_, seen)| seen.cluster_id.is_some());
    ids.map(|(name, _)| name.as_str()).collect()
}

/// Both ends of every peering have it, and take each other for what they are.
fn check_ends(network: &BTreeMap<String, Seen>) {
    for (name, seen) in network {
        for ((peer, family), remote_id) in &seen.peers {
            let other = &network[peer];
            assert!(
                other.peers.contains_key(&(name.clone(), *family)),
                "{name} has {peer}, not the other way"
            );
            // A reflector's client is a node without a cluster id, and no other.
            let client = seen.cluster_id.is_some() && *remote_id != seen.cluster_id;
            assert_eq!(client, seen.cluster_id.is_some() && other.cluster_id.is_none(), "{name} {peer}");
        }
    }
}

#[test]
fn both_ends_of_a_peering_come_to_the_same_conclusion() {
    for (nodes, zones) in [(1, 1), (2, 1), (3, 3), (7, 2), (40, 4), (60, 13)] {
        for others in [0, 1, 2, 16] {
            for per_group in [1, 2, 5] {
                let settings = format!(r#"{{"others": {others}, "reflectors_per_group": {per_group}}}"#);
                let nodes = cluster(nodes, zones);
                let with_mesh = network(&settings, &nodes, true);
                check_ends(&with_mesh);
                // Whether there was a mesh to keep, or all had to be added, comes to the same.
                assert_eq!(with_mesh, network(&settings, &nodes, false));
            }
        }
    }
}

#[test]
fn each_node_peers_with_the_reflectors_of_its_group_and_some_of_others() {
    let nodes = cluster(60, 5);
    let zone = |name: &str| name[1..].parse::<usize>().unwrap() % 5;
    let network = network(r#"{"reflectors_per_group": 2, "others": 3}"#, &nodes, true);
    let reflectors = reflectors(&network);
    assert_eq!(reflectors.len(), 10);
    for name in network.keys() {
        let peers = peers(&network, name);
        let own: Vec<_> = reflectors.iter().filter(|own| zone(own) == zone(name) && **own != name).collect();
        assert!(own.iter().all(|own| peers.contains(**own)), "{name}");
        if reflectors.contains(name.as_str()) {
            assert!(reflectors.iter().all(|other| *other == name || peers.contains(other)));
            // And with every node of its group.
            assert!((0..60).filter(|index| index % 5 == zone(name)).all(|index| {
                super::tests::name(index) == *name || peers.contains(super::tests::name(index).as_str())
            }));
        } else {
            assert_eq!(peers.len(), 2 + 3, "{name}");
            assert!(peers.is_subset(&reflectors));
        }
    }
}

#[test]
fn reflectors_of_other_groups_share_the_nodes() {
    let network = network(r#"{"reflectors_per_group": 1}"#, &cluster(200, 5), true);
    for reflector in reflectors(&network) {
        // 40 nodes of its group, 4 reflectors, and about a quarter of 156 nodes of each of the others.
        let number = peers(&network, reflector).len() - 39 - 4;
        assert!((15..=70).contains(&number), "{reflector}: {number}");
    }
}

#[test]
fn a_new_node_changes_little() {
    let settings = r#"{"reflectors_per_group": 1, "others": 2}"#;
    let pairs = |network: &BTreeMap<String, Seen>| -> BTreeSet<(String, String)> {
        let pairs = network
            .iter()
            .flat_map(|(name, seen)| seen.peers.keys().map(move |(peer, _)| (name.clone(), peer.clone())));
        pairs.collect()
    };
    let mut elections = 0;
    for size in 12..60 {
        let (before, after) = (cluster(size, 4), cluster(size + 1, 4));
        let (before, after) = (network(settings, &before, true), network(settings, &after, true));
        let (old, new) = (reflectors(&before), reflectors(&after));
        let newcomer = name(size);
        let gone: Vec<_> = old.difference(&new).collect();
        let come: Vec<_> = new.difference(&old).collect();
        if come.is_empty() {
            // Nothing but the peerings of the new node.
            let (old, new) = (pairs(&before), pairs(&after));
            assert!(old.is_subset(&new));
            assert!(new.difference(&old).all(|(a, b)| *a == newcomer || *b == newcomer));
        } else {
            elections += 1;
            assert_eq!((gone.len(), come), (1, vec![&newcomer.as_str()]));
            // Peerings between others stay, but for those of the reflector that is none any more, and of nodes that took
            // another one for it.
            let (lost, left) = (pairs(&before), pairs(&after));
            let lost: Vec<_> = lost.difference(&left).filter(|(a, b)| a != gone[0] && b != gone[0]).collect();
            let took = |node: &String| after[node].peers.contains_key(&(newcomer.clone(), true));
            assert!(lost.iter().all(|(a, b)| took(a) || took(b)), "{lost:?}");
        }
    }
    assert!((1..20).contains(&elections), "{elections}");
}

#[test]
fn nodes_with_the_label_are_the_reflectors() {
    let mut nodes = cluster(12, 3);
    nodes[0] = nodes[0].clone().label(LABEL, "true");
    nodes[4] = nodes[4].clone().label(LABEL, "true");
    nodes[5] = nodes[5].clone().label(LABEL, "false");
    let network = network("{}", &nodes, true);
    check_ends(&network);
    assert_eq!(reflectors(&network), BTreeSet::from(["n0000", "n0004"]));
    // n0003 is in the zone of n0000, n0001 in that of n0004, and n0002 in one without a reflector.
    assert_eq!(peers(&network, "n0003"), BTreeSet::from(["n0000", "n0004"]));
    assert_eq!(peers(&network, "n0001"), BTreeSet::from(["n0000", "n0004"]));
    assert_eq!(peers(&network, "n0002").len(), 1);
    assert_eq!(network["n0000"].cluster_id, "10.0.0.1".parse().ok());
}

#[test]
fn labels_can_be_others() {
    let nodes: Vec<_> = (0..6)
        .map(|index| {
            let value = if index < 2 { "yes" } else { "no" };
            node(index, "same").label("rack", format!("r{}", index % 2)).label("tailorbird.io/rr", value)
        })
        .collect();
    let settings = r#"{"group_label": "rack", "reflector_label": "tailorbird.io/rr", "reflector_value": "yes", "others": 0}"#;
    let network = network(settings, &nodes, true);
    check_ends(&network);
    assert_eq!(reflectors(&network), BTreeSet::from(["n0000", "n0001"]));
    assert_eq!(peers(&network, "n0004"), BTreeSet::from(["n0000"]));
    assert_eq!(peers(&network, "n0005"), BTreeSet::from(["n0001"]));
}

#[test]
fn nodes_with_a_cluster_id_of_their_own_are_reflectors_and_keep_it() {
    for mesh in [true, false] {
        let mut nodes = cluster(8, 2);
        nodes[0] = nodes[0].clone().cluster_id("244.0.0.1".parse().unwrap());
        nodes[1] = nodes[1].clone().cluster_id("244.0.0.1".parse().unwrap());
        nodes[2] = nodes[2].clone().label(LABEL, "true");
        let network = network("{}", &nodes, mesh);
        check_ends(&network);
        assert_eq!(reflectors(&network), BTreeSet::from(["n0000", "n0001", "n0002"]));
        assert_eq!(network["n0000"].cluster_id, "244.0.0.1".parse().ok());
        assert_eq!(network["n0002"].cluster_id, "10.0.0.3".parse().ok());
    }
}

#[test]
fn a_cluster_id_can_be_the_groups() {
    let network = network(r#"{"cluster_id": "group", "reflectors_per_group": 3}"#, &cluster(30, 3), true);
    check_ends(&network);
    let mut ids: BTreeMap<usize, BTreeSet<ClusterId>> = BTreeMap::new();
    for reflector in reflectors(&network) {
        let group = reflector[1..].parse::<usize>().unwrap() % 3;
        ids.entry(group).or_default().insert(network[reflector].cluster_id.unwrap());
    }
    assert!(ids.values().all(|ids| ids.len() == 1));
    assert_eq!(ids.values().flatten().collect::<BTreeSet<_>>().len(), 3);
}

#[test]
fn nodes_without_the_group_label_are_a_group() {
    let nodes: Vec<_> = (0..9)
        .map(|index| match index % 2 {
            0 => node(index, "z0"),
            _ => ClusterNode::new(name(index), &format!("10.0.0.{}", index + 1)),
        })
        .collect();
    let network = network(r#"{"reflectors_per_group": 1}"#, &nodes, true);
    check_ends(&network);
    assert_eq!(reflectors(&network).len(), 2);
}

#[test]
fn a_node_without_ipv4_has_a_cluster_id_too() {
    let nodes: Vec<_> =
        (0..3).map(|index| ClusterNode::new(name(index), &format!("fd00::{}", index + 1))).collect();
    let network = network(r#"{"reflectors_per_group": 2}"#, &nodes, true);
    check_ends(&network);
    let ids: BTreeSet<_> = network.values().filter_map(|seen| seen.cluster_id).collect();
    assert_eq!(ids.len(), 2);
}

#[test]
fn families_have_reflectors_of_their_own_where_addresses_are_missing() {
    // Every second node has no IPv6 address.
    let nodes: Vec<_> = (0..20)
        .map(|index| match index % 2 {
            0 => node(index, "z"),
            _ => ClusterNode::new(name(index), &format!("10.0.0.{}", index + 1)).label(ZONE, "z"),
        })
        .collect();
    let network = network(r#"{"reflectors_per_group": 2}"#, &nodes, true);
    for seen in network.values() {
        assert!(seen.peers.keys().any(|(_, v4)| *v4));
    }
    for index in (0..20).step_by(2) {
        let v6 = network[&name(index)].peers.keys().filter(|(_, v4)| !v4).count();
        assert!(v6 >= 1, "n{index}");
    }
    for (name, seen) in &network {
        for ((peer, family), id) in &seen.peers {
            assert!(network[peer].peers.contains_key(&(name.clone(), *family)));
            // No two nodes take each other for clients.
            let other = &network[peer];
            let client = seen.cluster_id.is_some() && *id != seen.cluster_id;
            let back = other.peers[&(name.clone(), *family)];
            assert!(!(client && other.cluster_id.is_some() && back != other.cluster_id), "{name} {peer}");
        }
    }
}

#[test]
fn a_family_without_any_reflector_stays_as_it_is() {
    let v4 = |index: usize| ClusterNode::new(name(index), &format!("10.0.0.{}", index + 1));
    let nodes = || (0..6).map(|index| if index == 0 { v4(0).label(LABEL, "true") } else { node(index, "z") });
    take_log();
    let seen = selected("{}", &PeersRequest::mesh("n0003", nodes())).unwrap();
    let of = |v4: bool| {
        seen.peers.keys().filter(|(_, own)| *own == v4).map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of(true), ["n0000"]);
    assert_eq!(of(false), ["n0001", "n0002", "n0004", "n0005"]);
    assert!(take_log().iter().any(|(_, line)| line.contains("IPv6")));
}

#[test]
fn without_a_reflector_in_reach_there_is_an_error() {
    let settings = r#"{"reflectors_per_group": 0}"#;
    let error = selected(settings, &PeersRequest::mesh("n0003", cluster(6, 2))).unwrap_err();
    assert!(error.contains("AS 64512") && error.contains("route-reflector=true"), "{error}");

    // All nodes say so when one group has none in reach, or some would keep what others drop.
    let mut nodes = cluster(6, 2);
    nodes[0] = nodes[0].clone().label(LABEL, "true");
    for index in 0..6 {
        let request = PeersRequest::mesh(&name(index), nodes.clone());
        let error = selected(r#"{"others": 0}"#, &request).unwrap_err();
        assert!(error.contains("topology.kubernetes.io/zone=z1") && error.contains("`others`"), "{error}");
        assert!(selected(r#"{"others": 1}"#, &request).is_ok());
    }
}

#[test]
fn nodes_of_another_as_stay_as_they_are() {
    let other = AsNumber::new(64520).unwrap();
    let mut nodes = cluster(12, 2);
    nodes[3] = nodes[3].clone().as_number(other);
    nodes[4] = nodes[4].clone().as_number(other).label(LABEL, "true");
    let network = network(r#"{"reflectors_per_group": 1}"#, &nodes, true);
    for (index, peer) in
        (0..12).flat_map(|index| [(index, 3), (index, 4)]).filter(|(index, peer)| index != peer)
    {
        assert!(peers(&network, &name(index)).contains(name(peer).as_str()), "{index} {peer}");
    }
    // The label in the other AS is none in this one: here, reflectors are elected.
    assert_eq!(reflectors(&network).difference(&BTreeSet::from(["n0004"])).count(), 2);
}

#[test]
fn peerings_of_bgp_peers_are_left_alone() {
    let mut nodes = cluster(10, 2);
    nodes[0] = nodes[0].clone().label(LABEL, "true");
    let explicit = |index: usize| {
        OnePeering::node(&format!("10.0.0.{}", index + 1), "by-hand").remote_node(&name(index))
    };
    let request = PeersRequest::no_mesh("n0001", nodes)
        .peering(OnePeering::global("192.0.2.1", "switch"))
        .peering(explicit(0))
        .peering(explicit(5));
    let names = |settings: &str| {
        let policy: RackReflectors = configure(settings).unwrap();
        let selection = policy.select(&request.view(), &MockKv::new()).unwrap();
        let added: Vec<_> = selection.added().iter().map(|own| (own.node_index(), own.family())).collect();
        (selection.kept(&request.view()).join(" "), added)
    };
    // The peering with the reflector is there over IPv4; over IPv6 it is added.
    let added = vec![(0, Family::V6)];
    assert_eq!(names("{}"), ("Global_192_0_2_1 Node_10_0_0_1 Node_10_0_0_6".to_owned(), added.clone()));
    assert_eq!(names(r#"{"drop_explicit": true}"#), ("Global_192_0_2_1 Node_10_0_0_1".to_owned(), added));
}

#[test]
fn an_address_that_two_nodes_have_gets_one_session() {
    let nodes = [
        ClusterNode::new("a", "10.0.0.1").label(LABEL, "true"),
        ClusterNode::new("b", "10.0.0.2").label(LABEL, "true"),
        ClusterNode::new("c", "10.0.0.2").label(LABEL, "true"),
        ClusterNode::new("d", "10.0.0.1"),
    ];
    let seen = selected("{}", &PeersRequest::no_mesh("a", nodes)).unwrap();
    assert_eq!(seen.peers.keys().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_node_that_is_not_in_the_cluster_is_left_alone() {
    let policy: RackReflectors = configure("{}").unwrap();
    let request = PeersRequest::mesh("nobody", cluster(4, 2));
    assert_eq!(policy.select(&request.view(), &MockKv::new()), Ok(Selection::unchanged()));
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    for (settings, told) in [
        (
            r#"{"group_label": "example.com/rack"}"#,
            "`group_label` is \"example.com/rack\", which is not read",
        ),
        (r#"{"reflector_label": ""}"#, "`reflector_label`"),
        (r#"{"others": 17}"#, "`others` is 17: at most 16"),
        (r#"{"cluster_id": "zone"}"#, "`zone`"),
        (r#"{"reflectors": 2}"#, "`reflectors`"),
    ] {
        let error = configure::<RackReflectors>(settings).unwrap_err();
        assert!(error.contains(told), "{error}");
    }
    // What the settings let through is what the manifest wants.
    let wants = settings::LABELS.map(|label| format!("/tailorbird/v1/node/*/labels/{label}"));
    assert_eq!(MANIFEST.wants, wants);
}

#[test]
fn the_schema_is_what_the_settings_are() {
    let faults = schema_faults(include_str!("../settings.schema.json"), configure::<RackReflectors>);
    assert!(faults.is_empty(), "{faults:#?}");
}
