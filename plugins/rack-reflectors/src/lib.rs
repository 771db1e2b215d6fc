//! Replaces the full mesh by route reflectors, chosen by topology.
//!
//! Reflectors peer with each other and with the nodes of their own group; any other node peers with its group's reflectors and
//! with some of other groups. Who peers with whom follows from the list of nodes alone (`plan`), so that both ends of a
//! peering come to the same conclusion.

mod hash;
mod plan;
mod settings;
mod topology;

use std::collections::BTreeSet;
use std::net::IpAddr;

use tailorbird_guest::{
    Addition, Candidate, Change, ClusterId, ClusterIdChoice, Family, Kv, Node, PeeringKind, Peers, Policy,
    Request, Selection, log,
};

use plan::Plan;
use settings::ClusterIds;
pub use settings::Settings;
use topology::Topology;

/// The policy.
#[derive(Debug, PartialEq, Eq)]
pub struct RackReflectors {
    settings: Settings,
}

impl Policy for RackReflectors {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, String> {
        match settings.fault() {
            Some(fault) => Err(fault),
            None => Ok(Self { settings }),
        }
    }
}

impl Peers for RackReflectors {
    fn select(&self, request: &Request<'_>, _: &dyn Kv) -> Result<Selection, String> {
        let Some(this) = request.this_node() else { return Ok(Selection::unchanged()) };
        let topology = Topology::new(request, this.as_number(), &self.settings);
        let Some(own) = topology.members.iter().position(|member| member.node.index() == this.index()) else {
            return Ok(Selection::unchanged());
        };
        let families = self.families(&topology, own)?;
        let id = match this.cluster_id() {
            None if families.iter().any(|wanted| wanted.reflects) => Some(self.cluster_id(&topology, own)),
            id => id,
        };
        let mut selection = Selection::unchanged();
        if id != this.cluster_id() {
            selection.set_cluster_id(id);
        }
        let mut draft = Draft { topology: &topology, id, families, selection };
        draft.keep_or_drop(request, self.settings.drop_explicit);
        draft.add(request, own);
        Ok(draft.selection)
    }
}

/// What this node is to have over one family.
struct Wanted<'t, 'a> {
    family: Family,
    plan: Plan<'t, 'a>,
    /// Whether this node is a reflector.
    reflects: bool,
    /// By place of the member: whether there is to be a peering that is not there yet.
    missing: Vec<bool>,
    /// By place of the member: whether there is to be a peering.
    peers: Vec<bool>,
}

impl RackReflectors {
    /// What there is to be over each family that this node has an address of. A family without any reflector is left as it
    /// is.
    fn families<'t, 'a>(
        &self,
        topology: &'t Topology<'a>,
        own: usize,
    ) -> Result<Vec<Wanted<'t, 'a>>, String> {
        let mut families = Vec::new();
        let mut without = None;
        for family in [Family::V4, Family::V6] {
            if !topology.members[own].has(family) {
                continue;
            }
            let plan = Plan::new(topology, family, &self.settings);
            if !plan.has_reflectors() {
                without = without.or(Some(family));
                continue;
            }
            if let Some(group) = plan.unreached(family) {
                let label = &self.settings.group_label;
                let group =
                    if group.is_empty() { format!("without {label}") } else { format!("{label}={group}") };
                return Err(format!(
                    "no reflector is in reach of the nodes {group} over {}: label one of them, or set `others`",
                    word(family)
                ));
            }
            let peers = plan.peers_of(own);
            families.push(Wanted {
                family,
                reflects: plan.reflects(own),
                missing: peers.clone(),
                peers,
                plan,
            });
        }
        match without {
            Some(family) if families.is_empty() => Err(format!(
                "no node of AS {} is a reflector over {}: label some {}={}, or set `reflectors_per_group`",
                topology.members[own].node.as_number(),
                word(family),
                self.settings.reflector_label,
                self.settings.reflector_value
            )),
            Some(family) => {
                log::warn(&format!(
                    "no reflector has an address of {}: its peerings stay as they are",
                    word(family)
                ));
                Ok(families)
            }
            None => Ok(families),
        }
    }

    /// The cluster id of a reflector.
    fn cluster_id(&self, topology: &Topology<'_>, own: usize) -> ClusterId {
        let member = &topology.members[own];
        match self.settings.cluster_id {
            ClusterIds::Node => member
                .node
                .ipv4()
                .and_then(|ip| ClusterId::new(ip.to_bits()))
                .unwrap_or_else(|| folded(member.hash)),
            ClusterIds::Group => folded(hash::of(topology.groups[member.group])),
        }
    }
}

/// A cluster id out of a hash.
fn folded(hash: u64) -> ClusterId {
    const ANY: ClusterId = match ClusterId::new(1) {
        Some(id) => id,
        None => unreachable!(),
    };
    ClusterId::new((hash >> 32) as u32).unwrap_or(ANY)
}

fn word(family: Family) -> &'static str {
    match family {
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
    }
}

/// A selection in the making.
struct Draft<'t, 'a> {
    topology: &'t Topology<'a>,
    /// This node's cluster id.
    id: Option<ClusterId>,
    families: Vec<Wanted<'t, 'a>>,
    selection: Selection,
}

impl Draft<'_, '_> {
    /// Goes through the candidates. Those with routers outside, and with nodes of other ASes, stay as they are.
    fn keep_or_drop(&mut self, request: &Request<'_>, drop_explicit: bool) {
        // From the place in the request to that among the members.
        let mut members = vec![None; request.nodes().len()];
        for (place, member) in self.topology.members.iter().enumerate() {
            members[member.node.index()] = Some(place);
        }
        for candidate in request.candidates() {
            let family = candidate.peering().family();
            let Some(wanted) = self.families.iter_mut().find(|wanted| wanted.family == family) else {
                continue;
            };
            let Some(member) = candidate.node().and_then(|node: Node<'_>| members[node.index()]) else {
                continue;
            };
            if wanted.peers[member] {
                wanted.missing[member] = false;
                let now = candidate.peering().remote_cluster_id();
                let choice = remote_id(self.id, wanted.is_client(member), now);
                self.selection.change(candidate, Change::new().remote_cluster_id(choice));
            } else if is_droppable(candidate, drop_explicit) {
                self.selection.drop(candidate);
            }
        }
    }

    /// Adds what is missing: where there is no mesh, and with reflectors that the mesh leaves out.
    fn add(&mut self, request: &Request<'_>, own: usize) {
        let missing = |wanted: &Wanted<'_, '_>| wanted.missing.contains(&true);
        if !self.families.iter().any(missing) {
            return;
        }
        let mut taken: BTreeSet<IpAddr> =
            request.candidates().map(|candidate| candidate.peering().address()).collect();
        for wanted in &self.families {
            taken.extend(self.topology.members[own].address(wanted.family));
            for (member, _) in wanted.missing.iter().enumerate().filter(|(_, missing)| **missing) {
                let node = self.topology.members[member].node;
                // Two nodes with one address can have one session.
                if node.address(wanted.family).is_some_and(|ip| taken.insert(ip)) {
                    let choice = remote_id(self.id, wanted.is_client(member), node.cluster_id());
                    let addition =
                        Addition::new(node, wanted.family).mesh_password().remote_cluster_id(choice);
                    self.selection.add(addition);
                }
            }
        }
    }
}

impl Wanted<'_, '_> {
    /// Whether a peer of this node is its client.
    fn is_client(&self, member: usize) -> bool {
        self.reflects && !self.plan.reflects(member)
    }
}

fn is_droppable(candidate: Candidate<'_>, drop_explicit: bool) -> bool {
    match candidate.peering().kind() {
        PeeringKind::Mesh => true,
        PeeringKind::Global | PeeringKind::Node => drop_explicit,
        PeeringKind::Workload | PeeringKind::Plugin => false,
    }
}

/// What becomes of a peer's cluster id: a node with a cluster id takes every peer with another one for its client.
fn remote_id(own: Option<ClusterId>, client: bool, now: Option<ClusterId>) -> ClusterIdChoice {
    match (own, client) {
        (Some(own), true) if now == Some(own) => ClusterIdChoice::None,
        (Some(own), false) if now != Some(own) => ClusterIdChoice::Set(own),
        _ => ClusterIdChoice::Unchanged,
    }
}

tailorbird_guest::export!(RackReflectors: Peers);
tailorbird_guest::manifest! {
    name: "rack-reflectors",
    description: "Replaces the full mesh by route reflectors, chosen by topology.",
    wants: [
        "/tailorbird/v1/node/*/labels/topology.kubernetes.io",
        "/tailorbird/v1/node/*/labels/tailorbird.io",
        "/tailorbird/v1/node/*/labels/rack",
        "/tailorbird/v1/node/*/labels/route-reflector",
        "/tailorbird/v1/node/*/labels/calico-route-reflector",
    ],
}

#[cfg(test)]
mod tests;
