/// Why a plugin cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin {plugin}: {reason}")]
pub struct LoadError {
    /// The plugin's name, or its path where the name is not known yet.
    pub plugin: String,
    /// What is wrong and what to do, as a phrase that follows the plugin's name.
    pub reason: String,
}

impl LoadError {
    pub(crate) fn new(plugin: &str, reason: impl Into<String>) -> Self {
        Self { plugin: plugin.to_owned(), reason: reason.into() }
    }
}
