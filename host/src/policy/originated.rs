//! The routes that start here as they are in the end: those that nobody rejects, and what becomes of them on export.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::advertise::{COLLECTIONS, Decision, Destination, Origins, facts, origin};
use super::ledger::{Ledger, Verdict};
use super::{ItemKey, Items, differences, peer};
use crate::bird::Export;
use crate::engine::model::RoutePolicy;
use crate::engine::{CollectionId, Item};
use crate::types::{Community, Family, Name};

/// The routes and their policies.
#[derive(Debug, Clone, Default)]
pub(super) struct Originated {
    input: Origins,
    pub(super) routes: [Items; 2],
    pub(super) policies: [Items; 2],
    /// The routes that may go to some peers only.
    restricted: BTreeSet<ItemKey>,
    addresses: Addresses,
}

/// The addresses of the sessions of each BGPPeer.
#[derive(Debug, Clone, Default)]
struct Addresses {
    sessions: [Items; 2],
    by_peer: BTreeMap<(Family, Name), BTreeMap<IpAddr, usize>>,
}

/// Takes the items of a collection as they are now: those of which nothing is said stay as they are, and the others must be
/// placed. What was said in this round is `dirty` already.
fn take(
    old: &Items,
    new: &Items,
    mut routes: Option<&mut Items>,
    (family, id): (Family, CollectionId),
    ledgers: &[&Ledger<Decision>],
    dirty: &mut BTreeSet<ItemKey>,
) {
    if old.is_empty() {
        if let Some(routes) = routes {
            *routes = new.clone();
        }
        return;
    }
    for (name, _, item) in differences(old, new) {
        let key = (family, id, name.clone());
        let said = ledgers.iter().any(|ledger| ledger.get(&key).is_some());
        match (item, &mut routes) {
            (Some(item), Some(routes)) if !said => drop(routes.insert(name.clone(), item.clone())),
            (Some(_), None) if !said => {}
            _ => drop(dirty.insert(key)),
        }
    }
}

impl Originated {
    /// Computes the routes that differ from before, and the ones in `dirty`, of which something else was said.
    pub(super) fn update(
        &mut self,
        origins: &Origins,
        sessions: &[Items; 2],
        ledgers: &[&Ledger<Decision>],
        dirty: &mut BTreeSet<ItemKey>,
    ) {
        for family in Family::ALL {
            for (at, id) in COLLECTIONS.into_iter().enumerate() {
                let (old, new) = (&self.input[family.index()][at], &origins[family.index()][at]);
                let routes = (id == CollectionId::Routes).then_some(&mut self.routes[family.index()]);
                take(old, new, routes, (family, id), ledgers, dirty);
            }
        }
        self.input = origins.clone();
        if self.addresses.update(sessions) {
            dirty.extend(self.restricted.iter().cloned());
        }
        for key in std::mem::take(dirty) {
            self.place(key, ledgers);
        }
    }

    fn place(&mut self, key: ItemKey, ledgers: &[&Ledger<Decision>]) {
        let (family, id, name) = &key;
        let item = origin(&self.input, &key).cloned();
        let about = item.as_deref().and_then(facts);
        let verdicts: Vec<&Verdict<Decision>> =
            ledgers.iter().filter_map(|ledger| ledger.get(&key)).filter(|_| about.is_some()).collect();
        let (export, restricted) = self.combine(*family, &verdicts);
        let policy = about.and_then(|(prefix, ..)| {
            // A route that is rejected does not start here at all; a block's addresses are kept here in any case.
            let here = !export.reject || *id == CollectionId::Blocks;
            let statement = export.statement(prefix).filter(|_| here)?;
            Some(Item::RoutePolicy(RoutePolicy { prefix: prefix.clone(), statement }))
        });
        if *id == CollectionId::Routes {
            let routes = &mut self.routes[family.index()];
            match item.filter(|_| !export.reject) {
                Some(item) => drop(routes.insert(name.clone(), item)),
                None => drop(routes.remove(name)),
            }
        }
        // A block and a route can have one prefix.
        let policy_key = match id {
            CollectionId::Blocks => format!("{name} block").into(),
            _ => name.clone(),
        };
        let policies = &mut self.policies[family.index()];
        match policy {
            None => drop(policies.remove(&policy_key)),
            Some(policy) if policies.get(&policy_key).is_some_and(|old| **old == policy) => {}
            Some(policy) => drop(policies.insert(policy_key, Arc::new(policy))),
        }
        if restricted {
            self.restricted.insert(key);
        } else {
            self.restricted.remove(&key);
        }
    }

    /// What all plugins together say of a route, and whether it may go to some peers only: a rejection is final,
    /// communities add up, the last priority counts, and where it may go is where all let it go.
    fn combine(&self, family: Family, verdicts: &[&Verdict<Decision>]) -> (Export, bool) {
        let mut export = Export::default();
        let mut communities: BTreeSet<Community> = BTreeSet::new();
        for verdict in verdicts {
            let decision = match verdict {
                Verdict::Said(decision) if !decision.reject => decision,
                Verdict::Said(_) | Verdict::Closed => {
                    return (Export { reject: true, ..Export::default() }, false);
                }
            };
            for community in &decision.communities {
                if communities.insert(*community) {
                    export.communities.push(*community);
                }
            }
            export.priority = decision.priority.or(export.priority);
            if let Some(to) = &decision.to {
                let to = self.addresses.of(family, to);
                export.to = Some(match export.to.take() {
                    None => to,
                    Some(before) => before.intersection(&to).copied().collect(),
                });
            }
        }
        let restricted = export.to.is_some();
        (export, restricted)
    }
}

impl Addresses {
    /// Takes the sessions as they are now; tells whether any BGPPeer has other addresses than before.
    fn update(&mut self, sessions: &[Items; 2]) -> bool {
        let mut changed = false;
        for family in Family::ALL {
            for (_, old, new) in differences(&self.sessions[family.index()], &sessions[family.index()]) {
                let place = |item: Option<&Arc<Item>>| {
                    let peer = item.and_then(|item| peer(item))?;
                    Some(((family, peer.bgp_peer.clone()?), peer.ip))
                };
                let (old, new) = (place(old), place(new));
                if old == new {
                    continue;
                }
                changed = true;
                if let Some((key, ip)) = new {
                    *self.by_peer.entry(key).or_default().entry(ip).or_default() += 1;
                }
                if let Some((key, ip)) = old
                    && let Some(addresses) = self.by_peer.get_mut(&key)
                {
                    match addresses.get_mut(&ip) {
                        Some(count) if *count > 1 => *count -= 1,
                        _ => drop(addresses.remove(&ip)),
                    }
                    if addresses.is_empty() {
                        self.by_peer.remove(&key);
                    }
                }
            }
        }
        self.sessions = sessions.clone();
        changed
    }

    /// The addresses of a family that destinations lead to.
    fn of(&self, family: Family, to: &BTreeSet<Destination>) -> BTreeSet<IpAddr> {
        let mut found = BTreeSet::new();
        for destination in to {
            match destination {
                Destination::Address(ip) => found.extend((Family::of(*ip) == family).then_some(*ip)),
                Destination::BgpPeer(name) => {
                    let addresses = self.by_peer.get(&(family, name.clone()));
                    found.extend(addresses.into_iter().flat_map(|addresses| addresses.keys()).copied());
                }
            }
        }
        found
    }
}
