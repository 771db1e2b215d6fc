//! The cluster that a one-shot command works on: objects from files, seen from one node.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{anyhow, bail};
use serde_json::json;

use super::datastore::{CalicoArgs, Datastore};
use super::output::{self, Exit};
use super::plugins::PluginArgs;
use crate::delivery::{Destination, Group};
use crate::engine::{Engine, Settings, Severity};
use crate::environment::{self, CalicoConfig};
use crate::explain::{Explanation, Query, nearest};
use crate::manifest::{self, Source};
use crate::pipeline::{self, Cause, Templates, Unrendered};
use crate::plugin::PluginSet;
use crate::policy::{CallError, OnError};
use crate::resources::ObjectKey;
use crate::syncer::files;
use crate::types::Name;

/// Which cluster and which node.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterArgs {
    /// Manifests: files, folders (their *.yaml, *.yml and *.json), - for standard input. A later object replaces an
    /// earlier one of its kind and name
    #[arg(
        long,
        value_name = "PATH",
        required_unless_present_any = ["datastore", "calico_config"],
        conflicts_with = "calico_config",
        num_args = 1..
    )]
    objects: Vec<PathBuf>,
    /// The running cluster that the objects are in, in place of files
    #[arg(long, value_name = "KIND", conflicts_with = "objects")]
    datastore: Option<Datastore>,
    #[command(flatten)]
    calico: CalicoArgs,
    /// The node's name
    #[arg(long, value_name = "NAME", env = "NODENAME", hide_env_values = true)]
    node: Name,
    #[command(flatten)]
    plugins: PluginArgs,
}

/// Which templates.
#[derive(Debug, clap::Args)]
pub(super) struct TemplateArgs {
    /// A folder with conf.d/*.toml and templates/, instead of the built-in set
    #[arg(long, value_name = "DIR")]
    pub(super) confdir: Option<PathBuf>,
}

/// A cluster that was read.
pub(super) struct Cluster {
    pub(super) engine: Engine,
    pub(super) plugins: PluginSet,
    problems: Vec<(Source, String)>,
    places: BTreeMap<ObjectKey, Source>,
    /// What is wrong with workloads and with sources, as far as no object can be named.
    source_errors: Vec<String>,
    /// What plugins failed at in the rendering, where it went on without them.
    failures: Vec<(Severity, CallError)>,
}

impl Cluster {
    /// Loads the plugins and reads the objects.
    pub(super) fn load(args: &ClusterArgs) -> anyhow::Result<Self> {
        let plugins = args.plugins.load(&args.plugins.configuration()?.plugins)?;
        let (settings, status) = around(args.node.clone())?;
        let file = args.calico.read()?;
        let datastore = match (args.datastore, &file) {
            (None, None) => return Self::read(&args.objects, Some(&status), settings, plugins),
            (None, file) => Datastore::choose(&|name| std::env::var(name).ok(), file.as_ref())?,
            (Some(datastore), _) => datastore,
        };
        Self::read_from(datastore, file.as_ref(), &status, settings, plugins)
    }

    /// Loads the plugins and reads the objects of files.
    pub(super) fn open(objects: &[PathBuf], node: Name, plugins: &PluginArgs) -> anyhow::Result<Self> {
        let plugins = plugins.load(&plugins.configuration()?.plugins)?;
        let (settings, status) = around(node)?;
        Self::read(objects, Some(&status), settings, plugins)
    }

    /// Reads the objects of a datastore, and workloads from a folder, for these plugins.
    fn read_from(
        datastore: Datastore,
        file: Option<&CalicoConfig>,
        workloads: &Path,
        settings: Settings,
        plugins: PluginSet,
    ) -> anyhow::Result<Self> {
        let mut engine = Engine::new(Settings { published: plugins.published().into(), ..settings });
        let source_errors = datastore.read(&mut engine, file)?;
        let mut batch = engine.batch();
        let workload_errors = files::load_workloads(workloads, &mut batch);
        batch.finish();
        let source_errors = source_errors.into_iter().chain(workload_errors).collect();
        let (problems, places, failures) = (Vec::new(), BTreeMap::new(), Vec::new());
        Ok(Self { engine, plugins, problems, places, source_errors, failures })
    }

    /// Reads objects, and workloads from a folder, for these plugins.
    pub(super) fn read(
        objects: &[PathBuf],
        workloads: Option<&Path>,
        settings: Settings,
        plugins: PluginSet,
    ) -> anyhow::Result<Self> {
        let paths: Vec<PathBuf> = objects.iter().map(|path| standard_input(path)).collect();
        paths.iter().try_for_each(|path| require_manifests(path))?;
        let settings = Settings { published: plugins.published().into(), ..settings };
        let defaults = settings.defaults();
        let mut engine = Engine::new(settings);
        let mut batch = engine.batch();
        let loaded = files::load_manifests(&paths, &defaults, &mut batch);
        let workload_errors =
            workloads.map_or_else(Vec::new, |folder| files::load_workloads(folder, &mut batch));
        batch.finish();
        let (problems, places) = (loaded.problems, loaded.places);
        let source_errors = workload_errors;
        Ok(Self { engine, plugins, problems, places, source_errors, failures: Vec::new() })
    }

    /// Tells the operator what was left out and what has no effect.
    pub(super) fn report(&self) {
        for (source, problem) in &self.problems {
            output::error(&format!("{source}: {problem}"));
        }
        self.source_errors.iter().for_each(|problem| output::error(problem));
        for report in self.engine.reports() {
            let text = match self.places.get(&report.error.object) {
                Some(source) => format!("{source}: {}", report.error),
                None => report.error.to_string(),
            };
            tell(report.severity, &text);
        }
    }

    /// How a command ends that does its work.
    pub(super) fn done(&self) -> Exit {
        let reports = self.engine.reports().map(|report| report.severity);
        let mut severities = reports.chain(self.failures.iter().map(|(severity, _)| *severity));
        let all = self.problems.is_empty() && self.source_errors.is_empty();
        if all && severities.all(|severity| severity == Severity::Warning) {
            Exit::Done
        } else {
            Exit::LeftOut
        }
    }

    /// Renders the node's files, in groups, and tells what plugins failed at.
    pub(super) fn render(
        &mut self,
        templates: &TemplateArgs,
        to: &Destination,
    ) -> anyhow::Result<Vec<Group>> {
        self.require_rendering()?;
        let node = &self.engine.settings().node;
        let mut loaded = Templates::load(templates.confdir.as_deref(), node, &self.plugins)?;
        let snapshot = self.engine.snapshot();
        let rendered = pipeline::render_once(snapshot, &self.plugins, &mut loaded, to, Instant::now());
        let rendered = match rendered {
            Err(Unrendered { cause: Cause::Abandoned(abandoned), .. }) => {
                abandoned.errors.iter().for_each(|error| output::error(&error.to_string()));
                bail!("nothing was rendered: without a plugin whose on_error is `keep` nothing may be")
            }
            rendered => rendered?,
        };
        let failed = rendered.plugins.failures.into_iter().map(|error| (self.severity(&error), error));
        let skipped = rendered.plugins.skipped.into_iter().map(|error| (Severity::Warning, error));
        self.failures = failed.chain(skipped).collect();
        self.failures.iter().for_each(|(severity, error)| tell(*severity, &error.to_string()));
        Ok(rendered.groups)
    }

    /// An error where nothing may be rendered: there is no such node, or an object is malformed that could open something.
    pub(super) fn require_rendering(&self) -> anyhow::Result<()> {
        self.require_node()?;
        let blocking = self.engine.blocking();
        if !blocking.is_empty() {
            // What is wrong with them has been reported.
            let names: BTreeSet<String> = blocking.iter().map(|error| error.object.to_string()).collect();
            let names: Vec<String> = names.into_iter().collect();
            bail!("nothing is rendered while these are malformed: {}", names.join(", "));
        }
        Ok(())
    }

    /// An error unless there is a node of the name asked for; it lists names that are near.
    pub(super) fn require_node(&self) -> anyhow::Result<()> {
        let wanted = self.engine.settings().node.as_str();
        if self.engine.has_node(wanted) {
            return Ok(());
        }
        let near = nearest(wanted, self.engine.node_names().map(Name::as_str));
        if near.is_empty() {
            bail!(
                "there is no node {wanted}: the objects hold no node at all (Node of v1 or projectcalico.org/v3)"
            );
        }
        bail!(
            "there is no node {wanted} among the {} nodes; the nearest names are {}",
            self.engine.node_names().count(),
            near.join(", ")
        )
    }

    /// Explains something of the node, and tells what plugins failed at.
    pub(super) fn explain(&mut self, query: &Query) -> Explanation {
        let (mut explanation, failures) =
            pipeline::explain_once(&self.engine, &self.plugins, query, Instant::now());
        self.failures = failures.into_iter().map(|error| (self.severity(&error), error)).collect();
        self.failures.iter().for_each(|(severity, error)| tell(*severity, &error.to_string()));
        let manifests = self.problems.iter().map(|(source, problem)| format!("{source}: {problem}"));
        explanation.note_unread(manifests.chain(self.source_errors.iter().cloned()));
        explanation
    }

    /// How much the failure of a plugin matters.
    fn severity(&self, error: &CallError) -> Severity {
        let facts = self.plugins.facts().iter().find(|facts| facts.name == error.plugin);
        match facts.map(|facts| facts.on_error) {
            Some(OnError::Skip) => Severity::Warning,
            _ => Severity::LeftOut,
        }
    }

    /// The reports as JSON.
    pub(super) fn reports_json(&self) -> serde_json::Value {
        let reports = self.engine.reports().map(|report| {
            json!({
                "severity": severity_name(report.severity),
                "object": report.error.object.to_string(),
                "field": report.error.field,
                "value": report.error.value,
                "reason": report.error.reason,
                "place": self.places.get(&report.error.object).map(ToString::to_string),
            })
        });
        let problems = self.problems.iter().map(|(source, problem)| {
            json!({ "severity": "left-out", "place": source.to_string(), "reason": problem })
        });
        let workloads =
            self.source_errors.iter().map(|error| json!({ "severity": "left-out", "reason": error }));
        let failures = self.failures.iter().map(|(severity, error)| {
            json!({
                "severity": severity_name(*severity),
                "plugin": &*error.plugin,
                "call": error.call,
                "reason": error.cause,
            })
        });
        reports.chain(problems).chain(workloads).chain(failures).collect()
    }
}

/// What the environment says of a node, and the folder of its workloads.
fn around(node: Name) -> anyhow::Result<(Settings, PathBuf)> {
    let lookup = |name: &str| std::env::var(name).ok();
    Ok((environment::settings(node, &lookup)?, environment::endpoint_status_folder(&lookup)))
}

fn tell(severity: Severity, text: &str) {
    match severity {
        Severity::LeftOut => output::error(text),
        Severity::Warning => output::warning(text),
    }
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::LeftOut => "left-out",
        Severity::Warning => "warning",
    }
}

/// The path to read for a path that was given: `-` is standard input.
fn standard_input(path: &Path) -> PathBuf {
    if path == Path::new("-") { "/dev/stdin".into() } else { path.to_owned() }
}

/// A path that is not there, or a folder without manifests, is a mistake.
fn require_manifests(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    let found = path.metadata().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow!("{shown}: there is no such file or folder"),
        _ => anyhow!("{shown}: cannot be read: {error}"),
    })?;
    if found.is_dir() {
        let files =
            manifest::files_of(path).map_err(|error| anyhow!("{shown}: cannot be listed: {error}"))?;
        if files.is_empty() {
            bail!(
                "{shown}: there is no manifest (*.yaml, *.yml, *.json) in it; folders in a folder are not read"
            );
        }
    }
    Ok(())
}
