//! What a BGPPeer says of one remote end: which peerings, with which fields.

use std::net::IpAddr;

use super::{Context, Pass, Peering, PeeringKey, Spec};
use crate::engine::nodes::Node;
use crate::engine::selectors::Selectors;
use crate::resources::{RemoteEnd, Scope};
use crate::types::{AsNumber, Endpoint, Family, Name, Port};

/// The pass in which this node has a BGPPeer's forward peerings, if it has them.
pub(super) fn forward_pass(spec: &Spec, context: &Context<'_>, selectors: &Selectors) -> Option<Pass> {
    let this = &context.settings.node;
    match &spec.peer.scope {
        Scope::Global => Some(Pass::Global),
        Scope::Node(node) => (node == this).then_some(Pass::Node),
        Scope::Selector(_) => {
            spec.scope.is_some_and(|id| selectors.matches(id, this.as_str())).then_some(Pass::Node)
        }
    }
}

/// The families of the reverse peerings that this node has of a BGPPeer, if it is a remote end of it.
pub(super) fn reverse_families(
    spec: &Spec,
    context: &Context<'_>,
    selectors: &Selectors,
) -> Option<&'static [Family]> {
    if spec.peer.manual_reverse {
        return None;
    }
    let this = &context.settings.node;
    match &spec.peer.remote {
        Some(RemoteEnd::Nodes(_)) => {
            spec.remote.is_some_and(|id| selectors.matches(id, this.as_str())).then_some(&Family::ALL[..])
        }
        Some(RemoteEnd::Address(endpoint)) => {
            let mut here = nodes_at(*endpoint, spec.peer.as_number, context);
            here.any(|node| node == this).then(|| match Family::of(endpoint.ip) {
                Family::V4 => &Family::ALL[..1],
                Family::V6 => &Family::ALL[1..],
            })
        }
        Some(RemoteEnd::Workloads) | None => None,
    }
}

/// The nodes that an address, an AS number and (if given) a port belong to, by name.
pub(super) fn nodes_at<'a>(
    endpoint: Endpoint,
    as_number: Option<AsNumber>,
    context: &'a Context<'_>,
) -> impl Iterator<Item = &'a Name> {
    let wanted = as_number.unwrap_or(context.as_number);
    context.nodes.with_address(endpoint.ip).filter(move |name| {
        let node = context.nodes.get(name.as_str());
        let same_as = node.is_some_and(|node| node.bgp.as_number.unwrap_or(context.as_number) == wanted);
        let same_port =
            endpoint.port.is_none() || endpoint.port == context.configurations.listen_port(name.as_str());
        same_as && same_port
    })
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
) -> Option<(PeeringKey, Peering)> {
    let peer = &spec.peer;
    let ip = endpoint.ip;
    if peer.reachable_by.is_some_and(|gateway| gateway.is_ipv4() != ip.is_ipv4()) {
        return None;
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
    Some(((ip, port), peering))
}

/// The peerings with a node.
pub(super) fn node_peerings(
    spec: &Spec,
    node: &str,
    families: &[Family],
    context: &Context<'_>,
) -> Vec<(PeeringKey, Peering)> {
    let Some((name, remote)) = context.nodes.map().get_key_value(node) else { return Vec::new() };
    let remote: &Node = remote;
    let port = context.configurations.listen_port(node);
    let peering = |ip: IpAddr| Peering {
        cluster_id: remote.bgp.cluster_id,
        node: Some(name.clone()),
        reachable_by: spec.peer.reachable_by.filter(|gateway| gateway.is_ipv4() == ip.is_ipv4()),
        ..common(spec, ip, port, remote.bgp.as_number.unwrap_or(context.as_number))
    };
    let addresses = families.iter().filter_map(|family| remote.address(*family));
    addresses.map(|ip| ((ip, port), peering(ip))).collect()
}
