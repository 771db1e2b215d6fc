//! Real Typhas in front of the API server, the program that `TAILORBIRD_TYPHA` names.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tailorbird::engine::Settings;
use tailorbird::syncer::Syncer;
use tailorbird::syncer::kubernetes::{Access, Place, sources_beside};
use tailorbird::syncer::typha::{self, At, Config};

use crate::cluster::Cluster;
use crate::etcds::Etcd;
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
    log: PathBuf,
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
        let at = [("TYPHA_DATASTORETYPE", "kubernetes"), ("KUBECONFIG", kubeconfig.to_str().unwrap())];
        Self::spawn(api.files.path(), port, &[&at, settings].concat())
    }

    /// Starts one on a port that has its objects in an etcd, and its log in a folder.
    pub(crate) fn start_on(etcd: &Etcd, port: u16, folder: &Path) -> Self {
        let etcd = format!("http://{}", etcd.address());
        Self::spawn(folder, port, &[("TYPHA_DATASTORETYPE", "etcdv3"), ("TYPHA_ETCDENDPOINTS", &etcd)])
    }

    fn spawn(folder: &Path, port: u16, settings: &[(&str, &str)]) -> Self {
        let path = folder.join(format!("typha-{port}.log"));
        let log = std::fs::File::create(&path).unwrap();
        let mut command = Command::new(program().expect("a Typha"));
        command.args(["-c", "/nonexistent"]).env_clear();
        let fixed = [
            ("TYPHA_SERVERHOST", "0.0.0.0"),
            ("TYPHA_LOGFILEPATH", "none"),
            ("TYPHA_LOGSEVERITYSYS", "none"),
            ("TYPHA_SERVERPINGINTERVALSECS", "1"),
        ];
        command.envs(fixed).envs(settings.iter().copied()).env("TYPHA_SERVERPORT", port.to_string());
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Self { child: command.spawn().unwrap(), port, log: path }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    pub(crate) fn config(&self) -> Config {
        config(self.address())
    }

    /// All that it has written into its log.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
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

/// Follows a Typha alone.
pub(crate) fn follow_alone(config: Config, settings: Settings) -> Followed {
    let typha: Box<dyn Syncer> = Box::new(typha::Typha::new(config, None, &settings, typha_pace()));
    Followed::start_from(vec![typha], settings)
}
