use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use litemap::LiteMap;

use super::field::{Field, Read};
use super::published::{node_key, read_published};
use super::{ObjectError, ObjectKey, Text};
use crate::types::{AsNumber, ClusterId, Family, InterfaceAddress, KeyPattern, Name, Prefix, ValueError};

/// Labels of a node, and other texts by name, sorted by name.
pub type Labels = LiteMap<Text, Text>;

/// The BGP facts of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeBgp {
    /// The node's IPv4 address and network.
    pub ipv4: Option<InterfaceAddress>,
    /// The node's IPv6 address and network.
    pub ipv6: Option<InterfaceAddress>,
    /// The node's own AS number; unset means the cluster's.
    pub as_number: Option<AsNumber>,
    /// The cluster id, if the node is a route reflector.
    pub cluster_id: Option<ClusterId>,
    /// The node's IPv4 address in WireGuard's network.
    pub wireguard_ipv4: Option<Ipv4Addr>,
    /// The node's IPv6 address in WireGuard's network.
    pub wireguard_ipv6: Option<Ipv6Addr>,
    /// Whether the node has a WireGuard public key.
    pub has_wireguard_key: bool,
}

/// Calico's own Node object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalicoNode {
    /// The name.
    pub name: Name,
    /// The labels.
    pub labels: Labels,
    /// `spec.bgp` and `spec.wireguard`.
    pub bgp: NodeBgp,
    /// `status.podCIDRs`.
    pub pod_cidrs: Vec<Prefix>,
    /// The annotations that are published.
    pub annotations: Labels,
}

/// Kubernetes' Node object, with what Calico keeps in its annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeNode {
    /// The name.
    pub name: Name,
    /// Kubernetes' labels, merged over Calico's own (annotation `projectcalico.org/labels`).
    pub labels: Labels,
    /// The facts from the annotations.
    pub bgp: NodeBgp,
    /// `spec.podCIDRs`, or `spec.podCIDR`.
    pub pod_cidrs: Vec<Prefix>,
    /// `spec.unschedulable`: the node is cordoned.
    pub unschedulable: bool,
    /// The annotations that are published.
    pub annotations: Labels,
}

/// Reads Calico's Node.
pub(super) fn read_calico(
    key: &ObjectKey,
    root: &Field<'_>,
    published: &[KeyPattern],
    warnings: &mut Vec<ObjectError>,
) -> Read<CalicoNode> {
    let metadata = root.get("metadata")?;
    let spec = root.get("spec")?;
    let bgp = spec.get("bgp")?;
    let wireguard = spec.get("wireguard")?;
    let status = root.get("status")?;
    Ok(CalicoNode {
        name: key.name.clone(),
        labels: read_labels(&metadata.get("labels")?)?,
        bgp: NodeBgp {
            ipv4: bgp.get("ipv4Address")?.parse_with(|text| interface_address(text, Family::V4))?,
            ipv6: bgp.get("ipv6Address")?.parse_with(|text| interface_address(text, Family::V6))?,
            as_number: bgp.get("asNumber")?.as_number()?,
            cluster_id: bgp.get("routeReflectorClusterID")?.parse()?,
            wireguard_ipv4: wireguard.get("interfaceIPv4Address")?.parse_with(ipv4)?,
            wireguard_ipv6: wireguard.get("interfaceIPv6Address")?.parse_with(ipv6)?,
            has_wireguard_key: status.get("wireguardPublicKey")?.is_set(),
        },
        pod_cidrs: read_pod_cidrs(&status.get("podCIDRs")?, warnings)?,
        annotations: read_annotations(key, &metadata, published, warnings),
    })
}

/// Reads Kubernetes' Node. A bad annotation is left out with a warning; the node stays.
pub(super) fn read_kube(
    key: &ObjectKey,
    root: &Field<'_>,
    published: &[KeyPattern],
    warnings: &mut Vec<ObjectError>,
) -> Read<KubeNode> {
    let metadata = root.get("metadata")?;
    let annotations = metadata.get("annotations")?;
    let spec = root.get("spec")?;
    let mut pod_cidrs = read_pod_cidrs(&spec.get("podCIDRs")?, warnings)?;
    if pod_cidrs.is_empty() {
        let single = spec.get("podCIDR")?;
        pod_cidrs.extend(kept(single.parse::<Prefix>(), warnings).map(|cidr| cidr.canonical()));
    }
    let mut labels = read_calico_labels(&annotations.get("projectcalico.org/labels")?, warnings);
    labels.extend(read_labels(&metadata.get("labels")?)?);
    let at = |name: &'static str| annotations.get(name);
    let (address4, address6) = (at("projectcalico.org/IPv4Address")?, at("projectcalico.org/IPv6Address")?);
    let wireguard4 = at("projectcalico.org/IPv4WireguardInterfaceAddr")?;
    let wireguard6 = at("projectcalico.org/IPv6WireguardInterfaceAddr")?;
    Ok(KubeNode {
        name: key.name.clone(),
        labels,
        bgp: NodeBgp {
            ipv4: kept(address4.parse_with(|text| interface_address(text, Family::V4)), warnings),
            ipv6: kept(address6.parse_with(|text| interface_address(text, Family::V6)), warnings),
            as_number: kept(at("projectcalico.org/ASNumber")?.as_number(), warnings),
            cluster_id: kept(at("projectcalico.org/RouteReflectorClusterID")?.parse(), warnings),
            wireguard_ipv4: kept(wireguard4.parse_with(ipv4), warnings),
            wireguard_ipv6: kept(wireguard6.parse_with(ipv6), warnings),
            has_wireguard_key: at("projectcalico.org/WireguardPublicKey")?.is_set(),
        },
        pod_cidrs,
        unschedulable: spec.get("unschedulable")?.boolean()?.unwrap_or(false),
        annotations: read_annotations(key, &metadata, published, warnings),
    })
}

/// The value, or none and a warning.
fn kept<T>(outcome: Read<Option<T>>, warnings: &mut Vec<ObjectError>) -> Option<T> {
    outcome.unwrap_or_else(|error| {
        warnings.push(error);
        None
    })
}

fn read_annotations(
    key: &ObjectKey,
    metadata: &Field<'_>,
    published: &[KeyPattern],
    warnings: &mut Vec<ObjectError>,
) -> Labels {
    if published.is_empty() {
        return Labels::new();
    }
    read_published(metadata.get("annotations"), published, &node_key(&key.name, "annotations"), warnings)
}

fn read_labels(field: &Field<'_>) -> Read<Labels> {
    let mut labels = Labels::new();
    for (name, value) in field.entries()? {
        let text = value.text()?.unwrap_or_default();
        labels.insert(name.into(), (&*text).into());
    }
    Ok(labels)
}

/// Calico's own labels: a JSON object of texts in an annotation.
fn read_calico_labels(field: &Field<'_>, warnings: &mut Vec<ObjectError>) -> Labels {
    let parse = |text: &str| {
        serde_json::from_str::<BTreeMap<String, String>>(text)
            .map_err(|error| ValueError::new(format!("not a JSON object of texts: {error}")))
    };
    let found = kept(field.parse_with(parse), warnings).unwrap_or_default();
    found.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn read_pod_cidrs(list: &Field<'_>, warnings: &mut Vec<ObjectError>) -> Read<Vec<Prefix>> {
    let mut found = Vec::new();
    for item in list.items()? {
        found.extend(kept(item.parse::<Prefix>(), warnings).map(|cidr| cidr.canonical()));
    }
    Ok(found)
}

fn interface_address(text: &str, family: Family) -> Result<InterfaceAddress, ValueError> {
    let address: InterfaceAddress = text.parse()?;
    if address.family() == family {
        Ok(address)
    } else {
        Err(ValueError::new(format!("must be an IP{family} address")))
    }
}

fn ipv4(text: &str) -> Result<Ipv4Addr, ValueError> {
    text.parse().map_err(|_| ValueError::new("not an IPv4 address"))
}

fn ipv6(text: &str) -> Result<Ipv6Addr, ValueError> {
    text.parse().map_err(|_| ValueError::new("not an IPv6 address"))
}
