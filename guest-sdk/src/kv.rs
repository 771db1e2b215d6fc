//! The key/value view of the cluster.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::bindings::host::tailorbird::policy::kv;

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

    /// All keys at or below the path `prefix`, in order of their bytes.
    fn list(&self, prefix: &str) -> Vec<Row> {
        const LARGEST: u32 = 1000;
        let Page { mut rows, mut more } = self.page(prefix, None, LARGEST);
        while more {
            let next = self.page(prefix, rows.last().map(|row| row.key.as_str()), LARGEST);
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

/// What a page of a listing was asked with: path, last key, length.
type Listing = (String, Option<String>, u32);

/// The host's view during one call.
///
/// Policies are asked item by item and read the same few keys for each; the view cannot change meanwhile, so what was read
/// is remembered rather than asked of the host again. A new call starts with nothing: the host writes down what each reads.
#[derive(Default)]
pub(crate) struct HostKv {
    values: RefCell<BTreeMap<String, Option<String>>>,
    pages: RefCell<BTreeMap<Listing, Page>>,
}

// A call that reads many reads each once, and need not keep them.
const REMEMBERED_VALUES: usize = 32;
const REMEMBERED_PAGES: usize = 8;

impl Kv for HostKv {
    fn get(&self, key: &str) -> Option<String> {
        if let Some(value) = self.values.borrow().get(key) {
            return value.clone();
        }
        let value = kv::get(key);
        let mut values = self.values.borrow_mut();
        if values.len() < REMEMBERED_VALUES {
            values.insert(key.to_owned(), value.clone());
        }
        value
    }

    fn get_many(&self, keys: &[String]) -> Vec<Option<String>> {
        kv::get_many(keys)
    }

    fn page(&self, prefix: &str, after: Option<&str>, limit: u32) -> Page {
        let asked = (prefix.to_owned(), after.map(str::to_owned), limit);
        if let Some(page) = self.pages.borrow().get(&asked) {
            return page.clone();
        }
        let page = kv::list(prefix, after, limit);
        let rows = page.rows.into_iter().map(|row| Row { key: row.key, value: row.value }).collect();
        let page = Page { rows, more: page.more };
        let mut pages = self.pages.borrow_mut();
        if pages.len() < REMEMBERED_PAGES {
            pages.insert(asked, page.clone());
        }
        page
    }

    fn revision(&self) -> u64 {
        kv::revision()
    }
}
