//! Maps whose keys are or hold addresses.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::net::IpAddr;

use rustc_hash::FxHasher;

/// A map for keys with addresses in them, and for any other key.
pub(super) type AddressMap<K, V> = HashMap<K, V, BuildHasherDefault<AddressHasher>>;

/// A set of such keys.
pub(super) type AddressSet<T> = HashSet<T, BuildHasherDefault<AddressHasher>>;

/// The hash of an address, for tables whose keys are kept elsewhere.
pub(super) fn hash_of(ip: IpAddr) -> u64 {
    BuildHasherDefault::<AddressHasher>::default().hash_one(ip)
}

/// FxHasher, save for IPv6 addresses.
///
/// An IPv6 address is hashed as one number whose highest bits are the address' last bytes. FxHasher multiplies, and
/// that carries upwards alone: the addresses of one network would differ in a few bits of the hash, and a map of them
/// would be a list. As bytes they are mixed.
#[derive(Default)]
pub(super) struct AddressHasher(FxHasher);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn write_u8(&mut self, n: u8) {
        self.0.write_u8(n);
    }

    fn write_u16(&mut self, n: u16) {
        self.0.write_u16(n);
    }

    fn write_u32(&mut self, n: u32) {
        self.0.write_u32(n);
    }

    fn write_u64(&mut self, n: u64) {
        self.0.write_u64(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.0.write_usize(n);
    }

    fn write_u128(&mut self, n: u128) {
        self.0.write(&n.to_ne_bytes());
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::hash::{BuildHasher, BuildHasherDefault};
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    use super::AddressHasher;

    /// Counts the buckets of a table of 8,192 that 4,096 keys fall into; 3,223 are expected of a random function.
    fn buckets(address: impl Fn(u16) -> IpAddr) -> usize {
        let hasher = BuildHasherDefault::<AddressHasher>::default();
        (0..4096).map(|n| hasher.hash_one(address(n)) % 8192).collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn addresses_of_one_network_are_spread() {
        let v4 = |n: u16| Ipv4Addr::from(0x0a00_0000 + u32::from(n)).into();
        let last_bytes = |n| Ipv6Addr::from([0xfd00, 0, 0, 0, 0, 0, 0, n]).into();
        let networks = |n| Ipv6Addr::from([0xfd00, 0, 0, n, 0, 0, 0, 1]).into();
        for found in [buckets(v4), buckets(last_bytes), buckets(networks)] {
            assert!(found > 2500, "{found}");
        }
    }
}
