//! Which plugin is in quarantine, and how much it may still log.

use std::time::{Duration, Instant};

/// Failures one after the other that bring a plugin into quarantine.
const PATIENCE: u32 = 3;

/// The first quarantine; each further failure doubles it.
const FIRST: Duration = Duration::from_secs(1);

/// The longest quarantine.
const LONGEST: Duration = Duration::from_secs(300);

/// What is remembered of a plugin from rendering to rendering.
#[derive(Debug, Default)]
pub(super) struct Health {
    failures: u32,
    until: Option<Instant>,
    cause: String,
    lines: Option<(Instant, u32)>,
}

impl Health {
    /// Why the plugin is not called now, if it is not.
    pub(super) fn quarantine(&self, now: Instant) -> Option<String> {
        let left = self.until?.checked_duration_since(now).filter(|left| !left.is_zero())?;
        Some(format!(
            "is in quarantine for another {} s after {} failures, the last one: {}",
            left.as_secs_f64().ceil(),
            self.failures,
            self.cause
        ))
    }

    /// When the plugin may be called again; in the past while it may be called.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// The plugin gave an answer.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.until = None;
    }

    /// The plugin trapped.
    pub(super) fn trapped(&mut self, now: Instant, cause: &str) {
        self.failures = self.failures.saturating_add(1);
        cause.clone_into(&mut self.cause);
        if let Some(more) = self.failures.checked_sub(PATIENCE) {
            let time = FIRST.saturating_mul(1u32.checked_shl(more).unwrap_or(u32::MAX)).min(LONGEST);
            self.until = now.checked_add(time);
        }
    }

    /// The lines that may be logged from now on, of so many a second.
    pub(super) fn lines(&mut self, now: Instant, a_second: u32) -> u32 {
        let (at, left) = self.lines.unwrap_or((now, a_second));
        let earned = now.saturating_duration_since(at).as_secs_f64() * f64::from(a_second);
        // A float that is too large becomes the largest integer.
        let left = left.saturating_add(earned as u32).min(a_second);
        self.lines = Some((now, left));
        left
    }

    /// Notes how many lines are left.
    pub(super) fn logged(&mut self, left: u32) {
        if let Some((_, lines)) = &mut self.lines {
            *lines = left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_failures_bring_a_growing_quarantine() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut health = Health::default();
        for _ in 0..2 {
            health.trapped(start, "a");
            assert_eq!(health.quarantine(start), None);
        }
        health.trapped(start, "b");
        assert!(health.quarantine(start).is_some_and(|text| text.contains("1 s") && text.ends_with('b')));
        assert_eq!(health.quarantine(at(1)), None);
        health.trapped(at(1), "c");
        assert!(health.quarantine(at(2)).is_some());
        assert_eq!(health.quarantine(at(3)), None);
        for _ in 0..40 {
            health.trapped(at(3), "d");
        }
        assert!(health.quarantine(at(302)).is_some());
        assert_eq!(health.quarantine(at(303)), None);
        health.succeeded();
        health.trapped(at(303), "e");
        assert_eq!(health.quarantine(at(303)), None);
    }

    #[test]
    fn lines_come_back_with_time() {
        let start = Instant::now();
        let mut health = Health::default();
        assert_eq!(health.lines(start, 100), 100);
        health.logged(0);
        assert_eq!(health.lines(start, 100), 0);
        assert_eq!(health.lines(start + Duration::from_millis(500), 100), 50);
        assert_eq!(health.lines(start + Duration::from_secs(9), 100), 100);
    }
}
