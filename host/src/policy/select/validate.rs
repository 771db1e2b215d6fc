//! The answer of `peers.select`, checked.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::answer::{self, Fault, MAX_ITEMS, Once, at, bounded, place, within};
use super::super::peer;
use super::question::Question;
use super::{Addition, Change, Choice, Outcome};
use crate::engine::{Cluster, Snapshot};
use crate::plugin::contract::peers::{
    Addition as ContractAddition, Answer, Change as ContractChange, ClusterIdChoice,
};
use crate::plugin::contract::types::{Family as ContractFamily, NextHop, Range};
use crate::types::{ClusterId, Family, Name, Port, Seconds};

/// The longest time for a graceful restart: BGP has 12 bits for it (RFC 4724).
const MAX_RESTART_TIME: u32 = 4095;
/// The longest time between keepalives, a third of the longest hold time.
const MAX_KEEPALIVE_TIME: u32 = 21_845;

/// What becomes of the peerings.
#[derive(Debug)]
pub(super) struct Selected {
    pub(super) cluster_id: Choice,
    /// For each candidate.
    pub(super) outcomes: Vec<Outcome>,
    pub(super) additions: Vec<Addition>,
}

impl Selected {
    /// The same for all candidates.
    pub(super) fn all(outcome: Outcome, candidates: usize) -> Self {
        Self { cluster_id: Choice::Unchanged, outcomes: vec![outcome; candidates], additions: Vec::new() }
    }
}

/// Checks an answer to a question.
pub(super) fn validate(answer: &Answer, question: &Question, snapshot: &Snapshot) -> Result<Selected, Fault> {
    let candidates = question.entries().len();
    bounded("names", &answer.names, MAX_ITEMS)?;
    bounded("drop", &answer.drop, candidates)?;
    bounded("change", &answer.change, candidates)?;
    bounded("add", &answer.add, question.nodes().len() * 2)?;
    let mut selected = Selected::all(Outcome::Keep, candidates);
    selected.cluster_id = choice(answer.cluster_id).map_err(|fault| format!("cluster-id: {fault}"))?;
    let mut filters = Filters { answer, cluster: &snapshot.cluster, known: BTreeMap::new() };
    let mut once = Once::new(candidates);
    for (index, candidate) in answer.drop.iter().enumerate() {
        let fault = |fault: Fault| at("drop", index, fault);
        let place = place("candidates", *candidate, candidates).map_err(fault)?;
        once.take(place).map_err(fault)?;
        selected.outcomes[place] = Outcome::Drop;
    }
    for (index, change) in answer.change.iter().enumerate() {
        let fault = |fault: Fault| at("change", index, fault);
        let place = place("candidates", change.candidate, candidates).map_err(fault)?;
        once.take(place).map_err(fault)?;
        let change = self::change(change, &mut filters).map_err(fault)?;
        selected.outcomes[place] = Outcome::Change(Arc::new(change));
    }
    let mut addresses: FxHashMap<IpAddr, usize> = FxHashMap::default();
    for (index, addition) in answer.add.iter().enumerate() {
        let fault = |fault: Fault| at("add", index, fault);
        let (addition, ip) = self::addition(addition, question, snapshot, &mut filters).map_err(fault)?;
        if addresses.insert(ip, index).is_some() {
            return Err(fault(format!("{ip} is added twice")));
        }
        selected.additions.push(addition);
    }
    if !addresses.is_empty() {
        let taken: FxHashSet<IpAddr> = question
            .entries()
            .iter()
            .zip(&selected.outcomes)
            .filter(|(_, outcome)| **outcome != Outcome::Drop)
            .filter_map(|(entry, _)| peer(&entry.item).map(|peer| peer.ip))
            .filter(|ip| addresses.contains_key(ip))
            .collect();
        let first = addresses.iter().filter(|(ip, _)| taken.contains(ip)).min_by_key(|(_, index)| **index);
        if let Some((ip, index)) = first {
            return Err(at("add", *index, format!("there is a peering with {ip} already")));
        }
    }
    Ok(selected)
}

/// The lists of BGPFilters of an answer, each looked up once.
struct Filters<'a> {
    answer: &'a Answer,
    cluster: &'a Cluster,
    known: BTreeMap<(u32, u32), Arc<[Name]>>,
}

impl Filters<'_> {
    fn get(&mut self, range: Range) -> Result<Arc<[Name]>, Fault> {
        if let Some(known) = self.known.get(&(range.start, range.count)) {
            return Ok(known.clone());
        }
        let names = answer::filters(&self.answer.text, &self.answer.names, range, self.cluster)
            .map_err(|fault| format!("filters: {fault}"))?;
        self.known.insert((range.start, range.count), names.clone());
        Ok(names)
    }
}

fn change(change: &ContractChange, filters: &mut Filters<'_>) -> Result<Change, Fault> {
    Ok(Change {
        passive: change.passive,
        next_hop: change.next_hop.map(next_hop),
        port: match change.port {
            None => None,
            Some(port) => Some(Port::new(port).ok_or("0 is no port (1 to 65535)")?),
        },
        restart_time: restart_time(change.restart_time)?,
        keepalive_time: keepalive_time(change.keepalive_time)?,
        ttl_security: change.ttl_security.map(|hops| (hops > 0).then_some(hops)),
        remote_cluster_id: choice(change.remote_cluster_id)
            .map_err(|fault| format!("remote-cluster-id: {fault}"))?,
        filters: change.filters.map(|range| filters.get(range)).transpose()?,
    })
}

fn addition(
    addition: &ContractAddition,
    question: &Question,
    snapshot: &Snapshot,
    filters: &mut Filters<'_>,
) -> Result<(Addition, IpAddr), Fault> {
    let nodes = question.nodes();
    let (name, node) = &nodes[place("nodes", addition.node, nodes.len())?];
    let family = match addition.family {
        ContractFamily::V4 => Family::V4,
        ContractFamily::V6 => Family::V6,
    };
    let Some(own) = snapshot.cluster.own(family) else {
        return Err(format!("this node has no IP{family} address"));
    };
    let Some(ip) = node.address(family) else {
        return Err(format!("node {name} has no IP{family} address"));
    };
    if *name == snapshot.models[0].base.node.name {
        return Err(format!("node {name} is this node"));
    }
    if ip == own.address {
        return Err(format!("node {name} has this node's address {ip}"));
    }
    let addition = Addition {
        node: name.clone(),
        family,
        mesh_password: addition.mesh_password,
        next_hop: next_hop(addition.next_hop),
        restart_time: restart_time(addition.restart_time)?,
        keepalive_time: keepalive_time(addition.keepalive_time)?,
        remote_cluster_id: choice(addition.remote_cluster_id)
            .map_err(|fault| format!("remote-cluster-id: {fault}"))?,
        filters: filters.get(addition.filters)?,
    };
    Ok((addition, ip))
}

fn choice(choice: ClusterIdChoice) -> Result<Choice, Fault> {
    match choice {
        ClusterIdChoice::Unchanged => Ok(Choice::Unchanged),
        ClusterIdChoice::None => Ok(Choice::None),
        ClusterIdChoice::Set(0) => Err("0 is no cluster id".to_owned()),
        ClusterIdChoice::Set(id) => Ok(Choice::Set(ClusterId(id.into()))),
    }
}

fn next_hop(next_hop: NextHop) -> Option<&'static str> {
    match next_hop {
        NextHop::Automatic => None,
        NextHop::Own => Some("self"),
        NextHop::Keep => Some("keep"),
    }
}

fn restart_time(seconds: Option<u32>) -> Result<Option<Seconds>, Fault> {
    seconds.map(|time| within("restart-time", time, 0, MAX_RESTART_TIME).map(Seconds)).transpose()
}

fn keepalive_time(seconds: Option<u32>) -> Result<Option<Seconds>, Fault> {
    seconds.map(|time| within("keepalive-time", time, 1, MAX_KEEPALIVE_TIME).map(Seconds)).transpose()
}
