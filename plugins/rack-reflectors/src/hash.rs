//! Hashes that are the same on every node and in every version of this plugin: both ends of a peering must come to the same
//! choice.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are hashed with [`Fnv`].
pub(crate) type FnvMap<K, V> = HashMap<K, V, BuildHasherDefault<Fnv>>;

/// FNV-1a with 64 bits.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The hash of a text.
pub(crate) fn of(text: &str) -> u64 {
    let mut hasher = Fnv::default();
    hasher.write(text.as_bytes());
    mix(hasher.finish())
}

/// How much one node wants another, by their hashes: rendezvous hashing takes those with the highest scores, so that a new
/// one takes its share from all others and changes nothing else.
pub(crate) fn score(one: u64, other: u64) -> u64 {
    mix(one ^ other.rotate_left(32))
}

/// The finalizer of SplitMix64: every bit of the argument changes half of the bits of the result.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
