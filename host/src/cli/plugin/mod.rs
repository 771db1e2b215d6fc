//! `tailorbird plugin`: one file for each of its subcommands.

mod answer;
mod bench;
mod build;
mod call;
mod inspect;
mod new;
mod recorder;
mod run;
mod test;

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
    /// Write a crate to begin with, which builds and passes its tests
    New(new::Args),
    /// Build a crate as a plugin
    Build(build::Args),
    /// Print what a plugin is, what it wants to read, what it brings, and whether it can be used
    Inspect(inspect::Args),
    /// Call one export of a plugin, and print what it answers, logs, reads and uses
    Run(run::Args),
    /// Try a plugin on its golden cases, under the limits of production
    Test(test::Args),
    /// Measure a plugin's calls beside the host's own work
    Bench(bench::Args),
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::New(args) => new::run(args),
        Command::Build(args) => build::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Run(args) => run::run(args),
        Command::Test(args) => test::run(args),
        Command::Bench(args) => bench::run(args),
    }
}
