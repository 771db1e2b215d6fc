//! How long to wait for what.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// Times and sizes of the talk with an API server. The defaults suit clusters of any size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The wait after a first failure; it doubles with each further one. 500 ms.
    pub first_wait: Duration,
    /// The longest wait between attempts, unless the API server asks for more; 30 s.
    pub longest_wait: Duration,
    /// What a new list after a lost history waits at most, by chance, so that not all nodes ask at once; 1 s.
    pub spread: Duration,
    /// Within which time the nodes tell an Event that they all have reason to tell, each by chance; 30 s.
    pub events: Duration,
    /// How long a source that was in sync may be without a connection before it says so; 5 s.
    pub grace: Duration,
    /// How long the absence of a kind that was there must last before its objects count as gone; 10 s.
    pub vanished: Duration,
    /// How long an answer may take to begin, and a list to go on; 65 s, a little more than API servers give themselves.
    pub answer: Duration,
    /// How long a watch may say nothing: API servers send a bookmark at least every 75 s; 100 s.
    pub silence: Duration,
    /// How long a watch lasts before a new one continues it; 290 s.
    pub watch: Duration,
    /// How many objects a page of a list has; 500.
    pub page: u32,
    /// Whether the first list must be the newest there is. An API server's cache, which is not asked for that, spares
    /// the database when all nodes of a cluster begin at once, and what it lacks the watch brings. No.
    pub newest: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
            spread: Duration::from_secs(1),
            events: Duration::from_secs(30),
            grace: Duration::from_secs(5),
            vanished: Duration::from_secs(10),
            answer: Duration::from_secs(65),
            silence: Duration::from_secs(100),
            watch: Duration::from_secs(290),
            page: 500,
            newest: false,
        }
    }
}

/// The waits between attempts.
#[derive(Debug, Default)]
pub(in crate::syncer) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// An attempt failed: how long to wait. `chance` from 0 to 1 makes it half as long to one and a half times, so that
    /// the nodes of a cluster do not come back all at once.
    pub(in crate::syncer) fn failed(&mut self, first: Duration, longest: Duration, chance: f64) -> Duration {
        let factor = 1u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1);
        first.saturating_mul(factor).min(longest).mul_f64(0.5 + chance)
    }

    /// An attempt was a success.
    pub(in crate::syncer) fn succeeded(&mut self) {
        self.failures = 0;
    }
}

/// A number from 0 to 1, different each time and on every node.
pub(in crate::syncer) fn chance() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    // The upper 53 bits are as many as a float holds.
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_spread() {
        let Pace { first_wait, longest_wait, .. } = Pace::default();
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
