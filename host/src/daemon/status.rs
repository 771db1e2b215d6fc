//! What the daemon is doing, as it tells it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde::Serialize;

/// Everything at one moment. Times are seconds since the program began, or ages in seconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Status {
    /// The program's version.
    pub version: &'static str,
    /// This node.
    pub node: String,
    /// Where objects come from, by name.
    pub sources: Vec<SourceStatus>,
    /// What is done without on this node, and what follows.
    pub absent: Vec<String>,
    /// The revision of the last rendering.
    pub rendered_revision: u64,
    /// Rounds so far.
    pub rounds: u64,
    /// Why nothing is rendered now, if it is not.
    pub blocked: Vec<String>,
    /// Groups of files, by name.
    pub groups: Vec<GroupStatus>,
    /// What objects are left out or have no effect.
    pub objects: Vec<ObjectStatus>,
    /// The plugins, in order.
    pub plugins: Vec<PluginStatus>,
    /// What went wrong with the configuration file, the templates or the plugins; what was there before is in use.
    pub reloading: BTreeMap<&'static str, String>,
    /// The daemons of BIRD.
    pub birds: Vec<BirdStatus>,
}

/// A source of objects.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SourceStatus {
    /// The name.
    pub name: String,
    /// The address of the instance that is followed, where there may be several.
    pub instance: Option<String>,
    /// Whether all that it has is known.
    pub in_sync: bool,
    /// Why it was lost last.
    pub lost: Option<String>,
    /// How often it was lost.
    pub times_lost: u64,
    /// What of its data cannot be read.
    pub problems: Vec<String>,
    /// Updates so far.
    pub updates: u64,
}

/// Files that are swapped together.
#[derive(Debug, Clone, Serialize)]
pub struct GroupStatus {
    /// The name.
    pub name: String,
    /// `in-force`, `failed`, `held` or `waiting`.
    pub state: &'static str,
    /// What failed or is held, in words.
    pub reason: Option<String>,
    /// The step that failed: `render`, `guard`, `stage`, `check`, `swap`, `reload`, `verify`.
    pub step: Option<&'static str>,
    /// What identifies the removal that is held: a confirmation names it.
    pub held: Option<String>,
    /// Attempts that failed one after the other.
    pub attempts: u32,
    /// The revision whose files are in place.
    pub written_revision: Option<u64>,
    /// The revision that BIRD has taken.
    pub loaded_revision: Option<u64>,
}

/// Something about an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ObjectStatus {
    /// `left-out` or `warning`.
    pub severity: &'static str,
    /// The object.
    pub object: String,
    /// Its kind.
    pub kind: &'static str,
    /// What is wrong.
    pub reason: String,
}

/// A plugin.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PluginStatus {
    /// The name.
    pub name: String,
    /// The version in its manifest.
    pub version: String,
    /// The SHA-256 of the component.
    pub sha256: String,
    /// Calls so far.
    pub calls: u64,
    /// Fuel so far.
    pub fuel: u64,
    /// Failures so far.
    pub failures: u64,
    /// What failed in the last round.
    pub error: Option<String>,
}

/// A daemon of BIRD.
#[derive(Debug, Clone, Serialize)]
pub struct BirdStatus {
    /// The group of files that it reads.
    pub group: String,
    /// Its control socket.
    pub socket: String,
    /// Whether it answered the last probe.
    pub up: bool,
    /// What the probe met.
    pub error: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Its BGP sessions.
    pub sessions: Vec<SessionStatus>,
}

/// A BGP session as BIRD tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionStatus {
    /// The protocol's name.
    pub name: String,
    /// BGP's state, as `Established`.
    pub state: String,
    /// The neighbor's address.
    pub neighbor: Option<String>,
    /// The last error.
    pub last_error: Option<String>,
}

/// Why the daemon is not ready: every reason, in words. Empty when it is.
pub fn unready(status: &Status) -> Vec<String> {
    let mut reasons = Vec::new();
    if status.sources.is_empty() {
        reasons.push("starting".to_owned());
    }
    for source in status.sources.iter().filter(|source| !source.in_sync) {
        let why = source.lost.as_deref().unwrap_or("not in sync yet");
        reasons.push(format!("source {}: {why}", source.name));
    }
    for source in &status.sources {
        reasons.extend(source.problems.iter().map(|problem| format!("source {}: {problem}", source.name)));
    }
    reasons.extend(status.blocked.iter().cloned());
    for group in &status.groups {
        if group.state != "in-force" {
            let step = group.step.map(|step| format!(" at {step}")).unwrap_or_default();
            let why = group.reason.as_deref().unwrap_or("not loaded yet");
            reasons.push(format!("group {}: {}{step}: {why}", group.name, group.state));
        }
    }
    for plugin in &status.plugins {
        let Some(error) = &plugin.error else { continue };
        let failed = format!("plugin {}: {error}", plugin.name);
        // It may be the reason why nothing is rendered.
        if !reasons.iter().any(|reason| reason.contains(&failed)) {
            reasons.push(failed);
        }
    }
    if status.groups.is_empty() && reasons.is_empty() {
        reasons.push("nothing has been rendered yet".to_owned());
    }
    for bird in status.birds.iter().filter(|bird| !bird.up) {
        let why = bird.error.as_deref().unwrap_or("not asked yet");
        reasons.push(format!("BIRD at {}: {why}", bird.socket));
    }
    for (what, why) in &status.reloading {
        reasons.push(format!("{what}: {why}; what was there before is in use"));
    }
    reasons
}

/// The status, shared between the rounds and those who look at it.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<RwLock<Arc<Status>>>);

impl Board {
    /// The status now.
    pub fn read(&self) -> Arc<Status> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts up a new one.
    pub fn put(&self, status: Status) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(status);
    }
}
