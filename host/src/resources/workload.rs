use std::net::IpAddr;

use crate::types::Name;

/// A local workload that peers with this node, from a status file that Calico's node agent writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadStatus {
    /// The file's name, which identifies the workload.
    pub name: Name,
    /// The BGPPeer that it belongs to (`bgpPeerName`); none when the workload does not peer.
    pub peer: Option<Name>,
    /// The first of `ipv4Nets`.
    pub ipv4: Option<IpAddr>,
    /// The first of `ipv6Nets`.
    pub ipv6: Option<IpAddr>,
}
