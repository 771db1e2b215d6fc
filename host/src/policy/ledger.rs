//! What one plugin said of items that it decides on one by one, and about which it must be asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Asked, CallError, Facts, ItemKey, OnError, Reads};
use crate::engine::Snapshot;

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
    /// All that was read for the answers that are kept, and the revision at which it was read.
    reads: Option<(u64, Reads)>,
}

/// An answer for each item of which something was said.
pub(super) type Answers<T> = Vec<(ItemKey, Arc<T>)>;

impl<T> Default for Ledger<T> {
    fn default() -> Self {
        Self { said: FxHashMap::default(), pending: BTreeSet::new(), reads: None }
    }
}

impl<T: PartialEq> Ledger<T> {
    /// What was said of an item.
    pub(super) fn get(&self, key: &ItemKey) -> Option<&Verdict<T>> {
        self.said.get(key)
    }

    /// An item is new or is another now.
    pub(super) fn changed(&mut self, key: &ItemKey) {
        self.pending.insert(key.clone());
    }

    /// An item is gone.
    pub(super) fn gone(&mut self, key: &ItemKey) {
        self.pending.remove(key);
        self.said.remove(key);
    }

    /// Asks about what must be asked, if there is anything. `all` are all items, for when what was read is another
    /// now; `ask` asks about some and gives an answer for each of which something was said. The items of which
    /// something else is said now go to `changed`.
    ///
    /// # Errors
    /// The plugin failed. What follows from `facts.on_error` has been done; with `keep` nothing is another than before.
    pub(super) fn update(
        &mut self,
        facts: &Facts,
        snapshot: &Snapshot,
        all: impl Iterator<Item = ItemKey>,
        ask: impl FnOnce(&[ItemKey]) -> Result<Asked<Answers<T>>, CallError>,
        changed: &mut BTreeSet<ItemKey>,
    ) -> Result<(), CallError> {
        let outdated =
            self.reads.as_ref().is_some_and(|(at, reads)| reads.changed_since(*at, &snapshot.view));
        if outdated {
            self.reads = None;
            self.pending.extend(all);
        }
        if self.pending.is_empty() {
            return Ok(());
        }
        let keys: Vec<ItemKey> = self.pending.iter().cloned().collect();
        let outcome = ask(&keys);
        let (mut said, outcome) = match outcome {
            Ok(asked) => {
                let mut reads = self.reads.take().map_or_else(Reads::default, |(_, reads)| reads);
                reads.extend(asked.reads);
                self.reads = Some((snapshot.revision, reads));
                self.pending.clear();
                let said = asked.answer.into_iter().map(|(key, answer)| (key, Verdict::Said(answer)));
                (said.collect::<FxHashMap<_, _>>(), Ok(()))
            }
            // No error is kept: what was asked about stays pending.
            Err(error) => match facts.on_error {
                OnError::Keep => return Err(error),
                OnError::Skip => (FxHashMap::default(), Err(error)),
                OnError::Reject => {
                    (keys.iter().map(|key| (key.clone(), Verdict::Closed)).collect(), Err(error))
                }
            },
        };
        for key in keys {
            let new = said.remove(&key);
            if self.said.get(&key) != new.as_ref() {
                match new {
                    Some(new) => drop(self.said.insert(key.clone(), new)),
                    None => drop(self.said.remove(&key)),
                }
                changed.insert(key);
            }
        }
        outcome
    }
}
