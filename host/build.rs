//! Puts the library for plugins into the binary, which lays a copy of it beside each new plugin: its files, its Cargo.toml
//! as it stands without this workspace, and what Cargo.lock says of all that it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

const SDK: &str = "tailorbird-guest";
const ROOT: &str = "..";
const SDK_FOLDER: &str = "../guest-sdk";

fn main() -> Result<(), Box<dyn Error>> {
    for path in ["build.rs", SDK_FOLDER, "../Cargo.toml", "../Cargo.lock"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let mut code = String::from("pub(super) const SDK_FILES: &[(&str, &str)] = &[\n");
    let manifest = standalone(
        &fs::read_to_string(Path::new(SDK_FOLDER).join("Cargo.toml"))?,
        &fs::read_to_string(Path::new(ROOT).join("Cargo.toml"))?,
    )?;
    for (name, path) in files(Path::new(SDK_FOLDER))? {
        // No path to this checkout: another one may share the target folder, and outlive it.
        let text = if name == "Cargo.toml" { toml::to_string(&manifest)? } else { fs::read_to_string(path)? };
        writeln!(code, "    ({name:?}, {text:?}),")?;
    }
    code += "];\n\npub(super) const LOCKED: &[(&str, &str)] = &[\n";
    for (name, text) in locked(&fs::read_to_string(Path::new(ROOT).join("Cargo.lock"))?, &manifest)? {
        writeln!(code, "    ({name:?}, {text:?}),")?;
    }
    code += "];\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("sdk.rs"), code)?;
    Ok(())
}

/// The files of the library by their names in its folder, without its tests.
fn files(folder: &Path) -> Result<BTreeMap<String, PathBuf>, Box<dyn Error>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            let name = path.strip_prefix(folder)?.to_str().ok_or("names are UTF-8")?.to_owned();
            if path.is_dir() {
                if name != "tests" && name != "target" {
                    folders.push(path);
                }
            } else {
                found.insert(name, path);
            }
        }
    }
    Ok(found)
}

/// A crate's manifest without what it has from its workspace, and without what only its tests need.
fn standalone(manifest: &str, workspace: &str) -> Result<Table, Box<dyn Error>> {
    let mut manifest: Table = manifest.parse()?;
    let workspace: Table = workspace.parse()?;
    let workspace = workspace["workspace"].as_table().ok_or("[workspace] is a table")?;
    for table in ["package", "dependencies"] {
        let shared = workspace[table].as_table().ok_or("a table of the workspace")?;
        let own = manifest[table].as_table_mut().ok_or("a table of the crate")?;
        for (key, value) in own.iter_mut() {
            if value.get("workspace").and_then(Value::as_bool) == Some(true) {
                *value = shared.get(key).ok_or("what is inherited is there")?.clone();
            }
        }
    }
    manifest.remove("lints");
    manifest.remove("dev-dependencies");
    Ok(manifest)
}

/// Entries of a Cargo.lock for the library, whose manifest is given, and all that it needs, by name.
fn locked(lock: &str, manifest: &Table) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let lock: Table = lock.parse()?;
    let packages = lock["package"].as_array().ok_or("packages are a list")?;
    let own = manifest["dependencies"].as_table().ok_or("[dependencies] is a table")?;
    let dependencies = |package| {
        // Cargo.lock does not tell what only tests need.
        let wanted = move |name: &&str| text(package, "name") != SDK || own.contains_key(*name);
        dependencies(package).filter(wanted)
    };
    let mut needed = BTreeMap::new();
    let mut open = vec![SDK.to_owned()];
    while let Some(wanted) = open.pop() {
        let package = packages.iter().filter_map(Value::as_table).find(|package| is(package, &wanted));
        let package = package.ok_or_else(|| format!("`{wanted}` is not in Cargo.lock"))?;
        let id = (text(package, "name").to_owned(), text(package, "version").to_owned());
        if needed.insert(id, package).is_none() {
            open.extend(dependencies(package).map(str::to_owned));
        }
    }
    let mut names = BTreeSet::new();
    let several: BTreeSet<&str> =
        needed.keys().map(|(name, _)| name.as_str()).filter(|name| !names.insert(*name)).collect();
    let entries = needed.iter().map(|((name, version), package)| {
        let mut entry = format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
        for key in ["source", "checksum"] {
            if package.contains_key(key) {
                entry += &format!("{key} = \"{}\"\n", text(package, key));
            }
        }
        let mut dependencies = dependencies(package).peekable();
        if dependencies.peek().is_some() {
            entry += "dependencies = [\n";
            for dependency in dependencies {
                // The version is said only where it must be.
                let name = dependency.split(' ').next().unwrap_or_default();
                let shown = if several.contains(name) { dependency } else { name };
                entry += &format!(" \"{shown}\",\n");
            }
            entry += "]\n";
        }
        (name.clone(), entry)
    });
    Ok(entries.collect())
}

/// Whether a package is what a dependency names: `name`, or `name version`.
fn is(package: &Table, wanted: &str) -> bool {
    let mut words = wanted.split(' ');
    words.next() == Some(text(package, "name"))
        && words.next().is_none_or(|version| version == text(package, "version"))
}

fn dependencies(package: &Table) -> impl Iterator<Item = &str> {
    package.get("dependencies").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn text<'a>(package: &'a Table, key: &str) -> &'a str {
    package.get(key).and_then(Value::as_str).unwrap_or_default()
}
