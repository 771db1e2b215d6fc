//! Where a change of a node matters to the peerings of this one.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{Spec, forget};
use crate::engine::selectors::SelectorId;
use crate::resources::Scope;
use crate::types::Name;

/// The BGPPeers with peerings on this node, by what brings a remote node into them.
#[derive(Debug, Default)]
pub(super) struct Active {
    /// Forward, by `peerSelector`.
    pub(super) forward: FxHashMap<SelectorId, BTreeSet<Name>>,
    /// Reverse, by `nodeSelector`.
    pub(super) reverse: FxHashMap<SelectorId, BTreeSet<Name>>,
    /// Reverse, by `node`.
    pub(super) reverse_of_node: FxHashMap<Name, BTreeSet<Name>>,
    /// Reverse, for every node.
    pub(super) reverse_global: BTreeSet<Name>,
}

impl Active {
    pub(super) fn add(&mut self, name: &Name, spec: &Spec) {
        if let (Some(_), Some(id)) = (spec.forward, spec.remote) {
            self.forward.entry(id).or_default().insert(name.clone());
        }
        if spec.reverse {
            match (&spec.peer.scope, spec.scope) {
                (Scope::Global, _) => drop(self.reverse_global.insert(name.clone())),
                (Scope::Node(node), _) => {
                    self.reverse_of_node.entry(node.clone()).or_default().insert(name.clone());
                }
                (Scope::Selector(_), Some(id)) => {
                    self.reverse.entry(id).or_default().insert(name.clone());
                }
                (Scope::Selector(_), None) => {}
            }
        }
    }

    pub(super) fn remove(&mut self, name: &Name, spec: &Spec) {
        if let Some(id) = spec.remote {
            forget(&mut self.forward, &id, name);
        }
        if let Some(id) = spec.scope {
            forget(&mut self.reverse, &id, name);
        }
        if let Scope::Node(node) = &spec.peer.scope {
            forget(&mut self.reverse_of_node, node, name);
        }
        self.reverse_global.remove(name);
    }
}
