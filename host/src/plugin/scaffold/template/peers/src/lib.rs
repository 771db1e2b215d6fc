//! Keeps the mesh inside a zone.

use tailorbird_guest::{Candidate, Kv, PeeringKind, Peers, Policy, Request, Selection, export, manifest};

/// The policy.
pub struct ZoneMesh {
    settings: Settings,
}

/// What the operator can set.
#[derive(Debug, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The label of a node that names its zone.
    label: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { label: "topology.kubernetes.io/zone".into() }
    }
}

impl Policy for ZoneMesh {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, String> {
        if settings.label.is_empty() {
            return Err("`label` is empty: name the label that holds a node's zone".into());
        }
        Ok(Self { settings })
    }
}

impl Peers for ZoneMesh {
    fn select(&self, request: &Request<'_>, _: &dyn Kv) -> Result<Selection, String> {
        let mut selection = Selection::unchanged();
        let Some(zone) = request.this_node().and_then(|node| node.label(&self.settings.label)) else {
            return Ok(selection);
        };
        let elsewhere = |candidate: &Candidate<'_>| {
            let other = candidate.node().and_then(|node| node.label(&self.settings.label));
            candidate.peering().kind() == PeeringKind::Mesh && other != Some(zone)
        };
        request.candidates().filter(elsewhere).for_each(|candidate| selection.drop(candidate));
        Ok(selection)
    }
}

export!(ZoneMesh: Peers);

manifest! {
    name: env!("CARGO_PKG_NAME"),
    description: "Keeps the mesh inside a zone.",
    wants: ["/tailorbird/v1/node/*/labels"],
}

#[cfg(test)]
mod tests {
    use tailorbird_guest::testing::{ClusterNode, MockKv, OnePeering, PeersRequest, configure};

    use super::*;

    fn cluster(this_node: &str) -> PeersRequest {
        let node = |name, ip, zone| ClusterNode::new(name, ip).label("topology.kubernetes.io/zone", zone);
        let nodes = [
            node("a", "10.0.0.1", "east"),
            node("b", "10.0.0.2", "east"),
            node("c", "10.0.0.3", "west"),
            ClusterNode::new("d", "10.0.0.4"),
        ];
        PeersRequest::mesh(this_node, nodes).peering(OnePeering::global("10.9.9.9", "tor"))
    }

    fn kept(this_node: &str) -> Vec<String> {
        let policy: ZoneMesh = configure("{}").unwrap();
        let request = cluster(this_node);
        let selection = policy.select(&request.view(), &MockKv::new()).unwrap();
        selection.kept(&request.view()).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn only_the_own_zone_is_left_of_the_mesh() {
        assert_eq!(kept("a"), ["Mesh_10_0_0_2", "Global_10_9_9_9"]);
        assert_eq!(kept("c"), ["Global_10_9_9_9"]);
    }

    #[test]
    fn a_node_without_a_zone_keeps_its_mesh() {
        assert_eq!(kept("d"), ["Mesh_10_0_0_1", "Mesh_10_0_0_2", "Mesh_10_0_0_3", "Global_10_9_9_9"]);
    }

    #[test]
    fn wrong_settings_are_told() {
        assert!(configure::<ZoneMesh>(r#"{"lable": "x"}"#).is_err_and(|error| error.contains("lable")));
        assert!(
            configure::<ZoneMesh>(r#"{"label": ""}"#).is_err_and(|error| error.contains("`label` is empty"))
        );
    }
}
