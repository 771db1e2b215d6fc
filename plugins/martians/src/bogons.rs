//! Prefixes that no network outside can mean.

use std::net::IpAddr;

use tailorbird_guest::{Family, Prefix};

type V4 = ([u8; 4], u8);
type V6 = ([u16; 2], u8);

/// Special-purpose addresses (RFC 6890 and its registry) that must not be routed between networks.
const SPECIAL_V4: [V4; 11] = [
    ([0, 0, 0, 0], 8),       // this network
    ([127, 0, 0, 0], 8),     // loopback
    ([169, 254, 0, 0], 16),  // link local
    ([192, 0, 0, 0], 24),    // protocol assignments
    ([192, 0, 2, 0], 24),    // documentation
    ([192, 88, 99, 0], 24),  // 6to4 relays, withdrawn (RFC 7526)
    ([198, 18, 0, 0], 15),   // benchmarks
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
    ([224, 0, 0, 0], 4),     // multicast
    ([240, 0, 0, 0], 4),     // reserved, broadcast
];

/// Of private use (RFC 1918), and shared behind carriers' NAT (RFC 6598).
const PRIVATE_V4: [V4; 4] =
    [([10, 0, 0, 0], 8), ([172, 16, 0, 0], 12), ([192, 168, 0, 0], 16), ([100, 64, 0, 0], 10)];

/// All that is globally assigned; what is outside is special or reserved.
const GLOBAL_V6: V6 = ([0x2000, 0], 3);

/// Special-purpose addresses among those.
const SPECIAL_V6: [V6; 7] = [
    ([0x2001, 0], 32),     // Teredo
    ([0x2001, 0x2], 48),   // benchmarks
    ([0x2001, 0x10], 28),  // ORCHID, withdrawn
    ([0x2001, 0xdb8], 32), // documentation
    ([0x2002, 0], 16),     // 6to4
    ([0x3ffe, 0], 16),     // 6bone, withdrawn
    ([0x3fff, 0], 20),     // documentation
];

/// Of private use: unique local addresses (RFC 4193).
const PRIVATE_V6: V6 = ([0xfc00, 0], 7);

/// The prefixes of a family that are refused with all that is in them.
pub(crate) fn special(family: Family) -> Vec<Prefix> {
    match family {
        Family::V4 => SPECIAL_V4.map(v4).into(),
        Family::V6 => SPECIAL_V6.map(v6).into(),
    }
}

/// The prefixes of a family that are of private use.
pub(crate) fn private(family: Family) -> Vec<Prefix> {
    match family {
        Family::V4 => PRIVATE_V4.map(v4).into(),
        Family::V6 => vec![v6(PRIVATE_V6)],
    }
}

/// The prefix outside of which nothing is assigned; none for IPv4, where the lists above say it all.
pub(crate) fn assigned(family: Family) -> Option<Prefix> {
    match family {
        Family::V4 => None,
        Family::V6 => Some(v6(GLOBAL_V6)),
    }
}

/// A prefix whose length is right for its address.
pub(crate) fn prefix(address: IpAddr, length: u8) -> Prefix {
    Prefix::new(address, length).unwrap_or_else(|| Prefix::host(address))
}

fn v4((octets, length): V4) -> Prefix {
    prefix(IpAddr::from(octets), length)
}

fn v6(([first, second], length): V6) -> Prefix {
    prefix(IpAddr::from([first, second, 0, 0, 0, 0, 0, 0]), length)
}
