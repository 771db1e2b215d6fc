//! The part of a model that is small enough to be computed as a whole: this node, the configuration, the pools.

use std::net::{IpAddr, Ipv4Addr};

use sha2::{Digest, Sha256};

use super::config::Effective;
use super::model::{Base, KernelPool, Listen, ThisNode};
use super::nodes::Node;
use super::settings::{RouterId, Settings};
use crate::bird::Literal;
use crate::resources::{EncapMode, IpPool};
use crate::types::{Family, InterfacePattern, Name, Prefix};

/// The model's base, for a family.
pub(super) fn compute<'a>(
    family: Family,
    settings: &Settings,
    node: Option<&Node>,
    config: &Effective,
    pools: impl Iterator<Item = &'a IpPool>,
) -> Base {
    let address = node.and_then(|n| n.address(family));
    let cluster_id = node.and_then(|n| n.bgp.cluster_id);
    let priority = config.priority(family);
    let listen_address = if config.bind_node_ip { address } else { None };
    let listen = (listen_address.is_some() || config.listen_port.is_some())
        .then_some(Listen { address: listen_address, port: config.listen_port });
    let mut pools: Vec<&IpPool> = pools.filter(|pool| pool.cidr.family() == family).collect();
    // As the lines of the file sort: what follows the prefix in them is below any character of a prefix.
    pools.sort_by_cached_key(|pool| pool.cidr.text());
    let (disabled, exported): (Vec<&IpPool>, Vec<&IpPool>) =
        pools.iter().copied().partition(|pool| pool.disable_bgp_export);
    let network = node.and_then(|n| n.interface(family)).map(|a| Prefix::from(a.network()));
    Base {
        family,
        node: ThisNode {
            name: settings.node.clone(),
            address,
            as_number: node.and_then(|n| n.bgp.as_number).unwrap_or(config.as_number),
            cluster_id,
        },
        router_id: router_id(settings, node),
        log: config.log.as_str(),
        ignored_interfaces: config.ignored_interfaces.clone(),
        listen,
        normal_priority: priority,
        normal_local_pref: priority.local_pref(),
        communities: config.communities(family),
        tunnel_interfaces: tunnel_interfaces(config),
        disabled_pools: disabled.iter().map(|pool| pool.cidr.clone()).collect(),
        exported_pools: exported.iter().map(|pool| pool.cidr.clone()).collect(),
        reflected: match cluster_id {
            Some(_) => config.reflectable(family).cloned().collect(),
            None => Vec::new(),
        },
        kernel_pools: pools.iter().filter_map(|pool| kernel_pool(pool, network.as_ref(), config)).collect(),
    }
}

/// What the kernel filter says of a pool. IPv6 only holds back what is not BIRD's.
fn kernel_pool(pool: &IpPool, network: Option<&Prefix>, config: &Effective) -> Option<KernelPool> {
    let family = pool.cidr.family();
    let encapsulated = pool.ipip != EncapMode::Never;
    let by_bird = match (pool.vxlan, encapsulated) {
        (EncapMode::Never, true) => config.bird_programs_ipip(),
        (EncapMode::Never, false) => config.bird_programs_plain(),
        _ => false,
    };
    if family == Family::V4 && network.is_none() {
        return None;
    }
    if family == Family::V6 && by_bird {
        return None;
    }
    Some(KernelPool {
        prefix: pool.cidr.clone(),
        reject: !by_bird,
        accept: by_bird && pool.ipip == EncapMode::Never,
        tunnel: by_bird && pool.ipip == EncapMode::Always,
        cross_subnet: by_bird && pool.ipip == EncapMode::CrossSubnet,
        network: network.cloned(),
    })
}

/// Tunnel interfaces of Felix; the IPIP tunnel is Felix's when BIRD does not program it.
fn tunnel_interfaces(config: &Effective) -> Vec<Literal> {
    let own = if config.bird_programs_ipip() { None } else { Some("tunl0") };
    let patterns = ["*.cali", "*.calico"].into_iter().chain(own);
    patterns
        .filter_map(|text| text.parse::<InterfacePattern>().ok())
        .map(|p| Literal::interface(&p))
        .collect()
}

/// The router id. A node without an IPv4 address gets that of its name.
fn router_id(settings: &Settings, node: Option<&Node>) -> Ipv4Addr {
    match (settings.router_id, node.and_then(|n| n.address(Family::V4))) {
        (RouterId::Literal(id), _) => id,
        (RouterId::NodeAddress, Some(IpAddr::V4(ip))) => ip,
        (RouterId::NodeAddress | RouterId::Hash, _) => hashed_router_id(&settings.node),
    }
}

/// The first four bytes of the SHA-256 of the name, the first one below 224 so that it is no multicast address.
fn hashed_router_id(name: &Name) -> Ipv4Addr {
    let hash = Sha256::digest(name.as_str().as_bytes());
    let first = if hash[0] > 223 { hash[0] - 32 } else { hash[0] };
    Ipv4Addr::new(first, hash[1], hash[2], hash[3])
}
