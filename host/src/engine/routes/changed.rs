//! The routes that a batch can have changed.

use std::net::IpAddr;

use crate::types::Prefix;

/// What a route leads to. It is known by its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct Destination {
    prefix: Prefix,
    /// The text is the one spelling of an address. Services originate routes to such alone.
    is_address: bool,
}

impl Destination {
    /// The prefix.
    pub(in crate::engine) fn prefix(&self) -> &Prefix {
        &self.prefix
    }

    /// The address that it is the route of, if a Service can originate it.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.is_address.then(|| self.prefix.net().addr())
    }
}

impl From<IpAddr> for Destination {
    fn from(ip: IpAddr) -> Self {
        Self { prefix: Prefix::host(ip), is_address: true }
    }
}

impl From<Prefix> for Destination {
    fn from(prefix: Prefix) -> Self {
        let is_address = prefix.is_host() && prefix == prefix.canonical();
        Self { prefix, is_address }
    }
}

/// Routes that may differ.
#[derive(Debug, Default)]
pub(in crate::engine) struct Changed {
    prefixes: Vec<Prefix>,
    addresses: Vec<IpAddr>,
}

impl Changed {
    /// Notes the routes to prefixes of the configuration.
    pub(super) fn prefixes(&mut self, prefixes: impl IntoIterator<Item = Prefix>) {
        self.prefixes.extend(prefixes);
    }

    /// Notes the route to an address of a Service.
    pub(super) fn address(&mut self, ip: IpAddr) {
        self.addresses.push(ip);
    }

    /// The routes by their text, each once.
    pub(in crate::engine) fn into_destinations(mut self) -> Vec<Destination> {
        // Very many Services can have the same address.
        self.addresses.sort_unstable();
        self.addresses.dedup();
        let prefixes = self.prefixes.into_iter().map(Destination::from);
        let mut all: Vec<Destination> =
            prefixes.chain(self.addresses.into_iter().map(Destination::from)).collect();
        all.sort_by_cached_key(|destination| destination.prefix.key());
        all.dedup();
        all
    }
}
