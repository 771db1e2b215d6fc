use std::net::IpAddr;

use crate::bindings::host::tailorbird::policy::types as wire;
use crate::text::{part, piece, some_piece};
use crate::values::address_from_wire;
use crate::{AsNumber, ClusterId, Family, NextHop, PeeringKind};

/// A BGP session that this node has, or would have.
#[derive(Debug, Clone, Copy)]
pub struct Peering<'a> {
    pub(crate) text: &'a str,
    pub(crate) names: &'a [wire::Span],
    pub(crate) wire: &'a wire::Peering,
}

impl<'a> Peering<'a> {
    /// The name of BIRD's protocol, as `Mesh_10_0_0_2`.
    pub fn name(&self) -> &'a str {
        piece(self.text, self.wire.name)
    }

    /// Where it comes from.
    pub fn kind(&self) -> PeeringKind {
        self.wire.kind
    }

    /// The BGPPeer that it comes from; none for the mesh's and for plugins'.
    pub fn bgp_peer(&self) -> Option<&'a str> {
        some_piece(self.text, self.wire.bgp_peer)
    }

    /// The node at the remote end; none when it is no node of the cluster.
    pub fn remote_node(&self) -> Option<&'a str> {
        some_piece(self.text, self.wire.remote_node)
    }

    /// The remote address. Its family is that of the session.
    pub fn address(&self) -> IpAddr {
        address_from_wire(self.wire.ip)
    }

    /// The family of the session.
    pub fn family(&self) -> Family {
        match self.wire.ip {
            wire::Address::V4(_) => Family::V4,
            wire::Address::V6(_) => Family::V6,
        }
    }

    /// The remote port, where one is set; else it is 179.
    pub fn port(&self) -> Option<u16> {
        self.wire.port
    }

    /// The remote AS number.
    pub fn as_number(&self) -> AsNumber {
        AsNumber::from_wire(self.wire.as_number)
    }

    /// The local AS number.
    pub fn local_as(&self) -> AsNumber {
        AsNumber::from_wire(self.wire.local_as)
    }

    /// Whether both ends are in one AS (iBGP).
    pub fn is_internal(&self) -> bool {
        self.wire.same_as
    }

    /// Whether this end waits for the other to connect.
    pub fn passive(&self) -> bool {
        self.wire.passive
    }

    /// What next hop this node announces.
    pub fn next_hop(&self) -> NextHop {
        self.wire.next_hop
    }

    /// The graceful restart time in seconds, where one is set.
    pub fn restart_time(&self) -> Option<u32> {
        self.wire.restart_time
    }

    /// The keepalive time in seconds, where one is set.
    pub fn keepalive_time(&self) -> Option<u32> {
        self.wire.keepalive_time
    }

    /// The number of hops for TTL security (RFC 5082), where it is on.
    pub fn ttl_security(&self) -> Option<u8> {
        self.wire.ttl_security
    }

    /// The remote end's route reflector cluster id.
    pub fn remote_cluster_id(&self) -> Option<ClusterId> {
        self.wire.remote_cluster_id.map(ClusterId::from_wire)
    }

    /// Whether the session has a password. No plugin sees any password.
    pub fn has_password(&self) -> bool {
        self.wire.has_password
    }

    /// The names of its BGPFilters, in order.
    pub fn filters(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let text = self.text;
        part(self.names, self.wire.filters).iter().map(move |name| piece(text, *name))
    }
}
