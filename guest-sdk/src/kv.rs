//! The key/value view of the cluster.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use crate::bindings::host::tailorbird::policy::kv;

/// The most rows of a page.
const LARGEST_PAGE: u32 = 1000;

/// What a plugin can read of the cluster, as it was before any plugin was asked.
///
/// Only keys that are both wanted by the manifest and granted by the operator are there. What a call reads is written down
/// by the host: the call is made again when one of those keys changes, and not before.
///
/// In tests, [`MockKv`](crate::testing::MockKv) is one.
pub trait Kv {
    /// The value of a key.
    fn get(&self, key: &str) -> Option<String>;

    /// The values of several keys, in their order.
    fn get_many(&self, keys: &[String]) -> Vec<Option<String>>;

    /// The keys at or below the path `prefix`, in order of their bytes, from the first one behind `after`. `limit` is 1
    /// to 1000; a greater one is taken for 1000.
    fn page(&self, prefix: &str, after: Option<&str>, limit: u32) -> Page;

    /// The revision that is being rendered. A call that asks for it is made again at every revision: rarely what is
    /// wanted.
    fn revision(&self) -> u64;

    /// What was found out in this call, for the items that follow.
    fn memory(&self) -> &Memory;

    /// All keys at or below the path `prefix`, in order of their bytes.
    fn list(&self, prefix: &str) -> Vec<Row> {
        let Page { mut rows, mut more } = self.page(prefix, None, LARGEST_PAGE);
        while more {
            let next = self.page(prefix, rows.last().map(|row| row.key.as_str()), LARGEST_PAGE);
            // A page without a row cannot have more behind it.
            more = next.more && !next.rows.is_empty();
            rows.extend(next.rows);
        }
        rows
    }
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// A piece of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The rows, in order.
    pub rows: Vec<Row>,
    /// Whether there are rows behind the last one.
    pub more: bool,
}

/// What a policy found out in one call.
///
/// A policy is asked item by item, and what it reads for all of them alike needs to be read, and thought about, only once: the
/// view cannot change during a call. A new call begins with an empty memory, since the host writes down what each one reads.
///
/// ```
/// use tailorbird_guest::Kv;
/// use tailorbird_guest::testing::MockKv;
///
/// struct OwnAs(Option<String>);
///
/// fn own_as(kv: &dyn Kv) -> Option<String> {
///     kv.memory().once(|| OwnAs(kv.get("/calico/bgp/v1/global/as_num"))).0.clone()
/// }
///
/// let kv = MockKv::new().with("/calico/bgp/v1/global/as_num", "64512");
/// assert_eq!(own_as(&kv), own_as(&kv));
/// ```
#[derive(Default)]
pub struct Memory(RefCell<Vec<(TypeId, Rc<dyn Any>)>>);

impl Memory {
    /// The value of a type; it is made when it is first asked for.
    pub fn once<T: 'static>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        let kept = |own: &(TypeId, Rc<dyn Any>)| own.0 == TypeId::of::<T>();
        let known = self.0.borrow().iter().find(|own| kept(own)).map(|own| Rc::clone(&own.1));
        if let Some(Ok(known)) = known.map(Rc::downcast) {
            return known;
        }
        // Not borrowed meanwhile: it may use the memory itself.
        let made = Rc::new(make());
        self.0.borrow_mut().push((TypeId::of::<T>(), made.clone()));
        made
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({})", self.0.borrow().len())
    }
}

/// The host's view during one call.
///
/// Policies are asked item by item and read the same few keys for each; what was read is remembered rather than asked of the
/// host again.
#[derive(Default)]
pub(crate) struct HostKv {
    values: RefCell<Recent<Option<String>>>,
    pages: RefCell<Recent<Page>>,
    memory: Memory,
}

// A call that reads many reads each once, and need not keep them.
const REMEMBERED: usize = 8;

/// The first answers of a call, by key and by what else was asked. Their hashes are compared first.
struct Recent<T>(Vec<(u64, String, T)>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> Recent<T> {
    fn get(&self, hash: u64, key: &str) -> Option<T> {
        let known = self.0.iter().find(|own| own.0 == hash && own.1 == key);
        known.map(|(_, _, value)| value.clone())
    }

    fn add(&mut self, hash: u64, key: &str, value: &T) {
        if self.0.len() < REMEMBERED {
            self.0.push((hash, key.to_owned(), value.clone()));
        }
    }
}

/// A hash that takes eight bytes in a step.
fn hash(text: &str) -> u64 {
    let step = |state: u64, word: u64| (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (words, rest) = text.as_bytes().as_chunks();
    let state = words.iter().fold(text.len() as u64, |state, word| step(state, u64::from_le_bytes(*word)));
    rest.iter().fold(state, |state, byte| step(state, u64::from(*byte)))
}

impl Kv for HostKv {
    fn get(&self, key: &str) -> Option<String> {
        let hash = hash(key);
        if let Some(value) = self.values.borrow().get(hash, key) {
            return value;
        }
        let value = kv::get(key);
        self.values.borrow_mut().add(hash, key, &value);
        value
    }

    fn get_many(&self, keys: &[String]) -> Vec<Option<String>> {
        kv::get_many(keys)
    }

    fn page(&self, prefix: &str, after: Option<&str>, limit: u32) -> Page {
        // Only whole first pages are asked for twice.
        let first = after.is_none() && limit == LARGEST_PAGE;
        let hash = hash(prefix);
        if first && let Some(page) = self.pages.borrow().get(hash, prefix) {
            return page;
        }
        let page = kv::list(prefix, after, limit);
        let rows = page.rows.into_iter().map(|row| Row { key: row.key, value: row.value }).collect();
        let page = Page { rows, more: page.more };
        if first {
            self.pages.borrow_mut().add(hash, prefix, &page);
        }
        page
    }

    fn revision(&self) -> u64 {
        kv::revision()
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_out_is_kept_by_its_type() {
        let memory = Memory::default();
        let outer = memory.once(|| (*memory.once(|| 7_u32) + 1, "made"));
        assert_eq!((outer.0, *memory.once(|| 9_u32)), (8, 7));
        assert_eq!(memory.once(|| (0_u32, "again")).1, "made");
    }

    #[test]
    fn answers_are_told_apart() {
        let mut recent = Recent::default();
        for key in ["/a", "/b", "/a/12345678", "/a/12345679"] {
            recent.add(hash(key), key, &key.len());
        }
        assert_eq!(recent.get(hash("/a/12345679"), "/a/12345679"), Some(11));
        assert_eq!(recent.get(hash("/b"), "/a"), None);
        assert_eq!(recent.get(hash("/c"), "/c"), None);
    }
}
