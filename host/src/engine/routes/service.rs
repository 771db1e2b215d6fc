//! A Service as it is kept.

use std::net::IpAddr;

use super::addresses::Addresses;
use super::rules::Role;
use crate::resources::{Service, ServiceFacts, TrafficPolicy};
use crate::types::Family;

/// A Service, as far as routes to it are concerned, in few bytes and without its name.
#[derive(Debug)]
pub(crate) struct KeptService {
    /// Its type has addresses that lead to endpoints.
    pub(super) routable: bool,
    /// The type is LoadBalancer.
    pub(super) is_load_balancer: bool,
    ipv4: bool,
    ipv6: bool,
    traffic_policy: TrafficPolicy,
    /// Those of each role, and `loadBalancerIP`.
    addresses: Addresses,
    facts: Option<Box<ServiceFacts>>,
}

/// The number that `loadBalancerIP` has among the addresses, where others have that of their role.
const LOAD_BALANCER_IP: u8 = Role::ALL.len() as u8;

impl From<Service> for KeptService {
    fn from(service: Service) -> Self {
        let in_role =
            |role: Role, addresses: Vec<IpAddr>| addresses.into_iter().map(move |ip| (role as u8, ip));
        let addresses = in_role(Role::Cluster, service.cluster_ips)
            .chain(in_role(Role::External, service.external_ips))
            .chain(in_role(Role::Ingress, service.ingress_ips))
            .chain(service.load_balancer_ip.map(|ip| (LOAD_BALANCER_IP, ip)));
        Self {
            routable: service.routable,
            is_load_balancer: service.is_load_balancer,
            ipv4: service.ipv4,
            ipv6: service.ipv6,
            traffic_policy: service.traffic_policy,
            addresses: addresses.collect(),
            facts: service.facts,
        }
    }
}

impl KeptService {
    /// `externalTrafficPolicy`.
    pub(crate) fn traffic_policy(&self) -> TrafficPolicy {
        self.traffic_policy
    }

    /// The addresses in each role, role by role.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (Role, IpAddr)> {
        self.addresses.iter().filter_map(|(number, ip)| Some((*Role::ALL.get(usize::from(number))?, ip)))
    }

    /// The addresses in a role.
    pub(super) fn addresses_in(&self, role: Role) -> impl Iterator<Item = IpAddr> {
        self.addresses().filter(move |(of, _)| *of == role).map(|(_, ip)| ip)
    }

    /// `loadBalancerIP`.
    pub(super) fn load_balancer_ip(&self) -> Option<IpAddr> {
        self.addresses.iter().find(|(number, _)| *number == LOAD_BALANCER_IP).map(|(_, ip)| ip)
    }

    /// Whether it has addresses of a family.
    pub(super) fn has_family(&self, family: Family) -> bool {
        match family {
            Family::V4 => self.ipv4,
            Family::V6 => self.ipv6,
        }
    }

    /// What is published of it, if anything is.
    pub(crate) fn facts(&self) -> Option<&ServiceFacts> {
        self.facts.as_deref()
    }

    /// What an address is to it; none if it has nothing to do with the address.
    pub(crate) fn roles_of(&self, ip: IpAddr) -> Option<Vec<Role>> {
        let mut roles: Vec<Role> =
            self.addresses().filter(|(_, of)| *of == ip).map(|(role, _)| role).collect();
        roles.dedup();
        (!roles.is_empty() || self.load_balancer_ip() == Some(ip)).then_some(roles)
    }
}
