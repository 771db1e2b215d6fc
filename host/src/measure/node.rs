use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::stopwatch::{Called, Stopwatch};
use crate::engine::{Changes, Engine, Event, Settings, Snapshot, Work};
use crate::pipeline::{Passed, pass};
use crate::plugin::PluginSet;
use crate::policy::{Abandoned, CallError, Overlay};
use crate::render::{RenderError, Renderer, Rendering, Resource, Text};

/// The engine, the plugins and the templates of one node, put together as a [`Pipeline`](crate::pipeline::Pipeline) does it,
/// with a clock between them.
#[derive(Debug)]
pub struct MeasuredNode {
    engine: Engine,
    plugins: PluginSet,
    overlay: Overlay,
    renderer: Renderer,
    snapshot: Option<Snapshot>,
}

/// One step from events to texts, and what it took.
#[derive(Debug)]
pub struct Step {
    /// The engine: from events to a snapshot.
    pub engine: Duration,
    /// What plugins change: the questions, the answers, their checks and what follows.
    pub policy: Duration,
    /// The templates, with the functions of plugins that they call.
    pub render: Duration,
    /// The calls of plugins, within the two times before.
    pub calls: BTreeMap<Called, Calls>,
    /// What the engine did.
    pub work: Work,
    /// What was rendered.
    pub rendering: Rendering,
}

impl Step {
    /// From the events to the texts.
    pub fn time(&self) -> Duration {
        self.engine + self.policy + self.render
    }

    /// The texts of the files that may have changed, each in one piece.
    pub fn texts(&self) -> Vec<Vec<u8>> {
        let files = self.rendering.files.iter().flatten().filter(|file| file.changed);
        files.map(|file| assemble(&file.text)).collect()
    }
}

/// Calls of one export of one plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls {
    /// How many there were.
    pub calls: usize,
    /// The items that they were about: peerings and nodes, routes, sessions; one for a function.
    pub items: usize,
    /// Their time.
    pub time: Duration,
}

/// Why a step gave no texts.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A plugin failed; what is measured then is another work.
    #[error("{0}")]
    Plugin(CallError),
    /// A plugin failed without which nothing may be rendered.
    #[error(transparent)]
    Abandoned(#[from] Abandoned),
    /// A template failed.
    #[error(transparent)]
    Template(#[from] RenderError),
}

impl MeasuredNode {
    /// A node that knows no object. Published is what these plugins may read, whatever the settings say.
    pub fn new(settings: Settings, plugins: PluginSet, resources: Vec<Resource>) -> Self {
        let engine = Engine::new(Settings { published: plugins.published().into(), ..settings });
        Self { engine, plugins, overlay: Overlay::new(), renderer: Renderer::new(resources), snapshot: None }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What was rendered last, as plugins left it.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Puts other templates in the place of those in use: all is rendered anew by the next step.
    pub fn put_templates(&mut self, resources: Vec<Resource>) {
        self.renderer = Renderer::new(resources);
    }

    /// Puts other plugins, or the same with other settings, in the place of those in use: the next step asks them all.
    pub fn put_plugins(&mut self, plugins: PluginSet) {
        self.plugins = plugins;
    }

    /// Takes events and renders what they change.
    ///
    /// # Errors
    /// [`StepError`].
    pub fn step(&mut self, events: impl IntoIterator<Item = Event>) -> Result<Step, StepError> {
        let before = self.engine.work();
        let begun = Instant::now();
        let changes = self.engine.apply(events);
        let engine = begun.elapsed();
        let work = self.engine.work() - before;
        let (policy, render, calls, rendering) = self.render(changes)?;
        if let Some(error) = rendering.files.iter().find_map(|file| file.as_ref().err()) {
            return Err(error.clone().into());
        }
        Ok(Step { engine, policy, render, calls, work, rendering })
    }

    fn render(
        &mut self,
        changes: Changes,
    ) -> Result<(Duration, Duration, BTreeMap<Called, Calls>, Rendering), StepError> {
        let begun = Instant::now();
        let watched = Stopwatch::new(self.plugins.begin(self.engine.snapshot(), begun));
        let watched = Arc::new(Mutex::new(watched));
        let snapshot = self.engine.snapshot();
        let passed = pass(begun, &watched, snapshot, changes, &mut self.overlay, &mut self.renderer)?;
        let Passed { derived, rendering, policy_time, render_time } = passed;
        if let Some(error) = derived.errors.into_iter().next() {
            return Err(StepError::Plugin(error));
        }
        self.snapshot = Some(derived.snapshot);
        let calls = watched.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok((policy_time, render_time, calls, rendering))
    }
}

/// The text of a file in one piece, as it is written.
pub fn assemble(text: &Text) -> Vec<u8> {
    let mut whole = Vec::with_capacity(text.len());
    text.chunks().for_each(|chunk| whole.extend_from_slice(chunk.as_bytes()));
    whole
}
