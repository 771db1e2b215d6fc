use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use ipnet::IpNet;

use super::{Family, ValueError};

/// An IP prefix that remembers how it was written (`5000::0/64`), because existing files carry that text.
///
/// Host bits are cleared: BIRD refuses a prefix that has any, so such a prefix prints in its canonical form.
/// Two prefixes are equal when they print the same.
#[derive(Debug, Clone)]
pub struct Prefix {
    net: IpNet,
    text: Arc<str>,
}

impl Prefix {
    /// The prefix of one address: `/32` or `/128`.
    pub fn host(ip: IpAddr) -> Self {
        Self::from(IpNet::from(ip))
    }

    /// The same prefix in the one spelling that all readers share, for what is identified by its prefix.
    pub fn canonical(&self) -> Self {
        Self::from(self.net)
    }

    /// The prefix as a value to compute with, host bits zero.
    pub fn net(&self) -> IpNet {
        self.net
    }

    /// The prefix as text, as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text as a shared string.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The family.
    pub fn family(&self) -> Family {
        Family::of(self.net.addr())
    }

    /// The prefix length.
    pub fn length(&self) -> u8 {
        self.net.prefix_len()
    }

    /// Whether the prefix is a single address.
    pub fn is_host(&self) -> bool {
        self.net.prefix_len() == self.family().bits()
    }

    /// Whether the prefix covers the address.
    pub fn contains(&self, ip: IpAddr) -> bool {
        self.net.contains(&ip)
    }

    /// The text as keys of the view carry it, `-` for `/`.
    pub fn key(&self) -> String {
        self.text.replace('/', "-")
    }
}

impl From<IpNet> for Prefix {
    fn from(net: IpNet) -> Self {
        let net = net.trunc();
        Self { net, text: net.to_string().into() }
    }
}

impl FromStr for Prefix {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let bad = || ValueError::new("not a prefix (an address, a slash and a length)");
        let (address, len) = text.split_once('/').ok_or_else(bad)?;
        // The parser of prefixes takes `010.0.0.0`, which means one thing to some readers and another to others.
        address.parse::<IpAddr>().map_err(|_| bad())?;
        if len.is_empty() || !len.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        let net: IpNet = text.parse().map_err(|_| bad())?;
        let canonical = net.trunc();
        // A length with leading zeros, or host bits, is not what BIRD reads.
        if canonical == net && (len.len() == 1 || !len.starts_with('0')) {
            Ok(Self { net, text: text.into() })
        } else {
            Ok(Self::from(canonical))
        }
    }
}

impl PartialEq for Prefix {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Prefix {}

impl Hash for Prefix {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl serde::Serialize for Prefix {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}
