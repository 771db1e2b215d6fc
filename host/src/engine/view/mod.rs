//! The key/value view: what is stored, what is made of the cluster when it is asked for, and the revision of each path.

mod facts;
mod made;
mod prefixes;
mod rows;
#[cfg(test)]
mod tests;
mod writer;

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use crate::types::{Family, Password};
use facts::Facts;
use made::{Entries, Entry, Made, Merged};
pub(super) use prefixes::PrefixList;
use prefixes::Prefixes;
use rows::{Row, SecretText};
pub(super) use writer::ViewWriter;

/// The key/value view of the cluster: an ordered tree of text keys to text values, at one revision.
///
/// Keys are paths; `prefix` below means a path, so `/a/b` covers `/a/b` and `/a/b/c` and not `/a/bc`. A clone is
/// cheap and shares all of the tree.
#[derive(Debug, Clone)]
pub struct View {
    rows: OrdSet<Row>,
    /// What templates see of a key, where that is not what all see: the value with its password.
    secrets: OrdMap<Arc<str>, SecretText>,
    facts: Facts,
    /// By list, then by family.
    prefixes: [[Prefixes; 2]; PrefixList::ALL.len()],
    /// For each path that is or was a folder of a key, or was a key, the revision of the last change at or below it. A key
    /// that is there, and the folder of a node's facts, has a revision of its own, and the later counts.
    revisions: OrdSet<Row>,
    /// The revision at which those of paths that hold nothing any more were last forgotten.
    forgotten: u64,
    /// The number of keys that were removed since.
    removed: usize,
}

impl Default for View {
    fn default() -> Self {
        Self {
            rows: OrdSet::new(),
            secrets: OrdMap::new(),
            facts: Facts::default(),
            prefixes: PrefixList::ALL.map(|list| Family::ALL.map(|family| Prefixes::new(list.root(family)))),
            revisions: OrdSet::new(),
            forgotten: 0,
            removed: 0,
        }
    }
}

impl View {
    /// A view of these keys and values at one revision.
    pub fn from_entries<K, V>(revision: u64, entries: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: AsRef<str>,
        V: AsRef<str>,
    {
        let (mut view, mut writer) = (Self::default(), ViewWriter::new(revision));
        for (key, value) in entries {
            writer.put(&mut view, key.as_ref(), Some(value.as_ref()));
        }
        writer.commit(&mut view);
        view
    }

    /// The view of a later revision, at which one key was set or removed: none of those of a
    /// node's facts or of the lists of prefixes, which are not stored.
    pub fn with(&self, revision: u64, key: &str, value: Option<&str>) -> Self {
        let (mut view, mut writer) = (self.clone(), ViewWriter::new(revision));
        writer.put(&mut view, key, value);
        writer.commit(&mut view);
        view
    }

    /// The value of a key, with passwords hidden.
    pub fn get(&self, key: &str) -> Option<Cow<'_, str>> {
        match self.rows.get(key) {
            Some(row) => Some(Cow::Borrowed(row.value())),
            None => self.made_above(key).find_map(|(made, rest)| made.get(rest)).map(Cow::Owned),
        }
    }

    /// The value of a key, with its password if it has one: for templates alone.
    pub fn reveal(&self, key: &str) -> Option<Revealed<'_>> {
        self.get(key).map(|value| self.revealed(key, value))
    }

    /// The keys at or below a path in order, with their values, passwords hidden. `/` and the empty path cover all.
    pub fn list<'a>(&'a self, prefix: &str) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> + use<'a> {
        self.entries(prefix, None)
    }

    /// The same from the first key behind `after`.
    pub fn list_after<'a>(
        &'a self,
        prefix: &str,
        after: Option<&str>,
    ) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> + use<'a> {
        self.entries(prefix, after)
    }

    /// The same with passwords: for templates alone.
    pub fn reveal_list<'a>(
        &'a self,
        prefix: &str,
    ) -> impl Iterator<Item = (Cow<'a, str>, Revealed<'a>)> + use<'a> {
        self.entries(prefix, None).map(|(key, value)| {
            let value = self.revealed(&key, value);
            (key, value)
        })
    }

    fn revealed<'a>(&'a self, key: &str, value: Cow<'a, str>) -> Revealed<'a> {
        match self.secrets.get(key) {
            Some(secret) => Revealed { text: Cow::Borrowed(&secret.text), password: Some(&secret.password) },
            None => Revealed { text: value, password: None },
        }
    }

    /// Nothing is passed over: a listing costs what it finds.
    fn entries<'a>(&'a self, prefix: &str, after: Option<&str>) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        let path = prefix.trim_end_matches('/');
        let itself = if after.is_none_or(|after| after < path) { self.get(path) } else { None };
        let itself = itself.map(|value| (Cow::Owned(path.to_owned()), value));
        // Between a path and what is below it lie others that begin with its name, as `/a-b` between `/a` and `/a/b`.
        let folder = format!("{path}/");
        let from = match after {
            Some(after) if after >= &*folder => Bound::Excluded(after),
            _ => Bound::Included(&*folder),
        };
        let rows = self.rows.range::<_, str>((from, Bound::Unbounded));
        let rows = rows.map(|row| (Cow::Borrowed(row.key()), Cow::Borrowed(row.value())));
        let rows: Entries<'a> = Box::new(rows);
        let made =
            self.made().filter(|made| made.root().starts_with(&folder) || folder.starts_with(made.root()));
        let all = Merged::new(std::iter::once(rows).chain(made.map(|made| made.entries(from))));
        itself.into_iter().chain(all.take_while(move |(key, _)| key.starts_with(&folder)))
    }

    /// The revision of the last change at or below a path. Where nothing is it may be a later one, and is 0 if nothing
    /// ever was.
    pub fn revision_of(&self, prefix: &str) -> u64 {
        let path = prefix.trim_end_matches('/');
        let noted = [self.revisions.get(path), self.rows.get(path)].into_iter().flatten();
        let made = self.made_above(path).filter_map(|(made, rest)| made.revision_of(rest));
        noted.map(|row| row.revision).chain(made).max().unwrap_or(self.forgotten)
    }

    /// The revision of the last change of anything.
    pub fn revision(&self) -> u64 {
        self.revision_of("")
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.rows.len() + self.made().map(Made::count).sum::<usize>()
    }

    /// Whether the view has no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where keys come from that are not stored.
    fn made(&self) -> impl Iterator<Item = &dyn Made> {
        let prefixes = self.prefixes.iter().flatten().map(|prefixes| -> &dyn Made { prefixes });
        std::iter::once(&self.facts as &dyn Made).chain(prefixes)
    }

    /// Where a key or path can come from, if it is not stored, with what stands behind the root there.
    fn made_above<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (&'a dyn Made, &'a str)> {
        self.made().filter_map(|made| Some((made, path.strip_prefix(made.root())?)))
    }
}

/// The value of a key as templates see it.
#[derive(Debug, Clone)]
pub struct Revealed<'a> {
    /// All of it.
    pub text: Cow<'a, str>,
    /// The password in it.
    pub password: Option<&'a Password>,
}
