use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use serde::Serialize;

use super::ValueError;

/// An AS number, 1 to 4294967295 (RFC 6793); text may be plain or dotted (`65000.1`, RFC 5396 asdot).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct AsNumber(u32);

impl AsNumber {
    /// The AS number of a cluster that sets none: 64512.
    pub const DEFAULT: AsNumber = AsNumber(64512);

    /// An AS number; zero is reserved (RFC 7607) and an error.
    pub fn new(value: u32) -> Result<Self, ValueError> {
        if value == 0 { Err(ValueError::new("0 is no AS number")) } else { Ok(Self(value)) }
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl FromStr for AsNumber {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let bad = || ValueError::new("not an AS number (1 to 4294967295, or dotted as in 65000.1)");
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        match text.split_once('.') {
            None if digits(text) => Self::new(text.parse().map_err(|_| bad())?),
            Some((high, low)) if digits(high) && digits(low) => {
                let high: u16 = high.parse().map_err(|_| bad())?;
                let low: u16 = low.parse().map_err(|_| bad())?;
                Self::new(u32::from(high) << 16 | u32::from(low))
            }
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for AsNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A TCP port, 1 to 65535.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Port(NonZeroU16);

impl Port {
    /// A port; zero is none.
    pub fn new(value: u16) -> Option<Self> {
        NonZeroU16::new(value).map(Self)
    }

    /// The number.
    pub fn get(self) -> u16 {
        self.0.get()
    }
}

impl FromStr for Port {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let value = if plain { text.parse::<u16>().ok().and_then(Self::new) } else { None };
        value.ok_or_else(|| ValueError::new("not a port (1 to 65535)"))
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A route priority (a kernel metric), 1 to 2147483646; lower wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Priority(u32);

impl Priority {
    /// The normal priority of a workload route where none is configured: 1024.
    pub const NORMAL: Priority = Priority(1024);

    /// A priority in range, or an error.
    pub fn new(value: i64) -> Result<Self, ValueError> {
        match u32::try_from(value) {
            Ok(v) if (1..=2_147_483_646).contains(&v) => Ok(Self(v)),
            _ => Err(ValueError::new("not a route priority (1 to 2147483646)")),
        }
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }

    /// The BGP local preference that carries this priority: 2147483647 less it.
    pub fn local_pref(self) -> u32 {
        2_147_483_647 - self.0
    }
}

/// A time in whole seconds, as BIRD takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Seconds(pub u32);
