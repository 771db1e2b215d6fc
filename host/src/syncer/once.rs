//! Reads what sources have, once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Syncer, Told, Update, Updates};
use crate::engine::{Batch, Engine};
use crate::types::Name;

/// How many updates may wait.
const WAITING: usize = 64;

/// Some sources cannot be read: why, for each by name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct OutOfSync(pub Vec<String>);

#[derive(Debug, Default)]
struct State {
    in_sync: bool,
    /// Why not, and since when.
    lost: Option<(Instant, String)>,
    problems: Vec<String>,
}

/// Takes what sources tell into an engine until all are in sync; what is wrong with their data as far as no object can be
/// named is returned. `waiting` is told why a source has to be waited for.
///
/// # Errors
/// A source was out of sync for longer than `patience`.
pub async fn read_once(
    sources: Vec<Box<dyn Syncer>>,
    engine: &mut Engine,
    patience: Duration,
    waiting: &mut dyn FnMut(&str),
) -> Result<Vec<String>, OutOfSync> {
    let (sender, told) = mpsc::channel::<Told>(WAITING);
    let (secrets, needed) = watch::channel(Arc::new(engine.secret_names()));
    let names: Vec<String> = sources.iter().map(|source| source.name().to_owned()).collect();
    let states: Vec<State> = sources.iter().map(|_| State::default()).collect();
    let mut running = JoinSet::new();
    for (place, source) in sources.into_iter().enumerate() {
        running.spawn(source.run(Updates::new(place, sender.clone(), needed.clone())));
    }
    let mut told = Taken { told, names, states, asked: None };
    loop {
        let mut batch = engine.batch();
        while !(told.is_in_sync() && told.asked.as_ref().is_none_or(|asked| *asked == *secrets.borrow())) {
            told.take_next(&mut batch, patience, waiting).await?;
        }
        let _ = batch.finish();
        let names = engine.secret_names();
        if told.asked.as_ref().is_none_or(|asked| **asked == names) {
            return Ok(told.states.into_iter().flat_map(|state| state.problems).collect());
        }
        secrets.send_replace(Arc::new(names));
    }
}

/// What the sources have told.
struct Taken {
    told: mpsc::Receiver<Told>,
    names: Vec<String>,
    states: Vec<State>,
    /// The Secrets that a source asks for, if there is such a source.
    asked: Option<Arc<BTreeSet<Name>>>,
}

impl Taken {
    fn is_in_sync(&self) -> bool {
        self.states.iter().all(|state| state.in_sync)
    }

    async fn take_next(
        &mut self,
        batch: &mut Batch<'_>,
        patience: Duration,
        waiting: &mut dyn FnMut(&str),
    ) -> Result<(), OutOfSync> {
        let lost = self.states.iter().filter_map(|state| state.lost.as_ref());
        let deadline = lost.map(|(since, _)| *since + patience).min();
        let news = match deadline {
            None => self.told.recv().await,
            Some(deadline) => {
                tokio::time::timeout_at(deadline, self.told.recv()).await.map_err(|_| self.out_of_sync())?
            }
        };
        let Some(Told { source, updates }) = news else { return Err(self.out_of_sync()) };
        let state = &mut self.states[source];
        for update in updates {
            match update {
                Update::Event(event) => batch.push(event),
                Update::InSync => (state.in_sync, state.lost) = (true, None),
                Update::Lost(reason) => {
                    waiting(&format!("{}: {reason}", self.names[source]));
                    let since = state.lost.take().map_or_else(Instant::now, |(since, _)| since);
                    (state.in_sync, state.lost) = (false, Some((since, reason)));
                }
                Update::Problems(problems) => state.problems = problems,
                Update::Secrets(names) => self.asked = Some(names),
                Update::Instance(_) => {}
            }
        }
        Ok(())
    }

    fn out_of_sync(&self) -> OutOfSync {
        let sources = self.names.iter().zip(&self.states).filter(|(_, state)| !state.in_sync);
        let reason =
            |state: &State| state.lost.as_ref().map_or("not in sync", |(_, reason)| reason).to_owned();
        OutOfSync(sources.map(|(name, state)| format!("{name}: {}", reason(state))).collect())
    }
}
