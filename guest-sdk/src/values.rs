//! Numbers of routing: parsed once, and right from then on.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};

use crate::bindings::host::tailorbird::policy::types as wire;

/// Why a text is no value of a type. It reads well behind "`x` is ".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError(pub(crate) &'static str);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for ParseError {}

/// Reads a value from text in settings.
pub(crate) fn from_text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = ParseError>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|error| de::Error::custom(format_args!("`{text}` is {error}")))
}

/// An AS number, 1 to 4294967295.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AsNumber(u32);

impl AsNumber {
    /// The AS number with this value; none for 0.
    pub const fn new(number: u32) -> Option<Self> {
        if number == 0 { None } else { Some(Self(number)) }
    }

    /// Its value.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Whether it is reserved for private use (RFC 6996).
    pub const fn is_private(self) -> bool {
        matches!(self.0, 64512..=65534 | 4_200_000_000..=4_294_967_294)
    }

    // The host gives no 0.
    pub(crate) fn from_wire(number: u32) -> Self {
        Self(number.max(1))
    }
}

impl fmt::Display for AsNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for AsNumber {
    type Err = ParseError;

    /// Reads `64512` and, as RFC 5396 writes it, `1.10`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let number = match text.split_once('.') {
            Some((high, low)) => match (decimal::<u16>(high), decimal::<u16>(low)) {
                (Some(high), Some(low)) => Some(u32::from(high) << 16 | u32::from(low)),
                _ => None,
            },
            None => decimal(text),
        };
        number.and_then(Self::new).ok_or(ParseError("no AS number (1 to 4294967295, or `1.10`)"))
    }
}

impl<'de> Deserialize<'de> for AsNumber {
    /// Reads a number or a text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = AsNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an AS number, 1 to 4294967295")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<AsNumber, E> {
                u32::try_from(number)
                    .ok()
                    .and_then(AsNumber::new)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<AsNumber, E> {
                text.parse().map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

/// A number without a sign, as Rust's own parser would let one through.
fn decimal<T: FromStr>(text: &str) -> Option<T> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

/// A BGP community.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Community {
    /// A standard community (RFC 1997), as `65535:0`.
    Standard(u16, u16),
    /// A large community (RFC 8092), as `64496:1:2`.
    Large(u32, u32, u32),
}

impl Community {
    /// Marks routes that are about to go away (RFC 8326).
    pub const GRACEFUL_SHUTDOWN: Self = Self::Standard(65535, 0);
    /// Asks for the route to be discarded at the far end (RFC 7999).
    pub const BLACKHOLE: Self = Self::Standard(65535, 666);
    /// Not to be sent to another AS (RFC 1997).
    pub const NO_EXPORT: Self = Self::Standard(65535, 65281);
    /// Not to be sent to any peer (RFC 1997).
    pub const NO_ADVERTISE: Self = Self::Standard(65535, 65282);

    pub(crate) fn to_wire(self) -> wire::Community {
        match self {
            Self::Standard(a, b) => wire::Community::Standard((a, b)),
            Self::Large(a, b, c) => wire::Community::Large((a, b, c)),
        }
    }
}

impl fmt::Display for Community {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard(a, b) => write!(f, "{a}:{b}"),
            Self::Large(a, b, c) => write!(f, "{a}:{b}:{c}"),
        }
    }
}

impl FromStr for Community {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        const NOT: ParseError = ParseError("no community (`65000:1`, or `65000:1:2` for a large one)");
        let mut parts = text.split(':');
        let community = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(a), Some(b), None, None) => Self::Standard(decimal(a).ok_or(NOT)?, decimal(b).ok_or(NOT)?),
            (Some(a), Some(b), Some(c), None) => {
                Self::Large(decimal(a).ok_or(NOT)?, decimal(b).ok_or(NOT)?, decimal(c).ok_or(NOT)?)
            }
            _ => return Err(NOT),
        };
        Ok(community)
    }
}

impl<'de> Deserialize<'de> for Community {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

/// A route reflector's cluster id: four bytes that are not all 0, written as an IPv4 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(u32);

impl ClusterId {
    /// The cluster id with this value, in host order: `0x0a00_0001` is `10.0.0.1`. None for 0.
    pub const fn new(id: u32) -> Option<Self> {
        if id == 0 { None } else { Some(Self(id)) }
    }

    /// Its value, in host order.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv4Addr::from_bits(self.0).fmt(f)
    }
}

impl FromStr for ClusterId {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let address = text.parse::<Ipv4Addr>().ok();
        address.and_then(|id| Self::new(id.to_bits())).ok_or(ParseError("no cluster id (as `224.0.0.1`)"))
    }
}

impl<'de> Deserialize<'de> for ClusterId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

/// The priority of a route, 1 to 2147483646: a metric, so lower is better. BGP carries it as the local preference
/// 2147483647 less the priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u32);

impl Priority {
    /// The worst.
    pub const WORST: Self = Self(2_147_483_646);

    /// The priority with this value; none when it is out of range.
    pub const fn new(priority: u32) -> Option<Self> {
        if priority == 0 || priority > Self::WORST.0 { None } else { Some(Self(priority)) }
    }

    /// Its value.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        Self::new(number).ok_or_else(|| de::Error::custom("a priority is 1 to 2147483646"))
    }
}

/// The address in a row of columns. The host gives none that is not there.
pub(crate) fn address_in(families: &[wire::Family], words: &[u64], row: usize) -> IpAddr {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let (high, low) = (word(row * 2), word(row * 2 + 1));
    match families.get(row) {
        Some(wire::Family::V6) => IpAddr::V6(ipv6_from_wire((high, low))),
        _ => IpAddr::V4(Ipv4Addr::from_bits(low as u32)),
    }
}

/// The words of an address in a column.
pub(crate) fn address_words(address: IpAddr) -> [u64; 2] {
    match address {
        IpAddr::V4(address) => [0, address.to_bits().into()],
        IpAddr::V6(address) => {
            let (high, low) = ipv6_to_wire(address);
            [high, low]
        }
    }
}

pub(crate) fn address_to_wire(address: IpAddr) -> wire::Address {
    match address {
        IpAddr::V4(address) => wire::Address::V4(address.to_bits()),
        IpAddr::V6(address) => wire::Address::V6(ipv6_to_wire(address)),
    }
}

pub(crate) fn ipv6_from_wire((high, low): (u64, u64)) -> Ipv6Addr {
    Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low))
}

pub(crate) fn ipv6_to_wire(address: Ipv6Addr) -> (u64, u64) {
    let bits = address.to_bits();
    ((bits >> 64) as u64, bits as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_are_written() {
        for text in ["65535:0", "0:65535", "64496:4294967295:0"] {
            assert_eq!(text.parse::<Community>().map(|value| value.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("224.0.0.1".parse::<ClusterId>().map(|id| id.to_string()), Ok("224.0.0.1".to_owned()));
        assert_eq!("1.10".parse::<AsNumber>().map(AsNumber::get), Ok(65546));
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for text in ["", "1", "1:", ":1", "65536:1", "1:2:3:4", "+1:2", "1:-2", "1: 2", "1:2:4294967296"] {
            assert!(text.parse::<Community>().is_err(), "{text:?}");
        }
        for text in ["", "0", "0.0", "4294967296", "+1", "1.65536", "1.2.3"] {
            assert!(text.parse::<AsNumber>().is_err(), "{text:?}");
        }
        for text in ["", "0.0.0.0", "1", "::1"] {
            assert!(text.parse::<ClusterId>().is_err(), "{text:?}");
        }
        assert_eq!((Priority::new(0), Priority::new(2_147_483_647)), (None, None));
    }

    #[test]
    fn settings_say_what_is_wrong() {
        assert_eq!(serde_json::from_str::<AsNumber>("64512").unwrap().get(), 64512);
        assert_eq!(serde_json::from_str::<AsNumber>("\"64512\"").unwrap().get(), 64512);
        let error = serde_json::from_str::<Community>("\"1:x\"").unwrap_err().to_string();
        assert!(error.contains("`1:x` is no community"), "{error}");
        let error = serde_json::from_str::<AsNumber>("0").unwrap_err().to_string();
        assert!(error.contains("an AS number, 1 to 4294967295"), "{error}");
    }

    #[test]
    fn addresses_come_over_and_back() {
        for text in ["10.0.0.1", "2001:db8::1", "::", "ffff::"] {
            let address: IpAddr = text.parse().unwrap();
            let words = [[0; 2], address_words(address)].concat();
            assert_eq!(address_in(&[wire::Family::V4, crate::family(address)], &words, 1), address);
        }
        assert!(matches!(address_to_wire([10, 0, 0, 1].into()), wire::Address::V4(0x0a00_0001)));
    }
}
