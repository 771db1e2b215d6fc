//! Changes of an operator's own objects, each with its way back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::engine::Event;
use crate::engine::selector::Selector;
use crate::generator::{event, filter_of};
use crate::resources::{
    Action, BlockState, Labels, NodeBgp, ObjectKey, RemoteEnd, Resource, Rule, Scope, SliceEndpoint, Text,
    TrafficPolicy,
};
use crate::types::{InterfaceAddress, Name, Password, Port, Seconds};

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Another node gets another address.
    NodeAddress,
    /// Another node gets another value of a label that selectors mention.
    NodeLabel,
    /// A BGPPeer gets another restart time.
    Peer,
    /// A BGPFilter gets one rule more.
    Filter,
    /// A Service gets the other traffic policy.
    Service,
    /// An endpoint becomes unready.
    Slice,
    /// A pool is no longer exported.
    Pool,
    /// A block is about to be released.
    Block,
    /// The cluster gets another listen port.
    Configuration,
    /// A password is another one.
    Secret,
}

impl Kind {
    /// All of them.
    pub(super) const ALL: [Self; 10] = [
        Self::NodeAddress,
        Self::NodeLabel,
        Self::Peer,
        Self::Filter,
        Self::Service,
        Self::Slice,
        Self::Pool,
        Self::Block,
        Self::Configuration,
        Self::Secret,
    ];

    /// A word or two.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NodeAddress => "node address",
            Self::NodeLabel => "node label",
            Self::Peer => "peer",
            Self::Filter => "filter",
            Self::Service => "service",
            Self::Slice => "slice",
            Self::Pool => "pool",
            Self::Block => "block",
            Self::Configuration => "configuration",
            Self::Secret => "secret",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A change of one object, and the way back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    /// The object.
    pub(super) object: ObjectKey,
    /// It is changed.
    pub(super) there: Event,
    /// It is as it was.
    pub(super) back: Event,
}

/// The changes that a cluster's objects allow.
#[derive(Debug)]
pub(super) struct Turns<'a> {
    objects: &'a BTreeMap<ObjectKey, Resource>,
    node: &'a Name,
    taken: BTreeSet<IpAddr>,
    /// The labels that selectors mention, with some values that nodes have.
    labels: BTreeMap<Text, Vec<Text>>,
    selectors: Vec<Selector>,
}

impl<'a> Turns<'a> {
    /// The changes that these objects allow, as a node sees them.
    pub(super) fn new(objects: &'a BTreeMap<ObjectKey, Resource>, node: &'a Name) -> Self {
        let selectors = selectors(objects.values());
        let mentioned: BTreeSet<&str> = selectors.iter().flat_map(Selector::mentions).collect();
        let mut taken = BTreeSet::new();
        let mut labels: BTreeMap<Text, Vec<Text>> = BTreeMap::new();
        for resource in objects.values() {
            let Some((bgp, own)) = node_facts(resource) else { continue };
            taken.extend([bgp.ipv4, bgp.ipv6].into_iter().flatten().map(|address| address.ip()));
            for (key, value) in own.iter().filter(|(key, _)| mentioned.contains(&***key)) {
                let values = labels.entry(key.clone()).or_default();
                if values.len() < 8 && !values.contains(value) {
                    values.push(value.clone());
                }
            }
        }
        Self { objects, node, taken, labels, selectors }
    }

    /// The selectors of the BGPPeers, each once; those that are malformed are left out.
    pub(super) fn selectors(&self) -> &[Selector] {
        &self.selectors
    }

    /// The changes of a kind, one for each object that it can be done to, in the order of the objects. Each begins with the
    /// objects as they are.
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = Turn> {
        self.objects.iter().filter_map(move |(key, resource)| {
            let changed = self.change(kind, key, resource)?;
            let (there, back) = (event((key.clone(), changed)), event((key.clone(), resource.clone())));
            Some(Turn { object: key.clone(), there, back })
        })
    }

    fn change(&self, kind: Kind, key: &ObjectKey, resource: &Resource) -> Option<Resource> {
        let mut changed = resource.clone();
        match (kind, &mut changed) {
            (Kind::NodeAddress, node) if key.name != *self.node => self.move_node(node_facts_mut(node)?.0)?,
            (Kind::NodeLabel, node) if key.name != *self.node => self.relabel(node_facts_mut(node)?.1)?,
            (Kind::Peer, Resource::BgpPeer(peer)) => {
                let other = if peer.max_restart_time == Some(Seconds(121)) { 122 } else { 121 };
                peer.max_restart_time = Some(Seconds(other));
            }
            (Kind::Filter, Resource::BgpFilter(filter)) => {
                filter.v4.export.insert(0, Rule::new(Action::Reject));
                filter.v6.export.insert(0, Rule::new(Action::Reject));
                *filter = filter_of(filter.name.clone(), filter.v4.clone(), filter.v6.clone());
            }
            (Kind::Service, Resource::Service(service)) => {
                service.traffic_policy = match service.traffic_policy {
                    TrafficPolicy::Local => TrafficPolicy::Cluster,
                    _ => TrafficPolicy::Local,
                };
            }
            (Kind::Slice, Resource::EndpointSlice(slice)) => {
                let here = |end: &&mut SliceEndpoint| {
                    end.node.as_deref().is_some_and(|name| name == self.node.as_str())
                };
                slice.endpoints.iter_mut().find(here)?.ready ^= true;
            }
            (Kind::Pool, Resource::IpPool(pool)) => pool.disable_bgp_export ^= true,
            (Kind::Block, Resource::BlockAffinity(block)) if block.node == *self.node => {
                block.state = match block.state {
                    BlockState::PendingDeletion => BlockState::Confirmed,
                    _ => BlockState::PendingDeletion,
                };
            }
            (Kind::Configuration, Resource::BgpConfiguration(configuration))
                if key.name.as_str() == "default" =>
            {
                let port = configuration.listen_port.map_or(179, Port::get);
                configuration.listen_port = Port::new(if port == 1790 { 1791 } else { 1790 });
            }
            (Kind::Secret, Resource::Secret(secret)) => {
                let other: Password = "another-password".parse().ok()?;
                secret.values.values_mut().for_each(|value| *value = Ok(other.clone()));
            }
            _ => return None,
        }
        (changed != *resource).then_some(changed)
    }

    /// Gives a node addresses of its own networks that no node has.
    fn move_node(&self, bgp: &mut NodeBgp) -> Option<()> {
        let moved = |address: &mut Option<InterfaceAddress>| {
            let free = address.as_ref().and_then(|address| self.free(address.network()));
            if let Some(free) = free {
                *address = Some(free);
            }
            free.is_some()
        };
        let moved = [moved(&mut bgp.ipv4), moved(&mut bgp.ipv6)];
        moved.contains(&true).then_some(())
    }

    /// The last address of a network that no node has, leaving out the very last.
    fn free(&self, network: IpNet) -> Option<InterfaceAddress> {
        let last = network.broadcast();
        let before = |steps: u32| -> Option<IpAddr> {
            let address = match last {
                IpAddr::V4(last) => Ipv4Addr::from(u32::from(last).checked_sub(steps)?).into(),
                IpAddr::V6(last) => Ipv6Addr::from(u128::from(last).checked_sub(steps.into())?).into(),
            };
            network.contains(&address).then_some(address)
        };
        // All but one of so many addresses can be taken by nodes.
        let free = (1..).map_while(before).find(|address| !self.taken.contains(address))?;
        format!("{free}/{}", network.prefix_len()).parse().ok()
    }

    /// Gives a node another value of a label that selectors mention.
    fn relabel(&self, labels: &mut Labels) -> Option<()> {
        let own = labels.iter_mut().find_map(|(key, value)| {
            let other = self.labels.get(key)?.iter().find(|other| *other != value)?.clone();
            Some((value, other))
        });
        let (value, other) = own?;
        *value = other;
        Some(())
    }
}

/// A node's addresses and labels.
pub(super) fn node_facts(resource: &Resource) -> Option<(&NodeBgp, &Labels)> {
    match resource {
        Resource::KubeNode(node) => Some((&node.bgp, &node.labels)),
        Resource::CalicoNode(node) => Some((&node.bgp, &node.labels)),
        _ => None,
    }
}

fn node_facts_mut(resource: &mut Resource) -> Option<(&mut NodeBgp, &mut Labels)> {
    match resource {
        Resource::KubeNode(node) => Some((&mut node.bgp, &mut node.labels)),
        Resource::CalicoNode(node) => Some((&mut node.bgp, &mut node.labels)),
        _ => None,
    }
}

fn selectors<'a>(resources: impl Iterator<Item = &'a Resource>) -> Vec<Selector> {
    let mut texts: BTreeSet<Text> = BTreeSet::new();
    for resource in resources {
        let Resource::BgpPeer(peer) = resource else { continue };
        if let Scope::Selector(text) = &peer.scope {
            texts.insert(text.clone());
        }
        if let Some(RemoteEnd::Nodes(text)) = &peer.remote {
            texts.insert(text.clone());
        }
    }
    texts.iter().filter_map(|text| Selector::parse(text).ok()).collect()
}
