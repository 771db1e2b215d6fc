//! The subcommands of `bench`: one file for each.

mod change;
mod generate;
mod memory;
mod plugins;
mod render;
mod scene;
mod table;
mod turn;

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
    /// Measure a rendering from nothing: its phases, templates, plugins and selectors
    Render(render::Args),
    /// Measure what one change costs, of each kind that the objects allow
    Change(change::Args),
    /// Measure the calls of plugins while all of them are asked
    Plugins(plugins::Args),
    /// Measure the memory that the objects and the files take
    Memory(memory::Args),
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Generate(args) => generate::run(args),
        Command::Render(args) => render::run(args),
        Command::Change(args) => change::run(args),
        Command::Plugins(args) => plugins::run(args),
        Command::Memory(args) => memory::run(args),
    }
}
