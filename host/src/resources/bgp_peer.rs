use std::net::IpAddr;

use super::field::{Field, Read};
use super::{ObjectKey, Text};
use crate::types::{AsNumber, Endpoint, Name, Seconds, SecretKeyRef, ValueError};

/// Which nodes have a peering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every node: the peering is written once, under `global/`.
    Global,
    /// One node, by name.
    Node(Name),
    /// The nodes that a selector matches; its text is compiled by the engine.
    Selector(Text),
}

/// Which remote ends a peering has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteEnd {
    /// An address (`peerIP`).
    Address(Endpoint),
    /// The nodes that a selector matches (`peerSelector`).
    Nodes(Text),
    /// Local workloads whose status files name this BGPPeer (`localWorkloadSelector`).
    Workloads,
}

/// `nextHopMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextHopMode {
    /// BIRD's own choice.
    Auto,
    /// `next hop self`.
    Own,
    /// `next hop keep`.
    Keep,
}

impl NextHopMode {
    /// The mode as the API and the view write it.
    pub fn as_str(self) -> &'static str {
        match self {
            NextHopMode::Auto => "Auto",
            NextHopMode::Own => "Self",
            NextHopMode::Keep => "Keep",
        }
    }
}

/// BGPPeer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BgpPeer {
    /// The name.
    pub name: Name,
    /// `nodeSelector`, else `node`, else every node.
    pub scope: Scope,
    /// `localWorkloadSelector`, else `peerSelector`, else `peerIP`; absent when none is set: no peering at all.
    pub remote: Option<RemoteEnd>,
    /// `asNumber`.
    pub as_number: Option<AsNumber>,
    /// `localASNumber`.
    pub local_as_number: Option<AsNumber>,
    /// `numAllowedLocalASNumbers`.
    pub num_allowed_local_as: Option<u32>,
    /// `filters`, in order.
    pub filters: Vec<Name>,
    /// `keepOriginalNextHop`.
    pub keep_original_next_hop: bool,
    /// `nextHopMode`.
    pub next_hop_mode: Option<NextHopMode>,
    /// `maxRestartTime`, rounded to whole seconds.
    pub max_restart_time: Option<Seconds>,
    /// `keepaliveTime`, rounded to whole seconds.
    pub keepalive_time: Option<Seconds>,
    /// `password`.
    pub password: Option<SecretKeyRef>,
    /// `reachableBy`: the gateway to the peer.
    pub reachable_by: Option<IpAddr>,
    /// `reversePeering: Manual`.
    pub manual_reverse: bool,
    /// `sourceAddress` is `UseNodeIP`, the default.
    pub use_node_ip: bool,
    /// `ttlSecurity`, 0 to 255; 0 means off.
    pub ttl_security: u8,
}

/// Reads a BGPPeer.
///
/// What the CRD's validations refuse is malformed, with one exception: `keepOriginalNextHop` beside `nextHopMode`,
/// which stores without that validation hold; the mode wins.
pub(super) fn read(key: &ObjectKey, root: &Field<'_>) -> Read<BgpPeer> {
    let spec = root.get("spec")?;
    let node = spec.get("node")?;
    let node_selector = spec.get("nodeSelector")?;
    let peer_ip = spec.get("peerIP")?;
    let peer_selector = spec.get("peerSelector")?;
    let workload_selector = spec.get("localWorkloadSelector")?;
    let reachable_by = spec.get("reachableBy")?;
    let as_field = spec.get("asNumber")?;

    let as_number = as_number_or_zero(&as_field)?;
    let forbid = |field: &Field<'_>, other: &Field<'_>, reason: &str| {
        if field.is_set() && other.is_set() { Err(field.error(reason)) } else { Ok(()) }
    };
    forbid(&node, &node_selector, "node and nodeSelector cannot both be set")?;
    forbid(&peer_ip, &peer_selector, "peerIP and peerSelector cannot both be set")?;
    forbid(&peer_ip, &workload_selector, "peerIP must be empty when localWorkloadSelector is set")?;
    forbid(
        &peer_selector,
        &workload_selector,
        "peerSelector must be empty when localWorkloadSelector is set",
    )?;
    if peer_selector.is_set() && as_number.is_some() {
        return Err(as_field.error("asNumber must be empty when peerSelector is set"));
    }
    if workload_selector.is_set() && as_number.is_none() {
        return Err(as_field.error("asNumber is required when localWorkloadSelector is set"));
    }
    if reachable_by.is_set() && !peer_ip.is_set() {
        return Err(reachable_by.error("reachableBy must be empty when peerIP is empty"));
    }

    let scope = match (node_selector.text()?, node.parse()?) {
        (Some(selector), _) => Scope::Selector((&*selector).into()),
        (None, Some(node)) => Scope::Node(node),
        (None, None) => Scope::Global,
    };
    let remote = match (workload_selector.text()?, peer_selector.text()?, peer_ip.parse()?) {
        (Some(_), ..) => Some(RemoteEnd::Workloads),
        (None, Some(selector), _) => Some(RemoteEnd::Nodes((&*selector).into())),
        (None, None, address) => address.map(RemoteEnd::Address),
    };
    let mut filters = Vec::new();
    for item in spec.get("filters")?.items()? {
        filters.extend(item.parse::<Name>()?);
    }
    let allowed = spec.get("numAllowedLocalASNumbers")?.integer(0, i64::from(i32::MAX))?;
    let ttl = spec.get("ttlSecurity")?.integer(0, 255)?.unwrap_or(0);
    Ok(BgpPeer {
        name: key.name.clone(),
        scope,
        remote,
        as_number,
        local_as_number: as_number_or_zero(&spec.get("localASNumber")?)?,
        // Zero is BIRD's own default.
        num_allowed_local_as: allowed.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0),
        filters,
        keep_original_next_hop: spec.get("keepOriginalNextHop")?.boolean()?.unwrap_or(false),
        next_hop_mode: spec.get("nextHopMode")?.one_of(&[
            ("Auto", NextHopMode::Auto),
            ("Self", NextHopMode::Own),
            ("Keep", NextHopMode::Keep),
        ])?,
        max_restart_time: spec.get("maxRestartTime")?.seconds()?,
        keepalive_time: spec.get("keepaliveTime")?.seconds()?,
        password: spec.get("password")?.secret_key_ref()?,
        reachable_by: reachable_by
            .parse_with(|text| text.parse().map_err(|_| ValueError::new("not an IP address")))?,
        manual_reverse: spec
            .get("reversePeering")?
            .one_of(&[("Auto", false), ("Manual", true)])?
            .unwrap_or(false),
        use_node_ip: spec
            .get("sourceAddress")?
            .one_of(&[("UseNodeIP", true), ("None", false)])?
            .unwrap_or(true),
        ttl_security: u8::try_from(ttl).unwrap_or(0),
    })
}

/// An AS number. Zero is how the API writes "none" here.
fn as_number_or_zero(field: &Field<'_>) -> Read<Option<AsNumber>> {
    if field.text()?.as_deref() == Some("0") { Ok(None) } else { field.as_number() }
}
