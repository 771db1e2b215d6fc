//! What the benches have in common.

use std::time::Duration;

use tailorbird::measure::Times;

/// The middle of some times.
pub fn median(times: &[Duration]) -> Duration {
    times.iter().copied().collect::<Times>().median()
}
