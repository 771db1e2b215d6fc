use std::net::IpAddr;

use crate::bindings::filter::exports::tailorbird::policy::filter as filter_wire;
use crate::bindings::host::tailorbird::policy::types as wire;
use crate::bindings::peers::exports::tailorbird::policy::peers as peers_wire;
use crate::text::{Text, add_all, count};
use crate::values::{address_to_wire, ipv6_to_wire};
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
        let mut labels = Vec::new();
        let this = nodes.iter().position(|node| node.name == this_node).map(count);
        let nodes = nodes.iter().map(|node| peers_wire::Node {
            name: text.add(&node.name),
            ipv4: node.ipv4.map(|ip| ip.to_bits()),
            ipv6: node.ipv6.map(ipv6_to_wire),
            as_number: node.as_number,
            cluster_id: node.cluster_id,
            labels: add_all(
                &mut labels,
                node.labels
                    .iter()
                    .map(|(key, value)| peers_wire::Label { key: text.add(key), value: text.add(value) }),
            ),
        });
        let nodes = nodes.collect();
        Self(peers_wire::Request {
            nodes,
            text: text.0,
            labels,
            this_node: this,
            candidates: Vec::new(),
            names: Vec::new(),
            mesh: false,
        })
    }

    /// With one more peering.
    pub fn peering(mut self, peering: OnePeering) -> Self {
        let request = &mut self.0;
        let mut text = Text(std::mem::take(&mut request.text));
        let node = {
            let name_of = |node: &peers_wire::Node| crate::text::piece(&text.0, node.name);
            request.nodes.iter().position(|node| name_of(node) == peering.remote_node).map(count)
        };
        let peering = peering.pack(&mut text, &mut request.names);
        request.candidates.push(peers_wire::Candidate { peering, node });
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
        let wire = self.clone().pack(&mut text, &mut names);
        PackedPeering { text: text.0, names, wire }
    }

    fn pack(self, text: &mut Text, names: &mut Vec<wire::Span>) -> wire::Peering {
        let word = match self.kind {
            PeeringKind::Mesh => "Mesh",
            PeeringKind::Global => "Global",
            PeeringKind::Node => "Node",
            PeeringKind::Workload => "Local_Workload",
            PeeringKind::Plugin => "Plugin",
        };
        let name = format!("{word}_{}", self.ip.to_string().replace(['.', ':'], "_"));
        wire::Peering {
            name: text.add(&name),
            kind: self.kind,
            bgp_peer: text.add(&self.bgp_peer),
            remote_node: text.add(&self.remote_node),
            ip: address_to_wire(self.ip),
            port: None,
            as_number: self.as_number,
            local_as: self.local_as,
            same_as: self.as_number == self.local_as,
            passive: self.passive,
            next_hop: wire::NextHop::Automatic,
            restart_time: None,
            keepalive_time: None,
            ttl_security: None,
            remote_cluster_id: self.remote_cluster_id,
            has_password: self.has_password,
            filters: add_all(names, self.filters.iter().map(|filter| text.add(filter))),
        }
    }
}

/// A peering that is in no request.
#[derive(Debug, Clone)]
pub struct PackedPeering {
    text: String,
    names: Vec<wire::Span>,
    wire: wire::Peering,
}

impl PackedPeering {
    /// The peering, as a policy sees it.
    pub fn view(&self) -> Peering<'_> {
        Peering { text: &self.text, names: &self.names, wire: &self.wire }
    }
}

/// A route in a test.
#[derive(Debug, Clone)]
pub struct OneRoute {
    text: String,
    wire: filter_wire::Route,
}

impl OneRoute {
    fn new(prefix: &str, kind: RouteKind, namespace: &str, service: &str) -> Self {
        let prefix: Prefix = prefix.parse().unwrap_or_else(|_| panic!("`{prefix}` is no prefix"));
        let mut text = Text::default();
        let wire = filter_wire::Route {
            prefix: prefix.to_wire(),
            kind,
            namespace: text.add(namespace),
            service: text.add(service),
        };
        Self { text: text.0, wire }
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
        Route::new(&self.text, &self.wire)
    }
}
