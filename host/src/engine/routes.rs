//! The route generator: which prefixes this node originates for Services, and which never enter the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::Work;
use super::claims::Claims;
use super::config::Effective;
use super::model::RouteOrigin;
use crate::resources::{EndpointSlice, Service, Text, TrafficPolicy};
use crate::types::{Family, Name, Pool, Prefix};

/// A Service: its namespace and name.
pub(crate) type ServiceKey = (Name, Name);

/// What a slice contributes to its Service.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slice {
    name: Name,
    family: Option<Family>,
    /// An endpoint is ready, anywhere.
    ready: bool,
    /// An endpoint on this node is ready.
    ready_here: bool,
}

/// Who originates a route. The configuration's entries come first, so that the text they were written in stays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Owner {
    Configuration,
    Service(Name, Name),
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
    /// All of them.
    pub(crate) const ALL: [Role; 3] = [Role::Cluster, Role::External, Role::Ingress];

    /// The addresses of a Service in this role.
    pub(crate) fn addresses(self, service: &Service) -> &[IpAddr] {
        match self {
            Self::Cluster => &service.cluster_ips,
            Self::External => &service.external_ips,
            Self::Ingress => &service.ingress_ips,
        }
    }

    /// The list of the configuration that is about addresses in this role.
    pub(crate) fn list(self) -> List {
        match self {
            Self::Cluster => List::Cluster,
            Self::External => List::External,
            Self::Ingress => List::LoadBalancer,
        }
    }

    /// Whether the configuration lets an address in this role be a route.
    pub(super) fn admits(self, ip: IpAddr, config: &Effective) -> bool {
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
    pub(super) fn prefixes(self, config: &Effective) -> &[Prefix] {
        match self {
            Self::Cluster => &config.cluster_ips,
            Self::External => &config.external_ips,
            Self::LoadBalancer => &config.load_balancer_ips,
        }
    }

    /// Whether a prefix of the list is a route by itself.
    pub(super) fn is_range(self, cidr: &Prefix, config: &Effective) -> Result<(), NoRange> {
        match self {
            Self::LoadBalancer if !config.load_balancer_aggregation => Err(NoRange::Disaggregated),
            Self::External | Self::LoadBalancer if cidr.is_host() => Err(NoRange::Single),
            _ => Ok(()),
        }
    }
}

/// A slice as far as it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SliceFacts<'a> {
    pub(crate) name: &'a Name,
    /// Whether its addresses are of a family of the Service.
    pub(crate) counts: bool,
    /// Whether an endpoint is ready, anywhere.
    pub(crate) ready: bool,
    /// Whether an endpoint on this node is ready.
    pub(crate) ready_here: bool,
}

/// Whether this node originates routes at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advertising {
    Yes,
    /// The node is excluded from external load balancers.
    Excluded,
}

/// Where the slice of this name is among those of its Service, or would be.
fn place_of(slices: &[Slice], name: &Name) -> Result<usize, usize> {
    slices.binary_search_by(|slice| slice.name.cmp(name))
}

/// So many slices of a Service get no more room than they need.
const FEW: usize = 8;

/// All Services, their slices, and the routes that come of them.
#[derive(Debug, Default)]
pub(super) struct Routes {
    services: FxHashMap<ServiceKey, Box<Service>>,
    /// By namespace, the Service of each slice.
    service_of: FxHashMap<Name, BTreeMap<Name, Name>>,
    /// The slices of each Service that has any, by name.
    slices: FxHashMap<ServiceKey, Vec<Slice>>,
    /// By the text of the prefix.
    claims: Claims<Text, Owner, Prefix>,
    rejects: Claims<Text, (), Prefix>,
}

impl Routes {
    /// Takes a Service, or that it is gone.
    pub(super) fn set_service(&mut self, key: &ServiceKey, service: Option<Box<Service>>) {
        match service {
            Some(service) => drop(self.services.insert(key.clone(), service)),
            None => drop(self.services.remove(key)),
        }
    }

    /// Takes a slice, or that it is gone; returns the Services that this can matter to.
    pub(super) fn set_slice(
        &mut self,
        key: &(Name, Name),
        slice: Option<EndpointSlice>,
        node: &str,
        texts: &mut Pool,
    ) -> Vec<ServiceKey> {
        let (namespace, name) = key;
        let new = slice.and_then(|slice| {
            let service = slice.service?.pooled(texts);
            let mut ready = slice.endpoints.iter().filter(|e| e.ready);
            let ready_here = slice.endpoints.iter().any(|e| e.ready && e.node.as_deref() == Some(node));
            let ready = ready.next().is_some();
            Some((service, Slice { name: name.clone(), family: slice.family, ready, ready_here }))
        });
        let mut touched = Vec::new();
        let stays = new.as_ref().map(|(service, _)| service);
        let before = self.service_of.get(namespace).and_then(|slices| slices.get(name)).cloned();
        if let Some(service) = before.filter(|service| Some(service) != stays) {
            let at = (namespace.clone(), service);
            if let Some(slices) = self.service_of.get_mut(namespace) {
                slices.remove(name);
                if slices.is_empty() {
                    self.service_of.remove(namespace);
                }
            }
            if let Some(slices) = self.slices.get_mut(&at) {
                if let Ok(place) = place_of(slices, name) {
                    slices.remove(place);
                }
                if slices.is_empty() {
                    self.slices.remove(&at);
                }
            }
            touched.push(at);
        }
        if let Some((service, slice)) = new {
            let at = (namespace.clone(), service.clone());
            let slices = self.slices.entry(at.clone()).or_default();
            match place_of(slices, name) {
                Ok(place) if slices[place] == slice => return touched,
                Ok(place) => slices[place] = slice,
                Err(place) => {
                    // Most Services have few, and a list would begin with room for four.
                    if slices.len() < FEW {
                        slices.reserve_exact(1);
                    }
                    slices.insert(place, slice);
                    self.service_of.entry(namespace.clone()).or_default().insert(name.clone(), service);
                }
            }
            touched.push(at);
        }
        touched
    }

    /// All Services.
    pub(super) fn services(&self) -> impl Iterator<Item = &ServiceKey> {
        self.services.keys()
    }

    /// Whether there is such a Service.
    pub(super) fn has_service(&self, key: &ServiceKey) -> bool {
        self.services.contains_key(key)
    }

    /// Computes the routes of one Service; returns nothing, notes the routes that may differ.
    pub(super) fn refresh_service(
        &mut self,
        key: &ServiceKey,
        config: &Effective,
        advertising: Advertising,
        changed: &mut BTreeSet<Text>,
        work: &mut Work,
    ) {
        work.services_computed += 1;
        let routes = match self.services.get(key) {
            Some(service) if self.advertised(key, service, config, advertising).is_ok() => {
                routes_of(service, config)
            }
            _ => Vec::new(),
        };
        let owner = Owner::Service(key.0.clone(), key.1.clone());
        self.claims.replace(&owner, with_text(routes), |text| {
            changed.insert(text.clone());
        });
    }

    /// Computes the routes and the rejects of the configuration; notes those that may differ.
    pub(super) fn refresh_configuration(
        &mut self,
        config: &Effective,
        advertising: Advertising,
        changed: &mut BTreeSet<Text>,
        rejects: &mut BTreeSet<Text>,
    ) {
        let ranges = List::ALL.into_iter().flat_map(|list| {
            list.prefixes(config).iter().filter(move |cidr| list.is_range(cidr, config).is_ok())
        });
        let cidrs: Vec<Prefix> = ranges.cloned().collect();
        self.rejects.replace(&(), with_text(cidrs.clone()), |text| {
            rejects.insert(text.clone());
        });
        let routes = if advertising == Advertising::Excluded { Vec::new() } else { cidrs };
        self.claims.replace(&Owner::Configuration, with_text(routes), |text| {
            changed.insert(text.clone());
        });
    }

    /// A Service.
    pub(super) fn service(&self, key: &ServiceKey) -> Option<&Service> {
        self.services.get(key).map(|service| &**service)
    }

    /// The route with this text, if anyone originates it, and what it stands for.
    pub(super) fn route(&self, text: &Text) -> Option<(RouteOrigin, &Prefix)> {
        let (owner, prefix) = self.claims.winner(text)?;
        Some((owner.origin(), prefix))
    }

    /// All that originate the route with this text; what it stands for is the first.
    pub(super) fn origins(&self, text: &Text) -> impl Iterator<Item = RouteOrigin> {
        self.claims.of(text).map(|(owner, _)| owner.origin())
    }

    /// The slices of a Service, by name.
    pub(super) fn slices_of(&self, key: &ServiceKey) -> Vec<SliceFacts<'_>> {
        let (Some(slices), Some(service)) = (self.slices.get(key), self.services.get(key)) else {
            return Vec::new();
        };
        let facts = slices.iter().map(|slice| SliceFacts {
            name: &slice.name,
            counts: slice.counts_for(service),
            ready: slice.ready,
            ready_here: slice.ready_here,
        });
        facts.collect()
    }

    /// The kernel reject with this text, if there is one.
    pub(super) fn reject(&self, text: &Text) -> Option<(RouteOrigin, &Prefix)> {
        self.rejects.winner(text).map(|(_, prefix)| (RouteOrigin::Configuration, prefix))
    }

    /// Whether a Service is advertised from this node, and why.
    pub(super) fn advertised(
        &self,
        key: &ServiceKey,
        service: &Service,
        config: &Effective,
        advertising: Advertising,
    ) -> Result<Advertised, NotAdvertised> {
        let slices = self.slices.get(key).ok_or(NotAdvertised::NoSlice)?;
        if advertising == Advertising::Excluded {
            return Err(NotAdvertised::NodeExcluded);
        }
        if !service.routable {
            return Err(NotAdvertised::Type);
        }
        if service.cluster_ips.is_empty() {
            return Err(NotAdvertised::NoClusterIp);
        }
        let listed = |list: &[Prefix], ip| list.iter().any(|cidr| cidr.is_host() && cidr.contains(ip));
        if service.traffic_policy == TrafficPolicy::Cluster {
            let mut load_balancer = service.load_balancer_ip.iter().chain(&service.ingress_ips);
            if service.is_load_balancer
                && let Some(ip) = load_balancer.find(|ip| listed(&config.load_balancer_ips, **ip))
            {
                return Ok(Advertised::LoadBalancerIp(*ip));
            }
            if let Some(ip) = service.external_ips.iter().find(|ip| listed(&config.external_ips, **ip)) {
                return Ok(Advertised::ExternalIp(*ip));
            }
        }
        let mut slices = slices.iter().filter(|slice| slice.counts_for(service));
        match service.traffic_policy {
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
}

impl Slice {
    /// Whether its addresses are of a family of the Service.
    fn counts_for(&self, service: &Service) -> bool {
        match self.family {
            Some(Family::V4) => service.ipv4,
            Some(Family::V6) => service.ipv6,
            None => false,
        }
    }
}

impl Owner {
    fn origin(&self) -> RouteOrigin {
        match self {
            Self::Configuration => RouteOrigin::Configuration,
            Self::Service(namespace, name) => RouteOrigin::Service(namespace.clone(), name.clone()),
        }
    }
}

/// The routes of a Service that is advertised.
fn routes_of(service: &Service, config: &Effective) -> Vec<Prefix> {
    let admitted = |role: Role| {
        role.addresses(service).iter().filter(move |ip| role.admits(**ip, config)).map(|ip| Prefix::host(*ip))
    };
    Role::ALL.into_iter().flat_map(admitted).collect()
}

fn with_text(prefixes: Vec<Prefix>) -> Vec<(Text, Prefix)> {
    prefixes.into_iter().map(|prefix| (prefix.text(), prefix)).collect()
}
