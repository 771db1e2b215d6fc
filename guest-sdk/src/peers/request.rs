use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::bindings::peers::exports::tailorbird::policy::peers as wire;
use crate::text::{count, is_piece, part, piece};
use crate::values::ipv6_from_wire;
use crate::{AsNumber, ClusterId, Family, Peering};

/// All that a node's peerings are decided by.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    wire: &'a wire::Request,
}

impl<'a> Request<'a> {
    pub(crate) fn new(wire: &'a wire::Request) -> Self {
        Self { wire }
    }

    /// All nodes of the cluster that have an address, by name.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node<'a>> + use<'a> {
        let request = *self;
        (0..count(self.wire.nodes.names.len())).map(move |index| Node { request, index })
    }

    /// The node that the peerings are for, if it is among the nodes.
    pub fn this_node(&self) -> Option<Node<'a>> {
        self.wire.this_node.and_then(|index| self.node(index))
    }

    /// The peerings that this node would have: for the first plugin those of the BGPPeers and of the mesh, for each
    /// further one what the plugin before it left.
    pub fn candidates(&self) -> impl ExactSizeIterator<Item = Candidate<'a>> + use<'a> {
        let request = *self;
        (0..count(self.wire.candidates.peerings.names.len())).map(move |index| Candidate { request, index })
    }

    /// Whether the mesh between all nodes is on.
    pub fn mesh(&self) -> bool {
        self.wire.mesh
    }

    fn node(&self, index: u32) -> Option<Node<'a>> {
        ((index as usize) < self.wire.nodes.names.len()).then_some(Node { request: *self, index })
    }
}

/// A node of the cluster.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    request: Request<'a>,
    index: u32,
}

impl<'a> Node<'a> {
    /// Its place in [`Request::nodes`].
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// The name.
    pub fn name(&self) -> &'a str {
        piece(&self.request.wire.text, self.number(|nodes| &nodes.names))
    }

    /// Its IPv4 address, if it has one.
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        Some(self.number(|nodes| &nodes.ipv4)).filter(|ip| *ip != 0).map(Ipv4Addr::from_bits)
    }

    /// Its IPv6 address, if it has one.
    pub fn ipv6(&self) -> Option<Ipv6Addr> {
        let words = self.request.wire.nodes.ipv6.get(self.index() * 2..)?;
        let [high, low] = *words.first_chunk()?;
        Some((high, low)).filter(|halves| *halves != (0, 0)).map(ipv6_from_wire)
    }

    /// Its address of a family, if it has one.
    pub fn address(&self, family: Family) -> Option<IpAddr> {
        match family {
            Family::V4 => self.ipv4().map(IpAddr::V4),
            Family::V6 => self.ipv6().map(IpAddr::V6),
        }
    }

    /// Its AS number: its own, or else the cluster's.
    pub fn as_number(&self) -> AsNumber {
        AsNumber::from_wire(self.number(|nodes| &nodes.as_numbers))
    }

    /// Its route reflector cluster id, if it is a reflector.
    pub fn cluster_id(&self) -> Option<ClusterId> {
        ClusterId::new(self.number(|nodes| &nodes.cluster_ids))
    }

    /// The value of one of its labels. Only labels that the plugin may read are there
    /// (`/tailorbird/v1/node/<name>/labels/<label>`).
    pub fn label(&self, key: &str) -> Option<&'a str> {
        let text: &'a str = &self.request.wire.text;
        let (keys, values) = self.label_pieces();
        let place = keys.iter().position(|own| is_piece(text, *own, key))?;
        values.get(place).map(|value| piece(text, *value))
    }

    /// Keys and values of its labels, those that the plugin may read.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = (&'a str, &'a str)> + use<'a> {
        let text: &'a str = &self.request.wire.text;
        let (keys, values) = self.label_pieces();
        keys.iter().zip(values).map(move |(key, value)| (piece(text, *key), piece(text, *value)))
    }

    fn label_pieces(&self) -> (&'a [u64], &'a [u64]) {
        let labels = &self.request.wire.labels;
        let own = self.number(|nodes| &nodes.labels);
        (part(&labels.keys, own), part(&labels.values, own))
    }

    /// What a column has of it. The host leaves none out.
    fn number<T: Copy + Default>(&self, column: impl FnOnce(&wire::Nodes) -> &Vec<T>) -> T {
        column(&self.request.wire.nodes).get(self.index()).copied().unwrap_or_default()
    }

    pub(crate) fn place(&self) -> u32 {
        self.index
    }
}

/// A peering to decide on.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    request: Request<'a>,
    index: u32,
}

impl<'a> Candidate<'a> {
    /// Its place in [`Request::candidates`].
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// The peering.
    pub fn peering(&self) -> Peering<'a> {
        let request = self.request.wire;
        let columns = &request.candidates.peerings;
        Peering { text: &request.text, names: &request.names, columns, row: self.index() }
    }

    /// The node at the remote end, if it is one of the cluster.
    pub fn node(&self) -> Option<Node<'a>> {
        self.request.node(*self.request.wire.candidates.nodes.get(self.index())?)
    }

    pub(crate) fn place(&self) -> u32 {
        self.index
    }
}
