//! `tailorbird plugin run`.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::anyhow;

use super::call::{self, Export, Outcome, Question, Scene, SettingsArgs};
use crate::cli::output::{self, Exit, Format};
use crate::cli::plugins::sandbox;
use crate::environment;
use crate::plugin::PluginSet;
use crate::types::{Name, tame};

/// The longest key that is printed, in bytes.
const MAX_KEY: usize = 1000;

/// Arguments of `plugin run`.
#[derive(Debug, clap::Args)]
#[command(
    // The words stand first: behind --objects they would be PATHs.
    override_usage = "tailorbird plugin run [OPTIONS] <FILE> [--function <NAME> [ARG]...] [--objects <PATH>... --node <NAME>]",
    after_help = "Exit codes: 0 it answered, and the answer can be used; 1 it did not."
)]
pub(super) struct Args {
    /// The component
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Arguments of the function: texts where it takes texts, else JSON
    #[arg(value_name = "ARG")]
    arguments: Vec<String>,
    /// The export; it can be left out if the plugin has only one
    #[arg(long, value_name = "NAME")]
    export: Option<Export>,
    /// The function, for functions.call
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    scene: SceneArgs,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

/// Which cluster a plugin is called about.
#[derive(Debug, clap::Args)]
pub(super) struct SceneArgs {
    /// Manifests of the cluster, as `render` takes them; without any there is no key to read
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "node")]
    objects: Vec<PathBuf>,
    /// The node's name
    #[arg(long, value_name = "NAME", env = "NODENAME", hide_env_values = true)]
    node: Option<Name>,
}

impl SceneArgs {
    /// The cluster; what is wrong with its objects is told.
    pub(super) fn load(&self, set: &PluginSet) -> anyhow::Result<Scene> {
        let node = match &self.node {
            Some(node) if !self.objects.is_empty() => node.clone(),
            _ => return Scene::empty(),
        };
        let lookup = |name: &str| std::env::var(name).ok();
        let settings = environment::settings(node, &lookup)?;
        let status = environment::endpoint_status_folder(&lookup);
        let scene = Scene::cluster(&self.objects, Some(&status), settings, set)?;
        scene.report();
        Ok(scene)
    }

    /// An error unless there is a cluster.
    pub(super) fn require(&self, export: Export) -> anyhow::Result<()> {
        match self.objects.is_empty() && export != Export::FunctionsCall {
            true => Err(anyhow!("{} is asked about a cluster: give --objects and --node", export.name())),
            false => Ok(()),
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let sandbox = sandbox(None)?;
    let set = call::load(&sandbox, &args.file, &args.settings.settings)?;
    let question = Question::new(&set, args.export, args.function.as_deref(), |function| {
        call::arguments(function, &args.arguments)
    })?;
    args.scene.require(question.export())?;
    let scene = args.scene.load(&set)?;
    let outcome = call::ask(&set, &scene, &question);
    match args.output {
        Format::Text => output::print(&to_text(&outcome))?,
        Format::Json => {
            let mut all = outcome.to_json();
            all["plugin"] = set.facts().first().map(|facts| &*facts.name).into();
            all["export"] = question.export().name().into();
            output::print(&format!("{all:#}\n"))?;
        }
    }
    Ok(match &outcome.error {
        None => Exit::Done,
        Some(error) => {
            output::error(&format!("{}: {error}", question.export().name()));
            Exit::Failed
        }
    })
}

fn to_text(outcome: &Outcome) -> String {
    let mut text = match &outcome.answer {
        Some(answer) => format!("{answer:#}\n"),
        None if outcome.error.is_none() => "not called: the cluster has nothing to ask about\n".to_owned(),
        None => String::new(),
    };
    let mut row = |label: &str, value: &str| {
        // A String takes everything.
        let _ = writeln!(text, "{label:<9} {value}");
    };
    row("fuel", &format!("{}, and {} to configure", outcome.fuel(), outcome.configured.fuel));
    row("memory", &format!("{} bytes", outcome.usage.memory));
    let reads = &outcome.reads;
    let paths = reads.paths.iter().map(|path| format!("all below {}", tame(path, MAX_KEY)));
    let revision = reads.revision.then(|| "the revision".to_owned());
    let all: Vec<String> =
        reads.keys.iter().map(|key| tame(key, MAX_KEY)).chain(paths).chain(revision).collect();
    if all.is_empty() {
        row("read", "nothing");
    }
    for (index, read) in all.iter().enumerate() {
        row(if index == 0 { "read" } else { "" }, read);
    }
    for line in &outcome.usage.logs {
        row(call::level(line), &line.text);
    }
    if outcome.usage.dropped_lines > 0 {
        row("", &format!("and {} lines that were too many", outcome.usage.dropped_lines));
    }
    text
}
