//! The subcommands of `bench`: one file for each.

mod generate;

use super::output::Exit;

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write the manifests of a cluster that is made up, of any size
    Generate(generate::Args),
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Generate(args) => generate::run(args),
    }
}
