//! `tailorbird completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use super::output::{self, Exit};

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell; for bash: source <(tailorbird completions bash)
    shell: Shell,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "tailorbird", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(Exit::Done)
}
