//! Real Typhas in front of the API server, the program that `TAILORBIRD_TYPHA` names; and a wire between one and its
//! clients that does harm when it is told to.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tailorbird::engine::Settings;
use tailorbird::syncer::Syncer;
use tailorbird::syncer::kubernetes::{Access, Place, sources_beside};
use tailorbird::syncer::typha::{self, At, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::cluster::Cluster;
use crate::follow::{Followed, pace};
use crate::server::{ADMIN, free_ports, skipped};

fn program() -> Option<PathBuf> {
    std::env::var_os("TAILORBIRD_TYPHA").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Whether there is a Typha; says so if there is none.
pub(crate) fn has_typha() -> bool {
    let is_there = program().is_some();
    if !is_there {
        skipped("TAILORBIRD_TYPHA does not name a Typha");
    }
    is_there
}

/// A Typha that runs; it is killed with this value.
pub(crate) struct Typha {
    child: Child,
    pub(crate) port: u16,
}

impl Typha {
    /// Starts one on a free port, with more of its settings.
    pub(crate) async fn start(api: &Cluster, settings: &[(&str, &str)]) -> Self {
        let [port] = free_ports();
        Self::start_at(api, port, settings).await
    }

    pub(crate) async fn start_at(api: &Cluster, port: u16, settings: &[(&str, &str)]) -> Self {
        // It writes some objects of its own before it serves anybody.
        api.install_also("ClusterInformation", "clusterinformations").await;
        api.install_also("Tier", "tiers").await;
        let kubeconfig = api.files.path().join("typha-kubeconfig");
        std::fs::write(&kubeconfig, api.server.kubeconfig(ADMIN).to_string()).unwrap();
        let log = std::fs::File::create(api.files.path().join(format!("typha-{port}.log"))).unwrap();
        let mut command = Command::new(program().expect("a Typha"));
        command.args(["-c", "/nonexistent"]).env_clear();
        let fixed = [
            ("TYPHA_DATASTORETYPE", "kubernetes"),
            ("TYPHA_SERVERHOST", "0.0.0.0"),
            ("TYPHA_LOGFILEPATH", "none"),
            ("TYPHA_LOGSEVERITYSYS", "none"),
            ("TYPHA_SERVERPINGINTERVALSECS", "1"),
        ];
        command.envs(fixed).envs(settings.iter().copied());
        command.env("KUBECONFIG", kubeconfig).env("TYPHA_SERVERPORT", port.to_string());
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Self { child: command.spawn().unwrap(), port }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    pub(crate) fn config(&self) -> Config {
        config(self.address())
    }

    /// Asks it to end, which it does by and by.
    pub(crate) fn drain(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }
}

impl Drop for Typha {
    fn drop(&mut self) {
        // It may have ended before.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// How a Typha at an address is spoken to.
pub(crate) fn config(at: SocketAddr) -> Config {
    Config { read: Duration::from_secs(5), ..Config::new(At::Address(at.to_string())) }
}

/// Waits that suit a test.
pub(crate) fn typha_pace() -> typha::Pace {
    typha::Pace {
        first_wait: Duration::from_millis(20),
        longest_wait: Duration::from_millis(200),
        grace: Duration::from_secs(30),
        ..typha::Pace::default()
    }
}

/// Follows a Typha, and what is beside it, as the user of a kubeconfig.
pub(crate) async fn follow(config: Config, kubeconfig: PathBuf, settings: Settings) -> Followed {
    let access = Access::open(Place::File(kubeconfig)).await.unwrap();
    let typha = typha::Typha::new(config, Some(access.clone()), &settings, typha_pace());
    let mut sources: Vec<Box<dyn Syncer>> = vec![Box::new(typha)];
    sources.extend(sources_beside(access, &settings, None, pace()).0);
    Followed::start_from(sources, settings)
}

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
