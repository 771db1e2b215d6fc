//! `tailorbird check`.

use super::cluster::{Cluster, ClusterArgs, TemplateArgs};
use super::output::{Exit, Format};
use super::render::{Account, TimeoutArgs, deliver};
use crate::delivery::{Destination, Verdict};

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
#[command(after_help = super::EXIT_CODES)]
pub(super) struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    #[command(flatten)]
    timeout: TimeoutArgs,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut cluster = Cluster::load(&args.cluster)?;
    cluster.report();
    let folder = tempfile::Builder::new().prefix("tailorbird-check-").tempdir()?;
    let groups = cluster.render(&args.templates, &Destination::Folder(folder.path().to_owned()))?;
    let options = args.timeout.options();
    let results: Vec<_> = groups.iter().map(|group| deliver(group, true, false, &options)).collect();
    Account::of_check(&groups, &results, folder.path()).print(&cluster, args.output)?;
    // A check that did not take place is no success.
    let checked =
        |result: &_| matches!(result, Ok((_, verdict)) if !matches!(verdict, Verdict::Unchecked(_)));
    Ok(if results.iter().all(checked) { cluster.done() } else { Exit::Failed })
}
