//! The pure core: objects in, snapshots out.
//!
//! It does no I/O, reads no clock and no environment, and has no async. The same objects in any order and any
//! batching give the same snapshot, and the cost of a batch follows what it changes.
//!
//! [`Engine::apply`] takes a batch of events. Each part keeps what it needs to answer "who can this have touched":
//! the selectors by the labels that they mention, the peer engine by selector, address, Secret and filter, the
//! route generator by Service. What several objects can claim (a peering, a route, a block) is kept with all its
//! claims, so the next one is there when the first one goes.

mod base;
mod batch;
mod claims;
mod config;
mod facts;
mod filters;
mod hash;
mod inquiry;
mod keys;
pub mod model;
mod nodes;
mod order;
mod peerings;
mod pools;
mod publish;
mod reports;
mod routes;
mod secrets;
pub mod selector;
mod selectors;
mod sessions;
mod settings;
mod view;
mod writer;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

pub(crate) use batch::{EXCLUDE_LABEL, NoMesh};
pub use facts::Cluster;
pub(crate) use facts::MeshFacts;
pub(crate) use inquiry::{Claimant, PasswordState};
pub use model::{Changes, Collection, CollectionId, FamilyModel, Item, Snapshot};
pub use nodes::Node;
pub(crate) use nodes::Presence;
pub(crate) use peerings::{NoPeering, NotSelected, Pass};
pub(crate) use pools::NoBlock;
pub(crate) use publish::CoveredLabels;
pub use reports::{Report, Severity};
pub(crate) use routes::{Advertised, KeptService, List, NoRange, NotAdvertised, Role, ServiceKey};
pub(crate) use sessions::{NoSession, Own, client_of, session_name, waits_for};
pub use settings::{RouterId, Settings};
pub use view::{Revealed, View};

use crate::resources::{LogSeverity, ObjectError, ObjectKey, Parsed, ServiceFacts, Text};
use crate::types::{Family, Name, Pool};
use config::{Configurations, Effective};
use filters::Filters;
use hash::AddressMap;
use model::Terms;
use nodes::Nodes;
use peerings::{PeeringKey, Peerings};
use pools::{Blocks, Pools};
use reports::Reports;
use routes::{Advertising, Routes};
use secrets::Secrets;
use selectors::Selectors;

/// Something happened to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The object is new, or is now like this; it may be malformed.
    Upsert(Parsed),
    /// The object is gone.
    Delete(ObjectKey),
}

/// Work that the engine did, counted. It is how "the cost follows the change" is kept on any machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Keys of the view whose value changed.
    pub keys_touched: usize,
    /// Evaluations of a selector on a node.
    pub selectors_evaluated: usize,
    /// Peerings and sessions computed.
    pub peers_computed: usize,
    /// Services whose routes were computed.
    pub services_computed: usize,
}

impl std::ops::Sub for Work {
    type Output = Self;

    /// The work since an earlier count.
    fn sub(self, before: Self) -> Self {
        Self {
            keys_touched: self.keys_touched - before.keys_touched,
            selectors_evaluated: self.selectors_evaluated - before.selectors_evaluated,
            peers_computed: self.peers_computed - before.peers_computed,
            services_computed: self.services_computed - before.services_computed,
        }
    }
}

/// The engine of one node. See the module's documentation.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    published_labels: CoveredLabels,
    nodes: Nodes,
    selectors: Selectors,
    configurations: Configurations,
    effective: Effective,
    secrets: Secrets,
    filters: Filters,
    peerings: Peerings,
    placed: AddressMap<PeeringKey, Placed>,
    own: [Option<Own>; 2],
    /// What the mesh's sessions have in common, by family, if the mesh is on.
    mesh: Option<[Option<Arc<Terms>>; 2]>,
    pools: Pools,
    blocks: Blocks,
    routes: Routes,
    advertising: Advertising,
    /// What the view says of Services to policies.
    service_facts: FxHashMap<ServiceKey, ServiceFacts>,
    reports: Reports,
    /// Labels, namespaces and the like.
    texts: Pool,
    work: Work,
    snapshot: Snapshot,
}

/// Where a peering stands in the snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Placed {
    view_key: Option<Arc<str>>,
    session: Option<Arc<str>>,
    gateway: Option<CollectionId>,
}

impl Engine {
    /// An engine that knows no object yet; its snapshot has revision 1 and the configuration's defaults.
    pub fn new(settings: Settings) -> Self {
        let mut reports = Reports::default();
        let configurations = Configurations::default();
        let effective = configurations.effective(&settings, &mut reports);
        let models = Family::ALL.map(|family| FamilyModel {
            base: Arc::new(base::compute(family, &settings, None, &effective, std::iter::empty())),
            base_revision: 0,
            collections: Default::default(),
        });
        let mut engine = Self {
            published_labels: CoveredLabels::new(settings.published.clone()),
            settings,
            nodes: Nodes::default(),
            selectors: Selectors::default(),
            configurations,
            effective,
            secrets: Secrets::default(),
            filters: Filters::default(),
            peerings: Peerings::default(),
            placed: AddressMap::default(),
            own: [None, None],
            mesh: None,
            pools: Pools::default(),
            blocks: Blocks::default(),
            routes: Routes::default(),
            advertising: Advertising::Yes,
            service_facts: FxHashMap::default(),
            reports,
            texts: Pool::default(),
            work: Work::default(),
            snapshot: Snapshot { revision: 0, view: View::default(), models, cluster: Cluster::default() },
        };
        engine.start();
        engine
    }

    /// The current snapshot. A clone of it is cheap and never changes.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The work done since the engine began.
    pub fn work(&self) -> Work {
        self.work
    }

    /// What the operator must know, by object.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.reports.iter()
    }

    /// Why nothing may be rendered now: malformed objects that could open anything if they were left out. Empty
    /// when rendering is allowed.
    pub fn blocking(&self) -> Vec<ObjectError> {
        let configurations = self.configurations.blocking(&self.settings.node);
        let mut errors: Vec<ObjectError> = configurations.chain(self.pools.malformed()).cloned().collect();
        errors.extend(self.mesh_password_error());
        errors
    }

    /// What the node's own or the cluster's BGPConfiguration wants to be logged; none when there is neither.
    pub fn log_severity(&self) -> Option<LogSeverity> {
        self.configurations.log(&self.settings.node)
    }

    /// Whether there is a node of this name.
    pub fn has_node(&self, name: &str) -> bool {
        self.nodes.get(name).is_some()
    }

    /// The names of the Secrets that peers and the mesh refer to; all are in [`Settings::secret_namespace`].
    pub fn secret_names(&self) -> BTreeSet<Name> {
        let mesh = self.effective.mesh_password.as_ref().map(|at| &at.name);
        self.peerings.secrets().chain(mesh).cloned().collect()
    }

    /// The names of all nodes, in order.
    pub fn node_names(&self) -> impl Iterator<Item = &Name> {
        self.nodes.iter().map(|(name, _)| name)
    }

    /// Applies a batch; the snapshot is a new one afterwards if anything changed.
    pub fn apply(&mut self, batch: impl IntoIterator<Item = Event>) -> Changes {
        let mut open = self.batch();
        batch.into_iter().for_each(|event| open.push(event));
        open.finish()
    }

    /// Begins a batch whose events come one by one, so that nobody need hold them all.
    pub fn batch(&mut self) -> Batch<'_> {
        Batch { engine: self, dirty: batch::Dirty::default() }
    }
}

/// A batch that is being collected. Its events take effect in [`Batch::finish`], and not without it.
#[derive(Debug)]
#[must_use]
pub struct Batch<'a> {
    engine: &'a mut Engine,
    dirty: batch::Dirty,
}

impl Batch<'_> {
    /// Takes an event.
    pub fn push(&mut self, event: Event) {
        self.engine.take(event, &mut self.dirty);
    }

    /// Ends the batch: everything that its events can have touched is computed, once.
    pub fn finish(self) -> Changes {
        self.engine.settle(self.dirty)
    }
}

/// Texts of routes that may differ.
type Texts = BTreeSet<Text>;
