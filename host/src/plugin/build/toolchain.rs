use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The target that plugins are compiled for.
pub(super) const TARGET: &str = "wasm32-unknown-unknown";

/// What Debian's compiler is called, wherever another one may stand in the PATH.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";

/// A compiler that can make WebAssembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Toolchain {
    /// The target's standard library is installed.
    Installed {
        /// The cargo to run.
        cargo: PathBuf,
        /// The rustc that it is to use.
        rustc: PathBuf,
    },
    /// Debian's: the standard library is compiled from its source first.
    FromSource {
        /// The cargo to run.
        cargo: PathBuf,
        /// The rustc that it is to use.
        rustc: PathBuf,
        /// The linker.
        linker: PathBuf,
    },
}

/// What a machine has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The cargo and the rustc of the PATH, as `CARGO` and `RUSTC` may say otherwise.
    pub path: Option<Compiler>,
    /// Debian's.
    pub debian: Option<Compiler>,
    /// LLVM's linker for WebAssembly.
    pub linker: Option<PathBuf>,
}

/// A compiler, and what it has for the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Its cargo.
    pub cargo: PathBuf,
    /// Its rustc.
    pub rustc: PathBuf,
    /// Whether the target's standard library is installed.
    pub target: bool,
    /// Whether the standard library's source is there, with its dependencies.
    pub source: bool,
}

/// Nothing here compiles for WebAssembly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NoToolchain {
    missing: Vec<String>,
}

impl fmt::Display for NoToolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "nothing here compiles for {TARGET}:")?;
        for missing in &self.missing {
            writeln!(f, "  {missing}")?;
        }
        writeln!(f, "One of these brings it:")?;
        writeln!(f, "  rustup target add {TARGET}")?;
        write!(
            f,
            "  apt-get install --no-install-recommends rustc-web cargo-web rust-web-src lld-19   (Debian)"
        )
    }
}

impl Toolchain {
    /// Chooses: the target of the PATH's compiler, then that of Debian's, then Debian's source.
    ///
    /// # Errors
    /// What is missing, and the commands that bring it.
    pub fn find(machine: &Machine) -> Result<Self, NoToolchain> {
        let compilers = [machine.path.as_ref(), machine.debian.as_ref()];
        if let Some(compiler) = compilers.into_iter().flatten().find(|compiler| compiler.target) {
            let Compiler { cargo, rustc, .. } = compiler.clone();
            return Ok(Self::Installed { cargo, rustc });
        }
        let mut missing = Vec::new();
        match &machine.path {
            Some(own) => missing.push(format!("{}: the target is not installed", own.rustc.display())),
            None => missing.push("there is no cargo with a rustc in the PATH".to_owned()),
        }
        if let Some(own) = &machine.debian {
            if !own.source {
                missing.push(format!("{}: no source of the standard library beside it", own.rustc.display()));
            }
            match &machine.linker {
                Some(linker) if own.source => {
                    return Ok(Self::FromSource {
                        cargo: own.cargo.clone(),
                        rustc: own.rustc.clone(),
                        linker: linker.clone(),
                    });
                }
                Some(_) => {}
                None => missing.push("there is no wasm-ld in the PATH".to_owned()),
            }
        }
        Err(NoToolchain { missing })
    }

    /// Cargo, set up to compile for the target; the subcommand comes first.
    pub(super) fn cargo(&self, subcommand: &str) -> Command {
        match self {
            Self::Installed { cargo, rustc } => {
                let mut command = Command::new(cargo);
                command.arg(subcommand).env("RUSTC", rustc);
                command
            }
            Self::FromSource { cargo, rustc, linker } => {
                let mut command = Command::new(cargo);
                command
                    .args([subcommand, "-Zbuild-std=std,panic_abort"])
                    .env("RUSTC", rustc)
                    // `-Z` is for the standard library, not for the plugin.
                    .env("RUSTC_BOOTSTRAP", "1")
                    .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
                command
            }
        }
    }
}

impl Machine {
    /// Looks at this machine, from a folder: what `rustc` is can depend on it.
    pub fn here(dir: &Path) -> Self {
        let named = |variable: &str, name: &str| match std::env::var_os(variable) {
            Some(path) => Some(PathBuf::from(path)),
            None => in_path(name),
        };
        let path = named("CARGO", "cargo").zip(named("RUSTC", "rustc"));
        let debian = (PathBuf::from(DEBIAN_CARGO), PathBuf::from(DEBIAN_RUSTC));
        Self {
            path: path.map(|(cargo, rustc)| Compiler::look(dir, cargo, rustc)),
            debian: Some(debian)
                .filter(|(cargo, rustc)| cargo.is_file() && rustc.is_file())
                .map(|(cargo, rustc)| Compiler::look(dir, cargo, rustc)),
            linker: linker(),
        }
    }
}

impl Compiler {
    fn look(dir: &Path, cargo: PathBuf, rustc: PathBuf) -> Self {
        let ask = |arguments: &[&str]| {
            let mut command = Command::new(&rustc);
            command.args(arguments).current_dir(dir).stdin(Stdio::null()).stderr(Stdio::null());
            let output = command.output().ok().filter(|output| output.status.success())?;
            Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end()))
        };
        let libraries = ask(&["--print", "target-libdir", "--target", TARGET]);
        let library = ask(&["--print", "sysroot"]).map(|root| root.join("lib/rustlib/src/rust/library"));
        Self {
            cargo,
            rustc,
            target: libraries.is_some_and(|folder| holds_std(&folder)),
            source: library
                .is_some_and(|folder| folder.join("Cargo.lock").is_file() && folder.join("vendor").is_dir()),
        }
    }
}

fn holds_std(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| {
        let name = name.to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    })
}

/// LLVM's linker, which Debian calls after its version: the newest one.
fn linker() -> Option<PathBuf> {
    in_path("wasm-ld").or_else(|| (14..=40).rev().find_map(|version| in_path(&format!("wasm-ld-{version}"))))
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiler(folder: &str, target: bool, source: bool) -> Option<Compiler> {
        let folder = Path::new(folder);
        Some(Compiler { cargo: folder.join("cargo"), rustc: folder.join("rustc"), target, source })
    }

    fn linker() -> Option<PathBuf> {
        Some("/usr/bin/wasm-ld-19".into())
    }

    #[test]
    fn an_installed_target_is_best() {
        let machine = Machine {
            path: compiler("/a", true, false),
            debian: compiler("/usr/bin", true, true),
            linker: linker(),
        };
        let expected = Toolchain::Installed { cargo: "/a/cargo".into(), rustc: "/a/rustc".into() };
        assert_eq!(Toolchain::find(&machine), Ok(expected));

        let machine = Machine { path: compiler("/a", false, false), ..machine };
        let expected =
            Toolchain::Installed { cargo: "/usr/bin/cargo".into(), rustc: "/usr/bin/rustc".into() };
        assert_eq!(Toolchain::find(&machine), Ok(expected));
    }

    #[test]
    fn debians_source_will_do() {
        let machine = Machine {
            path: compiler("/a", false, true),
            debian: compiler("/usr/bin", false, true),
            linker: linker(),
        };
        let expected = Toolchain::FromSource {
            cargo: "/usr/bin/cargo".into(),
            rustc: "/usr/bin/rustc".into(),
            linker: "/usr/bin/wasm-ld-19".into(),
        };
        assert_eq!(Toolchain::find(&machine), Ok(expected));
    }

    #[test]
    fn what_is_missing_is_said_with_the_commands_that_bring_it() {
        let no_compiler = Machine { linker: linker(), ..Machine::default() };
        let no_target = Machine { path: compiler("/a", false, false), ..Machine::default() };
        let no_source =
            Machine { debian: compiler("/usr/bin", false, false), linker: linker(), ..no_target.clone() };
        let no_linker = Machine { debian: compiler("/usr/bin", false, true), ..no_target.clone() };
        for (machine, missing) in [
            (no_compiler, "there is no cargo with a rustc in the PATH"),
            (no_target, "/a/rustc: the target is not installed"),
            (no_source, "/usr/bin/rustc: no source of the standard library"),
            (no_linker, "there is no wasm-ld in the PATH"),
        ] {
            let error = Toolchain::find(&machine).expect_err(missing).to_string();
            for words in [missing, "rustup target add wasm32-unknown-unknown", "apt-get install"] {
                assert!(error.contains(words), "{words:?} in {error}");
            }
        }
    }
}
