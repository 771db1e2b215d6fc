//! How long to wait after a failure, whatever the datastore.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// The waits between attempts.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// An attempt failed: how long to wait. `chance` from 0 to 1 makes it half as long to one and a half times, so that
    /// the nodes of a cluster do not come back all at once.
    pub(super) fn failed(&mut self, first: Duration, longest: Duration, chance: f64) -> Duration {
        let factor = 1u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1);
        first.saturating_mul(factor).min(longest).mul_f64(0.5 + chance)
    }

    /// An attempt was a success.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }
}

/// A number from 0 to 1, different each time and on every node.
pub(super) fn chance() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    // The upper 53 bits are as many as a float holds.
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_spread() {
        let (first_wait, longest_wait) = (Duration::from_millis(500), Duration::from_secs(30));
        let mut backoff = Backoff::default();
        let waits: Vec<u128> =
            (0..8).map(|_| backoff.failed(first_wait, longest_wait, 0.5).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
        backoff.succeeded();
        assert_eq!(backoff.failed(first_wait, longest_wait, 0.0), first_wait / 2);
        let mut backoff = Backoff { failures: u32::MAX };
        assert_eq!(backoff.failed(first_wait, longest_wait, 1.0), longest_wait.mul_f64(1.5));
    }

    #[test]
    fn chances_differ_and_stay_in_their_bounds() {
        let chances: Vec<f64> = (0..100).map(|_| chance()).collect();
        assert!(chances.iter().all(|chance| (0.0..=1.0).contains(chance)));
        assert!(chances.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
