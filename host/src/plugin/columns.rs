//! The columns of the contract as rows: written in place, so that a change of one row costs that row.

use super::contract::filter::{RouteKind, Routes};
use super::contract::peers::{Candidates, Labels, Nodes};
use super::contract::types::{
    Address, Family, NextHop, PeeringKind, PeeringTraits, Peerings, Prefix, Range, Span,
};

/// Stands in a column of numbers for "none", where 0 is a value.
const NONE: u32 = u32::MAX;

/// A BGP session: a row of [`Peerings`], whose fields say what each means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Peering {
    pub name: Span,
    pub kind: PeeringKind,
    pub bgp_peer: Span,
    pub remote_node: Span,
    pub ip: Address,
    pub port: Option<u16>,
    pub as_number: u32,
    pub local_as: u32,
    pub traits: PeeringTraits,
    pub next_hop: NextHop,
    pub restart_time: Option<u32>,
    pub keepalive_time: Option<u32>,
    pub ttl_security: Option<u8>,
    pub remote_cluster_id: Option<u32>,
    pub filters: Range,
}

/// A node of the cluster: a row of [`Nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Node {
    pub name: Span,
    pub ipv4: Option<u32>,
    pub ipv6: Option<(u64, u64)>,
    pub as_number: u32,
    pub cluster_id: Option<u32>,
    pub labels: Range,
}

/// A label of a node: a row of [`Labels`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Label {
    pub key: Span,
    pub value: Span,
}

/// A route: a row of [`Routes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Route {
    pub prefix: Prefix,
    pub kind: RouteKind,
    pub namespace: Span,
    pub service: Span,
}

/// Where a row is written.
#[derive(Debug, Clone, Copy)]
enum Place {
    End,
    Before(usize),
    Over(usize),
}

/// Writes a row's items of a column.
fn put<T: Copy, const N: usize>(column: &mut Vec<T>, place: Place, items: [T; N]) {
    match place {
        Place::End => column.extend_from_slice(&items),
        Place::Before(row) => drop(column.splice(row * N..row * N, items)),
        Place::Over(row) => column[row * N..][..N].copy_from_slice(&items),
    }
}

/// Takes a row's items out of a column.
fn take<T, const N: usize>(column: &mut Vec<T>, row: usize) {
    drop(column.drain(row * N..(row + 1) * N));
}

/// Methods of columns: for each the number of items in a row, and those that stand for a row.
macro_rules! columns {
    ($columns:ident of $row:ident, counted by $first:ident: $($column:ident [$width:literal] = |$from:ident| $items:expr;)+) => {
        impl $columns {
            /// The number of rows.
            pub fn len(&self) -> usize {
                self.$first.len()
            }

            /// Whether there is no row.
            pub fn is_empty(&self) -> bool {
                self.$first.is_empty()
            }

            /// The rows.
            pub fn iter(&self) -> impl ExactSizeIterator<Item = $row> + '_ {
                (0..self.len()).map(|row| self.at(row))
            }

            /// A row, if it is there.
            pub fn get(&self, row: usize) -> Option<$row> {
                (row < self.len()).then(|| self.at(row))
            }

            /// Adds a row.
            pub fn push(&mut self, row: &$row) {
                self.put(Place::End, row);
            }

            /// Puts a row in front of another.
            ///
            /// # Panics
            /// There are fewer rows.
            pub fn insert(&mut self, place: usize, row: &$row) {
                self.put(Place::Before(place), row);
            }

            /// Puts a row in place of another.
            ///
            /// # Panics
            /// There are fewer rows.
            pub fn set(&mut self, place: usize, row: &$row) {
                self.put(Place::Over(place), row);
            }

            /// Takes a row out.
            ///
            /// # Panics
            /// There is no such row.
            pub fn remove(&mut self, place: usize) {
                $(take::<_, $width>(&mut self.$column, place);)+
            }

            /// Takes all rows out.
            pub fn clear(&mut self) {
                $(self.$column.clear();)+
            }

            fn put(&mut self, place: Place, row: &$row) {
                $(let $from = row; put::<_, $width>(&mut self.$column, place, $items);)+
            }
        }

        impl Default for $columns {
            fn default() -> Self {
                Self { $($column: Vec::new(),)+ }
            }
        }
    };
}

columns! {
    Peerings of Peering, counted by names:
    names[1] = |row| [packed_span(row.name)];
    kinds[1] = |row| [row.kind];
    bgp_peers[1] = |row| [packed_span(row.bgp_peer)];
    remote_nodes[1] = |row| [packed_span(row.remote_node)];
    families[1] = |row| [family(row.ip)];
    addresses[2] = |row| words(row.ip);
    ports[1] = |row| [row.port.unwrap_or(0)];
    as_numbers[1] = |row| [row.as_number];
    local_as_numbers[1] = |row| [row.local_as];
    traits[1] = |row| [row.traits];
    next_hops[1] = |row| [row.next_hop];
    restart_times[1] = |row| [row.restart_time.unwrap_or(NONE)];
    keepalive_times[1] = |row| [row.keepalive_time.unwrap_or(NONE)];
    ttl_securities[1] = |row| [row.ttl_security.unwrap_or(0)];
    remote_cluster_ids[1] = |row| [row.remote_cluster_id.unwrap_or(0)];
    filters[1] = |row| [packed(row.filters.start, row.filters.count)];
}

impl Peerings {
    fn at(&self, row: usize) -> Peering {
        Peering {
            name: span(self.names[row]),
            kind: self.kinds[row],
            bgp_peer: span(self.bgp_peers[row]),
            remote_node: span(self.remote_nodes[row]),
            ip: address(self.families[row], &self.addresses, row),
            port: Some(self.ports[row]).filter(|port| *port != 0),
            as_number: self.as_numbers[row],
            local_as: self.local_as_numbers[row],
            traits: self.traits[row],
            next_hop: self.next_hops[row],
            restart_time: some(self.restart_times[row]),
            keepalive_time: some(self.keepalive_times[row]),
            ttl_security: Some(self.ttl_securities[row]).filter(|hops| *hops != 0),
            remote_cluster_id: Some(self.remote_cluster_ids[row]).filter(|id| *id != 0),
            filters: range(self.filters[row]),
        }
    }
}

columns! {
    Nodes of Node, counted by names:
    names[1] = |row| [packed_span(row.name)];
    ipv4[1] = |row| [row.ipv4.unwrap_or(0)];
    ipv6[2] = |row| row.ipv6.map_or([0; 2], |(high, low)| [high, low]);
    as_numbers[1] = |row| [row.as_number];
    cluster_ids[1] = |row| [row.cluster_id.unwrap_or(0)];
    labels[1] = |row| [packed(row.labels.start, row.labels.count)];
}

impl Nodes {
    fn at(&self, row: usize) -> Node {
        Node {
            name: span(self.names[row]),
            ipv4: Some(self.ipv4[row]).filter(|ip| *ip != 0),
            ipv6: Some((self.ipv6[row * 2], self.ipv6[row * 2 + 1])).filter(|ip| *ip != (0, 0)),
            as_number: self.as_numbers[row],
            cluster_id: Some(self.cluster_ids[row]).filter(|id| *id != 0),
            labels: range(self.labels[row]),
        }
    }
}

columns! {
    Labels of Label, counted by keys:
    keys[1] = |row| [packed_span(row.key)];
    values[1] = |row| [packed_span(row.value)];
}

impl Labels {
    fn at(&self, row: usize) -> Label {
        Label { key: span(self.keys[row]), value: span(self.values[row]) }
    }
}

columns! {
    Routes of Route, counted by lengths:
    families[1] = |row| [family(row.prefix.address)];
    addresses[2] = |row| words(row.prefix.address);
    lengths[1] = |row| [row.prefix.length];
    kinds[1] = |row| [row.kind];
    namespaces[1] = |row| [packed_span(row.namespace)];
    services[1] = |row| [packed_span(row.service)];
}

impl Routes {
    fn at(&self, row: usize) -> Route {
        let address = address(self.families[row], &self.addresses, row);
        Route {
            prefix: Prefix { address, length: self.lengths[row] },
            kind: self.kinds[row],
            namespace: span(self.namespaces[row]),
            service: span(self.services[row]),
        }
    }
}

// The type is made from the contract.
#[allow(clippy::derivable_impls)]
impl Default for Candidates {
    fn default() -> Self {
        Self { peerings: Peerings::default(), nodes: Vec::new() }
    }
}

impl Candidates {
    /// The number of candidates.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no candidate.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Puts a candidate in front of another, or at the end; `node` is its remote node's place.
    ///
    /// # Panics
    /// There are fewer candidates.
    pub fn insert(&mut self, place: usize, peering: &Peering, node: Option<u32>) {
        self.peerings.insert(place, peering);
        self.nodes.insert(place, node.unwrap_or(NONE));
    }

    /// Adds a candidate.
    pub fn push(&mut self, peering: &Peering, node: Option<u32>) {
        self.peerings.push(peering);
        self.nodes.push(node.unwrap_or(NONE));
    }

    /// Puts a candidate in place of another.
    ///
    /// # Panics
    /// There are fewer candidates.
    pub fn set(&mut self, place: usize, peering: &Peering, node: Option<u32>) {
        self.peerings.set(place, peering);
        self.nodes[place] = node.unwrap_or(NONE);
    }

    /// Takes a candidate out.
    ///
    /// # Panics
    /// There is no such candidate.
    pub fn remove(&mut self, place: usize) {
        self.peerings.remove(place);
        self.nodes.remove(place);
    }

    /// Takes all candidates out.
    pub fn clear(&mut self) {
        self.peerings.clear();
        self.nodes.clear();
    }

    /// The place of a candidate's remote node.
    pub fn node(&self, place: usize) -> Option<u32> {
        self.nodes.get(place).copied().and_then(some)
    }

    /// Brings the places of remote nodes up to date.
    pub fn place_nodes(&mut self, mut new: impl FnMut(usize, Option<u32>) -> Option<u32>) {
        for (place, node) in self.nodes.iter_mut().enumerate() {
            *node = new(place, some(*node)).unwrap_or(NONE);
        }
    }
}

/// A span of a text, or a range of a list, in one number.
fn packed(start: u32, count: u32) -> u64 {
    u64::from(count) << 32 | u64::from(start)
}

fn unpacked(packed: u64) -> (u32, u32) {
    (packed as u32, (packed >> 32) as u32)
}

/// A span of a text in one number.
pub fn packed_span(span: Span) -> u64 {
    packed(span.start, span.length)
}

/// A span of a text out of one number.
pub fn span(packed: u64) -> Span {
    let (start, length) = unpacked(packed);
    Span { start, length }
}

fn range(packed: u64) -> Range {
    let (start, count) = unpacked(packed);
    Range { start, count }
}

fn some(value: u32) -> Option<u32> {
    Some(value).filter(|value| *value != NONE)
}

fn family(address: Address) -> Family {
    match address {
        Address::V4(_) => Family::V4,
        Address::V6(_) => Family::V6,
    }
}

/// The higher and the lower 64 bits of an address.
fn words(address: Address) -> [u64; 2] {
    match address {
        Address::V4(bits) => [0, bits.into()],
        Address::V6((high, low)) => [high, low],
    }
}

fn address(family: Family, words: &[u64], row: usize) -> Address {
    let (high, low) = (words[row * 2], words[row * 2 + 1]);
    match family {
        Family::V4 => Address::V4(low as u32),
        Family::V6 => Address::V6((high, low)),
    }
}
