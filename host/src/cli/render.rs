//! `tailorbird render`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use serde_json::{Value, json};

use super::cluster::{Cluster, ClusterArgs, TemplateArgs};
use super::output::{self, Exit, Format};
use crate::delivery::{Checks, Destination, Group, NO_CHECKER, Verdict};
use crate::render::RenderedFile;
use crate::stage::{self, Options, Outcome};

/// Arguments of `render`.
#[derive(Debug, clap::Args)]
#[command(after_help = super::EXIT_CODES)]
pub(super) struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    /// The folder that all files go to, instead of each template's own destination; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Put the files in place without a check
    #[arg(long, conflicts_with = "check_timeout")]
    no_check: bool,
    #[command(flatten)]
    timeout: TimeoutArgs,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

/// How long checks may take.
#[derive(Debug, clap::Args)]
pub(super) struct TimeoutArgs {
    /// The time that a check may take, in seconds; then it is stopped and has failed
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u32).range(1..=3600))]
    check_timeout: u32,
}

impl TimeoutArgs {
    pub(super) fn options(&self) -> Options {
        Options { check_timeout: Duration::from_secs(self.check_timeout.into()), ..Options::default() }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut cluster = Cluster::load(&args.cluster)?;
    cluster.report();
    let to = args.out.clone().map_or(Destination::Own, Destination::Folder);
    let groups = cluster.render(&args.templates, &to)?;
    if let Some(folder) = &args.out {
        if folder.exists() && !folder.is_dir() {
            bail!("--out {}: this is no folder", folder.display());
        }
        stage::create_directory(folder)?;
    }
    let options = args.timeout.options();
    let results: Vec<_> = groups.iter().map(|group| deliver(group, !args.no_check, true, &options)).collect();
    Account::of_render(&groups, &results).print(&cluster, args.output)?;
    Ok(if results.iter().all(Result::is_ok) { cluster.done() } else { Exit::Failed })
}

/// What became of a group: what was written and what the checker said, or why nothing of it was touched.
pub(super) type Delivered = Result<(Outcome, Verdict), Vec<String>>;

/// Delivers one group; another's failure does not hold it up.
pub(super) fn deliver(group: &Group, check: bool, swap: bool, options: &Options) -> Delivered {
    if !group.errors.is_empty() {
        return Err(group.errors.iter().map(ToString::to_string).collect());
    }
    let checks = if check { group.checks() } else { Ok(Vec::new()) };
    let checks = checks.map_err(|error| vec![error.to_string()])?;
    match group.deliver(Checks::Programs(checks), swap, options) {
        Ok((outcome, Verdict::Unchecked(_))) if !check => Ok((outcome, Verdict::Unchecked("not asked for"))),
        Ok(delivered) => Ok(delivered),
        Err(error) => Err(vec![error.to_string()]),
    }
}

/// What a command tells of the groups.
pub(super) struct Account<'a> {
    groups: &'a [Group],
    results: &'a [Delivered],
    /// The folder that only this command knows: files in it are called by their names.
    folder: Option<&'a Path>,
}

impl<'a> Account<'a> {
    /// The account of files that were put in place.
    fn of_render(groups: &'a [Group], results: &'a [Delivered]) -> Self {
        Self { groups, results, folder: None }
    }

    /// The account of files that were only checked, in this folder.
    pub(super) fn of_check(groups: &'a [Group], results: &'a [Delivered], folder: &'a Path) -> Self {
        Self { groups, results, folder: Some(folder) }
    }

    /// Prints what became of the groups; errors go to standard error in either format.
    pub(super) fn print(&self, cluster: &Cluster, format: Format) -> anyhow::Result<()> {
        for (group, result) in self.groups.iter().zip(self.results) {
            let what = if self.folder.is_some() { "failed" } else { "was not changed" };
            match result {
                Ok((_, Verdict::Unchecked(NO_CHECKER))) => {
                    output::warning(&format!("group {} was not checked: {NO_BIRD}", group.name));
                }
                Ok(_) => {}
                Err(errors) => {
                    for error in errors {
                        output::error(&format!("group {} {what}: {}", group.name, self.shown(error)));
                    }
                }
            }
        }
        let groups = self.groups.iter().zip(self.results);
        let text = match format {
            Format::Text => groups.map(|(group, result)| self.to_text(group, result)).collect(),
            Format::Json => {
                let all = json!({
                    "node": cluster.engine.settings().node,
                    "revision": cluster.engine.snapshot().revision,
                    "groups": groups.map(|(group, result)| self.to_json(group, result)).collect::<Value>(),
                    "reports": cluster.reports_json(),
                });
                format!("{all:#}\n")
            }
        };
        Ok(output::print(&text)?)
    }

    fn shown(&self, text: &str) -> String {
        match self.folder {
            Some(folder) => text.replace(&format!("{}/", folder.display()), ""),
            None => text.to_owned(),
        }
    }

    fn path(&self, path: &Path) -> String {
        self.shown(&path.display().to_string())
    }

    fn to_text(&self, group: &Group, result: &Delivered) -> String {
        let mut text = match result {
            Ok((_, said)) => format!("{}: {}\n", group.name, verdict(said)),
            Err(_) if self.folder.is_some() => format!("{}: FAILED\n", group.name),
            Err(_) => format!("{}: FAILED, nothing changed\n", group.name),
        };
        if let Ok((outcome, _)) = result {
            for file in &group.files {
                let word = match (self.folder, outcome.written.contains(&file.dest)) {
                    (Some(_), _) => "rendered",
                    (None, true) => "written",
                    (None, false) => "unchanged",
                };
                text += &format!("  {word:<9}  {} ({} bytes)\n", self.path(&file.dest), file.text.len());
            }
            for path in &outcome.removed {
                text += &format!("  removed    {}\n", self.path(path));
            }
        }
        text
    }

    fn to_json(&self, group: &Group, result: &Delivered) -> Value {
        let (outcome, said) = match result {
            Ok(delivered) => delivered,
            Err(errors) => {
                let errors: Value = errors.iter().map(|error| self.shown(error)).collect();
                return json!({ "name": group.name, "errors": errors });
            }
        };
        let file = |file: &RenderedFile| {
            let mut map = json!({ "path": self.path(&file.dest), "bytes": file.text.len() });
            if self.folder.is_none() {
                map["written"] = outcome.written.contains(&file.dest).into();
            }
            map
        };
        json!({
            "name": group.name,
            "check": match said {
                Verdict::Accepted(checkers) => json!({ "verdict": "accepted", "checkers": checkers }),
                Verdict::Unchanged => json!({ "verdict": "unchanged" }),
                Verdict::Unchecked(reason) => json!({ "verdict": "unchecked", "reason": reason }),
            },
            "files": group.files.iter().map(file).collect::<Value>(),
            "removed": outcome.removed.iter().map(|path| self.path(path)).collect::<Value>(),
        })
    }
}

const NO_BIRD: &str =
    "there is no check_cmd, and no BIRD 1.x (bird and bird6) on the PATH; TAILORBIRD_BIRD1 names its folder";

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted(checkers) => format!("accepted by {}", checkers.join(", ")),
        Verdict::Unchanged => "unchanged".to_owned(),
        Verdict::Unchecked(reason) => format!("NOT CHECKED: {reason}"),
    }
}
