use std::collections::BTreeMap;

use serde::Deserialize;
use tailorbird_guest::Community;

use crate::wish::{MOST, Wish, destination};

/// The settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    pub(crate) annotations: bool,
    pub(crate) communities_of: Option<Vec<u32>>,
    pub(crate) namespaces: BTreeMap<String, NamespaceForm>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { annotations: true, communities_of: None, namespaces: BTreeMap::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NamespaceForm {
    advertise: bool,
    communities: Vec<Community>,
    peers: Option<Vec<String>>,
}

impl Default for NamespaceForm {
    fn default() -> Self {
        Self { advertise: true, communities: Vec::new(), peers: None }
    }
}

impl NamespaceForm {
    /// What the operator wants of the routes of a namespace.
    pub(crate) fn wish(self) -> Result<Wish, String> {
        for (name, length) in
            [("communities", self.communities.len()), ("peers", self.peers.as_ref().map_or(0, Vec::len))]
        {
            if length > MOST {
                return Err(format!("`{name}` has {length} items, and at most {MOST} are possible"));
            }
        }
        let peer = |text: String| destination(&text).map_err(|error| format!("`peers`: `{text}` is {error}"));
        let peers = self.peers.map(|peers| peers.into_iter().map(peer).collect()).transpose()?;
        Ok(Wish { advertise: self.advertise, communities: self.communities.into_iter().collect(), peers })
    }
}
