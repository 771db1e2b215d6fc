//! The command line: one file for each subcommand.

mod check;
mod cluster;
mod completions;
mod diff;
mod get;
mod output;
mod render;
mod templates;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use output::Exit;

/// Renders BIRD's configuration for one node of a cluster with Calico networking.
#[derive(Debug, Parser)]
#[command(name = "tailorbird", version, about, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Render a node's files, have BIRD check them, and put them in place
    Render(render::Args),
    /// Render a node's files and have BIRD check them; write nothing
    Check(check::Args),
    /// Compare what would be rendered with what is on disk
    Diff(diff::Args),
    /// Print the key/value view that templates read, passwords hidden
    Get(get::Args),
    /// Work with the built-in templates
    Templates(templates::Args),
    /// Print the completions of a shell
    Completions(completions::Args),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    start_log();
    let exit = match cli.command {
        Command::Render(args) => render::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Get(args) => get::run(&args),
        Command::Templates(args) => templates::run(&args),
        Command::Completions(args) => completions::run(&args),
    };
    match exit {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::error(&format!("{error:#}"));
            Exit::Failed.into()
        }
    }
}

/// Logs go to standard error; `BGP_LOGSEVERITYSCREEN` sets the level as it always did.
fn start_log() {
    let level = match std::env::var("BGP_LOGSEVERITYSCREEN").unwrap_or_default().to_ascii_lowercase().as_str()
    {
        "trace" => tracing::Level::TRACE,
        "debug" => tracing::Level::DEBUG,
        "info" => tracing::Level::INFO,
        "error" | "fatal" | "panic" => tracing::Level::ERROR,
        _ => tracing::Level::WARN,
    };
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).without_time().init();
}
