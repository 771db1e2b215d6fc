//! The source: one connection after the other, and what they tell.

use std::future::Future;
use std::pin::Pin;

use tokio::time::Instant;

use super::config::{Config, Endpoint, Members, Pace};
use super::connection::Connection;
use super::discovery::{self, Discovery};
use super::known::Known;
use super::resolver;
use super::session::Session;
use crate::engine::Settings;
use crate::syncer::backoff::{Backoff, chance};
use crate::syncer::mirror::{Board, Mirror, folders};
use crate::syncer::step::MAX_REASON;
use crate::syncer::turns::Turns;
use crate::syncer::{Syncer, Updates};
use crate::types::tame;

/// etcd as a source.
pub struct Etcd {
    config: Config,
    pace: Pace,
    folders: Vec<String>,
    mirror: Mirror,
}

impl std::fmt::Debug for Etcd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Etcd").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Etcd {
    /// Follows the etcd of a configuration.
    pub fn new(config: Config, settings: &Settings, pace: Pace) -> Self {
        Self { config, pace, folders: folders(settings), mirror: Mirror::new("etcd", settings) }
    }
}

impl Syncer for Etcd {
    fn name(&self) -> &str {
        "etcd"
    }

    fn run(self: Box<Self>, updates: Updates) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let Self { config, pace, folders, mirror } = *self;
            let board = Board::new(mirror, pace.grace);
            let client = Client { config: &config, pace: &pace, folders: &folders, board: &board };
            tokio::select! {
                () = client.follow() => {}
                _ = board.tell(&updates) => {}
                () = updates.closed() => {}
            }
        })
    }
}

/// The network's side.
struct Client<'a> {
    config: &'a Config,
    pace: &'a Pace,
    folders: &'a [String],
    board: &'a Board,
}

impl Client<'_> {
    async fn follow(&self) {
        let mut backoff = Backoff::default();
        let (mut turns, first) = (Turns::default(), chance());
        loop {
            let begun = Instant::now();
            let reason = match self.next(&mut turns, first).await {
                Ok(endpoint) => format!("{endpoint}: {}", self.connect(&endpoint).await),
                Err(reason) => reason,
            };
            // What a server says of itself can be anything, and of any length.
            let reason = tame(&reason, MAX_REASON);
            if self.board.state().mirror.is_in_sync() {
                turns.was_of_use();
                // Each connection reads everything, so one that ends soon after that is no success.
                if begun.elapsed() >= self.pace.longest_wait {
                    backoff.succeeded();
                }
            }
            self.board.state().mirror.is_stale();
            tracing::info!("etcd: {reason}");
            self.board.fail(reason);
            let wait = backoff.failed(self.pace.first_wait, self.pace.longest_wait, chance());
            tokio::time::sleep(wait).await;
        }
    }

    /// The member to try next; one that was tried comes again only after all others.
    async fn next(&self, turns: &mut Turns<Endpoint>, first: f64) -> Result<Endpoint, String> {
        let all = match &self.config.members {
            Members::Named(endpoints) => {
                let mut all = endpoints.all().to_vec();
                // The nodes of a cluster do not begin all with the same member.
                let first = (first * all.len() as f64) as usize % all.len();
                all.rotate_left(first);
                all
            }
            Members::Discovered(discovery) => self.discover(discovery).await?,
        };
        turns.next(&all).ok_or_else(|| "there is no member".to_owned())
    }

    async fn discover(&self, discovery: &Discovery) -> Result<Vec<Endpoint>, String> {
        discovery::members(&resolver::ask(discovery, self.pace.look_up).await, &self.config.tls, chance)
    }

    /// Connects and takes what comes until the connection ends, and says why it does.
    async fn connect(&self, endpoint: &Endpoint) -> String {
        let connection = match Connection::open(self.config, endpoint, self.pace).await {
            Ok(connection) => connection,
            Err(failure) => return failure.to_string(),
        };
        let instance = endpoint.to_string();
        let mut session = Session {
            connection,
            instance: &instance,
            known: Known { folders: self.folders, board: self.board },
            pace: self.pace,
        };
        let Err(failure) = session.follow().await;
        failure.to_string()
    }
}
