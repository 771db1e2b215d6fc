use std::net::IpAddr;

use crate::bindings::filter::exports::tailorbird::policy::filter as filter_wire;
use crate::bindings::host::tailorbird::policy::types as wire;
use crate::bindings::peers::exports::tailorbird::policy::peers as peers_wire;
use crate::peering::NOT_SET;
use crate::text::{Text, count, packed, piece};
use crate::values::{address_words, ipv6_to_wire};
use crate::{AsNumber, ClusterId, Family, Peering, PeeringKind, Prefix, Request, Route, RouteKind};

const AS: u32 = 64512;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is no address"))
}

/// A node of a cluster in a test.
#[derive(Debug, Clone)]
pub struct ClusterNode {
    name: String,
    ipv4: Option<std::net::Ipv4Addr>,
    ipv6: Option<std::net::Ipv6Addr>,
    as_number: u32,
    cluster_id: Option<u32>,
    labels: Vec<(String, String)>,
}

impl ClusterNode {
    /// A node with an address and the AS number 64512.
    ///
    /// # Panics
    /// The address is none.
    pub fn new(name: impl Into<String>, ip: &str) -> Self {
        let node = Self {
            name: name.into(),
            ipv4: None,
            ipv6: None,
            as_number: AS,
            cluster_id: None,
            labels: Vec::new(),
        };
        node.address(ip)
    }

    /// With another address; a node has at most one of a family.
    ///
    /// # Panics
    /// The address is none.
    pub fn address(self, ip: &str) -> Self {
        match address(ip) {
            IpAddr::V4(ip) => Self { ipv4: Some(ip), ..self },
            IpAddr::V6(ip) => Self { ipv6: Some(ip), ..self },
        }
    }

    /// With an AS number.
    pub fn as_number(self, number: AsNumber) -> Self {
        Self { as_number: number.get(), ..self }
    }

    /// With a route reflector cluster id.
    pub fn cluster_id(self, id: ClusterId) -> Self {
        Self { cluster_id: Some(id.get()), ..self }
    }

    /// With a label.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((key.into(), value.into()));
        self
    }

    fn address_of(&self, family: Family) -> Option<IpAddr> {
        match family {
            Family::V4 => self.ipv4.map(IpAddr::V4),
            Family::V6 => self.ipv6.map(IpAddr::V6),
        }
    }
}

/// A request to choose peers, in a test.
#[derive(Debug, Clone)]
pub struct PeersRequest(peers_wire::Request);

impl PeersRequest {
    /// A cluster as one of its nodes sees it, with the mesh on: a peering with every other node. As the host has it, nodes
    /// with a cluster id take no part. The nodes are sorted by name.
    pub fn mesh(this_node: &str, nodes: impl IntoIterator<Item = ClusterNode>) -> Self {
        let mut nodes: Vec<ClusterNode> = nodes.into_iter().collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        let mut request = Self::without_peerings(this_node, &nodes);
        request.0.mesh = true;
        let own = nodes.iter().find(|node| node.name == this_node && node.cluster_id.is_none());
        for family in [Family::V4, Family::V6] {
            let Some(own_address) = own.and_then(|node| node.address_of(family)) else { continue };
            let others = nodes.iter().filter(|node| node.name != this_node && node.cluster_id.is_none());
            for node in others {
                let Some(ip) = node.address_of(family) else { continue };
                let peering = OnePeering::mesh(ip, &node.name).with_raw_as_number(node.as_number);
                let passive = own_address.to_string() < ip.to_string();
                request = request.peering(OnePeering { passive, ..peering });
            }
        }
        request
    }

    /// A cluster as one of its nodes sees it, with the mesh off and no peering.
    pub fn no_mesh(this_node: &str, nodes: impl IntoIterator<Item = ClusterNode>) -> Self {
        let mut nodes: Vec<ClusterNode> = nodes.into_iter().collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        Self::without_peerings(this_node, &nodes)
    }

    fn without_peerings(this_node: &str, nodes: &[ClusterNode]) -> Self {
        let mut text = Text::default();
        let mut labels = peers_wire::Labels { keys: Vec::new(), values: Vec::new() };
        let this = nodes.iter().position(|node| node.name == this_node).map(count);
        let mut columns = peers_wire::Nodes {
            names: Vec::new(),
            ipv4: Vec::new(),
            ipv6: Vec::new(),
            as_numbers: Vec::new(),
            cluster_ids: Vec::new(),
            labels: Vec::new(),
        };
        for node in nodes {
            let (high, low) = node.ipv6.map_or((0, 0), ipv6_to_wire);
            let first = count(labels.keys.len());
            for (key, value) in &node.labels {
                labels.keys.push(text.add_packed(key));
                labels.values.push(text.add_packed(value));
            }
            columns.names.push(text.add_packed(&node.name));
            columns.ipv4.push(node.ipv4.map_or(0, |ip| ip.to_bits()));
            columns.ipv6.extend([high, low]);
            columns.as_numbers.push(node.as_number);
            columns.cluster_ids.push(node.cluster_id.unwrap_or(0));
            columns.labels.push(packed(first, count(node.labels.len())));
        }
        Self(peers_wire::Request {
            nodes: columns,
            text: text.0,
            labels,
            this_node: this,
            candidates: peers_wire::Candidates { peerings: no_peerings(), nodes: Vec::new() },
            names: Vec::new(),
            mesh: false,
        })
    }

    /// With one more peering.
    pub fn peering(mut self, peering: OnePeering) -> Self {
        let request = &mut self.0;
        let mut text = Text(std::mem::take(&mut request.text));
        let mut names = request.nodes.names.iter();
        let node = names.position(|name| piece(&text.0, *name) == peering.remote_node);
        request.candidates.nodes.push(node.map_or(u32::MAX, count));
        peering.pack(&mut text, &mut request.names, &mut request.candidates.peerings);
        request.text = text.0;
        self
    }

    /// The request, as a policy sees it.
    pub fn view(&self) -> Request<'_> {
        Request::new(&self.0)
    }
}

/// A peering in a test: not passive, with the AS number 64512 at both ends, BIRD's own next hop, and nothing else set.
#[derive(Debug, Clone)]
pub struct OnePeering {
    kind: PeeringKind,
    bgp_peer: String,
    remote_node: String,
    ip: IpAddr,
    as_number: u32,
    local_as: u32,
    passive: bool,
    has_password: bool,
    remote_cluster_id: Option<u32>,
    filters: Vec<String>,
}

impl OnePeering {
    fn new(kind: PeeringKind, ip: IpAddr, bgp_peer: &str, remote_node: &str) -> Self {
        Self {
            kind,
            bgp_peer: bgp_peer.into(),
            remote_node: remote_node.into(),
            ip,
            as_number: AS,
            local_as: AS,
            passive: false,
            has_password: false,
            remote_cluster_id: None,
            filters: Vec::new(),
        }
    }

    /// A peering of the mesh with a node.
    pub fn mesh(ip: IpAddr, node: &str) -> Self {
        Self::new(PeeringKind::Mesh, ip, "", node)
    }

    /// The peering of a BGPPeer for every node.
    ///
    /// # Panics
    /// The address is none.
    pub fn global(ip: &str, bgp_peer: &str) -> Self {
        Self::new(PeeringKind::Global, address(ip), bgp_peer, "")
    }

    /// The peering of a BGPPeer for some nodes.
    ///
    /// # Panics
    /// The address is none.
    pub fn node(ip: &str, bgp_peer: &str) -> Self {
        Self::new(PeeringKind::Node, address(ip), bgp_peer, "")
    }

    /// With a remote AS number.
    pub fn as_number(self, number: AsNumber) -> Self {
        self.with_raw_as_number(number.get())
    }

    fn with_raw_as_number(self, as_number: u32) -> Self {
        Self { as_number, ..self }
    }

    /// With a local AS number.
    pub fn local_as(self, number: AsNumber) -> Self {
        Self { local_as: number.get(), ..self }
    }

    /// With a node of the cluster at the remote end.
    pub fn remote_node(self, node: &str) -> Self {
        Self { remote_node: node.into(), ..self }
    }

    /// With a password.
    pub fn password(self) -> Self {
        Self { has_password: true, ..self }
    }

    /// Waiting for the other end.
    pub fn passive(self) -> Self {
        Self { passive: true, ..self }
    }

    /// With a remote route reflector cluster id.
    pub fn remote_cluster_id(self, id: ClusterId) -> Self {
        Self { remote_cluster_id: Some(id.get()), ..self }
    }

    /// With BGPFilters.
    pub fn filters<T: Into<String>>(self, filters: impl IntoIterator<Item = T>) -> Self {
        Self { filters: filters.into_iter().map(Into::into).collect(), ..self }
    }

    /// The peering alone, ready to be looked at.
    pub fn alone(&self) -> PackedPeering {
        let mut text = Text::default();
        let mut names = Vec::new();
        let mut columns = no_peerings();
        self.clone().pack(&mut text, &mut names, &mut columns);
        PackedPeering { text: text.0, names, columns }
    }

    fn pack(self, text: &mut Text, names: &mut Vec<u64>, columns: &mut wire::Peerings) {
        let word = match self.kind {
            PeeringKind::Mesh => "Mesh",
            PeeringKind::Global => "Global",
            PeeringKind::Node => "Node",
            PeeringKind::Workload => "Local_Workload",
            PeeringKind::Plugin => "Plugin",
        };
        let name = format!("{word}_{}", self.ip.to_string().replace(['.', ':'], "_"));
        let its = |holds: bool, its| if holds { its } else { wire::PeeringTraits::empty() };
        let traits = its(self.as_number == self.local_as, wire::PeeringTraits::INTERNAL)
            | its(self.passive, wire::PeeringTraits::PASSIVE)
            | its(self.has_password, wire::PeeringTraits::PASSWORD);
        let first = count(names.len());
        names.extend(self.filters.iter().map(|filter| text.add_packed(filter)));
        columns.names.push(text.add_packed(&name));
        columns.kinds.push(self.kind);
        columns.bgp_peers.push(text.add_packed(&self.bgp_peer));
        columns.remote_nodes.push(text.add_packed(&self.remote_node));
        columns.families.push(crate::family(self.ip));
        columns.addresses.extend(address_words(self.ip));
        columns.ports.push(0);
        columns.as_numbers.push(self.as_number);
        columns.local_as_numbers.push(self.local_as);
        columns.traits.push(traits);
        columns.next_hops.push(wire::NextHop::Automatic);
        columns.restart_times.push(NOT_SET);
        columns.keepalive_times.push(NOT_SET);
        columns.ttl_securities.push(0);
        columns.remote_cluster_ids.push(self.remote_cluster_id.unwrap_or(0));
        columns.filters.push(packed(first, count(self.filters.len())));
    }
}

fn no_peerings() -> wire::Peerings {
    wire::Peerings {
        names: Vec::new(),
        kinds: Vec::new(),
        bgp_peers: Vec::new(),
        remote_nodes: Vec::new(),
        families: Vec::new(),
        addresses: Vec::new(),
        ports: Vec::new(),
        as_numbers: Vec::new(),
        local_as_numbers: Vec::new(),
        traits: Vec::new(),
        next_hops: Vec::new(),
        restart_times: Vec::new(),
        keepalive_times: Vec::new(),
        ttl_securities: Vec::new(),
        remote_cluster_ids: Vec::new(),
        filters: Vec::new(),
    }
}

/// A peering that is in no request.
#[derive(Debug, Clone)]
pub struct PackedPeering {
    text: String,
    names: Vec<u64>,
    columns: wire::Peerings,
}

impl PackedPeering {
    /// The peering, as a policy sees it.
    pub fn view(&self) -> Peering<'_> {
        Peering { text: &self.text, names: &self.names, columns: &self.columns, row: 0 }
    }
}

/// A route in a test.
#[derive(Debug, Clone)]
pub struct OneRoute {
    text: String,
    columns: filter_wire::Routes,
}

impl OneRoute {
    fn new(prefix: &str, kind: RouteKind, namespace: &str, service: &str) -> Self {
        let prefix: Prefix = prefix.parse().unwrap_or_else(|_| panic!("`{prefix}` is no prefix"));
        let mut text = Text::default();
        let columns = filter_wire::Routes {
            families: vec![crate::family(prefix.address())],
            addresses: address_words(prefix.address()).to_vec(),
            lengths: vec![prefix.length()],
            kinds: vec![kind],
            namespaces: vec![text.add_packed(namespace)],
            services: vec![text.add_packed(service)],
        };
        Self { text: text.0, columns }
    }

    /// An address of a Service.
    ///
    /// # Panics
    /// The prefix is none.
    pub fn service(prefix: &str, namespace: &str, name: &str) -> Self {
        Self::new(prefix, RouteKind::Service, namespace, name)
    }

    /// A block of addresses of this node's workloads.
    ///
    /// # Panics
    /// The prefix is none.
    pub fn block(prefix: &str) -> Self {
        Self::new(prefix, RouteKind::Block, "", "")
    }

    /// A prefix of the BGPConfiguration.
    ///
    /// # Panics
    /// The prefix is none.
    pub fn cidr(prefix: &str) -> Self {
        Self::new(prefix, RouteKind::Cidr, "", "")
    }

    /// The route, as a policy sees it.
    pub fn view(&self) -> Route<'_> {
        Route::new(&self.text, &self.columns, 0)
    }
}
