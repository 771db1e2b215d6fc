//! The facts of nodes, each a key in the folder of its node.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::net::IpAddr;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use equivalent::{Comparable, Equivalent};
use imbl::OrdMap;
use ipnet::IpNet;

use super::made::{Changed, Entries, Made, Removed, behind};
use crate::engine::keys::HOST;
use crate::engine::nodes::Node;
use crate::types::{AsNumber, ClusterId, Family, Name};

/// A fact of a node.
#[derive(Debug, Clone, Copy)]
enum Fact {
    AsNumber,
    Address(Family),
    Network(Family),
    ClusterId,
    Wireguard(Family),
}

/// All of them, by their keys.
const FACTS: [Fact; 8] = [
    Fact::AsNumber,
    Fact::Address(Family::V4),
    Fact::Address(Family::V6),
    Fact::Network(Family::V4),
    Fact::Network(Family::V6),
    Fact::ClusterId,
    Fact::Wireguard(Family::V4),
    Fact::Wireguard(Family::V6),
];

impl Fact {
    /// The last part of the key.
    fn key(self) -> &'static str {
        match self {
            Self::AsNumber => "as_num",
            Self::Address(Family::V4) => "ip_addr_v4",
            Self::Address(Family::V6) => "ip_addr_v6",
            Self::Network(Family::V4) => "network_v4",
            Self::Network(Family::V6) => "network_v6",
            Self::ClusterId => "rr_cluster_id",
            Self::Wireguard(Family::V4) => "wireguard_addr_v4",
            Self::Wireguard(Family::V6) => "wireguard_addr_v6",
        }
    }

    /// The value, if the node has the key.
    fn of(self, node: &Node) -> Option<Value> {
        // Templates that exist read some keys of every node.
        let always = |value: Option<Value>| Some(value.unwrap_or(Value::Empty));
        match self {
            Self::AsNumber => node.as_number().map(Value::AsNumber),
            Self::Address(family) => always(node.address(family).map(Value::Ip)),
            Self::Network(family) => node.interface(family).map(|address| Value::Network(address.network())),
            Self::ClusterId => always(node.cluster_id().map(Value::ClusterId)),
            Self::Wireguard(family) => always(node.wireguard(family).map(Value::Ip)),
        }
    }
}

/// The value of a fact, which prints as the view has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Empty,
    Ip(IpAddr),
    Network(IpNet),
    AsNumber(AsNumber),
    ClusterId(ClusterId),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => Ok(()),
            Self::Ip(ip) => ip.fmt(f),
            Self::Network(network) => network.fmt(f),
            Self::AsNumber(number) => number.fmt(f),
            Self::ClusterId(id) => id.fmt(f),
        }
    }
}

/// The folder of a node. Its keys come behind those of nodes whose names go on with `-` or `.`, which are less than the slash.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Folder(Name);

impl Folder {
    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.0.as_str().bytes().chain([b'/'])
    }
}

impl Ord for Folder {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, other) = (self.0.as_str().as_bytes(), other.0.as_str().as_bytes());
        let both = one.len().min(other.len());
        let next = |name: &[u8]| name.get(both).copied().unwrap_or(b'/');
        one[..both].cmp(&other[..both]).then_with(|| next(one).cmp(&next(other)))
    }
}

impl PartialOrd for Folder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A text that is compared with a folder and its slash.
struct At<'a>(&'a str);

impl<'a> At<'a> {
    /// The folder that a key, or the beginning of one, is in, if it has got as far as that.
    fn folder_of(rest: &'a str) -> Self {
        Self(rest.find('/').map_or(rest, |slash| &rest[..=slash]))
    }
}

impl Equivalent<Folder> for At<'_> {
    fn equivalent(&self, folder: &Folder) -> bool {
        self.compare(folder).is_eq()
    }
}

impl Comparable<Folder> for At<'_> {
    fn compare(&self, folder: &Folder) -> Ordering {
        self.0.bytes().cmp(folder.bytes())
    }
}

/// A node whose facts are keys.
#[derive(Debug, Clone)]
struct Known {
    node: Arc<Node>,
    revisions: Revisions,
}

impl Known {
    /// The keys, whole, and their values.
    fn keys(&self, folder: &Folder) -> impl Iterator<Item = (String, Value)> {
        FACTS.into_iter().filter_map(|fact| Some((key(&folder.0, fact), fact.of(&self.node)?)))
    }
}

fn key(name: &Name, fact: Fact) -> String {
    [HOST, name.as_str(), "/", fact.key()].concat()
}

/// The revision at which each fact of a node got its value.
#[derive(Debug, Clone)]
enum Revisions {
    /// All at this one, as it is with most nodes.
    All(u64),
    /// Each at its own, by the place in [`FACTS`]; 0 where the node has no such key.
    Each(Arc<[u64; FACTS.len()]>),
}

impl Revisions {
    fn new(each: [u64; FACTS.len()]) -> Self {
        let last = each.into_iter().max().unwrap_or_default();
        let same = each.into_iter().all(|revision| revision == 0 || revision == last);
        if same { Self::All(last) } else { Self::Each(Arc::new(each)) }
    }

    fn at(&self, place: usize) -> u64 {
        match self {
            Self::All(revision) => *revision,
            Self::Each(each) => each[place],
        }
    }

    fn last(&self) -> u64 {
        match self {
            Self::All(revision) => *revision,
            Self::Each(each) => each.iter().copied().max().unwrap_or_default(),
        }
    }
}

/// The facts of all nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    nodes: OrdMap<Folder, Known>,
    /// The number of keys.
    count: usize,
}

impl Facts {
    /// Takes what a node is now, or that it is gone.
    pub(super) fn set(&mut self, name: &Name, node: Option<Arc<Node>>, revision: u64) -> Changed {
        let folder = Folder(name.clone());
        let old = self.nodes.get(&folder);
        let mut changed = Changed::default();
        let mut revisions = [0; FACTS.len()];
        for (place, fact) in FACTS.into_iter().enumerate() {
            let before = old.and_then(|old| Some((fact.of(&old.node)?, old.revisions.at(place))));
            let after = node.as_deref().and_then(|node| fact.of(node));
            match (before, after) {
                (Some((before, since)), Some(after)) if before == after => revisions[place] = since,
                (_, Some(_)) => {
                    self.count += usize::from(before.is_none());
                    changed.written += usize::from(before.is_none_or(|(_, since)| since != revision));
                    revisions[place] = revision;
                }
                (Some((_, since)), None) => {
                    self.count -= 1;
                    changed.removed.push(Removed { key: key(name, fact), was_written: since == revision });
                }
                (None, None) => {}
            }
        }
        match node {
            Some(node) => {
                self.nodes.insert(folder, Known { node, revisions: Revisions::new(revisions) });
            }
            None => drop(self.nodes.remove(&folder)),
        }
        changed
    }

    /// A fact by what stands behind [`HOST`] in its key, with its node and its place in [`FACTS`].
    fn find(&self, rest: &str) -> Option<(&Known, usize, Fact)> {
        let at = At::folder_of(rest);
        let last = rest.strip_prefix(at.0)?;
        let (place, fact) = FACTS.into_iter().enumerate().find(|(_, fact)| fact.key() == last)?;
        Some((self.nodes.get(&at)?, place, fact))
    }
}

impl Made for Facts {
    fn root(&self) -> &'static str {
        HOST
    }

    fn count(&self) -> usize {
        self.count
    }

    fn get(&self, rest: &str) -> Option<String> {
        let (known, _, fact) = self.find(rest)?;
        Some(fact.of(&known.node)?.to_string())
    }

    fn revision_of(&self, rest: &str) -> Option<u64> {
        if rest.contains('/') {
            let (known, place, fact) = self.find(rest)?;
            fact.of(&known.node).map(|_| known.revisions.at(place))
        } else {
            self.nodes.get(&At(&[rest, "/"].concat())).map(|known| known.revisions.last())
        }
    }

    fn entries(&self, from: Bound<&str>) -> Entries<'_> {
        let Some(rest) = behind(HOST, from) else { return Box::new(std::iter::empty()) };
        let first = match rest {
            Bound::Included(rest) | Bound::Excluded(rest) => Bound::Included(At::folder_of(rest)),
            Bound::Unbounded => Bound::Unbounded,
        };
        let nodes = self.nodes.range((first, Bound::Unbounded));
        let all = nodes.flat_map(|(folder, known)| known.keys(folder));
        // The first node's keys may begin before that.
        let range = (from.map(str::to_owned), Bound::Unbounded);
        let behind = all.skip_while(move |(key, _)| !range.contains(key));
        Box::new(behind.map(|(key, value)| (Cow::Owned(key), Cow::Owned(value.to_string()))))
    }
}
