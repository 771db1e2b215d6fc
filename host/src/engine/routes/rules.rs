//! Which Services are advertised from this node, and what the configuration lets be a route.

use std::net::IpAddr;

use super::service::KeptService;
use super::slices::Slices;
use crate::engine::config::Effective;
use crate::resources::TrafficPolicy;
use crate::types::Prefix;

/// Whether this node originates routes at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Advertising {
    Yes,
    /// The node is excluded from external load balancers.
    Excluded,
}

/// Why a Service is advertised from this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advertised {
    /// Its policy is `Cluster`, and this address of it is listed among the load balancers' as a single one.
    LoadBalancerIp(IpAddr),
    /// Its policy is `Cluster`, and this address of it is listed among the external ones as a single one.
    ExternalIp(IpAddr),
    /// Its policy is `Local`, and an endpoint on this node is ready.
    EndpointHere,
    /// Load balancers are not aggregated, and an endpoint is ready.
    Endpoint,
}

/// Why a Service is not advertised from this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotAdvertised {
    /// There is no EndpointSlice of it.
    NoSlice,
    /// The node is excluded from external load balancers.
    NodeExcluded,
    /// Its type has no addresses that lead to endpoints.
    Type,
    /// It has no cluster IP.
    NoClusterIp,
    /// Its policy is `Local`, and no endpoint on this node is ready.
    NoEndpointHere,
    /// No endpoint is ready anywhere.
    NoEndpoint,
    /// Its addresses are reached through the ranges of the configuration.
    Aggregated,
}

/// What an address is to its Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// One of `clusterIPs`.
    Cluster,
    /// One of `externalIPs`.
    External,
    /// One of `status.loadBalancer.ingress`.
    Ingress,
}

impl Role {
    /// All of them; each has its place here as its number.
    pub(crate) const ALL: [Role; 3] = [Role::Cluster, Role::External, Role::Ingress];

    /// The list of the configuration that is about addresses in this role.
    pub(crate) fn list(self) -> List {
        match self {
            Self::Cluster => List::Cluster,
            Self::External => List::External,
            Self::Ingress => List::LoadBalancer,
        }
    }

    /// Whether the configuration lets an address in this role be a route.
    pub(in crate::engine) fn admits(self, ip: IpAddr, config: &Effective) -> bool {
        let cidrs = self.list().prefixes(config);
        match self {
            Self::Cluster => !cidrs.is_empty(),
            Self::External | Self::Ingress => cidrs.iter().any(|cidr| cidr.contains(ip)),
        }
    }
}

/// A list of prefixes in the BGPConfiguration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    /// `serviceClusterIPs`.
    Cluster,
    /// `serviceExternalIPs`.
    External,
    /// `serviceLoadBalancerIPs`.
    LoadBalancer,
}

/// Why a prefix of the BGPConfiguration is no route by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRange {
    /// It is a single address, whose Services are advertised one by one.
    Single,
    /// `serviceLoadBalancerAggregation` is `Disabled`.
    Disaggregated,
}

impl List {
    /// All of them.
    pub(crate) const ALL: [List; 3] = [List::Cluster, List::External, List::LoadBalancer];

    /// The prefixes.
    pub(in crate::engine) fn prefixes(self, config: &Effective) -> &[Prefix] {
        match self {
            Self::Cluster => &config.cluster_ips,
            Self::External => &config.external_ips,
            Self::LoadBalancer => &config.load_balancer_ips,
        }
    }

    /// Whether a prefix of the list is a route by itself.
    pub(in crate::engine) fn is_range(self, cidr: &Prefix, config: &Effective) -> Result<(), NoRange> {
        match self {
            Self::LoadBalancer if !config.load_balancer_aggregation => Err(NoRange::Disaggregated),
            Self::External | Self::LoadBalancer if cidr.is_host() => Err(NoRange::Single),
            _ => Ok(()),
        }
    }
}

/// Whether a Service with these slices is advertised from this node, and why.
pub(super) fn advertised(
    service: &KeptService,
    slices: &Slices,
    config: &Effective,
    advertising: Advertising,
) -> Result<Advertised, NotAdvertised> {
    if slices.is_empty() {
        return Err(NotAdvertised::NoSlice);
    }
    if advertising == Advertising::Excluded {
        return Err(NotAdvertised::NodeExcluded);
    }
    if !service.routable {
        return Err(NotAdvertised::Type);
    }
    if service.addresses_in(Role::Cluster).next().is_none() {
        return Err(NotAdvertised::NoClusterIp);
    }
    let listed = |list: &[Prefix], ip| list.iter().any(|cidr| cidr.is_host() && cidr.contains(ip));
    if service.traffic_policy() == TrafficPolicy::Cluster {
        let mut load_balancer =
            service.load_balancer_ip().into_iter().chain(service.addresses_in(Role::Ingress));
        if service.is_load_balancer
            && let Some(ip) = load_balancer.find(|ip| listed(&config.load_balancer_ips, *ip))
        {
            return Ok(Advertised::LoadBalancerIp(ip));
        }
        if let Some(ip) = service.addresses_in(Role::External).find(|ip| listed(&config.external_ips, *ip)) {
            return Ok(Advertised::ExternalIp(ip));
        }
    }
    let mut slices = slices.iter().filter(|slice| slice.counts_for(service));
    match service.traffic_policy() {
        TrafficPolicy::Local if slices.any(|slice| slice.ready_here) => Ok(Advertised::EndpointHere),
        TrafficPolicy::Local => Err(NotAdvertised::NoEndpointHere),
        TrafficPolicy::Cluster | TrafficPolicy::Other if config.load_balancer_aggregation => {
            Err(NotAdvertised::Aggregated)
        }
        TrafficPolicy::Cluster | TrafficPolicy::Other if slices.any(|slice| slice.ready) => {
            Ok(Advertised::Endpoint)
        }
        TrafficPolicy::Cluster | TrafficPolicy::Other => Err(NotAdvertised::NoEndpoint),
    }
}
