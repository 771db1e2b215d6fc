//! `tailorbird.toml`, the operator's file: read once, each part by whom it is about.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::daemon::config::{DaemonForm, Options};
use crate::plugin::config::{Configuration as Plugins, EntryForm, PluginsForm};
use crate::regular;

/// What the file says. Without a file everything has its default, and there is no plugin.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    /// The plugins: `[plugins]` and `[[plugin]]`.
    pub plugins: Plugins,
    /// The daemon: `[daemon]`.
    pub daemon: Options,
}

/// Why the file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", .file.display())]
pub struct ConfigurationError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it, with its place.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(default)]
    plugins: PluginsForm,
    #[serde(default)]
    plugin: Vec<EntryForm>,
    #[serde(default)]
    daemon: DaemonForm,
}

impl Form {
    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
    }
}

/// The largest file that is read, in bytes.
const MAX_FILE: usize = 4 << 20;

/// The text of a file, and the folder where it lies.
fn read(file: &Path) -> Result<(String, &Path), String> {
    let text = regular::read_text(file, MAX_FILE).map_err(|error| format!("cannot be read: {error}"))?;
    Ok((text, file.parent().unwrap_or_else(|| Path::new(""))))
}

impl Configuration {
    /// Reads a file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// The file, or a key that it names, cannot be read, or something in it is wrong.
    pub fn read(file: &Path) -> Result<Self, ConfigurationError> {
        let fail = |reason| ConfigurationError { file: file.to_owned(), reason };
        let (text, folder) = read(file).map_err(fail)?;
        Self::parse(&text, folder).map_err(fail)
    }

    /// The files that a file names: keys, components, and their signatures where there are keys. Whether they can be used
    /// is not looked at.
    ///
    /// # Errors
    /// The file cannot be read, or is not of its form.
    pub fn files_named(file: &Path) -> Result<Vec<PathBuf>, ConfigurationError> {
        let fail = |reason| ConfigurationError { file: file.to_owned(), reason };
        let (text, folder) = read(file).map_err(fail)?;
        let form = Form::parse(&text).map_err(fail)?;
        Ok(form.plugins.files_named(&form.plugin, folder))
    }

    /// Reads the text of a file; `folder` is where it lies.
    fn parse(text: &str, folder: &Path) -> Result<Self, String> {
        let form = Form::parse(text)?;
        Ok(Self {
            plugins: Plugins::new(form.plugins, form.plugin, folder)?,
            daemon: Options::new(form.daemon, folder)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;
    use std::time::Duration;

    use super::*;

    fn parse(text: &str) -> Result<Configuration, String> {
        Configuration::parse(text, Path::new("/etc/x"))
    }

    #[test]
    fn plugins_and_the_daemon_are_configured_in_one_file() {
        let text = r#"
            [plugins]
            cache = "c"
            [[plugin]]
            path = "p.wasm"
            [daemon]
            quiet = "0ms"
            bound = "2m"
            sockets = "run"
            undo_after = "1m"
            [daemon.guard]
            peers = 0
            routes = 0.5
            at_most = "1h"
        "#;
        let configuration = parse(text).expect("read");
        assert_eq!(configuration.plugins.cache.as_deref(), Some(Path::new("/etc/x/c")));
        assert_eq!(configuration.plugins.plugins[0].path, Path::new("/etc/x/p.wasm"));
        let options = configuration.daemon;
        assert_eq!((options.timing.quiet, options.timing.bound), (Duration::ZERO, Duration::from_secs(120)));
        assert_eq!(options.sockets, Path::new("/etc/x/run"));
        assert_eq!(options.undo_after, NonZeroU16::new(60));
        assert_eq!((options.guard.peers, options.guard.routes), (None, Some(0.5)));
        assert_eq!(options.guard.at_most, Some(Duration::from_secs(3600)));
        assert_eq!(parse("").expect("nothing").daemon, Options::default());
    }

    #[test]
    fn mistakes_are_told() {
        for (text, told) in [
            ("[daemon]\nquite = \"1s\"", "unknown field `quite`"),
            ("[daemon]\nquiet = \"1\"", "\"1\" is no time"),
            ("[daemon]\nquiet = \"99h\"", "is no time of at most a day"),
            ("[daemon]\nprobe = \"1ms\"", "daemon.probe"),
            ("[daemon]\nreload = \"maybe\"", "must be \"auto\" or \"none\""),
            ("[daemon.guard]\npeers = 2.0", "daemon.guard.peers = 2"),
            ("[daemon]\nundo_after = \"1500ms\"", "daemon.undo_after = 1.5s: must be whole seconds"),
            ("[daemon]\nundo_after = \"0s\"", "daemon.undo_after = 0ns"),
            ("[daemon]\nundo_after = \"20h\"", "daemon.undo_after"),
            ("[demon]", "unknown field `demon`"),
            ("[plugins]\nkeyz = []", "unknown field `keyz`"),
            ("[[plugin]]\npath = \"p\"\nsha256 = \"x\"", "[[plugin]] number 1 (p): sha256"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn the_documentation_has_every_key_and_no_other() {
        let text = include_str!("../../docs/daemon.md");
        let (_, text) = text.split_once("## tailorbird.toml").expect("the chapter");
        let (text, _) = text.split_once("## HTTP").expect("the next chapter");
        let (daemon, guard) = text.split_once("`[daemon.guard]`").expect("the guard's part");
        for (section, text, below) in [("daemon", daemon, Some("guard")), ("daemon.guard", guard, None)] {
            // An unknown key's error names all that there are.
            let error = parse(&format!("[{section}]\nnonsense = 1")).expect_err("unknown");
            let (_, known) = error.rsplit_once("expected one of").expect("all keys");
            let mut known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
            let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
            let mut told: Vec<&str> = rows.chain(below).collect();
            known.sort_unstable();
            told.sort_unstable();
            assert_eq!(told, known, "[{section}]");
        }
    }
}
