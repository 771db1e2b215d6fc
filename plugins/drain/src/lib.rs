//! Moves traffic away from nodes that are going down, as RFC 8326 has it.
//!
//! A node that is cordoned or annotated exports all routes with the community 65535:0 and the local preference 0. Every
//! node gives routes that it receives with that community the local preference 0.

use serde::Deserialize;
use tailorbird_guest::{Community, Direction, Filter, Kv, Operation, Peering, Policy, Rule, RuleSet};

const THIS_NODE: &str = "/tailorbird/v1/this-node";
const NODES: &str = "/tailorbird/v1/node";
const DOMAIN: &str = "tailorbird.io/";
const WORST: Operation = Operation::SetLocalPreference(0);

/// The policy.
#[derive(Debug, PartialEq, Eq)]
pub struct Drain {
    settings: Settings,
    // Made once: sessions share them.
    export: RuleSet,
    import: RuleSet,
}

/// The settings.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    annotation: String,
    cordoned: bool,
    import: bool,
    sessions: Sessions,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            annotation: format!("{DOMAIN}drain"),
            cordoned: true,
            import: true,
            sessions: Sessions::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sessions {
    #[default]
    All,
    Internal,
    External,
}

impl Sessions {
    fn include(self, peering: &Peering<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Internal => peering.is_internal(),
            Self::External => !peering.is_internal(),
        }
    }
}

impl Policy for Drain {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, String> {
        let name = settings.annotation.strip_prefix(DOMAIN).unwrap_or_default();
        if name.is_empty() || name.contains('/') {
            return Err(format!(
                "`annotation` is {:?}: only annotations of the domain are read, so write {DOMAIN}NAME",
                settings.annotation
            ));
        }
        let mark = Operation::AddCommunity(Community::GRACEFUL_SHUTDOWN);
        let export = RuleSet::from([Rule::apply([mark, WORST])]);
        let import = RuleSet::from([Rule::apply([WORST]).community(Community::GRACEFUL_SHUTDOWN)]);
        Ok(Self { settings, export, import })
    }
}

impl Filter for Drain {
    fn rules(&self, peering: &Peering<'_>, direction: Direction, kv: &dyn Kv) -> Result<RuleSet, String> {
        if !self.settings.sessions.include(peering) {
            return Ok(RuleSet::default());
        }
        Ok(match direction {
            Direction::Export if kv.memory().once(|| Drains(self.drains(kv))).0.clone()? => {
                self.export.clone()
            }
            Direction::Import if self.settings.import => self.import.clone(),
            Direction::Export | Direction::Import => RuleSet::default(),
        })
    }
}

/// Whether this node is going down: the same for all sessions.
struct Drains(Result<bool, String>);

impl Drain {
    /// Whether this node is going down.
    fn drains(&self, kv: &dyn Kv) -> Result<bool, String> {
        let node = kv.get(THIS_NODE).ok_or_else(|| format!("{THIS_NODE} cannot be read"))?;
        let cordoned = || kv.get(&format!("{NODES}/{node}/unschedulable")).is_some_and(|own| own == "true");
        let annotated = || {
            let key = format!("{NODES}/{node}/annotations/{}", self.settings.annotation);
            kv.get(&key).is_some_and(|value| value != "false")
        };
        Ok((self.settings.cordoned && cordoned()) || annotated())
    }
}

tailorbird_guest::export!(Drain: Filter);
tailorbird_guest::manifest! {
    name: "drain",
    description: "Moves traffic away from nodes that are cordoned or annotated (RFC 8326).",
    wants: [
        "/tailorbird/v1/this-node",
        "/tailorbird/v1/node/*/unschedulable",
        "/tailorbird/v1/node/*/annotations/tailorbird.io",
    ],
}

#[cfg(test)]
mod tests;
