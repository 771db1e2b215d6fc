use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::{Kv, Memory, Page, Row};

/// A view of the cluster for tests, as one call has it. It writes down what is read.
///
/// ```
/// use tailorbird_guest::Kv;
/// use tailorbird_guest::testing::MockKv;
///
/// let kv = MockKv::new().with("/calico/bgp/v1/global/as_num", "64512");
/// assert_eq!(kv.get("/calico/bgp/v1/global/as_num").as_deref(), Some("64512"));
/// assert!(kv.reads().keys.contains("/calico/bgp/v1/global/as_num"));
/// ```
#[derive(Debug, Default)]
pub struct MockKv {
    rows: BTreeMap<String, String>,
    revision: u64,
    wants: Option<&'static [&'static str]>,
    reads: RefCell<Reads>,
    memory: Memory,
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// Keys, there or not.
    pub keys: BTreeSet<String>,
    /// Paths that were listed.
    pub paths: BTreeSet<String>,
    /// The revision itself.
    pub revision: bool,
}

impl MockKv {
    /// A view without a key.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a key.
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.rows.insert(key.into(), value.into());
        Self { memory: Memory::default(), ..self }
    }

    /// At a revision; it is 0 otherwise.
    pub fn at_revision(self, revision: u64) -> Self {
        Self { revision, ..self }
    }

    /// Shows only what a manifest wants, as the host does: `.granted(MANIFEST.wants)`.
    pub fn granted(self, wants: &'static [&'static str]) -> Self {
        Self { wants: Some(wants), ..self }
    }

    /// What was read until now.
    pub fn reads(&self) -> Reads {
        self.reads.borrow().clone()
    }

    fn shows(&self, key: &str) -> bool {
        self.wants.is_none_or(|wants| wants.iter().any(|pattern| covers(pattern, key)))
    }
}

fn covers(pattern: &str, key: &str) -> bool {
    let mut key = key.split('/');
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    pattern.split('/').all(|wanted| key.next().is_some_and(|segment| wanted == "*" || wanted == segment))
}

impl Kv for MockKv {
    fn get(&self, key: &str) -> Option<String> {
        self.reads.borrow_mut().keys.insert(key.to_owned());
        self.rows.get(key).filter(|_| self.shows(key)).cloned()
    }

    fn get_many(&self, keys: &[String]) -> Vec<Option<String>> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    fn page(&self, prefix: &str, after: Option<&str>, limit: u32) -> Page {
        self.reads.borrow_mut().paths.insert(prefix.to_owned());
        let limit = limit.clamp(1, 1000) as usize;
        let path = prefix.trim_end_matches('/');
        let below =
            |key: &str| key.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let mut rows = self
            .rows
            .iter()
            .filter(|(key, _)| {
                below(key) && self.shows(key) && after.is_none_or(|after| key.as_str() > after)
            })
            .map(|(key, value)| Row { key: key.clone(), value: value.clone() });
        let page: Vec<Row> = rows.by_ref().take(limit).collect();
        Page { rows: page, more: rows.next().is_some() }
    }

    fn revision(&self) -> u64 {
        self.reads.borrow_mut().revision = true;
        self.revision
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_goes_by_pages_and_by_segments() {
        let mut kv = MockKv::new().with("/b", "no").with("/ab/0", "no").with("/a", "own");
        for index in 0..2500 {
            kv = kv.with(format!("/a/{index:04}"), "row");
        }
        let rows = kv.list("/a/");
        assert_eq!((rows.len(), rows[0].key.as_str(), rows[2500].key.as_str()), (2501, "/a", "/a/2499"));
        assert!(kv.list("/nothing").is_empty());
        assert!(kv.page("/a", Some("/a/2498"), 1) == Page { rows: vec![rows[2500].clone()], more: false });
    }

    #[test]
    fn what_is_not_wanted_is_not_there() {
        let kv = MockKv::new()
            .with("/node/a/labels/x", "1")
            .with("/node/a/secret", "2")
            .granted(&["/node/*/labels"]);
        assert_eq!(kv.get("/node/a/labels/x").as_deref(), Some("1"));
        assert_eq!(kv.get("/node/a/secret"), None);
        assert_eq!(kv.list("/node").len(), 1);
        assert!(kv.reads().keys.contains("/node/a/secret") && kv.reads().paths.contains("/node"));
    }
}
