//! What is asked on one connection: everything once, and then every change.

use std::convert::Infallible;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::config::Pace;
use super::connection::Connection;
use super::failure::Failure;
use super::known::{Known, range, within};
use super::message::{Asked, KeyValue, RangeRequest, WatchProgress, WatchRequest};

/// A conversation with a member.
pub(super) struct Session<'a> {
    pub(super) connection: Connection,
    /// How the member is called.
    pub(super) instance: &'a str,
    pub(super) known: Known<'a>,
    pub(super) pace: &'a Pace,
}

impl Session<'_> {
    /// Follows the folders until it cannot go on, and says why.
    pub(super) async fn follow(&mut self) -> Result<Infallible, Failure> {
        let reached = self.list().await?;
        match self.watch(reached).await {
            // Once is enough: a server that forgets faster than it tells is no better at the next try.
            Err(Failure::Compacted) => {
                tracing::info!("etcd at {}: what happened meanwhile is no longer known there", self.instance);
                let reached = self.list().await?;
                self.watch(reached).await
            }
            other => other,
        }
    }

    /// Where the cluster is: at least at all that anybody was ever told of.
    async fn now(&mut self) -> Result<i64, Failure> {
        let folder = &self.known.folders[0];
        let request = RangeRequest { limit: 1, keys_only: true, ..range(folder) };
        let answer = self.connection.range(request).await.map_err(|failure| reading(folder, failure))?;
        let revision = answer.header.map(|header| header.revision).filter(|revision| *revision > 0);
        revision.ok_or_else(|| Failure::Other("the answer does not say of when it is".to_owned()))
    }

    /// Reads all folders as they were at one revision, and says which.
    async fn list(&mut self) -> Result<i64, Failure> {
        let now = self.now().await?;
        let Known { folders, board } = self.known;
        board.follows(self.instance.to_owned());
        board.state().mirror.begins();
        board.fail_later(format!("{}: not all has been read yet", self.instance));
        for folder in folders {
            self.list_folder(folder, now).await.map_err(|failure| reading(folder, failure))?;
        }
        let mut state = board.state();
        state.mirror.is_complete();
        state.settle();
        drop(state);
        board.changed();
        Ok(now)
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

    /// Watches all folders, which are known up to this revision.
    async fn watch(&mut self, reached: i64) -> Result<Infallible, Failure> {
        let (ask, asked) = mpsc::channel(self.known.folders.len() + 1);
        for create in self.known.watches(reached) {
            // There is room for all of them.
            let _ = ask.try_send(WatchRequest { asked: Some(Asked::Create(create)) });
        }
        let mut stream = self.connection.watch(asked).await.map_err(|failure| failure.at("watching"))?;
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
                    self.known.take(answer)?;
                }
                () = tokio::time::sleep_until(next) => {
                    // One that takes no questions is silent soon.
                    let _ = ask.try_send(WatchRequest { asked: Some(Asked::Progress(WatchProgress {})) });
                    next = Instant::now() + self.pace.ask;
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
