use std::fmt;
use std::str::FromStr;

use super::ValueError;

/// A BGP community: standard `aa:nn` (RFC 1997, 16 bits each) or large `aa:nn:mm` (RFC 8092, 32 bits each).
///
/// It prints as BIRD writes it: `(100, 6532)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Community {
    /// A standard community.
    Standard(u16, u16),
    /// A large community.
    Large(u32, u32, u32),
}

impl Community {
    /// BIRD's attribute that holds communities of this kind.
    pub fn attribute(self) -> &'static str {
        match self {
            Community::Standard(..) => "bgp_community",
            Community::Large(..) => "bgp_large_community",
        }
    }

    /// The community as the API writes it: `100:6532`.
    pub fn to_api(self) -> String {
        match self {
            Community::Standard(a, b) => format!("{a}:{b}"),
            Community::Large(a, b, c) => format!("{a}:{b}:{c}"),
        }
    }
}

impl FromStr for Community {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let bad =
            || ValueError::new("not a community (`aa:nn` of 16 bits each, or `aa:nn:mm` of 32 bits each)");
        let parts: Vec<&str> = text.split(':').collect();
        if parts.iter().any(|p| p.is_empty() || !p.bytes().all(|b| b.is_ascii_digit())) {
            return Err(bad());
        }
        match parts[..] {
            [a, b] => Ok(Self::Standard(a.parse().map_err(|_| bad())?, b.parse().map_err(|_| bad())?)),
            [a, b, c] => Ok(Self::Large(
                a.parse().map_err(|_| bad())?,
                b.parse().map_err(|_| bad())?,
                c.parse().map_err(|_| bad())?,
            )),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Community {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Community::Standard(a, b) => write!(f, "({a}, {b})"),
            Community::Large(a, b, c) => write!(f, "({a}, {b}, {c})"),
        }
    }
}
