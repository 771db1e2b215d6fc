use std::collections::BTreeSet;

use crate::engine::Event;
use crate::resources::ObjectKey;

/// The objects that a source has told of, so that a new listing tells what is gone.
#[derive(Debug, Clone, Default)]
pub struct Known {
    there: BTreeSet<ObjectKey>,
    /// While a listing goes on: those that it has not named yet.
    unseen: Option<BTreeSet<ObjectKey>>,
}

impl Known {
    /// A listing begins.
    pub fn begin(&mut self) {
        self.unseen = Some(self.there.clone());
    }

    /// An object is there.
    pub fn seen(&mut self, key: &ObjectKey) {
        if let Some(unseen) = &mut self.unseen {
            unseen.remove(key);
        }
        if !self.there.contains(key) {
            self.there.insert(key.clone());
        }
    }

    /// An object is gone. Whether it was there.
    pub fn gone(&mut self, key: &ObjectKey) -> bool {
        if let Some(unseen) = &mut self.unseen {
            unseen.remove(key);
        }
        self.there.remove(key)
    }

    /// The listing is complete: what it did not name is gone.
    pub fn complete(&mut self) -> Vec<Event> {
        let unseen = self.unseen.take().unwrap_or_default();
        for key in &unseen {
            self.there.remove(key);
        }
        unseen.into_iter().map(Event::Delete).collect()
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.there.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.there.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Kind;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::global(Kind::BgpPeer, name.parse().expect("a name"))
    }

    #[test]
    fn what_a_listing_does_not_name_is_gone() {
        let mut known = Known::default();
        known.begin();
        known.seen(&key("a"));
        known.seen(&key("b"));
        assert_eq!(known.complete(), []);
        known.seen(&key("c"));
        assert!(known.gone(&key("b")) && !known.gone(&key("b")));

        known.begin();
        known.seen(&key("c"));
        assert_eq!(known.complete(), [Event::Delete(key("a"))]);
        assert_eq!(known.len(), 1);
    }

    #[test]
    fn a_listing_that_is_cut_short_deletes_nothing() {
        let mut known = Known::default();
        known.seen(&key("a"));
        known.begin();
        known.begin();
        known.seen(&key("a"));
        assert_eq!(known.complete(), []);
    }
}
