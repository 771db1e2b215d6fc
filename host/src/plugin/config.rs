//! The operator's word on plugins: `[plugins]` and `[[plugin]]` of the configuration file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::limits::Limits;
use super::manifest::Digest;
use super::signature::{PublicKey, signature_path};
use crate::policy::{OnError, Placement};
use crate::regular;
use crate::types::KeyPattern;

/// What the file says about plugins, with every path made absolute or relative to where the program runs.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    /// The plugins in their order.
    pub plugins: Vec<Entry>,
    /// Keys that sign plugins; when there are any, every plugin needs a signature.
    pub keys: Vec<PublicKey>,
    /// Where compiled plugins are kept.
    pub cache: Option<PathBuf>,
}

/// A plugin as the operator wants it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The component.
    pub path: PathBuf,
    /// The name here, where it is not to be the manifest's.
    pub name: Option<String>,
    /// The digest that the component must have.
    pub digest: Option<Digest>,
    /// What it may read.
    pub grants: Grants,
    /// Its settings.
    pub settings: Map<String, Value>,
    /// What it may use.
    pub limits: Limits,
    /// What happens when it fails.
    pub on_error: OnError,
    /// Where its rules stand.
    pub placement: Placement,
}

/// What a plugin may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grants {
    /// All that it wants: for a quick try.
    All,
    /// These keys; the file that a missing one belongs into.
    Listed(Vec<KeyPattern>),
}

impl Entry {
    /// A plugin with all that it wants and every setting at its default.
    pub fn trial(path: PathBuf) -> Self {
        Self {
            path,
            name: None,
            digest: None,
            grants: Grants::All,
            settings: Map::new(),
            limits: Limits::default(),
            on_error: OnError::default(),
            placement: Placement::default(),
        }
    }
}

/// The part `[plugins]`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PluginsForm {
    keys: Vec<PathBuf>,
    cache: Option<PathBuf>,
}

impl PluginsForm {
    /// The files that these parts name; paths in them are relative to `folder`.
    pub(crate) fn files_named(&self, entries: &[EntryForm], folder: &Path) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.keys.iter().map(|key| folder.join(key)).collect();
        for entry in entries {
            let component = folder.join(&entry.path);
            files.extend((!self.keys.is_empty()).then(|| signature_path(&component)));
            files.push(component);
        }
        files
    }
}

/// The largest key that is read, in bytes.
const MAX_KEY: usize = 64 << 10;

/// A part `[[plugin]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntryForm {
    path: PathBuf,
    name: Option<String>,
    sha256: Option<String>,
    #[serde(default)]
    grants: Vec<String>,
    #[serde(default)]
    settings: Map<String, Value>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    on_error: OnError,
    #[serde(default)]
    placement: Placement,
    #[serde(default)]
    order: i64,
}

impl Configuration {
    /// What the parts about plugins say; paths in them are relative to `folder`.
    ///
    /// # Errors
    /// A key cannot be read, or something is wrong; the error says where.
    pub(crate) fn new(common: PluginsForm, entries: Vec<EntryForm>, folder: &Path) -> Result<Self, String> {
        let mut keys = Vec::new();
        for key in common.keys {
            let key = folder.join(key);
            let text = regular::read_text(&key, MAX_KEY)
                .map_err(|error| format!("plugins.keys: {}: {error}", key.display()))?;
            let key = PublicKey::from_pem(&text)
                .map_err(|error| format!("plugins.keys: {} {error}", key.display()))?;
            keys.push(key);
        }
        let mut plugins = Vec::new();
        for (index, form) in entries.into_iter().enumerate() {
            let order = form.order;
            let shown = format!("[[plugin]] number {} ({})", index + 1, form.path.display());
            plugins.push((order, entry(form, folder).map_err(|reason| format!("{shown}: {reason}"))?));
        }
        // The order in the file decides among equals.
        plugins.sort_by_key(|(order, _)| *order);
        Ok(Self {
            plugins: plugins.into_iter().map(|(_, entry)| entry).collect(),
            keys,
            cache: common.cache.map(|cache| folder.join(cache)),
        })
    }
}

fn entry(form: EntryForm, folder: &Path) -> Result<Entry, String> {
    let digest = match form.sha256 {
        None => None,
        Some(text) => Some(
            Digest::parse(&text).ok_or_else(|| format!("sha256 = {text:?}: not 64 hexadecimal digits"))?,
        ),
    };
    let grants =
        form.grants.iter().map(|text| text.parse().map_err(|error| format!("grants: {text:?}: {error}")));
    let grants = grants.collect::<Result<Vec<KeyPattern>, String>>()?;
    if let Some(fault) = form.limits.fault() {
        return Err(fault);
    }
    Ok(Entry {
        path: folder.join(form.path),
        name: form.name,
        digest,
        grants: Grants::Listed(grants),
        settings: form.settings,
        limits: form.limits,
        on_error: form.on_error,
        placement: form.placement,
    })
}
