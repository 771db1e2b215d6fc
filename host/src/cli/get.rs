//! `tailorbird get`.

use serde_json::{Map, Value};

use super::cluster::{Cluster, ClusterArgs};
use super::output::{self, Exit, Format};

/// Arguments of `get`.
#[derive(Debug, clap::Args)]
// The prefix stands first: behind --objects it would be one of its PATHs.
#[command(
    override_usage = "tailorbird get [OPTIONS] [PREFIX] <--objects <PATH>...|--datastore <KIND>> --node <NAME>"
)]
pub(super) struct Args {
    /// The path of a key or of a folder of keys, such as /calico/bgp/v1
    #[arg(default_value = "/")]
    prefix: String,
    #[command(flatten)]
    cluster: ClusterArgs,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let cluster = Cluster::load(&args.cluster)?;
    cluster.report();
    cluster.require_node()?;
    let prefix = format!("/{}", args.prefix.trim_start_matches('/'));
    let view = &cluster.engine.snapshot().view;
    let mut found = false;
    output::print_with(|out| {
        let entries = view.list(&prefix).inspect(|_| found = true);
        match args.output {
            Format::Text => entries.into_iter().try_for_each(|(key, value)| writeln!(out, "{key} {value}")),
            Format::Json => {
                let map: Map<String, Value> =
                    entries.map(|(key, value)| (key.into_owned(), value.into())).collect();
                writeln!(out, "{:#}", Value::from(map))
            }
        }
    })?;
    if !found {
        output::error(&format!("there is no key at or below {prefix}"));
        return Ok(Exit::Failed);
    }
    Ok(cluster.done())
}
