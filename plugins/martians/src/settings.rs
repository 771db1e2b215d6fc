use std::ops::RangeInclusive;

use serde::Deserialize;
use tailorbird_guest::{Family, Peering, PeeringKind, Prefix};

/// The settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    pub(crate) allow: Vec<Prefix>,
    pub(crate) allow_cluster: bool,
    pub(crate) allow_private: bool,
    pub(crate) ipv4_lengths: [u8; 2],
    pub(crate) ipv6_lengths: [u8; 2],
    pub(crate) longest_as_path: u32,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) except: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            allow_cluster: false,
            allow_private: true,
            ipv4_lengths: [8, 24],
            ipv6_lengths: [16, 48],
            longest_as_path: 64,
            kinds: vec![Kind::Global, Kind::Node],
            except: Vec::new(),
        }
    }
}

/// Where a session comes from. The mesh and what plugins add is between nodes of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Global,
    Node,
    Workload,
}

impl Settings {
    /// The first thing that is wrong.
    pub(crate) fn fault(&self) -> Option<String> {
        for (name, [min, max], longest) in
            [("ipv4_lengths", self.ipv4_lengths, 32), ("ipv6_lengths", self.ipv6_lengths, 128)]
        {
            if min > max || max > longest {
                return Some(format!(
                    "`{name}` is [{min}, {max}]: write the shortest and the longest length, at most {longest}"
                ));
            }
        }
        (self.longest_as_path == 0)
            .then(|| "`longest_as_path` is 0, which no route has: write 1 or more".into())
    }

    /// Whether a session is one with a router outside that the policy is for.
    pub(crate) fn include(&self, peering: &Peering<'_>) -> bool {
        let kind = match peering.kind() {
            PeeringKind::Global => Kind::Global,
            PeeringKind::Node => Kind::Node,
            PeeringKind::Workload => Kind::Workload,
            PeeringKind::Mesh | PeeringKind::Plugin => return false,
        };
        !peering.is_internal()
            && peering.remote_node().is_none()
            && self.kinds.contains(&kind)
            && peering.bgp_peer().is_none_or(|name| !self.except.iter().any(|own| own == name))
    }

    /// The lengths of a family that are let through.
    pub(crate) fn lengths(&self, family: Family) -> RangeInclusive<u8> {
        let [min, max] = match family {
            Family::V4 => self.ipv4_lengths,
            Family::V6 => self.ipv6_lengths,
        };
        min..=max
    }
}
