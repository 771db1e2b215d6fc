//! `tailorbird plugin bench`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::call::{self, Export, Question, Scene, SettingsArgs};
use super::run::SceneArgs;
use crate::cli::output::{self, Exit, Format, Progress};
use crate::cli::plugins::sandbox;
use crate::measure::{Times, nanoseconds, shown};
use crate::plugin::PluginSet;

/// The time that one measurement takes, unless it has made enough calls before.
const TIME: Duration = Duration::from_secs(2);

/// The most calls of one measurement.
const CALLS: usize = 2000;

/// The most calls of a function in one rendering; more would run into the limit on its fuel.
const IN_ONE_RENDERING: usize = 20;

const HELP: &str = "\
The host's time for an export is that of asking and checking alone: the same rendering with a plugin that answers nothing.

Exit codes: 0 measured; 1 the plugin failed.";

/// Arguments of `plugin bench`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tailorbird plugin bench [OPTIONS] <FILE> [--function <NAME> [ARG]...] [--objects <PATH>... --node <NAME>]",
    after_help = HELP
)]
pub(super) struct Args {
    /// The component
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Arguments of the function, as for `plugin run`
    #[arg(value_name = "ARG", requires = "function")]
    arguments: Vec<String>,
    /// The function to call
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

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let sandbox = sandbox(None)?;
    let set = call::load(&sandbox, &args.file, &args.settings.settings)?;
    let scene = args.scene.load(&set)?;
    let mut questions = Vec::new();
    if let Scene::Cluster(_) = &scene {
        let policies = Export::of(&set).into_iter().filter(|export| *export != Export::FunctionsCall);
        questions.extend(policies.map(Question::Policy));
    }
    if let Some(name) = &args.function {
        let arguments = |function: &_| call::arguments(function, &args.arguments);
        questions.push(Question::new(&set, Some(Export::FunctionsCall), Some(name), arguments)?);
    }
    anyhow::ensure!(
        !questions.is_empty(),
        "there is nothing to call: give --objects and --node, or --function for a plugin with functions"
    );
    let mut rows = vec![start(&set, &scene)?];
    for question in &questions {
        rows.push(match question {
            Question::Policy(export) => policy(&set, &scene, *export)?,
            Question::Function(index, arguments) => function(&set, &scene, *index, arguments)?,
        });
    }
    match args.output {
        Format::Text => output::print(&to_text(&rows))?,
        Format::Json => {
            let rows: Value = rows.iter().map(Row::to_json).collect();
            let plugin = set.facts().first().map(|facts| &*facts.name);
            output::print(&format!("{:#}\n", json!({ "plugin": plugin, "measured": rows })))?;
        }
    }
    Ok(Exit::Done)
}

/// What was measured of one kind of call.
struct Row {
    what: String,
    /// The plugin's times.
    times: Times,
    fuel: u64,
    /// The host's own time around a call, median; the upper of two.
    host: Option<Duration>,
}

impl Row {
    fn to_json(&self) -> Value {
        json!({
            "call": self.what,
            "calls": self.times.len(),
            "median_ns": nanoseconds(self.times.median()),
            "p99_ns": nanoseconds(self.times.percentile(99)),
            "fuel": self.fuel,
            "host_median_ns": self.host.map(nanoseconds),
        })
    }
}

/// Measures until the time is over; each step adds a time or several.
fn measure<T: FromIterator<Duration>>(
    what: &str,
    mut step: impl FnMut(&mut Vec<Duration>) -> anyhow::Result<()>,
) -> anyhow::Result<T> {
    let progress = Progress::new(&format!("measuring {what}"));
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < CALLS && (times.is_empty() || start.elapsed() < TIME) {
        step(&mut times)?;
    }
    drop(progress);
    Ok(times.into_iter().collect())
}

/// Making an instance and configuring it, which each rendering does once.
fn start(set: &PluginSet, scene: &Scene) -> anyhow::Result<Row> {
    let what = "instantiate and configure";
    let mut fuel = 0;
    let times = measure(what, |times| {
        let begun = Instant::now();
        let mut session = set.begin(scene.snapshot(), begun);
        session.prepare(0)?;
        times.push(begun.elapsed());
        fuel = session.usage().map(|usage| usage.fuel).sum();
        Ok(())
    })?;
    Ok(Row { what: what.to_owned(), times, fuel, host: None })
}

/// An export of a policy, as a first rendering calls it: about everything.
fn policy(set: &PluginSet, scene: &Scene, export: Export) -> anyhow::Result<Row> {
    let mut fuel = 0;
    let times = measure(export.name(), |times| {
        let timed = call::time(set, scene, export, true)?;
        times.push(timed.plugin);
        fuel = timed.fuel;
        Ok(())
    })?;
    let mut host: Vec<Duration> = measure("the host's own work", |times| {
        times.push(call::time(set, scene, export, false)?.whole);
        Ok(())
    })?;
    host.sort_unstable();
    let host = host.get(host.len() / 2).copied();
    Ok(Row { what: export.name().to_owned(), times, fuel, host })
}

/// A function, called several times in each rendering as templates do.
fn function(set: &PluginSet, scene: &Scene, index: usize, arguments: &[Value]) -> anyhow::Result<Row> {
    let name = set.functions().nth(index).map_or("", |(_, function)| &function.name);
    let arguments: Vec<&Value> = arguments.iter().collect();
    let mut fuel = 0;
    let times = measure(name, |times| {
        let mut session = set.begin(scene.snapshot(), Instant::now());
        session.prepare(0)?;
        for _ in 0..IN_ONE_RENDERING {
            let before: u64 = session.usage().map(|usage| usage.fuel).sum();
            let begun = Instant::now();
            session.call_function(0, index, &arguments)?;
            times.push(begun.elapsed());
            fuel = session.usage().map(|usage| usage.fuel).sum::<u64>() - before;
        }
        Ok(())
    })?;
    Ok(Row { what: format!("functions.call {name}"), times, fuel, host: None })
}

fn to_text(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.what.len()).max().unwrap_or(0);
    let mut text = format!(
        "{:<width$}  {:>6}  {:>9}  {:>9}  {:>11}  {:>9}\n",
        "call", "calls", "median", "p99", "fuel", "host"
    );
    for row in rows {
        let host = row.host.map_or_else(|| "-".to_owned(), shown);
        // A String takes everything.
        let _ = writeln!(
            text,
            "{:<width$}  {:>6}  {:>9}  {:>9}  {:>11}  {host:>9}",
            row.what,
            row.times.len(),
            shown(row.times.median()),
            shown(row.times.percentile(99)),
            row.fuel,
        );
    }
    text
}
