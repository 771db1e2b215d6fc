//! A wire between a server and its clients that does harm when it is told to.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::follow::{Followed, Store, pace};
use crate::objects::peer;

/// What becomes of what a server sends, after so many bytes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harm {
    /// The connection is cut.
    Cut(usize),
    /// Nothing comes any more.
    Silence(usize),
    /// Something else comes in its place.
    Garbage(usize),
    /// A byte is another one.
    Flip(usize),
    /// It comes a few bytes at a time, from the start.
    Slow,
}

/// A wire to a server. When it is dropped, it is cut.
pub(crate) struct Wire {
    pub(crate) address: SocketAddr,
    harm: Arc<Mutex<Option<Harm>>>,
    is_silent: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Wire {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        Self::between(server, ([127, 0, 0, 1], 0).into()).await
    }

    /// One that clients find at an address.
    pub(crate) async fn between(server: SocketAddr, at: SocketAddr) -> Self {
        let listener = loop {
            match TcpListener::bind(at).await {
                // One that was dropped a moment ago goes once its task is run again.
                Err(error) if error.kind() == ErrorKind::AddrInUse && at.port() != 0 => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                bound => break bound.unwrap(),
            }
        };
        let address = listener.local_addr().unwrap();
        let harm: Arc<Mutex<Option<Harm>>> = Arc::default();
        let (shared, is_silent) = (harm.clone(), Arc::<AtomicBool>::default());
        let silent = is_silent.clone();
        let connections = Arc::<AtomicUsize>::default();
        let taken = connections.clone();
        let task = tokio::spawn(async move {
            let mut carried = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                taken.fetch_add(1, Ordering::Relaxed);
                // It is done to one connection.
                let harm = shared.lock().unwrap().take();
                carried.spawn(carry(client, server, harm, silent.clone()));
            }
        });
        Self { address, harm, is_silent, connections, task }
    }

    /// Does harm to the next connection.
    pub(crate) fn harm(&self, harm: Harm) {
        *self.harm.lock().unwrap() = Some(harm);
    }

    /// Whether a connection has fallen silent.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::Relaxed)
    }

    /// How many connections there have been.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.harm.lock().unwrap().is_none()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(client: TcpStream, server: SocketAddr, harm: Option<Harm>, is_silent: Arc<AtomicBool>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let there = tokio::io::copy(&mut from_client, &mut to_server);
    let back = async {
        let mut buffer = vec![0; 4096];
        let mut so_far = 0;
        loop {
            let size = from_server.read(&mut buffer).await?;
            if size == 0 {
                return Ok(());
            }
            let piece = &mut buffer[..size];
            let before = |at: usize| at.saturating_sub(so_far).min(size);
            match harm {
                Some(Harm::Cut(at)) if at < so_far + size => {
                    to_client.write_all(&piece[..before(at)]).await?;
                    return Ok(());
                }
                Some(Harm::Silence(at)) if at < so_far + size => {
                    to_client.write_all(&piece[..before(at)]).await?;
                    is_silent.store(true, Ordering::Relaxed);
                    std::future::pending::<()>().await;
                }
                Some(Harm::Garbage(at)) if at < so_far + size => {
                    to_client.write_all(&piece[..before(at)]).await?;
                    to_client.write_all(&[0xa5; 4096]).await?;
                    std::future::pending::<()>().await;
                }
                Some(Harm::Slow) => {
                    for few in piece.chunks(64) {
                        to_client.write_all(few).await?;
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
                harm => {
                    if let Some(Harm::Flip(at)) = harm
                        && (so_far..so_far + size).contains(&at)
                    {
                        piece[at - so_far] ^= 0x55;
                    }
                    to_client.write_all(piece).await?;
                }
            }
            so_far += size;
        }
    };
    tokio::select! {
        _ = there => {}
        _ = async { let done: std::io::Result<()> = back.await; done } => {}
    }
}

/// Whoever follows a server by a wire, by the first source of all, comes to what is there whatever harm is done, and keeps
/// that when there is no wire any more.
pub(crate) async fn each_harm_changes_nothing_in_the_end(
    wire: Wire,
    harms: &[Harm],
    there: &impl Store,
    objects: &[Value],
    follow: impl AsyncFn(SocketAddr) -> Followed,
) {
    for harm in harms {
        wire.harm(*harm);
        let mut followed = follow(wire.address).await;
        followed.until_rendered(&format!("{harm:?}"), objects).await;
        assert!(wire.is_done(), "{harm:?}");
        followed.stop().await;
    }
    let mut followed = follow(wire.address).await;
    followed.until_rendered("the start", objects).await;
    followed.first_told();
    drop(wire);
    there.apply(&peer(9)).await;
    // There is no wire any more, and so no change; what was there stays.
    followed.during(pace().grace).await;
    assert_eq!((followed.first_told().len(), followed.states[0].losses), (0, 0));
    followed.stop().await;
}
