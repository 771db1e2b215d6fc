//! The source: one connection after the other, and what they tell.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::time::Instant;

use super::config::{Config, Pace};
use super::connection::Connection;
use super::discovery::Discovery;
use super::session::Session;
use crate::engine::Settings;
use crate::syncer::backoff::{Backoff, chance};
use crate::syncer::kubernetes::Access;
use crate::syncer::mirror::{Board, Mirror};
use crate::syncer::step::MAX_REASON;
use crate::syncer::{Syncer, Updates};
use crate::types::{Name, tame};

/// Typha as a source.
pub struct Typha {
    config: Config,
    pace: Pace,
    node: Name,
    discovery: Discovery,
    mirror: Mirror,
}

impl std::fmt::Debug for Typha {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Typha").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Typha {
    /// Follows the Typha of a configuration. `access` leads to the Kubernetes API that has Typha's Service, where it is
    /// found by one.
    pub fn new(config: Config, access: Option<Access>, settings: &Settings, pace: Pace) -> Self {
        let discovery = Discovery::new(config.at.clone(), access, settings.kubernetes_node.clone());
        let mirror = Mirror::new("Typha", settings);
        Self { config, pace, node: settings.node.clone(), discovery, mirror }
    }
}

impl Syncer for Typha {
    fn name(&self) -> &str {
        "typha"
    }

    fn run(self: Box<Self>, updates: Updates) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let Self { config, pace, node, discovery, mirror } = *self;
            let board = Board::new(mirror, pace.grace);
            let client = Client { config: &config, pace: &pace, node: &node, board: &board };
            tokio::select! {
                () = client.follow(discovery) => {}
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
    node: &'a Name,
    board: &'a Board,
}

impl Client<'_> {
    async fn follow(&self, mut discovery: Discovery) {
        let mut backoff = Backoff::default();
        loop {
            match discovery.next().await {
                Err(reason) => self.board.fail(reason),
                Ok(address) => {
                    let (reason, was_in_sync) = self.connect(address).await;
                    // What a server says of itself can be anything, and of any length.
                    let reason = tame(&format!("{address}: {reason}"), MAX_REASON);
                    self.board.state().mirror.is_stale();
                    if was_in_sync {
                        discovery.was_of_use();
                        backoff.succeeded();
                    }
                    tracing::info!("Typha at {reason}");
                    self.board.fail(reason);
                }
            }
            let wait = backoff.failed(self.pace.first_wait, self.pace.longest_wait, chance());
            tokio::time::sleep(wait).await;
        }
    }

    /// Connects and takes what comes until the connection ends: why it does, and whether it ever was in sync.
    async fn connect(&self, address: SocketAddr) -> (String, bool) {
        let mut connection = match Connection::open(self.config, address, self.pace.dial).await {
            Ok(connection) => connection,
            Err(reason) => return (reason, false),
        };
        let mut was_in_sync = false;
        let Err(reason) = self.converse(address, &mut connection, &mut was_in_sync).await;
        (reason, was_in_sync)
    }

    async fn converse(
        &self,
        address: SocketAddr,
        connection: &mut Connection,
        was_in_sync: &mut bool,
    ) -> Result<std::convert::Infallible, String> {
        // Never zero: servers take that for none.
        let (mut session, hello) = Session::begin(self.node.as_str(), chance().to_bits() | 1);
        connection.send(&hello, self.config.write).await?;
        self.board.state().mirror.begins();
        let mut is_known = false;
        let mut deadline = Instant::now() + self.config.read;
        loop {
            let bytes = match tokio::time::timeout_at(deadline, connection.receive()).await {
                Ok(bytes) => bytes?,
                Err(_) => {
                    return Err(format!(
                        "the server has said nothing that is whole for {} s",
                        self.config.read.as_secs_f32()
                    ));
                }
            };
            let taken = {
                let mut state = self.board.state();
                let taken = session.take(bytes, &mut state.mirror)?;
                *was_in_sync |= state.settle();
                taken
            };
            if taken.reads {
                self.board.fail(format!("{address}: the server reads its datastore"));
            }
            if taken.has_message {
                deadline = Instant::now() + self.config.read;
                self.board.changed();
            }
            if let Some(version) = session.version().filter(|_| !is_known) {
                is_known = true;
                tracing::info!("Typha at {address}, version {version:?}, is followed");
                self.board.follows(address.to_string());
                if !*was_in_sync {
                    let reason = format!("{address}: the server has not told all that there is yet");
                    self.board.fail_later(reason);
                }
            }
            if !taken.answer.is_empty() {
                connection.send(&taken.answer, self.config.write).await?;
            }
        }
    }
}
