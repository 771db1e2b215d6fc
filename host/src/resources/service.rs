use std::net::IpAddr;

use crate::types::Name;

/// `externalTrafficPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficPolicy {
    /// `Cluster`, in so many words.
    Cluster,
    /// `Local`.
    Local,
    /// Unset, or a value that is not known.
    Other,
}

/// Service, as far as routes to it are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The namespace.
    pub namespace: Name,
    /// The name.
    pub name: Name,
    /// The type is ClusterIP (the default), NodePort or LoadBalancer.
    pub routable: bool,
    /// The type is LoadBalancer.
    pub is_load_balancer: bool,
    /// `clusterIPs`, else `clusterIP`; empty when the Service has none (`None`).
    pub cluster_ips: Vec<IpAddr>,
    /// `ipFamilies`, else those of the cluster IPs: IPv4.
    pub ipv4: bool,
    /// `ipFamilies`, else those of the cluster IPs: IPv6.
    pub ipv6: bool,
    /// `externalIPs`.
    pub external_ips: Vec<IpAddr>,
    /// `externalTrafficPolicy`.
    pub traffic_policy: TrafficPolicy,
    /// `loadBalancerIP`.
    pub load_balancer_ip: Option<IpAddr>,
    /// `status.loadBalancer.ingress[].ip`.
    pub ingress_ips: Vec<IpAddr>,
}
