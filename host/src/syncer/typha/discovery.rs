//! Which instances there are, and in which order they are tried.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::config::At;
use crate::syncer::backoff::chance;
use crate::syncer::kubernetes::Access;
use crate::syncer::turns::Turns;
use crate::types::Name;

/// The port of the instances in an EndpointSlice.
const PORT: &str = "calico-typha";

/// How long a question to Kubernetes or to a name server may take.
const ANSWER: Duration = Duration::from_secs(10);

/// How far an instance is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    Node,
    Zone,
    Far,
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Instance {
    address: SocketAddr,
    distance: Distance,
}

/// Finds the instances, the next one to try first.
pub(super) struct Discovery {
    at: At,
    access: Option<Access>,
    /// The node's name in Kubernetes.
    node: Arc<str>,
    turns: Turns<SocketAddr>,
}

impl Discovery {
    /// `access` leads to the API server that has the Service, if there is a Service.
    pub(super) fn new(at: At, access: Option<Access>, node: Arc<str>) -> Self {
        Self { at, access, node, turns: Turns::default() }
    }

    /// The instance to try next. One that was tried comes again only after all others.
    ///
    /// # Errors
    /// There is none, or nobody can tell.
    pub(super) async fn next(&mut self) -> Result<SocketAddr, String> {
        let mut instances = self.instances().await?;
        // At random, and then by distance.
        instances.sort_by_cached_key(|instance| (instance.distance, chance().to_bits()));
        let all: Vec<SocketAddr> = instances.into_iter().map(|instance| instance.address).collect();
        self.turns.next(&all).ok_or_else(|| self.none())
    }

    fn none(&self) -> String {
        match &self.at {
            At::Address(address) => format!("{address}: there is no address of this name"),
            At::Service { namespace, name } => format!(
                "the Service {namespace}/{name} has no ready endpoint with a port named {PORT}: is Typha running?"
            ),
        }
    }

    /// The instance that was tried last was of use.
    pub(super) fn was_of_use(&mut self) {
        self.turns.was_of_use();
    }

    /// All instances, in no order.
    ///
    /// # Errors
    /// There is none, or nobody can tell.
    pub(super) async fn addresses(&self) -> Result<Vec<SocketAddr>, String> {
        let all: Vec<SocketAddr> = self.instances().await?.iter().map(|instance| instance.address).collect();
        if all.is_empty() { Err(self.none()) } else { Ok(all) }
    }

    async fn instances(&self) -> Result<Vec<Instance>, String> {
        match &self.at {
            At::Address(address) => {
                let found = tokio::time::timeout(ANSWER, tokio::net::lookup_host(address)).await;
                let found = found.map_err(|_| format!("{address}: the name cannot be resolved in time"))?;
                let found =
                    found.map_err(|error| format!("{address}: the name cannot be resolved: {error}"))?;
                Ok(found.map(|address| Instance { address, distance: Distance::Far }).collect())
            }
            At::Service { namespace, name } => {
                let Some(access) = &self.access else {
                    return Err(format!(
                        "there is no way to Kubernetes, which has the Service {namespace}/{name}"
                    ));
                };
                let path = format!(
                    "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices\
                     ?labelSelector=kubernetes.io%2Fservice-name%3D{name}"
                );
                let text = match access.get_whole(&path, ANSWER).await {
                    Ok(text) => text,
                    Err(failure) => {
                        access.renew_after(&failure).await;
                        return Err(format!(
                            "the endpoints of the Service {namespace}/{name} cannot be listed: {failure}"
                        ));
                    }
                };
                let slices = read_slices(&text).map_err(|error| {
                    format!("the endpoints of the Service {namespace}/{name} cannot be read: {error}")
                })?;
                let zone = self.zone(access, &slices).await;
                Ok(instances(&slices, &self.node, zone.as_deref()))
            }
        }
    }

    /// The zone that the node is in, if it is known and any endpoint has one.
    async fn zone(&self, access: &Access, slices: &[Slice]) -> Option<String> {
        if !slices.iter().flat_map(|slice| &slice.endpoints).any(|endpoint| endpoint.zone.is_some()) {
            return None;
        }
        #[derive(Deserialize)]
        struct List {
            items: Vec<Node>,
        }
        #[derive(Deserialize)]
        struct Node {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        struct Metadata {
            #[serde(default)]
            labels: std::collections::BTreeMap<String, String>,
        }
        let node: Name = self.node.parse().ok()?;
        // By name in a list, which the permission to follow nodes allows.
        let path = format!("/api/v1/nodes?fieldSelector=metadata.name%3D{node}");
        // Without it the order is not as good, and no worse than that.
        let text = access.get_whole(&path, ANSWER).await.ok()?;
        let List { items } = serde_json::from_slice(&text).ok()?;
        items.into_iter().next()?.metadata.labels.remove("topology.kubernetes.io/zone")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Slice {
    #[serde(default, deserialize_with = "or_nothing")]
    endpoints: Vec<Endpoint>,
    #[serde(default, deserialize_with = "or_nothing")]
    ports: Vec<Port>,
}

#[derive(Deserialize)]
struct Port {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    port: Option<u16>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Endpoint {
    #[serde(default, deserialize_with = "or_nothing")]
    addresses: Vec<String>,
    #[serde(default, deserialize_with = "or_nothing")]
    conditions: Conditions,
    #[serde(default)]
    node_name: Option<String>,
    #[serde(default)]
    zone: Option<String>,
}

#[derive(Default, Deserialize)]
struct Conditions {
    #[serde(default)]
    ready: Option<bool>,
}

fn read_slices(text: &[u8]) -> Result<Vec<Slice>, serde_json::Error> {
    #[derive(Deserialize)]
    struct List {
        #[serde(deserialize_with = "or_nothing")]
        items: Vec<Slice>,
    }
    serde_json::from_slice::<List>(text).map(|list| list.items)
}

/// Empty lists are null here and there, as in the slices of a Service without endpoints of a family.
fn or_nothing<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

fn instances(slices: &[Slice], node: &str, zone: Option<&str>) -> Vec<Instance> {
    let mut found = Vec::new();
    for slice in slices {
        let port = slice.ports.iter().find(|port| port.name.as_deref() == Some(PORT));
        let Some(port) = port.and_then(|port| port.port) else { continue };
        for endpoint in slice.endpoints.iter().filter(|endpoint| endpoint.conditions.ready != Some(false)) {
            let distance = match (endpoint.node_name.as_deref(), endpoint.zone.as_deref()) {
                (Some(other), _) if other == node => Distance::Node,
                (_, Some(other)) if Some(other) == zone => Distance::Zone,
                _ => Distance::Far,
            };
            let addresses = endpoint.addresses.iter().filter_map(|text| text.parse::<IpAddr>().ok());
            found.extend(addresses.map(|address| Instance { address: (address, port).into(), distance }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_endpoints_are_instances_and_the_nearest_come_first() {
        let text = r#"{"kind":"EndpointSliceList","items":[
            {"metadata":{"name":"a"},"ports":[{"name":"other","port":1},{"name":"calico-typha","port":5473}],"endpoints":[
                {"addresses":["10.0.0.1"],"conditions":{"ready":true},"nodeName":"n1","zone":"z1"},
                {"addresses":["10.0.0.2"],"nodeName":"n2","zone":"z2"},
                {"addresses":["10.0.0.3"],"conditions":{"ready":false},"nodeName":"n3","zone":"z2"},
                {"addresses":["10.0.0.4","nonsense"],"conditions":{},"nodeName":"n4","zone":"z2"}]},
            {"metadata":{"name":"b"},"ports":[{"port":5473}],"endpoints":[{"addresses":["10.0.0.5"]}]},
            {"metadata":{"name":"nobody"},"ports":null,"endpoints":null},
            {"metadata":{"name":"strange"},"ports":null,"endpoints":[{"addresses":null,"conditions":null}]},
            {"metadata":{"name":"c"},"ports":[{"name":"calico-typha","port":9}],"endpoints":[{"addresses":["fd00::6"]}]},
            {"metadata":{"name":"d"}}]}"#;
        let slices = read_slices(text.as_bytes()).expect("slices");
        let mut found: Vec<(Distance, String)> = instances(&slices, "n2", Some("z2"))
            .into_iter()
            .map(|instance| (instance.distance, instance.address.to_string()))
            .collect();
        found.sort();
        let expected = [
            (Distance::Node, "10.0.0.2:5473"),
            (Distance::Zone, "10.0.0.4:5473"),
            (Distance::Far, "10.0.0.1:5473"),
            (Distance::Far, "[fd00::6]:9"),
        ];
        let expected = expected.map(|(distance, address)| (distance, address.to_owned()));
        assert_eq!(found.iter().collect::<std::collections::BTreeSet<_>>(), expected.iter().collect());
        assert!(read_slices(br#"{"items":null}"#).expect("none").is_empty());
        assert!(read_slices(b"[]").is_err());
    }
}
