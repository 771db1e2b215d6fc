//! The sources: some collections each, or the Secrets that are needed.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::collection::Collection;
use super::merge::Merge;
use super::stream::{Note, Shared, Stream};
use crate::syncer::{Syncer, Update, Updates};
use crate::types::Name;

/// How many notes may wait.
const WAITING: usize = 4;

/// Collections that do not change.
pub(super) struct Collections {
    shared: Arc<Shared>,
    collections: Vec<Collection>,
    name: String,
}

impl Collections {
    /// The collections, of one kind.
    pub(super) fn new(shared: Arc<Shared>, collections: Vec<Collection>) -> Self {
        let name = collections.first().map_or("", Collection::resource);
        Self { name: format!("kubernetes/{name}"), shared, collections }
    }
}

impl Syncer for Collections {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(self: Box<Self>, updates: Updates) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let mut source = Source::new(updates);
            for (id, collection) in self.collections.into_iter().enumerate() {
                source.add(&self.shared, id, collection);
            }
            loop {
                let told = source.next().await;
                if !source.pass_on(told).await {
                    return;
                }
            }
        })
    }
}

/// The Secrets of a namespace that are needed at the time, each asked for by its name.
pub(super) struct Secrets {
    shared: Arc<Shared>,
    namespace: Name,
}

impl Secrets {
    pub(super) fn new(shared: Arc<Shared>, namespace: Name) -> Self {
        Self { shared, namespace }
    }
}

impl Syncer for Secrets {
    fn name(&self) -> &str {
        "kubernetes/secrets"
    }

    fn run(self: Box<Self>, updates: Updates) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let Self { shared, namespace } = *self;
            let mut needed = updates.secrets();
            let mut source = Source::new(updates);
            let mut is_open = true;
            loop {
                let names = needed.borrow_and_update().clone();
                let known: BTreeSet<Name> = source.merge.streams().cloned().collect();
                for name in names.difference(&known) {
                    source.add(&shared, name.clone(), Collection::secret(&namespace, name));
                }
                for name in known.difference(&names) {
                    if !source.remove(name).await {
                        return;
                    }
                }
                let mut names = Some(names);
                loop {
                    if source.merge.is_complete()
                        && let Some(names) = names.take()
                    {
                        let mut updates = vec![Update::Secrets(names)];
                        updates.extend(source.merge.settle());
                        if !source.tell(updates).await {
                            return;
                        }
                    }
                    let told = tokio::select! {
                        told = source.next() => told,
                        changed = needed.changed(), if is_open => {
                            is_open = changed.is_ok();
                            break;
                        }
                    };
                    if !source.pass_on(told).await {
                        return;
                    }
                }
            }
        })
    }
}

/// A source at work.
struct Source<I> {
    updates: Updates,
    merge: Merge<I>,
    streams: JoinSet<()>,
    handles: Vec<(I, AbortHandle)>,
    to: mpsc::Sender<(I, Note)>,
    from: mpsc::Receiver<(I, Note)>,
}

impl<I: Ord + Clone + Send + Sync + 'static> Source<I> {
    fn new(updates: Updates) -> Self {
        let (to, from) = mpsc::channel(WAITING);
        Self { updates, merge: Merge::new([]), streams: JoinSet::new(), handles: Vec::new(), to, from }
    }

    fn add(&mut self, shared: &Arc<Shared>, id: I, collection: Collection) {
        self.merge.add(id.clone());
        let stream = Stream::new(shared.clone(), collection, id.clone(), self.to.clone());
        self.handles.push((id, self.streams.spawn(stream.run())));
    }

    /// Whether anybody listens still.
    async fn remove(&mut self, id: &I) -> bool {
        for (_, handle) in self.handles.extract_if(.., |(other, _)| other == id) {
            handle.abort();
        }
        let updates = self.merge.remove(id);
        self.tell(updates).await
    }

    /// What a stream tells next; none once nobody listens any more. A call that is given up loses nothing.
    async fn next(&mut self) -> Option<(I, Note)> {
        loop {
            tokio::select! {
                () = self.updates.closed() => return None,
                told = self.from.recv() => return told,
                Some(ended) = self.streams.join_next() => {
                    if let Err(error) = ended
                        && let Ok(panic) = error.try_into_panic()
                    {
                        std::panic::resume_unwind(panic);
                    }
                }
            }
        }
    }

    /// Passes on what follows from what a stream told; whether anybody listens still.
    async fn pass_on(&mut self, told: Option<(I, Note)>) -> bool {
        let Some((id, note)) = told else { return false };
        let updates = self.merge.take(&id, note);
        self.tell(updates).await && self.settle().await
    }

    async fn settle(&mut self) -> bool {
        let updates = self.merge.settle();
        self.tell(updates).await
    }

    async fn tell(&self, updates: Vec<Update>) -> bool {
        updates.is_empty() || self.updates.tell(updates).await.is_ok()
    }
}
