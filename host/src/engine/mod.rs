//! The pure core: objects in, snapshots out.
//!
//! It does no I/O, reads no clock and no environment, and has no async. The same objects in any order and any
//! batching give the same snapshot, and the cost of a batch follows what it changes.

pub mod model;
pub mod selector;
mod view;

pub use model::{Changes, Collection, CollectionId, FamilyModel, Item, Snapshot};
pub use view::View;
