//! All that is known of each Service, under a small number.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::ServiceKey;
use super::addresses::Addresses;
use super::service::KeptService;
use super::slices::Slices;
use crate::types::Name;

/// The number of a Service while anything is known of it; another one can have it afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServiceId(u32);

/// What is known of a Service.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: ServiceKey,
    /// None while only its slices are there, or only what it claims still.
    pub(super) service: Option<KeptService>,
    pub(super) slices: Slices,
    /// The addresses that it claims as routes, in order, each once.
    pub(super) claims: Addresses,
}

/// The Services of which anything is known.
#[derive(Debug, Default)]
pub(super) struct Store {
    entries: Vec<Option<Box<Entry>>>,
    /// The numbers that nobody has.
    free: Vec<ServiceId>,
    /// By namespace and name.
    ids: HashTable<ServiceId>,
}

impl Store {
    /// What is known of the Service of a number.
    pub(super) fn get(&self, id: ServiceId) -> Option<&Entry> {
        self.entries.get(id.index())?.as_deref()
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, id: ServiceId) -> Option<&mut Entry> {
        self.entries.get_mut(id.index())?.as_deref_mut()
    }

    /// The namespace and name of a Service; they order Services.
    pub(super) fn key(&self, id: ServiceId) -> Option<&ServiceKey> {
        self.get(id).map(|entry| &entry.key)
    }

    /// The number of a Service.
    pub(super) fn id(&self, namespace: &Name, name: &Name) -> Option<ServiceId> {
        self.ids.find(hash(namespace, name), |id| self.is_of(*id, namespace, name)).copied()
    }

    /// What is known of a Service.
    pub(super) fn find(&self, (namespace, name): &ServiceKey) -> Option<&Entry> {
        self.get(self.id(namespace, name)?)
    }

    /// All that is known.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten().map(|entry| &**entry)
    }

    /// The number of a Service, which it gets now if nothing was known of it.
    pub(super) fn id_or_new(&mut self, namespace: &Name, name: &Name) -> ServiceId {
        if let Some(id) = self.id(namespace, name) {
            return id;
        }
        let entry = Box::new(Entry {
            key: (namespace.clone(), name.clone()),
            service: None,
            slices: Slices::default(),
            claims: Addresses::default(),
        });
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id.index()] = Some(entry);
                id
            }
            None => {
                // There is no memory for as many Services as there are numbers.
                let id = ServiceId(self.entries.len() as u32);
                self.entries.push(Some(entry));
                id
            }
        };
        let Self { entries, ids, .. } = self;
        ids.insert_unique(hash(namespace, name), id, |id| {
            let key = entries.get(id.index()).and_then(|entry| entry.as_ref()).map(|entry| &entry.key);
            key.map_or(0, |(namespace, name)| hash(namespace, name))
        });
        id
    }

    /// Lets a Service go if nothing is known of it any more.
    pub(super) fn release(&mut self, id: ServiceId) {
        let Some(entry) = self.get(id) else { return };
        if entry.service.is_some() || !entry.slices.is_empty() || !entry.claims.is_empty() {
            return;
        }
        let hash = hash(&entry.key.0, &entry.key.1);
        if let Ok(found) = self.ids.find_entry(hash, |other| *other == id) {
            found.remove();
        }
        self.entries[id.index()] = None;
        self.free.push(id);
    }

    fn is_of(&self, id: ServiceId, namespace: &Name, name: &Name) -> bool {
        self.key(id).is_some_and(|key| key.1 == *name && key.0 == *namespace)
    }
}

fn hash(namespace: &Name, name: &Name) -> u64 {
    FxBuildHasher.hash_one((namespace.as_str(), name.as_str()))
}

impl ServiceId {
    fn index(self) -> usize {
        self.0 as usize
    }
}
