//! What a BGPPeer says of one remote end: which peerings, with which fields.

use std::net::IpAddr;

use super::{Context, Pass, Peering, PeeringKey, Spec};
use crate::engine::nodes::Node;
use crate::engine::selectors::{SelectorId, Selectors};
use crate::resources::{RemoteEnd, Scope};
use crate::types::{AsNumber, Endpoint, Family, Name, Port};

/// Why a node is none of those that a BGPPeer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotSelected {
    /// The BGPPeer names another node.
    OtherNode,
    /// The selector does not match the node.
    Unmatched,
    /// The selector is malformed, and so matches nothing.
    Malformed,
}

/// Why a BGPPeer leads to no peering with a remote end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPeering {
    /// Its password is there and cannot be used.
    Password,
    /// It names no remote end.
    NoRemoteEnd,
    /// The node whose peering it would be is not one of those that have it.
    Scope(NotSelected),
    /// The node at the other end is not one of those that are peered with.
    Remote(NotSelected),
    /// The address at the other end is another one.
    OtherAddress,
    /// The node at the other end has the address and another AS number.
    OtherAs,
    /// The node at the other end has the address and does not listen on the port.
    OtherPort,
    /// The workload belongs to another BGPPeer.
    OtherWorkload,
    /// It is for the other direction alone: by its own word, or because it leads to workloads.
    NoReverse,
    /// The gateway is of the other family.
    Gateway,
    /// The node at the other end has no address of a family that counts.
    NoAddress,
}

/// Whether a node is one of those that have a BGPPeer's forward peerings.
pub(super) fn in_scope(spec: &Spec, node: &str, selectors: &Selectors) -> Result<(), NotSelected> {
    match &spec.peer.scope {
        Scope::Global => Ok(()),
        Scope::Node(name) if name.as_str() == node => Ok(()),
        Scope::Node(_) => Err(NotSelected::OtherNode),
        Scope::Selector(_) => selected(spec.scope, node, selectors),
    }
}

/// Whether a node is one of those that a selector matches; without one it could not be read.
pub(super) fn selected(id: Option<SelectorId>, node: &str, selectors: &Selectors) -> Result<(), NotSelected> {
    let id = id.ok_or(NotSelected::Malformed)?;
    if selectors.matches(id, node) { Ok(()) } else { Err(NotSelected::Unmatched) }
}

/// The pass in which this node has a BGPPeer's forward peerings, if it has them.
pub(super) fn forward_pass(
    spec: &Spec,
    context: &Context<'_>,
    selectors: &Selectors,
) -> Result<Pass, NotSelected> {
    in_scope(spec, context.settings.node.as_str(), selectors)?;
    Ok(spec.pass())
}

/// The families of the reverse peerings that this node has of a BGPPeer, if it is a remote end of it.
pub(super) fn reverse_families(
    spec: &Spec,
    context: &Context<'_>,
    selectors: &Selectors,
) -> Result<&'static [Family], NoPeering> {
    if spec.peer.manual_reverse {
        return Err(NoPeering::NoReverse);
    }
    let this = &context.settings.node;
    match &spec.peer.remote {
        Some(RemoteEnd::Nodes(_)) => {
            selected(spec.remote, this.as_str(), selectors).map_err(NoPeering::Remote)?;
            Ok(&Family::ALL)
        }
        Some(RemoteEnd::Address(endpoint)) => {
            if !context.nodes.has_address(this, endpoint.ip) {
                return Err(NoPeering::OtherAddress);
            }
            answers_at(*endpoint, spec.peer.as_number, this, context)?;
            Ok(match Family::of(endpoint.ip) {
                Family::V4 => &Family::ALL[..1],
                Family::V6 => &Family::ALL[1..],
            })
        }
        Some(RemoteEnd::Workloads) => Err(NoPeering::NoReverse),
        None => Err(NoPeering::NoRemoteEnd),
    }
}

/// The nodes that an address, an AS number and (if given) a port belong to, by name.
pub(super) fn nodes_at<'a>(
    endpoint: Endpoint,
    as_number: Option<AsNumber>,
    context: &'a Context<'_>,
) -> impl Iterator<Item = &'a Name> {
    let nodes = context.nodes.with_address(endpoint.ip);
    nodes.filter(move |name| answers_at(endpoint, as_number, name, context).is_ok())
}

/// Whether a node that has an address also has the AS number and (if given) listens on the port.
fn answers_at(
    endpoint: Endpoint,
    as_number: Option<AsNumber>,
    name: &Name,
    context: &Context<'_>,
) -> Result<(), NoPeering> {
    let wanted = as_number.unwrap_or(context.as_number);
    let node = context.nodes.get(name.as_str());
    if node.is_none_or(|node| node.bgp.as_number.unwrap_or(context.as_number) != wanted) {
        return Err(NoPeering::OtherAs);
    }
    if endpoint.port.is_some() && endpoint.port != context.configurations.listen_port(name.as_str()) {
        return Err(NoPeering::OtherPort);
    }
    Ok(())
}

/// The fields that every peering of a BGPPeer has.
pub(super) fn common(spec: &Spec, ip: IpAddr, port: Option<Port>, as_number: AsNumber) -> Peering {
    let peer = &spec.peer;
    Peering {
        ip,
        port,
        as_number,
        local_as: None,
        cluster_id: None,
        node: None,
        password: spec.password.clone(),
        use_node_ip: Some(peer.use_node_ip),
        restart_time: peer.max_restart_time,
        keepalive_time: peer.keepalive_time,
        keep_next_hop: peer.keep_original_next_hop,
        calico_node: false,
        num_allow_local_as: None,
        ttl_security: peer.ttl_security,
        filters: spec.filters.clone(),
        reachable_by: None,
        workload: false,
        next_hop_mode: peer.next_hop_mode,
    }
}

/// The peering with an address.
pub(super) fn address_peering(
    spec: &Spec,
    endpoint: Endpoint,
    context: &Context<'_>,
) -> Result<(PeeringKey, Peering), NoPeering> {
    let peer = &spec.peer;
    let ip = endpoint.ip;
    if peer.reachable_by.is_some_and(|gateway| gateway.is_ipv4() != ip.is_ipv4()) {
        return Err(NoPeering::Gateway);
    }
    let port = endpoint.port.or_else(|| {
        let node = nodes_at(endpoint, peer.as_number, context).next()?;
        context.configurations.listen_port(node.as_str())
    });
    let node = context.nodes.with_address(ip).next().cloned();
    let peering = Peering {
        local_as: peer.local_as_number,
        calico_node: node.is_some(),
        node,
        num_allow_local_as: peer.num_allowed_local_as,
        reachable_by: peer.reachable_by,
        ..common(spec, ip, port, peer.as_number.unwrap_or(context.as_number))
    };
    Ok(((ip, port), peering))
}

/// The peerings with a node.
pub(super) fn node_peerings(
    spec: &Spec,
    node: &str,
    families: &[Family],
    context: &Context<'_>,
) -> Result<Vec<(PeeringKey, Peering)>, NoPeering> {
    let (name, remote) = context.nodes.map().get_key_value(node).ok_or(NoPeering::NoAddress)?;
    let remote: &Node = remote;
    let port = context.configurations.listen_port(node);
    let peering = |ip: IpAddr| Peering {
        cluster_id: remote.bgp.cluster_id,
        node: Some(name.clone()),
        reachable_by: spec.peer.reachable_by.filter(|gateway| gateway.is_ipv4() == ip.is_ipv4()),
        ..common(spec, ip, port, remote.bgp.as_number.unwrap_or(context.as_number))
    };
    let addresses = families.iter().filter_map(|family| remote.address(*family));
    let peerings: Vec<_> = addresses.map(|ip| ((ip, port), peering(ip))).collect();
    if peerings.is_empty() { Err(NoPeering::NoAddress) } else { Ok(peerings) }
}
