use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::engine::View;
use crate::plugin::contract::{filter, peers};
use crate::types::KeyPattern;

/// Plugins, in the operator's order, during one rendering.
pub trait Plugins {
    /// What is known of each.
    fn facts(&self) -> &[Facts];

    /// Asks a plugin, by its place in [`Plugins::facts`], which peerings there are to be.
    ///
    /// # Errors
    /// The plugin trapped, went over a limit, refused, or is in quarantine.
    fn select(&mut self, plugin: usize, request: &peers::Request) -> Result<Asked<peers::Answer>, CallError>;

    /// Asks a plugin what becomes of routes.
    ///
    /// # Errors
    /// As [`Plugins::select`].
    fn advertise(
        &mut self,
        plugin: usize,
        request: &filter::AdvertiseRequest,
    ) -> Result<Asked<filter::AdvertiseAnswer>, CallError>;

    /// Asks a plugin for the rules of sessions.
    ///
    /// # Errors
    /// As [`Plugins::select`].
    fn rules(
        &mut self,
        plugin: usize,
        request: &filter::RulesRequest,
    ) -> Result<Asked<filter::RulesAnswer>, CallError>;
}

/// Functions that plugins bring for templates, during one rendering.
pub trait FunctionCalls: Send {
    /// Calls a function by the place of its plugin and its own place there.
    ///
    /// # Errors
    /// The arguments do not fit, the function refused, or its plugin failed.
    fn call(&mut self, plugin: usize, index: usize, arguments: &[&Value]) -> Result<Asked<Value>, CallError>;
}

/// What the overlay must know of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The name, unique among the plugins.
    pub name: Arc<str>,
    /// What tells this plugin from another one in its place: its bytes, settings, rights and limits. Answers that are
    /// kept belong to one identity.
    pub identity: u64,
    /// Whether it exports `peers`.
    pub peers: bool,
    /// Whether it exports `filter`.
    pub filter: bool,
    /// What happens when it fails.
    pub on_error: OnError,
    /// Where its rules stand.
    pub placement: Placement,
    /// The keys that it may read.
    pub rights: Rights,
}

/// What happens when a plugin fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The rendering is abandoned; the last good files stay.
    #[default]
    Keep,
    /// What it was asked about fails closed: candidates are dropped, routes are not originated, sessions refuse every route.
    Reject,
    /// It is as if the plugin had not been asked.
    Skip,
}

/// Where a plugin's rules stand among a peer's own BGPFilters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Before them.
    #[default]
    Before,
    /// Behind them: only routes that they let through, and did not accept, come to it.
    After,
}

/// The keys that a plugin may read: what its manifest wants and the operator grants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Rights(pub Arc<[KeyPattern]>);

impl Rights {
    /// Whether a key may be read.
    pub fn allow(&self, key: &str) -> bool {
        self.0.iter().any(|pattern| pattern.covers(key))
    }

    /// Whether anything at or below a path may be read.
    pub fn meet(&self, path: &str) -> bool {
        self.0.iter().any(|pattern| pattern.meets(path))
    }
}

/// An answer, and what of the view it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<T> {
    /// The answer as the plugin gave it; nothing of it has been checked.
    pub answer: T,
    /// What was read.
    pub reads: Reads,
}

/// The keys and paths that calls read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// Keys, there or not.
    pub keys: BTreeSet<Arc<str>>,
    /// Paths that were listed.
    pub paths: BTreeSet<Arc<str>>,
    /// The revision itself: such an answer is never kept.
    pub revision: bool,
}

impl Reads {
    /// The most keys and paths that are remembered.
    pub(crate) const MOST: usize = 65_536;

    /// These keys and paths, in any order; each may stand more than once.
    pub(crate) fn of(keys: Vec<Arc<str>>, paths: Vec<Arc<str>>, revision: bool) -> Self {
        let mut reads =
            Self { keys: keys.into_iter().collect(), paths: paths.into_iter().collect(), revision };
        reads.bound();
        reads
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.paths.is_empty() && !self.revision
    }

    /// Adds what other calls read.
    pub fn extend(&mut self, other: Reads) {
        self.keys.extend(other.keys);
        self.paths.extend(other.paths);
        self.revision |= other.revision;
        self.bound();
    }

    /// What reads very much depends on everything, which takes no room.
    fn bound(&mut self) {
        if self.keys.len() + self.paths.len() > Self::MOST {
            (self.keys, self.paths, self.revision) = (BTreeSet::new(), BTreeSet::new(), true);
        }
    }

    /// Whether anything that was read may be another than at a revision of the view.
    pub fn changed_since(&self, revision: u64, view: &View) -> bool {
        self.revision || any_changed(&self.keys, revision, view) || any_changed(&self.paths, revision, view)
    }
}

/// Whether any of some paths changed. What lies in a folder that did not is passed over as a whole, so that a change
/// elsewhere costs little however much was read.
fn any_changed(paths: &BTreeSet<Arc<str>>, since: u64, view: &View) -> bool {
    let mut next = paths.first();
    while let Some(path) = next {
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]).chain([&**path]);
        let Some(folder) = { folders }.find(|folder| view.revision_of(folder) <= since) else { return true };
        // The character behind `/` is `0`: no path in the folder is as great as that.
        let end = if folder.len() < path.len() { format!("{folder}0") } else { format!("{path}\0") };
        next = paths.range::<str, _>((Bound::Included(&*end), Bound::Unbounded)).next();
    }
    false
}

/// Why a plugin gave no answer that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin {plugin}: {call}: {cause}")]
pub struct CallError {
    /// The plugin.
    pub plugin: Arc<str>,
    /// The call, as `peers.select`.
    pub call: &'static str,
    /// What went wrong: the guest's own message first.
    pub cause: String,
}
