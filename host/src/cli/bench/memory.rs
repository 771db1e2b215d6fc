//! `tailorbird bench memory`.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::anyhow;
use serde_json::{Value, json};

use super::scene::SceneArgs;
use crate::cli::output::{self, Exit, Format, Progress};
use crate::delivery::Destination;
use crate::measure::Resident;
use crate::pipeline::{Templates, render_once};

const HELP: &str = "\
This process is what is measured, as the kernel counts it: the objects are read once, and rendered once. What the allocator has not
yet given back counts too. Exit codes: 0 measured; 1 could not be; 3 measured, but objects were left out.";

/// Arguments of `bench memory`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    scene: SceneArgs,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

/// The memory after each stage.
struct Stages(Vec<(&'static str, Resident)>);

impl Stages {
    fn take(&mut self, what: &'static str) -> anyhow::Result<()> {
        let resident = Resident::settled().map_err(|error| anyhow!("memory cannot be measured: {error}"))?;
        self.0.push((what, resident));
        Ok(())
    }

    /// Each stage with what it added, in bytes.
    fn added(&self) -> impl Iterator<Item = (&'static str, Resident, i128)> {
        let before = std::iter::once(0).chain(self.0.iter().map(|(_, resident)| resident.now));
        self.0.iter().zip(before).map(|((what, resident), before)| {
            (*what, *resident, i128::from(resident.now) - i128::from(before))
        })
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut stages = Stages(Vec::new());
    stages.take("the program")?;
    let plugins = args.scene.load_plugins()?;
    if !plugins.is_empty() {
        stages.take("plugins, loaded")?;
    }
    let cluster = args.scene.cluster(plugins)?;
    stages.take("engine with the objects")?;
    let progress = Progress::new("rendering");
    let plugins = &cluster.plugins;
    let mut templates = Templates::load(args.scene.templates.confdir.as_deref(), &args.scene.node, plugins)?;
    let snapshot = cluster.engine.snapshot();
    let rendered = render_once(snapshot, plugins, &mut templates, &Destination::Own, Instant::now())?;
    stages.take("texts of the files, and what is kept for the next rendering")?;
    drop(progress);
    let text: usize = rendered.groups.iter().flat_map(|group| &group.files).map(|file| file.text.len()).sum();
    let nodes = cluster.engine.node_names().count();
    match args.output {
        Format::Text => output::print(&to_text(&stages, text, nodes))?,
        Format::Json => {
            let stage = |(what, resident, added): (&str, Resident, i128)| json!({ "what": what, "resident": resident.now, "peak": resident.peak, "added": i64::try_from(added).ok() });
            let all = json!({
                "node": args.scene.node,
                "nodes": nodes,
                "text_bytes": text,
                "stages": stages.added().map(stage).collect::<Value>(),
                "reports": cluster.reports_json(),
            });
            output::print(&format!("{all:#}\n"))?;
        }
    }
    Ok(cluster.done())
}

fn to_text(stages: &Stages, text: usize, nodes: usize) -> String {
    let mebibytes = |bytes: f64| bytes / f64::from(1 << 20);
    let width = stages.0.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
    let mut out = format!(
        "{:<width$}  {:>12}  {:>12}  {:>12}  {:>14}\n",
        "memory after", "resident", "peak", "added", "added a node"
    );
    for (what, resident, added) in stages.added() {
        // A String takes everything.
        let _ = writeln!(
            out,
            "{what:<width$}  {:>8.1} MiB  {:>8.1} MiB  {:>8.1} MiB  {:>10.2} KiB",
            mebibytes(resident.now as f64),
            mebibytes(resident.peak as f64),
            mebibytes(added as f64),
            added as f64 / 1024.0 / nodes.max(1) as f64,
        );
    }
    let _ = writeln!(out, "\nThe cluster has {nodes} nodes, and the files have {text} bytes.");
    out
}
