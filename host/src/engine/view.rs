use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::types::Password;

/// A key of the view and what it holds, or a path at the beginning of a key. There are a hundred thousand in a large cluster, so each is one text, and what few
/// have is apart.
#[derive(Debug, Clone)]
struct Row {
    /// The key, and the value that everyone may see behind it.
    text: Arc<str>,
    /// Where the value begins.
    value: usize,
    /// The revision of the last change.
    revision: u64,
}

impl Row {
    fn new(key: &str, value: &str, revision: u64) -> Self {
        Self { text: [key, value].concat().into(), value: key.len(), revision }
    }

    /// What stands for a path that is the beginning of a text; the text is shared.
    fn path(text: &Arc<str>, path: &str, revision: u64) -> Self {
        Self { text: text.clone(), value: path.len(), revision }
    }

    fn key(&self) -> &str {
        &self.text[..self.value]
    }

    fn value(&self) -> &str {
        &self.text[self.value..]
    }
}

/// Rows are told apart by their keys alone.
impl Ord for Row {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(other.key())
    }
}

impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Row {}

impl Borrow<str> for Row {
    fn borrow(&self) -> &str {
        self.key()
    }
}

/// A text with a password, which does not print itself.
#[derive(Clone, PartialEq, Eq)]
struct SecretText {
    text: Arc<str>,
    password: Password,
}

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
    rows: OrdSet<Row>,
    /// What templates see of a key, where that is not what all see: the value with its password.
    secrets: OrdMap<Arc<str>, SecretText>,
    /// For each path that is or was a folder of a key, or was a key, the revision of the last change at or below it. A key
    /// that is there has its own in its row.
    revisions: OrdSet<Row>,
    /// The revision at which those of paths that hold nothing any more were last forgotten.
    forgotten: u64,
    /// The number of keys that were removed since.
    removed: usize,
}

/// The least number of removed keys whose revisions are worth forgetting.
const REMOVED: usize = 1024;

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

    /// The view of a later revision, at which one key was set or removed.
    pub fn with(&self, revision: u64, key: &str, value: Option<&str>) -> Self {
        let (mut view, mut writer) = (self.clone(), ViewWriter::new(revision));
        writer.put(&mut view, key, value);
        writer.commit(&mut view);
        view
    }

    /// The value of a key, with passwords hidden.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.rows.get(key).map(Row::value)
    }

    /// The value of a key, with its password if it has one: for templates alone.
    pub fn reveal(&self, key: &str) -> Option<Revealed<'_>> {
        self.rows.get(key).map(|row| self.revealed(row))
    }

    /// The keys at or below a path in order, with their values, passwords hidden. `/` and the empty path cover all.
    pub fn list<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.range(prefix).map(|row| (row.key(), row.value()))
    }

    /// The same from the first key behind `after`.
    pub fn list_after<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.range_after(prefix, after).map(|row| (row.key(), row.value()))
    }

    /// The same with passwords: for templates alone.
    pub fn reveal_list<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, Revealed<'a>)> + 'a {
        self.range(prefix).map(|row| (row.key(), self.revealed(row)))
    }

    fn revealed<'a>(&'a self, row: &'a Row) -> Revealed<'a> {
        match self.secrets.get(row.key()) {
            Some(secret) => Revealed { text: &secret.text, password: Some(&secret.password) },
            None => Revealed { text: row.value(), password: None },
        }
    }

    fn range<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Row> + 'a {
        self.range_after(prefix, None)
    }

    /// Nothing is passed over: a listing costs what it finds.
    fn range_after<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Row> + 'a {
        let prefix = prefix.trim_end_matches('/');
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let is_below = move |key: &str| {
            key.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut near = self.rows.range::<_, str>((from, Bound::Unbounded)).peekable();
        let itself = near.next_if(|row| row.key() == prefix);
        // Between a path and what is below it lie others that begin with its name, as `/a-b` between `/a` and `/a/b`.
        let beside = near.peek().is_some_and(|row| row.key().starts_with(prefix) && !is_below(row.key()));
        let far = beside.then(|| {
            let folder = format!("{prefix}/");
            let from = match after.filter(|after| **after >= *folder) {
                Some(after) => Bound::Excluded(after),
                None => Bound::Included(folder.as_str()),
            };
            self.rows.range::<_, str>((from, Bound::Unbounded))
        });
        let near = near.take(if beside { 0 } else { usize::MAX });
        let below = near.chain(far.into_iter().flatten());
        itself.into_iter().chain(below.take_while(move |row| is_below(row.key())))
    }

    /// The revision of the last change at or below a path. Where nothing is it may be a later one, and is 0 if nothing
    /// ever was.
    pub fn revision_of(&self, prefix: &str) -> u64 {
        let path = prefix.trim_end_matches('/');
        // Where a folder is a key too, this knows of both.
        let below = self.revisions.get(path).map(|row| row.revision);
        let known = below.or_else(|| self.rows.get(path).map(|row| row.revision));
        known.unwrap_or(self.forgotten)
    }

    /// The revision of the last change of anything.
    pub fn revision(&self) -> u64 {
        self.revision_of("")
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether the view has no key.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The value of a key as templates see it.
#[derive(Debug, Clone, Copy)]
pub struct Revealed<'a> {
    /// All of it.
    pub text: &'a str,
    /// The password in it.
    pub password: Option<&'a Password>,
}

/// Writes the changes of one batch, which make one revision, and the revisions of folders once at its end.
#[derive(Debug)]
pub(super) struct ViewWriter {
    revision: u64,
    /// What was written.
    written: Vec<Row>,
    /// Keys that were removed, or are said to be others although their value may be the same.
    marked: FxHashSet<Arc<str>>,
}

impl ViewWriter {
    /// A writer of the changes that lead to a revision. It must be later than all of the view.
    pub(super) fn new(revision: u64) -> Self {
        Self { revision, written: Vec::new(), marked: FxHashSet::default() }
    }

    /// Sets or removes a key; returns whether that changed anything.
    pub(super) fn put(&mut self, view: &mut View, key: &str, value: Option<&str>) -> bool {
        match value {
            Some(value) => self.write(view, key, value, None),
            None => self.remove(view, key),
        }
    }

    /// Sets a key whose value holds a password.
    pub(super) fn put_secret(
        &mut self,
        view: &mut View,
        key: &str,
        hidden: &str,
        full: Arc<str>,
        password: Password,
    ) -> bool {
        self.write(view, key, hidden, Some(SecretText { text: full, password }))
    }

    /// Marks a key as changed although its value may be the same.
    pub(super) fn touch(&mut self, key: &str) {
        self.marked.insert(key.into());
    }

    fn remove(&mut self, view: &mut View, key: &str) -> bool {
        let removed = view.rows.remove(key).is_some();
        if removed {
            view.secrets.remove(key);
            view.removed += 1;
            self.touch(key);
        }
        removed
    }

    fn write(&mut self, view: &mut View, key: &str, value: &str, secret: Option<SecretText>) -> bool {
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
    pub(super) fn is_dirty(&self) -> bool {
        !self.written.is_empty() || !self.marked.is_empty()
    }

    /// Writes the revisions of what changed, where they are not written yet; returns the number of keys.
    pub(super) fn commit(self, view: &mut View) -> usize {
        let Self { revision, written, marked } = self;
        // Where a folder is a key too, it must know; of those that can be one, the fewer are looked at.
        let both: Vec<Row> = if written.len() < view.revisions.len() {
            written.iter().filter(|row| view.revisions.contains(row.key())).cloned().collect()
        } else {
            let is_written = |path: &Row| view.rows.get(path).is_some_and(|row| row.revision == revision);
            view.revisions.iter().filter(|path| is_written(path)).cloned().collect()
        };
        let mut folders: FxHashMap<&str, &Arc<str>> = FxHashMap::default();
        for row in &written {
            add_folders(&row.text, row.key(), &mut folders);
        }
        for key in &marked {
            add_folders(key, key, &mut folders);
        }
        let folders = folders.into_iter().map(|(path, text)| Row::path(text, path, revision));
        for path in folders.chain(both.into_iter().map(|path| Row { revision, ..path })) {
            view.revisions.insert(path);
        }
        // What was removed and written again counts once.
        let keys = written.iter().filter(|row| !marked.contains(row.key())).count() + marked.len();
        for key in marked {
            let row = view.rows.get(&*key).map(|row| Row { revision, ..row.clone() });
            if row.is_none() || view.revisions.contains(&*key) {
                view.revisions.insert(Row::path(&key, &key, revision));
            }
            if let Some(row) = row {
                view.rows.insert(row);
            }
        }
        if view.removed >= REMOVED.max(view.rows.len()) {
            forget(view, revision);
        }
        keys
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
        add_folders(&row.text, row.key(), &mut there);
        // What a key held below it may be gone, and when it went still counts.
        there.insert(row.key(), &row.text);
    }
    let kept = view.revisions.iter().filter_map(|path| {
        let text = there.get(path.key())?;
        Some(Row::path(text, path.key(), path.revision))
    });
    view.revisions = kept.collect();
    (view.forgotten, view.removed) = (revision, 0);
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn keys<'a>(rows: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<&'a str> {
        rows.map(|(key, _)| key).collect()
    }

    #[test]
    fn a_listing_has_the_path_and_what_is_below_it_from_where_it_is_asked_on() {
        let all = ["/a", "/a-b", "/a/b", "/a/b/c", "/a/c", "/ab/c"];
        let view = View::from_entries(1, all.map(|key| (key, "")));
        let below = ["/a", "/a/b", "/a/b/c", "/a/c"];
        assert_eq!(keys(view.list("/a")), below);
        assert_eq!(keys(view.list("/a/")), below);
        assert_eq!(keys(view.list("/")), all);
        assert_eq!(keys(view.list("")), all);
        assert_eq!(keys(view.list("/a/b/c")), ["/a/b/c"]);
        assert_eq!(keys(view.list("/none")), [] as [&str; 0]);
        for after in ["", "/a", "/a-b", "/a/b", "/a/b/z", "/a/c", "/z"] {
            let rest: Vec<_> = below.into_iter().filter(|key| *key > after).collect();
            assert_eq!(keys(view.list_after("/a", Some(after))), rest, "{after}");
        }
    }

    #[test]
    fn paths_that_came_and_went_take_no_room_and_a_change_of_one_is_still_seen() {
        let mut view = View::from_entries(1, [("/stays/x", "")]);
        let mut revision = 1;
        let mut most = 0;
        for number in 0..10 * REMOVED {
            let key = format!("/node/{number}/address");
            for value in [Some("v"), None] {
                let before = view.revision_of(&key);
                revision += 1;
                view = view.with(revision, &key, value);
                assert!(view.revision_of(&key) > before, "{key}");
            }
            most = most.max(view.revisions.len());
        }
        assert!(most <= 3 * REMOVED, "{most}");
        assert_eq!((view.revision_of("/stays/x"), view.revision_of("/")), (1, revision));
    }

    #[test]
    fn a_password_is_there_for_templates_alone_and_as_long_as_its_value() {
        const KEY: &str = "/peer";
        enum Step {
            Secret(&'static str),
            Plain,
            Gone,
            Touched,
        }
        let steps = [
            (Step::Secret("one"), true, Some("one")),
            (Step::Secret("one"), false, Some("one")),
            // Only the password is another.
            (Step::Secret("two"), true, Some("two")),
            (Step::Touched, true, Some("two")),
            (Step::Plain, true, None),
            (Step::Plain, false, None),
            (Step::Secret("two"), true, Some("two")),
            (Step::Gone, true, None),
            (Step::Gone, false, None),
            // What was there before does not come back.
            (Step::Plain, true, None),
        ];
        let mut view = View::default();
        for (revision, (step, changes, expected)) in (1..).zip(steps) {
            let before = view.revision();
            let mut writer = ViewWriter::new(revision);
            match step {
                Step::Secret(password) => {
                    let full = format!("with {password}").into();
                    let password = password.parse().expect("a password");
                    writer.put_secret(&mut view, KEY, "shown", full, password);
                }
                Step::Plain => drop(writer.put(&mut view, KEY, Some("shown"))),
                Step::Gone => drop(writer.put(&mut view, KEY, None)),
                Step::Touched => writer.touch(KEY),
            }
            assert_eq!(writer.is_dirty(), changes, "{revision}");
            writer.commit(&mut view);
            assert_eq!(view.revision(), if changes { revision } else { before }, "{revision}");
            let revealed = view.reveal(KEY);
            let password =
                revealed.and_then(|value| value.password).map(|password| password.reveal().to_owned());
            assert_eq!(password.as_deref(), expected, "{revision}");
            let text = expected.map_or("shown".to_owned(), |password| format!("with {password}"));
            assert!(revealed.is_none_or(|value| value.text == text), "{revision}");
            assert!(view.get(KEY).is_none_or(|value| value == "shown"), "{revision}");
            assert!(!format!("{view:?}").contains("with "), "{revision}");
        }
    }

    /// What was put or removed at a revision.
    type Batch<'a> = (u64, Vec<(&'a str, Option<&'a str>)>);

    /// What is known of each path after some batches, told anew from all that happened.
    fn told(path: &str, history: &[Batch<'_>]) -> u64 {
        let mut there: BTreeMap<&str, &str> = BTreeMap::new();
        let mut last = 0;
        for (revision, batch) in history {
            for (key, value) in batch {
                let differs = match value {
                    Some(value) => there.insert(key, value) != Some(value),
                    None => there.remove(key).is_some(),
                };
                let below = *key == path || key.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
                if differs && below {
                    last = *revision;
                }
            }
        }
        last
    }

    proptest! {
        #[test]
        fn a_path_has_the_revision_of_the_last_change_at_or_below_it(
            batches in proptest::collection::vec(
                proptest::collection::vec((0_usize..7, proptest::option::of(0_usize..2)), 1..12),
                1..12,
            ),
        ) {
            // Some are folders of others.
            const KEYS: [&str; 7] = ["/a", "/a/b", "/a/b/c", "/a/c", "/a-b", "/b/c", "/b"];
            let (mut view, mut history) = (View::default(), Vec::new());
            for (at, batch) in batches.into_iter().enumerate() {
                let revision = at as u64 + 1;
                let batch: Vec<(&str, Option<&str>)> =
                    batch.into_iter().map(|(key, value)| (KEYS[key], value.map(|value| ["x", "y"][value]))).collect();
                let mut writer = ViewWriter::new(revision);
                let before: BTreeSet<String> = view.rows.iter().map(|row| row.key().to_owned()).collect();
                let mut touched = BTreeSet::new();
                for (key, value) in &batch {
                    if writer.put(&mut view, key, *value) {
                        touched.insert(*key);
                    }
                }
                prop_assert_eq!(writer.is_dirty(), !touched.is_empty());
                prop_assert_eq!(writer.commit(&mut view), touched.len(), "{:?} {:?}", before, batch);
                history.push((revision, batch));
                for path in KEYS.into_iter().chain(["", "/a/b/c/d"]) {
                    prop_assert_eq!(view.revision_of(path), told(path, &history), "{}: {:?}", path, history);
                }
            }
        }
    }
}
