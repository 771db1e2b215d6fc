//! One call of one export of one plugin, recorded.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::recorder::{Recorder, Watch};
use crate::cli::cluster::Cluster;
use crate::cli::output::Exit;
use crate::cli::plugins::load_usable;
use crate::engine::{Changes, Engine, Settings, Snapshot, View};
use crate::plugin::config::{Configuration, Entry};
use crate::plugin::contract::{functions::ParameterKind, log};
use crate::plugin::{Function, LoadError, LogLine, PluginSet, Sandbox, Session, Usage};
use crate::policy::{Abandoned, Overlay, Plugins, Reads};
use crate::types::Name;

/// An export that can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Export {
    #[value(name = "peers.select")]
    PeersSelect,
    #[value(name = "filter.advertise")]
    FilterAdvertise,
    #[value(name = "filter.rules")]
    FilterRules,
    #[value(name = "functions.call")]
    FunctionsCall,
}

impl Export {
    pub(super) fn name(self) -> &'static str {
        match self {
            Export::PeersSelect => "peers.select",
            Export::FilterAdvertise => "filter.advertise",
            Export::FilterRules => "filter.rules",
            Export::FunctionsCall => "functions.call",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::value_variants().iter().copied().find(|export| export.name() == name)
    }

    /// All of them.
    pub(super) fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// Those that a plugin has.
    pub(super) fn of(set: &PluginSet) -> Vec<Self> {
        let Some(interfaces) = set.files().next().map(|file| file.interfaces) else { return Vec::new() };
        let there = |export: &Self| match export {
            Export::PeersSelect => interfaces.peers,
            Export::FilterAdvertise | Export::FilterRules => interfaces.filter,
            Export::FunctionsCall => interfaces.functions,
        };
        Self::value_variants().iter().copied().filter(there).collect()
    }
}

/// A plugin's settings on the command line.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct SettingsArgs {
    /// The plugin's settings: a JSON object, or @FILE with one
    #[arg(long, value_name = "JSON", value_parser = parse_settings, default_value = "{}", hide_default_value = true)]
    pub(super) settings: Map<String, Value>,
}

fn parse_settings(text: &str) -> Result<Map<String, Value>, String> {
    let read;
    let text = match text.strip_prefix('@') {
        None => text,
        Some(path) => {
            read = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            &read
        }
    };
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}

/// Loads one plugin with all that it wants to read, under the default limits.
pub(super) fn load(
    sandbox: &Sandbox,
    file: &Path,
    settings: &Map<String, Value>,
) -> Result<PluginSet, LoadError> {
    let entry = Entry { settings: settings.clone(), ..Entry::trial(file.to_owned()) };
    let configuration = Configuration { plugins: vec![entry], ..Configuration::default() };
    load_usable(sandbox, &configuration).map_err(|errors| {
        // One plugin has one error, unless its functions clash with each other.
        let reasons: Vec<String> = errors.iter().map(|error| error.reason.clone()).collect();
        let plugin = errors.into_iter().next().map_or_else(String::new, |error| error.plugin);
        LoadError { plugin, reason: reasons.join("; ") }
    })
}

/// What a plugin is called about.
#[derive(Debug)]
pub(super) enum Question {
    /// A function's place in the plugin's list, and its arguments.
    Function(usize, Vec<Value>),
    /// Another export: asked as a rendering of the cluster asks.
    Policy(Export),
}

impl Question {
    /// The question that an export and a function's name with its arguments stand for.
    pub(super) fn new(
        set: &PluginSet,
        export: Option<Export>,
        function: Option<&str>,
        arguments: impl FnOnce(&Function) -> Vec<Value>,
    ) -> anyhow::Result<Self> {
        let exports = Export::of(set);
        let export = match (export, function) {
            (Some(export), _) if !exports.contains(&export) => {
                bail!("the plugin does not export {}; it has {}", export.name(), names(&exports))
            }
            (Some(Export::FunctionsCall) | None, Some(_)) => Export::FunctionsCall,
            (Some(export), Some(_)) => bail!("a function is not called by way of {}", export.name()),
            (Some(export), None) => export,
            (None, None) => match exports[..] {
                [export] => export,
                _ => bail!("the plugin has several exports, so --export is needed: {}", names(&exports)),
            },
        };
        if export != Export::FunctionsCall {
            return Ok(Self::Policy(export));
        }
        let known: Vec<&str> = set.functions().map(|(_, function)| &*function.name).collect();
        let Some(wanted) = function else {
            bail!("--function is needed; the plugin has {}", known.join(", "));
        };
        let found = set.functions().enumerate().find(|(_, (_, function))| function.name == wanted);
        let Some((index, (_, function))) = found else {
            bail!("the plugin has no function {wanted}; it has {}", known.join(", "));
        };
        Ok(Self::Function(index, arguments(function)))
    }

    pub(super) fn export(&self) -> Export {
        match self {
            Question::Function(..) => Export::FunctionsCall,
            Question::Policy(export) => *export,
        }
    }
}

pub(super) fn names(exports: &[Export]) -> String {
    exports.iter().map(|export| export.name()).collect::<Vec<_>>().join(", ")
}

/// Words of a command line as arguments of a function: a text where the function wants one, else JSON; what is no JSON is
/// a text.
pub(super) fn arguments(function: &Function, words: &[String]) -> Vec<Value> {
    let kinds =
        function.parameters.iter().map(|parameter| Some(parameter.kind)).chain(std::iter::repeat(None));
    let value = |(word, kind): (&String, Option<ParameterKind>)| match kind {
        Some(ParameterKind::Text) => word.as_str().into(),
        _ => serde_json::from_str(word).unwrap_or_else(|_| word.as_str().into()),
    };
    words.iter().zip(kinds).map(value).collect()
}

/// The cluster that a plugin is called about.
pub(super) enum Scene {
    /// No cluster: a view without any key.
    Empty(Box<Snapshot>),
    /// A cluster as one of its nodes sees it.
    Cluster(Box<Cluster>),
}

impl Scene {
    /// A scene without a cluster.
    pub(super) fn empty() -> anyhow::Result<Self> {
        let nobody: Name = "node".parse().map_err(|error| anyhow!("{error}"))?;
        let snapshot = Engine::new(Settings::new(nobody)).snapshot().clone();
        Ok(Self::Empty(Box::new(Snapshot { view: View::default(), ..snapshot })))
    }

    /// A cluster of some objects.
    pub(super) fn cluster(
        objects: &[PathBuf],
        workloads: Option<&Path>,
        settings: Settings,
        set: &PluginSet,
    ) -> anyhow::Result<Self> {
        let cluster = Cluster::read(objects, workloads, settings, set.clone())?;
        cluster.require_node()?;
        Ok(Self::Cluster(Box::new(cluster)))
    }

    /// Tells what is wrong with the objects; returns whether any were left out, as commands end.
    pub(super) fn report(&self) -> Exit {
        match self {
            Scene::Empty(_) => Exit::Done,
            Scene::Cluster(cluster) => {
                cluster.report();
                cluster.done()
            }
        }
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        match self {
            Scene::Empty(snapshot) => snapshot,
            Scene::Cluster(cluster) => cluster.engine.snapshot(),
        }
    }
}

/// How a call went.
#[derive(Debug)]
pub(super) struct Outcome {
    /// What the plugin answered, checked or not; absent when it gave no answer.
    pub(super) answer: Option<Value>,
    /// Why there is no answer, or none that can be used.
    pub(super) error: Option<String>,
    /// What the answer depends on.
    pub(super) reads: Reads,
    /// What making and configuring the instance used.
    pub(super) configured: Usage,
    /// What it used altogether.
    pub(super) usage: Usage,
}

impl Outcome {
    /// The answer as golden cases hold it: the error, if there is one.
    pub(super) fn golden(&self) -> Value {
        match &self.error {
            Some(error) => json!({ "error": error }),
            None => self.answer.clone().unwrap_or_default(),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let logs = self.usage.logs.iter().map(|line| json!({ "level": level(line), "text": line.text }));
        json!({
            "answer": self.answer,
            "error": self.error,
            "calls": self.calls(),
            "fuel": self.fuel(),
            "fuel_configure": self.configured.fuel,
            "memory": self.usage.memory,
            "reads": {
                "keys": self.reads.keys,
                "paths": self.reads.paths,
                "revision": self.reads.revision,
            },
            "logs": logs.collect::<Value>(),
            "dropped_lines": self.usage.dropped_lines,
        })
    }

    /// The calls of the export.
    pub(super) fn calls(&self) -> u64 {
        self.usage.calls.saturating_sub(self.configured.calls)
    }

    /// The fuel of those calls.
    pub(super) fn fuel(&self) -> u64 {
        self.usage.fuel.saturating_sub(self.configured.fuel)
    }
}

/// How much a line matters, as a word.
pub(super) fn level(line: &LogLine) -> &'static str {
    match line.level {
        log::Level::Debug => "debug",
        log::Level::Info => "info",
        log::Level::Warn => "warning",
        log::Level::Error => "error",
    }
}

/// Asks the one plugin of a set.
pub(super) fn ask(set: &PluginSet, scene: &Scene, question: &Question) -> Outcome {
    let mut session = set.begin(scene.snapshot(), Instant::now());
    let prepared = session.prepare(0);
    let used = |session: &Session| session.usage().next().cloned().unwrap_or_default();
    let configured = used(&session);
    let (answer, error, reads) = match (prepared, question) {
        (Err(error), _) => (None, Some(error), Reads::default()),
        (Ok(()), Question::Function(index, arguments)) => {
            match session.call_function(0, *index, &arguments.iter().collect::<Vec<_>>()) {
                Ok(asked) => (Some(asked.answer), None, asked.reads),
                Err(error) => (None, Some(error), Reads::default()),
            }
        }
        (Ok(()), Question::Policy(export)) => {
            let mut recorder = Recorder::new(&mut session, *export, Watch::Record);
            let failed = derive(scene.snapshot(), &mut recorder).err();
            // One export of one plugin is asked once, and fails once.
            let error = failed.and_then(|failed| failed.errors.into_iter().next());
            (recorder.answer, error, recorder.reads)
        }
    };
    Outcome { answer, error: error.map(|error| error.cause), reads, configured, usage: used(&session) }
}

/// How long a rendering and its calls of one export took.
pub(super) struct Timed {
    /// The calls of the plugin.
    pub(super) plugin: Duration,
    /// All of it.
    pub(super) whole: Duration,
    /// The fuel of the calls.
    pub(super) fuel: u64,
}

/// Times what a first rendering asks of an export, with an instance that is there already. Without the plugin itself, all
/// calls answer nothing: what is left is the host's own work.
pub(super) fn time(
    set: &PluginSet,
    scene: &Scene,
    export: Export,
    with_plugin: bool,
) -> anyhow::Result<Timed> {
    let mut session = set.begin(scene.snapshot(), Instant::now());
    session.prepare(0)?;
    let fuel = |session: &Session| session.usage().map(|usage| usage.fuel).sum::<u64>();
    let before = fuel(&session);
    let watch = if with_plugin { Watch::Time } else { Watch::Absent };
    let mut recorder = Recorder::new(&mut session, export, watch);
    let begun = Instant::now();
    derive(scene.snapshot(), &mut recorder)?;
    let whole = begun.elapsed();
    let plugin = recorder.time;
    Ok(Timed { plugin, whole, fuel: fuel(&session) - before })
}

/// Asks what a first rendering asks.
fn derive(snapshot: &Snapshot, plugins: &mut dyn Plugins) -> Result<(), Abandoned> {
    let changes = Changes { from: 0, to: snapshot.revision, ..Changes::default() };
    Overlay::new().derive(snapshot, changes, plugins).map(drop)
}
