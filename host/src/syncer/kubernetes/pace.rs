//! How long to wait for what.

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
