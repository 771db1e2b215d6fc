//! Keys that are not stored, but made of something else when they are asked for.

use std::borrow::Cow;
use std::iter::Peekable;
use std::ops::Bound;

/// A key and its value.
pub(super) type Entry<'a> = (Cow<'a, str>, Cow<'a, str>);

/// Keys and values, by key.
pub(super) type Entries<'a> = Box<dyn Iterator<Item = Entry<'a>> + 'a>;

/// Keys that are made of something else. `rest` below is what stands behind the root in a key or path.
pub(super) trait Made {
    /// What all the keys begin with: a path and a slash.
    fn root(&self) -> &'static str;

    /// The number of keys.
    fn count(&self) -> usize;

    /// The value of a key.
    fn get(&self, rest: &str) -> Option<String>;

    /// The last revision at which a key at or below a path got the value that it has; none if there is no key.
    fn revision_of(&self, rest: &str) -> Option<u64>;

    /// All keys from one on, whole, with their values.
    fn entries(&self, from: Bound<&str>) -> Entries<'_>;
}

/// What changed of keys that are made.
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// The number of keys that got another value, and had not got one at this revision before.
    pub(super) written: usize,
    pub(super) removed: Vec<Removed>,
}

/// A key that was removed.
#[derive(Debug)]
pub(super) struct Removed {
    pub(super) key: String,
    /// Whether it got its last value at this revision.
    pub(super) was_written: bool,
}

/// Where keys are to begin, without the root; none if all keys below the root are less than that.
pub(super) fn behind<'a>(root: &str, from: Bound<&'a str>) -> Option<Bound<&'a str>> {
    let (Bound::Included(key) | Bound::Excluded(key)) = from else { return Some(Bound::Unbounded) };
    match key.strip_prefix(root) {
        Some(rest) => Some(from.map(|_| rest)),
        None if key < root => Some(Bound::Unbounded),
        None => None,
    }
}

/// Several in one order.
pub(super) struct Merged<'a>(Vec<Peekable<Entries<'a>>>);

impl<'a> Merged<'a> {
    pub(super) fn new(sources: impl Iterator<Item = Entries<'a>>) -> Self {
        Self(sources.map(Iterator::peekable).collect())
    }
}

impl<'a> Iterator for Merged<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        if let [only] = &mut self.0[..] {
            return only.next();
        }
        let sources = self.0.iter_mut().enumerate();
        let nexts = sources.filter_map(|(at, source)| source.peek().map(|(key, _)| (key, at)));
        let (_, at) = nexts.min()?;
        self.0[at].next()
    }
}
