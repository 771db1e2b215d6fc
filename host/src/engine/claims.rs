use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

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
        // One owner can claim as many keys as an object can list, so none is searched for in a list.
        let mut unclaimed: FxHashSet<K> = claims.iter().map(|(key, _)| key.clone()).collect();
        for key in &old {
            if !unclaimed.contains(key) {
                self.drop_claim(key, owner);
                changed(key);
            }
        }
        let mut keys = Vec::with_capacity(unclaimed.len());
        for (key, value) in claims {
            if !unclaimed.remove(&key) {
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
                    // Nearly every key has one claim, and a list would begin with room for four.
                    if list.is_empty() {
                        list.reserve_exact(1);
                    }
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

    /// All claims to a key, the winner's first.
    pub(super) fn of(&self, key: &K) -> impl Iterator<Item = (&O, &V)> {
        self.by_key.get(key).into_iter().flatten().map(|(owner, value)| (owner, value))
    }

    /// The keys that an owner claims, won or not.
    pub(super) fn keys_of(&self, owner: &O) -> &[K] {
        self.by_owner.get(owner).map_or(&[], Vec::as_slice)
    }

    fn drop_claim(&mut self, key: &K, owner: &O) {
        if let Some(list) = self.by_key.get_mut(key) {
            if let Ok(at) = list.binary_search_by(|(o, _)| o.cmp(owner)) {
                list.remove(at);
            }
            if list.is_empty() {
                self.by_key.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_can_claim_very_many_keys() {
        // A search of a list for each of them would take many minutes.
        let all = |value: u8| (0..400_000_u32).chain(0..10).map(|key| (key, value)).collect();
        let mut claims: Claims<u32, u8, u8> = Claims::default();
        let mut changed = 0;
        claims.replace(&1, all(1), |_| changed += 1);
        claims.replace(&1, all(1), |_| changed += 1);
        assert_eq!((changed, claims.keys_of(&1).len()), (400_000, 400_000));
        claims.replace(&0, vec![(7, 3), (7, 4)], |_| changed += 1);
        assert_eq!((changed, claims.winner(&7)), (400_001, Some((&0, &3))));
        claims.replace(&1, vec![(7, 1)], |_| changed += 1);
        assert_eq!((changed, claims.winner(&8)), (800_000, None));
    }

    #[test]
    fn a_key_can_have_very_many_owners() {
        let mut claims: Claims<u8, u32, u32> = Claims::default();
        for owner in (0..50_000).rev() {
            claims.replace(&owner, vec![(1, owner)], |_| ());
        }
        for owner in 0..50_000 {
            assert_eq!(claims.winner(&1), Some((&owner, &owner)));
            claims.replace(&owner, Vec::new(), |_| ());
        }
        assert_eq!(claims.winner(&1), None);
    }
}
