//! `tailorbird bench change`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{Disk, Phases, RunArgs, Scene, SceneArgs, failed, put};
use super::table::{Row, percent, ratio, sentences, table};
use super::turn::{Kind, Turn, Turns};
use crate::cli::output::{self, Exit, Format, Progress};
use crate::engine::{Event, Work};
use crate::measure::{MeasuredNode, Step, Times, shown};
use crate::render::Stats;

/// How many objects are tried until one is found whose change reaches a file.
const TRIED: usize = 200;

const HELP: &str = "\
Each kind of change is done to one object in memory and taken back, by turns: the first object that reaches a file of this node, as far
as one is found among 200. The floor is what the disk alone takes for the files that change. Nothing outside the folder of --disk is
written to, and nothing is checked. Exit codes: 0 measured; 1 could not be; 3 measured, but objects were left out.";

/// Arguments of `bench change`.
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

/// One kind of change, measured.
#[derive(Default)]
struct Measured {
    what: String,
    object: Option<String>,
    phases: Phases,
    whole: Times,
    floor: Times,
    bytes: usize,
    work: Work,
    stats: Stats,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let scene = Scene::load(&args.scene)?;
    let mut disk = args.runs.disk()?;
    let progress = Progress::new("rendering");
    let folder = disk.fresh()?;
    let place = Place { scene: &scene, disk: &disk, folder };
    let mut node = scene.fresh()?;
    let cold = node.step(scene.events()).map_err(failed)?;
    place.put(cold)?;
    let objects = scene.objects();
    let turns = Turns::new(&objects, scene.node());
    let (mut measured, mut missing) = (Vec::new(), Vec::new());
    for kind in Kind::ALL {
        progress.say(&format!("looking for a {kind} to change"));
        match find(&mut node, &turns, kind)? {
            Some(turn) => {
                let mut one = Measured::new(kind.name(), Some(turn.object.to_string()));
                for run in 1..=args.runs.runs {
                    progress.say(&format!("changing a {kind}, {run} of {}", args.runs.runs));
                    let event = if run % 2 == 1 { turn.there.clone() } else { turn.back.clone() };
                    one.take(&mut node, [event], &place)?;
                }
                place.put(node.step([turn.back]).map_err(failed)?)?;
                measured.push(one);
            }
            None => missing.push(kind),
        }
    }
    let mut anew = Measured::new("templates, all anew", None);
    for run in 1..=args.runs.runs {
        progress.say(&format!("changing the templates, {run} of {}", args.runs.runs));
        node.put_templates(scene.resources()?);
        anew.take(&mut node, [], &place)?;
    }
    measured.push(anew);
    drop(progress);
    let slow = slow(&measured, &missing);
    match args.output {
        Format::Text => output::print(&to_text(&measured, &slow))?,
        Format::Json => {
            let all = json!({
                "node": scene.node(),
                "folder": args.runs.folder(),
                "changes": measured.iter().map(Measured::to_json).collect::<Value>(),
                "missing": missing.iter().map(|kind| kind.name()).collect::<Value>(),
                "slow": slow,
                "reports": scene.cluster.reports_json(),
            });
            output::print(&format!("{all:#}\n"))?;
        }
    }
    Ok(scene.cluster.done())
}

/// The first object whose change reaches a file, else the first whose change reaches the snapshot, else the first. The node is as
/// it was.
fn find(node: &mut MeasuredNode, turns: &Turns<'_>, kind: Kind) -> anyhow::Result<Option<Turn>> {
    let (mut first, mut in_snapshot) = (None, None);
    for turn in turns.of(kind).take(TRIED) {
        let before = node.engine().snapshot().revision;
        let step = node.step([turn.there.clone()]).map_err(failed)?;
        let differs = node.engine().snapshot().revision != before;
        node.step([turn.back.clone()]).map_err(failed)?;
        if step.rendering.files.iter().flatten().any(|file| file.changed) {
            return Ok(Some(turn));
        }
        let place = if differs { &mut in_snapshot } else { &mut first };
        place.get_or_insert(turn);
    }
    Ok(in_snapshot.or(first))
}

/// Where files are written to.
struct Place<'a> {
    scene: &'a Scene<'a>,
    disk: &'a Disk,
    folder: PathBuf,
}

impl Place<'_> {
    fn put(&self, step: Step) -> anyhow::Result<Duration> {
        put(&self.scene.groups(step.rendering, &self.folder)?)
    }
}

impl Measured {
    fn new(what: &str, object: Option<String>) -> Self {
        Self { what: what.to_owned(), object, ..Self::default() }
    }

    fn take(
        &mut self,
        node: &mut MeasuredNode,
        events: impl IntoIterator<Item = Event>,
        place: &Place<'_>,
    ) -> anyhow::Result<()> {
        let step = node.step(events).map_err(failed)?;
        self.phases.push(&step);
        (self.work, self.stats) = (step.work, step.rendering.stats);
        let before_disk = step.time();
        let texts = step.texts();
        self.bytes = texts.iter().map(Vec::len).sum();
        let took = place.put(step)?;
        self.phases.put.push(took);
        self.whole.push(before_disk + took);
        if !texts.is_empty() {
            self.floor.push(place.disk.floor(&texts)?);
        }
        Ok(())
    }

    fn row(&self) -> Row {
        let note = match &self.object {
            Some(object) if self.bytes == 0 => format!("{object}: no file of this node changes"),
            Some(object) => format!("{object}: {} bytes to write", self.bytes),
            None => format!("{} bytes to write", self.bytes),
        };
        let row = Row::new(self.what.clone(), self.whole.clone()).noting(note);
        if self.floor.is_empty() { row } else { row.against(&self.floor) }
    }

    fn to_json(&self) -> Value {
        let [engine, policy, render, put] =
            self.phases.named().map(|(_, times)| Row::new("", times.clone()).to_json());
        let mut value = self.row().to_json();
        value["object"] = self.object.clone().into();
        value["bytes"] = self.bytes.into();
        value["phases"] = json!({ "engine": engine, "plugins": policy, "templates": render, "files": put });
        value["work"] = json!({
            "keys_touched": self.work.keys_touched,
            "selectors_evaluated": self.work.selectors_evaluated,
            "peers_computed": self.work.peers_computed,
            "services_computed": self.work.services_computed,
            "items_rendered": self.stats.fragments_rendered,
            "templates_rendered": self.stats.templates_rendered,
        });
        value
    }
}

/// What is slow, in words.
fn slow(measured: &[Measured], missing: &[Kind]) -> Vec<String> {
    let mut said = Vec::new();
    let slowest = measured.iter().filter(|one| one.object.is_some()).max_by_key(|one| one.whole.median());
    if let Some(one) = slowest {
        let whole = one.whole.median();
        let most = one.phases.named().into_iter().max_by_key(|(_, times)| times.median());
        let (part, times) = most.unwrap_or(("nothing", &one.whole));
        said.push(format!(
            "The slowest change is that of a {}: {}, of which {} for {part}; {} keys, {} selectors, {} sessions, {} Services and {} items of templates are worked on.",
            one.what,
            shown(whole),
            percent(ratio(times.median(), whole)),
            one.work.keys_touched,
            one.work.selectors_evaluated,
            one.work.peers_computed,
            one.work.services_computed,
            one.stats.fragments_rendered,
        ));
    }
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|kind| kind.name()).collect();
        said.push(format!("Not measured, because no object can be changed so: {}.", names.join(", ")));
    }
    said
}

fn to_text(measured: &[Measured], slow: &[String]) -> String {
    let whole: Vec<Row> = measured.iter().map(Measured::row).collect();
    let parts = measured.iter().map(|one| {
        let [engine, policy, render, put] = one.phases.named().map(|(_, times)| shown(times.median()));
        format!("{:<20}  {engine:>9}  {policy:>9}  {render:>9}  {put:>9}\n", one.what)
    });
    let head = format!(
        "{:<20}  {:>9}  {:>9}  {:>9}  {:>9}\n",
        "of that, median", "engine", "plugins", "templates", "files"
    );
    [table("change, to files in place", &whole), head, parts.collect(), "\n".to_owned(), sentences(slow)]
        .concat()
}
