//! The key/value view of the cluster.

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

/// The host's view.
pub(crate) struct HostKv;

impl Kv for HostKv {
    fn get(&self, key: &str) -> Option<String> {
        kv::get(key)
    }

    fn get_many(&self, keys: &[String]) -> Vec<Option<String>> {
        kv::get_many(keys)
    }

    fn page(&self, prefix: &str, after: Option<&str>, limit: u32) -> Page {
        let page = kv::list(prefix, after, limit);
        let rows = page.rows.into_iter().map(|row| Row { key: row.key, value: row.value }).collect();
        Page { rows, more: page.more }
    }

    fn revision(&self) -> u64 {
        kv::revision()
    }
}
