//! Snapshots made by hand.

#![allow(unreachable_pub)]

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use tailorbird::bird::Literal;
use tailorbird::engine::model::*;
use tailorbird::types::{AsNumber, ClusterId, Family, Name, Password, Port, Prefix, Priority, Seconds};

pub fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

pub fn prefix(text: &str) -> Prefix {
    text.parse().expect("a prefix")
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn interface(text: &str) -> Literal {
    Literal::interface(&text.parse().expect("a pattern"))
}

fn base(family: Family) -> Base {
    let v4 = family == Family::V4;
    Base {
        family,
        node: ThisNode {
            name: name("node-1"),
            address: v4.then(|| ip("10.0.0.1")),
            as_number: AsNumber::DEFAULT,
            cluster_id: None,
        },
        router_id: Ipv4Addr::new(10, 0, 0, 1),
        log: "info",
        ignored_interfaces: vec![interface("docker0")],
        listen: None,
        normal_priority: Priority::NORMAL,
        normal_local_pref: Priority::NORMAL.local_pref(),
        communities: Vec::new(),
        tunnel_interfaces: vec![interface("*.cali"), interface("tunl0")],
        disabled_pools: Vec::new(),
        exported_pools: Vec::new(),
        reflected: Vec::new(),
        kernel_pools: Vec::new(),
    }
}

pub fn peer(index: usize, passive: bool) -> Peer {
    let (high, low) = (index / 256, index % 256);
    let terms = Terms {
        kind: "mesh",
        local_as: None,
        source: Some(ip("10.0.0.1")),
        ttl_security: None,
        import: Vec::new(),
        export: Vec::new(),
        restart_time: None,
        keepalive_time: None,
        rr_cluster_id: None,
        password: None,
        next_hop: None,
        allow_local_as: None,
        normal_priority: Priority::NORMAL,
        bgp_peer: None,
        remote_cluster_id: None,
        filters: Default::default(),
    };
    Peer {
        name: format!("Mesh_10_1_{high}_{low}").into(),
        ip: ip(&format!("10.1.{high}.{low}")),
        port: None,
        as_number: AsNumber::DEFAULT,
        same_as: true,
        passive,
        remote_node: None,
        terms: terms.into(),
    }
}

/// A snapshot with that many IPv4 peers, and no IPv6.
pub fn snapshot(revision: u64, peers: usize) -> Snapshot {
    let model = |family| FamilyModel {
        base: Arc::new(base(family)),
        base_revision: revision,
        collections: Default::default(),
    };
    let mut snapshot = Snapshot {
        revision,
        view: Default::default(),
        models: [model(Family::V4), model(Family::V6)],
        cluster: Default::default(),
    };
    for index in 0..peers {
        let peer = peer(index, false);
        let key = peer.name.clone();
        set(&mut snapshot, revision, Family::V4, CollectionId::Peers, &key, Some(Item::from(peer)));
    }
    snapshot
}

/// Sets or removes an item.
pub fn set(
    snapshot: &mut Snapshot,
    revision: u64,
    family: Family,
    id: CollectionId,
    key: &str,
    item: Option<Item>,
) -> Changes {
    let changes = Changes {
        from: snapshot.revision,
        to: revision,
        items: BTreeMap::from([((family, id), BTreeSet::from([key.into()]))]),
    };
    let collection = &mut snapshot.models[family.index()].collections[id.index()];
    match item {
        Some(item) => drop(collection.items.insert(key.into(), Arc::new(item))),
        None => drop(collection.items.remove(key)),
    }
    collection.revision = revision;
    snapshot.revision = revision;
    changes
}

pub fn set_peer(snapshot: &mut Snapshot, revision: u64, peer: Peer) -> Changes {
    let key = peer.name.clone();
    set(snapshot, revision, Family::V4, CollectionId::Peers, &key, Some(Item::from(peer)))
}

/// A snapshot that has something everywhere in IPv4.
pub fn full_snapshot() -> Snapshot {
    let mut snapshot = snapshot(1, 1);
    let pool = |text: &str| KernelPool {
        prefix: prefix(text),
        reject: false,
        accept: false,
        tunnel: false,
        cross_subnet: false,
        network: None,
    };
    let community = |text: &str| {
        let community: tailorbird::types::Community = text.parse().expect("a community");
        CommunityValue { attribute: community.attribute(), value: Literal::community(community) }
    };
    snapshot.models[0].base = Arc::new(Base {
        log: "debug",
        listen: Some(Listen { address: Some(ip("10.0.0.1")), port: Port::new(1790) }),
        communities: vec![PrefixCommunities {
            prefix: prefix("10.10.0.0/16"),
            communities: vec![community("65001:500"), community("65002:7:8")],
        }],
        disabled_pools: vec![prefix("10.80.0.0/12")],
        exported_pools: vec![prefix("10.64.0.0/16"), prefix("10.96.0.0/12")],
        reflected: vec![prefix("192.0.2.0/24")],
        kernel_pools: vec![
            KernelPool { reject: true, ..pool("10.64.0.0/16") },
            KernelPool { accept: true, ..pool("10.65.0.0/16") },
            KernelPool { tunnel: true, ..pool("10.66.0.0/16") },
            KernelPool { cross_subnet: true, network: Some(prefix("10.0.0.0/24")), ..pool("10.67.0.0/16") },
        ],
        ..base(Family::V4)
    });
    let call = |reject: bool| FilterCall {
        // Interfaces are the literals that a test can make; a symbol comes from the engine.
        function: (!reject).then(|| interface("function")),
        takes_same_as: true,
        reject,
        reason: reject.then(|| name("broken")),
        ..FilterCall::default()
    };
    let password: Password = "p#1; {".parse().expect("a password");
    let mesh = peer(513, false);
    let terms = Terms {
        kind: "node",
        local_as: Some(AsNumber::new(65001).expect("an AS")),
        ttl_security: Some(3),
        import: vec![call(false), call(true)],
        export: vec![call(true)],
        restart_time: Some(Seconds(120)),
        keepalive_time: Some(Seconds(0)),
        rr_cluster_id: Some(ClusterId(Ipv4Addr::new(1, 0, 0, 1))),
        password: Some(Literal::password(&password)),
        next_hop: Some("self"),
        allow_local_as: Some(1),
        ..(*mesh.terms).clone()
    };
    let every = Peer {
        name: "Node_10_2_0_1_port_1790".into(),
        port: Port::new(1790),
        same_as: false,
        passive: true,
        terms: terms.into(),
        ..mesh
    };
    let function = |symbol: &str, takes_same_as| FilterFunction {
        symbol: interface(symbol),
        takes_same_as,
        lines: vec![interface("line-1"), interface("line-2")],
    };
    let block = |text: &str, blackhole, exported, confirmed| {
        let normal_priority = Priority::NORMAL;
        Item::Block(Block { prefix: prefix(text), blackhole, exported, confirmed, normal_priority })
    };
    let route = |text: &str| Item::Route(Route { prefix: prefix(text), origin: RouteOrigin::default() });
    let gateway = |text: &str| Item::Gateway(Gateway { prefix: prefix(text), via: ip("10.0.0.254") });
    let both = Filter {
        name: name("f1"),
        plugin: false,
        import: Some(function("in", true)),
        export: Some(function("out", false)),
    };
    for (id, key, item) in [
        (CollectionId::Peers, "Node_10_2_0_1_port_1790", Item::from(every)),
        (CollectionId::Filters, "f1", Item::from(both)),
        (CollectionId::Blocks, "10.64.0.0-26", block("10.64.0.0/26", true, true, true)),
        (CollectionId::Blocks, "10.64.0.64-32", block("10.64.0.64/32", false, true, false)),
        (CollectionId::Blocks, "10.64.1.0-26", block("10.64.1.0/26", true, false, false)),
        (CollectionId::Routes, "10.96.0.0-12", route("10.96.0.0/12")),
        (CollectionId::Routes, "192.0.2.1-32", route("192.0.2.1/32")),
        (CollectionId::Rejects, "10.96.0.0-12", route("10.96.0.0/12")),
        (CollectionId::GlobalGateways, "10.225.0.4-32", gateway("10.225.0.4/32")),
        (CollectionId::NodeGateways, "10.225.0.5-32", gateway("10.225.0.5/32")),
        (CollectionId::Wireguard, "10.0.0.7", Item::NextHop(NextHop { ip: ip("10.0.0.7") })),
    ] {
        set(&mut snapshot, 1, Family::V4, id, key, Some(item));
    }
    snapshot
}
