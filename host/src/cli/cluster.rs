//! The cluster that a one-shot command works on: objects from files, seen from one node.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use serde_json::json;

use super::output::{self, Exit};
use crate::delivery::{self, Destination, Group};
use crate::engine::{Engine, Severity};
use crate::environment;
use crate::manifest::{self, Source};
use crate::render::{self, Renderer};
use crate::resources::{Defaults, ObjectKey};
use crate::syncer::files;
use crate::types::Name;

/// Which cluster and which node.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterArgs {
    /// Manifests: files, folders (their *.yaml, *.yml and *.json), - for standard input. A later object replaces an
    /// earlier one of its kind and name
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    objects: Vec<PathBuf>,
    /// The node's name
    #[arg(long, value_name = "NAME", env = "NODENAME", hide_env_values = true)]
    node: Name,
}

/// Which templates.
#[derive(Debug, clap::Args)]
pub(super) struct TemplateArgs {
    /// A folder with conf.d/*.toml and templates/, instead of the built-in set
    #[arg(long, value_name = "DIR")]
    confdir: Option<PathBuf>,
}

/// A cluster that was read.
pub(super) struct Cluster {
    pub(super) engine: Engine,
    renderer: Option<Renderer>,
    problems: Vec<(Source, String)>,
    places: BTreeMap<ObjectKey, Source>,
    workload_errors: Vec<String>,
}

impl Cluster {
    /// Reads the objects.
    pub(super) fn load(args: &ClusterArgs) -> anyhow::Result<Self> {
        let paths: Vec<PathBuf> = args.objects.iter().map(|path| standard_input(path)).collect();
        paths.iter().try_for_each(|path| require_manifests(path))?;
        let lookup = |name: &str| std::env::var(name).ok();
        let settings = environment::settings(args.node.clone(), &lookup)?;
        let defaults = Defaults {
            published: settings.published.clone(),
            ..Defaults::new(settings.secret_namespace.clone())
        };
        let mut engine = Engine::new(settings);
        let mut batch = engine.batch();
        let loaded = files::load_manifests(&paths, &defaults, &mut batch);
        let status = environment::endpoint_status_folder(&lookup);
        let workload_errors = files::load_workloads(&status, &mut batch);
        batch.finish();
        Ok(Self { engine, renderer: None, problems: loaded.problems, places: loaded.places, workload_errors })
    }

    /// Tells the operator what was left out and what has no effect; returns how a command ends that does its work.
    pub(super) fn report(&self) -> Exit {
        let mut exit = Exit::Done;
        for (source, problem) in &self.problems {
            exit = Exit::LeftOut;
            output::error(&format!("{source}: {problem}"));
        }
        for problem in &self.workload_errors {
            exit = Exit::LeftOut;
            output::error(problem);
        }
        for report in self.engine.reports() {
            let text = match self.places.get(&report.error.object) {
                Some(source) => format!("{source}: {}", report.error),
                None => report.error.to_string(),
            };
            match report.severity {
                Severity::LeftOut => {
                    exit = Exit::LeftOut;
                    output::error(&text);
                }
                Severity::Warning => output::warning(&text),
            }
        }
        exit
    }

    /// Renders the node's files, in groups.
    pub(super) fn render(
        &mut self,
        templates: &TemplateArgs,
        to: &Destination,
    ) -> anyhow::Result<Vec<Group>> {
        self.require_node()?;
        let blocking = self.engine.blocking();
        if !blocking.is_empty() {
            // What is wrong with them has been reported.
            let names: BTreeSet<String> = blocking.iter().map(|error| error.object.to_string()).collect();
            let names: Vec<String> = names.into_iter().collect();
            bail!("nothing is rendered while these are malformed: {}", names.join(", "));
        }
        let node = self.engine.settings().node.clone();
        let loaded = match &templates.confdir {
            Some(folder) => render::load(folder, &node),
            None => render::built_in(&node),
        };
        let mut resources = Vec::new();
        let mut unusable = Vec::new();
        for result in loaded {
            match result {
                Ok(resource) => resources.push(resource),
                Err(error) if error.group.is_some() => unusable.push(error),
                Err(error) => {
                    bail!("nobody can tell which group this belongs to, so nothing was rendered: {error}")
                }
            }
        }
        if resources.is_empty() && unusable.is_empty() {
            let folder = templates.confdir.clone().unwrap_or_default().join("conf.d");
            let there = if folder.is_dir() {
                "there is no template resource (*.toml) in"
            } else {
                "there is no folder"
            };
            bail!(
                "{there} {}; `tailorbird templates export DIR` makes a set to start from",
                folder.display()
            );
        }
        let named = resources.iter().map(|resource| (resource.group_name(), resource.dest.clone()));
        let named: Vec<(String, PathBuf)> = named.collect();
        let renderer = self.renderer.insert(Renderer::new(resources));
        let rendering = renderer.render(self.engine.snapshot());
        Ok(delivery::groups(rendering, &named, &unusable, to)?)
    }

    /// An error unless there is a node of the name asked for; it lists names that are near.
    pub(super) fn require_node(&self) -> anyhow::Result<()> {
        let wanted = self.engine.settings().node.as_str();
        if self.engine.has_node(wanted) {
            return Ok(());
        }
        let mut names: Vec<(f64, &str)> = self
            .engine
            .node_names()
            .map(|name| (strsim::jaro_winkler(wanted, name.as_str()), name.as_str()))
            .collect();
        if names.is_empty() {
            bail!(
                "there is no node {wanted}: the objects hold no node at all (Node of v1 or projectcalico.org/v3)"
            );
        }
        names.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let near: Vec<&str> = names.iter().take(5).map(|(_, name)| *name).collect();
        bail!(
            "there is no node {wanted} among the {} nodes; the nearest names are {}",
            names.len(),
            near.join(", ")
        )
    }

    /// The reports as JSON.
    pub(super) fn reports_json(&self) -> serde_json::Value {
        let reports = self.engine.reports().map(|report| {
            json!({
                "severity": match report.severity { Severity::LeftOut => "left-out", Severity::Warning => "warning" },
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
            self.workload_errors.iter().map(|error| json!({ "severity": "left-out", "reason": error }));
        reports.chain(problems).chain(workloads).collect()
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
