//! Values as the contract writes them: numbers, and one text.

use std::net::IpAddr;

use crate::engine::Cluster;
use crate::engine::model::Peer;
use crate::plugin::columns::{Peering, packed_span};
use crate::plugin::contract::types::{self, NextHop, PeeringKind, PeeringTraits, Range, Span};
use crate::types::{AsNumber, Family, Prefix};

/// A place or a length. No list that a machine can hold is longer than this type can say.
pub(super) fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Adds a piece to a text; an empty one takes no place.
pub(super) fn span(text: &mut String, piece: &str) -> Span {
    if piece.is_empty() {
        return Span { start: 0, length: 0 };
    }
    let start = number(text.len());
    text.push_str(piece);
    Span { start, length: number(piece.len()) }
}

pub(super) fn address(ip: IpAddr) -> types::Address {
    match ip {
        IpAddr::V4(v4) => types::Address::V4(v4.into()),
        IpAddr::V6(v6) => types::Address::V6(halves(v6.into())),
    }
}

/// The higher and the lower 64 bits.
pub(super) fn halves(bits: u128) -> (u64, u64) {
    ((bits >> 64) as u64, bits as u64)
}

pub(super) fn prefix(prefix: &Prefix) -> types::Prefix {
    types::Prefix { address: address(prefix.net().addr()), length: prefix.length() }
}

/// A session. Its name, and the other texts, go to the end of `text`, the names of its filters to that of `names`.
pub(super) fn peering(peer: &Peer, own_as: AsNumber, text: &mut String, names: &mut Vec<u64>) -> Peering {
    let local_as = peer.local_as.unwrap_or(own_as);
    let first = number(names.len());
    for name in &*peer.filters {
        names.push(packed_span(span(text, name.as_str())));
    }
    let mut traits = PeeringTraits::empty();
    for (holds, its) in [
        (peer.same_as, PeeringTraits::INTERNAL),
        (peer.passive, PeeringTraits::PASSIVE),
        (peer.password.is_some(), PeeringTraits::PASSWORD),
    ] {
        if holds {
            traits |= its;
        }
    }
    Peering {
        name: span(text, &peer.name),
        kind: match peer.kind {
            "mesh" => PeeringKind::Mesh,
            "global" => PeeringKind::Global,
            "workload" => PeeringKind::Workload,
            "plugin" => PeeringKind::Plugin,
            _ => PeeringKind::Node,
        },
        bgp_peer: span(text, peer.bgp_peer.as_ref().map_or("", |name| name.as_str())),
        remote_node: span(text, peer.remote_node.as_ref().map_or("", |name| name.as_str())),
        ip: address(peer.ip),
        port: peer.port.map(|port| port.get()),
        as_number: peer.as_number.get(),
        local_as: local_as.get(),
        traits,
        next_hop: match peer.next_hop {
            Some("self") => NextHop::Own,
            Some(_) => NextHop::Keep,
            None => NextHop::Automatic,
        },
        restart_time: peer.restart_time.map(|time| time.0),
        keepalive_time: peer.keepalive_time.map(|time| time.0),
        ttl_security: peer.ttl_security,
        remote_cluster_id: peer.remote_cluster_id.map(|id| id.0.into()),
        filters: Range { start: first, count: number(peer.filters.len()) },
    }
}

/// Whether two sessions are the same to a plugin.
pub(super) fn same_peering(a: &Peer, b: &Peer) -> bool {
    let facts = |peer: &Peer| {
        (
            (peer.kind, peer.ip, peer.port, peer.as_number, peer.local_as, peer.same_as, peer.passive),
            (peer.next_hop, peer.restart_time, peer.keepalive_time, peer.ttl_security),
            (peer.password.is_some(), peer.remote_cluster_id),
        )
    };
    let same_names = a.name == b.name && a.remote_node == b.remote_node;
    facts(a) == facts(b) && same_names && a.bgp_peer == b.bgp_peer && a.filters == b.filters
}

/// The AS number of this node's ends of a family's sessions, where they have none of their own.
pub(super) fn own_as(cluster: &Cluster, family: Family) -> AsNumber {
    cluster.own(family).map_or(cluster.as_number, |own| own.as_number)
}
