//! The source: one connection after the other, and what they tell.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::config::{Config, Pace};
use super::connection::Connection;
use super::discovery::Discovery;
use super::mirror::Mirror;
use super::session::Session;
use crate::engine::Settings;
use crate::syncer::backoff::{Backoff, chance};
use crate::syncer::kubernetes::Access;
use crate::syncer::{Stopped, Syncer, Update, Updates};
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
        let mirror = Mirror::new(settings);
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
            let board = Board { state: Mutex::new(State { mirror, failure: None }), news: Notify::new() };
            let client = Client { config: &config, pace: &pace, node: &node, board: &board };
            tokio::select! {
                () = client.follow(discovery) => {}
                _ = board.tell(&pace, &updates) => {}
                () = updates.closed() => {}
            }
        })
    }
}

/// Between the connection and whoever takes the updates: neither waits for the other.
struct Board {
    state: Mutex<State>,
    news: Notify,
}

struct State {
    mirror: Mirror,
    /// Why there is no connection that is in sync, and since when.
    failure: Option<(Instant, String)>,
}

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What went wrong, in place of what went wrong before. What has been the case since longer stays so.
    fn fail(&self, reason: String) {
        self.fail_from(Instant::now(), reason);
    }

    /// The same for what is wrong only when it lasts until then.
    fn fail_from(&self, since: Instant, reason: String) {
        let mut state = self.state();
        let since = state.failure.take().map_or(since, |(before, _)| before.min(since));
        state.failure = Some((since, reason));
        drop(state);
        self.news.notify_one();
    }

    /// Passes on what there is, for as long as somebody listens.
    async fn tell(&self, pace: &Pace, updates: &Updates) -> Result<(), Stopped> {
        loop {
            let (told, wake) = self.next(pace);
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
    fn next(&self, pace: &Pace) -> (Vec<Update>, Option<Instant>) {
        let mut state = self.state();
        let State { mirror, failure } = &mut *state;
        let mut told = mirror.take();
        let Some((since, reason)) = failure else { return (told, None) };
        // Whoever has not begun yet has nothing to lose by hearing at once why.
        let at = if mirror.was_in_sync() { *since + pace.grace } else { *since };
        if at > Instant::now() {
            return (told, Some(at));
        }
        told.extend(mirror.lost(reason));
        (told, None)
    }
}

/// The longest reason that is kept, in bytes.
pub(super) const MAX_REASON: usize = 1024;

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
                    self.board.state().mirror.disconnected();
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
        self.board.state().mirror.connected();
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
                if state.mirror.is_in_sync() {
                    state.failure = None;
                    *was_in_sync = true;
                }
                taken
            };
            if taken.reads {
                self.board.fail(format!("{address}: the server reads its datastore"));
            }
            if taken.has_message {
                deadline = Instant::now() + self.config.read;
                self.board.news.notify_one();
            }
            if let Some(version) = session.version().filter(|_| !is_known) {
                is_known = true;
                tracing::info!("Typha at {address}, version {version:?}, is followed");
                if !*was_in_sync {
                    let reason = format!("{address}: the server has not told all that there is yet");
                    self.board.fail_from(Instant::now() + self.pace.grace, reason);
                }
            }
            if !taken.answer.is_empty() {
                connection.send(&taken.answer, self.config.write).await?;
            }
        }
    }
}
