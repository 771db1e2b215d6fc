//! `peers.select`: which peerings this node has.

mod question;
mod validate;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use super::{Asked, CallError, Facts, ItemKey, Items, OnError, Plugins, Reads, peer};
use crate::bird::Literal;
use crate::engine::model::{Peer, Terms};
use crate::engine::{Cluster, CollectionId, Item, Snapshot, client_of, session_name, waits_for};
use crate::types::{ClusterId, Family, Name, Port, Seconds};
use question::Question;
use validate::{Selected, validate};

/// What becomes of a cluster id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Choice {
    #[default]
    Unchanged,
    None,
    Set(ClusterId),
}

impl Choice {
    /// The cluster id, if it is to be another than what there is.
    pub(super) fn chosen(self) -> Option<Option<ClusterId>> {
        match self {
            Self::Unchanged => None,
            Self::None => Some(None),
            Self::Set(id) => Some(Some(id)),
        }
    }
}

/// What becomes of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Keep,
    Drop,
    Change(Arc<Change>),
}

/// Changed fields of a peering; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    passive: Option<bool>,
    next_hop: Option<Option<&'static str>>,
    port: Option<Port>,
    restart_time: Option<Seconds>,
    keepalive_time: Option<Seconds>,
    ttl_security: Option<Option<u8>>,
    remote_cluster_id: Choice,
    filters: Option<Arc<[Name]>>,
}

/// What became of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    Dropped,
    /// These fields are others.
    Changed(Vec<String>),
    Added,
}

impl Change {
    /// The fields, in words.
    fn fields(&self) -> Vec<String> {
        let next_hop =
            |mode: Option<&str>| mode.map_or("next hop automatic".into(), |m| format!("next hop {m}"));
        let ttl = |hops: Option<u8>| hops.map_or("TTL security off".into(), |n| format!("TTL security {n}"));
        let remote = self.remote_cluster_id.chosen().map(|id| match id {
            Some(id) => format!("the remote end's cluster id {id}"),
            None => "no cluster id of the remote end".to_owned(),
        });
        let filters = self.filters.as_ref().map(|filters| {
            let names: Vec<&str> = filters.iter().map(Name::as_str).collect();
            if names.is_empty() { "no filters".to_owned() } else { format!("filters {}", names.join(", ")) }
        });
        let fields = [
            self.passive.map(|passive| if passive { "passive".to_owned() } else { "not passive".to_owned() }),
            self.next_hop.map(next_hop),
            self.port.map(|port| format!("port {port}")),
            self.restart_time.map(|time| format!("restart time {} s", time.0)),
            self.keepalive_time.map(|time| format!("keepalive time {} s", time.0)),
            self.ttl_security.map(ttl),
            remote,
            filters,
        ];
        fields.into_iter().flatten().collect()
    }
}

/// One more peering.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Addition {
    node: Name,
    family: Family,
    mesh_password: bool,
    next_hop: Option<&'static str>,
    restart_time: Option<Seconds>,
    keepalive_time: Option<Seconds>,
    remote_cluster_id: Choice,
    filters: Arc<[Name]>,
}

/// What one plugin makes of the peerings, kept from one revision to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    question: Question,
    /// At which revision the plugin was asked, and what it read; none when it must be asked in any case.
    asked: Option<(u64, Reads)>,
    additions: Vec<Addition>,
    /// The sessions in `out` that are additions.
    added: BTreeSet<ItemKey>,
    /// What the question was last brought up to.
    context: Cluster,
    /// Sessions in `out` that are changed were computed with other facts than those of `context`.
    stale: bool,
    /// This node's cluster id.
    pub(super) cluster_id: Choice,
    /// The sessions that the plugin leaves.
    pub(super) out: [Items; 2],
}

impl Selection {
    /// Brings the sessions up to a snapshot; asks the plugin if its question, or what it read, is another now.
    ///
    /// # Errors
    /// The plugin failed. What follows from `facts.on_error` has been done; with `keep` the sessions mean nothing until
    /// it is well.
    pub(super) fn update(
        &mut self,
        plugin: usize,
        facts: &Facts,
        snapshot: &Snapshot,
        input: &[Items; 2],
        plugins: &mut dyn Plugins,
    ) -> Result<(), CallError> {
        let cluster = &snapshot.cluster;
        let update = self.question.update(snapshot, input, &facts.rights);
        if update.different {
            self.asked = None;
        }
        if update.rebuilt {
            self.out = input.clone();
            self.added.clear();
        }
        for (family, key) in update.removed {
            self.out[family.index()].remove(&key);
        }
        let outdated = self.asked.as_ref().is_none_or(|(at, reads)| reads.changed_since(*at, &snapshot.view));
        let context = std::mem::replace(&mut self.context, cluster.clone());
        let other_context = !context.same_beside_nodes(cluster);
        self.stale |= other_context;
        // A filter that an answer names must be there, and so the answer may be no good any more.
        let unnamed = other_context && self.names_missing(cluster);
        let mut outcome = Ok(());
        if outdated || unnamed {
            self.asked = None;
            let selected = match self.ask(plugin, facts, snapshot, plugins) {
                Ok((selected, reads)) => {
                    self.asked = Some((snapshot.revision, reads));
                    selected
                }
                Err(error) => {
                    let all = match facts.on_error {
                        OnError::Keep => return Err(error),
                        OnError::Reject => Outcome::Drop,
                        OnError::Skip => Outcome::Keep,
                    };
                    outcome = Err(error);
                    Selected::all(all, self.question.entries().len())
                }
            };
            self.additions = selected.additions;
            self.cluster_id = selected.cluster_id;
            self.apply(Some(selected.outcomes), cluster);
        } else if update.touched || other_context {
            self.apply(None, cluster);
        }
        outcome
    }

    /// Whether the plugin failed when it was asked last.
    pub(super) fn failed(&self) -> bool {
        self.asked.is_none()
    }

    /// The sessions with an address that the plugin was told of or that it added, and what became of each.
    pub(super) fn fates_at(&self, family: Family, ip: IpAddr) -> Vec<(&str, Fate)> {
        let at = |item: &Item| peer(item).is_some_and(|peer| peer.ip == ip);
        let told = self.question.entries().iter().filter(|entry| entry.family == family && at(&entry.item));
        let told = told.map(|entry| {
            let fate = match &entry.outcome {
                Outcome::Keep => Fate::Kept,
                Outcome::Drop => Fate::Dropped,
                Outcome::Change(change) => Fate::Changed(change.fields()),
            };
            (&*entry.key, fate)
        });
        let added = self.added.iter().filter(|(of, _, key)| {
            *of == family && self.out[family.index()].get(key).is_some_and(|item| at(item))
        });
        told.chain(added.map(|(_, _, key)| (&**key, Fate::Added))).collect()
    }

    fn ask(
        &self,
        plugin: usize,
        facts: &Facts,
        snapshot: &Snapshot,
        plugins: &mut dyn Plugins,
    ) -> Result<(Selected, Reads), CallError> {
        let Asked { answer, reads } = plugins.select(plugin, self.question.request())?;
        let selected = validate(&answer, &self.question, snapshot).map_err(|cause| CallError {
            plugin: facts.name.clone(),
            call: "peers.select",
            cause,
        })?;
        Ok((selected, reads))
    }

    /// Whether the answer names a filter that is not there.
    fn names_missing(&self, cluster: &Cluster) -> bool {
        let changes = self.question.entries().iter().filter_map(|entry| match &entry.outcome {
            Outcome::Change(change) => change.filters.as_deref(),
            _ => None,
        });
        let additions = self.additions.iter().map(|addition| &*addition.filters);
        changes.chain(additions).flatten().any(|name| !cluster.filters.exists(name.as_str()))
    }

    /// Brings `out` up to the outcomes; without any to those that are kept.
    fn apply(&mut self, outcomes: Option<Vec<Outcome>>, cluster: &Cluster) {
        let additions: Vec<(ItemKey, Peer)> = self
            .additions
            .iter()
            .filter_map(|addition| added(addition, cluster))
            .map(|peer| ((Family::of(peer.ip), CollectionId::Peers, peer.name.clone()), peer))
            .collect();
        let now: BTreeSet<ItemKey> = additions.iter().map(|(key, _)| key.clone()).collect();
        for (family, _, key) in self.added.difference(&now) {
            self.out[family.index()].remove(key);
        }
        let all = std::mem::take(&mut self.stale);
        self.question.settle(outcomes, all, &mut self.out, |family, item, change| {
            peer(item).map(|peer| Item::from(changed(peer, change, family, cluster)))
        });
        for ((family, _, key), peer) in additions {
            let out = &mut self.out[family.index()];
            let item = Item::from(peer);
            if out.get(&key).is_none_or(|old| **old != item) {
                out.insert(key, Arc::new(item));
            }
        }
        self.added = now;
    }
}

/// A session with changed fields.
fn changed(old: &Peer, change: &Change, family: Family, cluster: &Cluster) -> Peer {
    let mut terms = (*old.terms).clone();
    terms.next_hop = change.next_hop.unwrap_or(terms.next_hop);
    terms.restart_time = change.restart_time.or(terms.restart_time);
    terms.keepalive_time = change.keepalive_time.or(terms.keepalive_time);
    terms.ttl_security = change.ttl_security.unwrap_or(terms.ttl_security);
    if let Some(filters) = &change.filters {
        (terms.import, terms.export) = cluster.filters.calls(filters, family);
        terms.filters = filters.clone();
    }
    if let Some(id) = change.remote_cluster_id.chosen() {
        terms.remote_cluster_id = id;
        let own = cluster.own(family).and_then(|own| own.cluster_id);
        terms.rr_cluster_id = client_of(own, old.same_as, id);
    }
    Peer {
        port: change.port.or(old.port),
        passive: change.passive.unwrap_or(old.passive),
        // What is the same stays shared.
        terms: if terms == *old.terms { old.terms.clone() } else { terms.into() },
        ..old.clone()
    }
}

/// The session of an addition, if this node and the other have an address of the family.
fn added(addition: &Addition, cluster: &Cluster) -> Option<Peer> {
    let node = cluster.nodes.get(&addition.node)?;
    let own = cluster.own(addition.family)?;
    let ip = node.address(addition.family)?;
    let as_number = cluster.as_number_of(node);
    let same_as = as_number == own.as_number;
    let remote_cluster_id = addition.remote_cluster_id.chosen().unwrap_or(node.cluster_id());
    let (import, export) = cluster.filters.calls(&addition.filters, addition.family);
    let terms = Terms {
        kind: "plugin",
        local_as: None,
        source: Some(own.address),
        ttl_security: None,
        import,
        export,
        restart_time: addition.restart_time.or(cluster.mesh.restart_time),
        keepalive_time: addition.keepalive_time,
        rr_cluster_id: client_of(own.cluster_id, same_as, remote_cluster_id),
        password: cluster.mesh.password.as_ref().filter(|_| addition.mesh_password).map(Literal::password),
        next_hop: addition.next_hop,
        allow_local_as: None,
        normal_priority: own.priority,
        bgp_peer: None,
        remote_cluster_id,
        filters: addition.filters.clone(),
    };
    Some(Peer {
        name: session_name("Plugin", ip, None).into(),
        ip,
        port: cluster.port_of(addition.node.as_str()),
        as_number,
        same_as,
        passive: waits_for(own.address, ip),
        remote_node: Some(addition.node.clone()),
        terms: terms.into(),
    })
}
