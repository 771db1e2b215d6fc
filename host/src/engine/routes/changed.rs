//! The routes that a batch can have changed.

use std::net::IpAddr;
use std::sync::Arc;

use crate::types::Prefix;

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

    /// The routes with their [keys](Prefix::key), by key, each once.
    pub(in crate::engine) fn into_routes(mut self) -> Vec<(Arc<str>, Prefix)> {
        // Very many Services can have the same address.
        self.addresses.sort_unstable();
        self.addresses.dedup();
        let all = self.prefixes.into_iter().chain(self.addresses.into_iter().map(Prefix::host));
        let mut all: Vec<(Arc<str>, Prefix)> = all.map(|prefix| (prefix.key().into(), prefix)).collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all.dedup();
        all
    }
}
