//! The cluster that a one-shot command works on: objects from files, seen from one node.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde_json::json;

use super::output::{self, Exit};
use crate::delivery::{self, Destination, Group};
use crate::engine::{Engine, Severity};
use crate::environment;
use crate::manifest::Source;
use crate::render::{self, Renderer};
use crate::resources::{Defaults, ObjectKey};
use crate::syncer::files;
use crate::types::Name;

/// Which cluster and which node.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterArgs {
    /// Files and folders of manifests (*.yaml, *.yml, *.json), a later object replacing an earlier one
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    objects: Vec<PathBuf>,
    /// The node to render for
    #[arg(long, value_name = "NAME", env = "NODENAME")]
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
        for path in &args.objects {
            path.metadata()
                .with_context(|| format!("{}: cannot be read, so nothing was rendered", path.display()))?;
        }
        let lookup = |name: &str| std::env::var(name).ok();
        let settings = environment::settings(args.node.clone(), &lookup)?;
        let defaults = Defaults::new(settings.secret_namespace.clone());
        let mut engine = Engine::new(settings);
        let mut batch = engine.batch();
        let loaded = files::load_manifests(&args.objects, &defaults, &mut batch);
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
            let list: Vec<String> = blocking.iter().map(|error| format!("\n  {error}")).collect();
            bail!("nothing is rendered while these objects are malformed:{}", list.concat());
        }
        let node = self.engine.settings().node.clone();
        let loaded = match &templates.confdir {
            Some(folder) => render::load(folder, &node),
            None => render::built_in(&node),
        };
        let mut resources = Vec::new();
        let mut errors = Vec::new();
        for result in loaded {
            match result {
                Ok(resource) => resources.push(resource),
                Err(error) => errors.push(error.to_string()),
            }
        }
        if let Some(first) = errors.first() {
            errors.iter().skip(1).for_each(|error| output::error(error));
            bail!("a template resource cannot be used, so nothing was rendered: {first}");
        }
        if resources.is_empty() {
            let folder = templates.confdir.clone().unwrap_or_default();
            bail!("there is no template resource (*.toml) under {}", folder.join("conf.d").display());
        }
        let named = resources.iter().map(|resource| {
            (delivery::group_name(resource.group.as_deref(), &resource.dest), resource.dest.clone())
        });
        let named: Vec<(String, PathBuf)> = named.collect();
        let renderer = self.renderer.insert(Renderer::new(resources));
        let rendering = renderer.render(self.engine.snapshot());
        Ok(delivery::groups(rendering, &named, to)?)
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
        reports.chain(problems).collect()
    }
}
