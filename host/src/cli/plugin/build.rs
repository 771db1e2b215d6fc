//! `tailorbird plugin build`.

use std::path::PathBuf;

use crate::cli::output::{self, Exit};
use crate::plugin::build::{Built, build};

/// Arguments of `plugin build`.
///
/// Nothing is installed: where no compiler for WebAssembly is found, the error says which command brings one.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The crate's folder
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Where the plugin is written; else plugins/CRATE.wasm in cargo's target folder
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let Built { path, plugin } = build(&args.dir, args.out.as_deref())?;
    let (size, digest) = (plugin.bytes.len(), plugin.digest);
    output::print(&format!("{path}\n{size} bytes, sha256 {digest}\n", path = path.display()))?;
    Ok(Exit::Done)
}
