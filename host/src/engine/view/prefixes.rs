//! Folders whose keys are prefixes, each with itself as its value.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;

use super::made::{Changed, Entries, Made, Removed, behind};
use crate::types::Family;

/// A list of prefixes in the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum PrefixList {
    /// Those that this node originates.
    Routes,
    /// Those that never enter the kernel.
    Rejects,
}

impl PrefixList {
    /// All of them.
    pub(super) const ALL: [PrefixList; 2] = [PrefixList::Routes, PrefixList::Rejects];

    /// What the keys of a family begin with.
    pub(super) fn root(self, family: Family) -> &'static str {
        match (self, family) {
            (Self::Routes, Family::V4) => "/calico/staticroutes/",
            (Self::Routes, Family::V6) => "/calico/staticroutesv6/",
            (Self::Rejects, Family::V4) => "/calico/rejectcidrs/",
            (Self::Rejects, Family::V6) => "/calico/rejectcidrsv6/",
        }
    }
}

/// The prefixes of one folder.
#[derive(Debug, Clone)]
pub(super) struct Prefixes {
    root: &'static str,
    /// The prefixes as [`Prefix::key`](crate::types::Prefix::key) tells them, a text that others have too, and the revision
    /// at which each came.
    known: OrdMap<Arc<str>, u64>,
}

impl Prefixes {
    pub(super) fn new(root: &'static str) -> Self {
        Self { root, known: OrdMap::new() }
    }

    /// Adds or removes a prefix.
    pub(super) fn set(&mut self, key: &Arc<str>, there: bool, revision: u64) -> Changed {
        let mut changed = Changed::default();
        if there && !self.known.contains_key(key) {
            self.known.insert(key.clone(), revision);
            changed.written = 1;
        } else if !there && let Some(since) = self.known.remove(key) {
            let key = [self.root, key].concat();
            changed.removed.push(Removed { key, was_written: since == revision });
        }
        changed
    }
}

impl Made for Prefixes {
    fn root(&self) -> &'static str {
        self.root
    }

    fn count(&self) -> usize {
        self.known.len()
    }

    fn get(&self, rest: &str) -> Option<String> {
        self.known.contains_key(rest).then(|| value(rest))
    }

    fn revision_of(&self, rest: &str) -> Option<u64> {
        self.known.get(rest).copied()
    }

    fn entries(&self, from: Bound<&str>) -> Entries<'_> {
        let Some(from) = behind(self.root, from) else { return Box::new(std::iter::empty()) };
        let known = self.known.range::<_, str>((from, Bound::Unbounded));
        Box::new(known.map(|(key, _)| (Cow::Owned([self.root, key].concat()), Cow::Owned(value(key)))))
    }
}

/// The prefix that a key stands for.
fn value(key: &str) -> String {
    key.replace('-', "/")
}
