use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use crate::Family;
use crate::bindings::host::tailorbird::policy::types as wire;
use crate::values::{ParseError, address_to_wire, from_text};

/// An IP prefix. Bits behind its length are zero.
///
/// Prefixes are ordered by family, address and length.
///
/// ```
/// use tailorbird_guest::Prefix;
///
/// let pods: Prefix = "10.244.0.0/16".parse()?;
/// assert!(pods.contains("10.244.3.7".parse()?));
/// assert!(pods.covers("10.244.3.0/24".parse()?));
/// assert_eq!("10.244.3.7/16".parse(), Ok(pods));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// The prefix that an address is in. None when `length` is greater than 32, or 128.
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        let address = match address {
            IpAddr::V4(v4) => {
                let host = 32_u32.checked_sub(length.into())?;
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & u32::MAX.checked_shl(host).unwrap_or(0)))
            }
            IpAddr::V6(v6) => {
                let host = 128_u32.checked_sub(length.into())?;
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & u128::MAX.checked_shl(host).unwrap_or(0)))
            }
        };
        Some(Self { address, length })
    }

    /// The prefix of one address.
    pub fn host(address: IpAddr) -> Self {
        Self { address, length: width(address) }
    }

    /// The first address.
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// The last address.
    pub fn last(self) -> IpAddr {
        match self.address {
            IpAddr::V4(v4) => {
                let behind = u32::MAX.checked_shr(self.length.into()).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() | behind))
            }
            IpAddr::V6(v6) => {
                let behind = u128::MAX.checked_shr(self.length.into()).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() | behind))
            }
        }
    }

    /// The length, 0 to 32 or 128.
    pub fn length(self) -> u8 {
        self.length
    }

    /// The greatest length of the family: 32 or 128.
    pub fn max_length(self) -> u8 {
        width(self.address)
    }

    /// The family.
    pub fn family(self) -> Family {
        crate::family(self.address)
    }

    /// Whether an address is in it.
    pub fn contains(self, address: IpAddr) -> bool {
        self.covers(Self::host(address))
    }

    /// Whether a prefix is in it, or is the same.
    pub fn covers(self, other: Self) -> bool {
        self.length <= other.length
            && self.family() == other.family()
            && Self::new(other.address, self.length) == Some(self)
    }

    /// Whether there is an address in both.
    pub fn overlaps(self, other: Self) -> bool {
        self.covers(other) || other.covers(self)
    }

    pub(crate) fn to_wire(self) -> wire::Prefix {
        wire::Prefix { address: address_to_wire(self.address), length: self.length }
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Prefix {
    type Err = ParseError;

    /// Reads `10.0.0.0/8`. Bits behind the length are cleared; an address without a length is no prefix.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let prefix = text.split_once('/').and_then(|(address, length)| {
            let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
            Self::new(address.parse().ok()?, length.parse().ok().filter(|_| digits)?)
        });
        prefix.ok_or(ParseError("no prefix (as `10.0.0.0/8` or `2001:db8::/32`)"))
    }
}

impl<'de> Deserialize<'de> for Prefix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().expect(text)
    }

    #[test]
    fn bits_behind_the_length_are_cleared() {
        for (text, clean) in [
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("10.1.2.3/32", "10.1.2.3/32"),
            ("255.255.255.255/0", "0.0.0.0/0"),
            ("2001:db8::1/32", "2001:db8::/32"),
            ("::1/0", "::/0"),
            ("::1/128", "::1/128"),
        ] {
            assert_eq!(prefix(text).to_string(), clean);
        }
    }

    #[test]
    fn ends_and_contents() {
        for (text, last) in [
            ("10.0.0.0/8", "10.255.255.255"),
            ("0.0.0.0/0", "255.255.255.255"),
            ("1.2.3.4/32", "1.2.3.4"),
            ("2001:db8::/32", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("::1/128", "::1"),
        ] {
            assert_eq!(prefix(text).last().to_string(), last);
            assert!(prefix(text).contains(prefix(text).last()));
        }
        assert!(prefix("10.0.0.0/8").overlaps(prefix("10.1.0.0/16")));
        assert!(!prefix("10.0.0.0/8").covers(prefix("0.0.0.0/0")));
        assert!(prefix("10.0.0.0/8").overlaps(prefix("0.0.0.0/0")));
        assert!(!prefix("0.0.0.0/0").overlaps(prefix("::/0")));
        assert!(!prefix("10.0.0.0/8").overlaps(prefix("11.0.0.0/8")));
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in
            ["", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/+8", "10.0.0/8", "/8", "x/8"]
        {
            assert!(text.parse::<Prefix>().is_err(), "{text:?}");
        }
    }
}
