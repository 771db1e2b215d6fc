//! `tailorbird bench plugins`.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::bail;
use serde_json::{Value, json};

use super::scene::{Scene, SceneArgs, failed};
use super::table::{Row, percent, ratio, sentences, table};
use super::turn::{Kind, Turns};
use crate::cli::output::{self, Exit, Format, Progress};
use crate::measure::{Called, Calls, Step, Times, nanoseconds, shown};

const HELP: &str = "\
A call's time is the host's, from the question to the answer taken over; the first call of a rendering makes the plugin's instance.
`tailorbird plugin bench` measures one plugin alone. Exit codes: 0 measured; 1 could not be; 3 measured, but objects were left out.";

/// Arguments of `bench plugins`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    scene: SceneArgs,
    /// How often each is measured
    #[arg(long, value_name = "NUMBER", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

/// Renderings of one sort.
#[derive(Default)]
struct Measured {
    whole: Times,
    calls: BTreeMap<Called, Vec<Calls>>,
}

impl Measured {
    fn take(&mut self, step: &Step) {
        self.whole.push(step.time());
        for (called, calls) in &step.calls {
            self.calls.entry(*called).or_default().push(*calls);
        }
    }

    fn rows(&self, scene: &Scene<'_>) -> Vec<Row> {
        let whole = self.whole.median();
        let row = |(called, calls): (&Called, &Vec<Calls>)| {
            let name = scene.cluster.plugins.facts().get(called.plugin).map_or("", |facts| &*facts.name);
            let (count, items) = calls.last().map_or((0, 0), |calls| (calls.calls, calls.items));
            let times: Times = calls.iter().map(|calls| calls.time).collect();
            let each = u32::try_from(items)
                .ok()
                .and_then(|items| times.median().checked_div(items))
                .unwrap_or_default();
            let facts = json!({
                "plugin": name,
                "export": called.export,
                "calls": count,
                "items": items,
                "each_ns": nanoseconds(each),
            });
            let note = format!("{count} calls about {items} items, {} each", shown(each));
            Row::new(format!("{name} {}", called.export), times).of(whole).noting(note).with(facts)
        };
        self.calls.iter().map(row).collect()
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let scene = Scene::load(&args.scene)?;
    if scene.cluster.plugins.is_empty() {
        bail!(
            "there is no plugin to measure: name the configuration file with --config, or a component with --plugin"
        );
    }
    let progress = Progress::new("rendering");
    // Templates that call a plugin's functions cannot do without it.
    let comparable = scene.fresh_without_plugins().is_ok();
    let (mut cold, mut without, mut change) = (Measured::default(), Measured::default(), Measured::default());
    let objects = scene.objects();
    let turns = Turns::new(&objects, scene.node());
    let turn = turns.of(Kind::NodeAddress).next();
    for run in 1..=args.runs {
        progress.say(&format!("rendering, {run} of {}", args.runs));
        if comparable {
            without.take(&scene.fresh_without_plugins()?.step(scene.events()).map_err(failed)?);
        }
        let mut node = scene.fresh()?;
        cold.take(&node.step(scene.events()).map_err(failed)?);
        if let Some(turn) = &turn {
            change.take(&node.step([turn.there.clone()]).map_err(failed)?);
            change.take(&node.step([turn.back.clone()]).map_err(failed)?);
        }
    }
    drop(progress);
    let mut renderings = Vec::new();
    if comparable {
        renderings.push(Row::new("from nothing, without plugins", without.whole.clone()));
    }
    renderings.push(Row::new("from nothing, with plugins", cold.whole.clone()));
    if let Some(turn) = &turn {
        let row = Row::new("after a change of a node's address", change.whole.clone());
        renderings.push(row.noting(turn.object.to_string()));
    }
    let (cold_rows, change_rows) = (cold.rows(&scene), change.rows(&scene));
    let slow = slow(&cold_rows, comparable.then(|| (without.whole.median(), cold.whole.median())));
    let text = || {
        [
            table("rendering", &renderings),
            table("from nothing", &cold_rows),
            table("after a change", &change_rows),
            sentences(&slow),
        ]
        .concat()
    };
    let list = |rows: &[Row]| rows.iter().map(Row::to_json).collect::<Value>();
    match args.output {
        Format::Text => output::print(&text())?,
        Format::Json => {
            let all = json!({
                "node": scene.node(),
                "renderings": list(&renderings),
                "from_nothing": list(&cold_rows),
                "after_a_change": list(&change_rows),
                "slow": slow,
                "reports": scene.cluster.reports_json(),
            });
            output::print(&format!("{all:#}\n"))?;
        }
    }
    Ok(scene.cluster.done())
}

/// What is slow, in words.
fn slow(rows: &[Row], both: Option<(Duration, Duration)>) -> Vec<String> {
    let mut said = Vec::new();
    if let Some((without, with)) = both {
        said.push(format!(
            "A rendering from nothing takes {:.2} times as long with the plugins.",
            ratio(with, without)
        ));
    }
    said.push(match rows.iter().max_by_key(|row| row.times.median()) {
        Some(row) => format!(
            "The slowest call is {}: {} of a rendering ({}).",
            row.what,
            percent(row.share.unwrap_or_default()),
            row.note
        ),
        None => "No plugin is asked about anything with these objects.".to_owned(),
    });
    said
}
