//! What is asked on one connection: everything once, if need be, and then every change.

use std::convert::Infallible;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::config::Pace;
use super::connection::Connection;
use super::failure::Failure;
use super::known::{Known, range, within};
use super::message::{Asked, Header, KeyValue, RangeRequest, WatchProgress, WatchRequest};

/// A conversation with a member.
pub(super) struct Session<'a> {
    pub(super) connection: Connection,
    /// How the member is called.
    pub(super) instance: &'a str,
    pub(super) known: Known<'a>,
    pub(super) pace: &'a Pace,
    /// Whether everything was known at any time.
    pub(super) was_in_sync: bool,
}

impl Session<'_> {
    /// Follows the folders until it cannot go on, and says why.
    pub(super) async fn follow(&mut self) -> Result<Infallible, Failure> {
        let mut now = self.now().await?;
        self.known.board.follows(self.instance.to_owned());
        let mut has_listed = false;
        match self.known.history.objection(&now) {
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
        let folder = &self.known.folders[0];
        let request = RangeRequest { limit: 1, keys_only: true, ..range(folder) };
        let answer = self.connection.range(request).await.map_err(|failure| reading(folder, failure))?;
        let header = answer.header.filter(|header| header.revision > 0);
        header.ok_or_else(|| Failure::Other("the answer does not say of when it is".to_owned()))
    }

    /// Reads all folders as they were at one revision.
    async fn list(&mut self, now: Header, reason: &str) -> Result<(), Failure> {
        tracing::info!("etcd at {}: everything is read: {reason}", self.instance);
        self.known.history.forget();
        self.known.board.state().mirror.begins();
        self.known.board.fail_later(format!("{}: not all has been read yet", self.instance));
        let folders = self.known.folders;
        for folder in folders {
            self.list_folder(folder, now.revision).await.map_err(|failure| reading(folder, failure))?;
        }
        self.known.history.read_at(now);
        let mut state = self.known.board.state();
        state.mirror.is_complete();
        self.was_in_sync |= state.settle();
        drop(state);
        self.known.board.changed();
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
            let mut state = self.known.board.state();
            for KeyValue { key, value, .. } in page.kvs.iter().filter(|pair| within(folder, pair)) {
                state.mirror.set(key, value);
            }
            drop(state);
            self.known.board.changed();
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
        let (ask, asked) = mpsc::channel(self.known.folders.len() + 1);
        for create in self.known.watches() {
            // There is room for all of them.
            let _ = ask.try_send(WatchRequest { asked: Some(Asked::Create(create)) });
        }
        let mut stream = self.connection.watch(asked).await.map_err(|failure| failure.at("watching"))?;
        let mut is_behind = !self.known.board.state().mirror.is_in_sync();
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
                    let all_at = self.known.take(answer)?;
                    if is_behind && all_at.is_some_and(|revision| revision >= current) {
                        is_behind = false;
                        let mut state = self.known.board.state();
                        state.mirror.is_current();
                        self.was_in_sync |= state.settle();
                        drop(state);
                        self.known.board.changed();
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
}

fn reading(folder: &str, failure: Failure) -> Failure {
    failure.at(&format!("reading {folder}"))
}
