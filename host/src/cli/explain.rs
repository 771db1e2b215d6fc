//! `tailorbird explain`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::cluster::Cluster;
use super::output::{self, Exit, Format};
use super::plugins::PluginArgs;
use super::run::{HTTP, ask, ask_json};
use crate::explain::{Query, Topic};
use crate::types::Name;

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
#[command(
    // The words stand first: behind --objects they would be PATHs.
    override_usage = "tailorbird explain [OPTIONS] <TOPIC> <SUBJECT> [--http <ADDRESS> | --objects <PATH>... --node <NAME>]",
    after_help = "Exit codes: 0 it was answered, whatever the answer; 1 it was not; 2 used wrongly; 3 answered, but objects were left out or plugins failed."
)]
pub(super) struct Args {
    /// What to explain
    #[arg(value_name = "TOPIC", value_parser = topics())]
    topic: Topic,
    /// Which one: the IP address of a peer, the prefix or address of a route, the name of a BGPFilter or a node
    #[arg(value_name = "SUBJECT")]
    subject: String,
    /// Explain what these manifests come to, and not what the running daemon has
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "node", conflicts_with = "http")]
    objects: Vec<PathBuf>,
    /// The node's name; with --objects
    #[arg(long, value_name = "NAME", env = "NODENAME", hide_env_values = true)]
    node: Option<Name>,
    #[command(flatten)]
    plugins: PluginArgs,
    /// Where the daemon answers HTTP, which is asked unless there are --objects
    #[arg(long, value_name = "ADDRESS", default_value = HTTP)]
    http: SocketAddr,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

fn topics() -> impl TypedValueParser<Value = Topic> {
    PossibleValuesParser::new(Topic::ALL.map(Topic::as_str)).try_map(|word| word.parse::<Topic>())
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let query = match Query::new(args.topic, &args.subject) {
        Ok(query) => query,
        Err(error) => {
            output::error(&format!("{} {:?}: {error}", args.topic.as_str(), args.subject));
            return Ok(Exit::Misused);
        }
    };
    match &args.node {
        Some(node) if !args.objects.is_empty() => of_objects(args, node.clone(), &query),
        _ => of_daemon(args, &query),
    }
}

fn of_objects(args: &Args, node: Name, query: &Query) -> anyhow::Result<Exit> {
    let mut cluster = Cluster::open(&args.objects, node, &args.plugins)?;
    cluster.report();
    cluster.require_node()?;
    let explanation = cluster.explain(query);
    let text = match args.output {
        Format::Text => explanation.to_string(),
        Format::Json => format!("{:#}\n", serde_json::to_value(&explanation)?),
    };
    output::print(&text)?;
    Ok(cluster.done())
}

fn of_daemon(args: &Args, query: &Query) -> anyhow::Result<Exit> {
    if args.plugins.on_trial() {
        return Err(anyhow!("--plugin tries a plugin on --objects; the daemon has its own plugins"));
    }
    let form = match args.output {
        Format::Text => "?output=text",
        Format::Json => "",
    };
    let words = query.to_string().replace(' ', "/");
    let path = format!("/explain/{words}{form}");
    match args.output {
        Format::Text => output::print(&ask(args.http, "GET", &path, "")?)?,
        Format::Json => output::print(&format!("{:#}\n", ask_json(args.http, "GET", &path, "")?))?,
    }
    Ok(Exit::Done)
}
