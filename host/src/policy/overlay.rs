use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::advertise::{self, Advertising, Decision};
use super::ledger::Ledger;
use super::originated::Originated;
use super::rules::{Ruled, Ruling};
use super::select::Selection;
use super::sessions::{Common, Sessions};
use super::{CallError, Facts, ItemKey, Items, OnError, Plugins, differences};
use crate::engine::model::{Base, ThisNode};
use crate::engine::{Changes, CollectionId, FamilyModel, Snapshot};
use crate::types::{ClusterId, Family};

/// What plugins make of the snapshots of one engine.
///
/// It keeps what they said, and asks again only about what is another. A clone is a way to try other plugins out: the
/// original stays as it is.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    pub(super) facts: Vec<Facts>,
    pub(super) state: State,
    pub(super) last: Option<Last>,
}

/// All that depends on which plugins there are.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// By the place of the plugin.
    pub(super) selections: BTreeMap<usize, Selection>,
    pub(super) advertising: BTreeMap<usize, Advertising>,
    pub(super) rulings: BTreeMap<usize, Ruling>,
    sessions: Sessions,
    originated: Originated,
    /// Sessions and routes of which something else was said since they were computed.
    dirty_sessions: BTreeSet<ItemKey>,
    dirty_routes: BTreeSet<ItemKey>,
}

/// What was derived last.
#[derive(Debug, Clone)]
pub(super) struct Last {
    /// The revision of the engine's snapshot, and that of the last change of its view.
    pub(super) from: u64,
    view: u64,
    pub(super) snapshot: Snapshot,
    /// Every plugin did its part, so that the same again is the same.
    whole: bool,
    /// Plugins had a part in it, or in one before it.
    plugins: bool,
}

/// What plugins made of a snapshot.
#[derive(Debug, Clone)]
pub struct Derived {
    /// The snapshot: the engine's view, and the models as plugins left them. Its revision is the overlay's own.
    pub snapshot: Snapshot,
    /// What differs from the snapshot that was derived before.
    pub changes: Changes,
    /// The plugins that failed and whose failure is no reason to stop, by `on_error`.
    pub errors: Vec<CallError>,
}

/// Why nothing was derived: plugins failed without which nothing may be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abandoned {
    /// What failed; also what would not have been reason enough.
    pub errors: Vec<CallError>,
}

impl fmt::Display for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.errors.iter().enumerate() {
            write!(f, "{}{error}", if at == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Abandoned {}

impl Overlay {
    /// An overlay that has asked nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the plugins what is to be another about a snapshot. `changes` are those that led to it.
    ///
    /// An overlay belongs to one engine: revisions of another mean nothing to it. Without plugins the snapshot and the
    /// changes are what they were.
    ///
    /// # Errors
    /// A plugin failed whose `on_error` is `keep`. What was derived last still holds, and the next call asks again.
    pub fn derive(
        &mut self,
        snapshot: &Snapshot,
        changes: Changes,
        plugins: &mut dyn Plugins,
    ) -> Result<Derived, Abandoned> {
        let had_plugins = self.last.as_ref().is_some_and(|last| last.plugins);
        if plugins.facts().is_empty() && !had_plugins {
            let last = Last {
                from: snapshot.revision,
                view: view_revision(snapshot),
                snapshot: snapshot.clone(),
                whole: true,
                plugins: false,
            };
            self.last = Some(last);
            return Ok(Derived { snapshot: snapshot.clone(), changes, errors: Vec::new() });
        }
        let known = self.facts == plugins.facts();
        let newer = self.last.as_ref().is_none_or(|last| last.from <= snapshot.revision);
        if !known || !newer {
            self.facts = plugins.facts().to_vec();
            self.state = State::default();
            if let Some(last) = &mut self.last {
                last.whole = false;
            }
        }
        if let Some(last) = &self.last
            && last.whole
            && last.plugins
            && last.from == snapshot.revision
        {
            let revision = last.snapshot.revision;
            let changes = Changes { from: revision, to: revision, ..Changes::default() };
            return Ok(Derived { snapshot: last.snapshot.clone(), changes, errors: Vec::new() });
        }
        let errors = self.state.update(&self.facts, snapshot, plugins)?;
        let (derived, changes) = self.publish(snapshot);
        let last = Last {
            from: snapshot.revision,
            view: view_revision(snapshot),
            snapshot: derived.clone(),
            whole: errors.is_empty(),
            plugins: true,
        };
        self.last = Some(last);
        Ok(Derived { snapshot: derived, changes, errors })
    }

    /// The snapshot as it is now, with a revision that tells it from the last one if it is another.
    fn publish(&self, engine: &Snapshot) -> (Snapshot, Changes) {
        let last = self.last.as_ref().map(|last| &last.snapshot);
        let revision = last.map_or(engine.revision, |last| last.revision + 1);
        let from = last.map_or(0, |last| last.revision);
        let mut items: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let mut different = self
            .last
            .as_ref()
            .is_none_or(|last| last.view != view_revision(engine) || last.from > engine.revision);
        let cluster_id = self.state.cluster_id();
        let models = Family::ALL.map(|family| {
            let (model, old) = (engine.model(family), last.map(|last| last.model(family)));
            let mut base = model.base.clone();
            if let Some(id) = cluster_id {
                base = chosen_base(&base, id, engine);
            }
            let same_base = old.is_some_and(|old| Arc::ptr_eq(&old.base, &base) || *old.base == *base);
            different |= !same_base;
            let collections = CollectionId::ALL.map(|id| {
                let mut collection = model.collection(id).clone();
                if let Some(items) = self.state.items(family, id) {
                    collection.items = items.clone();
                }
                let none = Items::new();
                let before = old.map_or(&none, |old| &old.collection(id).items);
                let keys: BTreeSet<_> =
                    differences(before, &collection.items).map(|(key, ..)| key.clone()).collect();
                collection.revision = match old {
                    Some(old) if keys.is_empty() => old.collection(id).revision,
                    _ => revision,
                };
                if !keys.is_empty() {
                    items.insert((family, id), keys);
                }
                collection
            });
            FamilyModel {
                base_revision: match old {
                    Some(old) if same_base => old.base_revision,
                    _ => revision,
                },
                base,
                collections,
            }
        });
        different |= !items.is_empty();
        let revision = if different { revision } else { from };
        let derived =
            Snapshot { revision, view: engine.view.clone(), models, cluster: engine.cluster.clone() };
        (derived, Changes { from, to: revision, items })
    }
}

impl State {
    /// Asks all plugins, and computes what follows. What failed and is no reason to stop is returned.
    fn update(
        &mut self,
        facts: &[Facts],
        snapshot: &Snapshot,
        plugins: &mut dyn Plugins,
    ) -> Result<Vec<CallError>, Abandoned> {
        let mut failures = Failures::default();
        let mut sessions =
            Family::ALL.map(|family| snapshot.model(family).collection(CollectionId::Peers).items.clone());
        for (place, facts) in facts.iter().enumerate().filter(|(_, facts)| facts.peers) {
            let selection = self.selections.entry(place).or_default();
            if !failures.note(facts, selection.update(place, facts, snapshot, &sessions, plugins)) {
                // What the next one would be asked is not known.
                break;
            }
            sessions = selection.out.clone();
        }
        let known_sessions = !failures.abandon;
        let origins = advertise::origins(snapshot);
        for (place, facts) in facts.iter().enumerate().filter(|(_, facts)| facts.filter) {
            let advertising = self.advertising.entry(place).or_default();
            let dirty = &mut self.dirty_routes;
            failures.note(facts, advertising.update(place, facts, snapshot, &origins, plugins, dirty));
            if known_sessions {
                let ruling = self.rulings.entry(place).or_default();
                let dirty = &mut self.dirty_sessions;
                failures.note(facts, ruling.update(place, facts, snapshot, &sessions, plugins, dirty));
            }
        }
        let errors = failures.outcome()?;

        let ledgers: Vec<&Ledger<Decision>> = self.advertising.values().map(|a| &a.ledger).collect();
        self.originated.update(&origins, &sessions, &ledgers, &mut self.dirty_routes);
        let rulings: Vec<(&Facts, &Ledger<Ruled>)> =
            self.rulings.iter().map(|(place, ruling)| (&facts[*place], &ruling.ledger)).collect();
        let common = Common {
            cluster_id: self.cluster_id(),
            policies: Family::ALL.map(|family| !self.originated.policies[family.index()].is_empty()),
        };
        self.sessions.update(&sessions, &rulings, common, &mut self.dirty_sessions);
        for family in Family::ALL {
            let filters = &snapshot.model(family).collection(CollectionId::Filters).items;
            self.sessions.update_filters(filters, family);
        }
        Ok(errors)
    }

    /// This node's cluster id, if a plugin chose it: the last one that did.
    fn cluster_id(&self) -> Option<Option<ClusterId>> {
        self.selections.values().rev().find_map(|selection| selection.cluster_id.chosen())
    }

    /// The items of a collection that plugins can change.
    fn items(&self, family: Family, id: CollectionId) -> Option<&Items> {
        let at = family.index();
        match id {
            CollectionId::Peers => Some(&self.sessions.out[at]),
            CollectionId::Filters => Some(&self.sessions.filters_out[at]),
            CollectionId::Routes => Some(&self.originated.routes[at]),
            CollectionId::RoutePolicies => Some(&self.originated.policies[at]),
            _ => None,
        }
    }
}

/// The failures of one round.
#[derive(Debug, Default)]
struct Failures {
    errors: Vec<CallError>,
    abandon: bool,
}

impl Failures {
    /// Notes a failure, if it is one; tells whether to go on with what depends on it.
    fn note(&mut self, facts: &Facts, outcome: Result<(), CallError>) -> bool {
        let Err(error) = outcome else { return true };
        self.errors.push(error);
        let go_on = facts.on_error != OnError::Keep;
        self.abandon |= !go_on;
        go_on
    }

    fn outcome(self) -> Result<Vec<CallError>, Abandoned> {
        if self.abandon { Err(Abandoned { errors: self.errors }) } else { Ok(self.errors) }
    }
}

/// The revision of the last change of a snapshot's view.
fn view_revision(snapshot: &Snapshot) -> u64 {
    snapshot.view.revision_of("/")
}

/// A model's base with another cluster id of this node.
fn chosen_base(base: &Arc<Base>, id: Option<ClusterId>, engine: &Snapshot) -> Arc<Base> {
    if base.node.cluster_id == id {
        return base.clone();
    }
    let reflected = match id {
        Some(_) => engine.cluster.reflectable[base.family.index()].to_vec(),
        None => Vec::new(),
    };
    let node = ThisNode { cluster_id: id, ..base.node.clone() };
    Arc::new(Base { node, reflected, ..(**base).clone() })
}
