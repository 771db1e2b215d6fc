//! A cluster as one node sees it, with plugins: objects go in, files come out.

use std::sync::Arc;

use tailorbird::engine::{Changes, Engine, Event, Settings};
use tailorbird::policy::{Abandoned, CallError, Derived, Overlay};
use tailorbird::render::Renderer;
use tailorbird::resources::{Defaults, Kind};

use crate::cluster::{Look, birds, key, read};
use crate::native::{Count, Native, Natives};
use crate::support::rendered::{Files, files, renderer};

/// An engine, an overlay and a renderer.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) plugins: Vec<Native>,
    pub(crate) overlay: Overlay,
    renderer: Renderer,
    pending: Changes,
    derived: Option<Derived>,
    /// How much was asked since the last [`World::apply`].
    pub(crate) count: Count,
}

impl Look for World {
    /// The files that the plugins make, none of which may fail for good.
    fn files(&mut self) -> Files {
        let derived = self.derive().unwrap_or_else(|error| panic!("{error}"));
        files(&mut self.renderer, &derived.snapshot)
    }
}

impl World {
    /// The node `a` with these plugins; all that they could read is published.
    pub(crate) fn new(plugins: impl IntoIterator<Item = Native>) -> Self {
        let mut settings = Settings::new("a".parse().unwrap());
        settings.published = ["/tailorbird/v1".parse().unwrap()].into();
        Self::with_settings(settings, plugins)
    }

    pub(crate) fn with_settings(settings: Settings, plugins: impl IntoIterator<Item = Native>) -> Self {
        Self {
            renderer: renderer(&settings.node),
            engine: Engine::new(settings),
            plugins: plugins.into_iter().collect(),
            overlay: Overlay::new(),
            pending: Changes::default(),
            derived: None,
            count: Count::default(),
        }
    }

    /// One batch: every object of these documents.
    pub(crate) fn apply(&mut self, yaml: &str) {
        let settings = self.engine.settings();
        let published = settings.published.clone();
        let defaults = Defaults { published, ..Defaults::new(settings.secret_namespace.clone()) };
        self.events(read(yaml, &defaults).into_iter().map(Event::Upsert).collect());
    }

    pub(crate) fn having(mut self, yaml: &str) -> Self {
        self.apply(yaml);
        self
    }

    pub(crate) fn delete(&mut self, kind: Kind, name: &str) {
        self.events(vec![Event::Delete(key(kind, name))]);
    }

    pub(crate) fn events(&mut self, events: Vec<Event>) {
        self.pending = self.engine.apply(events);
        self.count = Count::default();
    }

    /// Derives, and tells the renderer.
    pub(crate) fn derive(&mut self) -> Result<Derived, Abandoned> {
        let snapshot = self.engine.snapshot().clone();
        let mut plugins = Natives::new(&self.plugins, &snapshot.view, snapshot.revision);
        let derived = self.overlay.derive(&snapshot, std::mem::take(&mut self.pending), &mut plugins);
        self.count = plugins.count;
        if let Ok(derived) = &derived {
            self.renderer.note(&derived.changes);
            self.derived = Some(derived.clone());
        }
        derived
    }

    /// The errors of the plugins that failed and did not stop anything.
    pub(crate) fn errors(&mut self) -> Vec<CallError> {
        self.derive().unwrap_or_else(|error| panic!("{error}")).errors
    }

    /// Asserts that BIRD takes the files, where it is installed.
    #[track_caller]
    pub(crate) fn bird_accepts(&mut self) {
        if let Some(birds) = birds() {
            let files = self.files();
            if let Err(words) = birds.check(&files) {
                panic!("{words}\n{}\n{}", files["bird.cfg"], files["bird6.cfg"]);
            }
        }
    }

    /// The keys of a collection of the derived snapshot.
    pub(crate) fn keys(&mut self, family: usize, id: tailorbird::engine::CollectionId) -> Vec<Arc<str>> {
        let derived = self.derive().unwrap_or_else(|error| panic!("{error}"));
        derived.snapshot.models[family].collection(id).items.keys().cloned().collect()
    }
}
