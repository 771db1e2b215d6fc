//! `tailorbird plugin test`: golden cases.
//!
//! A case is a folder with `case.toml` (what is called), `objects.yaml` (the cluster, which functions can do without) and
//! `expected.json` (the answer as `plugin run` prints it, or `{"error": "…"}`).

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use serde::Deserialize;
use serde_json::{Map, Value};
use similar::TextDiff;

use super::call::{self, Export, Question, Scene};
use crate::cli::output::{self, Exit};
use crate::cli::plugins::sandbox;
use crate::engine::Settings;
use crate::plugin::build::build;
use crate::plugin::{LogLine, Sandbox};

/// Arguments of `plugin test`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 every case passed, 1 one failed or there is none.")]
pub(super) struct Args {
    /// The plugin's crate, which is built first, or a component
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// The folder with a folder for each case; else `cases` in the crate or beside the component
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// Write what the plugin answers into the expected.json of each case
    #[arg(long)]
    bless: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let component = component(&args.path)?;
    let home =
        if args.path.is_dir() { args.path.as_path() } else { args.path.parent().unwrap_or(Path::new("")) };
    let folder = args.cases.clone().unwrap_or_else(|| home.join("cases"));
    let cases = cases(&folder)?;
    // Every case has settings of its own and so loads the plugin anew; it is compiled once.
    let compiled = tempfile::Builder::new().prefix("tailorbird-test-").tempdir()?;
    let sandbox = sandbox(Some(compiled.path().join("compiled")))?;
    let mut failed = 0;
    for case in &cases {
        let name = case.file_name().unwrap_or_default().to_string_lossy();
        match try_case(&sandbox, &component, case, args.bless) {
            Ok(Verdict::Passed) => output::print(&format!("ok       {name}\n"))?,
            Ok(Verdict::Blessed) => output::print(&format!("blessed  {name}\n"))?,
            Ok(Verdict::Differs { diff, logs }) => {
                failed += 1;
                output::print(&format!("FAILED   {name}\n"))?;
                output::print_with(|out| output::write_diff(out, &diff, output::colour()))?;
                for line in &logs {
                    output::print(&format!("{:<8} {}\n", call::level(line), line.text))?;
                }
            }
            Err(error) => {
                failed += 1;
                output::print(&format!("FAILED   {name}: {error}\n"))?;
            }
        }
    }
    output::print(&format!("{} cases, {} passed, {failed} failed\n", cases.len(), cases.len() - failed))?;
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// The component to test; a crate is built.
fn component(path: &Path) -> anyhow::Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    if !path.join("Cargo.toml").is_file() {
        bail!("{}: is neither a component nor a folder with a Cargo.toml", path.display());
    }
    Ok(build(path, None)?.path)
}

/// The cases of a folder by name.
fn cases(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = folder.display();
    let fail = |error: std::io::Error| anyhow!("{shown}: the folder of the cases cannot be read: {error}");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() {
        bail!("{shown}: there is no case in it; a case is a folder with a case.toml");
    }
    Ok(found)
}

/// What a case says in its `case.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    node: Option<String>,
    export: Option<String>,
    function: Option<String>,
    #[serde(default)]
    arguments: Vec<Value>,
    #[serde(default)]
    settings: Map<String, Value>,
}

impl Case {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let text =
            fs::read_to_string(folder.join("case.toml")).map_err(|error| anyhow!("case.toml: {error}"))?;
        toml::from_str(&text).map_err(|error| anyhow!("case.toml: {}", error.to_string().trim_end()))
    }

    fn export(&self) -> anyhow::Result<Option<Export>> {
        let Some(name) = &self.export else { return Ok(None) };
        match Export::parse(name) {
            Some(export) => Ok(Some(export)),
            None => bail!("case.toml: export = {name:?}: {} are possible", call::names(Export::all())),
        }
    }
}

/// How a case went that could be tried.
enum Verdict {
    Passed,
    Blessed,
    Differs { diff: String, logs: Vec<LogLine> },
}

fn try_case(sandbox: &Sandbox, component: &Path, folder: &Path, bless: bool) -> anyhow::Result<Verdict> {
    let case = Case::read(folder)?;
    let set = call::load(sandbox, component, &case.settings)?;
    let question = Question::new(&set, case.export()?, case.function.as_deref(), |_| case.arguments.clone())?;
    let objects = folder.join("objects.yaml");
    let scene = if objects.exists() {
        let node =
            case.node.as_deref().ok_or_else(|| anyhow!("case.toml: node is needed beside objects.yaml"))?;
        let node = node.parse().map_err(|error| anyhow!("case.toml: node = {node:?}: {error}"))?;
        // Nothing of the environment counts: a case gives the same everywhere.
        let scene = Scene::cluster(&[objects], None, Settings::new(node), &set)?;
        if scene.report() != Exit::Done {
            bail!("objects of objects.yaml were left out");
        }
        scene
    } else if question.export() == Export::FunctionsCall {
        Scene::empty()?
    } else {
        bail!("{} is asked about a cluster, and there is no objects.yaml", question.export().name());
    };
    let outcome = call::ask(&set, &scene, &question);
    let given = format!("{:#}\n", outcome.golden());
    let path = folder.join("expected.json");
    let expected = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => bail!("expected.json: {error}"),
    };
    let parsed = expected.as_deref().map(serde_json::from_str::<Value>).transpose();
    match parsed {
        Ok(Some(value)) if value == outcome.golden() => return Ok(Verdict::Passed),
        _ if bless => {
            fs::write(&path, given).map_err(|error| anyhow!("expected.json: {error}"))?;
            return Ok(Verdict::Blessed);
        }
        Ok(Some(_)) => {}
        Ok(None) => bail!("there is no expected.json; --bless writes it"),
        Err(error) => bail!("expected.json: is no JSON: {error}"),
    }
    // Both in one form, so that only what differs is shown.
    let expected = parsed.ok().flatten().map(|value| format!("{value:#}\n")).unwrap_or_default();
    let diff = TextDiff::from_lines(&expected, &given);
    let diff = diff.unified_diff().header("expected", "answered").to_string();
    Ok(Verdict::Differs { diff, logs: outcome.usage.logs })
}
