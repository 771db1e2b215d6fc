//! `tailorbird plugin`: one file for each of its subcommands.

mod answer;
mod call;
mod inspect;
mod run;

use clap::Subcommand;

use super::output::Exit;

/// Arguments of `plugin`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print what a plugin is, what it wants to read, what it brings, and whether it can be used
    Inspect(inspect::Args),
    /// Call one export of a plugin, and print what it answers, logs, reads and uses
    Run(run::Args),
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Inspect(args) => inspect::run(args),
        Command::Run(args) => run::run(args),
    }
}
