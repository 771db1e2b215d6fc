//! The guard over the blast radius: a change that takes away most of what this node has is held.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// When a removal is too large to be done unasked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The share of the sessions, above 0 and up to 1; none switches the guard over sessions off.
    pub peers: Option<f64>,
    /// How many sessions must go at least; 10.
    pub peers_at_least: usize,
    /// The share of the routes that this node originates; off.
    pub routes: Option<f64>,
    /// How many routes must go at least; 10.
    pub routes_at_least: usize,
    /// How long a removal is held at most; for ever when there is none.
    pub at_most: Option<Duration>,
    /// Whether a removal that an edit of a BGPConfiguration or BGPPeer brought is let through.
    pub let_deliberate_through: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            peers: Some(0.9),
            peers_at_least: 10,
            routes: None,
            routes_at_least: 10,
            at_most: None,
            let_deliberate_through: false,
        }
    }
}

/// What a family's daemon has, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Having {
    /// Its sessions.
    pub peers: BTreeSet<Arc<str>>,
    /// The routes that are originated.
    pub routes: BTreeSet<Arc<str>>,
}

/// A removal that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// What would be removed, in words.
    pub reason: String,
    /// Since when.
    pub since: Instant,
    /// Until when at most.
    pub until: Option<Instant>,
    /// What identifies it, so that a confirmation counts for nothing else.
    pub id: u64,
}

/// Holds removals of one daemon.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    held: Option<Held>,
    confirmed: Option<u64>,
}

impl Guard {
    /// Whether a change may be made. `id` identifies what is to come: the same each time that it is tried.
    ///
    /// # Errors
    /// The change is held.
    pub fn judge(
        &mut self,
        limits: &Limits,
        has: &Having,
        will_have: &Having,
        deliberate: bool,
        id: u64,
        now: Instant,
    ) -> Result<(), Held> {
        let Some(reason) = removal(limits, has, will_have, deliberate) else {
            *self = Self::default();
            return Ok(());
        };
        if deliberate && limits.let_deliberate_through {
            *self = Self::default();
            return Ok(());
        }
        // Time runs from the first moment, also when what is to come changes meanwhile.
        let since = self.held.as_ref().map_or(now, |held| held.since);
        let until = limits.at_most.map(|time| since + time);
        let held = Held { reason, since, until, id };
        self.held = Some(held.clone());
        // What is let through stays so until it is done: a step behind the guard may fail and is tried again.
        if self.confirmed == Some(id) || until.is_some_and(|until| until <= now) {
            return Ok(());
        }
        Err(held)
    }

    /// What was judged last is done.
    pub fn done(&mut self) {
        *self = Self::default();
    }

    /// What is held.
    pub fn held(&self) -> Option<&Held> {
        self.held.as_ref()
    }

    /// Confirms what is held now; whether anything is.
    pub fn confirm(&mut self) -> bool {
        self.confirmed = self.held.as_ref().map(|held| held.id);
        self.confirmed.is_some()
    }
}

/// What is too large about a removal, in words.
fn removal(limits: &Limits, has: &Having, will_have: &Having, deliberate: bool) -> Option<String> {
    let too_many =
        |what: &str, share: Option<f64>, least: usize, old: &BTreeSet<Arc<str>>, new: &BTreeSet<Arc<str>>| {
            let gone = old.difference(new).count();
            let share = share?;
            // Counts of sessions are far below the precision of a float.
            let many = gone >= least && gone as f64 >= share * old.len() as f64;
            many.then(|| format!("{gone} of {} {what}", old.len()))
        };
    let peers = too_many("sessions", limits.peers, limits.peers_at_least, &has.peers, &will_have.peers);
    let routes = too_many("routes", limits.routes, limits.routes_at_least, &has.routes, &will_have.routes);
    let parts: Vec<String> = peers.into_iter().chain(routes).collect();
    if parts.is_empty() {
        return None;
    }
    let why = match deliberate {
        true => "; it follows from an edit of a BGPConfiguration or BGPPeer",
        false => "",
    };
    Some(format!("would remove {} at once{why}", parts.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn having(peers: usize, routes: usize) -> Having {
        let names = |prefix: &str, count: usize| (0..count).map(|n| format!("{prefix}{n}").into()).collect();
        Having { peers: names("p", peers), routes: names("r", routes) }
    }

    #[test]
    fn only_a_large_removal_is_held() {
        let now = Instant::now();
        let limits = Limits::default();
        for (old, new, held) in [
            (100, 11, false),
            (100, 10, true),
            (100, 0, true),
            (9, 0, false),
            (10, 1, false),
            (10, 0, true),
            (0, 5, false),
        ] {
            let judged = Guard::default().judge(&limits, &having(old, 0), &having(new, 0), false, 1, now);
            assert_eq!(judged.is_err(), held, "{old} to {new}");
        }
        // All others replaced is a removal too.
        let mut others = having(0, 0);
        others.peers = (0..100).map(|n| format!("other{n}").into()).collect();
        let held =
            Guard::default().judge(&limits, &having(100, 0), &others, false, 1, now).expect_err("held");
        assert_eq!(held.reason, "would remove 100 of 100 sessions at once");
        // Routes only when asked for.
        assert!(Guard::default().judge(&limits, &having(0, 50), &having(0, 0), false, 1, now).is_ok());
        let routes = Limits { routes: Some(0.5), ..limits };
        assert!(Guard::default().judge(&routes, &having(0, 50), &having(0, 0), false, 1, now).is_err());
        let off = Limits { peers: None, ..limits };
        assert!(Guard::default().judge(&off, &having(50, 0), &having(0, 0), false, 1, now).is_ok());
    }

    #[test]
    fn a_held_change_goes_through_when_confirmed_or_in_time_or_when_the_cause_goes() {
        let now = Instant::now();
        let limits = Limits { at_most: Some(Duration::from_secs(60)), ..Limits::default() };
        let (old, new) = (having(100, 0), having(0, 0));
        let mut guard = Guard::default();
        assert!(!guard.confirm());
        assert!(guard.judge(&limits, &old, &new, false, 1, now).is_err());
        // A confirmation is for what was held then.
        assert!(guard.confirm());
        assert!(guard.judge(&limits, &old, &having(1, 0), false, 2, now).is_err());
        assert!(guard.confirm());
        // It counts until the change is done, also when a later step fails and all of it is tried again.
        assert!(guard.judge(&limits, &old, &having(1, 0), false, 2, now).is_ok());
        assert!(guard.judge(&limits, &old, &having(1, 0), false, 2, now).is_ok());
        guard.done();
        assert!(guard.held().is_none());

        assert!(guard.judge(&limits, &old, &new, false, 3, now).is_err());
        assert!(guard.judge(&limits, &old, &new, false, 4, now + Duration::from_secs(59)).is_err());
        assert!(guard.judge(&limits, &old, &new, false, 5, now + Duration::from_secs(60)).is_ok());
        guard.done();

        assert!(guard.judge(&limits, &old, &new, false, 6, now).is_err());
        assert!(guard.judge(&limits, &old, &old, false, 7, now).is_ok() && guard.held().is_none());
    }

    #[test]
    fn a_deliberate_change_says_so_and_can_be_let_through() {
        let now = Instant::now();
        let (old, new) = (having(100, 0), having(0, 0));
        let held = Guard::default().judge(&Limits::default(), &old, &new, true, 1, now).expect_err("held");
        assert!(held.reason.ends_with("it follows from an edit of a BGPConfiguration or BGPPeer"));
        let limits = Limits { let_deliberate_through: true, ..Limits::default() };
        assert!(Guard::default().judge(&limits, &old, &new, true, 1, now).is_ok());
        assert!(Guard::default().judge(&limits, &old, &new, false, 1, now).is_err());
    }
}
