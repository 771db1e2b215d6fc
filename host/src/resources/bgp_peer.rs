use std::net::IpAddr;

use super::Text;
use crate::types::{AsNumber, Endpoint, Name, Seconds, SecretKeyRef};

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
