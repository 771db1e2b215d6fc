//! How a batch changes the view.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::made::Changed;
use super::rows::{Row, SecretText};
use super::{PrefixList, View};
use crate::engine::keys;
use crate::engine::nodes::Node;
use crate::types::{Family, Name, Password};

/// The least number of removed keys whose revisions are worth forgetting.
pub(super) const REMOVED: usize = 1024;

/// Writes the changes of one batch, which make one revision, and the revisions of folders once at its end.
#[derive(Debug)]
pub(in crate::engine) struct ViewWriter {
    revision: u64,
    /// What was written.
    written: Vec<Row>,
    /// Keys that were removed, or are said to be others although their value may be the same.
    marked: FxHashSet<Arc<str>>,
    /// The number of keys that are not stored and were written.
    made: usize,
    /// What those begin with.
    roots: BTreeSet<&'static str>,
}

impl ViewWriter {
    /// A writer of the changes that lead to a revision. It must be later than all of the view.
    pub(in crate::engine) fn new(revision: u64) -> Self {
        Self { revision, written: Vec::new(), marked: FxHashSet::default(), made: 0, roots: BTreeSet::new() }
    }

    /// Sets or removes a key; returns whether that changed anything. It is none of those of a node's facts or of a list of
    /// prefixes, which are not stored.
    pub(in crate::engine) fn put(&mut self, view: &mut View, key: &str, value: Option<&str>) -> bool {
        match value {
            Some(value) => self.write(view, key, value, None),
            None => self.remove(view, key),
        }
    }

    /// Sets a key whose value holds a password.
    pub(in crate::engine) fn put_secret(
        &mut self,
        view: &mut View,
        key: &str,
        hidden: &str,
        full: Arc<str>,
        password: Password,
    ) -> bool {
        self.write(view, key, hidden, Some(SecretText { text: full, password }))
    }

    /// Takes what a node is now, or that it is gone: its facts are keys.
    pub(in crate::engine) fn set_node(&mut self, view: &mut View, name: &Name, node: Option<Arc<Node>>) {
        let changed = view.facts.set(name, node, self.revision);
        self.note(view, keys::HOST, changed);
    }

    /// Adds a prefix to a list, by its [key](crate::types::Prefix::key), or removes it.
    pub(in crate::engine) fn set_prefix(
        &mut self,
        view: &mut View,
        list: PrefixList,
        family: Family,
        key: &Arc<str>,
        there: bool,
    ) {
        let changed = view.prefixes[list as usize][family.index()].set(key, there, self.revision);
        self.note(view, list.root(family), changed);
    }

    /// Notes what changed of keys that are not stored.
    fn note(&mut self, view: &mut View, root: &'static str, changed: Changed) {
        if changed.written > 0 {
            self.made += changed.written;
            self.roots.insert(root);
        }
        for removed in changed.removed {
            self.made -= usize::from(removed.was_written);
            view.removed += 1;
            self.touch(&removed.key);
        }
    }

    /// Marks a key as changed although its value may be the same.
    pub(in crate::engine) fn touch(&mut self, key: &str) {
        self.marked.insert(key.into());
    }

    fn remove(&mut self, view: &mut View, key: &str) -> bool {
        debug_assert!(view.made_at(key).is_none(), "{key} is not stored");
        let removed = view.rows.remove(key).is_some();
        if removed {
            view.secrets.remove(key);
            view.removed += 1;
            self.touch(key);
        }
        removed
    }

    fn write(&mut self, view: &mut View, key: &str, value: &str, secret: Option<SecretText>) -> bool {
        debug_assert!(view.made_at(key).is_none(), "{key} is not stored");
        let old = view.rows.get(key);
        if old.is_some_and(|old| old.value() == value && view.secrets.get(key) == secret.as_ref()) {
            return false;
        }
        let row = Row::new(key, value, self.revision);
        // What was written in this batch before is known.
        if old.is_none_or(|old| old.revision != self.revision) {
            self.written.push(row.clone());
        }
        view.rows.insert(row);
        match secret {
            Some(secret) => drop(view.secrets.insert(key.into(), secret)),
            None => drop(view.secrets.remove(key)),
        }
        true
    }

    /// Whether anything changed.
    pub(in crate::engine) fn is_dirty(&self) -> bool {
        !self.written.is_empty() || !self.marked.is_empty() || self.made > 0
    }

    /// Writes the revisions of what changed, where they are not written yet; returns the number of keys.
    pub(in crate::engine) fn commit(self, view: &mut View) -> usize {
        let Self { revision, written, marked, made, roots } = self;
        let roots: Vec<Arc<str>> = roots.into_iter().map(Arc::from).collect();
        let mut folders: FxHashMap<&str, &Arc<str>> = FxHashMap::default();
        for row in &written {
            add_folders(row.text(), row.key(), &mut folders);
        }
        for text in marked.iter().chain(&roots) {
            add_folders(text, text, &mut folders);
        }
        for (path, text) in folders {
            view.revisions.insert(Row::path(text, path, revision));
        }
        // What was removed and written again counts once.
        let stored = written.iter().filter(|row| !marked.contains(row.key())).count();
        let mut keys = stored + made + marked.len();
        for key in marked {
            if let Some(mut row) = view.rows.get(&*key).cloned() {
                row.revision = revision;
                view.rows.insert(row);
            } else if view.made_at(&key) == Some(revision) {
                keys -= 1;
            } else {
                view.revisions.insert(Row::path(&key, &key, revision));
            }
        }
        if view.removed >= REMOVED.max(view.len()) {
            forget(view, revision);
        }
        keys
    }
}

impl View {
    /// The revision at which a key that is not stored got its value, if it is there.
    fn made_at(&self, key: &str) -> Option<u64> {
        let (made, rest) = self.made_above(key).find(|(made, rest)| made.get(rest).is_some())?;
        made.revision_of(rest)
    }

    /// Whether any key that is not stored is at or below a path.
    fn makes(&self, path: &str) -> bool {
        let is_above = |root: &'static str| root.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        self.made().any(|made| made.count() > 0 && is_above(made.root()))
            || self.made_above(path).any(|(made, rest)| made.revision_of(rest).is_some())
    }
}

/// Adds the folders of a key that a text begins with, all of them above one that is known.
fn add_folders<'a>(text: &'a Arc<str>, key: &'a str, known: &mut FxHashMap<&'a str, &'a Arc<str>>) {
    let mut path = key;
    while let Some(at) = path.rfind('/') {
        path = &path[..at];
        if known.insert(path, text).is_some() {
            break;
        }
    }
}

/// Forgets the revisions of paths that hold nothing, so that they take no room for ever; who asks for one gets this
/// revision, which costs another look and no change that is missed.
fn forget(view: &mut View, revision: u64) {
    let mut there: FxHashMap<&str, &Arc<str>> = FxHashMap::default();
    for row in &view.rows {
        add_folders(row.text(), row.key(), &mut there);
        // What a key held below it may be gone, and when it went still counts.
        there.insert(row.key(), row.text());
    }
    let kept = view.revisions.iter().filter_map(|path| match there.get(path.key()) {
        Some(text) => Some(Row::path(text, path.key(), path.revision)),
        None => view.makes(path.key()).then(|| Row::new(path.key(), "", path.revision)),
    });
    view.revisions = kept.collect();
    (view.forgotten, view.removed) = (revision, 0);
}
