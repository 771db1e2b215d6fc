//! The operator's plugins, loaded.

use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use super::config::{Configuration, Entry, Grants};
use super::function::{self, Function};
use super::health::Health;
use super::limits::Limits;
use super::manifest::PluginFile;
use super::sandbox::{Compiled, Sandbox};
use super::session::Session;
use super::{LoadError, signature};
use crate::engine::{Snapshot, View};
use crate::policy::{CallError, Facts, Rights};
use crate::types::{KeyPattern, Name};

/// A plugin that can be called.
pub(super) struct Loaded {
    pub(super) file: PluginFile,
    pub(super) settings: String,
    pub(super) limits: Limits,
    pub(super) compiled: Compiled,
    functions: OnceLock<Vec<Function>>,
    health: Mutex<Health>,
}

impl Loaded {
    pub(super) fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The functions; none before the plugin was asked for them.
    pub(super) fn functions(&self) -> &[Function] {
        self.functions.get().map_or(&[], Vec::as_slice)
    }
}

/// The operator's plugins in their order. A clone is cheap and shares all of them.
#[derive(Clone, Default)]
pub struct PluginSet {
    pub(super) plugins: Arc<[Arc<Loaded>]>,
    pub(super) facts: Arc<[Facts]>,
}

impl std::fmt::Debug for PluginSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.facts.iter().map(|facts| &facts.name)).finish()
    }
}

impl PluginSet {
    /// Loads the plugins of a configuration: each is read, its digest and signature are checked, it is compiled,
    /// configured, and asked for its functions.
    ///
    /// # Errors
    /// What is wrong with each plugin that cannot be used; then there is no set.
    pub fn load(sandbox: &Sandbox, configuration: &Configuration) -> Result<Self, Vec<LoadError>> {
        let (mut plugins, mut facts, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for entry in &configuration.plugins {
            let loaded = PluginFile::read(&entry.path, entry.limits.component)
                .and_then(|file| load(sandbox, entry, file, configuration));
            match loaded {
                Ok((plugin, fact)) => {
                    plugins.push(Arc::new(plugin));
                    facts.push(fact);
                }
                Err(error) => errors.push(error),
            }
        }
        errors.extend(clashes(&plugins, &facts));
        if !errors.is_empty() {
            return Err(errors);
        }
        let set = Self { plugins: plugins.into(), facts: facts.into() };
        let errors = set.introduce();
        if errors.is_empty() { Ok(set) } else { Err(errors) }
    }

    /// Configures each plugin once and asks it for its functions; what is wrong with them.
    fn introduce(&self) -> Vec<LoadError> {
        let mut errors = Vec::new();
        let mut session = self.session(View::default(), 0, Instant::now());
        let mut taken: Vec<(String, Arc<str>)> = Vec::new();
        for (index, (plugin, facts)) in self.plugins.iter().zip(&*self.facts).enumerate() {
            let functions =
                session.introduce(index).map_err(|CallError { call, cause, .. }| format!("{call}: {cause}"));
            let functions = match functions.and_then(function::check) {
                Ok(functions) => functions,
                Err(reason) => {
                    errors.push(LoadError::new(&facts.name, reason));
                    continue;
                }
            };
            for function in &functions {
                if let Some((_, other)) = taken.iter().find(|(name, _)| *name == function.name) {
                    let reason = format!("has a function `{}`, and so has plugin {other}", function.name);
                    errors.push(LoadError::new(&facts.name, reason));
                }
                taken.push((function.name.clone(), facts.name.clone()));
            }
            plugin.functions.get_or_init(|| functions);
            // What it logged now is not taken from what it may log later.
            *plugin.health() = Health::default();
        }
        errors
    }

    /// Whether there is no plugin.
    pub fn is_empty(&self) -> bool {
        self.plugins.is_empty()
    }

    /// What the overlay must know of each plugin.
    pub fn facts(&self) -> &[Facts] {
        &self.facts
    }

    /// The components, in order.
    pub fn files(&self) -> impl Iterator<Item = &PluginFile> {
        self.plugins.iter().map(|plugin| &plugin.file)
    }

    /// The functions for templates: each with the place of its plugin.
    pub fn functions(&self) -> impl Iterator<Item = (usize, &Function)> {
        self.plugins
            .iter()
            .enumerate()
            .flat_map(|(index, plugin)| plugin.functions().iter().map(move |function| (index, function)))
    }

    /// The keys that any plugin may read: what the engine must publish for them.
    pub fn published(&self) -> Vec<KeyPattern> {
        let mut all: Vec<KeyPattern> =
            self.facts.iter().flat_map(|facts| facts.rights.0.iter().cloned()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Begins a rendering of a snapshot of the engine.
    pub fn begin(&self, snapshot: &Snapshot, now: Instant) -> Session {
        self.session(snapshot.view.clone(), snapshot.revision, now)
    }

    fn session(&self, view: View, revision: u64, now: Instant) -> Session {
        Session::new(self.clone(), view, revision, now)
    }
}

fn load(
    sandbox: &Sandbox,
    entry: &Entry,
    file: PluginFile,
    configuration: &Configuration,
) -> Result<(Loaded, Facts), LoadError> {
    let name: Name = match &entry.name {
        None => file.name.clone(),
        Some(name) => name
            .parse()
            .map_err(|error| LoadError::new(file.name.as_str(), format!("name = {name:?}: {error}")))?,
    };
    let fail = |reason: String| LoadError::new(name.as_str(), reason);
    if let Some(wanted) = entry.digest.filter(|wanted| *wanted != file.digest) {
        return Err(fail(format!(
            "{} has the SHA-256 {}, and sha256 = \"{wanted}\" is configured",
            entry.path.display(),
            file.digest
        )));
    }
    if !configuration.keys.is_empty() {
        signature::check(&entry.path, &file.bytes, &configuration.keys)?;
    }
    let rights = rights(&file, &entry.grants).map_err(fail)?;
    let settings = serde_json::to_string(&entry.settings).map_err(|error| fail(error.to_string()))?;
    let compiled = sandbox.compile(&file, &entry.limits)?;
    let facts = Facts {
        name: name.as_str().into(),
        identity: rustc_hash::FxBuildHasher.hash_one((file.digest, &settings, &rights, &name)),
        peers: file.interfaces.peers,
        filter: file.interfaces.filter,
        on_error: entry.on_error,
        placement: entry.placement,
        rights,
    };
    let limits = entry.limits.clone();
    let loaded =
        Loaded { file, settings, limits, compiled, functions: OnceLock::new(), health: Mutex::default() };
    Ok((loaded, facts))
}

/// What a plugin may read; an error when it wants what is not granted.
fn rights(file: &PluginFile, grants: &Grants) -> Result<Rights, String> {
    if let Grants::Listed(grants) = grants {
        let missing = |want: &&KeyPattern| !grants.iter().any(|grant| grant.covers_pattern(want));
        let missing: Vec<&KeyPattern> = file.wants.iter().filter(missing).collect();
        if !missing.is_empty() {
            let quoted = |pattern: &KeyPattern| format!("\"{pattern}\"");
            let all: Vec<String> = grants.iter().chain(missing.iter().copied()).map(quoted).collect();
            let missing: Vec<String> = missing.into_iter().map(quoted).collect();
            return Err(format!(
                "wants to read {}, which is not granted; to grant it, write into its [[plugin]]: grants = [{}]",
                missing.join(", "),
                all.join(", ")
            ));
        }
    }
    Ok(Rights(file.wants.clone().into()))
}

/// Names that stand twice.
fn clashes(plugins: &[Arc<Loaded>], facts: &[Facts]) -> Vec<LoadError> {
    let mut errors = Vec::new();
    for (index, facts_) in facts.iter().enumerate() {
        if let Some(first) = facts[..index].iter().position(|other| other.name == facts_.name) {
            let digests = (plugins[first].file.digest, plugins[index].file.digest);
            let reason = format!(
                "there are two plugins of this name (SHA-256 {} and {}); give one of them another `name`",
                digests.0, digests.1
            );
            errors.push(LoadError::new(&facts_.name, reason));
        }
    }
    errors
}

/// The set in use. Another takes its place only once a rendering with it has succeeded.
#[derive(Debug, Default)]
pub struct ActiveSet {
    set: PluginSet,
}

impl ActiveSet {
    /// A first set.
    pub fn new(set: PluginSet) -> Self {
        Self { set }
    }

    /// The set.
    pub fn current(&self) -> &PluginSet {
        &self.set
    }

    /// Renders with a new set, and puts it in the place of the old one if that succeeds.
    ///
    /// # Errors
    /// That of the rendering; the old set stays.
    pub fn replace<T, E>(
        &mut self,
        new: PluginSet,
        render: impl FnOnce(&PluginSet) -> Result<T, E>,
    ) -> Result<T, E> {
        let rendered = render(&new)?;
        self.set = new;
        Ok(rendered)
    }
}
