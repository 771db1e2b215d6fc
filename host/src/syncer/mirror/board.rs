//! Between a connection and whoever takes the updates: neither waits for the other.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::Mirror;
use crate::syncer::{Stopped, Update, Updates};

/// What the connection learns, and whoever takes the updates is told.
pub(in crate::syncer) struct Board {
    state: Mutex<State>,
    news: Notify,
    grace: Duration,
}

/// What is on a [`Board`].
pub(in crate::syncer) struct State {
    pub(in crate::syncer) mirror: Mirror,
    /// Why the data is not known to be current, and since when.
    failure: Option<(Instant, String)>,
    /// The instance that is followed, or was last.
    instance: Option<String>,
    /// The same as it was told since the source was lost last.
    told_instance: Option<String>,
}

impl State {
    /// Nothing is wrong any more if everything is known; whether it is.
    pub(in crate::syncer) fn settle(&mut self) -> bool {
        let in_sync = self.mirror.is_in_sync();
        if in_sync {
            self.failure = None;
        }
        in_sync
    }
}

impl Board {
    /// A source that was in sync may be without a connection for a time before it says so.
    pub(in crate::syncer) fn new(mirror: Mirror, grace: Duration) -> Self {
        let state = Mutex::new(State { mirror, failure: None, instance: None, told_instance: None });
        Self { state, news: Notify::new(), grace }
    }

    pub(in crate::syncer) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is something new in the mirror.
    pub(in crate::syncer) fn changed(&self) {
        self.news.notify_one();
    }

    /// This instance is followed from now on.
    pub(in crate::syncer) fn follows(&self, instance: String) {
        self.state().instance = Some(instance);
        self.news.notify_one();
    }

    /// What went wrong, in place of what went wrong before. What has been the case since longer stays so.
    pub(in crate::syncer) fn fail(&self, reason: String) {
        self.fail_from(Instant::now(), reason);
    }

    /// The same for what is wrong only when it lasts for longer than the usual time.
    pub(in crate::syncer) fn fail_later(&self, reason: String) {
        self.fail_from(Instant::now() + self.grace, reason);
    }

    fn fail_from(&self, since: Instant, reason: String) {
        let mut state = self.state();
        let since = state.failure.take().map_or(since, |(before, _)| before.min(since));
        state.failure = Some((since, reason));
        drop(state);
        self.news.notify_one();
    }

    /// Passes on what there is, for as long as somebody listens.
    pub(in crate::syncer) async fn tell(&self, updates: &Updates) -> Result<(), Stopped> {
        loop {
            let (told, wake) = self.next();
            if !told.is_empty() {
                updates.tell(told).await?;
                continue;
            }
            match wake {
                Some(at) => {
                    tokio::select! {
                        () = self.news.notified() => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
                None => self.news.notified().await,
            }
        }
    }

    /// What is to be told now, and when to look again although there is no news.
    fn next(&self) -> (Vec<Update>, Option<Instant>) {
        let mut state = self.state();
        let State { mirror, failure, instance, told_instance } = &mut *state;
        let mut told = mirror.take();
        let Some((since, reason)) = failure else {
            if instance != told_instance {
                told_instance.clone_from(instance);
                told.extend(instance.clone().map(Update::Instance));
            }
            return (told, None);
        };
        // Whoever has not begun yet has nothing to lose by hearing at once why.
        let at = if mirror.was_in_sync() { *since + self.grace } else { *since };
        if at > Instant::now() {
            return (told, Some(at));
        }
        if let Some(lost) = mirror.lost(reason) {
            *told_instance = None;
            told.push(lost);
        }
        (told, None)
    }
}
