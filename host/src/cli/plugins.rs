//! The plugins that a command works with.

use std::path::PathBuf;

use anyhow::bail;

use super::output;
use crate::environment;
use crate::plugin::config::{Configuration, Entry};
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
    /// Loads the plugins of the configuration, and behind them those that are on trial.
    pub(super) fn load(&self) -> anyhow::Result<PluginSet> {
        let configuration = self.configuration().map_err(|error| anyhow::anyhow!(told(&error)))?;
        // Whoever has no plugin need not wait for a sandbox.
        if configuration.plugins.is_empty() {
            return Ok(PluginSet::default());
        }
        let set = load(&configuration)?;
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

    /// What the file says, with the plugins on trial behind those in it.
    fn configuration(&self) -> Result<Configuration, LoadError> {
        let configuration = self.file().as_deref().map(Configuration::read).transpose()?;
        let mut configuration = configuration.unwrap_or_default();
        configuration.plugins.extend(self.trials.iter().cloned().map(Entry::trial));
        Ok(configuration)
    }

    /// The configuration file, the components and their signatures.
    pub(super) fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let configuration = self.configuration().map_err(|error| anyhow::anyhow!(told(&error)))?;
        let components = configuration.plugins.iter().flat_map(|entry| {
            let signature = (!configuration.keys.is_empty()).then(|| signature_path(&entry.path));
            std::iter::once(entry.path.clone()).chain(signature)
        });
        Ok(self.file().into_iter().chain(components).collect())
    }

    /// Loads all of it anew, for a daemon; what is wrong is one text.
    pub(super) fn reload(&self) -> Result<PluginSet, String> {
        let configuration = self.configuration().map_err(|error| told(&error))?;
        if configuration.plugins.is_empty() {
            return Ok(PluginSet::default());
        }
        let sandbox = Sandbox::new(configuration.cache.clone()).map_err(|error| told(&error))?;
        load_usable(&sandbox, &configuration)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }
}

/// Loads plugins; what is wrong with each is told.
fn load(configuration: &Configuration) -> anyhow::Result<PluginSet> {
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
pub(super) fn load_usable(
    sandbox: &Sandbox,
    configuration: &Configuration,
) -> Result<PluginSet, Vec<LoadError>> {
    let set = PluginSet::load(sandbox, configuration)?;
    render::plugin_functions(&set).map_err(|error| vec![error])?;
    Ok(set)
}

/// An error that is not about a plugin: of the file or the sandbox.
fn told(error: &LoadError) -> String {
    format!("{}: {}", error.plugin, error.reason)
}
