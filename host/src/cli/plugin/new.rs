//! `tailorbird plugin new`.

use std::path::PathBuf;

use crate::cli::output::{self, Exit};
use crate::plugin::scaffold::{self, CrateName, Kind};

/// Arguments of `plugin new`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The name of the crate and of its folder: lower case letters, digits and `-`, from a letter
    name: CrateName,
    /// What the plugin does: peers, filter or functions
    #[arg(long, value_enum, default_value_t = Kind::Peers, hide_possible_values = true)]
    kind: Kind,
    /// The folder of the library for plugins (crate tailorbird-guest); else a copy of it is laid beside the crate
    #[arg(long, value_name = "PATH")]
    sdk: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let dir = PathBuf::from(args.name.as_str());
    scaffold::write(&dir, &args.name, args.kind, args.sdk.as_deref())?;
    output::print(&format!(
        "{name}: a crate with a plugin ({kind}). Try:\n  cd {name}\n  cargo test\n  tailorbird plugin build\n  \
         tailorbird plugin test\n",
        name = args.name,
        kind = args.kind,
    ))?;
    Ok(Exit::Done)
}
