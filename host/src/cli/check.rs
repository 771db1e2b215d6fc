//! `tailorbird check`.

use std::io::Write;

use super::cluster::{Cluster, ClusterArgs, TemplateArgs};
use super::output::{self, Exit, Format};
use super::render::{deliver, print};
use crate::delivery::{Destination, Verdict};

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut cluster = Cluster::load(&args.cluster)?;
    let done = cluster.report();
    let folder = tempfile::Builder::new().prefix("tailorbird-check-").tempdir()?;
    let groups = cluster.render(&args.templates, &Destination::Folder(folder.path().to_owned()))?;
    let results: Vec<_> = groups.iter().map(|group| deliver(group, true, false)).collect();
    print(&cluster, &groups, &results, args.output)?;
    let unchecked = |(_, verdict): &(_, Verdict)| matches!(verdict, Verdict::Unchecked(_));
    if results.iter().flatten().any(unchecked) {
        output::error(
            "a group could not be checked: install BIRD 1.x, or name its folder in TAILORBIRD_BIRD1",
        );
        std::io::stderr().flush()?;
        return Ok(Exit::Failed);
    }
    Ok(if results.iter().all(Result::is_ok) { done } else { Exit::Failed })
}
