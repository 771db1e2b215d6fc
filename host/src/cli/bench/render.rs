//! `tailorbird bench render`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::{Value, json};

use super::scene::{Disk, Phases, RunArgs, Scene, SceneArgs, failed, put};
use super::table::{Row, percent, ratio, sentences, table};
use super::turn::{Turns, node_facts};
use crate::bird::check::CHECK_TIMEOUT;
use crate::cli::output::{self, Exit, Format, Progress};
use crate::engine::Snapshot;
use crate::engine::selector::Selector;
use crate::measure::{Calls, StepError, Times, shown};
use crate::plugin::PluginSet;
use crate::render::{Renderer, Rendering, Resource, SharedCalls};

/// Selectors that are shown; there can be thousands.
const SELECTORS: usize = 10;

const HELP: &str = "\
The floor is what the disk alone takes: the bytes of all files written, synced and renamed, in turn with the renderings.
Nothing outside the folder of --disk is written to. Exit codes: 0 measured; 1 could not be; 3 measured, but objects were left out.";

/// Arguments of `bench render`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    scene: SceneArgs,
    #[command(flatten)]
    runs: RunArgs,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

/// The times of renderings, and what they are compared with.
#[derive(Default)]
struct Measured {
    load: Times,
    phases: Phases,
    assemble: Times,
    check: Times,
    whole: Times,
    floor: Times,
    bytes: usize,
    items: usize,
    /// The calls of each plugin in each run.
    plugins: BTreeMap<usize, Vec<Calls>>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let scene = Scene::load(&args.scene)?;
    let mut disk = args.runs.disk()?;
    let progress = Progress::new("rendering");
    let mut measured = Measured::default();
    for run in 1..=args.runs.runs {
        progress.say(&format!("rendering, {run} of {}", args.runs.runs));
        measured.take(&scene, &mut disk)?;
    }
    progress.say("templates, one by one");
    let templates = templates(&scene, args.runs.runs.min(5))?;
    progress.say("selectors, one by one");
    let selectors = selectors(&scene);
    drop(progress);
    let report = Report {
        scene: &scene,
        measured,
        templates,
        selectors,
        folder: args.runs.folder().display().to_string(),
    };
    match args.output {
        Format::Text => output::print(&report.to_text())?,
        Format::Json => output::print(&format!("{:#}\n", report.to_json()))?,
    }
    Ok(scene.cluster.done())
}

impl Measured {
    /// Renders once from nothing, and puts the files in place.
    fn take(&mut self, scene: &Scene<'_>, disk: &mut Disk) -> anyhow::Result<()> {
        let events = scene.events();
        let mut node = self.load.time(|| scene.fresh())?;
        let step = node.step(events).map_err(failed)?;
        self.phases.push(&step);
        self.items = step.rendering.stats.fragments_rendered;
        let mut calls: BTreeMap<usize, Calls> = BTreeMap::new();
        for (called, more) in &step.calls {
            let sum = calls.entry(called.plugin).or_default();
            sum.calls += more.calls;
            sum.items += more.items;
            sum.time += more.time;
        }
        for (plugin, sum) in calls {
            self.plugins.entry(plugin).or_default().push(sum);
        }
        let texts = self.assemble.time(|| step.texts());
        self.bytes = texts.iter().map(Vec::len).sum();
        let before_disk = step.time();
        let groups = scene.groups(step.rendering, &disk.fresh()?)?;
        let put = put(&groups)?;
        self.phases.put.push(put);
        let mut checks = Vec::new();
        for group in &groups {
            checks.extend(group.checks().map_err(|error| anyhow!("{error}"))?);
        }
        let mut checked = Times::default();
        for check in &checks {
            checked.time(|| check.check.run(&check.dest, CHECK_TIMEOUT))?;
        }
        if !checks.is_empty() {
            self.check.push(checked.sum());
        }
        self.floor.push(disk.floor(&texts)?);
        self.whole.push(before_disk + put + checked.sum());
        Ok(())
    }
}

/// What each template takes alone, of the same snapshot.
fn templates(scene: &Scene<'_>, runs: u32) -> anyhow::Result<Vec<Row>> {
    let mut node = scene.fresh()?;
    node.step(scene.events()).map_err(failed)?;
    let snapshot = node.snapshot().ok_or_else(|| anyhow!("nothing was rendered"))?;
    let mut rows: Vec<(String, Times, usize, usize)> = Vec::new();
    for _ in 0..runs {
        for (nth, resource) in scene.resources()?.into_iter().enumerate() {
            let what =
                format!("{} of {}", resource.dest.file_name().unwrap_or_default().display(), resource.src);
            let (time, rendering) =
                template_alone(resource, snapshot, &scene.cluster.plugins).map_err(failed)?;
            let bytes = rendering.files.iter().flatten().map(|file| file.text.len()).sum();
            if rows.len() == nth {
                rows.push((what, Times::default(), rendering.stats.fragments_rendered, bytes));
            }
            rows[nth].1.push(time);
        }
    }
    let all = rows.iter().map(|(_, times, ..)| times.median()).sum();
    let row = |(what, times, items, bytes): (String, Times, usize, usize)| {
        let facts = json!({ "items": items, "bytes": bytes });
        Row::new(what, times).of(all).noting(format!("{items} items, {bytes} bytes")).with(facts)
    };
    Ok(rows.into_iter().map(row).collect())
}

/// What rendering a snapshot with one template alone takes, from nothing.
fn template_alone(
    resource: Resource,
    snapshot: &Snapshot,
    plugins: &PluginSet,
) -> Result<(Duration, Rendering), StepError> {
    let mut renderer = Renderer::new(vec![resource]);
    let session = Arc::new(Mutex::new(plugins.begin(snapshot, Instant::now())));
    let shared: SharedCalls = session;
    let begun = Instant::now();
    let rendering = renderer.render_with(snapshot, Some(&shared));
    let time = begun.elapsed();
    match rendering.files.iter().find_map(|file| file.as_ref().err()) {
        Some(error) => Err(error.clone().into()),
        None => Ok((time, rendering)),
    }
}

/// What each selector of a BGPPeer takes for all nodes, the slowest first.
fn selectors(scene: &Scene<'_>) -> Vec<Row> {
    let objects = scene.objects();
    let labels: Vec<_> = objects.values().filter_map(node_facts).map(|(_, labels)| labels).collect();
    let measured = |selector: &Selector| {
        let mut times = Times::default();
        let mut selected = 0;
        for _ in 0..3 {
            selected = times.time(|| labels.iter().filter(|labels| selector.matches(labels)).count());
        }
        let note = format!("selects {selected} of {} nodes", labels.len());
        Row::new(selector.text(), times)
            .noting(note)
            .with(json!({ "selected": selected, "nodes": labels.len() }))
    };
    let turns = Turns::new(&objects, scene.node());
    let mut rows: Vec<Row> = turns.selectors().iter().map(measured).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.times.median()));
    rows
}

struct Report<'a> {
    scene: &'a Scene<'a>,
    measured: Measured,
    templates: Vec<Row>,
    selectors: Vec<Row>,
    folder: String,
}

impl Report<'_> {
    fn rows(&self) -> Vec<Row> {
        let measured = &self.measured;
        let whole = measured.whole.median();
        let part =
            |what: &str, times: &Times| Row::new(what, times.clone()).against(&measured.floor).of(whole);
        let beside = |what: &str, times: &Times| Row::new(what, times.clone()).against(&measured.floor);
        let mut rows = vec![
            beside("read the objects", &self.scene.read),
            beside("load the templates", &measured.load),
            part("engine: objects to a snapshot", &measured.phases.engine),
            part("plugins: what they change", &measured.phases.policy),
            part("templates: the texts of the files", &measured.phases.render),
            part("stage and swap the files", &measured.phases.put),
        ];
        if !measured.check.is_empty() {
            rows.push(part("check", &measured.check));
        }
        rows.push(part("from objects in memory to files in place", &measured.whole));
        rows.push(beside("the same texts put together in memory", &measured.assemble));
        let note = format!("{} bytes written, synced and renamed", measured.bytes);
        rows.push(beside("floor: the disk alone", &measured.floor).noting(note));
        rows
    }

    fn plugins(&self) -> Vec<Row> {
        let whole = self.measured.whole.median();
        let row = |(plugin, calls): (&usize, &Vec<Calls>)| {
            let name = self.scene.cluster.plugins.facts().get(*plugin).map_or("", |facts| &*facts.name);
            let (count, items) = calls.last().map_or((0, 0), |sum| (sum.calls, sum.items));
            let note = format!("{count} calls about {items} items");
            let times: Times = calls.iter().map(|sum| sum.time).collect();
            Row::new(name, times).of(whole).noting(note).with(json!({ "calls": count, "items": items }))
        };
        self.measured.plugins.iter().map(row).collect()
    }

    /// What is slow, in words.
    fn slow(&self) -> Vec<String> {
        let measured = &self.measured;
        let whole = measured.whole.median();
        let mut said = Vec::new();
        let parts = measured.phases.named().into_iter().chain([("the check", &measured.check)]);
        if let Some((what, times)) = parts.max_by_key(|(_, times)| times.median()) {
            said.push(format!(
                "A rendering from nothing takes {}; the most of it, {}, is for {what}.",
                shown(whole),
                percent(ratio(times.median(), whole))
            ));
        }
        let slowest = |rows: &[Row]| {
            rows.iter()
                .max_by_key(|row| row.times.median())
                .map(|row| (row.what.clone(), row.share, row.note.clone()))
        };
        if let Some((what, Some(share), note)) = slowest(&self.templates) {
            said.push(format!(
                "The slowest template is {what}: {} of all templates ({note}).",
                percent(share)
            ));
        }
        said.push(match slowest(&self.plugins()) {
            Some((what, Some(share), note)) => {
                format!("The slowest plugin is {what}: {} of a rendering ({note}).", percent(share))
            }
            _ => "No plugin is asked.".to_owned(),
        });
        said.push(match self.selectors.first() {
            Some(row) => {
                let all: Duration = self.selectors.iter().map(|row| row.times.median()).sum();
                format!(
                    "The slowest selector is {:?}: {} for all nodes ({}); all {} selectors together take {}.",
                    row.what,
                    shown(row.times.median()),
                    row.note,
                    self.selectors.len(),
                    shown(all)
                )
            }
            None => "No BGPPeer has a selector.".to_owned(),
        });
        said
    }

    fn to_text(&self) -> String {
        let shown = &self.selectors[..self.selectors.len().min(SELECTORS)];
        [
            table("phase", &self.rows()),
            table("template", &self.templates),
            table("plugin", &self.plugins()),
            table("selector", shown),
            sentences(&self.slow()),
        ]
        .concat()
    }

    fn to_json(&self) -> Value {
        let list = |rows: &[Row]| rows.iter().map(Row::to_json).collect::<Value>();
        json!({
            "node": self.scene.node(),
            "folder": self.folder,
            "bytes": self.measured.bytes,
            "items": self.measured.items,
            "phases": list(&self.rows()),
            "templates": list(&self.templates),
            "plugins": list(&self.plugins()),
            "selectors": list(&self.selectors),
            "slow": self.slow(),
            "reports": self.scene.cluster.reports_json(),
        })
    }
}
