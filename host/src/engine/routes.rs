//! The route generator: which prefixes this node originates for Services, and which never enter the kernel.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Work;
use super::claims::Claims;
use super::config::Effective;
use super::model::RouteOrigin;
use crate::resources::{EndpointSlice, Service, Text, TrafficPolicy};
use crate::types::{Family, Name, Prefix};

/// A Service: its namespace and name.
pub(super) type ServiceKey = (Name, Name);

/// What a slice contributes to its Service.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slice {
    service: ServiceKey,
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

/// Whether this node originates routes at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advertising {
    Yes,
    /// The node is excluded from external load balancers.
    Excluded,
}

/// All Services, their slices, and the routes that come of them.
#[derive(Debug, Default)]
pub(super) struct Routes {
    services: FxHashMap<ServiceKey, Box<Service>>,
    slices: FxHashMap<(Name, Name), Slice>,
    by_service: FxHashMap<ServiceKey, FxHashSet<Name>>,
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
        slice: Option<&EndpointSlice>,
        node: &str,
    ) -> Vec<ServiceKey> {
        let new = slice.and_then(|slice| {
            let service = (slice.namespace.clone(), slice.service.clone()?);
            let mut ready = slice.endpoints.iter().filter(|e| e.ready);
            let here = slice.endpoints.iter().any(|e| e.ready && e.node.as_deref() == Some(node));
            Some(Slice { service, family: slice.family, ready: ready.next().is_some(), ready_here: here })
        });
        let old = self.slices.get(key).cloned();
        if old == new {
            return Vec::new();
        }
        if let Some(old) = &old {
            self.slices.remove(key);
            if let Some(names) = self.by_service.get_mut(&old.service) {
                names.remove(&key.1);
                if names.is_empty() {
                    self.by_service.remove(&old.service);
                }
            }
        }
        if let Some(new) = &new {
            self.by_service.entry(new.service.clone()).or_default().insert(key.1.clone());
            self.slices.insert(key.clone(), new.clone());
        }
        [old, new].into_iter().flatten().map(|slice| slice.service).collect()
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
            Some(service) if self.advertised(key, service, config, advertising) => routes_of(service, config),
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
        let aggregated = if config.load_balancer_aggregation { &config.load_balancer_ips[..] } else { &[] };
        let ranges = config.external_ips.iter().chain(aggregated).filter(|cidr| !cidr.is_host());
        let cidrs: Vec<Prefix> = config.cluster_ips.iter().chain(ranges).cloned().collect();
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
        let origin = match owner {
            Owner::Configuration => RouteOrigin::Configuration,
            Owner::Service(namespace, name) => RouteOrigin::Service(namespace.clone(), name.clone()),
        };
        Some((origin, prefix))
    }

    /// The kernel reject with this text, if there is one.
    pub(super) fn reject(&self, text: &Text) -> Option<(RouteOrigin, &Prefix)> {
        self.rejects.winner(text).map(|(_, prefix)| (RouteOrigin::Configuration, prefix))
    }

    fn advertised(
        &self,
        key: &ServiceKey,
        service: &Service,
        config: &Effective,
        advertising: Advertising,
    ) -> bool {
        let Some(slices) = self.by_service.get(key) else { return false };
        if advertising == Advertising::Excluded || !service.routable || service.cluster_ips.is_empty() {
            return false;
        }
        let listed = |list: &[Prefix], ip| list.iter().any(|cidr| cidr.is_host() && cidr.contains(ip));
        if service.traffic_policy == TrafficPolicy::Cluster {
            let mut load_balancer = service.load_balancer_ip.iter().chain(&service.ingress_ips);
            if service.is_load_balancer && load_balancer.any(|ip| listed(&config.load_balancer_ips, *ip)) {
                return true;
            }
            if service.external_ips.iter().any(|ip| listed(&config.external_ips, *ip)) {
                return true;
            }
        }
        let mut slices = slices.iter().filter_map(|name| self.slices.get(&(key.0.clone(), name.clone())));
        let counts = |slice: &Slice| match slice.family {
            Some(Family::V4) => service.ipv4,
            Some(Family::V6) => service.ipv6,
            None => false,
        };
        match service.traffic_policy {
            TrafficPolicy::Local => slices.any(|slice| counts(slice) && slice.ready_here),
            TrafficPolicy::Cluster | TrafficPolicy::Other => {
                !config.load_balancer_aggregation && slices.any(|slice| counts(slice) && slice.ready)
            }
        }
    }
}

/// The routes of a Service that is advertised.
fn routes_of(service: &Service, config: &Effective) -> Vec<Prefix> {
    let inside = |list: &[Prefix], ip| list.iter().any(|cidr| cidr.contains(ip));
    let cluster = if config.cluster_ips.is_empty() { &[][..] } else { &service.cluster_ips };
    let external = service.external_ips.iter().filter(|ip| inside(&config.external_ips, **ip));
    let ingress = service.ingress_ips.iter().filter(|ip| inside(&config.load_balancer_ips, **ip));
    cluster.iter().chain(external).chain(ingress).map(|ip| Prefix::host(*ip)).collect()
}

fn with_text(prefixes: Vec<Prefix>) -> Vec<(Text, Prefix)> {
    prefixes.into_iter().map(|prefix| (prefix.text().clone(), prefix)).collect()
}
