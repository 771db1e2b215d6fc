//! Hashes that are the same on every node and in every version of this plugin: both ends of a peering must come to the same
//! choice.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are hashes.
pub(crate) type HashedMap<V> = HashMap<u64, V, BuildHasherDefault<Hashed>>;

/// The hasher of what is hashed already.
#[derive(Default)]
pub(crate) struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The hash of a text. It takes eight bytes in a step, since names of thousands of nodes are hashed in every call.
pub(crate) fn of(text: &str) -> u64 {
    let bytes = text.as_bytes();
    // An odd multiplier loses nothing, and the shift brings the upper half, which is mixed well, down.
    let step = |state: u64, word: u64| {
        let state = (state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state ^ state >> 32
    };
    // With the length, a byte that is zero is another thing than none.
    let mut state = bytes.len() as u64;
    for word in bytes.as_chunks().0 {
        state = step(state, u64::from_le_bytes(*word));
    }
    mix(step(state, last_word(bytes)))
}

/// The last bytes of a text. Where they are fewer than eight the first and the last four, which overlap, have all of them.
fn last_word(bytes: &[u8]) -> u64 {
    match (bytes.last_chunk(), bytes.first_chunk(), bytes.last_chunk()) {
        (Some(word), ..) => u64::from_le_bytes(*word),
        (_, Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
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
