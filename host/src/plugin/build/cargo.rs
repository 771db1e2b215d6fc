use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::BuildError;
use super::toolchain::{TARGET, Toolchain};

/// How plugins are compiled, wherever they are: small, since a host compiles them again, and without what a host does not
/// read.
const PROFILE: [&str; 5] = [
    "profile.plugin.inherits='release'",
    "profile.plugin.lto=true",
    "profile.plugin.codegen-units=1",
    "profile.plugin.panic='abort'",
    "profile.plugin.strip=true",
];

/// A crate that can be a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    /// Its name.
    pub(super) name: String,
    /// Cargo's folder for what is built.
    pub(super) target: PathBuf,
    /// Whether that folder is cargo's own choice.
    default_target: bool,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    target_directory: PathBuf,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    crate_types: Vec<String>,
}

/// Finds the crate of a folder. Only reads.
pub(super) fn package(dir: &Path) -> Result<Package, BuildError> {
    let wrong = |reason: &str| BuildError::Crate { dir: dir.to_owned(), reason: reason.to_owned() };
    let manifest = match dir.join("Cargo.toml").canonicalize() {
        Ok(manifest) => manifest,
        Err(_) => {
            return Err(wrong(
                "there is no Cargo.toml: `tailorbird plugin new NAME` makes a crate to begin with",
            ));
        }
    };
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let output = Command::new(&program)
        .args(["metadata", "--format-version=1", "--no-deps"])
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| BuildError::Run { program: PathBuf::from(program), error })?;
    if !output.status.success() {
        return Err(wrong(String::from_utf8_lossy(&output.stderr).trim_end()));
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)
        .map_err(|error| wrong(&format!("`cargo metadata` cannot be read: {error}")))?;
    let package = metadata.packages.into_iter().find(|package| package.manifest_path == manifest);
    let package =
        package.ok_or_else(|| wrong("its Cargo.toml has no [package]: name the folder of a crate"))?;
    let mut crate_types = package.targets.iter().flat_map(|target| &target.crate_types);
    if !crate_types.any(|kind| kind == "cdylib") {
        return Err(wrong("its Cargo.toml lacks `crate-type = [\"cdylib\"]` under [lib]"));
    }
    let default_target = metadata.target_directory == metadata.workspace_root.join("target");
    Ok(Package { name: package.name, target: metadata.target_directory, default_target })
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Where a standard library that is compiled from source is kept, so that this happens once and not for every plugin. None
/// when the operator chose a folder, or there is no home.
fn shared_target(toolchain: &Toolchain, package: &Package) -> Option<PathBuf> {
    let from_source = matches!(toolchain, Toolchain::FromSource { .. });
    let caches = || match std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => Some(PathBuf::from(folder)),
        None => Some(std::env::home_dir()?.join(".cache")),
    };
    let folder = caches().filter(|folder| from_source && package.default_target && folder.is_absolute());
    folder.map(|folder| folder.join("tailorbird/plugin-build"))
}

/// Compiles a crate to a core module.
pub(super) fn compile(toolchain: &Toolchain, dir: &Path, package: &Package) -> Result<Module, BuildError> {
    let Some(shared) = shared_target(toolchain, package) else {
        return run(toolchain.cargo("build"), dir, package);
    };
    let lock = shared.join(".module");
    let fail = |error| BuildError::File { path: lock.clone(), error };
    std::fs::create_dir_all(&shared).map_err(fail)?;
    let file = File::create(&lock).map_err(fail)?;
    // Crates of one name have their modules in one place: nobody builds before the module is read.
    file.lock().map_err(fail)?;
    let mut command = toolchain.cargo("build");
    command.arg("--target-dir").arg(&shared);
    run(command, dir, package)
}

/// A core module.
pub(super) struct Module {
    /// Where it was.
    pub(super) path: PathBuf,
    /// What was in it.
    pub(super) bytes: Vec<u8>,
}

fn run(mut command: Command, dir: &Path, package: &Package) -> Result<Module, BuildError> {
    command
        .args(["--lib", "--target", TARGET, "--profile=plugin"])
        .arg("--message-format=json-render-diagnostics");
    for setting in PROFILE {
        command.args(["--config", setting]);
    }
    command.arg("--config").arg(format!("target.{TARGET}.rustflags={}", remapped()));
    let program = PathBuf::from(command.get_program());
    let run = |error| BuildError::Run { program: program.clone(), error };
    let mut child =
        command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(run)?;
    let mut module = None;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            module = artifact(&line.map_err(run)?, dir).or(module);
        }
    }
    if !child.wait().map_err(run)?.success() {
        return Err(BuildError::Failed { dir: dir.to_owned() });
    }
    let path = module.ok_or_else(|| BuildError::Crate {
        dir: dir.to_owned(),
        reason: format!("cargo made no WebAssembly module of `{}`", package.name),
    })?;
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Module { path, bytes }),
        Err(error) => Err(BuildError::File { path, error }),
    }
}

/// Flags after which a plugin does not tell where it was built: its panics name source files, those of the crate without
/// its folder. The same for every crate, or they could not share a standard library.
fn remapped() -> toml::Value {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let home = home.as_deref().and_then(Path::to_str);
    let flag = home.map(|home| toml::Value::from(format!("--remap-path-prefix={home}=/cargo")));
    toml::Value::Array(flag.into_iter().collect())
}

/// The module, if a line of cargo's tells of that of this crate.
fn artifact(line: &str, dir: &Path) -> Option<PathBuf> {
    let message: Message = serde_json::from_str(line).ok()?;
    let own = message.reason == "compiler-artifact"
        && message.manifest_path.parent()?.canonicalize().ok()? == dir.canonicalize().ok()?;
    let mut modules =
        message.filenames.into_iter().filter(|file| file.extension().is_some_and(|e| e == "wasm"));
    modules.next().filter(|_| own)
}
