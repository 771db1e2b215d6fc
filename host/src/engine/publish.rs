//! The keys under `/tailorbird/v1`, for policies: facts of nodes and Services that nobody else reads.
//!
//! A key is there only if a pattern of the settings covers it.

use std::sync::Arc;

use super::View;
use super::nodes::Node;
use super::view::ViewWriter;
use crate::resources::{Labels, ServiceFacts, node_key, service_key};
use crate::types::{KeyPattern, Name};

/// The key that holds this node's name.
const THIS_NODE: &str = "/tailorbird/v1/this-node";

/// Writes keys that are published into the view.
pub(super) struct Publisher<'a> {
    pub(super) published: &'a [KeyPattern],
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
        self.mapping(before, after, |label| node_key(name, &format!("labels/{label}")));
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
        for key in old.keys().filter(|key| !new.contains_key(*key)) {
            self.put(&at(key), None);
        }
        for (key, value) in new.iter().filter(|(key, value)| old.get(*key) != Some(*value)) {
            self.put(&at(key), Some(value));
        }
    }

    /// Sets or removes a key, if it is published. Text that templates could take for a typed value is not.
    fn put(&mut self, key: &str, value: Option<&Arc<str>>) {
        if self.published.iter().any(|pattern| pattern.covers(key)) {
            let plain = |text: &str| crate::resources::is_plain(text);
            let value = value.filter(|value| plain(key) && plain(value));
            self.writer.put(self.view, key.into(), value.cloned());
        }
    }
}
