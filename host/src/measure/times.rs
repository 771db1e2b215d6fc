use std::time::{Duration, Instant};

/// Times of the same work, in the order in which they were taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Adds a time.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Does the work, adds the time that it took, and returns what it made; to throw that away is not part of the time.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let made = work();
        self.push(begun.elapsed());
        made
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The least time that so many of a hundred do not pass; zero if there is none.
    pub fn percentile(&self, of_hundred: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = (sorted.len() * of_hundred.min(100)).div_ceil(100).saturating_sub(1);
        sorted.get(at).copied().unwrap_or_default()
    }

    /// The middle one, the lower of two; zero if there is none.
    pub fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// All of them together.
    pub fn sum(&self) -> Duration {
        self.0.iter().sum()
    }
}

impl FromIterator<Duration> for Times {
    fn from_iter<T: IntoIterator<Item = Duration>>(times: T) -> Self {
        Self(times.into_iter().collect())
    }
}

/// A time with three digits and its unit.
pub fn shown(time: Duration) -> String {
    let nanoseconds = time.as_nanos() as f64;
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// A time for programs, in nanoseconds.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(times: &[u64]) -> Times {
        times.iter().map(|time| Duration::from_millis(*time)).collect()
    }

    #[test]
    fn percentiles_are_times_that_were_taken() {
        for (times, median, p99, sum) in [
            (&[][..], 0, 0, 0),
            (&[7], 7, 7, 7),
            (&[4, 1], 1, 4, 5),
            (&[9, 1, 5], 5, 9, 15),
            (&[9, 1, 5, 3], 3, 9, 18),
        ] {
            let times = milliseconds(times);
            let of = |percentile| times.percentile(percentile).as_millis();
            assert_eq!((of(50), of(99), times.sum().as_millis()), (median, p99, sum), "{times:?}");
        }
        let hundred: Times = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(hundred.percentile(99), Duration::from_millis(198));
        assert_eq!(hundred.percentile(0), Duration::from_millis(1));
        assert_eq!(hundred.percentile(1000), Duration::from_millis(200));
    }

    #[test]
    fn times_have_three_digits() {
        for (nanoseconds, text) in [
            (7, "7.00 ns"),
            (1_234, "1.23 µs"),
            (45_600_000, "45.6 ms"),
            (789_000_000, "789 ms"),
            (2_000_000_000, "2.00 s"),
        ] {
            assert_eq!(shown(Duration::from_nanos(nanoseconds)), text);
        }
    }
}
