//! The rounds: what has changed is taken together, rendered, and brought into force.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::groups::{CHECK, Did, GUARD, Groups, HeldId, Means, without_numbers};
use super::guard::Limits;
use super::loader::Loader;
use super::memory;
use super::metrics::Metrics;
use super::schedule::{Backoff, Schedule, Timing};
use super::status::{Board, ObjectStatus, PluginStatus, SourceStatus, Status};
use crate::delivery::Destination;
use crate::engine::{Event, Severity};
use crate::explain::{Explanation, Query};
use crate::notice::{Notice, Notices};
use crate::pipeline::{Pipeline, PluginWork, Rendered, Templates, TemplatesError, Unrendered};
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
    /// The sources that have told all that they had when they were asked first.
    listed: BTreeSet<usize>,
    /// Among the events since the last rendering were edits of peers or of the mesh.
    deliberate: bool,
    schedule: Schedule,
    groups: Groups,
    /// The last rendering.
    rendered: Option<Rendered>,
    /// What is to be used as soon as a rendering succeeds with it.
    candidate: Option<Candidate>,
    /// Why the last round rendered nothing, if it tried.
    abandoned: Option<String>,
    /// When a round is due although nothing changed: the last one left something to be tried again.
    retry: Option<Instant>,
    backoff: Backoff,
    /// What was logged last of objects that are left out or have no effect.
    told_objects: Vec<ObjectStatus>,
    /// The failures of plugins in the last round, as they were logged.
    told_failures: BTreeSet<String>,
    next_probe: Instant,
    /// Memory was given back after the rounds up to this one, then.
    rested: Option<(u64, Instant)>,
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
    notices: watch::Sender<Arc<Notices>>,
}

/// What was read anew and has not been rendered with. Until then what was there before is in use.
struct Candidate {
    /// The plugins, if they are others than those in use.
    plugins: Option<PluginSet>,
    /// How the rounds work, if that is to change.
    settings: Option<Settings>,
    /// What was read: the keys of its errors in the status.
    what: BTreeSet<&'static str>,
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
    /// What users must know.
    pub(super) notices: watch::Sender<Arc<Notices>>,
}

impl Rounds {
    pub(super) fn new(
        settings: Settings,
        pipeline: Pipeline,
        (sources, absent): (Vec<String>, Vec<String>),
        outputs: Outputs,
        now: Instant,
    ) -> Self {
        let Outputs { board, metrics, secrets, log, notices } = outputs;
        let sources =
            sources.into_iter().map(|name| SourceStatus { name, ..SourceStatus::default() }).collect();
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
            listed: BTreeSet::new(),
            deliberate: false,
            schedule,
            groups: Groups::default(),
            rendered: None,
            candidate: None,
            abandoned: None,
            retry: None,
            backoff: Backoff::default(),
            told_objects: Vec::new(),
            told_failures: BTreeSet::new(),
            next_probe: now,
            rested: None,
            status: Status { version: env!("CARGO_PKG_VERSION"), node, sources, absent, ..Status::default() },
            board,
            metrics,
            secrets,
            asked: None,
            random,
            log,
            logged: None,
            notices,
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
                    // What was there at the start is nobody's edit.
                    self.deliberate |= is_deliberate(key) && self.listed.contains(&told.source);
                    self.pending.push(event);
                    changed = true;
                }
                Update::InSync => {
                    self.listed.insert(told.source);
                    source.in_sync = true;
                    source.lost = None;
                }
                Update::Secrets(names) => self.asked = Some(names),
                Update::Instance(instance) => source.instance = Some(instance),
                Update::Lost(reason) => {
                    // Another reason is no other absence.
                    if source.lost.is_some() {
                        tracing::info!(source = source.name, "still not in sync: {reason}");
                    } else {
                        tracing::error!(
                            source = source.name,
                            "out of sync: {reason}; nothing is rendered meanwhile"
                        );
                        source.times_lost += 1;
                        self.metrics.lost(&source.name);
                    }
                    source.in_sync = false;
                    source.instance = None;
                    source.lost = Some(reason);
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
        // Its room goes too: after the first list there are never as many again.
        self.pipeline.apply(std::mem::take(&mut self.pending));
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

    /// Whether what was rendered last is what is to be.
    fn is_settled(&self) -> bool {
        self.status.blocked.is_empty() && self.abandoned.is_none()
    }

    /// When there is something to do.
    pub(super) fn next(&self) -> Instant {
        let in_sync = self.in_sync();
        let work = [
            self.schedule.due().filter(|_| in_sync),
            self.groups.next(self.is_settled()).filter(|_| in_sync),
            self.retry.filter(|_| in_sync),
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
        let again = self.retry.is_some_and(|again| again <= now);
        if in_sync && (due || again) {
            self.round(now);
        } else if in_sync && self.groups.next(self.is_settled()).is_some_and(|next| next <= now) {
            self.advance(now);
        }
        if self.next_probe <= now {
            self.probe();
            self.next_probe = Instant::now() + self.settings.probe;
            self.rest(now);
        }
    }

    /// Gives memory back when nothing is to be done, once after the start and not often after it.
    fn rest(&mut self, now: Instant) {
        let quiet = self.in_sync() && self.rendered.is_some() && self.schedule.oldest().is_none();
        let soon = self.rested.is_some_and(|(rounds, last)| {
            rounds == self.status.rounds || now.saturating_duration_since(last) < REST
        });
        if quiet && !soon {
            memory::give_back();
            self.rested = Some((self.status.rounds, now));
        }
    }

    /// Why nothing may be rendered from the objects that there are.
    fn obstacles(&self) -> Vec<String> {
        let engine = self.pipeline.engine();
        let mut obstacles: Vec<String> = engine.blocking().iter().map(ToString::to_string).collect();
        let node = engine.settings().node.as_str();
        if !engine.has_node(node) {
            obstacles.push(format!("there is no node {node}: nothing is rendered before there is"));
        }
        obstacles
    }

    /// Renders unless something forbids it, and brings what changed into force.
    fn round(&mut self, now: Instant) {
        if !self.pending.is_empty() {
            self.apply();
        }
        let oldest = self.schedule.oldest();
        self.schedule.begin(now);
        // Only what this round leaves is tried again: while nothing may be rendered, only a change helps.
        self.retry = None;
        let obstacles = self.obstacles();
        for obstacle in obstacles.iter().filter(|obstacle| !self.status.blocked.contains(obstacle)) {
            tracing::error!("nothing is rendered, and the files stay: {obstacle}");
        }
        if obstacles.is_empty() && !self.status.blocked.is_empty() {
            tracing::info!("nothing forbids to render any more");
        }
        self.status.blocked = obstacles;
        if !self.status.blocked.is_empty() {
            self.abandoned = None;
            return;
        }
        self.status.rounds += 1;
        let (outcome, candidate_again) = self.render(now);
        let work = outcome.as_ref().map_or_else(|error| &*error.plugins, |rendered| &rendered.plugins);
        let again = [candidate_again, may_succeed(self.pipeline.plugins(), work, now)];
        let again = again.into_iter().flatten().min().or_else(|| outcome.is_err().then_some(now));
        self.note_plugins(work);
        match again {
            Some(possible) => {
                let chance = self.chance();
                self.retry = Some(possible.max(now + self.backoff.failed(chance)));
            }
            None => self.backoff = Backoff::default(),
        }
        match outcome {
            Ok(rendered) => {
                self.schedule.rendered();
                self.take_rendering(rendered, now);
                self.metrics.round(oldest.map(|oldest| oldest.elapsed()));
            }
            Err(error) => {
                let text = error.to_string();
                if !self.abandoned.as_ref().is_some_and(|old| without_numbers(old).eq(without_numbers(&text)))
                {
                    tracing::error!("nothing was rendered, and the files stay: {text}");
                }
                self.abandoned = Some(text);
                self.metrics.abandoned();
            }
        }
    }

    /// Renders with what is to be used, if there is anything and it can be used; else with what is in use. Beside it stands
    /// when what cannot be used may be usable.
    fn render(&mut self, now: Instant) -> (Result<Rendered, Unrendered>, Option<Instant>) {
        let mut again = None;
        if let Some(candidate) = self.candidate.take() {
            match self.try_out(&candidate, now) {
                Ok(rendered) => {
                    self.adopt(candidate);
                    return (Ok(rendered), None);
                }
                Err((reason, when)) => {
                    for what in &candidate.what {
                        self.refuse(what, reason.clone());
                    }
                    self.candidate = Some(candidate);
                    again = Some(when);
                }
            }
        }
        (self.pipeline.render(&self.settings.to, now), again)
    }

    /// Renders with what is to be used. After an error, which says why and when it may succeed, what is in use still is.
    fn try_out(&mut self, candidate: &Candidate, now: Instant) -> Result<Rendered, (String, Instant)> {
        let (plugins, templates) = self.load(candidate).map_err(|error| (error.to_string(), now))?;
        let to = candidate.settings.as_ref().map_or(&self.settings.to, |settings| &settings.to);
        self.pipeline
            .replace(plugins.clone(), templates, to, now)
            .map_err(|error| (error.to_string(), may_succeed(&plugins, &error.plugins, now).unwrap_or(now)))
    }

    /// The plugins of a candidate, and the templates as they are now with the functions of these plugins.
    fn load(&self, candidate: &Candidate) -> Result<(PluginSet, Templates), TemplatesError> {
        let plugins = candidate.plugins.as_ref().unwrap_or_else(|| self.pipeline.plugins()).clone();
        let settings = candidate.settings.as_ref().unwrap_or(&self.settings);
        let node = &self.pipeline.engine().settings().node;
        let templates = Templates::load(settings.confdir.as_deref(), node, &plugins)?;
        Ok((plugins, templates))
    }

    /// What was to be used is in use.
    fn adopt(&mut self, candidate: Candidate) {
        if let Some(settings) = candidate.settings {
            let now = Instant::now();
            if !settings.loader.tells_as(&self.settings.loader) {
                self.groups.doubt_all(now);
            }
            // The guard may have other limits.
            self.groups.reconsider(now);
            self.schedule.set(settings.timing);
            self.settings = settings;
            self.next_probe = now;
        }
        if candidate.plugins.is_some() {
            self.status.plugins = plugin_status(self.pipeline.plugins());
        }
        for what in candidate.what {
            tracing::info!("{what} reloaded");
            self.status.reloading.remove(what);
        }
    }

    fn take_rendering(&mut self, rendered: Rendered, now: Instant) {
        self.abandoned = None;
        self.status.rendered_revision = rendered.snapshot.revision;
        self.metrics.rendered(&rendered);
        let deliberate = std::mem::take(&mut self.deliberate);
        self.groups.rendered(&rendered.groups, deliberate, now);
        self.rendered = Some(rendered);
        self.advance(now);
    }

    /// Tries every group that something is to be done with.
    fn advance(&mut self, now: Instant) {
        let Some(rendered) = self.rendered.take() else { return };
        let options = Options { check_timeout: self.settings.check_timeout, ..Options::default() };
        let settled = self.is_settled();
        for group in &rendered.groups {
            if !self.groups.is_in_force(&group.name) && !self.groups.is_due(&group.name, now, settled) {
                continue;
            }
            self.metrics.busy(true);
            let begin = Instant::now();
            let chance = self.chance();
            let means = Means {
                loader: &self.settings.loader,
                limits: &self.settings.guard,
                options: &options,
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
                Did::Failed(step) => self.metrics.failed(&group.name, step),
                Did::Held => self.metrics.failed(&group.name, GUARD),
            }
        }
        self.rendered = Some(rendered);
    }

    /// Asks the daemons how they are, and looks at the files; what runs something old, or is not what it was, is brought into
    /// force again.
    fn probe(&mut self) {
        let Some(rendered) = &self.rendered else { return };
        let mut birds = Vec::new();
        let mut doubts = Vec::new();
        let looked = self.settings.loader.look(&rendered.groups, |group| self.groups.last_load(group));
        for (seen, stale) in looked {
            let before = self.status.birds.iter().find(|bird| bird.group == seen.group);
            if before.is_some_and(|before| before.up != seen.up) || before.is_none() {
                match &seen.error {
                    Some(error) => tracing::error!(bird = seen.socket, "{error}"),
                    None => tracing::info!(bird = seen.socket, version = seen.version, "answers"),
                }
            }
            let came = seen.up && before.is_some_and(|before| !before.up);
            if seen.up && (came || stale) {
                doubts.push((seen.group.clone(), "BIRD may run something else than what is on disk"));
            }
            birds.push(seen);
        }
        for group in &rendered.groups {
            if self.groups.last_load(&group.name).is_some_and(|load| !load.has_files_of(group)) {
                doubts.push((group.name.clone(), "somebody else changed the files"));
            }
        }
        self.metrics.birds(&birds);
        self.status.birds = birds;
        let now = Instant::now();
        for (group, doubt) in doubts {
            if self.groups.is_in_force(&group) {
                tracing::warn!(group, "{doubt}");
            }
            self.groups.doubt(&group, now);
        }
    }

    /// Lets through what is held by these ids; the groups.
    ///
    /// # Errors
    /// Why nothing is let through, in words.
    pub(super) fn confirm(&mut self, ids: &[HeldId], now: Instant) -> Result<Vec<String>, String> {
        if !self.in_sync() || !self.is_settled() {
            return Err(
                "nothing is let through while nothing can be rendered: what is held may not be what is to \
                        come; /readyz says what is wrong"
                    .to_owned(),
            );
        }
        let confirmed = self.groups.confirm(ids, now).map_err(|id| {
            format!("nothing is held by the id {id} (any more): what is held now is in /status")
        })?;
        for group in &confirmed {
            tracing::warn!(group, "what was held is let through: it was confirmed");
        }
        self.advance(now);
        // Whoever confirmed looks at the status next.
        self.publish();
        Ok(confirmed)
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
        if let Some(reason) = &self.abandoned {
            note(format!("nothing was rendered, and the files stay as they are: {reason}"));
        }
        for group in self.groups.status().iter().filter(|group| group.state != "in-force") {
            let why = group.reason.as_deref().unwrap_or("not loaded yet");
            note(format!("group {} is {}, so BIRD may run other files: {why}", group.name, group.state));
        }
        explanation
    }

    /// Uses what the configuration file says from the next rendering on that succeeds with it.
    pub(super) fn configure(&mut self, again: Again, now: Instant) {
        self.replace(CONFIGURATION, Some(again.plugins), Some(again.settings), now);
    }

    /// Uses the templates as they are now from the next rendering on that succeeds with them.
    pub(super) fn reload_templates(&mut self, now: Instant) {
        self.replace(TEMPLATES, None, None, now);
    }

    fn replace(
        &mut self,
        what: &'static str,
        plugins: Option<PluginSet>,
        settings: Option<Settings>,
        now: Instant,
    ) {
        let mut candidate = self.candidate.take().unwrap_or_else(|| Candidate {
            plugins: None,
            settings: None,
            what: BTreeSet::new(),
        });
        candidate.plugins = plugins.or(candidate.plugins);
        candidate.settings = settings.or(candidate.settings);
        candidate.what.insert(what);
        if self.rendered.is_some() {
            self.status.reloading.insert(what, UNTRIED.to_owned());
            self.candidate = Some(candidate);
            if self.in_sync() {
                self.round(now);
            }
            return;
        }
        // Nothing has been rendered with those in use either.
        match self.load(&candidate) {
            Ok((plugins, templates)) => {
                self.pipeline.put(plugins, templates);
                self.adopt(candidate);
            }
            Err(error) => {
                let reason = error.to_string();
                for what in &candidate.what {
                    self.refuse(what, reason.clone());
                }
            }
        }
    }

    /// The configuration file, or what it names, cannot be used; what was there before is in use.
    pub(super) fn refuse_configuration(&mut self, reason: String) {
        // What it said before its last change counts no more.
        if let Some(candidate) = &mut self.candidate {
            (candidate.plugins, candidate.settings) = (None, None);
            candidate.what.remove(CONFIGURATION);
            if candidate.what.is_empty() {
                self.candidate = None;
            }
        }
        self.refuse(CONFIGURATION, reason);
    }

    /// Notes that something could not be reloaded; what was there before is in use.
    fn refuse(&mut self, what: &'static str, reason: String) {
        if self.status.reloading.get(what) != Some(&reason) {
            tracing::error!("{what} not reloaded, what was there before is in use: {reason}");
        }
        self.status.reloading.insert(what, reason);
    }

    /// Accounts for what the plugins in use did.
    fn note_plugins(&mut self, work: &PluginWork) {
        for (status, usage) in self.status.plugins.iter_mut().zip(&work.usage) {
            let failures = work.errors().filter(|error| *error.plugin == *status.name).count() as u64;
            self.metrics.plugin(&status.name, usage.calls, usage.fuel, failures);
            status.calls += usage.calls;
            status.fuel += usage.fuel;
            status.failures += failures;
            status.error = None;
        }
        let mut told = BTreeSet::new();
        for error in work.errors() {
            let text = without_numbers(&error.to_string()).collect();
            if !self.told_failures.contains(&text) {
                tracing::warn!("{error}");
            }
            told.insert(text);
            if let Some(status) = self.status.plugins.iter_mut().find(|status| *status.name == *error.plugin)
            {
                let error = format!("{}: {}", error.call, error.cause);
                status.error = Some(match status.error.take() {
                    Some(before) => format!("{before}; {error}"),
                    None => error,
                });
            }
        }
        self.told_failures = told;
    }

    /// Logs what is left out or has no effect, once, and when it is mended.
    fn tell_objects(&mut self) {
        if self.told_objects == self.status.objects {
            return;
        }
        let told = std::mem::replace(&mut self.told_objects, self.status.objects.clone());
        let (told, now): (BTreeSet<_>, BTreeSet<_>) =
            (told.iter().collect(), self.told_objects.iter().collect());
        for object in now.difference(&told) {
            match object.severity {
                "left-out" => tracing::error!(kind = object.kind, "left out: {}", object.reason),
                _ => tracing::warn!(kind = object.kind, "{}", object.reason),
            }
        }
        for object in told.difference(&now) {
            tracing::info!(kind = object.kind, "no longer so: {}", object.reason);
        }
    }

    /// Passes on what users must know, if it is not what it was and anybody brings it to them.
    fn notify(&self) {
        if self.notices.is_closed() {
            return;
        }
        let reports = self.pipeline.engine().reports().filter_map(Notice::of_report);
        let failed = self.status.groups.iter().filter(|group| group.step == Some(CHECK));
        let failed = failed
            .map(|group| Notice::failed_check(&group.name, group.reason.as_deref().unwrap_or_default()));
        let now = Instant::now();
        let plugins = self.status.plugins.iter().map(|plugin| plugin.name.as_str());
        let quarantined = plugins
            .filter(|name| self.pipeline.plugins().quarantine_ends(name).is_some_and(|ends| ends > now));
        let notices: Notices = reports.chain(failed).chain(quarantined.map(Notice::quarantined)).collect();
        self.notices.send_if_modified(|before| {
            let changed = **before != notices;
            if changed {
                *before = Arc::new(notices);
            }
            changed
        });
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
        // Before all is known, something may seem to be missing that only comes later.
        if self.in_sync() {
            self.tell_objects();
            self.notify();
        }
        let mut status = self.status.clone();
        if let Some(reason) = &self.abandoned {
            status.blocked.push(reason.clone());
        }
        self.metrics.status(&status, self.schedule.oldest());
        self.board.put(status);
    }
}

/// When something that failed may succeed: when the first of the plugins that failed is out of quarantine.
fn may_succeed(plugins: &PluginSet, work: &PluginWork, now: Instant) -> Option<Instant> {
    work.errors().map(|error| plugins.quarantine_ends(&error.plugin).unwrap_or(now)).min()
}

/// How far apart memory is given back at least.
const REST: Duration = Duration::from_secs(60);

/// What the configuration file, and what it names, are called where they are told of.
const CONFIGURATION: &str = "configuration";

/// Why what was read is not in use, while nothing can be rendered.
const UNTRIED: &str = "not tried yet, for nothing can be rendered now";

/// The folder of templates.
const TEMPLATES: &str = "templates";

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
