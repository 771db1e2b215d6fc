//! The rounds: what has changed is taken together, rendered, and brought into force.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::groups::{Did, GUARD, Groups, Means};
use super::guard::Limits;
use super::loader::Loader;
use super::metrics::Metrics;
use super::schedule::{Backoff, Schedule, Timing};
use super::status::{Board, ObjectStatus, PluginStatus, SourceStatus, Status};
use crate::delivery::Destination;
use crate::engine::{Event, Severity};
use crate::explain::{Explanation, Query};
use crate::pipeline::{Pipeline, Rendered, Templates};
use crate::plugin::PluginSet;
use crate::resources::{Kind, LogSeverity, ObjectKey};
use crate::stage::Options;
use crate::syncer::{Told, Update};
use crate::types::Name;

/// How the rounds work.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where files go.
    pub to: Destination,
    /// How changes are taken together.
    pub timing: Timing,
    /// When a removal is held.
    pub guard: Limits,
    /// How BIRD comes to run the files.
    pub loader: Loader,
    /// How often BIRD is asked how it is.
    pub probe: Duration,
    /// How long a check may take.
    pub check_timeout: Duration,
    /// The folder of templates, in place of the built-in set.
    pub confdir: Option<PathBuf>,
}

/// What the configuration file says when it is read again.
#[derive(Debug)]
pub struct Again {
    /// The plugins.
    pub plugins: PluginSet,
    /// How the rounds work.
    pub settings: Settings,
}

/// The work of one node.
pub(super) struct Rounds {
    settings: Settings,
    pipeline: Pipeline,
    pending: Vec<Event>,
    /// The events since the last round in force were edits of peers or of the mesh.
    deliberate: bool,
    schedule: Schedule,
    groups: Groups,
    /// The last rendering.
    rendered: Option<Rendered>,
    /// What plugins failed at: tried again by itself.
    abandoned: Option<(String, Instant)>,
    backoff: Backoff,
    next_probe: Instant,
    status: Status,
    board: Board,
    metrics: Arc<Metrics>,
    secrets: watch::Sender<Arc<BTreeSet<Name>>>,
    /// The Secrets that a source asks for by name, if there is such a source.
    asked: Option<Arc<BTreeSet<Name>>>,
    random: u64,
    log: LogLevel,
    /// What the objects wanted to be logged when that was told last.
    logged: Option<LogSeverity>,
}

/// Told whenever the objects want something else to be logged; with nothing when they say nothing about it.
pub type LogLevel = Box<dyn FnMut(Option<LogSeverity>) + Send>;

/// Whom the rounds tell what they do.
pub(super) struct Outputs {
    pub(super) board: Board,
    pub(super) metrics: Arc<Metrics>,
    /// The Secrets that are needed.
    pub(super) secrets: watch::Sender<Arc<BTreeSet<Name>>>,
    pub(super) log: LogLevel,
}

impl Rounds {
    pub(super) fn new(
        settings: Settings,
        pipeline: Pipeline,
        sources: Vec<String>,
        outputs: Outputs,
        now: Instant,
    ) -> Self {
        let Outputs { board, metrics, secrets, log } = outputs;
        let sources = sources
            .into_iter()
            .map(|name| SourceStatus {
                name,
                in_sync: false,
                lost: None,
                times_lost: 0,
                problems: Vec::new(),
                updates: 0,
            })
            .collect();
        let node = pipeline.engine().settings().node.to_string();
        // Nodes begin at different places in the same sequence.
        let random = node.bytes().fold(0x9e37_79b9_7f4a_7c15, |seed: u64, byte| {
            (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let schedule = Schedule::new(settings.timing);
        let mut rounds = Self {
            settings,
            pipeline,
            pending: Vec::new(),
            deliberate: false,
            schedule,
            groups: Groups::default(),
            rendered: None,
            abandoned: None,
            backoff: Backoff::default(),
            next_probe: now,
            status: Status { version: env!("CARGO_PKG_VERSION"), node, sources, ..Status::default() },
            board,
            metrics,
            secrets,
            asked: None,
            random,
            log,
            logged: None,
        };
        rounds.status.plugins = plugin_status(rounds.pipeline.plugins());
        rounds.publish();
        rounds
    }

    /// A number from 0 to 1; the sequence is another one on every node.
    fn chance(&mut self) -> f64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // 53 bits are what a float holds.
        (self.random >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Takes what a source tells.
    pub(super) fn take(&mut self, told: Told, now: Instant) {
        let Some(source) = self.status.sources.get_mut(told.source) else { return };
        let was = source.in_sync;
        let mut changed = false;
        source.updates += told.updates.len() as u64;
        for update in told.updates {
            match update {
                Update::Event(event) => {
                    let key = match &event {
                        Event::Upsert(parsed) => &parsed.key,
                        Event::Delete(key) => key,
                    };
                    self.deliberate |= is_deliberate(key);
                    self.pending.push(event);
                    changed = true;
                }
                Update::InSync => {
                    source.in_sync = true;
                    source.lost = None;
                }
                Update::Secrets(names) => self.asked = Some(names),
                Update::Lost(reason) => {
                    tracing::error!(
                        source = source.name,
                        "out of sync: {reason}; nothing is rendered meanwhile"
                    );
                    source.in_sync = false;
                    source.lost = Some(reason);
                    source.times_lost += 1;
                    self.metrics.lost(&source.name);
                }
                Update::Problems(problems) => {
                    for problem in problems.iter().filter(|problem| !source.problems.contains(problem)) {
                        tracing::error!(source = source.name, "{problem}");
                    }
                    source.problems = problems;
                }
            }
        }
        let became = source.in_sync && !was;
        if became {
            tracing::info!(source = source.name, "in sync");
        }
        if changed || became {
            let chance = self.chance();
            self.schedule.changed(now, chance);
        }
        // The pending events of a large cluster are many; the engine's own form of them is smaller.
        if self.pending.len() >= 4096 {
            self.apply();
        }
    }

    fn apply(&mut self) {
        self.pipeline.apply(self.pending.drain(..));
        let wanted = self.pipeline.engine().secret_names();
        self.secrets.send_if_modified(|secrets| {
            let changed = **secrets != wanted;
            if changed {
                *secrets = Arc::new(wanted);
            }
            changed
        });
        let wanted = self.pipeline.engine().log_severity();
        if wanted != self.logged {
            self.logged = wanted;
            (self.log)(wanted);
        }
    }

    /// Whether all that any source has is known, the Secrets too that came to be needed last.
    fn in_sync(&self) -> bool {
        let asked = self.asked.as_ref().is_none_or(|asked| *asked == *self.secrets.borrow());
        asked && self.status.sources.iter().all(|source| source.in_sync)
    }

    /// When there is something to do.
    pub(super) fn next(&self) -> Instant {
        let in_sync = self.in_sync();
        let work = [
            self.schedule.due().filter(|_| in_sync),
            self.groups.next().filter(|_| in_sync),
            self.abandoned.as_ref().map(|(_, again)| *again).filter(|_| in_sync),
        ];
        work.into_iter().flatten().fold(self.next_probe, Instant::min)
    }

    /// Does what is due.
    pub(super) fn work(&mut self, now: Instant) {
        if !self.pending.is_empty() {
            self.apply();
        }
        let in_sync = self.in_sync();
        let due = self.schedule.due().is_some_and(|due| due <= now);
        let again = self.abandoned.as_ref().is_some_and(|(_, again)| *again <= now);
        if in_sync && (due || again) {
            self.round(now);
        } else if in_sync && self.groups.next().is_some_and(|next| next <= now) {
            self.advance(now);
        }
        if self.next_probe <= now {
            self.probe();
            self.next_probe = Instant::now() + self.settings.probe;
        }
    }

    /// Renders, and brings what changed into force.
    fn round(&mut self, now: Instant) {
        let oldest = self.schedule.oldest();
        self.schedule.begin(now);
        self.status.blocked = self.pipeline.engine().blocking().iter().map(ToString::to_string).collect();
        let node = self.pipeline.engine().settings().node.clone();
        if !self.pipeline.engine().has_node(node.as_str()) {
            self.status.blocked.push(format!("there is no node {node}: nothing is rendered before there is"));
        }
        if !self.status.blocked.is_empty() {
            return;
        }
        self.status.rounds += 1;
        match self.pipeline.render(&self.settings.to, now) {
            Ok(rendered) => self.take_rendering(rendered, now),
            Err(error) => {
                let text = error.to_string();
                if self.abandoned.as_ref().is_none_or(|(old, _)| *old != text) {
                    tracing::error!("nothing was rendered, and the files stay: {text}");
                }
                let chance = self.chance();
                self.abandoned = Some((text, now + self.backoff.failed(chance)));
                self.metrics.abandoned();
                return;
            }
        }
        self.metrics.round(oldest.map(|oldest| oldest.elapsed()));
    }

    fn take_rendering(&mut self, rendered: Rendered, now: Instant) {
        self.abandoned = None;
        self.backoff = Backoff::default();
        self.status.rendered_revision = rendered.snapshot.revision;
        self.note_plugins(&rendered);
        self.metrics.rendered(&rendered);
        self.groups.rendered(&rendered.groups);
        self.rendered = Some(rendered);
        self.advance(now);
    }

    /// Tries every group that something is to be done with.
    fn advance(&mut self, now: Instant) {
        let Some(rendered) = self.rendered.take() else { return };
        let options = Options { check_timeout: self.settings.check_timeout, ..Options::default() };
        let mut all = true;
        for group in &rendered.groups {
            if !self.groups.is_in_force(&group.name) && !self.groups.is_due(&group.name, now) {
                all = false;
                continue;
            }
            self.metrics.busy(true);
            let begin = Instant::now();
            let chance = self.chance();
            let means = Means {
                loader: &self.settings.loader,
                limits: &self.settings.guard,
                options: &options,
                deliberate: self.deliberate,
                revision: rendered.snapshot.revision,
                snapshot: &rendered.snapshot,
                now,
                chance,
            };
            let did = self.groups.attempt(group, &means);
            let took = begin.elapsed();
            match did {
                Did::Nothing => {}
                Did::Applied { written } => {
                    tracing::info!(
                        group = group.name,
                        revision = rendered.snapshot.revision,
                        written,
                        milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                        "in force"
                    );
                    self.metrics.applied(&group.name, took);
                }
                Did::Failed(step) => {
                    all = false;
                    self.metrics.failed(&group.name, step);
                }
                Did::Held => {
                    all = false;
                    self.metrics.failed(&group.name, GUARD);
                }
            }
        }
        if all {
            self.deliberate = false;
        }
        self.rendered = Some(rendered);
    }

    /// Asks the daemons how they are; one that runs something old is loaded again.
    fn probe(&mut self) {
        let Some(rendered) = &self.rendered else { return };
        let mut birds = Vec::new();
        for group in &rendered.groups {
            let Some((seen, stale)) = self.settings.loader.look(group) else { continue };
            let before = self.status.birds.iter().find(|bird| bird.group == group.name);
            if before.is_some_and(|before| before.up != seen.up) || before.is_none() {
                match &seen.error {
                    Some(error) => tracing::error!(bird = seen.socket, "{error}"),
                    None => tracing::info!(bird = seen.socket, version = seen.version, "answers"),
                }
            }
            let came = seen.up && before.is_some_and(|before| !before.up);
            if seen.up && self.groups.is_in_force(&group.name) && (came || stale) {
                tracing::warn!(group = group.name, "BIRD may run something else than what is on disk");
                self.groups.doubt(&group.name);
            }
            birds.push(seen);
        }
        self.metrics.birds(&birds);
        self.status.birds = birds;
        let doubtful = self.rendered.as_ref().is_some_and(|rendered| {
            rendered.groups.iter().any(|group| {
                !self.groups.is_in_force(&group.name) && self.groups.is_due(&group.name, Instant::now())
            })
        });
        if doubtful && self.in_sync() {
            self.advance(Instant::now());
        }
    }

    /// Lets everything through that is held now; the groups.
    pub(super) fn confirm(&mut self, now: Instant) -> Vec<String> {
        let confirmed = self.groups.confirm();
        for group in &confirmed {
            tracing::warn!(group, "what was held is let through: it was confirmed");
        }
        if !confirmed.is_empty() {
            self.advance(now);
            // Whoever confirmed looks at the status next.
            self.publish();
        }
        confirmed
    }

    /// Says why something is there or is not, and what keeps it from being in force.
    pub(super) fn explain(&self, query: &Query) -> Explanation {
        let mut explanation = self.pipeline.explain(query);
        let problems = self.status.sources.iter().flat_map(|source| &source.problems);
        explanation.note_unread(problems.cloned());
        let mut note = |text: String| explanation.notes.push(text);
        for source in self.status.sources.iter().filter(|source| !source.in_sync) {
            let why = source.lost.as_deref().unwrap_or("not in sync yet");
            note(format!("source {}: {why}; nothing is rendered meanwhile", source.name));
        }
        if !self.pending.is_empty() {
            note(format!("{} changes of objects wait for the next round", self.pending.len()));
        }
        if let Some((reason, _)) = &self.abandoned {
            note(format!("nothing was rendered, and the files stay as they are: {reason}"));
        }
        for group in self.groups.status().iter().filter(|group| group.state != "in-force") {
            let why = group.reason.as_deref().unwrap_or("not loaded yet");
            note(format!("group {} is {}, so BIRD may run other files: {why}", group.name, group.state));
        }
        explanation
    }

    /// Takes what the configuration file says into use, unless nothing can be rendered with it; then all stays as it is.
    pub(super) fn configure(&mut self, again: Again, now: Instant) {
        let old = std::mem::replace(&mut self.settings, again.settings);
        self.schedule.set(self.settings.timing);
        if !self.replace(Some(again.plugins), CONFIGURATION, now) {
            self.schedule.set(old.timing);
            self.settings = old;
        }
        self.next_probe = now;
    }

    /// Takes other templates or plugins into use, unless they cannot render; then those in use stay. Whether they are in
    /// use.
    pub(super) fn replace(&mut self, plugins: Option<PluginSet>, what: &'static str, now: Instant) -> bool {
        let plugins = plugins.unwrap_or_else(|| self.pipeline.plugins().clone());
        let node = self.pipeline.engine().settings().node.clone();
        let in_sync = self.in_sync();
        let loaded = Templates::load(self.settings.confdir.as_deref(), &node, &plugins);
        let outcome = loaded.map_err(|error| error.to_string()).and_then(|templates| {
            if !in_sync || self.rendered.is_none() {
                self.pipeline.put(plugins, templates);
                return Ok(None);
            }
            let replaced = self.pipeline.replace(plugins, templates, &self.settings.to, now);
            replaced.map(Some).map_err(|error| error.to_string())
        });
        let replaced = outcome.is_ok();
        match outcome {
            Ok(rendered) => {
                tracing::info!("{what} reloaded");
                self.status.reloading.remove(what);
                self.status.plugins = plugin_status(self.pipeline.plugins());
                if let Some(rendered) = rendered {
                    self.take_rendering(rendered, now);
                }
            }
            Err(reason) => self.refuse(what, reason),
        }
        replaced
    }

    /// Notes that something could not be reloaded; what was there before is in use.
    pub(super) fn refuse(&mut self, what: &'static str, reason: String) {
        if self.status.reloading.get(what) != Some(&reason) {
            tracing::error!("{what} not reloaded, what was there before is in use: {reason}");
        }
        self.status.reloading.insert(what, reason);
    }

    fn note_plugins(&mut self, rendered: &Rendered) {
        for (status, usage) in self.status.plugins.iter_mut().zip(&rendered.usage) {
            status.calls += usage.calls;
            status.fuel += usage.fuel;
            status.error = None;
        }
        for error in rendered.failures.iter().chain(&rendered.skipped) {
            tracing::warn!("{error}");
            if let Some(status) = self.status.plugins.iter_mut().find(|status| *status.name == *error.plugin)
            {
                status.failures += 1;
                status.error = Some(format!("{}: {}", error.call, error.cause));
            }
        }
    }

    /// Puts the status up.
    pub(super) fn publish(&mut self) {
        self.status.groups = self.groups.status();
        let reports = self.pipeline.engine().reports().map(|report| ObjectStatus {
            severity: match report.severity {
                Severity::LeftOut => "left-out",
                Severity::Warning => "warning",
            },
            object: report.error.object.to_string(),
            kind: report.error.object.kind.as_str(),
            reason: report.error.to_string(),
        });
        self.status.objects = reports.collect();
        let mut status = self.status.clone();
        if let Some((reason, _)) = &self.abandoned {
            status.blocked.push(reason.clone());
        }
        self.metrics.status(&status, self.schedule.oldest());
        self.board.put(status);
    }
}

/// What the configuration file, and what it names, are called where they are told of.
pub(super) const CONFIGURATION: &str = "configuration";

/// The folder of templates.
pub(super) const TEMPLATES: &str = "templates";

/// Whether a change of an object is somebody's edit of peers or of the mesh.
fn is_deliberate(key: &ObjectKey) -> bool {
    matches!(key.kind, Kind::BgpConfiguration | Kind::BgpPeer)
}

fn plugin_status(plugins: &PluginSet) -> Vec<PluginStatus> {
    let status = plugins.files().zip(plugins.facts()).map(|(file, facts)| PluginStatus {
        name: facts.name.to_string(),
        version: file.manifest.version.clone(),
        sha256: file.digest.to_string(),
        ..PluginStatus::default()
    });
    status.collect()
}
