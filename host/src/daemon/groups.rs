//! What became of each group of files, and what is to be done with it next.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::BuildHasher;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxBuildHasher;

use super::guard::{Guard, Having, Limits};
use super::loader::{Loaded, Loader};
use super::schedule::Backoff;
use super::status::GroupStatus;
use crate::delivery::{BIRD_AWAY, Group, Verdict};
use crate::engine::{CollectionId, Snapshot};
use crate::stage::{Options, StageError};

/// The step that makes the files' text: only another rendering helps where it fails.
const RENDER: &str = "render";

/// The step that holds what would remove too much.
pub(super) const GUARD: &str = "guard";

/// The step that asks BIRD what it thinks of the files.
pub(super) const CHECK: &str = "check";

/// A step that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Failure {
    step: &'static str,
    reason: String,
}

/// What identifies a removal that is held: what a group has, and what it would have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeldId(u64);

impl fmt::Display for HeldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for HeldId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let id = u64::from_str_radix(text, 16).ok().map(Self).filter(|id| id.to_string() == text);
        id.ok_or_else(|| "16 hexadecimal digits are an id, as /status has them".to_owned())
    }
}

/// What is known of a group.
#[derive(Debug, Default)]
struct Progress {
    /// The files may differ from those in place, or BIRD from the files.
    todo: bool,
    /// When something is to be done about that; never by itself when there is no time.
    due: Option<Instant>,
    /// BIRD has taken the files that are in place.
    current: bool,
    /// What changed the files last was somebody's edit of peers or of the mesh.
    deliberate: bool,
    written: Option<u64>,
    loaded: Option<u64>,
    /// The last load that came into force.
    load: Option<Loaded>,
    failure: Option<Failure>,
    backoff: Backoff,
    guard: Guard,
    /// What the files in place have, as far as this process knows.
    having: Option<Having>,
}

/// What an attempt needs besides the group.
#[derive(Debug)]
pub(super) struct Means<'a> {
    pub(super) loader: &'a Loader,
    pub(super) limits: &'a Limits,
    pub(super) options: &'a Options,
    pub(super) revision: u64,
    pub(super) snapshot: &'a Snapshot,
    pub(super) now: Instant,
    pub(super) chance: f64,
}

/// What an attempt did, for logs and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    /// Nothing had to be done: the files are in place and in force.
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
    /// Notes which groups have files that may differ, and forgets groups that are no more. `deliberate` says whether what
    /// changed since the last rendering was somebody's edit of peers or of the mesh.
    pub(super) fn rendered(&mut self, groups: &[Group], deliberate: bool, now: Instant) {
        let names: BTreeSet<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        self.groups.retain(|name, _| names.contains(name.as_str()));
        for group in groups {
            let new = !self.groups.contains_key(&group.name);
            let progress = self.groups.entry(group.name.clone()).or_default();
            let changed = new || group.files.iter().any(|file| file.changed);
            if changed {
                progress.deliberate = deliberate;
                // Newer input cancels the wait for another attempt.
                progress.backoff = Backoff::default();
            }
            let failed = progress.failure.as_ref().is_some_and(|failure| failure.step == RENDER);
            if changed || failed || !group.errors.is_empty() {
                progress.todo = true;
                progress.due = Some(now);
            }
        }
    }

    /// BIRD may run something else than what is on disk, or what is on disk may be something else than it was.
    pub(super) fn doubt(&mut self, group: &str, now: Instant) {
        if let Some(progress) = self.groups.get_mut(group) {
            progress.current = false;
            // What is not in force is tried anyway, in its time.
            if !progress.todo {
                progress.todo = true;
                progress.due = Some(now);
            }
        }
    }

    /// The same for all groups.
    pub(super) fn doubt_all(&mut self, now: Instant) {
        let names: Vec<String> = self.groups.keys().cloned().collect();
        names.iter().for_each(|name| self.doubt(name, now));
    }

    /// What decides about groups is another: what waits, or is held, is tried now.
    pub(super) fn reconsider(&mut self, now: Instant) {
        for progress in self.groups.values_mut().filter(|progress| progress.todo) {
            progress.due = Some(now);
        }
    }

    /// Whether a group is in force.
    pub(super) fn is_in_force(&self, group: &str) -> bool {
        self.groups.get(group).is_some_and(|progress| !progress.todo)
    }

    /// The last load of a group that came into force.
    pub(super) fn last_load(&self, group: &str) -> Option<&Loaded> {
        self.groups.get(group)?.load.as_ref()
    }

    /// Whether anything is to be done with a group now. What is held stays so while `settled` is false: then what is to come
    /// is not known.
    pub(super) fn is_due(&self, group: &str, now: Instant, settled: bool) -> bool {
        let due = self.groups.get(group).and_then(|progress| progress.due_when(settled));
        due.is_some_and(|due| due <= now)
    }

    /// When anything is to be done with a group; see [`Groups::is_due`].
    pub(super) fn next(&self, settled: bool) -> Option<Instant> {
        self.groups.values().filter_map(|progress| progress.due_when(settled)).min()
    }

    /// Confirms what is held by these ids; the names of those groups.
    ///
    /// # Errors
    /// The first id by which nothing is held; then nothing is confirmed.
    pub(super) fn confirm(&mut self, ids: &[HeldId], now: Instant) -> Result<Vec<String>, HeldId> {
        let is_held = |id: &&HeldId| self.groups.values().any(|progress| progress.held() == Some(**id));
        if let Some(id) = ids.iter().find(|id| !is_held(id)) {
            return Err(*id);
        }
        let mut confirmed = Vec::new();
        for (name, progress) in &mut self.groups {
            if let Some(HeldId(id)) = progress.held().filter(|held| ids.contains(held))
                && progress.guard.confirm(id)
            {
                progress.due = Some(now);
                confirmed.push(name.clone());
            }
        }
        Ok(confirmed)
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
            Ok(did) => {
                progress.todo = false;
                progress.due = None;
                progress.failure = None;
                progress.guard.done();
                progress.backoff = Backoff::default();
                progress.loaded = Some(means.revision);
                did
            }
            Err((step, reason)) => {
                let failure = Failure { step, reason };
                if progress.failure.as_ref().is_none_or(|old| !old.is_like(&failure)) {
                    tracing::error!(group = group.name, step, "{}", failure.reason);
                }
                progress.failure = Some(failure);
                if step == GUARD {
                    progress.due = progress.guard.held().and_then(|held| held.until);
                    return Did::Held;
                }
                let wait = progress.backoff.failed(means.chance);
                progress.due = means.now.checked_add(wait).filter(|_| step != RENDER);
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
            held: progress.held().map(|id| id.to_string()),
            attempts: progress.backoff.attempts(),
            written_revision: progress.written,
            loaded_revision: progress.loaded,
        });
        status.collect()
    }
}

impl Failure {
    /// Whether it need not be told after another one. Numbers in it, as of seconds and attempts, are no news.
    fn is_like(&self, other: &Self) -> bool {
        self.step == other.step && without_numbers(&self.reason).eq(without_numbers(&other.reason))
    }
}

/// A text but for the digits in it.
pub(super) fn without_numbers(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_ascii_digit())
}

impl Progress {
    /// What is held, if anything is.
    fn held(&self) -> Option<HeldId> {
        self.guard.held().filter(|_| self.is_held()).map(|held| HeldId(held.id))
    }

    /// When something is to be done; see [`Groups::is_due`].
    fn due_when(&self, settled: bool) -> Option<Instant> {
        self.due.filter(|_| settled || !self.is_held())
    }

    /// Whether the guard holds what is to be done.
    fn is_held(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.step == GUARD)
    }

    /// What was done; the step that failed, and why.
    fn run(&mut self, group: &Group, means: &Means<'_>) -> Result<Did, (&'static str, String)> {
        if !group.errors.is_empty() {
            return Err((RENDER, group.errors.join("; ")));
        }
        let will_have = having(group, means.snapshot);
        if let Some(will_have) = &will_have {
            let has = self.having.get_or_insert_with(|| on_disk(group));
            let id = FxBuildHasher.hash_one((&*has, will_have));
            self.guard
                .judge(means.limits, has, will_have, self.deliberate, id, means.now)
                .map_err(|held| (GUARD, held.reason))?;
        }
        let checks = means.loader.checks(group).map_err(|error| (CHECK, error.to_string()))?;
        let delivered = group.deliver(checks, true, means.options);
        // What failed at the end of a swap may have been swapped.
        self.current &= matches!(&delivered, Ok((_, Verdict::Unchanged)) | Err(StageError::Check { .. }));
        let (_, verdict) = delivered.map_err(|error| {
            (if matches!(error, StageError::Check { .. }) { CHECK } else { "stage" }, error.to_string())
        })?;
        if verdict == Verdict::Unchecked(BIRD_AWAY) {
            tracing::warn!(group = group.name, "{BIRD_AWAY}: its files are put in place unchecked");
        }
        self.written = Some(means.revision);
        self.having = will_have;
        if self.current {
            return Ok(Did::Nothing);
        }
        self.load = Some(means.loader.load(group)?);
        self.current = true;
        Ok(Did::Applied { written: verdict != Verdict::Unchanged })
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
