//! The route generator: which prefixes this node originates for Services, and which never enter the kernel.
//!
//! There are very many Services and slices, so what is kept of them is packed, and they know each other by number.

mod addresses;
mod changed;
mod claims;
mod rules;
mod service;
mod slices;
mod store;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use super::Work;
use super::config::Effective;
use super::hash::AddressSet;
use super::model::RouteOrigin;
use crate::resources::{EndpointSlice, Service};
use crate::types::{Name, Prefix};
use addresses::Addresses;
use claims::{Claims, Difference, differences};
use slices::{Slice, SliceKey, SliceOwners};
use store::{Entry, ServiceId, Store};

pub(super) use changed::Changed;
pub(super) use rules::Advertising;
pub(crate) use rules::{Advertised, List, NoRange, NotAdvertised, Role};
pub(crate) use service::KeptService;

/// A Service: its namespace and name.
pub(crate) type ServiceKey = (Name, Name);

/// A slice as far as it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SliceFacts {
    pub(crate) name: String,
    /// Whether its addresses are of a family of the Service.
    pub(crate) counts: bool,
    /// Whether an endpoint is ready, anywhere.
    pub(crate) ready: bool,
    /// Whether an endpoint on this node is ready.
    pub(crate) ready_here: bool,
}

/// All Services, their slices, and the routes that come of them.
#[derive(Debug, Default)]
pub(super) struct Routes {
    store: Store,
    owners: SliceOwners,
    claims: Claims,
    /// What the configuration originates. Its text stays where a Service claims the same.
    ranges: AddressSet<Prefix>,
    rejects: AddressSet<Prefix>,
}

impl Routes {
    /// Takes a Service, or that it is gone.
    pub(super) fn set_service(&mut self, (namespace, name): &ServiceKey, service: Option<Box<Service>>) {
        let id = self.store.id_or_new(namespace, name);
        if let Some(entry) = self.store.get_mut(id) {
            entry.service = service.map(|service| KeptService::from(*service));
        }
        self.store.release(id);
    }

    /// Takes a slice, or that it is gone; returns the Services that this can matter to.
    pub(super) fn set_slice(
        &mut self,
        key: &(Name, Name),
        slice: Option<EndpointSlice>,
        node: &str,
    ) -> impl Iterator<Item = ServiceKey> + use<> {
        let key = self.owners.key(key);
        let before = self.owners.of(key, &self.store);
        let after = slice.and_then(|slice| {
            let contributes = Slice::on(node, &slice);
            Some((self.store.id_or_new(key.namespace, &slice.service?), contributes))
        });
        let stays = after.map(|(id, _)| id);
        let left = before.filter(|id| Some(*id) != stays).and_then(|id| self.take_slice(key, id));
        let joined = after.and_then(|(id, slice)| self.give_slice(key, slice, id, before == stays));
        left.into_iter().chain(joined)
    }

    /// Takes a slice from a Service that has it.
    fn take_slice(&mut self, key: SliceKey<'_>, id: ServiceId) -> Option<ServiceKey> {
        self.owners.remove(key, &self.store);
        let entry = self.store.get_mut(id)?;
        entry.slices.remove(&entry.key.1, key.name);
        let service = entry.key.clone();
        self.store.release(id);
        Some(service)
    }

    /// Gives a slice to a Service, or lets it be like this; returns the Service if anything is another now.
    fn give_slice(
        &mut self,
        key: SliceKey<'_>,
        slice: Slice,
        id: ServiceId,
        has_it: bool,
    ) -> Option<ServiceKey> {
        let entry = self.store.get_mut(id)?;
        let changed = entry.slices.set(&entry.key.1, key.name, slice);
        let service = changed.then(|| entry.key.clone());
        if !has_it {
            self.owners.insert(key, id);
        }
        service
    }

    /// All Services.
    pub(super) fn services(&self) -> impl Iterator<Item = (&ServiceKey, &KeptService)> {
        self.store.iter().filter_map(|entry| Some((&entry.key, entry.service.as_ref()?)))
    }

    /// Computes the routes of one Service; returns nothing, notes the routes that may differ.
    pub(super) fn refresh_service(
        &mut self,
        (namespace, name): &ServiceKey,
        config: &Effective,
        advertising: Advertising,
        changed: &mut Changed,
        work: &mut Work,
    ) {
        work.services_computed += 1;
        let Some(id) = self.store.id(namespace, name) else { return };
        let Some(entry) = self.store.get_mut(id) else { return };
        let new = entry.routes(config, advertising);
        if new == entry.claims {
            return;
        }
        let old = std::mem::replace(&mut entry.claims, new);
        let Some(entry) = self.store.get(id) else { return };
        for difference in differences(old.iter(), entry.claims.iter()) {
            let (Difference::Gone((_, ip)) | Difference::Come((_, ip))) = difference;
            match difference {
                Difference::Gone(_) => self.claims.remove(ip, id, &self.store),
                Difference::Come(_) => self.claims.insert(ip, id, &self.store),
            }
            changed.address(ip);
        }
        self.store.release(id);
    }

    /// Computes the routes and the rejects of the configuration; notes those that may differ.
    pub(super) fn refresh_configuration(
        &mut self,
        config: &Effective,
        advertising: Advertising,
        changed: &mut Changed,
        rejects: &mut Vec<Prefix>,
    ) {
        let ranges = List::ALL.into_iter().flat_map(|list| {
            list.prefixes(config).iter().filter(move |cidr| list.is_range(cidr, config).is_ok())
        });
        let cidrs: AddressSet<Prefix> = ranges.cloned().collect();
        rejects.extend(self.rejects.symmetric_difference(&cidrs).cloned());
        let routes = if advertising == Advertising::Excluded { AddressSet::default() } else { cidrs.clone() };
        changed.prefixes(self.ranges.symmetric_difference(&routes).cloned());
        (self.ranges, self.rejects) = (routes, cidrs);
    }

    /// A Service.
    pub(super) fn service(&self, key: &ServiceKey) -> Option<&KeptService> {
        self.store.find(key)?.service.as_ref()
    }

    /// All that originate a route; what it stands for is the first. Nobody if there is no such route.
    pub(super) fn origins<'a>(&'a self, to: &Prefix) -> impl Iterator<Item = RouteOrigin> + use<'a> {
        let configured = self.ranges.contains(to).then_some(RouteOrigin::Configuration);
        // Services originate routes to addresses in their one spelling alone.
        let address = (to.is_host() && *to == to.canonical()).then(|| to.net().addr());
        let services = address.into_iter().flat_map(|ip| self.claims.of(ip));
        let keys = services.filter_map(|id| self.store.key(id).cloned());
        configured.into_iter().chain(keys.map(|(namespace, name)| RouteOrigin::Service(namespace, name)))
    }

    /// The slices of a Service, by name.
    pub(super) fn slices_of(&self, key: &ServiceKey) -> Vec<SliceFacts> {
        let Some(entry) = self.store.find(key) else { return Vec::new() };
        let Some(service) = &entry.service else { return Vec::new() };
        let facts = entry.slices.named(&entry.key.1).map(|(name, slice)| SliceFacts {
            name,
            counts: slice.counts_for(service),
            ready: slice.ready,
            ready_here: slice.ready_here,
        });
        facts.collect()
    }

    /// What a kernel reject of a prefix stands for, if there is one.
    pub(super) fn reject(&self, prefix: &Prefix) -> Option<RouteOrigin> {
        self.rejects.contains(prefix).then_some(RouteOrigin::Configuration)
    }

    /// Whether a Service is advertised from this node, and why.
    pub(super) fn advertised(
        &self,
        key: &ServiceKey,
        service: &KeptService,
        config: &Effective,
        advertising: Advertising,
    ) -> Result<Advertised, NotAdvertised> {
        let entry = self.store.find(key).ok_or(NotAdvertised::NoSlice)?;
        rules::advertised(service, &entry.slices, config, advertising)
    }
}

impl Entry {
    /// The addresses that are routes, in order and each once.
    fn routes(&self, config: &Effective, advertising: Advertising) -> Addresses {
        let advertised = self
            .service
            .as_ref()
            .filter(|service| rules::advertised(service, &self.slices, config, advertising).is_ok());
        let addresses = advertised.into_iter().flat_map(KeptService::addresses);
        let mut routes: Vec<IpAddr> =
            addresses.filter(|(role, ip)| role.admits(*ip, config)).map(|(_, ip)| ip).collect();
        routes.sort_unstable();
        routes.dedup();
        routes.into_iter().map(|ip| (0, ip)).collect()
    }
}
