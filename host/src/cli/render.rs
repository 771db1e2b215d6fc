//! `tailorbird render`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::cluster::{Cluster, ClusterArgs, TemplateArgs};
use super::output::{self, Exit, Format};
use crate::delivery::{Destination, Group, Verdict};
use crate::stage::{self, Options, Outcome};

/// Arguments of `render`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    /// The folder that all files go to, instead of each template's own destination; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Put the files in place without a check
    #[arg(long)]
    no_check: bool,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut cluster = Cluster::load(&args.cluster)?;
    let done = cluster.report();
    let to = args.out.clone().map_or(Destination::Own, Destination::Folder);
    let groups = cluster.render(&args.templates, &to)?;
    if let Some(folder) = &args.out {
        stage::create_directory(folder)?;
    }
    let results: Vec<_> = groups.iter().map(|group| deliver(group, !args.no_check, true)).collect();
    print(&cluster, &groups, &results, args.output)?;
    Ok(if results.iter().all(Result::is_ok) { done } else { Exit::Failed })
}

/// What became of a group: what was written and what the checker said, or why nothing of it was touched.
pub(super) type Delivered = Result<(Outcome, Verdict), Vec<String>>;

/// Delivers one group; another's failure does not hold it up.
pub(super) fn deliver(group: &Group, check: bool, swap: bool) -> Delivered {
    if !group.errors.is_empty() {
        return Err(group.errors.iter().map(ToString::to_string).collect());
    }
    let checks = if check { group.checks() } else { Vec::new() };
    match group.deliver(checks, swap, &Options::default()) {
        Ok((outcome, Verdict::Unchecked(_))) if !check => Ok((outcome, Verdict::Unchecked("not asked for"))),
        Ok(delivered) => Ok(delivered),
        Err(error) => Err(vec![error.to_string()]),
    }
}

/// Prints what became of the groups; errors go to standard error in either format.
pub(super) fn print(
    cluster: &Cluster,
    groups: &[Group],
    results: &[Delivered],
    format: Format,
) -> anyhow::Result<()> {
    for (group, result) in groups.iter().zip(results) {
        for error in result.as_ref().err().into_iter().flatten() {
            output::error(&format!("group {}: {error}; nothing of this group was changed", group.name));
        }
    }
    let snapshot = cluster.engine.snapshot();
    let node = &cluster.engine.settings().node;
    if format == Format::Json {
        let groups: Value =
            groups.iter().zip(results).map(|(group, result)| to_json(group, result)).collect();
        let all = json!({
            "node": node,
            "revision": snapshot.revision,
            "groups": groups,
            "reports": cluster.reports_json(),
        });
        return Ok(output::print(&format!("{all:#}\n"))?);
    }
    let mut text = String::new();
    for (group, result) in groups.iter().zip(results) {
        text += &to_text(group, result);
    }
    Ok(output::print(&text)?)
}

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted(checkers) => format!("accepted by {}", checkers.join(", ")),
        Verdict::Unchanged => "unchanged, so not checked again".to_owned(),
        Verdict::Unchecked("no checker") => {
            "NOT CHECKED: no check_cmd, and no BIRD 1.x on the PATH or in TAILORBIRD_BIRD1".to_owned()
        }
        Verdict::Unchecked(reason) => format!("NOT CHECKED: {reason}"),
    }
}

fn to_text(group: &Group, result: &Delivered) -> String {
    let mut text = match result {
        Ok((_, said)) => format!("{}: {}\n", group.name, verdict(said)),
        Err(_) => format!("{}: FAILED, nothing changed\n", group.name),
    };
    if let Ok((outcome, _)) = result {
        for file in &group.files {
            let word = if outcome.written.contains(&file.dest) { "written" } else { "unchanged" };
            text += &format!("  {word:<9}  {} ({} bytes)\n", file.dest.display(), file.text.len());
        }
        for path in &outcome.removed {
            text += &format!("  removed    {}\n", path.display());
        }
    }
    text
}

fn to_json(group: &Group, result: &Delivered) -> Value {
    match result {
        Err(errors) => json!({ "name": group.name, "errors": errors }),
        Ok((outcome, said)) => json!({
            "name": group.name,
            "check": match said {
                Verdict::Accepted(checkers) => json!({ "verdict": "accepted", "checkers": checkers }),
                Verdict::Unchanged => json!({ "verdict": "unchanged" }),
                Verdict::Unchecked(reason) => json!({ "verdict": "unchecked", "reason": reason }),
            },
            "files": group.files.iter().map(|file| json!({
                "path": file.dest,
                "bytes": file.text.len(),
                "written": outcome.written.contains(&file.dest),
            })).collect::<Value>(),
            "removed": outcome.removed,
        }),
    }
}
