//! Arithmetic with prefixes and addresses. All of it is on 128 bits, with IPv4 in the upper 32.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tailorbird_guest::{Family, FromValue, IntoValue, ParameterKind, Prefix, Value};

/// The most subnets in a list.
const MAX_SUBNETS: u32 = 1024;

/// A prefix, or an address for the prefix that it is alone. It is written as it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Net(pub(crate) Prefix, IsAddress);

type IsAddress = bool;

impl FromValue for Net {
    const KIND: ParameterKind = ParameterKind::Text;

    fn from_value(value: Value) -> Result<Self, String> {
        let text = String::from_value(value)?;
        let net = match text.contains('/') {
            true => text.parse().ok().map(|prefix| Self(prefix, false)),
            false => text.parse().ok().map(|address| Self(Prefix::host(address), true)),
        };
        net.ok_or_else(|| {
            format!("`{text}` is neither a prefix (as `10.0.0.0/8` or `2001:db8::/32`) nor an address")
        })
    }
}

impl IntoValue for Net {
    fn into_value(self) -> Value {
        if self.1 { self.0.address().into_value() } else { self.0.into_value() }
    }
}

/// The bits of an address from the top.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn address_of(family: Family, bits: u128) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::from_bits((bits >> 96) as u32).into(),
        Family::V6 => Ipv6Addr::from_bits(bits).into(),
    }
}

pub(crate) fn mask(prefix: Prefix) -> IpAddr {
    address_of(prefix.family(), !u128::MAX.checked_shr(prefix.length().into()).unwrap_or(0))
}

/// The number of things of one length in a prefix, as a power of 2.
fn room(prefix: Prefix, length: u8) -> Result<u32, String> {
    if length < prefix.length() || length > prefix.max_length() {
        return Err(format!(
            "length {length} is not between {} and {}, which {prefix} has room for",
            prefix.length(),
            prefix.max_length()
        ));
    }
    Ok(u32::from(length - prefix.length()))
}

pub(crate) fn size(prefix: Prefix) -> Result<i64, String> {
    let exponent = u32::from(prefix.max_length() - prefix.length());
    if exponent > 62 {
        return Err(format!("{prefix} has 2^{exponent} addresses, more than a number can say"));
    }
    Ok(1 << exponent)
}

pub(crate) fn subnet(prefix: Prefix, length: u8, number: i64) -> Result<Prefix, String> {
    let room = room(prefix, length)?;
    let last = u128::MAX.checked_shr(128 - room).unwrap_or(0);
    let distance = u128::from(number.unsigned_abs());
    let index =
        if number < 0 { last.checked_sub(distance - 1) } else { Some(distance).filter(|own| *own <= last) };
    let index = index.ok_or_else(|| format!("{prefix} has no /{length} with the number {number}"))?;
    let offset = index.checked_shl(128 - u32::from(length)).unwrap_or(0);
    let address = address_of(prefix.family(), bits(prefix.address()) | offset);
    Prefix::new(address, length).ok_or_else(|| format!("{prefix} has no /{length}"))
}

pub(crate) fn subnets(prefix: Prefix, length: u8) -> Result<Vec<Prefix>, String> {
    let room = room(prefix, length)?;
    let count = 1_u32.checked_shl(room).filter(|count| *count <= MAX_SUBNETS);
    let count =
        count.ok_or_else(|| format!("{prefix} has 2^{room} of /{length}, more than {MAX_SUBNETS}"))?;
    (0..count).map(|number| subnet(prefix, length, number.into())).collect()
}

pub(crate) fn address(prefix: Prefix, number: i64) -> Result<IpAddr, String> {
    match subnet(prefix, prefix.max_length(), number) {
        Ok(host) => Ok(host.address()),
        Err(_) => Err(format!("{prefix} has no address with the number {number}")),
    }
}

pub(crate) fn parent(prefix: Prefix, length: u8) -> Result<Prefix, String> {
    let shorter = Prefix::new(prefix.address(), length).filter(|_| length <= prefix.length());
    shorter.ok_or_else(|| {
        format!("{prefix} is in no longer prefix /{length}: the length can be 0 to {}", prefix.length())
    })
}

/// Without those in others, and with halves made whole, until nothing changes.
pub(crate) fn aggregate(prefixes: impl Iterator<Item = Prefix>) -> Vec<Prefix> {
    let ordered: BTreeSet<Prefix> = prefixes.collect();
    let mut kept: Vec<Prefix> = Vec::new();
    // In order, a prefix comes before all that are in it, and a lower half just before its upper one.
    for prefix in ordered {
        if kept.last().is_some_and(|last| last.covers(prefix)) {
            continue;
        }
        let mut prefix = prefix;
        while let Some(whole) = kept.last().and_then(|last| joined(*last, prefix)) {
            kept.pop();
            prefix = whole;
        }
        kept.push(prefix);
    }
    kept
}

/// The prefix that two are the halves of.
fn joined(lower: Prefix, upper: Prefix) -> Option<Prefix> {
    let length = lower.length().checked_sub(1).filter(|_| lower.length() == upper.length())?;
    let whole = Prefix::new(lower.address(), length)?;
    (lower != upper && whole.covers(upper)).then_some(whole)
}

pub(crate) fn add(address: IpAddr, number: i64) -> Result<IpAddr, String> {
    let sum = match address {
        IpAddr::V4(v4) => i64::from(v4.to_bits())
            .checked_add(number)
            .and_then(|bits| u32::try_from(bits).ok())
            .map(|bits| Ipv4Addr::from_bits(bits).into()),
        IpAddr::V6(v6) => {
            v6.to_bits().checked_add_signed(number.into()).map(|bits| Ipv6Addr::from_bits(bits).into())
        }
    };
    sum.ok_or_else(|| format!("there is no address {number} from {address}"))
}

pub(crate) fn sort(mut nets: Vec<Net>) -> Vec<Net> {
    nets.sort();
    nets
}

pub(crate) fn only(nets: Vec<Net>, family: &str) -> Result<Vec<Net>, String> {
    let family = match family {
        "v4" => Family::V4,
        "v6" => Family::V6,
        other => return Err(format!("family: `{other}` is neither `v4` nor `v6`")),
    };
    Ok(nets.into_iter().filter(|net| net.0.family() == family).collect())
}
