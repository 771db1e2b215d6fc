//! What the benches have in common: sizes, the default plugins, a node of a generated cluster, and how results come on the page.

pub mod machine;
pub mod page;
pub mod results;
pub mod scene;

use std::time::Duration;

use tailorbird::measure::Times;

/// The middle of some times.
pub fn median(times: &[Duration]) -> Duration {
    times.iter().copied().collect::<Times>().median()
}
