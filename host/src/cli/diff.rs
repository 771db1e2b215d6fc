//! `tailorbird diff`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use similar::TextDiff;

use super::cluster::{Cluster, ClusterArgs, TemplateArgs};
use super::output::{self, Exit};
use crate::bird::check::mask_words;
use crate::delivery::Destination;

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 the same, 1 different, 2 trouble.")]
pub(super) struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    /// The folder that the files are in, instead of each template's own destination
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    compare(args).or_else(|error| {
        output::error(&error.to_string());
        Ok(Exit::Misused)
    })
}

fn compare(args: &Args) -> anyhow::Result<Exit> {
    let mut cluster = Cluster::load(&args.cluster)?;
    cluster.report();
    let to = args.out.clone().map_or(Destination::Own, Destination::Folder);
    let groups = cluster.render(&args.templates, &to)?;
    let mut exit = Exit::Done;
    for group in &groups {
        for error in &group.errors {
            output::error(&format!("group {}: {error}", group.name));
            exit = Exit::Misused;
        }
        for file in &group.files {
            let new = file.text.to_string();
            let old = read(&file.dest)?;
            if old.as_ref() == Some(&new) {
                continue;
            }
            if exit == Exit::Done {
                exit = Exit::Failed;
            }
            output::print_with(|out| write(out, &file.dest, old.as_deref(), &new, output::colour()))?;
        }
    }
    Ok(exit)
}

/// A file's text; none when there is no such file.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(anyhow::anyhow!("{}: {error}", path.display())),
    }
}

fn write(out: &mut dyn Write, path: &Path, old: Option<&str>, new: &str, colour: bool) -> io::Result<()> {
    let (masked_old, masked_new) = (mask_words(old.unwrap_or_default()), mask_words(new));
    let path = path.display();
    let before = if old.is_some() { format!("{path}") } else { "/dev/null".to_owned() };
    if masked_old == masked_new {
        return writeln!(out, "--- {before}\n+++ {path}\n# only passwords differ");
    }
    let diff = TextDiff::configure()
        .timeout(Duration::from_secs(5))
        .diff_lines(masked_old.as_str(), masked_new.as_str());
    let text = diff.unified_diff().header(&before, &format!("{path}")).to_string();
    output::write_diff(out, &text, colour)
}
