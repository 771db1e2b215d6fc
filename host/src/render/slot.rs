use std::collections::BTreeSet;
use std::sync::Arc;

use handlebars::{Context, RenderContext, Renderable};
use imbl::OrdMap;

use super::blocks::Blocks;
use super::compile::{Fragment, Program};
use super::guard::Sink;
use super::shape::Known;
use crate::engine::{Collection, Item, View};
use crate::policy::Reads;

/// The kept texts of a collection's items.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    /// The revision of the snapshot that the texts belong to; none before the first rendering.
    pub(super) revision: Option<u64>,
    collection_revision: u64,
    items: OrdMap<Arc<str>, Arc<Item>>,
    pub(super) fragments: Blocks,
    /// What functions of plugins read, for the items whose texts depend on more than the item.
    reads: OrdMap<Arc<str>, Arc<Reads>>,
    /// The revision of the view that those texts belong to.
    seen: u64,
    /// The shapes that items had.
    known: Known,
}

/// What a slot is brought up to.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    /// The revision of the snapshot.
    pub(super) revision: u64,
    /// The view.
    pub(super) view: &'a View,
}

/// What an update did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Update {
    /// Items that were looked at.
    pub(super) compared: usize,
    pub(super) rendered: usize,
    /// Those of them whose text is that of others but for some values.
    pub(super) shared: usize,
    pub(super) bytes: usize,
    pub(super) changed: bool,
}

/// Why an item was not rendered.
pub(super) struct ItemError {
    pub(super) key: Arc<str>,
    pub(super) error: handlebars::RenderError,
}

impl Slot {
    /// Brings the texts up to the collection at a revision. `dirty` holds at least the keys that differ from
    /// what is kept; without it all items are compared.
    ///
    /// After an error the slot must not be used.
    pub(super) fn update(
        &mut self,
        program: &Program,
        fragment: &Fragment,
        at: At<'_>,
        collection: &Collection,
        dirty: Option<&BTreeSet<Arc<str>>>,
        sink: &mut Sink,
    ) -> Result<Update, ItemError> {
        let mut update = Update::default();
        update.compared += self.reads.len();
        let stale = self.reads.iter().filter(|(_, reads)| reads.changed_since(self.seen, at.view));
        let stale: Vec<Arc<str>> = stale.map(|(key, _)| key.clone()).collect();
        for key in stale {
            // Without its item of before, its text is made anew.
            self.items.remove(&key);
            let item = collection.items.get(&key);
            self.set(program, fragment, &key, item, sink, &mut update)?;
            if let Some(item) = item {
                self.items.insert(key, item.clone());
            }
        }
        if let Some(dirty) = dirty {
            update.compared += dirty.len();
            for key in dirty {
                self.set(program, fragment, key, collection.items.get(key), sink, &mut update)?;
            }
        } else if self.revision.is_none()
            || self.collection_revision != collection.revision
            || self.revision != Some(at.revision)
        {
            let (compared, different) = differences(&self.items, &collection.items);
            update.compared += compared;
            for key in different {
                self.set(program, fragment, &key, collection.items.get(&key), sink, &mut update)?;
            }
        }
        self.revision = Some(at.revision);
        self.seen = at.view.revision();
        self.collection_revision = collection.revision;
        self.items = collection.items.clone();
        Ok(update)
    }

    fn set(
        &mut self,
        program: &Program,
        fragment: &Fragment,
        key: &Arc<str>,
        item: Option<&Arc<Item>>,
        sink: &mut Sink,
        update: &mut Update,
    ) -> Result<(), ItemError> {
        let old = self.items.get(key);
        let Some(item) = item else {
            self.reads.remove(key);
            update.changed |= self.fragments.remove(key);
            return Ok(());
        };
        if old.is_some_and(|old| same(old, item)) {
            return Ok(());
        }
        program.calls.take_reads();
        let shared = render(program, fragment, item, &mut self.known, sink);
        let shared = shared.map_err(|error| ItemError { key: key.clone(), error })?;
        update.rendered += 1;
        update.shared += usize::from(shared);
        let reads = program.calls.take_reads();
        if !reads.is_empty() {
            self.reads.insert(key.clone(), Arc::new(reads));
        } else if !self.reads.is_empty() {
            self.reads.remove(key);
        }
        update.bytes += sink.text().len();
        update.changed |= self.fragments.put(key, sink.text());
        Ok(())
    }
}

fn same(old: &Arc<Item>, new: &Arc<Item>) -> bool {
    Arc::ptr_eq(old, new) || old == new
}

/// Leaves an item's text in the sink, and tells whether it is that of others but for some values.
fn render(
    program: &Program,
    fragment: &Fragment,
    item: &Item,
    known: &mut Known,
    sink: &mut Sink,
) -> Result<bool, handlebars::RenderError> {
    sink.clear();
    let shaped =
        fragment.shapes.as_ref().and_then(|shapes| shapes.render(&fragment.template, item, known, sink));
    if let Some(shaped) = shaped {
        return Ok(shaped);
    }
    let context = Context::wraps(item)?;
    fragment.template.render(&program.registry, &context, &mut RenderContext::new(None), sink)?;
    Ok(false)
}

/// The number of keys of both, and those whose items differ, in order.
fn differences(
    old: &OrdMap<Arc<str>, Arc<Item>>,
    new: &OrdMap<Arc<str>, Arc<Item>>,
) -> (usize, Vec<Arc<str>>) {
    let (mut compared, mut keys) = (0, Vec::new());
    let (mut olds, mut news) = (old.iter().peekable(), new.iter().peekable());
    while olds.peek().is_some() || news.peek().is_some() {
        compared += 1;
        match (olds.peek(), news.peek()) {
            (Some((a, _)), Some((b, _))) if a == b => {
                if let (Some((key, x)), Some((_, y))) = (olds.next(), news.next())
                    && !same(x, y)
                {
                    keys.push(key.clone());
                }
            }
            (Some((a, _)), next) if next.is_none_or(|(b, _)| a < b) => {
                keys.extend(olds.next().map(|(key, _)| key.clone()));
            }
            _ => keys.extend(news.next().map(|(key, _)| key.clone())),
        }
    }
    (compared, keys)
}
