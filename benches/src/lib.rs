//! What the benches have in common: sizes, the default plugins, a node of a generated cluster, and how results come on the page.

pub mod machine;
pub mod page;
pub mod results;
pub mod scene;

use std::time::Duration;

/// The processor's time that a process has used so far, by its number or as `self`.
///
/// # Panics
/// There is no such process, or this is no Linux.
pub fn cpu(process: &str) -> Duration {
    let stat =
        std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_else(|error| panic!("{error}"));
    // Its name, which may hold anything, is in brackets; utime and stime, in hundredths of a second, are behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
