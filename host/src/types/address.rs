use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use serde::Serialize;

use super::{Port, ValueError};

/// An address family; BIRD 1.x has one daemon for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4, the daemon `bird`.
    V4,
    /// IPv6, the daemon `bird6`.
    V6,
}

impl Family {
    /// Both families, IPv4 first.
    pub const ALL: [Family; 2] = [Family::V4, Family::V6];

    /// The family of an address.
    pub fn of(ip: IpAddr) -> Self {
        if ip.is_ipv4() { Family::V4 } else { Family::V6 }
    }

    /// `4` or `6`.
    pub fn digit(self) -> u8 {
        match self {
            Family::V4 => 4,
            Family::V6 => 6,
        }
    }

    /// The number of bits in an address of the family: 32 or 128.
    pub fn bits(self) -> u8 {
        match self {
            Family::V4 => 32,
            Family::V6 => 128,
        }
    }

    /// `0` or `1`, for arrays with one entry a family.
    pub fn index(self) -> usize {
        match self {
            Family::V4 => 0,
            Family::V6 => 1,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.digit())
    }
}

impl Serialize for Family {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A node's address with the prefix length of its network, if one was written: `10.0.0.1/24` or `10.0.0.1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterfaceAddress {
    ip: IpAddr,
    prefix_len: Option<u8>,
}

impl InterfaceAddress {
    /// The address without its prefix length.
    pub fn ip(&self) -> IpAddr {
        self.ip
    }

    /// The family of the address.
    pub fn family(&self) -> Family {
        Family::of(self.ip)
    }

    /// The network, host bits zero. A bare address is a network of its own.
    pub fn network(&self) -> ipnet::IpNet {
        let len = self.prefix_len.unwrap_or(Family::of(self.ip).bits());
        match ipnet::IpNet::new(self.ip, len) {
            Ok(net) => net.trunc(),
            Err(_) => ipnet::IpNet::from(self.ip),
        }
    }
}

impl FromStr for InterfaceAddress {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (ip, len) = match text.split_once('/') {
            Some((ip, len)) => (ip, Some(len)),
            None => (text, None),
        };
        let ip = parse_ip(ip)
            .ok_or_else(|| ValueError::new("not an IP address with an optional prefix length"))?;
        let prefix_len = match len {
            None => None,
            Some(len) => match len.parse::<u8>() {
                Ok(n) if n <= Family::of(ip).bits() && !len.starts_with('+') => Some(n),
                _ => return Err(ValueError::new("the prefix length is no number that the family allows")),
            },
        };
        Ok(Self { ip, prefix_len })
    }
}

/// A remote end: an address and, if one was given, a port. `10.0.0.1`, `10.0.0.1:179`, `fd00::1`, `[fd00::1]:179`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The address.
    pub ip: IpAddr,
    /// The TCP port, if one was written.
    pub port: Option<Port>,
}

impl FromStr for Endpoint {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Some(ip) = parse_ip(text) {
            return Ok(Self { ip, port: None });
        }
        let bad =
            || ValueError::new("not an IP address with an optional port (`10.0.0.1:179`, `[fd00::1]:179`)");
        let (ip, port): (IpAddr, &str) = if let Some(rest) = text.strip_prefix('[') {
            let (ip, rest) = rest.split_once(']').ok_or_else(bad)?;
            let ip = parse_ip(ip).filter(IpAddr::is_ipv6).ok_or_else(bad)?;
            if rest.is_empty() {
                return Ok(Self { ip, port: None });
            }
            (ip, rest.strip_prefix(':').ok_or_else(bad)?)
        } else {
            let (ip, port) = text.split_once(':').ok_or_else(bad)?;
            let ip: Ipv4Addr = ip.parse().map_err(|_| bad())?;
            (ip.into(), port)
        };
        Ok(Self { ip, port: Some(port.parse()?) })
    }
}

/// An address of an end of a session. An IPv4 address in IPv6's clothes (`::ffff:10.0.0.1`) is none: no daemon of
/// either family has sessions with it.
fn parse_ip(text: &str) -> Option<IpAddr> {
    let ip: IpAddr = text.parse().ok()?;
    match ip {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => None,
        _ => Some(ip),
    }
}

/// A route reflector's cluster id (RFC 4456), written as an IPv4 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ClusterId(pub Ipv4Addr);

impl FromStr for ClusterId {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        text.parse().map(Self).map_err(|_| ValueError::new("not a cluster id in the form of an IPv4 address"))
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
