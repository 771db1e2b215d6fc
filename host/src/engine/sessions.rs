//! From peerings to BGP sessions, as this node's BIRD must be told of them, and to the keys of the view.

use std::net::IpAddr;

use serde::Serialize;

use super::filters::Filters;
use super::model::{Gateway, Peer};
use super::peerings::{Pass, Peering};
use crate::bird::Literal;
use crate::resources::NextHopMode;
use crate::types::{AsNumber, ClusterId, Family, Name, Password, Port, Prefix, Priority, Seconds};

/// This node's own facts, of one family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) family: Family,
    pub(super) address: IpAddr,
    pub(super) as_number: AsNumber,
    pub(super) cluster_id: Option<ClusterId>,
    pub(super) priority: Priority,
}

/// The session of a peering; none with this node itself.
pub(super) fn explicit(pass: Pass, peering: &Peering, own: &Own, filters: &Filters) -> Option<Peer> {
    if peering.ip == own.address {
        return None;
    }
    let same_as = peering.local_as.unwrap_or(own.as_number) == peering.as_number;
    let (kind, prefix) = match pass {
        _ if peering.workload => ("workload", "Local_Workload"),
        Pass::Global => ("global", "Global"),
        Pass::Node | Pass::Reverse => ("node", "Node"),
    };
    let waits = pass == Pass::Global && peering.calico_node && waits_for(own.address, peering.ip);
    let reflected = same_as && own.cluster_id.is_some() && peering.cluster_id != own.cluster_id;
    let next_hop = match peering.next_hop_mode {
        Some(NextHopMode::Own) => Some("self"),
        Some(NextHopMode::Keep) => Some("keep"),
        Some(NextHopMode::Auto) => None,
        None => (peering.keep_next_hop && !same_as).then_some("keep"),
    };
    let (import, export) = filters.calls(&peering.filters, own.family);
    Some(Peer {
        name: session_name(prefix, peering.ip, peering.port),
        kind,
        local_as: peering.local_as,
        ip: peering.ip,
        port: peering.port,
        as_number: peering.as_number,
        source: (peering.use_node_ip == Some(true)).then_some(own.address),
        ttl_security: (peering.ttl_security > 0).then_some(peering.ttl_security),
        same_as,
        import,
        export,
        passive: peering.workload || waits,
        restart_time: peering.restart_time,
        keepalive_time: peering.keepalive_time,
        rr_cluster_id: own.cluster_id.filter(|_| reflected),
        password: peering.password.as_ref().map(Literal::password),
        next_hop,
        allow_local_as: peering.num_allow_local_as.filter(|times| *times > 0),
        normal_local_pref: own.priority.local_pref(),
        normal_priority: own.priority,
    })
}

/// What the mesh's sessions have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mesh {
    pub(super) restart_time: Option<Seconds>,
    pub(super) password: Option<Password>,
}

/// The session of the mesh with another node.
pub(super) fn mesh(
    ip: IpAddr,
    port: Option<Port>,
    as_number: Option<AsNumber>,
    own: &Own,
    mesh: &Mesh,
) -> Peer {
    let as_number = as_number.unwrap_or(own.as_number);
    Peer {
        name: session_name("Mesh", ip, None),
        kind: "mesh",
        local_as: None,
        ip,
        port,
        as_number,
        source: Some(own.address),
        ttl_security: None,
        same_as: as_number == own.as_number,
        import: Vec::new(),
        export: Vec::new(),
        passive: waits_for(own.address, ip),
        restart_time: mesh.restart_time,
        keepalive_time: None,
        rr_cluster_id: None,
        password: mesh.password.as_ref().map(Literal::password),
        next_hop: None,
        allow_local_as: None,
        normal_local_pref: own.priority.local_pref(),
        normal_priority: own.priority,
    }
}

/// Whether this end waits: both ends compare their addresses as text, and the lower one waits.
fn waits_for(own: IpAddr, peer: IpAddr) -> bool {
    peer.to_string() > own.to_string()
}

/// A protocol's name: letters, digits and `_` only.
pub(super) fn session_name(prefix: &str, ip: IpAddr, port: Option<Port>) -> String {
    let ip = ip.to_string().replace(['.', ':'], "_");
    match port {
        Some(port) => format!("{prefix}_{ip}_port_{port}"),
        None => format!("{prefix}_{ip}"),
    }
}

/// The static route to a peering's remote end, if it needs one.
pub(super) fn gateway(peering: &Peering) -> Option<Gateway> {
    peering.reachable_by.map(|via| Gateway { prefix: Prefix::host(peering.ip), via })
}

/// A peering's value in the view. The names of the fields are those that existing templates read.
#[derive(Serialize)]
struct PeeringJson<'a> {
    ip: IpAddr,
    as_num: String,
    local_as_num: String,
    rr_cluster_id: String,
    password: Option<&'a str>,
    source_addr: &'static str,
    restart_time: String,
    keepalive_time: String,
    port: u16,
    keep_next_hop: bool,
    calico_node: bool,
    num_allow_local_as: u32,
    ttl_security: u8,
    filters: &'a [Name],
    reachable_by: String,
    passive_mode: bool,
    local_bgp_peer: bool,
    next_hop_mode: &'static str,
}

/// A peering's value in the view, with its password or with a mask for it.
pub(super) fn json(peering: &Peering, reveal: bool) -> String {
    let text = |value: Option<String>| value.unwrap_or_default();
    let value = PeeringJson {
        ip: peering.ip,
        as_num: peering.as_number.to_string(),
        local_as_num: peering.local_as.map_or_else(|| "0".to_owned(), |n| n.to_string()),
        rr_cluster_id: text(peering.cluster_id.map(|id| id.to_string())),
        password: peering.password.as_ref().map(|p| if reveal { p.reveal() } else { Password::HIDDEN }),
        source_addr: match peering.use_node_ip {
            Some(true) => "UseNodeIP",
            Some(false) => "None",
            None => "",
        },
        restart_time: text(peering.restart_time.map(|s| s.0.to_string())),
        keepalive_time: text(peering.keepalive_time.map(|s| s.0.to_string())),
        port: peering.port.map_or(0, Port::get),
        keep_next_hop: peering.keep_next_hop,
        calico_node: peering.calico_node,
        num_allow_local_as: peering.num_allow_local_as.unwrap_or(0),
        ttl_security: peering.ttl_security,
        filters: &peering.filters,
        reachable_by: text(peering.reachable_by.map(|ip| ip.to_string())),
        passive_mode: peering.workload,
        local_bgp_peer: peering.workload,
        next_hop_mode: peering.next_hop_mode.map_or("", NextHopMode::as_str),
    };
    // A struct of texts and numbers always has a JSON form.
    serde_json::to_string(&value).unwrap_or_default()
}
