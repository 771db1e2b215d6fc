//! What is measured, for Prometheus.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::status::{BirdStatus, Status, unready};
use crate::engine::{CollectionId, Item};
use crate::pipeline::Rendered;
use crate::types::Family as IpFamily;

macro_rules! labels {
    ($($name:ident { $($field:ident),* })*) => {
        $(#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
        struct $name { $($field: String),* })*
    };
}

labels! {
    ByPhase { phase }
    ByGroup { group }
    ByStep { group, step }
    BySource { source }
    ByPlugin { plugin }
    ByKind { kind, severity }
    ByPeer { family, kind }
    ByFamily { family }
    ByBird { bird }
    BySession { bird, state }
}

type Seconds = Gauge<f64, AtomicU64>;

/// All metrics of the daemon.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    rounds: Counter,
    abandoned: Counter,
    phases: Family<ByPhase, Histogram>,
    latency: Histogram,
    rendered_revision: Gauge,
    written_revision: Family<ByGroup, Gauge>,
    loaded_revision: Family<ByGroup, Gauge>,
    in_force: Family<ByGroup, Gauge>,
    held: Family<ByGroup, Gauge>,
    failures: Family<ByStep, Counter>,
    in_sync: Family<BySource, Gauge>,
    lost: Family<BySource, Counter>,
    plugin_calls: Family<ByPlugin, Gauge>,
    plugin_fuel: Family<ByPlugin, Gauge>,
    plugin_failures: Family<ByPlugin, Gauge>,
    objects: Family<ByKind, Gauge>,
    peers: Family<ByPeer, Gauge>,
    routes: Family<ByFamily, Gauge>,
    birds: Family<ByBird, Gauge>,
    sessions: Family<BySession, Gauge>,
    oldest: Seconds,
    ready: Gauge,
    /// When the oldest change came that is not in force.
    waiting: Mutex<Option<Instant>>,
    /// Since when the rounds have been busy with one thing.
    busy: Mutex<Option<Instant>>,
    /// Held while several samples change together, so that nobody reads half of them.
    whole: Mutex<()>,
}

fn histogram() -> Histogram {
    // From 0.1 ms to 30 s.
    Histogram::new([0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Metrics with nothing in them.
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("tailorbird"),
            rounds: Counter::default(),
            abandoned: Counter::default(),
            phases: Family::new_with_constructor(histogram),
            latency: histogram(),
            rendered_revision: Gauge::default(),
            written_revision: Family::default(),
            loaded_revision: Family::default(),
            in_force: Family::default(),
            held: Family::default(),
            failures: Family::default(),
            in_sync: Family::default(),
            lost: Family::default(),
            plugin_calls: Family::default(),
            plugin_fuel: Family::default(),
            plugin_failures: Family::default(),
            objects: Family::default(),
            peers: Family::default(),
            routes: Family::default(),
            birds: Family::default(),
            sessions: Family::default(),
            oldest: Seconds::default(),
            ready: Gauge::default(),
            waiting: Mutex::new(None),
            busy: Mutex::new(None),
            whole: Mutex::new(()),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let r = &mut self.registry;
        r.register("rounds", "Renderings", self.rounds.clone());
        r.register("rounds_abandoned", "Renderings that a plugin's failure stopped", self.abandoned.clone());
        r.register_with_unit("phase", "Time of each phase of a round", Unit::Seconds, self.phases.clone());
        r.register_with_unit(
            "change",
            "Time from a change to the end of the round that took it",
            Unit::Seconds,
            self.latency.clone(),
        );
        r.register("rendered_revision", "Revision that was rendered last", self.rendered_revision.clone());
        r.register("written_revision", "Revision whose files are in place", self.written_revision.clone());
        r.register("loaded_revision", "Revision that BIRD has taken", self.loaded_revision.clone());
        r.register("group_in_force", "Whether the files of a group are in force", self.in_force.clone());
        r.register("group_held", "Whether the guard holds a removal", self.held.clone());
        r.register("group_failures", "Attempts that failed, by step", self.failures.clone());
        r.register("source_in_sync", "Whether all that a source has is known", self.in_sync.clone());
        r.register("source_lost", "How often a source could not be followed", self.lost.clone());
        r.register("plugin_calls", "Calls of a plugin since the start", self.plugin_calls.clone());
        r.register("plugin_fuel", "Fuel that a plugin used since the start", self.plugin_fuel.clone());
        r.register("plugin_failures", "Failures of a plugin since the start", self.plugin_failures.clone());
        r.register("object_reports", "Objects that are left out or have no effect", self.objects.clone());
        r.register("peers", "Sessions that were rendered", self.peers.clone());
        r.register("routes", "Routes that this node originates", self.routes.clone());
        r.register("bird_up", "Whether BIRD answered the last probe", self.birds.clone());
        r.register("bird_sessions", "BGP sessions of BIRD by state", self.sessions.clone());
        r.register_with_unit(
            "oldest_change_age",
            "Age of the oldest change that is not in force",
            Unit::Seconds,
            self.oldest.clone(),
        );
        r.register("ready", "Whether everything is in sync and in force", self.ready.clone());
    }

    /// The text for a scraper.
    pub fn text(&self) -> String {
        let _whole = self.whole();
        let waiting = *self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.oldest.set(waiting.map_or(0.0, |since| since.elapsed().as_secs_f64()));
        let mut text = String::new();
        // Writing into a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    fn whole(&self) -> MutexGuard<'_, ()> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rounds begin something, or wait.
    pub(super) fn busy(&self, busy: bool) {
        *self.busy.lock().unwrap_or_else(PoisonError::into_inner) = busy.then(Instant::now);
    }

    /// How long the rounds have been busy with one thing; nothing while they wait.
    pub fn busy_for(&self) -> Duration {
        let since = *self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    pub(super) fn round(&self, latency: Option<Duration>) {
        self.rounds.inc();
        if let Some(latency) = latency {
            self.latency.observe(latency.as_secs_f64());
        }
    }

    pub(super) fn abandoned(&self) {
        self.abandoned.inc();
    }

    pub(super) fn lost(&self, source: &str) {
        self.lost.get_or_create(&BySource { source: source.to_owned() }).inc();
    }

    fn phase(&self, phase: &str, took: Duration) {
        self.phases.get_or_create(&ByPhase { phase: phase.to_owned() }).observe(took.as_secs_f64());
    }

    pub(super) fn rendered(&self, rendered: &Rendered) {
        let _whole = self.whole();
        self.phase("policy", rendered.policy_time);
        self.phase("render", rendered.render_time);
        self.rendered_revision.set(signed(rendered.snapshot.revision));
        self.peers.clear();
        for family in IpFamily::ALL {
            let model = rendered.snapshot.model(family);
            let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
            for item in model.collection(CollectionId::Peers).items.values() {
                if let Item::Peer(peer) = &**item {
                    *kinds.entry(peer.kind).or_default() += 1;
                }
            }
            for (kind, peers) in kinds {
                let labels = ByPeer { family: family.to_string(), kind: kind.to_owned() };
                self.peers.get_or_create(&labels).set(signed(peers));
            }
            let routes = model.collection(CollectionId::Routes).items.len();
            self.routes.get_or_create(&ByFamily { family: family.to_string() }).set(signed(routes as u64));
        }
    }

    pub(super) fn applied(&self, group: &str, took: Duration) {
        self.phase("apply", took);
        self.in_force.get_or_create(&ByGroup { group: group.to_owned() }).set(1);
    }

    pub(super) fn failed(&self, group: &str, step: &str) {
        self.failures.get_or_create(&ByStep { group: group.to_owned(), step: step.to_owned() }).inc();
    }

    pub(super) fn birds(&self, birds: &[BirdStatus]) {
        let _whole = self.whole();
        self.birds.clear();
        self.sessions.clear();
        for bird in birds {
            self.birds.get_or_create(&ByBird { bird: bird.group.clone() }).set(bird.up.into());
            for session in &bird.sessions {
                let labels = BySession { bird: bird.group.clone(), state: session.state.clone() };
                self.sessions.get_or_create(&labels).inc();
            }
        }
    }

    pub(super) fn status(&self, status: &Status, waiting: Option<Instant>) {
        let _whole = self.whole();
        for source in &status.sources {
            let labels = BySource { source: source.name.clone() };
            self.in_sync.get_or_create(&labels).set(source.in_sync.into());
        }
        self.in_force.clear();
        self.held.clear();
        for group in &status.groups {
            let labels = ByGroup { group: group.name.clone() };
            self.in_force.get_or_create(&labels).set((group.state == "in-force").into());
            self.held.get_or_create(&labels).set((group.state == "held").into());
            self.written_revision.get_or_create(&labels).set(signed(group.written_revision.unwrap_or(0)));
            self.loaded_revision.get_or_create(&labels).set(signed(group.loaded_revision.unwrap_or(0)));
        }
        for plugin in &status.plugins {
            let labels = ByPlugin { plugin: plugin.name.clone() };
            self.plugin_calls.get_or_create(&labels).set(signed(plugin.calls));
            self.plugin_fuel.get_or_create(&labels).set(signed(plugin.fuel));
            self.plugin_failures.get_or_create(&labels).set(signed(plugin.failures));
        }
        self.objects.clear();
        for object in &status.objects {
            let labels = ByKind { kind: object.kind.to_owned(), severity: object.severity.to_owned() };
            self.objects.get_or_create(&labels).inc();
        }
        self.ready.set(unready(status).is_empty().into());
        let unapplied = status.groups.iter().any(|group| group.state != "in-force");
        let mut since = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *since = match (waiting, unapplied) {
            (None, false) => None,
            (waiting, _) => Some(since.or(waiting).unwrap_or_else(Instant::now)),
        };
    }
}

/// A number that Prometheus' gauges hold.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
