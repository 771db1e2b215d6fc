//! `tailorbird templates`.

use std::path::PathBuf;

use clap::Subcommand;

use super::output::{self, Exit};
use crate::render;

/// Arguments of `templates`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write the built-in set into a folder, to change it there and use it with --confdir
    Export {
        /// The folder; it is made if it is not there
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Replace files that differ
        #[arg(long)]
        force: bool,
    },
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let Command::Export { folder, force } = &args.command;
    render::export(folder, *force)?;
    let files = render::built_in_files().iter().map(|file| format!("{}\n", folder.join(file.path).display()));
    output::print(&files.collect::<String>())?;
    Ok(Exit::Done)
}
