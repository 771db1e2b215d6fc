//! The plugins that a command works with.

use std::path::PathBuf;

use anyhow::bail;

use super::output;
use crate::configuration::{Configuration, ConfigurationError};
use crate::environment;
use crate::plugin::config::{Configuration as Plugins, Entry};
use crate::plugin::{LoadError, PluginSet, Sandbox, signature_path};
use crate::render;

/// Which plugins.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct PluginArgs {
    /// The configuration file, tailorbird.toml; it says which plugins there are and what they may do. Unless given,
    /// TAILORBIRD_CONFIG
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A plugin to try besides: it may read all that it wants. Can be given several times
    #[arg(long = "plugin", value_name = "PATH")]
    trials: Vec<PathBuf>,
}

impl PluginArgs {
    /// Loads the plugins of a configuration; those on trial are told.
    pub(super) fn load(&self, configuration: &Plugins) -> anyhow::Result<PluginSet> {
        // Whoever has no plugin need not wait for a sandbox.
        if configuration.plugins.is_empty() {
            return Ok(PluginSet::default());
        }
        let set = load(configuration)?;
        let first = configuration.plugins.len() - self.trials.len();
        let on_trial = set.files().zip(set.facts()).zip(&configuration.plugins).skip(first);
        for ((file, facts), entry) in on_trial {
            let reads: Vec<&str> = facts.rights.0.iter().map(|pattern| pattern.as_str()).collect();
            let reads = if reads.is_empty() { "nothing".to_owned() } else { reads.join(", ") };
            output::note(&format!(
                "plugin {} {} ({}) is on trial and may read all that it wants: {reads}",
                facts.name,
                file.manifest.version,
                entry.path.display(),
            ));
        }
        Ok(set)
    }

    /// Whether plugins are to be tried.
    pub(super) fn on_trial(&self) -> bool {
        !self.trials.is_empty()
    }

    /// The configuration file, if there is one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let lookup = |name: &str| std::env::var(name).ok();
        self.config.clone().or_else(|| environment::configuration(&lookup))
    }

    /// All that a daemon follows: the file and what it names, and the plugins on trial; none while the file cannot be read.
    pub(super) fn files(&self) -> Option<Vec<PathBuf>> {
        let file = self.file();
        let named = file.as_deref().map(Configuration::files_named).transpose().ok()?;
        // With keys a plugin on trial needs a signature as well; without them nobody looks at it.
        let trials = self.trials.iter().flat_map(|path| [path.clone(), signature_path(path)]);
        Some(file.into_iter().chain(named.into_iter().flatten()).chain(trials).collect())
    }

    /// What the file says, with the plugins on trial behind those in it.
    pub(super) fn configuration(&self) -> Result<Configuration, ConfigurationError> {
        let configuration = self.file().as_deref().map(Configuration::read).transpose()?;
        let mut configuration = configuration.unwrap_or_default();
        configuration.plugins.plugins.extend(self.trials.iter().cloned().map(Entry::trial));
        Ok(configuration)
    }
}

/// Loads plugins anew, for a daemon; what is wrong is one text.
pub(super) fn reload(configuration: &Plugins) -> Result<PluginSet, String> {
    if configuration.plugins.is_empty() {
        return Ok(PluginSet::default());
    }
    let sandbox = Sandbox::new(configuration.cache.clone()).map_err(|error| told(&error))?;
    load_usable(&sandbox, configuration)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// Loads plugins; what is wrong with each is told.
fn load(configuration: &Plugins) -> anyhow::Result<PluginSet> {
    let sandbox = sandbox(configuration.cache.clone())?;
    match load_usable(&sandbox, configuration) {
        Ok(set) => Ok(set),
        Err(errors) => {
            errors.iter().for_each(|error| output::error(&error.to_string()));
            bail!("nothing was done, because plugins cannot be used")
        }
    }
}

/// A sandbox; `cache` is the folder for compiled plugins.
pub(super) fn sandbox(cache: Option<PathBuf>) -> anyhow::Result<Sandbox> {
    Sandbox::new(cache).map_err(|error| anyhow::anyhow!(told(&error)))
}

/// Loads plugins whose functions templates can have, too.
pub(super) fn load_usable(sandbox: &Sandbox, configuration: &Plugins) -> Result<PluginSet, Vec<LoadError>> {
    let set = PluginSet::load(sandbox, configuration)?;
    render::plugin_functions(&set).map_err(|error| vec![error])?;
    Ok(set)
}

/// An error that is not about a plugin but the sandbox.
fn told(error: &LoadError) -> String {
    format!("{}: {}", error.plugin, error.reason)
}
