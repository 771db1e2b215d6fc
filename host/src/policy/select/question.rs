//! The request of `peers.select`, kept and patched: a change of one node among thousands costs little more than that.
//!
//! Texts and labels are only ever added; what is left behind is thrown away when it is as much as what counts.

use std::net::IpAddr;
use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use rustc_hash::FxHashMap;

use super::super::{Items, Rights, differences, peer, request};
use super::{Change, Outcome};
use crate::engine::model::Peer;
use crate::engine::{Cluster, CoveredLabels, Item, Node, Snapshot};
use crate::plugin::columns::{Label, Node as ContractNode};
use crate::plugin::contract::peers::{Candidates, Labels as ContractLabels, Nodes, Request};
use crate::plugin::contract::types::{Range, Span};
use crate::resources::{Labels, Text};
use crate::types::{AsNumber, Family, Name};

/// So many nodes or candidates that come or go make patching dearer than to begin anew.
const MANY: usize = 128;

/// The request and what it was made of.
#[derive(Debug, Clone)]
pub(super) struct Question {
    request: Request,
    /// The nodes of the request, at the same places.
    nodes: Vec<(Name, Arc<Node>)>,
    /// The candidates of the request, at the same places: by family, then by key.
    entries: Vec<Entry>,
    all_nodes: OrdMap<Name, Arc<Node>>,
    input: [Items; 2],
    facts: Option<CommonFacts>,
    labels: LabelRights,
    /// The lengths of the request's texts, labels and names when it was last laid out.
    laid_out: [usize; 3],
}

/// A candidate.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) family: Family,
    pub(super) key: Arc<str>,
    pub(super) item: Arc<Item>,
    /// What became of it, as far as the sessions say.
    pub(super) outcome: Outcome,
    /// Whether the sessions do not have it as it is now.
    stale: bool,
}

/// What all nodes or all candidates of a request depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CommonFacts {
    as_number: AsNumber,
    own_as: [AsNumber; 2],
    this: Name,
}

/// What an update found.
#[derive(Debug, Default)]
pub(super) struct Update {
    /// Whether a plugin would see another request.
    pub(super) different: bool,
    /// Whether all was begun anew: every candidate is as if it was kept.
    pub(super) rebuilt: bool,
    /// Whether a candidate is another, though a plugin may not see it.
    pub(super) touched: bool,
    /// Candidates that are gone and that were not dropped.
    pub(super) removed: Vec<(Family, Arc<str>)>,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            request: Request {
                text: String::new(),
                nodes: Nodes::default(),
                labels: ContractLabels::default(),
                this_node: None,
                candidates: Candidates::default(),
                names: Vec::new(),
                mesh: false,
            },
            nodes: Vec::new(),
            entries: Vec::new(),
            all_nodes: OrdMap::new(),
            input: Default::default(),
            facts: None,
            labels: LabelRights::default(),
            laid_out: [0; 3],
        }
    }
}

impl Question {
    /// The request.
    pub(super) fn request(&self) -> &Request {
        &self.request
    }

    /// The candidates of the request, at the same places.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The nodes of the request, at the same places.
    pub(super) fn nodes(&self) -> &[(Name, Arc<Node>)] {
        &self.nodes
    }

    /// Brings the request up to a snapshot and the peerings that the plugin before this one left.
    pub(super) fn update(&mut self, snapshot: &Snapshot, input: &[Items; 2], rights: &Rights) -> Update {
        let cluster = &snapshot.cluster;
        let facts = CommonFacts {
            as_number: cluster.as_number,
            own_as: Family::ALL.map(|family| request::own_as(cluster, family)),
            this: snapshot.models[0].base.node.name.clone(),
        };
        let old_nodes = std::mem::replace(&mut self.all_nodes, cluster.nodes.clone());
        let old_input = std::mem::replace(&mut self.input, input.clone());
        let known = self.facts.as_ref() == Some(&facts) && self.labels.rights == *rights;
        self.facts = Some(facts);
        if !known {
            self.labels = LabelRights::new(rights);
            return self.rebuild(cluster);
        }
        let nodes: Vec<(&Name, Option<&Arc<Node>>)> = old_nodes
            .diff(&cluster.nodes)
            .map(|item| match item {
                DiffItem::Add(name, node) | DiffItem::Update { new: (name, node), .. } => (name, Some(node)),
                DiffItem::Remove(name, _) => (name, None),
            })
            .collect();
        let peers = |family: Family| differences(&old_input[family.index()], &input[family.index()]);
        let come_or_go = |node: &(&Name, Option<&Arc<Node>>)| {
            node.1.is_some_and(|node| has_address(node))
                != old_nodes.get(node.0).is_some_and(|n| has_address(n))
        };
        let moves = nodes.iter().filter(|node| come_or_go(node)).count()
            + Family::ALL
                .into_iter()
                .flat_map(peers)
                .filter(|(_, old, new)| old.is_none() || new.is_none())
                .take(MANY + 1)
                .count();
        if moves > MANY {
            return self.rebuild(cluster);
        }

        let mut update = Update::default();
        if self.request.mesh != cluster.mesh.on {
            self.request.mesh = cluster.mesh.on;
            update.different = true;
        }
        for (name, node) in nodes {
            self.patch_node(name, node.filter(|node| has_address(node)), cluster, &mut update);
        }
        for family in Family::ALL {
            for (key, _, item) in peers(family) {
                self.patch_peer(family, key, item, &mut update);
            }
        }
        let sizes = self.sizes();
        if sizes.iter().zip(self.laid_out).any(|(now, then)| *now > 2 * then + 1024) {
            self.lay_out(cluster);
        }
        update
    }

    /// Brings sessions up to what became of the candidates; without outcomes to those that are kept. `all` computes
    /// every changed session again.
    pub(super) fn settle(
        &mut self,
        outcomes: Option<Vec<Outcome>>,
        all: bool,
        out: &mut [Items; 2],
        compute: impl Fn(Family, &Item, &Change) -> Option<Item>,
    ) {
        if let Some(outcomes) = &outcomes {
            let drops = self.entries.iter().zip(outcomes);
            let drops =
                drops.filter(|(entry, new)| entry.outcome != Outcome::Drop && **new == Outcome::Drop).count();
            if drops > self.entries.len() / 2 {
                // To gather what is left costs less than to take so much away.
                *out = Default::default();
                for entry in &mut self.entries {
                    entry.outcome = Outcome::Drop;
                    entry.stale = true;
                }
            }
        }
        let mut outcomes = outcomes.map(Vec::into_iter);
        for entry in &mut self.entries {
            let new = outcomes.as_mut().and_then(Iterator::next);
            let same = new.as_ref().is_none_or(|new| *new == entry.outcome);
            if same && !entry.stale && !(all && matches!(entry.outcome, Outcome::Change(_))) {
                continue;
            }
            entry.outcome = new.unwrap_or_else(|| entry.outcome.clone());
            entry.stale = false;
            let out = &mut out[entry.family.index()];
            match &entry.outcome {
                Outcome::Keep => drop(out.insert(entry.key.clone(), entry.item.clone())),
                Outcome::Drop => drop(out.remove(&entry.key)),
                Outcome::Change(change) => {
                    if let Some(item) = compute(entry.family, &entry.item, change)
                        && out.get(&entry.key).is_none_or(|old| **old != item)
                    {
                        out.insert(entry.key.clone(), Arc::new(item));
                    }
                }
            }
        }
    }

    fn rebuild(&mut self, cluster: &Cluster) -> Update {
        let nodes = cluster.nodes.iter().filter(|(_, node)| has_address(node));
        self.nodes = nodes.map(|(name, node)| (name.clone(), node.clone())).collect();
        self.entries = Family::ALL
            .into_iter()
            .flat_map(|family| {
                self.input[family.index()].iter().map(move |(key, item)| Entry {
                    family,
                    key: key.clone(),
                    item: item.clone(),
                    outcome: Outcome::Keep,
                    stale: false,
                })
            })
            .collect();
        self.lay_out(cluster);
        Update { different: true, rebuilt: true, ..Update::default() }
    }

    /// Writes the request from nothing.
    fn lay_out(&mut self, cluster: &Cluster) {
        let request = &mut self.request;
        request.text.clear();
        request.labels.clear();
        self.labels.written.clear();
        request.names.clear();
        request.mesh = cluster.mesh.on;
        let mut places: FxHashMap<&str, u32> = FxHashMap::default();
        request.nodes.clear();
        for (place, (name, node)) in self.nodes.iter().enumerate() {
            let span = request::span(&mut request.text, name.as_str());
            let labels = self.labels.write(name, node.labels(), &mut request.text, &mut request.labels);
            request.nodes.push(&contract_node(span, labels, node, cluster));
            places.insert(name.as_str(), request::number(place));
        }
        let own_as = Family::ALL.map(|family| request::own_as(cluster, family));
        request.candidates.clear();
        for entry in &self.entries {
            let Some(peer) = peer(&entry.item) else { continue };
            let own_as = own_as[entry.family.index()];
            let peering = request::peering(peer, own_as, &mut request.text, &mut request.names);
            let node = peer.remote_node.as_ref().and_then(|name| places.get(name.as_str()));
            request.candidates.push(&peering, node.copied());
        }
        self.place_this();
        self.laid_out = self.sizes();
    }

    fn sizes(&self) -> [usize; 3] {
        [self.request.text.len(), self.request.labels.len(), self.request.names.len()]
    }

    fn place_of(&self, name: &str) -> Result<usize, usize> {
        self.nodes.binary_search_by(|(other, _)| other.as_str().cmp(name))
    }

    fn place_this(&mut self) {
        let this = self.facts.as_ref().and_then(|facts| self.place_of(facts.this.as_str()).ok());
        self.request.this_node = this.map(request::number);
    }

    fn patch_node(&mut self, name: &Name, new: Option<&Arc<Node>>, cluster: &Cluster, update: &mut Update) {
        match (self.place_of(name.as_str()), new) {
            (Err(_), None) => {}
            (Ok(place), Some(new)) => {
                let old = std::mem::replace(&mut self.nodes[place].1, new.clone());
                let request = &mut self.request;
                let Some(kept) = request.nodes.get(place) else { return };
                let same = self.labels.same(name, old.labels(), new.labels());
                let labels = match same {
                    true => kept.labels,
                    false => self.labels.write(name, new.labels(), &mut request.text, &mut request.labels),
                };
                let node = contract_node(kept.name, labels, new, cluster);
                update.different |= !same || node != kept;
                request.nodes.set(place, &node);
            }
            (Err(place), Some(new)) => {
                let request = &mut self.request;
                let span = request::span(&mut request.text, name.as_str());
                let labels = self.labels.write(name, new.labels(), &mut request.text, &mut request.labels);
                request.nodes.insert(place, &contract_node(span, labels, new, cluster));
                self.nodes.insert(place, (name.clone(), new.clone()));
                let at = request::number(place);
                request.candidates.place_nodes(|candidate, node| match node {
                    Some(other) if other >= at => Some(other + 1),
                    None if remote(&self.entries[candidate]) == Some(name) => Some(at),
                    other => other,
                });
                self.place_this();
                update.different = true;
            }
            (Ok(place), None) => {
                self.request.nodes.remove(place);
                self.nodes.remove(place);
                let at = request::number(place);
                self.request.candidates.place_nodes(|_, node| match node {
                    Some(other) if other == at => None,
                    Some(other) if other > at => Some(other - 1),
                    other => other,
                });
                self.place_this();
                update.different = true;
            }
        }
    }

    fn patch_peer(&mut self, family: Family, key: &Arc<str>, new: Option<&Arc<Item>>, update: &mut Update) {
        let place = self.entries.binary_search_by(|entry| (entry.family, &entry.key).cmp(&(family, key)));
        let candidate = |question: &mut Self, peer: &Peer| {
            let own_as = question.facts.as_ref().map(|facts| facts.own_as[family.index()]);
            let node = peer.remote_node.as_ref().and_then(|name| question.place_of(name.as_str()).ok());
            let request = &mut question.request;
            let own_as = own_as.unwrap_or(AsNumber::DEFAULT);
            let peering = request::peering(peer, own_as, &mut request.text, &mut request.names);
            (peering, node.map(request::number))
        };
        let new = new.and_then(|item| Some((item, peer(item)?)));
        match (place, new) {
            (Err(_), None) => {}
            (Ok(place), Some((item, new))) => {
                let entry = &mut self.entries[place];
                let old = std::mem::replace(&mut entry.item, item.clone());
                entry.stale = true;
                update.touched = true;
                if !peer(&old).is_some_and(|old| request::same_peering(old, new)) {
                    let (peering, node) = candidate(self, new);
                    self.request.candidates.set(place, &peering, node);
                    update.different = true;
                }
            }
            (Err(place), Some((item, new))) => {
                let (peering, node) = candidate(self, new);
                self.request.candidates.insert(place, &peering, node);
                let entry = Entry {
                    family,
                    key: key.clone(),
                    item: item.clone(),
                    outcome: Outcome::Drop,
                    stale: true,
                };
                self.entries.insert(place, entry);
                update.different = true;
            }
            (Ok(place), None) => {
                self.request.candidates.remove(place);
                let entry = self.entries.remove(place);
                if entry.outcome != Outcome::Drop {
                    update.removed.push((family, entry.key));
                }
                update.different = true;
            }
        }
    }
}

fn has_address(node: &Node) -> bool {
    Family::ALL.into_iter().any(|family| node.address(family).is_some())
}

fn remote(entry: &Entry) -> Option<&Name> {
    peer(&entry.item).and_then(|peer| peer.remote_node.as_ref())
}

fn contract_node(name: Span, labels: Range, node: &Node, cluster: &Cluster) -> ContractNode {
    ContractNode {
        name,
        ipv4: match node.address(Family::V4) {
            Some(IpAddr::V4(ip)) => Some(ip.into()),
            _ => None,
        },
        ipv6: match node.address(Family::V6) {
            Some(IpAddr::V6(ip)) => Some(request::halves(ip.into())),
            _ => None,
        },
        as_number: cluster.as_number_of(node).get(),
        cluster_id: node.cluster_id().map(|id| id.0.into()),
        labels,
    }
}

/// Which labels of nodes a plugin may read.
#[derive(Debug, Clone, Default)]
struct LabelRights {
    rights: Rights,
    covered: CoveredLabels,
    /// Where the labels are that were written: those of many nodes are the same.
    written: FxHashMap<Vec<(Text, Text)>, Range>,
}

impl LabelRights {
    fn new(rights: &Rights) -> Self {
        let covered = CoveredLabels::new(rights.0.clone());
        Self { rights: rights.clone(), covered, ..Self::default() }
    }

    /// Whether what may be read is the same.
    fn same(&mut self, node: &Name, old: &Arc<Labels>, new: &Arc<Labels>) -> bool {
        if Arc::ptr_eq(old, new) {
            return true;
        }
        self.readable(node, old) == self.readable(node, new)
    }

    fn readable(&mut self, node: &Name, labels: &Labels) -> Vec<(Text, Text)> {
        let readable = labels.iter().filter(|(label, _)| self.covered.cover(node, label));
        readable.map(|(label, value)| (label.clone(), value.clone())).collect()
    }

    /// Writes the labels that may be read.
    fn write(&mut self, node: &Name, labels: &Labels, text: &mut String, list: &mut ContractLabels) -> Range {
        let readable = self.readable(node, labels);
        if let Some(written) = self.written.get(&readable) {
            return *written;
        }
        let start = request::number(list.len());
        for (key, value) in &readable {
            let key = request::span(text, key);
            list.push(&Label { key, value: request::span(text, value) });
        }
        let range = Range { start, count: request::number(readable.len()) };
        self.written.insert(readable, range);
        range
    }
}
