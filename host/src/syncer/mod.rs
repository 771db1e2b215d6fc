//! Where objects come from: one file for each datastore, all behind [`Syncer`].

mod backoff;
mod certificates;
mod dial;
pub mod etcd;
pub mod files;
pub mod kubernetes;
mod mirror;
mod once;
mod step;
mod turns;
pub mod typha;
mod watched;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc, watch};

use crate::engine::Event;
use crate::types::Name;

pub use certificates::Pem;
pub use once::{OutOfSync, read_once};
pub use step::Step;
pub use watched::{Files, Workloads};

/// A datastore, or a part of one that can fail alone.
///
/// A source begins out of sync. It tells all objects that there are, then [`Update::InSync`], then every change. When it
/// cannot follow any more it tells [`Update::Lost`]; once it can, it tells what differs from what it told before,
/// deletions too, and `InSync` again. Nothing is rendered while any source is out of sync.
pub trait Syncer: Send {
    /// What it is called on status pages and in logs.
    fn name(&self) -> &str;

    /// Follows the datastore until [`Updates::closed`], and never gives up before: what goes wrong is told and retried.
    fn run(self: Box<Self>, updates: Updates) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// What a source tells.
#[derive(Debug, Clone, PartialEq, Eq)]
// Nearly all updates are events, so there is nothing to gain by a box.
#[allow(clippy::large_enum_variant)]
pub enum Update {
    /// Something happened to an object.
    Event(Event),
    /// All that was there has been told.
    InSync,
    /// The source has told of these Secrets, as [`Updates::secrets`] had it, and of no others. A source that asks for Secrets
    /// by name tells this once it has asked for all of them.
    Secrets(Arc<BTreeSet<Name>>),
    /// The source cannot be followed; what was told may be out of date.
    Lost(String),
    /// The instance of the datastore that is followed from now on: its address.
    Instance(String),
    /// All that is wrong with the source's data as far as no object can be named, in place of what was told before.
    Problems(Vec<String>),
}

/// Updates of a source, with its place among the sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The place.
    pub source: usize,
    /// What it tells, in order.
    pub updates: Vec<Update>,
}

/// Nobody listens any more: the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nobody listens any more")]
pub struct Stopped;

/// Where a source tells what it learns.
#[derive(Debug, Clone)]
pub struct Updates {
    source: usize,
    sender: mpsc::Sender<Told>,
    secrets: watch::Receiver<Arc<BTreeSet<Name>>>,
    look_again: Arc<Notify>,
}

impl Updates {
    /// The way for a source in its place. `secrets` holds the names of the Secrets that peers refer to: sources that can
    /// ask for single objects ask for no other Secrets.
    pub fn new(
        source: usize,
        sender: mpsc::Sender<Told>,
        secrets: watch::Receiver<Arc<BTreeSet<Name>>>,
    ) -> Self {
        Self { source, sender, secrets, look_again: Arc::default() }
    }

    /// Lets somebody ask the source to look again at all that it has.
    pub fn asked_by(self, look_again: Arc<Notify>) -> Self {
        Self { look_again, ..self }
    }

    /// Waits until somebody asks for a look at everything. A source that is told of every change need not care.
    pub async fn look_again(&self) {
        self.look_again.notified().await;
    }

    /// Tells some updates; waits while the receiver has too many.
    ///
    /// # Errors
    /// Nobody listens any more.
    pub async fn tell(&self, updates: Vec<Update>) -> Result<(), Stopped> {
        self.sender.send(Told { source: self.source, updates }).await.map_err(|_| Stopped)
    }

    /// The same for a thread of its own.
    ///
    /// # Errors
    /// Nobody listens any more.
    pub fn tell_blocking(&self, updates: Vec<Update>) -> Result<(), Stopped> {
        self.sender.blocking_send(Told { source: self.source, updates }).map_err(|_| Stopped)
    }

    /// Waits until nobody listens any more.
    pub async fn closed(&self) {
        self.sender.closed().await;
    }

    /// Whether nobody listens any more.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// The names of the Secrets that are needed, now and whenever they change.
    pub fn secrets(&self) -> watch::Receiver<Arc<BTreeSet<Name>>> {
        self.secrets.clone()
    }
}
