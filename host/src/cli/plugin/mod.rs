//! `tailorbird plugin`: one file for each of its subcommands.

mod build;
mod new;

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
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::New(args) => new::run(args),
        Command::Build(args) => build::run(args),
    }
}
