//! What plugins change about a snapshot.
//!
//! [`Overlay::derive`] takes the engine's snapshot and asks the plugins: which peerings there are to be, what becomes
//! of the routes that start here, and which rules the sessions get. What they answer is checked item by item, and
//! only then changes the model; the view stays as it is. Nothing here does I/O, and nothing is asked twice whose
//! question, and all that was read for the answer, is the same.
//!
//! [`Plugins`] is what the overlay asks; the sandbox implements it, and so does anything else that answers.

mod advertise;
mod answer;
mod ask;
mod ledger;
mod originated;
mod overlay;
mod request;
mod rules;
mod select;
mod sessions;
mod told;

pub use answer::{MAX_FILTERS, MAX_ITEMS, MAX_ROUTE_ITEMS, MAX_RULE_ITEMS, MAX_SET_RULES};
pub use ask::{Asked, CallError, Facts, FunctionCalls, OnError, Placement, Plugins, Reads, Rights};
pub use overlay::{Abandoned, Derived, Overlay};
pub(crate) use told::{RouteSaid, SessionSaid, Told};

use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;

use crate::engine::model::Peer;
use crate::engine::{CollectionId, Item};
use crate::types::Family;

/// The items of a collection.
type Items = OrdMap<Arc<str>, Arc<Item>>;

/// An item of a collection of a family.
type ItemKey = (Family, CollectionId, Arc<str>);

/// The keys whose items differ between two states of a collection, with the items before and after. What the two
/// share is not looked at.
fn differences<'a>(
    old: &'a Items,
    new: &'a Items,
) -> impl Iterator<Item = (&'a Arc<str>, Option<&'a Arc<Item>>, Option<&'a Arc<Item>>)> {
    old.diff(new).map(|item| match item {
        DiffItem::Add(key, new) => (key, None, Some(new)),
        DiffItem::Update { old: (key, old), new: (_, new) } => (key, Some(old), Some(new)),
        DiffItem::Remove(key, old) => (key, Some(old), None),
    })
}

/// The session that an item is.
fn peer(item: &Item) -> Option<&Peer> {
    match item {
        Item::Peer(peer) => Some(peer),
        _ => None,
    }
}
