//! From objects to the groups of files of one node: engine, plugins, templates.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::delivery::{self, Destination, Group, SameDestination};
use crate::engine::{Changes, Engine, Event, Snapshot};
use crate::explain::{Explanation, Query, State, explain};
use crate::plugin::{LoadError, PluginSet, Session, Usage};
use crate::policy::{Abandoned, CallError, Derived, FunctionCalls, Overlay, Plugins};
use crate::render::{self, Renderer, Rendering, Resource, ResourceError, SharedCalls, Stats};
use crate::types::Name;

/// Template resources, ready to render.
#[derive(Debug)]
pub struct Templates {
    renderer: Renderer,
    named: Vec<(String, PathBuf)>,
    unusable: Vec<ResourceError>,
}

/// Why there are no templates to work with.
#[derive(Debug, thiserror::Error)]
pub enum TemplatesError {
    /// A resource that cannot be used, and of which nobody can tell to which group it belongs.
    #[error("nobody can tell which group this belongs to, so nothing was rendered: {0}")]
    Stray(ResourceError),
    /// The folder has no resource.
    #[error(
        "there is no {} {}; `tailorbird templates export DIR` makes a set to start from",
        if *.is_folder { "template resource (*.toml) in" } else { "folder" },
        .folder.display()
    )]
    Empty {
        /// The folder of resources.
        folder: PathBuf,
        /// Whether it is there.
        is_folder: bool,
    },
    /// A plugin's function has a name that templates already use.
    #[error(transparent)]
    Function(#[from] LoadError),
}

impl Templates {
    /// Loads the resources of a configuration folder, or the built-in set when there is none.
    ///
    /// # Errors
    /// There is nothing to work with. A resource that cannot be used holds up its own group only, and is no error here.
    pub fn load(confdir: Option<&Path>, node: &Name, plugins: &PluginSet) -> Result<Self, TemplatesError> {
        let (mut resources, mut unusable) = (Vec::new(), Vec::new());
        for result in Self::resources(confdir, node, plugins)? {
            match result {
                Ok(resource) => resources.push(resource),
                Err(error) if error.group.is_some() => unusable.push(error),
                Err(error) => return Err(TemplatesError::Stray(error)),
            }
        }
        let named = resources.iter().map(|resource| (resource.group_name(), resource.dest.clone())).collect();
        Ok(Self { renderer: Renderer::new(resources), named, unusable })
    }

    /// The same resources, each usable or not, of which there is at least one.
    pub(crate) fn resources(
        confdir: Option<&Path>,
        node: &Name,
        plugins: &PluginSet,
    ) -> Result<Vec<Result<Resource, ResourceError>>, TemplatesError> {
        let loaded = match confdir {
            Some(folder) => render::load_with(folder, node, &render::plugin_functions(plugins)?),
            None => render::built_in(node),
        };
        if loaded.is_empty() {
            let folder = confdir.unwrap_or_else(|| Path::new("")).join("conf.d");
            let is_folder = folder.is_dir();
            return Err(TemplatesError::Empty { folder, is_folder });
        }
        Ok(loaded)
    }

    /// What is wrong with the resources that cannot be used.
    pub fn unusable(&self) -> Vec<String> {
        self.unusable.iter().map(ToString::to_string).collect()
    }
}

/// What was rendered.
#[derive(Debug)]
pub struct Rendered {
    /// The groups of files, by name.
    pub groups: Vec<Group>,
    /// What it was rendered from: the engine's snapshot, as plugins left it.
    pub snapshot: Snapshot,
    /// What the plugins did.
    pub plugins: PluginWork,
    /// The work.
    pub stats: Stats,
    /// The time that plugins took before templates.
    pub policy_time: Duration,
    /// The time that templates took.
    pub render_time: Duration,
}

/// What plugins did for a rendering, or for the attempt of one.
#[derive(Debug, Default)]
pub struct PluginWork {
    /// What each used, in their order.
    pub usage: Vec<Usage>,
    /// The failures of policies: of those that stopped the rendering, and of those without which it went on.
    pub failures: Vec<CallError>,
    /// Failures of functions that may be skipped.
    pub skipped: Vec<CallError>,
    /// Failures of functions that cost the group of their file.
    pub missed: Vec<CallError>,
}

impl PluginWork {
    /// All that failed.
    pub fn errors(&self) -> impl Iterator<Item = &CallError> {
        self.failures.iter().chain(&self.skipped).chain(&self.missed)
    }

    fn of(session: &Session, failures: Vec<CallError>) -> Self {
        Self {
            usage: session.usage().cloned().collect(),
            failures,
            skipped: session.skipped().to_vec(),
            missed: session.missed().to_vec(),
        }
    }
}

/// Nothing was rendered.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct Unrendered {
    /// Why.
    pub cause: Cause,
    /// What the plugins did all the same.
    pub plugins: Box<PluginWork>,
}

/// Why nothing was rendered.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// Plugins failed without which nothing may be rendered.
    #[error(transparent)]
    Abandoned(#[from] Abandoned),
    /// Two resources write one file.
    #[error(transparent)]
    SameDestination(#[from] SameDestination),
}

/// The engine of a node with all that turns its snapshots into files.
#[derive(Debug)]
pub struct Pipeline {
    engine: Engine,
    plugins: PluginSet,
    overlay: Overlay,
    templates: Templates,
    /// What has changed since the overlay was asked last.
    changes: Changes,
}

impl Pipeline {
    /// A pipeline over an engine.
    pub fn new(engine: Engine, plugins: PluginSet, templates: Templates) -> Self {
        let revision = engine.snapshot().revision;
        let changes = Changes { from: revision, to: revision, ..Changes::default() };
        Self { engine, plugins, overlay: Overlay::new(), templates, changes }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The plugins.
    pub fn plugins(&self) -> &PluginSet {
        &self.plugins
    }

    /// Takes events; nothing is rendered.
    pub fn apply(&mut self, events: impl IntoIterator<Item = Event>) {
        let changes = self.engine.apply(events);
        if changes.from == changes.to {
            return;
        }
        self.changes.to = changes.to;
        for (place, keys) in changes.items {
            self.changes.items.entry(place).or_default().extend(keys);
        }
    }

    /// Explains the state of the engine, with what plugins made of it when they were asked last.
    pub fn explain(&self, query: &Query) -> Explanation {
        explain(&State::new(&self.engine, &self.overlay, !self.plugins.facts().is_empty()), query)
    }

    /// Renders all files at the engine's snapshot.
    ///
    /// # Errors
    /// [`Unrendered`]; what was rendered last still holds, and the next rendering begins where this one did.
    pub fn render(&mut self, to: &Destination, now: Instant) -> Result<Rendered, Unrendered> {
        let snapshot = self.engine.snapshot();
        // Without them, after an error, the next rendering finds by itself what differs.
        let none = Changes { from: snapshot.revision, to: snapshot.revision, ..Changes::default() };
        let changes = std::mem::replace(&mut self.changes, none);
        render_with(snapshot, changes, &self.plugins, &mut self.overlay, &mut self.templates, to, now)
    }

    /// Puts plugins and templates in the place of those in use, untried: for a time when nothing can be rendered yet.
    pub fn put(&mut self, plugins: PluginSet, templates: Templates) {
        self.plugins = plugins;
        self.templates = templates;
    }

    /// Puts other templates, or plugins and templates, in the place of those in use, if a rendering with them succeeds;
    /// the rendering is returned.
    ///
    /// # Errors
    /// [`Unrendered`]; what was in use stays.
    pub fn replace(
        &mut self,
        plugins: PluginSet,
        templates: Templates,
        to: &Destination,
        now: Instant,
    ) -> Result<Rendered, Unrendered> {
        let old = (
            std::mem::replace(&mut self.plugins, plugins),
            std::mem::replace(&mut self.templates, templates),
            self.overlay.clone(),
            self.changes.clone(),
        );
        self.render(to, now).inspect_err(|_| (self.plugins, self.templates, self.overlay, self.changes) = old)
    }
}

/// Explains the state of an engine, with what plugins make of it; they are asked for it. Failures of theirs are returned.
pub fn explain_once(
    engine: &Engine,
    plugins: &PluginSet,
    query: &Query,
    now: Instant,
) -> (Explanation, Vec<CallError>) {
    let snapshot = engine.snapshot();
    let all = Changes { from: snapshot.revision, to: snapshot.revision, ..Changes::default() };
    let mut overlay = Overlay::new();
    let failures = match overlay.derive(snapshot, all, &mut plugins.begin(snapshot, now)) {
        Ok(derived) => derived.errors,
        Err(abandoned) => abandoned.errors,
    };
    (explain(&State::new(engine, &overlay, !plugins.facts().is_empty()), query), failures)
}

/// Renders a snapshot of an engine once.
///
/// # Errors
/// [`Unrendered`].
pub fn render_once(
    snapshot: &Snapshot,
    plugins: &PluginSet,
    templates: &mut Templates,
    to: &Destination,
    now: Instant,
) -> Result<Rendered, Unrendered> {
    let all = Changes { from: snapshot.revision, to: snapshot.revision, ..Changes::default() };
    render_with(snapshot, all, plugins, &mut Overlay::new(), templates, to, now)
}

fn render_with(
    snapshot: &Snapshot,
    changes: Changes,
    plugins: &PluginSet,
    overlay: &mut Overlay,
    templates: &mut Templates,
    to: &Destination,
    now: Instant,
) -> Result<Rendered, Unrendered> {
    let begin = Instant::now();
    let session = Arc::new(Mutex::new(plugins.begin(snapshot, now)));
    let passed = pass(begin, &session, snapshot, changes, overlay, &mut templates.renderer);
    let session = session.lock().unwrap_or_else(PoisonError::into_inner);
    let Passed { derived, rendering, policy_time, render_time } = passed.map_err(|abandoned| Unrendered {
        plugins: Box::new(PluginWork::of(&session, abandoned.errors.clone())),
        cause: abandoned.into(),
    })?;
    let stats = rendering.stats;
    let plugins = PluginWork::of(&session, derived.errors);
    match delivery::groups(rendering, &templates.named, &templates.unusable, to) {
        Ok(groups) => {
            Ok(Rendered { groups, snapshot: derived.snapshot, plugins, stats, policy_time, render_time })
        }
        Err(same) => Err(Unrendered { cause: same.into(), plugins: Box::new(plugins) }),
    }
}

/// What came of a snapshot.
pub(crate) struct Passed {
    /// What the plugins left of it.
    pub(crate) derived: Derived,
    /// The texts.
    pub(crate) rendering: Rendering,
    /// The time that plugins took before templates, from the beginning of their session.
    pub(crate) policy_time: Duration,
    /// The time that templates took.
    pub(crate) render_time: Duration,
}

/// The way of a snapshot through the plugins, whose session began then, and the templates. What is measured goes it too.
pub(crate) fn pass<S: Plugins + FunctionCalls + 'static>(
    begin: Instant,
    session: &Arc<Mutex<S>>,
    snapshot: &Snapshot,
    changes: Changes,
    overlay: &mut Overlay,
    renderer: &mut Renderer,
) -> Result<Passed, Abandoned> {
    let mut asked = session.lock().unwrap_or_else(PoisonError::into_inner);
    let derived = overlay.derive(snapshot, changes, &mut *asked)?;
    drop(asked);
    let policy_time = begin.elapsed();
    let begin = Instant::now();
    renderer.note(&derived.changes);
    let calls: SharedCalls = session.clone();
    let rendering = renderer.render_with(&derived.snapshot, Some(&calls));
    Ok(Passed { derived, rendering, policy_time, render_time: begin.elapsed() })
}
