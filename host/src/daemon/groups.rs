//! What became of each group of files, and what is to be done with it next.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxBuildHasher;

use super::guard::{Guard, Having, Limits};
use super::loader::Loader;
use super::schedule::Backoff;
use super::status::GroupStatus;
use crate::delivery::{Group, Verdict};
use crate::engine::{CollectionId, Snapshot};
use crate::stage::{Options, StageError};

/// The step that holds what would remove too much.
pub(super) const GUARD: &str = "guard";

/// A step that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Failure {
    step: &'static str,
    reason: String,
    /// When it is tried again; never by itself when there is no time.
    again: Option<Instant>,
}

/// What is known of a group.
#[derive(Debug, Default)]
struct Progress {
    /// The files may differ from those in place, or BIRD from the files.
    todo: bool,
    /// The files are in place and only BIRD must take them.
    written: Option<u64>,
    loaded: Option<u64>,
    failure: Option<Failure>,
    backoff: Backoff,
    guard: Guard,
    /// What BIRD has, as far as this process knows.
    having: Option<Having>,
}

/// What an attempt needs besides the group.
#[derive(Debug)]
pub(super) struct Means<'a> {
    pub(super) loader: &'a Loader,
    pub(super) limits: &'a Limits,
    pub(super) options: &'a Options,
    /// The change that led here was somebody's edit of peers or of the mesh.
    pub(super) deliberate: bool,
    pub(super) revision: u64,
    pub(super) snapshot: &'a Snapshot,
    pub(super) now: Instant,
    pub(super) chance: f64,
}

/// What an attempt did, for logs and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    /// Nothing had to be done.
    Nothing,
    /// The files are in place and in force.
    Applied {
        /// Whether any file was written.
        written: bool,
    },
    /// It failed, at this step.
    Failed(&'static str),
    /// It is held.
    Held,
}

/// All groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: BTreeMap<String, Progress>,
}

impl Groups {
    /// Notes which groups have files that may differ, and forgets groups that are no more.
    pub(super) fn rendered(&mut self, groups: &[Group]) {
        let names: BTreeSet<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        self.groups.retain(|name, _| names.contains(name.as_str()));
        for group in groups {
            let new = !self.groups.contains_key(&group.name);
            let progress = self.groups.entry(group.name.clone()).or_default();
            let changed = group.files.iter().any(|file| file.changed) || !group.errors.is_empty();
            if new || changed {
                progress.todo = true;
                // Newer input cancels the wait for another attempt.
                progress.backoff = Backoff::default();
            }
        }
    }

    /// BIRD may run something else than what is on disk.
    pub(super) fn doubt(&mut self, group: &str) {
        if let Some(progress) = self.groups.get_mut(group) {
            progress.todo = true;
        }
    }

    /// Whether a group is in force.
    pub(super) fn is_in_force(&self, group: &str) -> bool {
        self.groups.get(group).is_some_and(|progress| !progress.todo)
    }

    /// Whether anything is to be done with a group now.
    pub(super) fn is_due(&self, group: &str, now: Instant) -> bool {
        self.groups.get(group).is_some_and(|progress| {
            let waits =
                progress.failure.as_ref().and_then(|failure| failure.again).is_some_and(|again| again > now);
            progress.todo && (!waits || progress.backoff.attempts() == 0)
        })
    }

    /// When a failed group is tried again, or a held one must go through.
    pub(super) fn next(&self) -> Option<Instant> {
        let times = self.groups.values().filter(|progress| progress.todo);
        times
            .filter_map(|progress| {
                let again = progress.failure.as_ref().and_then(|failure| failure.again);
                let until = progress.guard.held().and_then(|held| held.until).filter(|_| progress.is_held());
                [again, until].into_iter().flatten().min()
            })
            .min()
    }

    /// Confirms all that is held; the names of those groups.
    pub(super) fn confirm(&mut self) -> Vec<String> {
        let held = self.groups.iter_mut().filter(|(_, progress)| progress.is_held());
        held.filter_map(|(name, progress)| progress.guard.confirm().then(|| name.clone())).collect()
    }

    /// Brings a group's files into place and into force.
    pub(super) fn attempt(&mut self, group: &Group, means: &Means<'_>) -> Did {
        let Some(progress) = self.groups.get_mut(&group.name) else { return Did::Nothing };
        if !progress.todo {
            progress.loaded = Some(means.revision);
            progress.written = Some(means.revision);
            return Did::Nothing;
        }
        match progress.run(group, means) {
            Ok(written) => {
                progress.todo = false;
                progress.failure = None;
                progress.guard.done();
                progress.backoff = Backoff::default();
                progress.loaded = Some(means.revision);
                Did::Applied { written }
            }
            Err((GUARD, reason)) => {
                progress.failure = Some(Failure { step: GUARD, reason, again: None });
                Did::Held
            }
            Err((step, reason)) => {
                let again = means.now.checked_add(progress.backoff.failed(means.chance));
                let told =
                    progress.failure.as_ref().is_some_and(|old| old.step == step && old.reason == reason);
                if !told {
                    tracing::error!(group = group.name, step, "{reason}");
                }
                progress.failure = Some(Failure { step, reason, again });
                Did::Failed(step)
            }
        }
    }

    /// The groups for the status.
    pub(super) fn status(&self) -> Vec<GroupStatus> {
        let status = self.groups.iter().map(|(name, progress)| GroupStatus {
            name: name.clone(),
            state: match (&progress.failure, progress.todo) {
                (_, false) => "in-force",
                (Some(_), true) if progress.is_held() => "held",
                (Some(_), true) => "failed",
                (None, true) => "waiting",
            },
            reason: progress.failure.as_ref().filter(|_| progress.todo).map(|failure| failure.reason.clone()),
            step: progress.failure.as_ref().filter(|_| progress.todo).map(|failure| failure.step),
            attempts: progress.backoff.attempts(),
            written_revision: progress.written,
            loaded_revision: progress.loaded,
        });
        status.collect()
    }
}

impl Progress {
    /// Whether the guard holds what is to be done.
    fn is_held(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.step == GUARD)
    }

    /// Whether files were written; the step that failed, and why.
    fn run(&mut self, group: &Group, means: &Means<'_>) -> Result<bool, (&'static str, String)> {
        if !group.errors.is_empty() {
            return Err(("render", group.errors.join("; ")));
        }
        let will_have = having(group, means.snapshot);
        if let Some(will_have) = &will_have {
            let has = self.having.get_or_insert_with(|| on_disk(group));
            self.guard
                .judge(
                    means.limits,
                    has,
                    will_have,
                    means.deliberate,
                    FxBuildHasher.hash_one(will_have),
                    means.now,
                )
                .map_err(|held| (GUARD, held.reason))?;
        }
        let checks = group.checks().map_err(|error| ("check", error.to_string()))?;
        let (_, verdict) = group.deliver(checks, true, means.options).map_err(|error| {
            (if matches!(error, StageError::Check { .. }) { "check" } else { "stage" }, error.to_string())
        })?;
        self.written = Some(means.revision);
        means.loader.load(group)?;
        self.having = will_have;
        Ok(verdict != Verdict::Unchanged)
    }
}

/// What the daemon of a group will have; nothing for other groups.
fn having(group: &Group, snapshot: &Snapshot) -> Option<Having> {
    let model = snapshot.model(group.daemon()?.family());
    let keys = |id| model.collection(id).items.keys().cloned().collect();
    Some(Having { peers: keys(CollectionId::Peers), routes: keys(CollectionId::Routes) })
}

/// What the file says that is in place, for the time before this process has loaded anything.
fn on_disk(group: &Group) -> Having {
    let text =
        group.main_file().and_then(|file| std::fs::read_to_string(&file.dest).ok()).unwrap_or_default();
    let names = text.lines().filter_map(|line| line.strip_prefix("protocol bgp ")?.split_whitespace().next());
    Having { peers: names.map(Arc::from).collect(), routes: BTreeSet::new() }
}
