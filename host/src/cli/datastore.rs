//! The datastores that are no files.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{anyhow, bail};
use tokio::runtime;

use super::output;
use crate::engine::{Engine, Settings};
use crate::environment::{self, CalicoConfig, CalicoConfigError, EnvironmentError, Lookup, Store};
use crate::notice::Herald;
use crate::syncer::etcd::{self, Etcd};
use crate::syncer::kubernetes::{self, Access, AccessError, CalicoGroup, Pace, Place};
use crate::syncer::typha::{self, Typha};
use crate::syncer::{Syncer, read_once};

/// What is read in place of the environment.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct CalicoArgs {
    /// The configuration file of Calico's clients, which says where its objects are in place of the environment
    #[arg(long, value_name = "FILE")]
    pub(super) calico_config: Option<PathBuf>,
}

impl CalicoArgs {
    /// Reads the file, if there is one.
    pub(super) fn read(&self) -> Result<Option<CalicoConfig>, CalicoConfigError> {
        self.calico_config.as_deref().map(CalicoConfig::read).transpose()
    }
}

/// Where objects are that are not in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Datastore {
    // What a value says for itself would spread the help of every option over several lines.
    Kubernetes,
    Typha,
    Etcd,
}

/// A datastore's sources.
pub(super) struct Opened {
    pub(super) sources: Vec<Box<dyn Syncer>>,
    /// Who brings notices to users there, if anybody can.
    pub(super) herald: Option<Box<dyn Herald>>,
    /// What is done without, and what follows.
    pub(super) absent: Vec<String>,
}

/// How long a one-shot command waits for a source that cannot be read or does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Datastore {
    /// The datastore that the environment names, or a file in its place: Typha where it is configured, else the one that
    /// Calico's objects are in.
    pub(super) fn choose(lookup: Lookup<'_>, file: Option<&CalicoConfig>) -> Result<Self, EnvironmentError> {
        let store = store(lookup, file)?;
        if environment::typha(lookup)?.is_some() {
            return Ok(Datastore::Typha);
        }
        Ok(match store {
            Store::Kubernetes => Datastore::Kubernetes,
            Store::Etcd => Datastore::Etcd,
        })
    }

    /// The sources of a node, for a daemon, and who brings its notices to users.
    pub(super) fn sources(self, settings: &Settings, file: Option<&CalicoConfig>) -> anyhow::Result<Opened> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.open(settings, file, Pace::default()))
    }

    /// Reads everything once, into an engine; what is wrong with the data as far as no object can be named is returned.
    pub(super) fn read(
        self,
        engine: &mut Engine,
        file: Option<&CalicoConfig>,
    ) -> anyhow::Result<Vec<String>> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let pace = Pace { newest: true, answer: PATIENCE, ..Pace::default() };
            let Opened { sources, .. } = self.open(engine.settings(), file, pace).await?;
            let mut waiting = |reason: &str| output::warning(&format!("waiting: {reason}"));
            let read = read_once(sources, engine, PATIENCE, &mut waiting).await;
            read.map_err(|error| {
                anyhow!("the cluster could not be read within {} s:\n{error}", PATIENCE.as_secs())
            })
        })
    }

    async fn open(
        self,
        settings: &Settings,
        file: Option<&CalicoConfig>,
        pace: Pace,
    ) -> anyhow::Result<Opened> {
        let lookup = |name: &str| std::env::var(name).ok();
        let group = environment::calico_group(&lookup)?;
        match self {
            Datastore::Kubernetes => {
                if file.is_some_and(|file| file.store() == Store::Etcd) {
                    bail!(
                        "--calico-config says that the objects are in etcd: write `datastoreType: kubernetes` there"
                    );
                }
                let access = Access::open(place(file)).await?;
                let (sources, events) = kubernetes::sources(access, settings, group, pace);
                Ok(Opened { sources, herald: Some(Box::new(events)), absent: Vec::new() })
            }
            Datastore::Typha => {
                let Some(config) = environment::typha(&lookup)? else {
                    bail!(
                        "nothing says where Typha is: set FELIX_TYPHAADDR to its host and port, or \
                         FELIX_TYPHAK8SSERVICENAME to its Service"
                    );
                };
                let is_by_service = matches!(config.at, typha::At::Service { .. });
                let may_be_absent = !is_by_service && may_lack_kubernetes(&lookup, file)?;
                let beside = beside(file, may_be_absent).await?;
                let finder = beside.as_ref().ok().cloned().filter(|_| is_by_service);
                let typha = Typha::new(config, finder, settings, typha::Pace::default());
                Ok(together(Box::new(typha), beside, settings, group, pace))
            }
            Datastore::Etcd => {
                let config = etcd(&lookup, file)?;
                let beside = beside(file, !environment::names_kubernetes(&lookup)).await?;
                let etcd = Etcd::new(config, settings, etcd::Pace::default());
                Ok(together(Box::new(etcd), beside, settings, group, pace))
            }
        }
    }
}

/// What Calico keeps its objects in.
fn store(lookup: Lookup<'_>, file: Option<&CalicoConfig>) -> Result<Store, EnvironmentError> {
    file.map_or_else(|| environment::store(lookup), |file| Ok(file.store()))
}

/// How etcd is spoken to.
pub(super) fn etcd(lookup: Lookup<'_>, file: Option<&CalicoConfig>) -> anyhow::Result<etcd::Config> {
    match file {
        None => Ok(environment::etcd(lookup)?),
        Some(CalicoConfig::Etcd(config)) => Ok(config.clone()),
        Some(CalicoConfig::Kubernetes(_)) => {
            bail!(
                "--calico-config says that the objects are in Kubernetes: write `datastoreType: etcdv3` there"
            )
        }
    }
}

/// Where the way to the API of Kubernetes is said.
pub(super) fn place(file: Option<&CalicoConfig>) -> Place {
    match file {
        Some(CalicoConfig::Kubernetes(Some(kubeconfig))) => Place::File(kubeconfig.clone()),
        _ => Place::Environment,
    }
}

/// Whether a node may have no Kubernetes: Calico's objects are in etcd, and nothing names one. One that is named and cannot
/// be used is no reason to do without.
pub(super) fn may_lack_kubernetes(
    lookup: Lookup<'_>,
    file: Option<&CalicoConfig>,
) -> Result<bool, EnvironmentError> {
    Ok(store(lookup, file)? == Store::Etcd && !environment::names_kubernetes(lookup))
}

/// The way to the Kubernetes that is beside another datastore; where there is none, what follows from that. A kubeconfig
/// that happens to lie in the user's home is not meant.
async fn beside(
    file: Option<&CalicoConfig>,
    may_be_absent: bool,
) -> Result<Result<Access, String>, AccessError> {
    if may_be_absent {
        let reason = "nothing names a Kubernetes (KUBECONFIG, or a pod's own environment)";
        return Ok(Err(format!("{reason}: no Services are advertised, and peers have no passwords")));
    }
    Ok(Ok(Access::open(place(file)).await?))
}

/// A datastore of Calico's objects, and what Kubernetes has beside it.
fn together(
    calico: Box<dyn Syncer>,
    beside: Result<Access, String>,
    settings: &Settings,
    group: Option<CalicoGroup>,
    pace: Pace,
) -> Opened {
    let mut sources = vec![calico];
    match beside {
        Ok(access) => {
            let (more, events) = kubernetes::sources_beside(access, settings, group, pace);
            sources.extend(more);
            Opened { sources, herald: Some(Box::new(events)), absent: Vec::new() }
        }
        Err(reason) => {
            tracing::warn!("{reason}");
            Opened { sources, herald: None, absent: vec![reason] }
        }
    }
}
