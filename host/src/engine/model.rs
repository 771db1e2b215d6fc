//! The typed model that templates see: what this node's BIRD must be told, one model a family.
//!
//! `docs/templates.md` is its documentation for template authors; [`MODEL_VERSION`] is its version.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Deref;
use std::sync::Arc;

use imbl::OrdMap;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::{Cluster, View};
use crate::bird::Literal;
use crate::types::{AsNumber, ClusterId, Family, Name, Port, Prefix, Priority, Seconds};

/// The version of the model; a template that needs a newer one is refused.
pub const MODEL_VERSION: u32 = 1;

/// Everything at one revision. It never changes; a clone is cheap.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The revision: it grows by one with every batch that changes anything.
    pub revision: u64,
    /// The key/value view.
    pub view: View,
    /// The model of IPv4 and that of IPv6.
    pub models: [FamilyModel; 2],
    /// What policies must know besides.
    pub cluster: Cluster,
}

impl Snapshot {
    /// The model of a family.
    pub fn model(&self, family: Family) -> &FamilyModel {
        &self.models[family.index()]
    }
}

/// What one daemon must be told.
#[derive(Debug, Clone)]
pub struct FamilyModel {
    /// All that is not in a collection.
    pub base: Arc<Base>,
    /// The revision of the last change of `base`.
    pub base_revision: u64,
    /// The collections, by [`CollectionId::index`].
    pub collections: [Collection; CollectionId::ALL.len()],
}

impl FamilyModel {
    /// A collection.
    pub fn collection(&self, id: CollectionId) -> &Collection {
        &self.collections[id.index()]
    }
}

/// A list whose items are rendered one by one and kept while they do not change.
#[derive(Debug, Clone, Default)]
pub struct Collection {
    /// The revision of the last change.
    pub revision: u64,
    /// The items in the order of the file. The key only orders and identifies.
    pub items: OrdMap<Arc<str>, Arc<Item>>,
}

/// The collections of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CollectionId {
    /// `peers`: the BGP sessions, by name ([`Peer`]).
    Peers,
    /// `filters`: the functions of BGPFilters with rules of the family, by name ([`Filter`]).
    Filters,
    /// `blocks`: this node's blocks of addresses ([`Block`]).
    Blocks,
    /// `routes`: prefixes that this node originates for Services ([`Route`]).
    Routes,
    /// `rejects`: prefixes never programmed into the kernel ([`Route`]).
    Rejects,
    /// `global_gateways`: static routes to global peers ([`Gateway`]).
    GlobalGateways,
    /// `node_gateways`: static routes to this node's peers ([`Gateway`]).
    NodeGateways,
    /// `wireguard`: next hops that WireGuard owns ([`NextHop`]).
    Wireguard,
    /// `route_policies`: what becomes of prefixes that this node originates ([`RoutePolicy`]).
    RoutePolicies,
}

impl CollectionId {
    /// All of them.
    pub const ALL: [CollectionId; 9] = [
        CollectionId::Peers,
        CollectionId::Filters,
        CollectionId::Blocks,
        CollectionId::Routes,
        CollectionId::Rejects,
        CollectionId::GlobalGateways,
        CollectionId::NodeGateways,
        CollectionId::Wireguard,
        CollectionId::RoutePolicies,
    ];

    /// The name in templates.
    pub fn name(self) -> &'static str {
        match self {
            CollectionId::Peers => "peers",
            CollectionId::Filters => "filters",
            CollectionId::Blocks => "blocks",
            CollectionId::Routes => "routes",
            CollectionId::Rejects => "rejects",
            CollectionId::GlobalGateways => "global_gateways",
            CollectionId::NodeGateways => "node_gateways",
            CollectionId::Wireguard => "wireguard",
            CollectionId::RoutePolicies => "route_policies",
        }
    }

    /// The place in [`FamilyModel::collections`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// An item of a collection, as its fragment's template sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)]
// Sessions and routes are most of all, so what is larger than those is apart.
pub enum Item {
    Peer(Peer),
    Filter(Box<Filter>),
    Block(Block),
    Route(Route),
    Gateway(Gateway),
    NextHop(NextHop),
    RoutePolicy(RoutePolicy),
}

impl From<Peer> for Item {
    fn from(peer: Peer) -> Self {
        Self::Peer(peer)
    }
}

impl From<Filter> for Item {
    fn from(filter: Filter) -> Self {
        Self::Filter(Box::new(filter))
    }
}

/// All of a model that is not in a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Base {
    /// The family: `v4` or `v6`.
    pub family: Family,
    /// This node.
    pub node: ThisNode,
    /// The router id.
    pub router_id: Ipv4Addr,
    /// What BIRD logs of its protocols: `debug`, `info` or `none`.
    pub log: &'static str,
    /// Patterns of interfaces that are not read, each a string.
    pub ignored_interfaces: Vec<Literal>,
    /// Where BIRD listens, if it is not its own default.
    pub listen: Option<Listen>,
    /// The normal priority of a route of the family, and its local preference.
    pub normal_priority: Priority,
    /// 2147483647 less the normal priority.
    pub normal_local_pref: u32,
    /// Communities for prefixes, of the family, in the configuration's order.
    pub communities: Vec<PrefixCommunities>,
    /// Interfaces of tunnels whose routes are not exported inside the AS, each a string.
    pub tunnel_interfaces: Vec<Literal>,
    /// Prefixes of pools that are not exported.
    pub disabled_pools: Vec<Prefix>,
    /// Prefixes of pools that are exported.
    pub exported_pools: Vec<Prefix>,
    /// Prefixes that a route reflector passes on.
    pub reflected: Vec<Prefix>,
    /// What the kernel filter does with the routes of pools.
    pub kernel_pools: Vec<KernelPool>,
}

/// This node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThisNode {
    /// The name.
    pub name: Name,
    /// The address of the family, if the node has one.
    pub address: Option<IpAddr>,
    /// The AS number.
    pub as_number: AsNumber,
    /// The cluster id, if the node is a route reflector.
    pub cluster_id: Option<ClusterId>,
}

/// `listen bgp`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listen {
    /// The address, if not all.
    pub address: Option<IpAddr>,
    /// The port, if not 179.
    pub port: Option<Port>,
}

/// Communities that routes inside a prefix get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrefixCommunities {
    /// The prefix.
    pub prefix: Prefix,
    /// The communities.
    pub communities: Vec<CommunityValue>,
}

/// A community and BIRD's attribute for its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommunityValue {
    /// `bgp_community` or `bgp_large_community`.
    pub attribute: &'static str,
    /// The community as a tuple.
    pub value: Literal,
}

/// What the kernel filter does with the routes of a pool. Exactly one of the four is true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KernelPool {
    /// The pool's prefix.
    pub prefix: Prefix,
    /// Felix programs them.
    pub reject: bool,
    /// BIRD programs them as they are.
    pub accept: bool,
    /// BIRD programs them through the IPIP tunnel.
    pub tunnel: bool,
    /// BIRD programs them through the tunnel unless the next hop is in `network`.
    pub cross_subnet: bool,
    /// This node's network; always there when `cross_subnet` is true.
    pub network: Option<Prefix>,
}

/// A BGP session. What it can have in common with others is in its terms, and reads as if it were the session's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The protocol's name, a symbol.
    pub name: Arc<str>,
    /// The neighbor's address.
    pub ip: IpAddr,
    /// The neighbor's port, if one is set.
    pub port: Option<Port>,
    /// The neighbor's AS number.
    pub as_number: AsNumber,
    /// Whether both ends are in one AS.
    pub same_as: bool,
    /// Whether this end waits for the other to connect.
    pub passive: bool,
    /// The node at the remote end, if it is a node's; templates do not see it.
    pub remote_node: Option<Name>,
    /// The rest: thousands of sessions of a mesh have one between them.
    pub terms: Arc<Terms>,
}

/// What sessions can have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// `mesh`, `global`, `node`, `workload` or `plugin`.
    pub kind: &'static str,
    /// The local AS number, where it is not the node's.
    pub local_as: Option<AsNumber>,
    /// The local address of the session, if it is set.
    pub source: Option<IpAddr>,
    /// The number of hops for TTL security; absent when it is off.
    pub ttl_security: Option<u8>,
    /// The filters on import, in order.
    pub import: Vec<FilterCall>,
    /// The filters on export, in order.
    pub export: Vec<FilterCall>,
    /// The time for a graceful restart.
    pub restart_time: Option<Seconds>,
    /// The time between keepalives.
    pub keepalive_time: Option<Seconds>,
    /// The cluster id, when the peer is a client of this reflector.
    pub rr_cluster_id: Option<ClusterId>,
    /// The password, a string.
    pub password: Option<Literal>,
    /// `keep`, `self`, or absent.
    pub next_hop: Option<&'static str>,
    /// How often the own AS may be in a received path.
    pub allow_local_as: Option<u32>,
    /// The family's normal priority; templates see its local preference too, 2147483647 less.
    pub normal_priority: Priority,
    /// The BGPPeer that the session comes from, if it comes from one; templates do not see it.
    pub bgp_peer: Option<Name>,
    /// The remote end's cluster id, if it is known to be a route reflector; templates do not see it.
    pub remote_cluster_id: Option<ClusterId>,
    /// The names of its BGPFilters in order; templates do not see them.
    pub filters: Arc<[Name]>,
}

impl Deref for Peer {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.terms
    }
}

impl Serialize for Peer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Each field is named, so that none is forgotten.
        let Self { name, ip, port, as_number, same_as, passive, remote_node: _, terms } = self;
        let Terms {
            kind,
            local_as,
            source,
            ttl_security,
            import,
            export,
            restart_time,
            keepalive_time,
            rr_cluster_id,
            password,
            next_hop,
            allow_local_as,
            normal_priority,
            bgp_peer: _,
            remote_cluster_id: _,
            filters: _,
        } = &**terms;
        let mut fields = serializer.serialize_struct("Peer", 20)?;
        fields.serialize_field("name", &**name)?;
        fields.serialize_field("kind", kind)?;
        fields.serialize_field("local_as", local_as)?;
        fields.serialize_field("ip", ip)?;
        fields.serialize_field("port", port)?;
        fields.serialize_field("as_number", as_number)?;
        fields.serialize_field("source", source)?;
        fields.serialize_field("ttl_security", ttl_security)?;
        fields.serialize_field("same_as", same_as)?;
        fields.serialize_field("import", import)?;
        fields.serialize_field("export", export)?;
        fields.serialize_field("passive", passive)?;
        fields.serialize_field("restart_time", restart_time)?;
        fields.serialize_field("keepalive_time", keepalive_time)?;
        fields.serialize_field("rr_cluster_id", rr_cluster_id)?;
        fields.serialize_field("password", password)?;
        fields.serialize_field("next_hop", next_hop)?;
        fields.serialize_field("allow_local_as", allow_local_as)?;
        fields.serialize_field("normal_local_pref", &normal_priority.local_pref())?;
        fields.serialize_field("normal_priority", normal_priority)?;
        fields.end()
    }
}

/// A step of a peer's import or export: a call of a filter, or, when `reject` is true, the end for every route
/// because the filter or plugin named in `reason` cannot be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FilterCall {
    /// The function, a symbol.
    pub function: Option<Literal>,
    /// Whether the function takes "same AS".
    pub takes_same_as: bool,
    /// Whether the function takes the peer's address; never with `takes_same_as`.
    pub takes_peer: bool,
    /// Whether every route is refused here.
    pub reject: bool,
    /// The filter, or the plugin, that cannot be used.
    pub reason: Option<Name>,
    /// Whether `reason` is a plugin.
    pub plugin: bool,
}

/// A BGPFilter's functions of a family, or the functions of a set of rules that plugins made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Filter {
    /// The filter's name.
    pub name: Name,
    /// Whether it is a set of rules that plugins made.
    pub plugin: bool,
    /// The function for import, if there are such rules.
    pub import: Option<FilterFunction>,
    /// The function for export, if there are such rules.
    pub export: Option<FilterFunction>,
}

/// A function made of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FilterFunction {
    /// The function's name, a symbol.
    pub symbol: Literal,
    /// Whether it takes "same AS".
    pub takes_same_as: bool,
    /// A statement for each rule.
    pub lines: Vec<Literal>,
}

/// A block of addresses of this node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Block {
    /// The prefix.
    pub prefix: Prefix,
    /// Whether the whole block is routed to nowhere here (not for a single address).
    pub blackhole: bool,
    /// Whether the block is exported (not while it is being given up).
    pub exported: bool,
    /// Whether it is confirmed in so many words.
    pub confirmed: bool,
    /// The family's normal priority.
    pub normal_priority: Priority,
}

/// A prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Route {
    /// The prefix.
    pub prefix: Prefix,
    /// What the route stands for; templates do not see it.
    #[serde(skip)]
    pub origin: RouteOrigin,
}

/// What a route stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RouteOrigin {
    /// A prefix of the BGPConfiguration.
    #[default]
    Configuration,
    /// An address of a Service: its namespace and its name.
    Service(Name, Name),
}

/// What becomes of a prefix that this node originates, when it is exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoutePolicy {
    /// The prefix.
    pub prefix: Prefix,
    /// The statement, for a function with the parameter `peer_address`, the address of the remote end.
    pub statement: Literal,
}

/// A static route to a peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gateway {
    /// The peer, as a prefix.
    pub prefix: Prefix,
    /// The way to it.
    pub via: IpAddr,
}

/// A next hop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NextHop {
    /// The address.
    pub ip: IpAddr,
}

/// What differs between two revisions: for each collection the keys of the items that are new, changed or gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The revision before.
    pub from: u64,
    /// The revision after; the same as `from` when nothing changed.
    pub to: u64,
    /// The items.
    pub items: BTreeMap<(Family, CollectionId), BTreeSet<Arc<str>>>,
}
