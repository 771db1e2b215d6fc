use std::net::IpAddr;

use crate::bindings::host::tailorbird::policy::types as wire;
use crate::text::{part, piece, some_piece};
use crate::values::address_in;
use crate::{AsNumber, ClusterId, Family, NextHop, PeeringKind};

/// A BGP session that this node has, or would have.
#[derive(Debug, Clone, Copy)]
pub struct Peering<'a> {
    pub(crate) text: &'a str,
    pub(crate) names: &'a [u64],
    pub(crate) columns: &'a wire::Peerings,
    pub(crate) row: usize,
}

/// What a column of numbers has where a time is not set.
pub(crate) const NOT_SET: u32 = u32::MAX;

impl<'a> Peering<'a> {
    /// What a column has of it. The host leaves none out.
    fn cell<T: Copy>(&self, column: &[T]) -> Option<T> {
        column.get(self.row).copied()
    }

    fn number<T: Copy + Default>(&self, column: &[T]) -> T {
        self.cell(column).unwrap_or_default()
    }

    fn is(&self, its: wire::PeeringTraits) -> bool {
        self.cell(&self.columns.traits).is_some_and(|all| all & its == its)
    }

    /// The name of BIRD's protocol, as `Mesh_10_0_0_2`.
    pub fn name(&self) -> &'a str {
        piece(self.text, self.number(&self.columns.names))
    }

    /// Where it comes from.
    pub fn kind(&self) -> PeeringKind {
        self.cell(&self.columns.kinds).unwrap_or(PeeringKind::Node)
    }

    /// The BGPPeer that it comes from; none for the mesh's and for plugins'.
    pub fn bgp_peer(&self) -> Option<&'a str> {
        some_piece(self.text, self.number(&self.columns.bgp_peers))
    }

    /// The node at the remote end; none when it is no node of the cluster.
    pub fn remote_node(&self) -> Option<&'a str> {
        some_piece(self.text, self.number(&self.columns.remote_nodes))
    }

    /// The remote address. Its family is that of the session.
    pub fn address(&self) -> IpAddr {
        address_in(&self.columns.families, &self.columns.addresses, self.row)
    }

    /// The family of the session.
    pub fn family(&self) -> Family {
        self.cell(&self.columns.families).unwrap_or(Family::V4)
    }

    /// The remote port, where one is set; else it is 179.
    pub fn port(&self) -> Option<u16> {
        Some(self.number(&self.columns.ports)).filter(|port| *port != 0)
    }

    /// The remote AS number.
    pub fn as_number(&self) -> AsNumber {
        AsNumber::from_wire(self.number(&self.columns.as_numbers))
    }

    /// The local AS number.
    pub fn local_as(&self) -> AsNumber {
        AsNumber::from_wire(self.number(&self.columns.local_as_numbers))
    }

    /// Whether both ends are in one AS (iBGP).
    pub fn is_internal(&self) -> bool {
        self.is(wire::PeeringTraits::INTERNAL)
    }

    /// Whether this end waits for the other to connect.
    pub fn passive(&self) -> bool {
        self.is(wire::PeeringTraits::PASSIVE)
    }

    /// What next hop this node announces.
    pub fn next_hop(&self) -> NextHop {
        self.cell(&self.columns.next_hops).unwrap_or(NextHop::Automatic)
    }

    /// The graceful restart time in seconds, where one is set.
    pub fn restart_time(&self) -> Option<u32> {
        self.cell(&self.columns.restart_times).filter(|time| *time != NOT_SET)
    }

    /// The keepalive time in seconds, where one is set.
    pub fn keepalive_time(&self) -> Option<u32> {
        self.cell(&self.columns.keepalive_times).filter(|time| *time != NOT_SET)
    }

    /// The number of hops for TTL security (RFC 5082), where it is on.
    pub fn ttl_security(&self) -> Option<u8> {
        Some(self.number(&self.columns.ttl_securities)).filter(|hops| *hops != 0)
    }

    /// The remote end's route reflector cluster id.
    pub fn remote_cluster_id(&self) -> Option<ClusterId> {
        ClusterId::new(self.number(&self.columns.remote_cluster_ids))
    }

    /// Whether the session has a password. No plugin sees any password.
    pub fn has_password(&self) -> bool {
        self.is(wire::PeeringTraits::PASSWORD)
    }

    /// The names of its BGPFilters, in order.
    pub fn filters(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let text = self.text;
        part(self.names, self.number(&self.columns.filters)).iter().map(move |name| piece(text, *name))
    }
}
