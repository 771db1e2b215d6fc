//! `tailorbird plugin inspect`.

use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use super::call::{self, SettingsArgs};
use crate::cli::output::{self, Exit, Format};
use crate::cli::plugins::sandbox;
use crate::plugin::contract::functions::ParameterKind;
use crate::plugin::{Digest, Function, Manifest, Outline};
use crate::types::tame;

/// The longest file that is looked at, in bytes: more than any limit on components allows.
const MAX_FILE: u64 = 64 << 20;

/// The longest text of a component that is printed, in bytes.
const MAX_SHOWN: usize = 1000;

/// Arguments of `plugin inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 it can be used, 1 it cannot.")]
pub(super) struct Args {
    /// The component
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    settings: SettingsArgs,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let bytes = read(&args.file)?;
    let outline = Outline::of(&bytes);
    let manifest = outline.manifest.as_deref().and_then(|section| Manifest::parse(section).ok());
    // What is wrong comes from the way that a plugin takes into use, so that both say the same.
    let sandbox = sandbox(None)?;
    let loaded = call::load(&sandbox, &args.file, &args.settings.settings);
    let (functions, fault) = match &loaded {
        Ok(set) => (set.functions().map(|(_, function)| function).collect(), None),
        Err(error) => (Vec::new(), Some(error.reason.as_str())),
    };
    let about = About { path: &args.file, bytes: &bytes, outline, manifest, functions, fault };
    match args.output {
        Format::Text => output::print(&about.to_text())?,
        Format::Json => output::print(&format!("{:#}\n", about.to_json()))?,
    }
    Ok(match about.fault {
        None => Exit::Done,
        Some(reason) => {
            output::error(&format!("{}: {reason}", args.file.display()));
            Exit::Failed
        }
    })
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let shown = path.display();
    let file = std::fs::File::open(path).with_context(|| format!("{shown}: cannot be read"));
    let file = file.map_err(|error| anyhow::anyhow!("{error:#}"))?;
    anyhow::ensure!(file.metadata()?.is_file(), "{shown}: is no file");
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| anyhow::anyhow!("{shown}: {error}"))?;
    anyhow::ensure!(bytes.len() as u64 <= MAX_FILE, "{shown}: is longer than {MAX_FILE} bytes");
    Ok(bytes)
}

/// What is known of a component.
struct About<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    outline: Outline,
    manifest: Option<Manifest>,
    functions: Vec<&'a Function>,
    fault: Option<&'a str>,
}

impl About<'_> {
    fn to_json(&self) -> Value {
        let manifest = self.manifest.as_ref();
        json!({
            "file": self.path.display().to_string(),
            "name": manifest.map(|manifest| &manifest.name),
            "version": manifest.map(|manifest| &manifest.version),
            "contract": manifest.map(|manifest| &manifest.contract),
            "description": manifest.map(|manifest| &manifest.description),
            "sha256": Digest::of(self.bytes).to_string(),
            "bytes": self.bytes.len(),
            "exports": self.outline.exports,
            "imports": self.outline.imports,
            "wants": manifest.map(|manifest| &manifest.wants),
            "functions": self.functions.iter().map(|function| function_json(function)).collect::<Value>(),
            "usable": self.fault.is_none(),
            "fault": self.fault,
        })
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        let mut row = |label: &str, value: &str| {
            // A String takes everything.
            let _ = writeln!(text, "{label:<12} {}", tame(value, MAX_SHOWN));
        };
        if let Some(manifest) = &self.manifest {
            row("name", &manifest.name);
            row("version", &manifest.version);
            row("contract", &manifest.contract);
            row("description", &manifest.description);
        }
        row("sha256", &Digest::of(self.bytes).to_string());
        row("size", &format!("{} bytes", self.bytes.len()));
        let wants = self.manifest.as_ref().map_or(&[][..], |manifest| &manifest.wants);
        for (label, values) in
            [("exports", &self.outline.exports[..]), ("imports", &self.outline.imports), ("wants", wants)]
        {
            if values.is_empty() {
                row(label, "nothing");
            }
            for (index, value) in values.iter().enumerate() {
                row(if index == 0 { label } else { "" }, value);
            }
        }
        for (index, function) in self.functions.iter().enumerate() {
            let call = format!("{} {}", function.name, function.signature());
            row(if index == 0 { "functions" } else { "" }, call.trim_end());
            row("", &format!("    {}", function.help));
        }
        row("usable", if self.fault.is_none() { "yes" } else { "no" });
        if let (None, Some(manifest)) = (self.fault, &self.manifest) {
            let _ = write!(text, "\nTo use it, write into tailorbird.toml:\n\n{}", self.entry(manifest));
        }
        text
    }

    /// The entry of the configuration that grants what the plugin wants.
    fn entry(&self, manifest: &Manifest) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let path = std::path::absolute(self.path).unwrap_or_else(|_| self.path.to_owned());
        let mut entry = format!(
            "[[plugin]]\npath = {}\nsha256 = \"{}\"\n",
            quoted(&path.display().to_string()),
            Digest::of(self.bytes)
        );
        if !manifest.wants.is_empty() {
            let wants: Vec<String> = manifest.wants.iter().map(|want| quoted(want)).collect();
            entry += &format!("grants = [{}]\n", wants.join(", "));
        }
        entry
    }
}

fn function_json(function: &Function) -> Value {
    let parameters = function.parameters.iter().map(|parameter| {
        let kind = match parameter.kind {
            ParameterKind::Any => "any",
            ParameterKind::Boolean => "boolean",
            ParameterKind::Integer => "integer",
            ParameterKind::Text => "text",
            ParameterKind::Json => "json",
        };
        json!({ "name": parameter.name, "kind": kind, "optional": parameter.optional })
    });
    json!({ "name": function.name, "parameters": parameters.collect::<Value>(), "help": function.help })
}
