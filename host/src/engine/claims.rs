use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::hash::AddressMap;

/// Who claims which key with which value: the lowest owner of a key wins, whatever the order of arrival.
///
/// It is how "first wins" stays true incrementally: when the winner goes, the next one is already there.
#[derive(Debug)]
pub(super) struct Claims<K, O, V> {
    by_key: AddressMap<K, Vec<(O, V)>>,
    by_owner: FxHashMap<O, Vec<K>>,
}

impl<K, O, V> Default for Claims<K, O, V> {
    fn default() -> Self {
        Self { by_key: AddressMap::default(), by_owner: FxHashMap::default() }
    }
}

impl<K: Hash + Eq + Clone, O: Hash + Ord + Clone, V: PartialEq> Claims<K, O, V> {
    /// Replaces all that an owner claims; `changed` is called with each key whose claims are not what they were.
    pub(super) fn replace(&mut self, owner: &O, claims: Vec<(K, V)>, mut changed: impl FnMut(&K)) {
        let old = self.by_owner.remove(owner).unwrap_or_default();
        for key in &old {
            if !claims.iter().any(|(k, _)| k == key) {
                self.drop_claim(key, owner);
                changed(key);
            }
        }
        let mut keys = Vec::with_capacity(claims.len());
        for (key, value) in claims {
            if keys.contains(&key) {
                continue;
            }
            let list = self.by_key.entry(key.clone()).or_default();
            match list.binary_search_by(|(o, _)| o.cmp(owner)) {
                Ok(at) if list[at].1 == value => {}
                Ok(at) => {
                    list[at].1 = value;
                    changed(&key);
                }
                Err(at) => {
                    list.insert(at, (owner.clone(), value));
                    changed(&key);
                }
            }
            keys.push(key);
        }
        if !keys.is_empty() {
            self.by_owner.insert(owner.clone(), keys);
        }
    }

    /// The winner of a key.
    pub(super) fn winner(&self, key: &K) -> Option<(&O, &V)> {
        self.by_key.get(key).and_then(|list| list.first()).map(|(owner, value)| (owner, value))
    }

    /// The keys that an owner claims, won or not.
    pub(super) fn keys_of(&self, owner: &O) -> &[K] {
        self.by_owner.get(owner).map_or(&[], Vec::as_slice)
    }

    fn drop_claim(&mut self, key: &K, owner: &O) {
        if let Some(list) = self.by_key.get_mut(key) {
            list.retain(|(o, _)| o != owner);
            if list.is_empty() {
                self.by_key.remove(key);
            }
        }
    }
}
