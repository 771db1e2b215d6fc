//! What servers have told, and what of it is still to be passed on. No I/O and no clock.
//!
//! A new connection brings everything anew. What is in it as it was is not told again, and what is not in it is gone once
//! all of it has come. Until then nothing of it is passed on, so that nobody sees a state that never was; only the very
//! first time, when nothing can be rendered yet, it is passed on as it comes.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use super::keys::{self, Found, Meaning};
use crate::engine::{Event, Settings};
use crate::resources::{Defaults, ObjectKey, Parsed};
use crate::syncer::Update;
use crate::types::Name;

/// How many objects are told at once at most.
const TOLD_AT_ONCE: usize = 256;

/// Typha's data as this node has it.
pub(super) struct Mirror {
    /// The node whose blocks matter.
    blocks_of: Option<Name>,
    defaults: Defaults,
    hasher: RandomState,
    known: BTreeMap<Box<str>, Known>,
    pending: BTreeMap<ObjectKey, Pending>,
    /// Keys whose object cannot even be named, and why.
    nameless: BTreeMap<Box<str>, String>,
    /// The connections so far.
    connection: u32,
    /// The server of this connection has said all that there is.
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
    /// The connection that told of it last.
    connection: u32,
}

impl Mirror {
    /// The data as a node needs it; without blocks where they follow from its pod CIDRs.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            blocks_of: (!settings.use_pod_cidr).then(|| settings.node.clone()),
            defaults: settings.defaults(),
            hasher: RandomState::new(),
            known: BTreeMap::new(),
            pending: BTreeMap::new(),
            nameless: BTreeMap::new(),
            connection: 0,
            in_sync: false,
            was_in_sync: false,
            told_standing: None,
            told_problems: Vec::new(),
        }
    }

    /// A connection begins.
    pub(super) fn connected(&mut self) {
        self.connection = self.connection.wrapping_add(1);
        self.in_sync = false;
    }

    /// The connection has ended.
    pub(super) fn disconnected(&mut self) {
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

    /// A key has a value; an empty one: it has none.
    pub(super) fn set(&mut self, key: &[u8], value: &[u8]) {
        // A key that is no text is of no kind that is read.
        let Ok(key) = str::from_utf8(key) else { return };
        if value.is_empty() {
            self.remove(key);
        } else if let Some(meaning) = keys::meaning(key, self.blocks_of.as_ref()) {
            self.read(key, meaning, value);
        }
    }

    fn read(&mut self, key: &str, meaning: Meaning<'_>, value: &[u8]) {
        let hash = self.hasher.hash_one(value);
        let mut was_there = false;
        if let Some(known) = self.known.get_mut(key) {
            known.connection = self.connection;
            if known.value == hash {
                return;
            }
            was_there = known.object.is_some();
        }
        let object = match keys::read(key, meaning, value, &self.defaults) {
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
        let known = Known { value: hash, object, connection: self.connection };
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

    /// The server says whether it has said all that there is.
    pub(super) fn server_says(&mut self, in_sync: bool) {
        self.in_sync = in_sync;
        if !in_sync {
            return;
        }
        self.was_in_sync = true;
        let current = self.connection;
        let old: Vec<Box<str>> = self
            .known
            .iter()
            .filter(|(_, known)| known.connection != current)
            .map(|(key, _)| key.clone())
            .collect();
        old.iter().for_each(|key| self.remove(key));
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
