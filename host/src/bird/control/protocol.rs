//! `show protocols all`: what BIRD runs, and how its sessions are, in the layouts of BIRD 1.6, 2 and 3.

use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};

use super::reply::Reply;
use crate::types::{AsNumber, Prefix};

/// A protocol that BIRD runs, as one BGP session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Protocol {
    /// Its name in the configuration.
    pub name: String,
    /// What it is, as `BGP`, `Static`, `Kernel`.
    pub kind: String,
    /// Its routing table; none if it has several, or needs none.
    pub table: Option<String>,
    /// What it does.
    pub state: ProtocolState,
    /// Since when, in BIRD's own form: a time of day, or a date.
    pub since: String,
    /// BIRD's remark, as the state of a BGP session and why it last failed. May be empty.
    pub info: String,
    /// The description in the configuration.
    pub description: Option<String>,
    /// What only BGP has.
    pub bgp: Option<Bgp>,
    /// Its connections to tables: of BIRD 1.x one without a name, and none while the protocol is down.
    pub channels: Vec<Channel>,
}

/// What a protocol does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtocolState {
    /// It works; a BGP session is established.
    Up,
    /// It tries to.
    Start,
    /// It is turned off, or waits after an error.
    Down,
    /// It ends.
    Stop,
    /// Its routes are being removed.
    Flush,
    /// A word of a newer BIRD.
    Other(String),
}

/// What only BGP has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bgp {
    /// The state of the session.
    pub state: BgpState,
    /// The other side.
    pub neighbor: Option<Neighbor>,
    /// The AS of the other side; none if any will do.
    pub neighbor_as: Option<AsNumber>,
    /// Why the session last went down or did not come up.
    pub last_error: Option<String>,
}

/// The state of a BGP session (RFC 4271, 8.2.2), and what BIRD has besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BgpState {
    /// Waits after an error.
    Idle,
    /// Connects.
    Connect,
    /// Waits for the time to connect again.
    Active,
    /// Waits for the other side to connect.
    Passive,
    /// Said the first word.
    OpenSent,
    /// Agreed, and waits for the first keepalive.
    OpenConfirm,
    /// Exchanges routes.
    Established,
    /// Is being closed.
    Close,
    /// Is turned off, or cannot start.
    Down,
    /// A word of a newer BIRD.
    Other(String),
}

/// The other side of a BGP session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Neighbor {
    /// One router.
    Address {
        /// Its address.
        address: IpAddr,
        /// The interface that it is behind, for a link-local address.
        interface: Option<String>,
    },
    /// Whoever connects from this prefix.
    Range {
        /// The prefix.
        range: Prefix,
    },
}

/// A protocol's connection to a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Channel {
    /// `ipv4`, `ipv6`, …; BIRD 1.x, one of whose daemons has one family, has no name.
    pub name: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// Whether routes go through it. BIRD 1.x does not say.
    pub up: Option<bool>,
    /// How many routes, if BIRD says.
    pub routes: Option<Routes>,
}

/// How many routes a channel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Routes {
    /// Taken in.
    pub imported: u64,
    /// Taken in and kept aside by the import filter, for protocols that keep them.
    pub filtered: u64,
    /// Given out.
    pub exported: u64,
    /// Taken in, and the best of their prefix. A pipe has none.
    pub preferred: Option<u64>,
}

impl Protocol {
    /// Whether it is a BGP session that exchanges routes.
    pub fn is_established(&self) -> bool {
        self.bgp.as_ref().is_some_and(|bgp| bgp.state == BgpState::Established)
    }

    /// From a row, as `name  BGP  ---  start  22:44:03.674  Active  Socket: Connection refused`.
    fn parse_row(row: &str) -> Option<Self> {
        let (name, rest) = word(row)?;
        let (kind, rest) = word(rest)?;
        let (table, rest) = word(rest)?;
        let (state, rest) = word(rest)?;
        let (since, info) = since(rest)?;
        Some(Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            table: some_table(table),
            state: state.into(),
            since,
            info: info.trim().to_owned(),
            description: None,
            bgp: None,
            channels: Vec::new(),
        })
    }

    /// A line of details. What is not known has no effect: every BIRD says more than the one before.
    fn take(&mut self, line: &str) {
        let text = line.trim();
        if let Some(name) = text.strip_prefix("Channel ") {
            let name = Some(name.trim().to_owned());
            self.channels.push(Channel { name, table: None, up: None, routes: None });
            return;
        }
        let Some((key, value)) = text.split_once(':') else { return };
        let value = value.trim();
        match (key, self.channels.last_mut(), &mut self.bgp) {
            ("Description", ..) => self.description = Some(value.to_owned()),
            ("BGP state", ..) => {
                let state = value.into();
                self.bgp = Some(Bgp { state, neighbor: None, neighbor_as: None, last_error: None });
            }
            ("Neighbor address", _, Some(bgp)) => bgp.neighbor = address(value),
            ("Neighbor range", _, Some(bgp)) => {
                bgp.neighbor = value.parse().ok().map(|range| Neighbor::Range { range });
            }
            ("Neighbor AS", _, Some(bgp)) => bgp.neighbor_as = value.parse().ok(),
            ("Last error", _, Some(bgp)) => bgp.last_error = Some(value.to_owned()),
            ("State", Some(channel), _) => channel.up = Some(value == "UP"),
            ("Table", Some(channel), _) => channel.table = some_table(value),
            ("Routes", Some(channel), _) => channel.routes = routes(value),
            ("Routes", None, _) => self.channels.push(Channel {
                name: None,
                table: self.table.clone(),
                up: None,
                routes: routes(value),
            }),
            _ => {}
        }
    }
}

/// From the reply to `show protocols all`.
pub(super) fn parse(reply: &Reply) -> Result<Vec<Protocol>, String> {
    let mut protocols: Vec<Protocol> = Vec::new();
    for line in reply.lines() {
        match line.code {
            1002 if !line.text.trim().is_empty() => {
                let row = Protocol::parse_row(line.text);
                protocols.push(row.ok_or_else(|| format!("{:?} is no row of a protocol", line.text))?);
            }
            1006 => {
                if let Some(protocol) = protocols.last_mut() {
                    protocol.take(line.text);
                }
            }
            _ => {}
        }
    }
    Ok(protocols)
}

/// The first word, and what comes behind it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// A time, which is one word or a date and a time of day; and what comes behind it.
fn since(text: &str) -> Option<(String, &str)> {
    let (first, rest) = word(text)?;
    match word(rest) {
        Some((second, rest)) if is_date(first) && is_time(second) => {
            Some((format!("{first} {second}"), rest))
        }
        _ => Some((first.to_owned(), rest)),
    }
}

fn is_date(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b'-').count() == 2
        && text.bytes().all(|b| b == b'-' || b.is_ascii_digit())
}

fn is_time(text: &str) -> bool {
    text.contains(':') && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'))
}

fn some_table(text: &str) -> Option<String> {
    (!matches!(text, "---" | "")).then(|| text.to_owned())
}

/// `10.0.0.1`, `fe80::1%eth0`.
fn address(text: &str) -> Option<Neighbor> {
    let (address, interface) = match text.split_once('%') {
        Some((address, interface)) => (address, Some(interface.to_owned())),
        None => (text, None),
    };
    Some(Neighbor::Address { address: address.parse().ok()?, interface })
}

/// `2 imported, 1 filtered, 0 exported, 2 preferred`.
fn routes(text: &str) -> Option<Routes> {
    let mut routes = Routes::default();
    for part in text.split(',') {
        let (number, what) = part.trim().split_once(' ')?;
        let number = number.parse().ok()?;
        match what {
            "imported" => routes.imported = number,
            "filtered" => routes.filtered = number,
            "exported" => routes.exported = number,
            "preferred" => routes.preferred = Some(number),
            _ => {}
        }
    }
    Some(routes)
}

impl ProtocolState {
    /// BIRD's word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Up => "up",
            Self::Start => "start",
            Self::Down => "down",
            Self::Stop => "stop",
            Self::Flush => "flush",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for ProtocolState {
    fn from(word: &str) -> Self {
        let known = [Self::Up, Self::Start, Self::Down, Self::Stop, Self::Flush];
        known.into_iter().find(|state| state.as_str() == word).unwrap_or_else(|| Self::Other(word.to_owned()))
    }
}

impl BgpState {
    /// BIRD's word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Idle => "Idle",
            Self::Connect => "Connect",
            Self::Active => "Active",
            Self::Passive => "Passive",
            Self::OpenSent => "OpenSent",
            Self::OpenConfirm => "OpenConfirm",
            Self::Established => "Established",
            Self::Close => "Close",
            Self::Down => "Down",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for BgpState {
    fn from(word: &str) -> Self {
        let known = [
            Self::Idle,
            Self::Connect,
            Self::Active,
            Self::Passive,
            Self::OpenSent,
            Self::OpenConfirm,
            Self::Established,
            Self::Close,
            Self::Down,
        ];
        known.into_iter().find(|state| state.as_str() == word).unwrap_or_else(|| Self::Other(word.to_owned()))
    }
}

impl fmt::Display for ProtocolState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for BgpState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Neighbor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { address, interface: None } => address.fmt(f),
            Self::Address { address, interface: Some(interface) } => write!(f, "{address}%{interface}"),
            Self::Range { range } => range.fmt(f),
        }
    }
}

impl Serialize for ProtocolState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for BgpState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
