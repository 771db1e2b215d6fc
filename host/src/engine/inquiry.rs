//! How what is there came to be, for whoever explains it. Nothing here decides: each answer is that of the code which
//! decides, asked once more.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::batch::NoMesh;
use super::model::{Peer, RouteOrigin};
use super::nodes::{Node, Presence};
use super::peerings::{Context, NoPeering, NotSelected, Owner, Pass, PeeringKey};
use super::pools::{BlockOwner, NoBlock};
use super::routes::{
    Advertised, Advertising, KeptService, List, NoRange, NotAdvertised, Role, ServiceKey, SliceFacts,
};
use super::secrets::Lookup;
use super::sessions::{self, NoSession};
use super::{Engine, Report};
use crate::resources::{BgpConfiguration, BgpPeer, IpPool, Text};
use crate::types::{AsNumber, Family, Name, Port, Prefix, SecretKeyRef};

/// A claim to an address and port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claimant<'a> {
    pub(crate) peer: &'a Name,
    pub(crate) pass: Pass,
    /// The remote node or workload; empty for an address.
    pub(crate) remote: &'a str,
}

/// What a reference to a password leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PasswordState {
    Found,
    /// No password, for this reason.
    Missing(String),
    /// There is one that cannot be used, for this reason.
    Unusable(String),
}

/// BGPPeers and the mesh.
impl Engine {
    /// The BGPPeers that can be used, by name.
    pub(crate) fn bgp_peers(&self) -> impl Iterator<Item = (&Name, &BgpPeer)> {
        self.peerings.names().filter_map(|name| Some((name, self.peerings.get(name.as_str())?)))
    }

    /// A BGPPeer that can be used.
    pub(crate) fn bgp_peer(&self, name: &Name) -> Option<&BgpPeer> {
        self.peerings.get(name.as_str())
    }

    /// The peerings that a BGPPeer leads to from this node: with a remote node or workload, or with its address, for
    /// which the remote end has no name.
    pub(crate) fn forward(&self, peer: &Name, remote: &str) -> Result<Vec<PeeringKey>, NoPeering> {
        self.unit(&self.peerings.forward_unit(peer, remote.into()))
    }

    /// The peerings that a BGPPeer of another node leads to on this one.
    pub(crate) fn reverse(&self, peer: &Name, node: &Name) -> Result<Vec<PeeringKey>, NoPeering> {
        self.unit(&Owner { pass: Pass::Reverse, peer: peer.clone(), remote: node.shared() })
    }

    fn unit(&self, owner: &Owner) -> Result<Vec<PeeringKey>, NoPeering> {
        let context = Context {
            settings: &self.settings,
            nodes: &self.nodes,
            configurations: &self.configurations,
            as_number: self.effective.as_number,
            secrets: &self.secrets,
        };
        let peerings = self.peerings.compute(owner, &context, &self.selectors)?;
        Ok(peerings.into_iter().map(|(key, _)| key).collect())
    }

    /// Whether a node is one of those that have a BGPPeer's forward peerings.
    pub(crate) fn in_scope(&self, peer: &Name, node: &Name) -> Result<(), NotSelected> {
        self.peerings.in_scope(peer.as_str(), node.as_str(), &self.selectors)
    }

    /// Whether a node is one of those that a BGPPeer's `peerSelector` matches.
    pub(crate) fn is_remote(&self, peer: &Name, node: &Name) -> Result<(), NotSelected> {
        self.peerings.is_remote(peer.as_str(), node.as_str(), &self.selectors)
    }

    /// All claims to an address, by port, the winner's first.
    pub(crate) fn claims_to(&self, ip: IpAddr) -> BTreeMap<PeeringKey, Vec<Claimant<'_>>> {
        let keys = self.peerings.keys().filter(|key| key.0 == ip);
        let claimants = |key: &PeeringKey| {
            let claims = self.peerings.claimants(key);
            claims
                .map(|(owner, _)| Claimant { peer: &owner.peer, pass: owner.pass, remote: &owner.remote })
                .collect()
        };
        keys.map(|key| (*key, claimants(key))).collect()
    }

    /// The session that the winner of an address and port comes to.
    pub(crate) fn session_at(&self, key: &PeeringKey) -> Option<Result<Peer, NoSession>> {
        let (owner, peering) = self.peerings.winner(key)?;
        let own = self.own[Family::of(key.0).index()].as_ref();
        Some(sessions::explicit(owner, peering, own, &self.filters))
    }

    /// The session of the mesh with a node.
    pub(crate) fn mesh_with(&self, name: &Name, family: Family) -> Option<Result<Peer, NoMesh>> {
        let node = self.nodes.get(name.as_str())?;
        Some(self.mesh_session(name, node, family))
    }

    /// What a reference to a password leads to.
    pub(crate) fn password(&self, at: &SecretKeyRef) -> PasswordState {
        match self.secrets.lookup(at) {
            Lookup::Found(_) => PasswordState::Found,
            Lookup::Missing(reason) => PasswordState::Missing(reason),
            Lookup::Unusable(reason) => PasswordState::Unusable(reason),
        }
    }

    /// The local workloads that have an address, each with the BGPPeer that it belongs to.
    pub(crate) fn workloads_at(&self, ip: IpAddr) -> impl Iterator<Item = (&Name, Option<&Name>)> {
        self.peerings.workloads_at(ip).map(|status| (&status.name, status.peer.as_ref()))
    }
}

/// Nodes and the configuration.
impl Engine {
    /// A node.
    pub(crate) fn node(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.get(name)
    }

    /// All nodes, by name.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&Name, &Arc<Node>)> {
        self.nodes.iter()
    }

    /// The nodes that have an address, by name.
    pub(crate) fn nodes_at(&self, ip: IpAddr) -> impl Iterator<Item = &Name> {
        self.nodes.with_address(ip)
    }

    /// What objects say of a node: Calico's, then Kubernetes'.
    pub(crate) fn node_objects(&self, name: &str) -> [Presence; 2] {
        self.nodes.presence(name)
    }

    /// The cluster's BGPConfiguration.
    pub(crate) fn cluster_configuration(&self) -> Option<&BgpConfiguration> {
        self.configurations.global()
    }

    /// Whether a node has a BGPConfiguration of its own.
    pub(crate) fn has_configuration(&self, node: &Name) -> bool {
        self.configurations.has_own(node)
    }

    /// The AS number of nodes that have none of their own.
    pub(crate) fn as_number(&self) -> AsNumber {
        self.effective.as_number
    }

    /// The port that a node listens on, if it is configured.
    pub(crate) fn listen_port(&self, node: &Name) -> Option<Port> {
        self.configurations.listen_port(node.as_str())
    }

    /// The address of this node that sessions of a family start from.
    pub(crate) fn own_address(&self, family: Family) -> Option<IpAddr> {
        self.own[family.index()].as_ref().map(|own| own.address)
    }

    /// The reports on an object of any kind with this name.
    pub(crate) fn reports_on(&self, name: &str) -> impl Iterator<Item = &Report> {
        self.reports.iter().filter(move |report| report.error.object.name.as_str() == name)
    }

    /// The BGPPeers that name a filter.
    pub(crate) fn peers_with_filter(&self, filter: &str) -> impl Iterator<Item = &Name> {
        self.peerings.with_filter(filter)
    }
}

/// Routes, blocks and pools.
impl Engine {
    /// The lists of prefixes in the configuration: each prefix, and whether it is a route by itself.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (List, &Prefix, Result<(), NoRange>)> {
        let config = &self.effective;
        List::ALL.into_iter().flat_map(move |list| {
            list.prefixes(config).iter().map(move |cidr| (list, cidr, list.is_range(cidr, config)))
        })
    }

    /// Whether this node is excluded from external load balancers, and so originates no route for Services.
    pub(crate) fn is_excluded(&self) -> bool {
        self.advertising == Advertising::Excluded
    }

    /// The Services that have an address, by namespace and name, each with what the address is to it.
    pub(crate) fn services_at(&self, ip: IpAddr) -> BTreeMap<&ServiceKey, (&KeptService, Vec<Role>)> {
        let services = self.routes.services();
        services.filter_map(|(key, service)| Some((key, (service, service.roles_of(ip)?)))).collect()
    }

    /// Whether the configuration lets an address that is this to a Service be a route.
    pub(crate) fn admits(&self, role: Role, ip: IpAddr) -> bool {
        role.admits(ip, &self.effective)
    }

    /// Whether a Service is advertised from this node, and why.
    pub(crate) fn advertised(
        &self,
        key: &ServiceKey,
        service: &KeptService,
    ) -> Result<Advertised, NotAdvertised> {
        self.routes.advertised(key, service, &self.effective, self.advertising)
    }

    /// The slices of a Service, by name.
    pub(crate) fn slices_of(&self, key: &ServiceKey) -> Vec<SliceFacts> {
        self.routes.slices_of(key)
    }

    /// All that originate the route to a prefix.
    pub(crate) fn route_origins(&self, prefix: &Prefix) -> impl Iterator<Item = RouteOrigin> {
        self.routes.origins(prefix)
    }

    /// The BlockAffinities that make the block with this text this node's; none when its pod CIDRs do.
    pub(crate) fn block_objects(&self, text: &Text) -> impl Iterator<Item = Option<&Name>> {
        self.blocks.owners(text).map(|owner| match owner {
            BlockOwner::Affinity(name) => Some(name),
            BlockOwner::PodCidrs => None,
        })
    }

    /// This node's BlockAffinities that count for nothing.
    pub(crate) fn blocks_passed_over(&self) -> impl Iterator<Item = (&Name, &Prefix, NoBlock)> {
        self.blocks.passed_over()
    }

    /// The pools that count, each with its object's name.
    pub(crate) fn pools(&self) -> impl Iterator<Item = (&Name, &IpPool)> {
        self.pools.named()
    }
}
