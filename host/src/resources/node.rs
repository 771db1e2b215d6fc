use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::Text;
use crate::types::{AsNumber, ClusterId, InterfaceAddress, Name, Prefix};

/// Labels of a node.
pub type Labels = BTreeMap<Text, Text>;

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
}
