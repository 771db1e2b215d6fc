//! Collects what a batch changes in the view and in the models.

use std::sync::Arc;

use super::Cluster;
use super::model::{Base, Changes, CollectionId, FamilyModel, Item, Snapshot};
use super::view::ViewWriter;
use crate::types::Family;

/// Writes one batch into a snapshot.
#[derive(Debug)]
pub(super) struct Writer {
    /// The revision that the batch makes, if it changes anything.
    revision: u64,
    pub(super) view: ViewWriter,
    changes: Changes,
    bases: [bool; 2],
    cluster: bool,
}

impl Writer {
    /// A writer of what follows a snapshot.
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let revision = snapshot.revision + 1;
        Self {
            revision,
            view: ViewWriter::new(revision),
            changes: Changes::default(),
            bases: [false; 2],
            cluster: false,
        }
    }

    /// Sets or removes an item of a collection.
    pub(super) fn put(
        &mut self,
        models: &mut [FamilyModel; 2],
        family: Family,
        id: CollectionId,
        key: Arc<str>,
        item: Option<Item>,
    ) {
        let items = &mut models[family.index()].collections[id.index()].items;
        let changed = match item {
            Some(item) if items.get(&key).is_some_and(|old| **old == item) => false,
            Some(item) => {
                items.insert(key.clone(), Arc::new(item));
                true
            }
            None => items.remove(&key).is_some(),
        };
        if changed {
            self.changes.items.entry((family, id)).or_default().insert(key);
        }
    }

    /// Sets a model's base.
    pub(super) fn put_base(&mut self, models: &mut [FamilyModel; 2], base: Base) {
        let family = base.family;
        let model = &mut models[family.index()];
        if *model.base != base {
            model.base = Arc::new(base);
            self.bases[family.index()] = true;
        }
    }

    /// Sets the facts for policies.
    pub(super) fn put_cluster(&mut self, snapshot: &mut Snapshot, cluster: Cluster) {
        self.cluster |= !snapshot.cluster.same_beside_nodes(&cluster);
        snapshot.cluster = cluster;
    }

    /// Ends the batch: a new revision if anything changed. Returns what did, and the number of keys touched.
    pub(super) fn commit(mut self, snapshot: &mut Snapshot) -> (Changes, usize) {
        self.changes.from = snapshot.revision;
        self.changes.to = snapshot.revision;
        let dirty = self.view.is_dirty()
            || !self.changes.items.is_empty()
            || self.bases.contains(&true)
            || self.cluster;
        if !dirty {
            return (self.changes, 0);
        }
        snapshot.revision = self.revision;
        self.changes.to = self.revision;
        for family in Family::ALL {
            let model = &mut snapshot.models[family.index()];
            if self.bases[family.index()] {
                model.base_revision = snapshot.revision;
            }
        }
        for (family, id) in self.changes.items.keys() {
            snapshot.models[family.index()].collections[id.index()].revision = snapshot.revision;
        }
        let keys = self.view.commit(&mut snapshot.view);
        (self.changes, keys)
    }
}
