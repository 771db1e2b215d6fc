use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use ipnet::IpNet;

use super::{Family, ValueError};

/// An IP prefix that remembers how it was written (`5000::0/64`), because existing files carry that text.
///
/// Host bits are cleared: BIRD refuses a prefix that has any, so such a prefix prints in its canonical form.
/// Two prefixes are equal when they print the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Prefix(Spelling);

/// There are as many prefixes as routes, and nearly all are written as they print.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Spelling {
    Canonical(IpNet),
    /// The prefix, and its text, which is another than the canonical one.
    Written(Arc<(IpNet, String)>),
}

impl Prefix {
    /// The prefix of one address: `/32` or `/128`.
    pub fn host(ip: IpAddr) -> Self {
        Self::from(IpNet::from(ip))
    }

    /// The same prefix in the one spelling that all readers share, for what is identified by its prefix.
    pub fn canonical(&self) -> Self {
        Self::from(self.net())
    }

    /// The prefix as a value to compute with, host bits zero.
    pub fn net(&self) -> IpNet {
        match &self.0 {
            Spelling::Canonical(net) => *net,
            Spelling::Written(written) => written.0,
        }
    }

    /// The prefix as a shared text, as it was written.
    pub fn text(&self) -> Arc<str> {
        self.to_string().into()
    }

    /// The family.
    pub fn family(&self) -> Family {
        Family::of(self.net().addr())
    }

    /// The prefix length.
    pub fn length(&self) -> u8 {
        self.net().prefix_len()
    }

    /// Whether the prefix is a single address.
    pub fn is_host(&self) -> bool {
        self.length() == self.family().bits()
    }

    /// Whether the prefix covers the address.
    pub fn contains(&self, ip: IpAddr) -> bool {
        self.net().contains(&ip)
    }

    /// The text as keys of the view carry it, `-` for `/`.
    pub fn key(&self) -> String {
        match &self.0 {
            Spelling::Canonical(net) => format!("{}-{}", net.addr(), net.prefix_len()),
            Spelling::Written(written) => written.1.replace('/', "-"),
        }
    }
}

impl From<IpNet> for Prefix {
    fn from(net: IpNet) -> Self {
        Self(Spelling::Canonical(net.trunc()))
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
        let canonical = Self::from(net);
        // A length with leading zeros, or host bits, is not what BIRD reads.
        let is_readable = canonical.net() == net && (len.len() == 1 || !len.starts_with('0'));
        if is_readable && *canonical.text() != *text {
            Ok(Self(Spelling::Written((net, text.to_owned()).into())))
        } else {
            Ok(canonical)
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Spelling::Canonical(net) => net.fmt(f),
            Spelling::Written(written) => f.write_str(&written.1),
        }
    }
}

impl serde::Serialize for Prefix {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
