//! The peer engine: from BGPPeers, nodes and local workloads to the peerings of this node.
//!
//! A BGPPeer yields *units*: one for each remote end of a forward peering, one for each node of a reverse one. A
//! unit claims the addresses (and ports) that it leads to, and the lowest owner of an address wins: global before
//! node-specific, forward before reverse, then by the name of the BGPPeer, then by the name of the remote node.
//! A change recomputes the units that it can have touched and no others.
//!
//! Only this node's peerings and the global ones are computed: no other is ever read here, and with selectors on
//! both sides there are as many as the square of the nodes.

mod active;
mod compute;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, Hash};
use std::net::IpAddr;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Work;
use super::claims::Claims;
use super::config::Configurations;
use super::hash::AddressMap;
use super::nodes::{NodeChange, Nodes};
use super::secrets::{Lookup, Secrets};
use super::selectors::{SelectorId, Selectors};
use super::{Reports, Settings};
use crate::resources::{
    BgpPeer, Kind, NextHopMode, ObjectError, ObjectKey, RemoteEnd, Scope, Text, WorkloadStatus,
};
use crate::types::{AsNumber, ClusterId, Family, Name, Password, Port, Seconds, SecretKeyRef, ValueError};

use active::Active;
pub(crate) use compute::{NoPeering, NotSelected};
use compute::{address_peering, common, forward_pass, in_scope, node_peerings, reverse_families, selected};

/// A remote end as the keys of the view tell them apart.
pub(crate) type PeeringKey = (IpAddr, Option<Port>);

/// Where a peering comes from, in the order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Pass {
    /// A BGPPeer for every node.
    Global,
    /// A BGPPeer for this node among others.
    Node,
    /// The other end of a BGPPeer whose remote end is this node.
    Reverse,
}

/// Who claims a peering. The order of owners is the order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Owner {
    pub(super) pass: Pass,
    pub(super) peer: Name,
    /// The remote node or workload; empty for an address.
    pub(super) remote: Text,
}

/// A peering, before this node's own facts are applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peering {
    pub(super) ip: IpAddr,
    pub(super) port: Option<Port>,
    pub(super) as_number: AsNumber,
    pub(super) local_as: Option<AsNumber>,
    pub(super) cluster_id: Option<ClusterId>,
    /// The node at the remote end, if there is one.
    pub(super) node: Option<Name>,
    pub(super) password: Option<Password>,
    pub(super) use_node_ip: Option<bool>,
    pub(super) restart_time: Option<Seconds>,
    pub(super) keepalive_time: Option<Seconds>,
    pub(super) keep_next_hop: bool,
    pub(super) calico_node: bool,
    pub(super) num_allow_local_as: Option<u32>,
    pub(super) ttl_security: u8,
    pub(super) filters: Arc<[Name]>,
    pub(super) reachable_by: Option<IpAddr>,
    /// The remote end is a local workload, which connects to this node.
    pub(super) workload: bool,
    pub(super) next_hop_mode: Option<NextHopMode>,
}

/// A BGPPeer with what was looked up for it.
#[derive(Debug)]
struct Spec {
    peer: Arc<BgpPeer>,
    filters: Arc<[Name]>,
    scope: Option<SelectorId>,
    remote: Option<SelectorId>,
    password: Option<Password>,
    /// The password is there and cannot be used: better no session than one without it.
    unusable: bool,
    /// The pass of the forward peerings, if this node has them.
    forward: Option<Pass>,
    /// Whether this node has reverse peerings.
    reverse: bool,
}

impl Spec {
    /// The pass of its forward peerings, wherever they are.
    fn pass(&self) -> Pass {
        if self.peer.scope == Scope::Global { Pass::Global } else { Pass::Node }
    }
}

/// What the peer engine reads.
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    pub(super) nodes: &'a Nodes,
    pub(super) configurations: &'a Configurations,
    pub(super) as_number: AsNumber,
    pub(super) secrets: &'a Secrets,
}

/// Which units must be computed again.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    /// Every unit of these BGPPeers.
    peers: BTreeSet<Name>,
    /// These units.
    units: BTreeSet<Owner>,
}

impl Dirty {
    /// Every unit of a BGPPeer.
    pub(super) fn peer(&mut self, name: Name) {
        self.peers.insert(name);
    }

    fn unit(&mut self, pass: Pass, peer: &Name, remote: &Name) {
        self.units.insert(Owner { pass, peer: peer.clone(), remote: remote.shared() });
    }
}

/// The peer engine.
#[derive(Debug, Default)]
pub(super) struct Peerings {
    specs: BTreeMap<Name, Spec>,
    workloads: BTreeMap<Name, WorkloadStatus>,
    users: FxHashMap<SelectorId, BTreeSet<Name>>,
    by_address: AddressMap<IpAddr, BTreeSet<Name>>,
    by_secret: FxHashMap<Name, BTreeSet<Name>>,
    by_filter: FxHashMap<Name, BTreeSet<Name>>,
    by_workload_peer: FxHashMap<Name, BTreeSet<Name>>,
    /// Where a change of a node matters here.
    active: Active,
    owners: FxHashMap<Name, BTreeSet<Owner>>,
    claims: Claims<PeeringKey, Owner, Peering>,
}

impl Peerings {
    /// Takes a BGPPeer, or that it is gone.
    pub(super) fn set(
        &mut self,
        name: &Name,
        peer: Option<Box<BgpPeer>>,
        nodes: &Nodes,
        selectors: &mut Selectors,
        reports: &mut Reports,
        work: &mut Work,
    ) {
        let key = ObjectKey::global(Kind::BgpPeer, name.clone());
        reports.clear(&key, "selectors");
        reports.clear(&key, "peer");
        // The new selectors are taken before the old ones are given back: those that stay are not evaluated again.
        let new = peer.map(|peer| spec_of(&key, peer, nodes, selectors, reports, work));
        if let Some(old) = self.specs.remove(name) {
            self.unlink(name, &old, selectors);
        }
        if let Some(new) = new {
            self.link(name, &new);
            self.specs.insert(name.clone(), new);
        }
    }

    fn link(&mut self, name: &Name, spec: &Spec) {
        for id in [spec.scope, spec.remote].into_iter().flatten() {
            self.users.entry(id).or_default().insert(name.clone());
        }
        if let Some(RemoteEnd::Address(endpoint)) = &spec.peer.remote {
            self.by_address.entry(endpoint.ip).or_default().insert(name.clone());
        }
        if let Some(at) = &spec.peer.password {
            self.by_secret.entry(at.name.clone()).or_default().insert(name.clone());
        }
        for filter in &*spec.filters {
            self.by_filter.entry(filter.clone()).or_default().insert(name.clone());
        }
    }

    fn unlink(&mut self, name: &Name, spec: &Spec, selectors: &mut Selectors) {
        for id in [spec.scope, spec.remote].into_iter().flatten() {
            forget(&mut self.users, &id, name);
            selectors.release(id);
        }
        if let Some(RemoteEnd::Address(endpoint)) = &spec.peer.remote {
            forget(&mut self.by_address, &endpoint.ip, name);
        }
        if let Some(at) = &spec.peer.password {
            forget(&mut self.by_secret, &at.name, name);
        }
        for filter in &*spec.filters {
            forget(&mut self.by_filter, filter, name);
        }
        self.active.remove(name, spec);
    }

    /// Takes a local workload, or that it is gone.
    pub(super) fn set_workload(&mut self, name: &Name, status: Option<WorkloadStatus>, dirty: &mut Dirty) {
        let old = match status {
            Some(status) => {
                if let Some(peer) = &status.peer {
                    self.by_workload_peer.entry(peer.clone()).or_default().insert(name.clone());
                    dirty.peers.insert(peer.clone());
                }
                self.workloads.insert(name.clone(), status)
            }
            None => self.workloads.remove(name),
        };
        if let Some(peer) = old.and_then(|status| status.peer) {
            if self.workloads.get(name).and_then(|status| status.peer.as_ref()) != Some(&peer) {
                forget(&mut self.by_workload_peer, &peer, name);
            }
            dirty.peers.insert(peer);
        }
    }

    /// The Secrets that BGPPeers refer to.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Name> {
        self.by_secret.keys()
    }

    /// The BGPPeers whose password stands in a Secret.
    pub(super) fn with_secret(&self, secret: &str) -> impl Iterator<Item = &Name> {
        self.by_secret.get(secret).into_iter().flatten()
    }

    /// The BGPPeers that name a filter.
    pub(super) fn with_filter(&self, filter: &str) -> impl Iterator<Item = &Name> {
        self.by_filter.get(filter).into_iter().flatten()
    }

    /// All BGPPeers.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.specs.keys()
    }

    /// The filters that a BGPPeer names.
    pub(super) fn filters_of(&self, peer: &str) -> &[Name] {
        self.specs.get(peer).map_or(&[], |spec| &spec.filters)
    }

    /// Notes what a change of a node can have touched.
    pub(super) fn node_changed(
        &self,
        change: &NodeChange,
        before: &[SelectorId],
        flipped: &[SelectorId],
        selectors: &Selectors,
        this: &Name,
        dirty: &mut Dirty,
    ) {
        let is_this = change.name == *this;
        if is_this {
            // Which peerings are here may be another question now.
            dirty.peers.extend(flipped.iter().filter_map(|id| self.users.get(id)).flatten().cloned());
            if change.facts() {
                dirty.peers.extend(self.specs.keys().cloned());
            }
            return;
        }
        self.touch(flipped.iter(), &change.name, dirty);
        if !change.facts() {
            return;
        }
        for ip in change.addresses() {
            dirty.peers.extend(self.by_address.get(&ip).into_iter().flatten().cloned());
        }
        let ids: BTreeSet<_> =
            before.iter().copied().chain(selectors.of_node(change.name.as_str())).collect();
        self.touch(ids.iter(), &change.name, dirty);
        let by_name = self.active.reverse_of_node.get(&change.name).into_iter().flatten();
        for peer in by_name.chain(&self.active.reverse_global) {
            dirty.unit(Pass::Reverse, peer, &change.name);
        }
    }

    /// Notes the units that lead to a node because of these selectors.
    fn touch<'a>(&self, ids: impl Iterator<Item = &'a SelectorId> + Clone, node: &Name, dirty: &mut Dirty) {
        for peer in ids.clone().filter_map(|id| self.active.forward.get(id)).flatten() {
            if let Some(pass) = self.specs.get(peer).and_then(|spec| spec.forward) {
                dirty.unit(pass, peer, node);
            }
        }
        for peer in ids.filter_map(|id| self.active.reverse.get(id)).flatten() {
            dirty.unit(Pass::Reverse, peer, node);
        }
    }

    /// Notes that a node listens on another port.
    pub(super) fn port_changed(
        &self,
        node: &Name,
        nodes: &Nodes,
        selectors: &Selectors,
        this: &Name,
        dirty: &mut Dirty,
    ) {
        let Some(old) = nodes.get(node.as_str()) else { return };
        let change = NodeChange { name: node.clone(), old: Some(old.clone()), new: None };
        self.node_changed(&change, &[], &[], selectors, this, dirty);
    }

    /// Computes what is dirty; returns the keys whose peering may differ.
    pub(super) fn refresh(
        &mut self,
        dirty: Dirty,
        context: &Context<'_>,
        selectors: &Selectors,
        reports: &mut Reports,
        work: &mut Work,
    ) -> BTreeSet<PeeringKey> {
        let mut changed = BTreeSet::new();
        for name in &dirty.peers {
            self.prepare(name, context, selectors, reports);
            let mut old = self.owners.remove(name).unwrap_or_default();
            for owner in self.units(name, context, selectors) {
                old.remove(&owner);
                self.refresh_unit(owner, context, selectors, work, &mut changed);
            }
            for owner in old {
                self.claims.replace(&owner, Vec::new(), |key| {
                    changed.insert(*key);
                });
            }
        }
        for owner in dirty.units {
            if !dirty.peers.contains(&owner.peer) {
                self.refresh_unit(owner, context, selectors, work, &mut changed);
            }
        }
        changed
    }

    fn refresh_unit(
        &mut self,
        owner: Owner,
        context: &Context<'_>,
        selectors: &Selectors,
        work: &mut Work,
        changed: &mut BTreeSet<PeeringKey>,
    ) {
        let claims = self.compute(&owner, context, selectors).unwrap_or_default();
        work.peers_computed += claims.len().max(1);
        let owners = self.owners.entry(owner.peer.clone()).or_default();
        if claims.is_empty() {
            owners.remove(&owner);
        } else {
            owners.insert(owner.clone());
        }
        self.claims.replace(&owner, claims, |key| {
            changed.insert(*key);
        });
    }

    /// Looks up what does not depend on the remote end, and reports on it.
    fn prepare(&mut self, name: &Name, context: &Context<'_>, selectors: &Selectors, reports: &mut Reports) {
        let Some(spec) = self.specs.get_mut(name) else { return };
        self.active.remove(name, spec);
        spec.forward = forward_pass(spec, context, selectors).ok();
        spec.reverse = reverse_families(spec, context, selectors).is_ok();
        self.active.add(name, spec);
        let key = ObjectKey::global(Kind::BgpPeer, name.clone());
        reports.clear(&key, "peer");
        (spec.password, spec.unusable) = (None, false);
        if let Some(at) = &spec.peer.password {
            match context.secrets.lookup(at) {
                Lookup::Found(password) => spec.password = Some(password),
                Lookup::Missing(reason) => {
                    let reason = ValueError::new(format!(
                        "{reason}: the sessions have no password until there is one"
                    ));
                    reports.warn(
                        &key,
                        "peer",
                        ObjectError::new(&key, "spec.password", &at_text(at), &reason),
                    );
                }
                Lookup::Unusable(reason) => {
                    spec.unusable = true;
                    let reason = ValueError::new(format!("{reason}: the peer is left out"));
                    reports.left_out_part(
                        "peer",
                        ObjectError::new(&key, "spec.password", &at_text(at), &reason),
                    );
                }
            }
        }
        match (&spec.peer.remote, spec.peer.reachable_by) {
            (Some(RemoteEnd::Address(endpoint)), Some(gateway))
                if gateway.is_ipv4() != endpoint.ip.is_ipv4() =>
            {
                let reason =
                    ValueError::new("the gateway is not of the peer's address family: the peer is left out");
                reports.left_out_part(
                    "peer",
                    ObjectError::new(&key, "spec.reachableBy", &gateway.to_string(), &reason),
                );
            }
            _ => {}
        }
    }

    /// The units that a BGPPeer has now.
    fn units(&self, name: &Name, context: &Context<'_>, selectors: &Selectors) -> Vec<Owner> {
        let Some(spec) = self.specs.get(name) else { return Vec::new() };
        let mut units = Vec::new();
        let mut push = |pass, remote: Text| units.push(Owner { pass, peer: name.clone(), remote });
        if let Some(pass) = spec.forward {
            match &spec.peer.remote {
                None => {}
                Some(RemoteEnd::Address(_)) => push(pass, "".into()),
                Some(RemoteEnd::Nodes(_)) => {
                    spec.remote
                        .iter()
                        .flat_map(|id| selectors.members(*id))
                        .for_each(|n| push(pass, n.shared()));
                }
                Some(RemoteEnd::Workloads) => {
                    let workloads = self.by_workload_peer.get(name).into_iter().flatten();
                    workloads.for_each(|workload| push(pass, workload.shared()));
                }
            }
        }
        if spec.reverse {
            match &spec.peer.scope {
                Scope::Global => {
                    context.nodes.iter().for_each(|(node, _)| push(Pass::Reverse, node.shared()));
                }
                Scope::Node(node) => push(Pass::Reverse, node.shared()),
                Scope::Selector(_) => spec
                    .scope
                    .iter()
                    .flat_map(|id| selectors.members(*id))
                    .for_each(|node| push(Pass::Reverse, node.shared())),
            }
        }
        units
    }

    /// What a unit claims now.
    ///
    /// # Errors
    /// [`NoPeering`]: there is no such unit.
    pub(super) fn compute(
        &self,
        owner: &Owner,
        context: &Context<'_>,
        selectors: &Selectors,
    ) -> Result<Vec<(PeeringKey, Peering)>, NoPeering> {
        let spec = self.specs.get(&owner.peer).ok_or(NoPeering::NoRemoteEnd)?;
        if spec.unusable {
            return Err(NoPeering::Password);
        }
        if owner.pass == Pass::Reverse {
            let families = reverse_families(spec, context, selectors)?;
            in_scope(spec, &owner.remote, selectors).map_err(NoPeering::Scope)?;
            return node_peerings(spec, &owner.remote, families, context);
        }
        if spec.forward != Some(owner.pass) {
            let why = forward_pass(spec, context, selectors).err().unwrap_or(NotSelected::OtherNode);
            return Err(NoPeering::Scope(why));
        }
        match &spec.peer.remote {
            Some(RemoteEnd::Nodes(_)) => {
                selected(spec.remote, &owner.remote, selectors).map_err(NoPeering::Remote)?;
                node_peerings(spec, &owner.remote, &Family::ALL, context)
            }
            Some(RemoteEnd::Address(_)) if !owner.remote.is_empty() => Err(NoPeering::OtherAddress),
            Some(RemoteEnd::Address(endpoint)) => Ok(vec![address_peering(spec, *endpoint, context)?]),
            Some(RemoteEnd::Workloads) => self.workload_peerings(spec, owner, context),
            None => Err(NoPeering::NoRemoteEnd),
        }
    }

    fn workload_peerings(
        &self,
        spec: &Spec,
        owner: &Owner,
        context: &Context<'_>,
    ) -> Result<Vec<(PeeringKey, Peering)>, NoPeering> {
        let status = self.workloads.get(&*owner.remote).ok_or(NoPeering::OtherWorkload)?;
        if status.peer.as_ref() != Some(&owner.peer) {
            return Err(NoPeering::OtherWorkload);
        }
        let peering = |ip| Peering {
            local_as: spec.peer.local_as_number,
            use_node_ip: None,
            keep_next_hop: false,
            next_hop_mode: None,
            ttl_security: 0,
            workload: true,
            ..common(spec, ip, None, spec.peer.as_number.unwrap_or(context.as_number))
        };
        Ok([status.ipv4, status.ipv6].into_iter().flatten().map(|ip| ((ip, None), peering(ip))).collect())
    }

    /// A BGPPeer.
    pub(super) fn get(&self, peer: &str) -> Option<&BgpPeer> {
        self.specs.get(peer).map(|spec| &*spec.peer)
    }

    /// Whether a node is one of those that have a BGPPeer's forward peerings.
    pub(super) fn in_scope(&self, peer: &str, node: &str, selectors: &Selectors) -> Result<(), NotSelected> {
        self.specs.get(peer).map_or(Err(NotSelected::OtherNode), |spec| in_scope(spec, node, selectors))
    }

    /// Whether a node is one of those that a BGPPeer's `peerSelector` matches.
    pub(super) fn is_remote(&self, peer: &str, node: &str, selectors: &Selectors) -> Result<(), NotSelected> {
        let spec = self.specs.get(peer);
        spec.map_or(Err(NotSelected::OtherNode), |spec| selected(spec.remote, node, selectors))
    }

    /// The pass of a BGPPeer's forward peerings, wherever they are.
    pub(super) fn forward_unit(&self, peer: &Name, remote: Text) -> Owner {
        let pass = self.specs.get(peer).map_or(Pass::Node, Spec::pass);
        Owner { pass, peer: peer.clone(), remote }
    }

    /// The local workloads that have an address.
    pub(super) fn workloads_at(&self, ip: IpAddr) -> impl Iterator<Item = &WorkloadStatus> {
        self.workloads.values().filter(move |status| [status.ipv4, status.ipv6].contains(&Some(ip)))
    }

    /// Who claims a key, the winner first.
    pub(super) fn claimants(&self, key: &PeeringKey) -> impl Iterator<Item = (&Owner, &Peering)> {
        self.claims.of(key)
    }

    /// The peering that holds for a key.
    pub(super) fn winner(&self, key: &PeeringKey) -> Option<(&Owner, &Peering)> {
        self.claims.winner(key)
    }

    /// The keys that a BGPPeer claims.
    pub(super) fn keys_of(&self, peer: &str) -> impl Iterator<Item = &PeeringKey> {
        self.owners.get(peer).into_iter().flatten().flat_map(|owner| self.claims.keys_of(owner))
    }

    /// Every key that is claimed.
    pub(super) fn keys(&self) -> impl Iterator<Item = &PeeringKey> {
        self.owners.values().flatten().flat_map(|owner| self.claims.keys_of(owner))
    }
}

/// Removes a name from an index.
fn forget<K: Hash + Eq, S: BuildHasher>(index: &mut HashMap<K, BTreeSet<Name>, S>, key: &K, name: &Name) {
    if let Some(names) = index.get_mut(key) {
        names.remove(name);
        if names.is_empty() {
            index.remove(key);
        }
    }
}

/// A BGPPeer with its selectors taken into use.
fn spec_of(
    key: &ObjectKey,
    peer: Box<BgpPeer>,
    nodes: &Nodes,
    selectors: &mut Selectors,
    reports: &mut Reports,
    work: &mut Work,
) -> Spec {
    let mut acquire = |field: &str, text: &Text| {
        selectors.acquire(text, nodes, work).map_err(|error| {
            let reason =
                ValueError::new(format!("column {}: {}; it matches nothing", error.column, error.message));
            reports.left_out_part("selectors", ObjectError::new(key, field, text, &reason));
        })
    };
    let scope = match &peer.scope {
        Scope::Selector(text) => acquire("spec.nodeSelector", text).ok(),
        _ => None,
    };
    let remote = match &peer.remote {
        Some(RemoteEnd::Nodes(text)) => acquire("spec.peerSelector", text).ok(),
        _ => None,
    };
    let filters = peer.filters.clone().into();
    Spec {
        peer: peer.into(),
        filters,
        scope,
        remote,
        password: None,
        unusable: false,
        forward: None,
        reverse: false,
    }
}

fn at_text(at: &SecretKeyRef) -> String {
    format!("{}/{}", at.name, at.key)
}
