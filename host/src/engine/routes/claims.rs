//! Which Services claim an address as a route.

use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::net::IpAddr;

use super::store::{ServiceId, Store};
use crate::engine::hash::AddressMap;

/// Who claims each address: the Service with the lowest namespace and name wins, whatever the order of arrival.
#[derive(Debug, Default)]
pub(super) struct Claims {
    winners: AddressMap<IpAddr, ServiceId>,
    /// The others, lowest first. Few addresses have any, and one can have very many.
    others: AddressMap<IpAddr, Vec<ServiceId>>,
}

impl Claims {
    /// A Service that did not claim an address does now.
    pub(super) fn insert(&mut self, ip: IpAddr, id: ServiceId, store: &Store) {
        match self.winners.entry(ip) {
            Entry::Vacant(winner) => drop(winner.insert(id)),
            Entry::Occupied(mut winner) => {
                let behind = if store.key(id) < store.key(*winner.get()) { winner.insert(id) } else { id };
                let others = self.others.entry(ip).or_default();
                let at = others.partition_point(|other| store.key(*other) < store.key(behind));
                others.insert(at, behind);
            }
        }
    }

    /// A Service that claimed an address does not any more.
    pub(super) fn remove(&mut self, ip: IpAddr, id: ServiceId, store: &Store) {
        let Entry::Occupied(mut winner) = self.winners.entry(ip) else { return };
        let Entry::Occupied(mut others) = self.others.entry(ip) else {
            winner.remove();
            return;
        };
        let list = others.get_mut();
        if *winner.get() == id {
            winner.insert(list.remove(0));
        } else if let Ok(at) = list.binary_search_by(|other| store.key(*other).cmp(&store.key(id))) {
            list.remove(at);
        }
        if list.is_empty() {
            others.remove();
        }
    }

    /// The Services that claim an address, the winner first.
    pub(super) fn of(&self, ip: IpAddr) -> impl Iterator<Item = ServiceId> {
        let winner = self.winners.get(&ip).into_iter();
        winner.chain(self.others.get(&ip).into_iter().flatten()).copied()
    }
}

/// What only one of two lists has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference<T> {
    /// The old one has it.
    Gone(T),
    /// The new one has it.
    Come(T),
}

/// The differences of two lists that are in order and have nothing twice.
pub(super) fn differences<T: Ord>(
    old: impl Iterator<Item = T>,
    new: impl Iterator<Item = T>,
) -> impl Iterator<Item = Difference<T>> {
    let (mut old, mut new) = (old.peekable(), new.peekable());
    std::iter::from_fn(move || {
        loop {
            let order = match (old.peek(), new.peek()) {
                (Some(old), Some(new)) => old.cmp(new),
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            match order {
                Ordering::Less => return old.next().map(Difference::Gone),
                Ordering::Greater => return new.next().map(Difference::Come),
                Ordering::Equal => {
                    old.next();
                    new.next();
                }
            }
        }
    })
}
