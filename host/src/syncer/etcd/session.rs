//! What is asked on one connection: everything once, if need be, and then every change.

use std::convert::Infallible;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::config::Pace;
use super::connection::Connection;
use super::failure::Failure;
use super::history::History;
use super::message::{
    Asked, Header, KeyValue, RangeRequest, WatchCreate, WatchProgress, WatchRequest, WatchResponse,
};
use crate::syncer::mirror::Board;

/// A folder of keys: all that begin with its name, which ends in a slash.
pub(super) fn range(folder: &str) -> RangeRequest {
    let mut end = folder.as_bytes().to_vec();
    // The first key behind all that begin with a slash at this place.
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    RangeRequest {
        key: Bytes::copy_from_slice(folder.as_bytes()),
        range_end: end.into(),
        ..RangeRequest::default()
    }
}

/// A conversation with a member.
pub(super) struct Session<'a> {
    pub(super) connection: Connection,
    /// How the member is called.
    pub(super) instance: &'a str,
    pub(super) folders: &'a [String],
    pub(super) history: &'a mut History,
    pub(super) board: &'a Board,
    pub(super) pace: &'a Pace,
    /// Whether everything was known at any time.
    pub(super) was_in_sync: bool,
}

impl Session<'_> {
    /// Follows the folders until it cannot go on, and says why.
    pub(super) async fn follow(&mut self) -> Result<Infallible, Failure> {
        let mut now = self.now().await?;
        self.board.follows(self.instance.to_owned());
        let mut has_listed = false;
        match self.history.objection(&now) {
            Some(reason) => {
                self.list(now, reason).await?;
                has_listed = true;
            }
            None => tracing::info!("etcd at {}: goes on where it was", self.instance),
        }
        loop {
            match self.watch(now.revision).await {
                // Once is enough: a server that forgets faster than it tells is no better at the next try.
                Err(Failure::Compacted) if !has_listed => {
                    now = self.now().await?;
                    self.list(now, "what happened meanwhile is no longer known there").await?;
                    has_listed = true;
                }
                Err(other) => return Err(other),
                Ok(never) => match never {},
            }
        }
    }

    /// Where the cluster is: at least at all that anybody was ever told of.
    async fn now(&mut self) -> Result<Header, Failure> {
        let folder = &self.folders[0];
        let request = RangeRequest { limit: 1, keys_only: true, ..range(folder) };
        let answer = self.connection.range(request).await.map_err(|failure| reading(folder, failure))?;
        let header = answer.header.filter(|header| header.revision > 0);
        header.ok_or_else(|| Failure::Other("the answer does not say of when it is".to_owned()))
    }

    /// Reads all folders as they were at one revision.
    async fn list(&mut self, now: Header, reason: &str) -> Result<(), Failure> {
        tracing::info!("etcd at {}: everything is read: {reason}", self.instance);
        self.history.forget();
        self.board.state().mirror.begins();
        self.board.fail_later(format!("{}: not all has been read yet", self.instance));
        let folders = self.folders;
        for folder in folders {
            self.list_folder(folder, now.revision).await.map_err(|failure| reading(folder, failure))?;
        }
        self.history.read_at(now);
        let mut state = self.board.state();
        state.mirror.is_complete();
        self.was_in_sync |= state.settle();
        drop(state);
        self.board.changed();
        Ok(())
    }

    async fn list_folder(&mut self, folder: &str, revision: i64) -> Result<(), Failure> {
        let mut request = RangeRequest { revision, limit: i64::from(self.pace.page.max(1)), ..range(folder) };
        loop {
            let page = match self.connection.range(request.clone()).await {
                Err(Failure::TooLarge(_)) if request.limit > 1 => {
                    request.limit = (request.limit / 4).max(1);
                    continue;
                }
                page => page?,
            };
            let mut state = self.board.state();
            for KeyValue { key, value, .. } in page.kvs.iter().filter(|pair| within(folder, pair)) {
                state.mirror.set(key, value);
            }
            drop(state);
            self.board.changed();
            if !page.more {
                return Ok(());
            }
            let Some(last) = page.kvs.last().filter(|last| last.key >= request.key) else {
                return Err(Failure::Other("a page does not go on from the one before".to_owned()));
            };
            request.key = [&last.key[..], &[0]].concat().into();
        }
    }

    /// Watches all folders from where they are known; they are current at this revision.
    async fn watch(&mut self, current: i64) -> Result<Infallible, Failure> {
        let (ask, asked) = mpsc::channel(self.folders.len() + 1);
        for (at, folder) in self.folders.iter().enumerate() {
            let RangeRequest { key, range_end, .. } = range(folder);
            let create = WatchCreate {
                key,
                range_end,
                start_revision: self.history.from(at),
                progress_notify: true,
                watch_id: id(at),
                fragment: true,
            };
            // There is room for all of them.
            let _ = ask.try_send(WatchRequest { asked: Some(Asked::Create(create)) });
        }
        let mut stream = self.connection.watch(asked).await.map_err(|failure| failure.at("watching"))?;
        let mut is_behind = !self.board.state().mirror.is_in_sync();
        let mut silent_at = Instant::now() + self.pace.silence;
        let mut next = Instant::now();
        loop {
            tokio::select! {
                answer = stream.message() => {
                    let answer = answer.map_err(|status| Failure::from(status).at("watching"))?;
                    let Some(answer) = answer else {
                        return Err(Failure::Other("the server has ended the watch".to_owned()));
                    };
                    silent_at = Instant::now() + self.pace.silence;
                    let all_at = self.take(answer)?;
                    if is_behind && all_at.is_some_and(|revision| revision >= current) {
                        is_behind = false;
                        let mut state = self.board.state();
                        state.mirror.is_current();
                        self.was_in_sync |= state.settle();
                        drop(state);
                        self.board.changed();
                    }
                }
                () = tokio::time::sleep_until(next) => {
                    // One that takes no questions is silent soon.
                    let _ = ask.try_send(WatchRequest { asked: Some(Asked::Progress(WatchProgress {})) });
                    next = Instant::now() + if is_behind { self.pace.ask_behind } else { self.pace.ask };
                }
                () = tokio::time::sleep_until(silent_at) => {
                    return Err(Failure::Other(format!(
                        "the watch has said nothing for {} s (it must be etcd 3.4 or later)", self.pace.silence.as_secs_f32()
                    )));
                }
            }
        }
    }

    /// Takes an answer; the revision that all watches have reached, if it says so.
    fn take(&mut self, answer: WatchResponse) -> Result<Option<i64>, Failure> {
        if answer.canceled {
            return Err(match answer.compact_revision > 0 {
                true => Failure::Compacted,
                false => Failure::told(&answer.cancel_reason).at("a watch was ended"),
            });
        }
        let Some(header) = answer.header else {
            return Err(Failure::Other("an answer of a watch does not say of when it is".to_owned()));
        };
        self.history.saw(&header);
        if answer.created {
            return Ok(None);
        }
        let folder = (0..self.folders.len()).find(|at| id(*at) == answer.watch_id);
        let Some(at) = folder else {
            let all = answer.watch_id == -1 && answer.events.is_empty();
            return match all {
                true => Ok(Some(header.revision)),
                false => Err(Failure::Other("an answer of a watch that was not asked for".to_owned())),
            };
        };
        let reached = match answer.events.last() {
            None => Some(header.revision),
            Some(event) => event.kv.as_ref().map(|pair| pair.mod_revision),
        };
        if !answer.events.is_empty() {
            let mut state = self.board.state();
            for event in &answer.events {
                let Some(pair) = event.kv.as_ref().filter(|pair| within(&self.folders[at], pair)) else {
                    continue;
                };
                match event.r#type {
                    0 => state.mirror.set(&pair.key, &pair.value),
                    1 => state.mirror.unset(&pair.key),
                    other => return Err(Failure::Other(format!("an event of the unknown type {other}"))),
                }
            }
            drop(state);
            self.board.changed();
        }
        // What comes in parts is known with the last of them.
        if let Some(reached) = reached.filter(|_| !answer.fragment) {
            self.history.knows(at, reached);
        }
        Ok(None)
    }
}

/// The number of a folder's watch: none has 0, by which servers choose one themselves.
fn id(folder: usize) -> i64 {
    i64::try_from(folder).unwrap_or(i64::MAX - 1) + 1
}

/// Whether a key is of the folder that was asked for.
fn within(folder: &str, pair: &KeyValue) -> bool {
    pair.key.starts_with(folder.as_bytes())
}

fn reading(folder: &str, failure: Failure) -> Failure {
    failure.at(&format!("reading {folder}"))
}
