//! Values of an answer, checked one by one. Every error names the item and says what is wrong with it.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::IpNet;

use crate::engine::Cluster;
use crate::plugin::contract::types::{self, Range, Span};
use crate::types::{AsNumber, Community, Name, Priority};

/// The most items that a list of an answer can have, unless it is bound to the request.
pub const MAX_ITEMS: usize = 100_000;
/// The most BGPFilters of a peering.
pub const MAX_FILTERS: usize = 100;
/// The most communities, or destinations, of a route.
pub const MAX_ROUTE_ITEMS: usize = 64;
/// The most operations, or AS numbers, of a rule.
pub const MAX_RULE_ITEMS: usize = 10;
/// The most rules of a set.
pub const MAX_SET_RULES: usize = 1_000;

/// What is wrong with an answer.
pub(super) type Fault = String;

/// An error about an item of a list.
pub(super) fn at(list: &str, index: usize, reason: impl Display) -> Fault {
    format!("{list}[{index}]: {reason}")
}

/// Checks the length of a list.
pub(super) fn bounded<T>(list: &str, items: &[T], most: usize) -> Result<(), Fault> {
    if items.len() > most {
        return Err(format!("{list} has {} items, and at most {most} are allowed", items.len()));
    }
    Ok(())
}

/// The piece of a text.
pub(super) fn text(text: &str, span: Span) -> Result<&str, Fault> {
    let (start, length) = (span.start as usize, span.length as usize);
    start.checked_add(length).and_then(|end| text.get(start..end)).ok_or_else(|| {
        format!("the text from byte {start}, {length} bytes long, is no piece of the answer's text")
    })
}

/// The piece of a list.
pub(super) fn piece<'a, T>(name: &str, list: &'a [T], range: Range) -> Result<&'a [T], Fault> {
    let (start, count) = (range.start as usize, range.count as usize);
    start.checked_add(count).and_then(|end| list.get(start..end)).ok_or_else(|| {
        format!("{count} items from place {start} are no piece of {name}, which has {} items", list.len())
    })
}

/// A place in a list of the request.
pub(super) fn place(name: &str, index: u32, length: usize) -> Result<usize, Fault> {
    let place = index as usize;
    if place < length {
        Ok(place)
    } else {
        Err(format!("there is no place {index} in {name}, which has {length} items"))
    }
}

/// Places that may be named once.
pub(super) struct Once(Vec<bool>);

impl Once {
    pub(super) fn new(length: usize) -> Self {
        Self(vec![false; length])
    }

    /// Takes a place.
    pub(super) fn take(&mut self, place: usize) -> Result<(), Fault> {
        match self.0.get_mut(place) {
            Some(taken) if !*taken => {
                *taken = true;
                Ok(())
            }
            _ => Err(format!("place {place} is named twice")),
        }
    }
}

pub(super) fn address(address: types::Address) -> IpAddr {
    match address {
        types::Address::V4(bits) => Ipv4Addr::from(bits).into(),
        types::Address::V6((high, low)) => Ipv6Addr::from(u128::from(high) << 64 | u128::from(low)).into(),
    }
}

/// A prefix, host bits cleared.
pub(super) fn prefix(prefix: types::Prefix) -> Result<IpNet, Fault> {
    let ip = address(prefix.address);
    IpNet::new(ip, prefix.length)
        .map(|net| net.trunc())
        .map_err(|_| format!("{} is no length of a prefix of {ip}", prefix.length))
}

pub(super) fn community(community: types::Community) -> Community {
    match community {
        types::Community::Standard((a, b)) => Community::Standard(a, b),
        types::Community::Large((a, b, c)) => Community::Large(a, b, c),
    }
}

pub(super) fn as_number(value: u32) -> Result<AsNumber, Fault> {
    AsNumber::new(value).map_err(|error| error.reason)
}

pub(super) fn priority(value: u32) -> Result<Priority, Fault> {
    Priority::new(value.into()).map_err(|error| format!("{value}: {}", error.reason))
}

/// A number in a range, both ends included.
pub(super) fn within(what: &str, value: u32, least: u32, most: u32) -> Result<u32, Fault> {
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(format!("{value} is no {what} ({least} to {most})"))
    }
}

/// Names of BGPFilters that there are.
pub(super) fn filters(
    whole: &str,
    names: &[Span],
    range: Range,
    cluster: &Cluster,
) -> Result<Arc<[Name]>, Fault> {
    let names = piece("names", names, range)?;
    bounded("filters", names, MAX_FILTERS)?;
    names.iter().map(|span| filter(text(whole, *span)?, cluster)).collect()
}

fn filter(text: &str, cluster: &Cluster) -> Result<Name, Fault> {
    let shown: String = text.chars().take(80).collect();
    let name: Name = text.parse().map_err(|error| format!("filter {shown:?}: {error}"))?;
    if cluster.filters.exists(text) { Ok(name) } else { Err(format!("there is no BGPFilter {shown:?}")) }
}
