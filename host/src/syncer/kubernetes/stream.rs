//! One collection, listed and watched for as long as the program runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use kube::client::Body;
use tokio::sync::mpsc;

use super::access::Access;
use super::collection::{Collection, encoded};
use super::failure::Failure;
use super::groups::{CalicoGroup, Groups};
use super::list::{Page, Splitter};
use super::object::{Change, read_event, read_item};
use super::pace::Pace;
use crate::manifest::MAX_OBJECT_BYTES;
use crate::resources::Defaults;
use crate::syncer::Stopped;
use crate::syncer::backoff::{Backoff, chance};

/// What all streams of a cluster share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) access: Access,
    pub(super) groups: Groups,
    pub(super) defaults: Defaults,
    pub(super) pace: Pace,
}

impl Shared {
    /// Reads address and credentials again if a failure could be theirs, and says how long to wait before the next attempt.
    pub(super) async fn wait_after(&self, failure: &Failure, backoff: &mut Backoff) -> Duration {
        self.access.renew_after(failure).await;
        let wait = backoff.failed(self.pace.first_wait, self.pace.longest_wait, chance());
        // A little later than asked for, each node at its own time.
        let asked = failure.retry_after().unwrap_or_default();
        wait.max(asked.mul_f64(1.0 + 0.5 * chance()))
    }
}

/// What a stream tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Note {
    /// A list begins: what it does not name is not there.
    Begin,
    /// Objects that the list names, or that changed.
    Changes(Vec<Change>),
    /// The list is complete.
    Complete,
    /// The stream follows what happens.
    InSync,
    /// The stream cannot follow.
    Lost(String),
    /// Something that somebody has to set right, while what was told stands.
    Problem(Option<String>),
}

/// How many objects are told at once at most.
const TOLD_AT_ONCE: usize = 256;

/// How long what is known of the API's groups holds.
const GROUPS_HOLD: Duration = Duration::from_secs(10);

/// The same for a stream whose kind was not in them.
const ABSENCE_HOLDS: Duration = Duration::from_millis(200);

/// How long a watch must have lasted to count as a success if it brought nothing.
const LASTED: Duration = Duration::from_secs(5);

/// Which objects were told as all that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// None yet.
    Never,
    /// That there are none, for want of the kind or of the permission.
    Nothing,
    /// Those of a complete list.
    Listed,
}

/// A collection that is followed.
#[derive(Debug)]
pub(super) struct Stream<I> {
    shared: Arc<Shared>,
    collection: Collection,
    id: I,
    to: mpsc::Sender<(I, Note)>,
    backoff: Backoff,
    /// The version to watch from, once there was a complete list.
    version: Option<String>,
    told: Told,
    /// Why the stream cannot follow, as it was told.
    lost: Option<String>,
    /// What somebody has to set right, as it was told.
    problem: Option<String>,
    /// Since when nothing can be followed.
    behind: Option<Instant>,
    /// Since when the kind is not there.
    absent: Option<Instant>,
    /// A page was refused because the list had become too old: the next one comes whole.
    unpaged: bool,
    /// Since when watches say nothing at all, and nothing was asked besides.
    silent: Option<Instant>,
}

impl<I: Clone + Send> Stream<I> {
    pub(super) fn new(
        shared: Arc<Shared>,
        collection: Collection,
        id: I,
        to: mpsc::Sender<(I, Note)>,
    ) -> Self {
        Self {
            shared,
            collection,
            id,
            to,
            backoff: Backoff::default(),
            version: None,
            told: Told::Never,
            lost: None,
            problem: None,
            behind: None,
            absent: None,
            unpaged: false,
            silent: None,
        }
    }

    /// Follows the collection until nobody listens any more.
    pub(super) async fn run(mut self) {
        while self.step().await.is_ok() {}
    }

    /// Does what is next: find out where the objects are, list them, or watch them.
    async fn step(&mut self) -> Result<(), Stopped> {
        if self.collection.is_calicos() {
            let pace = self.shared.pace;
            let old = if self.absent.is_some() { ABSENCE_HOLDS } else { GROUPS_HOLD };
            let served = self.shared.groups.served(&self.shared.access, old, pace.answer).await;
            let group = match served {
                Err(failure) => return self.failed(failure).await,
                Ok(None) => return self.absent(None).await,
                Ok(Some(served)) if !served.resources.contains(self.collection.resource()) => {
                    return self.absent(Some(served.group)).await;
                }
                Ok(Some(served)) => served.group,
            };
            if self.collection.group != group {
                self.collection.group = group;
                self.version = None;
            }
            self.absent = None;
        }
        let outcome = match self.version.take() {
            None => self.list().await,
            Some(version) => self.watch(version).await,
        };
        match outcome? {
            Ok(()) => Ok(()),
            Err(failure) => self.failed(failure).await,
        }
    }

    /// Lists everything, page by page.
    async fn list(&mut self) -> Result<Result<(), Failure>, Stopped> {
        let pace = self.shared.pace;
        let limit = if self.unpaged { String::new() } else { format!("limit={}&", pace.page) };
        // A list that takes another's place must not be older than what was told.
        let newest = pace.newest || self.told == Told::Listed;
        let from_cache = if newest { "" } else { "resourceVersion=0&" };
        let mut next: Option<String> = None;
        let mut version = None;
        loop {
            let path = match &next {
                None => format!("{}{limit}{from_cache}", self.collection.path()),
                Some(token) => format!("{}{limit}continue={}", self.collection.path(), encoded(token)),
            };
            match self.page(&path, next.is_none()).await? {
                Ok(page) => {
                    // The first page's: later ones may be newer, and what happened in between would be missed.
                    let version = &*version.get_or_insert(page.version);
                    next = page.next;
                    if next.is_none() {
                        self.version = Some(version.clone());
                        (self.unpaged, self.silent) = (false, None);
                        self.told = Told::Listed;
                        self.tell(Note::Complete).await?;
                        return Ok(Ok(self.follows().await?));
                    }
                }
                Err(failure) if next.is_some() && failure.is_passing() => self.failed(failure).await?,
                Err(failure) => {
                    self.unpaged = next.is_some() && failure.is_expired();
                    return Ok(Err(failure));
                }
            }
        }
    }

    async fn page(&mut self, path: &str, is_first: bool) -> Result<Result<Page, Failure>, Stopped> {
        let pace = self.shared.pace;
        let mut body = match self.shared.access.get(path, pace.answer).await {
            Ok(answer) => answer.into_body(),
            Err(failure) => return Ok(Err(failure)),
        };
        if is_first {
            self.tell(Note::Begin).await?;
        }
        let mut splitter = Splitter::default();
        let mut changes = Vec::new();
        loop {
            let piece = match piece(&mut body, pace.answer).await {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(failure) => return Ok(Err(failure)),
            };
            let (collection, defaults) = (&self.collection, &self.shared.defaults);
            let taken = splitter.push(&piece, &mut |item| {
                changes.push(read_item(item, collection, defaults)?);
                Ok(())
            });
            if let Err(failure) = taken {
                return Ok(Err(failure));
            }
            if changes.len() >= TOLD_AT_ONCE {
                self.tell(Note::Changes(std::mem::take(&mut changes))).await?;
            }
        }
        if !changes.is_empty() {
            self.tell(Note::Changes(changes)).await?;
        }
        Ok(splitter.finish())
    }

    /// Watches from a version until the watch ends; `self.version` is then where the next one begins.
    async fn watch(&mut self, version: String) -> Result<Result<(), Failure>, Stopped> {
        let pace = self.shared.pace;
        let begun = Instant::now();
        // Not all watches of a program, and of all nodes, end at once.
        let lasts = pace.watch.mul_f64(1.0 - 0.1 * chance()).as_secs().max(1);
        let path = format!(
            "{}watch=1&allowWatchBookmarks=true&timeoutSeconds={lasts}&resourceVersion={}",
            self.collection.path(),
            encoded(&version)
        );
        let confirmed = match self.silent {
            Some(since) if since.elapsed() >= pace.silence => self.confirm(&version).await.map(|()| begun),
            since => Ok(since.unwrap_or(begun)),
        };
        self.version = Some(version);
        match confirmed {
            Ok(since) => self.silent = Some(since),
            Err(failure) => return Ok(Err(failure)),
        }
        let mut body = match self.shared.access.get(&path, pace.answer).await {
            Ok(answer) => answer.into_body(),
            Err(failure) => return Ok(Err(failure)),
        };
        self.follows().await?;
        let mut text = Vec::new();
        loop {
            let piece = match piece(&mut body, pace.silence).await {
                Ok(Some(piece)) => piece,
                // A watch that ends, is cut or falls silent goes on where it was, at once if it was of any use.
                end => {
                    self.behind = Some(Instant::now());
                    if self.silent.is_none() || begun.elapsed() >= LASTED {
                        self.backoff.succeeded();
                        return Ok(Ok(()));
                    }
                    let failure = end.err();
                    return Ok(Err(
                        failure.unwrap_or_else(|| Failure::Broken("the watch ended at once".to_owned()))
                    ));
                }
            };
            let (mut used, mut looked) = (0, text.len());
            text.extend_from_slice(&piece);
            let mut changes = Vec::new();
            while let Some(length) = text[looked..].iter().position(|&byte| byte == b'\n') {
                let line = &text[used..looked + length];
                used = looked + length + 1;
                looked = used;
                if line.trim_ascii().is_empty() {
                    continue;
                }
                match read_event(line, &self.collection, &self.shared.defaults) {
                    Ok(step) => {
                        self.version = Some(step.version);
                        changes.extend(step.change);
                    }
                    Err(failure) => {
                        self.tell(Note::Changes(changes)).await?;
                        return Ok(Err(failure));
                    }
                }
            }
            if used > 0 {
                text.drain(..used);
                self.silent = None;
                self.backoff.succeeded();
            }
            if !changes.is_empty() {
                self.tell(Note::Changes(changes)).await?;
            }
            if text.len() > MAX_OBJECT_BYTES {
                let reason = "the watch has an event that is larger than any that is read";
                return Ok(Err(Failure::Broken(reason.to_owned())));
            }
        }
    }

    /// Asks whether the API server has come to a version. A watch from one that it does not have says nothing until it does,
    /// which may be never after older data was put back.
    async fn confirm(&self, version: &str) -> Result<(), Failure> {
        let path = format!(
            "{}limit=1&resourceVersion={}&resourceVersionMatch=NotOlderThan",
            self.collection.path(),
            encoded(version)
        );
        self.shared.access.get_whole(&path, self.shared.pace.answer).await.map(drop)
    }

    /// Says that all is well.
    async fn follows(&mut self) -> Result<(), Stopped> {
        self.solved().await?;
        self.found().await
    }

    /// Nobody has to set anything right any more.
    async fn solved(&mut self) -> Result<(), Stopped> {
        match self.problem.take() {
            Some(_) => self.tell(Note::Problem(None)).await,
            None => Ok(()),
        }
    }

    /// The stream is not lost any more.
    async fn found(&mut self) -> Result<(), Stopped> {
        self.behind = None;
        match self.lost.take() {
            Some(_) => self.tell(Note::InSync).await,
            None => Ok(()),
        }
    }

    /// Says what a failure means, and waits before the next attempt.
    async fn failed(&mut self, failure: Failure) -> Result<(), Stopped> {
        let pace = self.shared.pace;
        let what = self.collection.resource();
        let mut wait = self.shared.wait_after(&failure, &mut self.backoff).await;
        if failure.is_expired() {
            self.version = None;
            self.lost(format!(
                "{what}: what happened meanwhile is no longer known, they are listed again: {failure}"
            ))
            .await?;
            wait += pace.spread.mul_f64(chance());
        } else if failure.is_forbidden()
            && (self.told != Told::Never || self.collection.can_be_done_without())
        {
            let stands = match self.told {
                Told::Listed => "what was last known stands",
                Told::Never | Told::Nothing => "they count as none",
            };
            self.problem(format!("{what} may not be read, {stands}: {failure}; {}", self.permission()))
                .await?;
            if self.told == Told::Never {
                self.nothing().await?;
            }
            // Whatever kept it from being followed before: there is nothing else to wait for now.
            (self.lost, self.behind) = (None, None);
            self.tell(Note::InSync).await?;
        } else if failure.is_forbidden() {
            self.lost(format!("{what} may not be read: {failure}; {}", self.permission())).await?;
        } else {
            if failure.is_not_found() {
                self.shared.groups.forget().await;
            }
            let behind = *self.behind.get_or_insert_with(Instant::now);
            if self.told == Told::Never || behind.elapsed() >= pace.grace {
                self.lost(format!("{what} cannot be read: {failure}")).await?;
            }
        }
        self.wait(wait).await
    }

    fn permission(&self) -> String {
        let group = match self.collection.api_version().split_once('/') {
            Some((group, _)) => format!(" of the group {group}"),
            None => String::new(),
        };
        format!("allow list and watch of {}{group}", self.collection.resource())
    }

    /// The API server does not have the kind, in the group or in any.
    async fn absent(&mut self, group: Option<CalicoGroup>) -> Result<(), Stopped> {
        let pace = self.shared.pace;
        let what = self.collection.resource();
        let since = *self.absent.get_or_insert_with(Instant::now);
        // The kind may come back with other objects and no history.
        self.version = None;
        if self.told == Told::Listed && since.elapsed() < pace.vanished {
            self.lost(format!("{what}: the API server has no such kind any more")).await?;
        } else {
            let is_new = self.told != Told::Nothing;
            let none = "there are none until its CustomResourceDefinition is installed";
            match group {
                None => {
                    let groups = [CalicoGroup::Crd, CalicoGroup::V3].map(CalicoGroup::as_str).join(" nor ");
                    self.problem(format!("{what}: the API server has neither {groups}; {none}")).await?;
                }
                // Clusters that are older than the kind do not have it.
                Some(group) if is_new => {
                    tracing::warn!("{what}: no such kind in {}; {none}", group.as_str());
                    self.solved().await?;
                }
                Some(_) => self.solved().await?,
            }
            if is_new {
                self.nothing().await?;
            }
            self.found().await?;
        }
        let wait = self.backoff.failed(pace.first_wait, pace.longest_wait, chance());
        self.wait(wait).await
    }

    /// Tells that there are no objects.
    async fn nothing(&mut self) -> Result<(), Stopped> {
        self.told = Told::Nothing;
        self.lost = None;
        self.tell(Note::Begin).await?;
        self.tell(Note::Complete).await
    }

    async fn lost(&mut self, reason: String) -> Result<(), Stopped> {
        if self.lost.as_ref() == Some(&reason) {
            return Ok(());
        }
        self.lost = Some(reason.clone());
        self.tell(Note::Lost(reason)).await
    }

    async fn problem(&mut self, problem: String) -> Result<(), Stopped> {
        if self.problem.as_ref() == Some(&problem) {
            return Ok(());
        }
        tracing::error!("{problem}");
        self.problem = Some(problem.clone());
        self.tell(Note::Problem(Some(problem))).await
    }

    async fn tell(&self, note: Note) -> Result<(), Stopped> {
        self.to.send((self.id.clone(), note)).await.map_err(|_| Stopped)
    }

    async fn wait(&self, time: Duration) -> Result<(), Stopped> {
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            () = self.to.closed() => Err(Stopped),
        }
    }
}

/// The next piece of a body, none at its end.
async fn piece(body: &mut Body, at_most: Duration) -> Result<Option<bytes::Bytes>, Failure> {
    loop {
        match tokio::time::timeout(at_most, body.frame()).await {
            Err(_) => return Err(Failure::Broken(format!("nothing came for {} s", at_most.as_secs_f32()))),
            Ok(None) => return Ok(None),
            Ok(Some(Err(error))) => return Err(Failure::from_error(&error)),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}
