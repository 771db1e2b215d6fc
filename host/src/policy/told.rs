//! What plugins said of one session or one route, for whoever explains it.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::advertise::{COLLECTIONS, Decision};
use super::ledger::Verdict;
use super::select::Fate;
use super::{Facts, ItemKey, Overlay, peer};
use crate::bird::PluginFunction;
use crate::engine::{CollectionId, Snapshot};
use crate::types::{ClusterId, Family};

/// What the plugins said when they were asked about one revision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'a> {
    overlay: &'a Overlay,
    /// What it came to.
    pub(crate) snapshot: &'a Snapshot,
}

/// What became of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionSaid {
    /// It is no more.
    Dropped,
    /// It is no more, because the plugin failed and what it is asked about fails closed.
    DroppedByFailure,
    /// These fields are others.
    Changed(Vec<String>),
    /// It is there because of the plugin.
    Added,
    /// It calls functions made of the plugin's rules; their symbols.
    Rules {
        /// The one on import.
        import: Option<String>,
        /// The one on export.
        export: Option<String>,
    },
    /// It takes and sends nothing, because the plugin failed.
    ClosedByFailure,
}

/// What becomes of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RouteSaid {
    /// It is not originated. For a block: it goes to nobody.
    Rejected,
    /// The same, because the plugin failed.
    RejectedByFailure,
    /// It gets these attributes, and goes only there if that is said.
    Changed { attributes: Vec<String>, to: Option<Vec<String>> },
}

impl Overlay {
    /// What was said about a revision of the engine's snapshot; none if plugins were not asked about that one, or some
    /// failed without which nothing may be rendered.
    pub(crate) fn told(&self, revision: u64) -> Option<Told<'_>> {
        let last = self.last.as_ref().filter(|last| last.from == revision)?;
        Some(Told { overlay: self, snapshot: &last.snapshot })
    }
}

impl<'a> Told<'a> {
    fn name(&self, place: usize) -> &'a str {
        self.overlay.facts.get(place).map_or("", |facts: &Facts| &*facts.name)
    }

    /// The sessions with an address that plugins had a say in, each with the plugin and what it said, in the order in
    /// which they were asked.
    pub(crate) fn of_address(&self, ip: IpAddr) -> Vec<(String, &'a str, SessionSaid)> {
        let family = Family::of(ip);
        let mut said = Vec::new();
        let mut names: BTreeSet<&'a str> = BTreeSet::new();
        for (place, selection) in &self.overlay.state.selections {
            for (key, fate) in selection.fates_at(family, ip) {
                names.insert(key);
                let what = match fate {
                    Fate::Kept => continue,
                    Fate::Dropped if selection.failed() => SessionSaid::DroppedByFailure,
                    Fate::Dropped => SessionSaid::Dropped,
                    Fate::Changed(fields) => SessionSaid::Changed(fields),
                    Fate::Added => SessionSaid::Added,
                };
                said.push((key.to_owned(), self.name(*place), what));
            }
        }
        let left = self.snapshot.model(family).collection(CollectionId::Peers);
        let left = left.items.iter().filter(|(_, item)| peer(item).is_some_and(|peer| peer.ip == ip));
        names.extend(left.map(|(key, _)| &**key));
        for (place, ruling) in &self.overlay.state.rulings {
            for name in &names {
                let key: ItemKey = (family, CollectionId::Peers, (*name).into());
                let symbol = |function: &PluginFunction| {
                    function.call.function.as_ref().map(|symbol| symbol.as_str().to_owned())
                };
                let what = match ruling.ledger.get(&key) {
                    None => continue,
                    Some(Verdict::Closed) => SessionSaid::ClosedByFailure,
                    Some(Verdict::Said(ruled)) => SessionSaid::Rules {
                        import: ruled.import.as_deref().and_then(symbol),
                        export: ruled.export.as_deref().and_then(symbol),
                    },
                };
                said.push(((*name).to_owned(), self.name(*place), what));
            }
        }
        said
    }

    /// What plugins said of a route or block, by its key.
    pub(crate) fn of_route(&self, family: Family, id: CollectionId, key: &str) -> Vec<(&'a str, RouteSaid)> {
        debug_assert!(COLLECTIONS.contains(&id));
        let key: ItemKey = (family, id, key.into());
        let said = self.overlay.state.advertising.iter().filter_map(|(place, advertising)| {
            let what = match advertising.ledger.get(&key)? {
                Verdict::Closed => RouteSaid::RejectedByFailure,
                Verdict::Said(decision) if decision.reject => RouteSaid::Rejected,
                Verdict::Said(decision) => changed(decision),
            };
            Some((self.name(*place), what))
        });
        said.collect()
    }

    /// This node's cluster id, if a plugin chose it, and which one.
    pub(crate) fn cluster_id(&self) -> Option<(&'a str, Option<ClusterId>)> {
        let mut selections = self.overlay.state.selections.iter().rev();
        selections.find_map(|(place, selection)| Some((self.name(*place), selection.cluster_id.chosen()?)))
    }
}

fn changed(decision: &Decision) -> RouteSaid {
    let communities =
        decision.communities.iter().map(|community| format!("community {}", community.to_api()));
    let priority = decision.priority.map(|priority| format!("priority {}", priority.get()));
    let to = decision.to.as_ref().map(|to| to.iter().map(ToString::to_string).collect());
    RouteSaid::Changed { attributes: communities.chain(priority).collect(), to }
}
