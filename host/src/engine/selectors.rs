//! Which nodes each selector matches, kept up to date by the labels that the selectors mention.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Work;
use super::nodes::Nodes;
use super::selector::{Selector, SelectorError};
use crate::resources::{Labels, Text};
use crate::types::Name;

/// So many selectors of a node are nothing out of the ordinary.
const FEW: usize = 8;

/// A selector in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SelectorId(usize);

#[derive(Debug)]
struct Entry {
    text: Text,
    selector: Selector,
    users: usize,
    members: BTreeSet<Name>,
}

/// All selectors in use.
#[derive(Debug, Default)]
pub(super) struct Selectors {
    entries: BTreeMap<SelectorId, Entry>,
    by_text: FxHashMap<Text, SelectorId>,
    by_label: FxHashMap<Text, BTreeSet<SelectorId>>,
    /// Those that match a node without labels.
    on_empty: BTreeSet<SelectorId>,
    /// For each node that any selector matches those that do, in order: nearly always a few.
    of_node: FxHashMap<Name, Vec<SelectorId>>,
    next: usize,
}

impl Selectors {
    /// Takes a selector into use; equal texts share one entry.
    pub(super) fn acquire(
        &mut self,
        text: &Text,
        nodes: &Nodes,
        work: &mut Work,
    ) -> Result<SelectorId, SelectorError> {
        if let Some(id) = self.by_text.get(text) {
            if let Some(entry) = self.entries.get_mut(id) {
                entry.users += 1;
            }
            return Ok(*id);
        }
        let selector = Selector::parse(text)?;
        let id = SelectorId(self.next);
        self.next += 1;
        let mut members = BTreeSet::new();
        for (name, node) in nodes.iter() {
            work.selectors_evaluated += 1;
            if selector.matches(&node.labels) {
                members.insert(name.clone());
                note(self.of_node.entry(name.clone()).or_default(), id);
            }
        }
        for label in selector.mentions() {
            self.by_label.entry(label.into()).or_default().insert(id);
        }
        if selector.matches_empty() {
            self.on_empty.insert(id);
        }
        self.by_text.insert(text.clone(), id);
        self.entries.insert(id, Entry { text: text.clone(), selector, users: 1, members });
        Ok(id)
    }

    /// Gives a selector back; it goes with its last user.
    pub(super) fn release(&mut self, id: SelectorId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        entry.users -= 1;
        if entry.users > 0 {
            return;
        }
        let Some(entry) = self.entries.remove(&id) else { return };
        for label in entry.selector.mentions() {
            if let Some(ids) = self.by_label.get_mut(label) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.by_label.remove(label);
                }
            }
        }
        for name in &entry.members {
            forget(&mut self.of_node, name, id);
        }
        self.on_empty.remove(&id);
        self.by_text.remove(&entry.text);
    }

    /// The nodes that a selector matches, by name.
    pub(super) fn members(&self, id: SelectorId) -> impl Iterator<Item = &Name> {
        self.entries.get(&id).into_iter().flat_map(|entry| &entry.members)
    }

    /// Whether a selector matches a node.
    pub(super) fn matches(&self, id: SelectorId, node: &str) -> bool {
        self.entries.get(&id).is_some_and(|entry| entry.members.contains(node))
    }

    /// The selectors that match a node.
    pub(super) fn of_node(&self, node: &str) -> impl Iterator<Item = SelectorId> {
        self.of_node.get(node).into_iter().flatten().copied()
    }

    /// Follows a node's labels; returns the selectors that began or ceased to match it.
    pub(super) fn node_changed(
        &mut self,
        name: &Name,
        old: Option<&Arc<super::nodes::Node>>,
        new: Option<&Arc<super::nodes::Node>>,
        work: &mut Work,
    ) -> Vec<SelectorId> {
        let Some(new) = new else {
            let gone = self.of_node.remove(name).unwrap_or_default();
            for id in &gone {
                if let Some(entry) = self.entries.get_mut(id) {
                    entry.members.remove(name);
                }
            }
            return gone;
        };
        let empty = Labels::new();
        let before = old.map_or(&empty, |node| &*node.labels);
        let mut asked: BTreeSet<SelectorId> = BTreeSet::new();
        for label in differing(before, &new.labels) {
            asked.extend(self.by_label.get(label).into_iter().flatten());
        }
        let mut flipped = Vec::new();
        for id in &asked {
            work.selectors_evaluated += 1;
            let matches = self.entries.get(id).is_some_and(|entry| entry.selector.matches(&new.labels));
            self.set(*id, name, matches, &mut flipped);
        }
        if old.is_none() {
            // What mentions none of the node's labels judges it like a node without labels.
            let quiet: Vec<_> = self.on_empty.difference(&asked).copied().collect();
            for id in quiet {
                self.set(id, name, true, &mut flipped);
            }
        }
        flipped
    }

    fn set(&mut self, id: SelectorId, name: &Name, matches: bool, flipped: &mut Vec<SelectorId>) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let changed = if matches { entry.members.insert(name.clone()) } else { entry.members.remove(name) };
        if !changed {
            return;
        }
        flipped.push(id);
        if matches {
            note(self.of_node.entry(name.clone()).or_default(), id);
        } else {
            forget(&mut self.of_node, name, id);
        }
    }
}

/// Adds a selector to those of a node, which get no more room than they need.
fn note(ids: &mut Vec<SelectorId>, id: SelectorId) {
    if let Err(place) = ids.binary_search(&id) {
        if ids.len() < FEW {
            ids.reserve_exact(1);
        }
        ids.insert(place, id);
    }
}

fn forget(of_node: &mut FxHashMap<Name, Vec<SelectorId>>, name: &Name, id: SelectorId) {
    let Some(ids) = of_node.get_mut(name) else { return };
    if let Ok(place) = ids.binary_search(&id) {
        ids.remove(place);
    }
    if ids.is_empty() {
        of_node.remove(name);
    }
}

/// The labels whose values differ.
fn differing<'a>(old: &'a Labels, new: &'a Labels) -> impl Iterator<Item = &'a Text> {
    let gone = old.iter().filter(|(key, value)| new.get(*key) != Some(*value)).map(|(key, _)| key);
    let come = new.iter().filter(|(key, _)| !old.contains_key(*key)).map(|(key, _)| key);
    gone.chain(come)
}
