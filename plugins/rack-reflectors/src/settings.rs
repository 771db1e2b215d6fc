use serde::Deserialize;

/// The labels that the plugin reads: each of these, and those of a domain that is one of these.
pub(crate) const LABELS: [&str; 5] =
    ["topology.kubernetes.io", "tailorbird.io", "rack", "route-reflector", "calico-route-reflector"];

/// The most reflectors that can be asked for in a group, and in other groups.
const MOST: u8 = 16;

/// The settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    pub(crate) group_label: String,
    pub(crate) reflector_label: String,
    pub(crate) reflector_value: String,
    pub(crate) reflectors_per_group: u8,
    pub(crate) others: u8,
    pub(crate) cluster_id: ClusterIds,
    pub(crate) drop_explicit: bool,
}

/// What cluster id a reflector has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClusterIds {
    #[default]
    Node,
    Group,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            group_label: "topology.kubernetes.io/zone".into(),
            reflector_label: "route-reflector".into(),
            reflector_value: "true".into(),
            reflectors_per_group: 2,
            others: 1,
            cluster_id: ClusterIds::Node,
            drop_explicit: false,
        }
    }
}

impl Settings {
    /// The first thing that is wrong.
    pub(crate) fn fault(&self) -> Option<String> {
        for (name, label) in [("group_label", &self.group_label), ("reflector_label", &self.reflector_label)]
        {
            let domain = label.split_once('/').map_or(label.as_str(), |(domain, _)| domain);
            if !LABELS.contains(&domain) {
                return Some(format!(
                    "`{name}` is {label:?}, which is not read: only labels {}, with or without a `/NAME` behind, are",
                    LABELS.join(", ")
                ));
            }
        }
        for (name, value) in [("reflectors_per_group", self.reflectors_per_group), ("others", self.others)] {
            if value > MOST {
                return Some(format!("`{name}` is {value}: at most {MOST} are possible"));
            }
        }
        None
    }
}
