//! From peerings to BGP sessions, as this node's BIRD must be told of them, and to the keys of the view.

use std::net::IpAddr;
use std::sync::Arc;

use serde::Serialize;

use super::filters::Filters;
use super::model::{Gateway, Peer, Terms};
use super::peerings::{Owner, Pass, Peering};
use crate::bird::Literal;
use crate::resources::NextHopMode;
use crate::types::{AsNumber, ClusterId, Family, Name, Password, Port, Prefix, Priority, Seconds};

/// This node's own facts, of one family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) family: Family,
    pub(crate) address: IpAddr,
    pub(crate) as_number: AsNumber,
    pub(crate) cluster_id: Option<ClusterId>,
    pub(crate) priority: Priority,
}

/// Why a peering comes to no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoSession {
    /// This node has no address of the family.
    NoOwnAddress,
    /// The remote end is this node itself.
    OwnAddress,
}

/// The session of a peering.
///
/// # Errors
/// [`NoSession`].
pub(super) fn explicit(
    owner: &Owner,
    peering: &Peering,
    own: Option<&Own>,
    filters: &Filters,
) -> Result<Peer, NoSession> {
    let pass = owner.pass;
    let own = own.ok_or(NoSession::NoOwnAddress)?;
    if peering.ip == own.address {
        return Err(NoSession::OwnAddress);
    }
    let same_as = peering.local_as.unwrap_or(own.as_number) == peering.as_number;
    let (kind, prefix) = match pass {
        _ if peering.workload => ("workload", "Local_Workload"),
        Pass::Global => ("global", "Global"),
        Pass::Node | Pass::Reverse => ("node", "Node"),
    };
    let waits = pass == Pass::Global && peering.calico_node && waits_for(own.address, peering.ip);
    let next_hop = match peering.next_hop_mode {
        Some(NextHopMode::Own) => Some("self"),
        Some(NextHopMode::Keep) => Some("keep"),
        Some(NextHopMode::Auto) => None,
        None => (peering.keep_next_hop && !same_as).then_some("keep"),
    };
    let (import, export) = filters.calls(&peering.filters, own.family);
    let terms = Terms {
        kind,
        local_as: peering.local_as,
        source: (peering.use_node_ip == Some(true)).then_some(own.address),
        ttl_security: (peering.ttl_security > 0).then_some(peering.ttl_security),
        import,
        export,
        restart_time: peering.restart_time,
        keepalive_time: peering.keepalive_time,
        rr_cluster_id: client_of(own.cluster_id, same_as, peering.cluster_id),
        password: peering.password.as_ref().map(Literal::password),
        next_hop,
        allow_local_as: peering.num_allow_local_as.filter(|times| *times > 0),
        normal_priority: own.priority,
        bgp_peer: Some(owner.peer.clone()),
        remote_cluster_id: peering.cluster_id,
        filters: peering.filters.clone(),
    };
    Ok(Peer {
        name: session_name(prefix, peering.ip, peering.port).into(),
        ip: peering.ip,
        port: peering.port,
        as_number: peering.as_number,
        same_as,
        passive: peering.workload || waits,
        remote_node: peering.node.clone(),
        terms: terms.into(),
    })
}

/// The cluster id of this node as a reflector, if the remote end is its client: it is in the same AS, and no reflector
/// of the same cluster.
pub(crate) fn client_of(
    own: Option<ClusterId>,
    same_as: bool,
    remote: Option<ClusterId>,
) -> Option<ClusterId> {
    own.filter(|_| same_as && remote != own)
}

/// What the mesh's sessions of a family have in common.
pub(super) fn mesh_terms(own: &Own, restart_time: Option<Seconds>, password: Option<&Password>) -> Terms {
    Terms {
        kind: "mesh",
        local_as: None,
        source: Some(own.address),
        ttl_security: None,
        import: Vec::new(),
        export: Vec::new(),
        restart_time,
        keepalive_time: None,
        rr_cluster_id: None,
        password: password.map(Literal::password),
        next_hop: None,
        allow_local_as: None,
        normal_priority: own.priority,
        bgp_peer: None,
        remote_cluster_id: None,
        filters: Arc::default(),
    }
}

/// The name of the mesh's session with an address.
pub(super) fn mesh_name(ip: IpAddr) -> Arc<str> {
    session_name("Mesh", ip, None).into()
}

/// The session of the mesh with another node.
pub(super) fn mesh(
    node: &Name,
    ip: IpAddr,
    port: Option<Port>,
    as_number: Option<AsNumber>,
    own: &Own,
    terms: &Arc<Terms>,
) -> Peer {
    let as_number = as_number.unwrap_or(own.as_number);
    Peer {
        name: mesh_name(ip),
        ip,
        port,
        as_number,
        same_as: as_number == own.as_number,
        passive: waits_for(own.address, ip),
        remote_node: Some(node.clone()),
        terms: terms.clone(),
    }
}

/// Whether this end waits: both ends compare their addresses as text, and the lower one waits.
pub(crate) fn waits_for(own: IpAddr, peer: IpAddr) -> bool {
    peer.to_string() > own.to_string()
}

/// A protocol's name: letters, digits and `_` only.
pub(crate) fn session_name(prefix: &str, ip: IpAddr, port: Option<Port>) -> String {
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
