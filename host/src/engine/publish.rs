//! The keys under `/tailorbird/v1`, for policies: facts of nodes and Services that nobody else reads.
//!
//! A key is there only if a pattern of the settings covers it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::View;
use super::nodes::Node;
use super::view::ViewWriter;
use crate::resources::{Labels, ServiceFacts, Text, is_plain, node_key, service_key};
use crate::types::{KeyPattern, Name};

/// The key that holds this node's name.
const THIS_NODE: &str = "/tailorbird/v1/this-node";

/// So many names of labels are remembered at most; what makes ever new ones must not fill the memory.
const NAMES: usize = 4_096;

/// Which labels of nodes some patterns cover. Those of many nodes have the same names, so it remembers them.
#[derive(Debug, Clone, Default)]
pub(crate) struct CoveredLabels {
    patterns: Arc<[KeyPattern]>,
    /// Whether some patterns are about single nodes.
    by_node: bool,
    /// Whether a label is covered on every node.
    of_all: FxHashMap<Text, bool>,
}

impl CoveredLabels {
    pub(crate) fn new(patterns: Arc<[KeyPattern]>) -> Self {
        let named = |pattern: &KeyPattern| {
            pattern.meets("/tailorbird/v1/node") && pattern.segments().nth(3).is_some_and(|node| node != "*")
        };
        Self { by_node: patterns.iter().any(named), patterns, of_all: FxHashMap::default() }
    }

    /// Whether a label of a node is covered.
    pub(crate) fn cover(&mut self, node: &Name, label: &Text) -> bool {
        let covers = |key: &str| self.patterns.iter().any(|pattern| pattern.covers(key));
        let of_all = match self.of_all.get(label) {
            Some(covered) => *covered,
            None => {
                let covered = covers(&format!("/tailorbird/v1/node/*/labels/{label}"));
                if self.of_all.len() >= NAMES {
                    self.of_all.clear();
                }
                self.of_all.insert(label.clone(), covered);
                covered
            }
        };
        of_all || self.by_node && covers(&node_key(node, &format!("labels/{label}")))
    }
}

/// Writes keys that are published into the view.
pub(super) struct Publisher<'a> {
    pub(super) published: &'a [KeyPattern],
    pub(super) labels: &'a mut CoveredLabels,
    pub(super) view: &'a mut View,
    pub(super) writer: &'a mut ViewWriter,
}

impl Publisher<'_> {
    /// Writes this node's name.
    pub(super) fn this_node(&mut self, name: &Name) {
        self.put(THIS_NODE, Some(&name.shared()));
    }

    /// Writes what differs between two states of a node.
    pub(super) fn node(&mut self, name: &Name, old: Option<&Node>, new: Option<&Node>) {
        if self.published.is_empty() {
            return;
        }
        let none = &Labels::new();
        let [before, after] = [old, new].map(|node| node.map_or(none, |node| &*node.labels));
        for (label, value) in differences(before, after) {
            if self.labels.cover(name, label) {
                self.set(&node_key(name, &format!("labels/{label}")), value);
            }
        }
        let [before, after] = [old, new].map(|node| node.map_or(none, |node| &node.annotations));
        self.mapping(before, after, |key| node_key(name, &format!("annotations/{key}")));
        let cordoned = |node: Option<&Node>| node.is_some_and(|node| node.unschedulable);
        if cordoned(old) != cordoned(new) {
            let value = cordoned(new).then(|| "true".into());
            self.put(&node_key(name, "unschedulable"), value.as_ref());
        }
    }

    /// Writes what differs between two states of a Service.
    pub(super) fn service(
        &mut self,
        (namespace, name): &(Name, Name),
        old: Option<&ServiceFacts>,
        new: Option<&ServiceFacts>,
    ) {
        let none = ServiceFacts::default();
        let (old, new) = (old.unwrap_or(&none), new.unwrap_or(&none));
        let at = |folder: &str, key: &str| service_key(namespace, name, &format!("{folder}/{key}"));
        self.mapping(&old.annotations, &new.annotations, |key| at("annotations", key));
        self.mapping(&old.labels, &new.labels, |key| at("labels", key));
        if old.kind != new.kind {
            self.put(&service_key(namespace, name, "type"), new.kind.map(Into::into).as_ref());
        }
    }

    fn mapping(&mut self, old: &Labels, new: &Labels, at: impl Fn(&str) -> String) {
        for (key, value) in differences(old, new) {
            self.put(&at(key), value);
        }
    }

    /// Sets or removes a key, if it is published.
    fn put(&mut self, key: &str, value: Option<&Arc<str>>) {
        if self.published.iter().any(|pattern| pattern.covers(key)) {
            self.set(key, value);
        }
    }

    /// Sets or removes a key. Text that templates could take for a typed value is left out.
    fn set(&mut self, key: &str, value: Option<&Arc<str>>) {
        let value = value.filter(|value| is_plain(key) && is_plain(value));
        self.writer.put(self.view, key, value.map(|value| &**value));
    }
}

/// The keys whose values differ, with the new value if there is one.
fn differences<'a>(old: &'a Labels, new: &'a Labels) -> impl Iterator<Item = (&'a Text, Option<&'a Text>)> {
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key, None));
    let others = new.iter().filter(|(key, value)| old.get(*key) != Some(*value));
    gone.chain(others.map(|(key, value)| (key, Some(value))))
}
