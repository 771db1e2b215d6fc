/// SplitMix64: small, fast, and the same numbers for the same seed in every version of every dependency.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The generator of one object: what it gives depends on the seed, the kind and the index alone.
    pub(super) fn of(seed: u64, kind: &str, index: u32) -> Self {
        let mut random =
            Self(seed ^ hash(kind).rotate_left(17) ^ u64::from(index).wrapping_mul(0xd6e8_feb8_6659_fd93));
        random.next();
        random
    }

    /// A generator for details that follow from a text.
    pub(super) fn of_text(text: &str) -> Self {
        Self(hash(text))
    }

    /// The next 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        // The high half of a 32 × 32 bit product is always below `bound`.
        ((u64::from((self.next() >> 32) as u32) * u64::from(bound)) >> 32) as u32
    }

    /// True once in `n` times.
    pub(super) fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    /// `len` characters of an alphabet of ASCII characters.
    pub(super) fn text(&mut self, len: usize, alphabet: &[u8]) -> String {
        (0..len).map(|_| char::from(alphabet[self.below(alphabet.len() as u32) as usize])).collect()
    }

    /// A version 4 UUID.
    pub(super) fn uuid(&mut self) -> String {
        let (a, b) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | (b >> 48) & 0x3fff,
            b & 0xffff_ffff_ffff
        )
    }
}

/// 64-bit FNV-1a.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_sequence() {
        let mut random = Random(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn stays_below_the_bound() {
        let mut random = Random(7);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert_eq!(random.below(0), 0);
    }
}
