//! The slices of a Service as they are kept, and which Service a slice belongs to.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::service::KeptService;
use super::store::{ServiceId, Store};
use crate::resources::EndpointSlice;
use crate::types::{Family, Name};

/// What a slice contributes to its Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) family: Option<Family>,
    /// An endpoint is ready, anywhere.
    pub(super) ready: bool,
    /// An endpoint on this node is ready.
    pub(super) ready_here: bool,
}

impl Slice {
    /// What a slice contributes on a node.
    pub(super) fn on(node: &str, slice: &EndpointSlice) -> Self {
        let mut ready = slice.endpoints.iter().filter(|endpoint| endpoint.ready).peekable();
        Self {
            family: slice.family,
            ready: ready.peek().is_some(),
            ready_here: ready.any(|endpoint| endpoint.node.as_deref() == Some(node)),
        }
    }

    /// Whether its addresses are of a family of the Service.
    pub(super) fn counts_for(self, service: &KeptService) -> bool {
        self.family.is_some_and(|family| service.has_family(family))
    }

    fn bits(self) -> u8 {
        let family = match self.family {
            None => 0,
            Some(Family::V4) => V4,
            Some(Family::V6) => V6,
        };
        family | if self.ready { READY } else { 0 } | if self.ready_here { READY_HERE } else { 0 }
    }

    fn of_bits(bits: u8) -> Self {
        let family = match (bits & V4, bits & V6) {
            (0, 0) => None,
            (_, 0) => Some(Family::V4),
            _ => Some(Family::V6),
        };
        Self { family, ready: bits & READY != 0, ready_here: bits & READY_HERE != 0 }
    }
}

/// The bits of a slice. Names mostly begin with that of the Service, and then the rest alone is kept.
const NAMED_AFTER_SERVICE: u8 = 1;
const V4: u8 = 1 << 1;
const V6: u8 = 1 << 2;
const READY: u8 = 1 << 3;
const READY_HERE: u8 = 1 << 4;

/// The slices of a Service, by name.
#[derive(Debug)]
pub(super) enum Slices {
    Few(Few),
    /// More than are packed: to find one, all that are packed are looked at.
    Many(BTreeMap<Name, Slice>),
}

impl Default for Slices {
    fn default() -> Self {
        Self::Few(Few::default())
    }
}

/// The most bytes that slices are packed into: some hundreds of the usual names.
const MOST_PACKED: usize = 4 << 10;

/// A few slices by name. Each is a byte of bits, the length of what is kept of the name, and that.
#[derive(Debug, Default)]
pub(super) struct Few(Box<[u8]>);

/// The name of a slice as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShortName<'a> {
    after_service: bool,
    rest: &'a [u8],
}

impl<'a> ShortName<'a> {
    fn new(service: &Name, name: &'a Name) -> Self {
        let rest = name.as_str().strip_prefix(service.as_str());
        Self { after_service: rest.is_some(), rest: rest.unwrap_or(name.as_str()).as_bytes() }
    }

    fn bytes(self, service: &'a Name) -> impl Iterator<Item = u8> + use<'a> {
        let first = if self.after_service { service.as_str().as_bytes() } else { &[] };
        first.iter().chain(self.rest).copied()
    }

    fn cmp(self, other: ShortName<'_>, service: &Name) -> Ordering {
        if self.after_service == other.after_service {
            self.rest.cmp(other.rest)
        } else {
            self.bytes(service).cmp(other.bytes(service))
        }
    }
}

/// A slice among the others.
#[derive(Debug, Clone, Copy)]
struct Packed<'a> {
    /// Where it begins.
    at: usize,
    name: ShortName<'a>,
    slice: Slice,
}

impl Packed<'_> {
    /// Where it ends.
    fn end(&self) -> usize {
        self.at + 2 + self.name.rest.len()
    }
}

impl Slices {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Few(few) => few.0.is_empty(),
            Self::Many(many) => many.is_empty(),
        }
    }

    /// The slices, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = Slice> {
        let (few, many) = self.either();
        let few = few.into_iter().flat_map(Few::packed).map(|packed| packed.slice);
        few.chain(many.into_iter().flat_map(BTreeMap::values).copied())
    }

    /// The slices with their names, by name.
    pub(super) fn named(&self, service: &Name) -> impl Iterator<Item = (String, Slice)> {
        let (few, many) = self.either();
        let few = few.into_iter().flat_map(|few| few.named(service));
        few.chain(many.into_iter().flatten().map(|(name, slice)| (name.to_string(), *slice)))
    }

    fn either(&self) -> (Option<&Few>, Option<&BTreeMap<Name, Slice>>) {
        match self {
            Self::Few(few) => (Some(few), None),
            Self::Many(many) => (None, Some(many)),
        }
    }

    /// Whether a slice of this name is among them.
    fn contains(&self, service: &Name, name: &Name) -> bool {
        match self {
            Self::Few(few) => few.contains(service, name),
            Self::Many(many) => many.contains_key(name),
        }
    }

    /// Puts a slice in, or in place of that of the same name; whether anything is another now.
    pub(super) fn set(&mut self, service: &Name, name: &Name, slice: Slice) -> bool {
        match self {
            Self::Many(many) => many.insert(name.clone(), slice) != Some(slice),
            Self::Few(few) => {
                let changed = few.set(service, name, slice);
                if few.0.len() > MOST_PACKED {
                    // Names of slices are names.
                    let named =
                        few.named(service).filter_map(|(name, slice)| Some((name.parse().ok()?, slice)));
                    *self = Self::Many(named.collect());
                }
                changed
            }
        }
    }

    /// Takes the slice of this name out.
    pub(super) fn remove(&mut self, service: &Name, name: &Name) {
        match self {
            Self::Few(few) => few.remove(service, name),
            Self::Many(many) => drop(many.remove(name)),
        }
    }
}

impl Few {
    fn named(&self, service: &Name) -> impl Iterator<Item = (String, Slice)> {
        self.packed().map(|packed| {
            let name: Vec<u8> = packed.name.bytes(service).collect();
            (String::from_utf8_lossy(&name).into_owned(), packed.slice)
        })
    }

    fn contains(&self, service: &Name, name: &Name) -> bool {
        let name = ShortName::new(service, name);
        self.find(name).is_some()
    }

    fn set(&mut self, service: &Name, name: &Name, slice: Slice) -> bool {
        let name = ShortName::new(service, name);
        let head = slice.bits() | if name.after_service { NAMED_AFTER_SERVICE } else { 0 };
        let known = self.find(name).map(|packed| (packed.at, packed.slice));
        if let Some((at, before)) = known {
            self.0[at] = head;
            return before != slice;
        }
        let behind = self.packed().find(|packed| packed.name.cmp(name, service).is_gt());
        let at = behind.map_or(self.0.len(), |packed| packed.at);
        let mut bytes = std::mem::take(&mut self.0).into_vec();
        bytes.reserve_exact(2 + name.rest.len());
        // A name has at most 253 bytes.
        let new = [head, name.rest.len() as u8].into_iter().chain(name.rest.iter().copied());
        bytes.splice(at..at, new);
        self.0 = bytes.into();
        true
    }

    fn remove(&mut self, service: &Name, name: &Name) {
        let name = ShortName::new(service, name);
        let known = self.find(name).map(|packed| packed.at..packed.end());
        if let Some(range) = known {
            let mut bytes = std::mem::take(&mut self.0).into_vec();
            bytes.drain(range);
            self.0 = bytes.into();
        }
    }

    fn find(&self, name: ShortName<'_>) -> Option<Packed<'_>> {
        self.packed().find(|packed| packed.name == name)
    }

    fn packed(&self) -> impl Iterator<Item = Packed<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (&[head, length], bytes) = self.0.get(at..)?.split_first_chunk::<2>()?;
            let name = ShortName {
                after_service: head & NAMED_AFTER_SERVICE != 0,
                rest: bytes.get(..usize::from(length))?,
            };
            let packed = Packed { at, name, slice: Slice::of_bits(head) };
            at = packed.end();
            Some(packed)
        })
    }
}

/// Which Service each slice belongs to. The names are those that the Services keep.
///
/// Whoever may create slices chooses their names, so the hash has a secret.
#[derive(Debug, Default)]
pub(super) struct SliceOwners {
    owners: HashTable<SliceOwner>,
    hasher: RandomState,
}

#[derive(Debug, Clone, Copy)]
struct SliceOwner {
    hash: u32,
    service: ServiceId,
}

/// The namespace and name of a slice, ready to be looked up.
#[derive(Debug, Clone, Copy)]
pub(super) struct SliceKey<'a> {
    pub(super) namespace: &'a Name,
    pub(super) name: &'a Name,
    hash: u32,
}

impl SliceOwners {
    /// What a slice is looked up by.
    pub(super) fn key<'a>(&self, (namespace, name): &'a (Name, Name)) -> SliceKey<'a> {
        let hash = self.hasher.hash_one((namespace.as_str(), name.as_str())) as u32;
        SliceKey { namespace, name, hash }
    }

    /// The Service of a slice.
    pub(super) fn of(&self, key: SliceKey<'_>, store: &Store) -> Option<ServiceId> {
        self.owners.find(spread(key.hash), |owner| owner.is_of(key, store)).map(|owner| owner.service)
    }

    /// A slice belongs to a Service from now on.
    pub(super) fn insert(&mut self, key: SliceKey<'_>, service: ServiceId) {
        let owner = SliceOwner { hash: key.hash, service };
        self.owners.insert_unique(spread(key.hash), owner, |owner| spread(owner.hash));
    }

    /// A slice belongs to no Service from now on; the Service must have it still.
    pub(super) fn remove(&mut self, key: SliceKey<'_>, store: &Store) {
        if let Ok(owner) = self.owners.find_entry(spread(key.hash), |owner| owner.is_of(key, store)) {
            owner.remove();
        }
    }

    /// The number of slices that belong to a Service.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.owners.len()
    }
}

impl SliceOwner {
    fn is_of(self, key: SliceKey<'_>, store: &Store) -> bool {
        self.hash == key.hash
            && store.get(self.service).is_some_and(|entry| {
                entry.key.0 == *key.namespace && entry.slices.contains(&entry.key.1, key.name)
            })
    }
}

/// The hash of a table that places by the low bits and tells apart by the high ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
