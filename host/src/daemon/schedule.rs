//! When to work: pure bookkeeping over instants that are handed in.

use std::time::{Duration, Instant};

/// How changes are taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long nothing must have happened before a round begins; 100 ms.
    pub quiet: Duration,
    /// How long the first change waits at most; 1 s.
    pub bound: Duration,
    /// How far apart rounds begin at least; none.
    pub distance: Duration,
    /// What is added to a round's begin at most, by chance, so that the nodes of a cluster do not all begin at once;
    /// none.
    pub jitter: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            bound: Duration::from_secs(1),
            distance: Duration::ZERO,
            jitter: Duration::ZERO,
        }
    }
}

/// When the next round is due.
#[derive(Debug, Clone)]
pub struct Schedule {
    timing: Timing,
    /// The first and the last change that no round has taken, and the chance of this wait.
    waiting: Option<(Instant, Instant, f64)>,
    /// The first change that a round has taken, and none has brought to an end.
    taken: Option<Instant>,
    begun: Option<Instant>,
}

impl Schedule {
    /// Nothing is due.
    pub fn new(timing: Timing) -> Self {
        Self { timing, waiting: None, taken: None, begun: None }
    }

    /// Takes changes together in another way from now on.
    pub fn set(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// Something changed; `chance` is a number from 0 to 1 that is different on every node.
    pub fn changed(&mut self, now: Instant, chance: f64) {
        self.waiting = Some(match self.waiting {
            None => (now, now, chance.clamp(0.0, 1.0)),
            Some((first, _, chance)) => (first, now, chance),
        });
    }

    /// When the next round is due, if there is anything to do.
    pub fn due(&self) -> Option<Instant> {
        let (first, last, chance) = self.waiting?;
        let due = (last + self.timing.quiet).min(first + self.timing.bound);
        let due = due + self.timing.jitter.mul_f64(chance);
        Some(self.begun.map_or(due, |begun| due.max(begun + self.timing.distance)))
    }

    /// The first change that nothing has been rendered with.
    pub fn oldest(&self) -> Option<Instant> {
        self.taken.or(self.waiting.map(|(first, ..)| first))
    }

    /// A round begins and takes all that has changed.
    pub fn begin(&mut self, now: Instant) {
        self.taken = self.oldest();
        self.waiting = None;
        self.begun = Some(now);
    }

    /// The round has rendered what it took.
    pub fn rendered(&mut self) {
        self.taken = None;
    }
}

/// Waits between attempts: 250 ms, doubled each time, at most 5 s.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backoff {
    attempts: u32,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(250);
    const LONGEST: Duration = Duration::from_secs(5);

    /// An attempt failed: how long to wait. `chance` from 0 to 1 takes up to a quarter off, so that the nodes of a cluster
    /// do not all come back at once.
    pub fn failed(&mut self, chance: f64) -> Duration {
        let wait = Self::FIRST.saturating_mul(1u32.checked_shl(self.attempts).unwrap_or(u32::MAX));
        self.attempts = self.attempts.saturating_add(1);
        wait.min(Self::LONGEST).mul_f64(1.0 - 0.25 * chance.clamp(0.0, 1.0))
    }

    /// The number of attempts that failed.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_round_waits_for_quiet_and_no_longer_than_the_bound() {
        let start = Instant::now();
        let mut schedule = Schedule::new(Timing::default());
        assert_eq!(schedule.due(), None);
        schedule.changed(start, 0.0);
        assert_eq!(schedule.due(), Some(start + ms(100)));
        schedule.changed(start + ms(90), 0.9);
        assert_eq!(schedule.due(), Some(start + ms(190)));
        // 1,000 changes in a second: the first one does not wait longer than the bound.
        for step in 0..1000 {
            schedule.changed(start + ms(90 + step), 0.5);
        }
        assert_eq!((schedule.due(), schedule.oldest()), (Some(start + ms(1000)), Some(start)));
        schedule.begin(start + ms(1000));
        assert_eq!((schedule.due(), schedule.oldest()), (None, Some(start)));
        // What comes after the begin of a round is taken by the next one.
        schedule.changed(start + ms(1001), 0.0);
        assert_eq!((schedule.due(), schedule.oldest()), (Some(start + ms(1101)), Some(start)));
        schedule.rendered();
        assert_eq!(schedule.oldest(), Some(start + ms(1001)));
    }

    #[test]
    fn rounds_keep_their_distance_and_jitter_is_added_once() {
        let start = Instant::now();
        let timing = Timing { distance: ms(5000), jitter: ms(400), ..Timing::default() };
        let mut schedule = Schedule::new(timing);
        schedule.changed(start, 0.5);
        schedule.changed(start, 1.0);
        assert_eq!(schedule.due(), Some(start + ms(300)));
        schedule.begin(start + ms(300));
        schedule.changed(start + ms(400), 0.0);
        assert_eq!(schedule.due(), Some(start + ms(5300)));
    }

    #[test]
    fn attempts_come_at_growing_distances() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..7).map(|_| backoff.failed(0.0).as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 5000, 5000]);
        assert_eq!(Backoff::default().failed(1.0), Duration::from_micros(187_500));
        assert_eq!(Backoff { attempts: 4_000_000_000 }.failed(7.0), Duration::from_millis(3750));
    }
}
