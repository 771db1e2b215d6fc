//! What one plugin said of items that it decides on one by one, and about which it must be asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Asked, CallError, Facts, ItemKey, OnError, Reads};
use crate::engine::{Snapshot, View};

/// The most items of one call. What a call reads counts for all its items, so a change of it asks about so many again.
const MOST: usize = 512;

/// What a plugin said of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict<T> {
    /// This.
    Said(Arc<T>),
    /// The plugin failed, and the item fails closed.
    Closed,
}

/// What one plugin said. An item that is not there stays as it is.
#[derive(Debug, Clone)]
pub(super) struct Ledger<T> {
    said: FxHashMap<ItemKey, Verdict<T>>,
    pending: BTreeSet<ItemKey>,
    read: Read,
    /// The revision up to which it is known what must be asked again.
    seen: u64,
}

/// An answer for each item of which something was said.
pub(super) type Answers<T> = Vec<(ItemKey, Arc<T>)>;

impl<T> Default for Ledger<T> {
    fn default() -> Self {
        Self { said: FxHashMap::default(), pending: BTreeSet::new(), read: Read::default(), seen: 0 }
    }
}

impl<T: PartialEq> Ledger<T> {
    /// What was said of an item.
    pub(super) fn get(&self, key: &ItemKey) -> Option<&Verdict<T>> {
        self.said.get(key)
    }

    /// Items are new or are others now.
    pub(super) fn changed(&mut self, keys: Vec<ItemKey>) {
        add_all(&mut self.pending, keys);
    }

    /// An item is gone.
    pub(super) fn gone(&mut self, key: &ItemKey) {
        self.pending.remove(key);
        self.said.remove(key);
        self.read.forget(key);
    }

    /// Asks about what must be asked, if there is anything: about items that are new or others, and about those for whose
    /// answer something was read that is another now. `ask` asks about some and gives an answer for each of which something
    /// was said. The items of which something else is said now go to `changed`.
    ///
    /// # Errors
    /// The plugin failed, and is not asked any more. What follows from `facts.on_error` has been done; with `keep` what was
    /// not asked is pending.
    pub(super) fn update(
        &mut self,
        facts: &Facts,
        snapshot: &Snapshot,
        mut ask: impl FnMut(&[ItemKey]) -> Result<Asked<Answers<T>>, CallError>,
        changed: &mut BTreeSet<ItemKey>,
    ) -> Result<(), CallError> {
        let outdated = self.read.outdated(self.seen, &snapshot.view);
        add_all(&mut self.pending, outdated);
        self.seen = snapshot.revision;
        let mut differ = Vec::new();
        let outcome = self.ask_all(facts, &mut ask, &mut differ);
        add_all(changed, differ);
        outcome
    }

    fn ask_all(
        &mut self,
        facts: &Facts,
        ask: &mut impl FnMut(&[ItemKey]) -> Result<Asked<Answers<T>>, CallError>,
        differ: &mut Vec<ItemKey>,
    ) -> Result<(), CallError> {
        let pending: Vec<ItemKey> = self.pending.iter().cloned().collect();
        let mut left = &pending[..];
        while !left.is_empty() {
            let (keys, behind) = left.split_at(left.len().min(MOST));
            match ask(keys) {
                Ok(Asked { answer, reads }) => {
                    self.pending =
                        behind.first().map_or_else(BTreeSet::new, |next| self.pending.split_off(next));
                    self.read.note(keys, reads);
                    let mut said: FxHashMap<_, _> = answer.into_iter().collect();
                    self.set(keys, |key| said.remove(key).map(Verdict::Said), differ);
                }
                // No error is kept: what was asked about stays pending.
                Err(error) => {
                    match facts.on_error {
                        OnError::Keep => {}
                        OnError::Skip => self.set(left, |_| None, differ),
                        OnError::Reject => self.set(left, |_| Some(Verdict::Closed), differ),
                    }
                    return Err(error);
                }
            }
            left = behind;
        }
        Ok(())
    }

    fn set(
        &mut self,
        keys: &[ItemKey],
        mut verdict: impl FnMut(&ItemKey) -> Option<Verdict<T>>,
        differ: &mut Vec<ItemKey>,
    ) {
        for key in keys {
            let new = verdict(key);
            if self.said.get(key) != new.as_ref() {
                match new {
                    Some(new) => drop(self.said.insert(key.clone(), new)),
                    None => drop(self.said.remove(key)),
                }
                differ.push(key.clone());
            }
        }
    }
}

/// Adds keys to a set; many at once cost less than one by one.
fn add_all(set: &mut BTreeSet<ItemKey>, keys: Vec<ItemKey>) {
    match set.is_empty() {
        true => *set = keys.into_iter().collect(),
        false => set.extend(keys),
    }
}

/// What was read for the answers, by calls.
#[derive(Debug, Clone, Default)]
struct Read {
    calls: BTreeMap<u64, Call>,
    /// The call that each item was last asked about in, if anything was read there.
    of: FxHashMap<ItemKey, u64>,
    next: u64,
}

/// A call, or several about few items.
#[derive(Debug, Clone, Default)]
struct Call {
    reads: Reads,
    /// The items whose answers are of this call.
    items: FxHashSet<ItemKey>,
    /// How many there were.
    asked: usize,
}

impl Read {
    /// Takes out the items for which something was read that changed since a revision.
    fn outdated(&mut self, since: u64, view: &View) -> Vec<ItemKey> {
        let outdated = self.calls.iter().filter(|(_, call)| call.reads.changed_since(since, view));
        let outdated: Vec<u64> = outdated.map(|(number, _)| *number).collect();
        let calls = outdated.into_iter().filter_map(|number| self.calls.remove(&number));
        let items: Vec<ItemKey> = calls.flat_map(|call| call.items).collect();
        for item in &items {
            self.of.remove(item);
        }
        items
    }

    fn forget(&mut self, key: &ItemKey) {
        if let Some(number) = self.of.remove(key)
            && let Some(call) = self.calls.get_mut(&number)
        {
            call.items.remove(key);
            if call.items.is_empty() {
                self.calls.remove(&number);
            }
        }
    }

    /// Notes what a call about some items read.
    fn note(&mut self, keys: &[ItemKey], reads: Reads) {
        keys.iter().for_each(|key| self.forget(key));
        if reads.is_empty() {
            return;
        }
        // Calls about few items share a place, so that there are never many places to look at.
        let fits = |call: &Call| call.asked + keys.len() <= MOST && call.reads.revision == reads.revision;
        let number = match self.calls.last_key_value() {
            Some((number, call)) if fits(call) => *number,
            _ => {
                self.next += 1;
                self.next
            }
        };
        let call = self.calls.entry(number).or_default();
        call.reads.extend(reads);
        call.asked += keys.len();
        call.items.extend(keys.iter().cloned());
        self.of.extend(keys.iter().map(|key| (key.clone(), number)));
    }
}
