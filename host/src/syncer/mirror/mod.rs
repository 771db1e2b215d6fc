//! What a server has told of Calico's keys, and what of it is still to be passed on. No I/O and no clock.
//!
//! A listing brings everything anew. What is in it as it was is not told again, and what is not in it is gone once
//! all of it has come. Until then nothing of it is passed on, so that nobody sees a state that never was; only the very
//! first time, when nothing can be rendered yet, it is passed on as it comes.

mod board;
mod keys;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use crate::engine::{Event, Settings};
use crate::resources::{Defaults, ObjectKey, Parsed};
use crate::syncer::Update;
use crate::types::Name;
use keys::{Found, Meaning};

pub(super) use board::Board;
pub(super) use keys::folders;

/// How many objects are told at once at most.
const TOLD_AT_ONCE: usize = 256;

/// A datastore's keys as this node has them.
pub(super) struct Mirror {
    /// What errors call the datastore.
    of: &'static str,
    /// The node whose blocks matter.
    blocks_of: Option<Name>,
    defaults: Defaults,
    hasher: RandomState,
    known: BTreeMap<Box<str>, Known>,
    pending: BTreeMap<ObjectKey, Pending>,
    /// Keys whose object cannot even be named, and why.
    nameless: BTreeMap<Box<str>, String>,
    /// The listings so far.
    listing: u32,
    /// All that there is has been said.
    in_sync: bool,
    was_in_sync: bool,
    told_standing: Option<Result<(), String>>,
    told_problems: Vec<String>,
}

/// What is to be passed on of an object.
struct Pending {
    /// None if it is gone.
    object: Option<Box<Parsed>>,
    /// Nothing was ever passed on of it.
    is_new: bool,
}

/// What is known of a key.
struct Known {
    value: u64,
    object: Option<ObjectKey>,
    /// The listing that it belongs to, or that it came after.
    listing: u32,
}

impl Mirror {
    /// The data as a node needs it; without blocks where they follow from its pod CIDRs.
    pub(super) fn new(of: &'static str, settings: &Settings) -> Self {
        Self {
            of,
            blocks_of: keys::blocks_of(settings),
            defaults: settings.defaults(),
            hasher: RandomState::new(),
            known: BTreeMap::new(),
            pending: BTreeMap::new(),
            nameless: BTreeMap::new(),
            listing: 0,
            in_sync: false,
            was_in_sync: false,
            told_standing: None,
            told_problems: Vec::new(),
        }
    }

    /// From here on everything is told anew.
    pub(super) fn begins(&mut self) {
        self.listing = self.listing.wrapping_add(1);
        self.in_sync = false;
    }

    /// Whether everything is known.
    pub(super) fn is_in_sync(&self) -> bool {
        self.in_sync
    }

    /// Whether everything was known at any time.
    pub(super) fn was_in_sync(&self) -> bool {
        self.was_in_sync
    }

    /// A key has a value.
    pub(super) fn set(&mut self, key: &[u8], value: &[u8]) {
        // A key that is no text is of no kind that is read.
        let Ok(key) = str::from_utf8(key) else { return };
        if let Some(meaning) = keys::meaning(key, self.blocks_of.as_ref()) {
            self.read(key, meaning, value);
        }
    }

    /// A key has no value any more.
    pub(super) fn unset(&mut self, key: &[u8]) {
        if let Ok(key) = str::from_utf8(key) {
            self.remove(key);
        }
    }

    fn read(&mut self, key: &str, meaning: Meaning<'_>, value: &[u8]) {
        let hash = self.hasher.hash_one(value);
        let mut was_there = false;
        if let Some(known) = self.known.get_mut(key) {
            known.listing = self.listing;
            if known.value == hash {
                return;
            }
            was_there = known.object.is_some();
        }
        let object = match keys::read(self.of, key, meaning, value, &self.defaults) {
            Found::Object(parsed) => {
                let object = parsed.key.clone();
                self.nameless.remove(key);
                let is_new = self.pending.get(&object).map_or(!was_there, |pending| pending.is_new);
                self.pending.insert(object.clone(), Pending { object: Some(parsed), is_new });
                Some(object)
            }
            Found::Nameless(reason) => {
                self.nameless.insert(key.into(), reason);
                None
            }
        };
        let known = Known { value: hash, object, listing: self.listing };
        self.known.insert(key.into(), known);
    }

    fn remove(&mut self, key: &str) {
        self.nameless.remove(key);
        if let Some(Known { object: Some(object), .. }) = self.known.remove(key) {
            // What nobody has heard of need not be taken back.
            if self.pending.get(&object).is_some_and(|pending| pending.is_new) {
                self.pending.remove(&object);
            } else {
                self.pending.insert(object, Pending { object: None, is_new: false });
            }
        }
    }

    /// All has been told since it began: what was not is gone.
    pub(super) fn is_complete(&mut self) {
        let current = self.listing;
        let old: Vec<Box<str>> = self
            .known
            .iter()
            .filter(|(_, known)| known.listing != current)
            .map(|(key, _)| key.clone())
            .collect();
        old.iter().for_each(|key| self.remove(key));
        (self.in_sync, self.was_in_sync) = (true, true);
    }

    /// What was told may be out of date.
    pub(super) fn is_stale(&mut self) {
        self.in_sync = false;
    }

    /// What can be passed on next; nothing when there is nothing.
    pub(super) fn take(&mut self) -> Vec<Update> {
        let mut updates = Vec::new();
        if self.in_sync || !self.was_in_sync {
            while updates.len() < TOLD_AT_ONCE
                && let Some((key, pending)) = self.pending.pop_first()
            {
                updates.push(Update::Event(match pending.object {
                    Some(parsed) => Event::Upsert(*parsed),
                    None => Event::Delete(key),
                }));
            }
        }
        if !self.in_sync || !self.pending.is_empty() {
            return updates;
        }
        let problems: Vec<String> = self.nameless.iter().map(|(key, why)| format!("{key}: {why}")).collect();
        if problems != self.told_problems {
            self.told_problems.clone_from(&problems);
            updates.push(Update::Problems(problems));
        }
        if self.told_standing != Some(Ok(())) {
            self.told_standing = Some(Ok(()));
            updates.push(Update::InSync);
        }
        updates
    }

    /// Tells that the data cannot be followed, unless that was told.
    pub(super) fn lost(&mut self, reason: &str) -> Option<Update> {
        let standing = Some(Err(reason.to_owned()));
        if self.told_standing == standing {
            return None;
        }
        self.told_standing = standing;
        Some(Update::Lost(reason.to_owned()))
    }
}
