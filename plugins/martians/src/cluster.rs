//! The cluster's own prefixes.

use tailorbird_guest::{Family, Kv, Prefix};

/// The paths below which keys end in a prefix of the cluster: its pools, and its Services' ranges.
fn paths(family: Family) -> [&'static str; 2] {
    match family {
        Family::V4 => ["/calico/v1/ipam/v4/pool", "/calico/rejectcidrs"],
        Family::V6 => ["/calico/v1/ipam/v6/pool", "/calico/rejectcidrsv6"],
    }
}

/// The prefixes of a family of which the cluster's own addresses are.
pub(crate) fn own_prefixes(kv: &dyn Kv, family: Family) -> Vec<Prefix> {
    let rows = paths(family).into_iter().flat_map(|path| kv.list(path));
    let mut prefixes: Vec<Prefix> = rows.filter_map(|row| prefix(&row.key)).collect();
    prefixes.sort_unstable();
    prefixes.dedup();
    prefixes
}

/// The prefix that a key ends in, with `-` for `/`.
fn prefix(key: &str) -> Option<Prefix> {
    let (address, length) = key.rsplit_once('/')?.1.rsplit_once('-')?;
    Prefix::new(address.parse().ok()?, length.parse().ok()?)
}
