use std::sync::Arc;

use imbl::shared_ptr::DefaultSharedPtr;
use imbl::{GenericHashMap, OrdMap};
use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::types::Password;

/// A value of the view.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// What everyone may see.
    value: Arc<str>,
    /// What templates see, when it is not the same: the value with its password.
    secret: Option<SecretText>,
}

/// A text that does not print itself.
#[derive(Clone, PartialEq, Eq)]
struct SecretText(Arc<str>);

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(Password::HIDDEN)
    }
}

/// The key/value view of the cluster: an ordered tree of text keys to text values, at one revision.
///
/// Keys are paths; `prefix` below means a path, so `/a/b` covers `/a/b` and `/a/b/c` and not `/a/bc`. A clone is
/// cheap and shares all of the tree.
#[derive(Debug, Clone, Default)]
pub struct View {
    entries: OrdMap<Arc<str>, Entry>,
    /// For each path that is or was a key, or a folder of one, the revision of the last change at or below it.
    revisions: GenericHashMap<Arc<str>, u64, FxBuildHasher, DefaultSharedPtr>,
}

impl View {
    /// A view of these keys and values at one revision.
    pub fn from_entries<K, V>(revision: u64, entries: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<Arc<str>>,
        V: Into<Arc<str>>,
    {
        let (mut view, mut writer) = (Self::default(), ViewWriter::default());
        for (key, value) in entries {
            writer.put(&mut view, key.into(), Some(value.into()));
        }
        writer.commit(&mut view, revision);
        view
    }

    /// The view of a later revision, at which one key was set or removed.
    pub fn with(&self, revision: u64, key: &str, value: Option<&str>) -> Self {
        let (mut view, mut writer) = (self.clone(), ViewWriter::default());
        writer.put(&mut view, key.into(), value.map(Into::into));
        writer.commit(&mut view, revision);
        view
    }

    /// The value of a key, with passwords hidden.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(|entry| &*entry.value)
    }

    /// The value of a key, with its password if it has one: for templates alone.
    pub fn reveal(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(|entry| entry.secret.as_ref().map_or(&*entry.value, |secret| &*secret.0))
    }

    /// The keys at or below a path in order, with their values, passwords hidden. `/` and the empty path cover all.
    pub fn list<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.range(prefix).map(|(key, entry)| (&**key, &*entry.value))
    }

    /// The same from the first key behind `after`.
    pub fn list_after<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        let prefix = prefix.trim_end_matches('/');
        let from: Arc<str> = after.filter(|after| *after > prefix).unwrap_or(prefix).into();
        self.entries
            .range(from..)
            .skip_while(move |(key, _)| after.is_some_and(|after| ***key <= *after))
            .take_while(move |(key, _)| key.starts_with(prefix))
            .filter(move |(key, _)| covers(prefix, key))
            .map(|(key, entry)| (&**key, &*entry.value))
    }

    /// The same with passwords: for templates alone.
    pub fn reveal_list<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.range(prefix)
            .map(|(key, entry)| (&**key, entry.secret.as_ref().map_or(&*entry.value, |secret| &*secret.0)))
    }

    fn range<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a Arc<str>, &'a Entry)> + 'a {
        let prefix = prefix.trim_end_matches('/');
        let from: Arc<str> = prefix.into();
        self.entries
            .range(from..)
            .take_while(move |(key, _)| key.starts_with(prefix))
            .filter(move |(key, _)| covers(prefix, key))
    }

    /// The revision of the last change at or below a path; 0 when there never was any.
    pub fn revision_of(&self, prefix: &str) -> u64 {
        self.revisions.get(prefix.trim_end_matches('/')).copied().unwrap_or(0)
    }

    /// The revision of the last change of anything.
    pub fn revision(&self) -> u64 {
        self.revision_of("")
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the view has no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Whether a path (without a final slash) is the key or a folder of it.
fn covers(prefix: &str, key: &str) -> bool {
    key.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Collects the changes of one batch and writes the revisions of folders once.
#[derive(Debug, Default)]
pub(super) struct ViewWriter {
    touched: FxHashSet<Arc<str>>,
}

impl ViewWriter {
    /// Sets or removes a key; returns whether that changed anything.
    pub(super) fn put(&mut self, view: &mut View, key: Arc<str>, value: Option<Arc<str>>) -> bool {
        self.write(view, key, value.map(|value| Entry { value, secret: None }))
    }

    /// Sets a key whose value holds a password.
    pub(super) fn put_secret(
        &mut self,
        view: &mut View,
        key: Arc<str>,
        hidden: Arc<str>,
        full: Arc<str>,
    ) -> bool {
        self.write(view, key, Some(Entry { value: hidden, secret: Some(SecretText(full)) }))
    }

    /// Marks a key as changed although its value may be the same.
    pub(super) fn touch(&mut self, key: Arc<str>) {
        self.touched.insert(key);
    }

    fn write(&mut self, view: &mut View, key: Arc<str>, entry: Option<Entry>) -> bool {
        let changed = match entry {
            Some(entry) if view.entries.get(&key) == Some(&entry) => false,
            Some(entry) => {
                view.entries.insert(key.clone(), entry);
                true
            }
            None => view.entries.remove(&key).is_some(),
        };
        if changed {
            self.touched.insert(key);
        }
        changed
    }

    /// Whether anything changed.
    pub(super) fn is_dirty(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Writes the revision of every key that changed, and of its folders; returns the number of keys.
    pub(super) fn commit(self, view: &mut View, revision: u64) -> usize {
        let mut folders: FxHashSet<&str> = FxHashSet::default();
        for key in &self.touched {
            let mut path = &**key;
            while let Some(at) = path.rfind('/') {
                path = &path[..at];
                if !folders.insert(path) {
                    break;
                }
            }
        }
        for path in folders {
            match view.revisions.get_mut(path) {
                Some(at) => *at = revision,
                None => drop(view.revisions.insert(path.into(), revision)),
            }
        }
        let keys = self.touched.len();
        for key in self.touched {
            view.revisions.insert(key, revision);
        }
        keys
    }
}
