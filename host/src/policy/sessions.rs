//! The sessions as they are in the end: with the functions that plugins' rules became, in the right places.

use std::collections::BTreeSet;
use std::sync::Arc;

use imbl::OrdMap;
use rustc_hash::FxHashMap;

use super::ledger::{Ledger, Verdict};
use super::rules::Ruled;
use super::{Facts, ItemKey, Items, Placement, differences, peer};
use crate::bird::{Export, PluginFunction};
use crate::engine::model::{FilterCall, Peer, Terms};
use crate::engine::{CollectionId, Item, client_of};
use crate::types::{ClusterId, Family, Name};

/// What all sessions depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Common {
    /// This node's cluster id, if a plugin chose it.
    pub(super) cluster_id: Option<Option<ClusterId>>,
    /// Whether there are policies for routes, by family.
    pub(super) policies: [bool; 2],
}

/// The sessions and filters.
#[derive(Debug, Clone, Default)]
pub(super) struct Sessions {
    common: Common,
    input: [Items; 2],
    pub(super) out: [Items; 2],
    /// The functions that a session calls, if there are any.
    calls: FxHashMap<ItemKey, Vec<Arc<PluginFunction>>>,
    functions: [Functions; 2],
    filters: [Items; 2],
    pub(super) filters_out: [Items; 2],
}

/// Functions by key, each with the number of sessions that call it.
type Functions = OrdMap<Arc<str>, (Arc<PluginFunction>, usize)>;

impl Sessions {
    /// Computes the sessions that differ from before, and the ones in `dirty`, of which something else was said.
    pub(super) fn update(
        &mut self,
        sessions: &[Items; 2],
        rulings: &[(&Facts, &Ledger<Ruled>)],
        common: Common,
        dirty: &mut BTreeSet<ItemKey>,
    ) {
        let mut keys: Vec<ItemKey> = std::mem::take(dirty).into_iter().collect();
        for family in Family::ALL {
            let (old, new) = (&self.input[family.index()], &sessions[family.index()]);
            let policies = common.policies[family.index()];
            let all = common.cluster_id != self.common.cluster_id
                || policies != self.common.policies[family.index()]
                || old.is_empty() && (policies || common.cluster_id.is_some());
            let differ = differences(old, new).map(|(key, ..)| key);
            let key = |key: &Arc<str>| (family, CollectionId::Peers, key.clone());
            if old.is_empty() {
                // What rules were made for is among the keys already.
                self.out[family.index()] = new.clone();
            } else {
                keys.extend(differ.map(key));
            }
            if all {
                keys.extend(new.keys().map(key));
            }
        }
        keys.sort();
        keys.dedup();
        self.input = sessions.clone();
        self.common = common;
        for key in keys {
            self.place(key, rulings);
        }
    }

    fn place(&mut self, key: ItemKey, rulings: &[(&Facts, &Ledger<Ruled>)]) {
        let at = key.0.index();
        let input = self.input[at].get(&key.2).cloned();
        let Some((item, peer)) = input.as_ref().and_then(|item| Some((item, peer(item)?))) else {
            self.out[at].remove(&key.2);
            self.set_calls(key, Vec::new());
            return;
        };
        let verdicts: Vec<(&Facts, &Verdict<Ruled>)> =
            rulings.iter().filter_map(|(facts, ledger)| Some((*facts, ledger.get(&key)?))).collect();
        let policies = self.common.policies[at];
        let rr_cluster_id = match self.common.cluster_id {
            None => peer.rr_cluster_id,
            Some(own) => client_of(own, peer.same_as, peer.remote_cluster_id),
        };
        if verdicts.is_empty() && !policies && rr_cluster_id == peer.rr_cluster_id {
            self.out[at].insert(key.2.clone(), item.clone());
            self.set_calls(key, Vec::new());
            return;
        }
        let import = steps(&peer.import, &verdicts, |ruled| ruled.import.as_ref(), None);
        let export =
            steps(&peer.export, &verdicts, |ruled| ruled.export.as_ref(), policies.then(Export::call));
        let terms = Terms { import, export, rr_cluster_id, ..(*peer.terms).clone() };
        let new = Item::from(Peer { terms: terms.into(), ..peer.clone() });
        if self.out[at].get(&key.2).is_none_or(|old| **old != new) {
            self.out[at].insert(key.2.clone(), Arc::new(new));
        }
        let mut calls = Vec::new();
        for (_, verdict) in verdicts {
            if let Verdict::Said(ruled) = verdict {
                calls.extend([&ruled.import, &ruled.export].into_iter().flatten().cloned());
            }
        }
        self.set_calls(key, calls);
    }

    /// Notes which functions a session calls. One that nobody calls any more goes.
    fn set_calls(&mut self, key: ItemKey, calls: Vec<Arc<PluginFunction>>) {
        let at = key.0.index();
        for function in &calls {
            let count = self.functions[at].get(&function.key).map_or(0, |(_, count)| *count);
            self.functions[at].insert(function.key.clone(), (function.clone(), count + 1));
            if count == 0 {
                let item = Arc::new(Item::from(function.filter.clone()));
                self.filters_out[at].insert(function.key.clone(), item);
            }
        }
        let old = if calls.is_empty() { self.calls.remove(&key) } else { self.calls.insert(key, calls) };
        for function in old.into_iter().flatten() {
            match self.functions[at].get(&function.key).map(|(_, count)| *count) {
                Some(count) if count > 1 => {
                    self.functions[at].insert(function.key.clone(), (function, count - 1));
                }
                _ => {
                    self.functions[at].remove(&function.key);
                    self.filters_out[at].remove(&function.key);
                }
            }
        }
    }

    /// Takes the BGPFilters as they are now.
    pub(super) fn update_filters(&mut self, filters: &Items, family: Family) {
        let at = family.index();
        for (key, _, new) in differences(&self.filters[at], filters) {
            match new {
                Some(item) => drop(self.filters_out[at].insert(key.clone(), item.clone())),
                None => drop(self.filters_out[at].remove(key)),
            }
        }
        self.filters[at] = filters.clone();
    }
}

/// The steps of an import or export: what refuses every route, then `first`, then those before the peer's own filters,
/// these, and those behind them.
fn steps(
    own: &[FilterCall],
    verdicts: &[(&Facts, &Verdict<Ruled>)],
    function: impl Fn(&Ruled) -> Option<&Arc<PluginFunction>>,
    first: Option<FilterCall>,
) -> Vec<FilterCall> {
    let closed = verdicts.iter().filter(|(_, verdict)| *verdict == &Verdict::Closed).map(|(facts, _)| {
        FilterCall { reject: true, reason: Some(reason(&facts.name)), plugin: true, ..FilterCall::default() }
    });
    let placed = |placement: Placement| {
        verdicts.iter().filter(move |(facts, _)| facts.placement == placement).filter_map(|(_, verdict)| {
            match verdict {
                Verdict::Said(ruled) => function(ruled).map(|function| function.call.clone()),
                Verdict::Closed => None,
            }
        })
    };
    let calls = closed.chain(first).chain(placed(Placement::Before));
    calls.chain(own.iter().cloned()).chain(placed(Placement::After)).collect()
}

/// A plugin's name as a word that a file can hold.
fn reason(name: &str) -> Name {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let word: String = format!("_{}", name.chars().take(200).map(allowed).collect::<String>());
    match name.parse().or_else(|_| word.parse()) {
        Ok(name) => name,
        Err(error) => unreachable!("{word}: {error}"),
    }
}
