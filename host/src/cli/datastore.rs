//! The datastores that are no files.

use std::time::Duration;

use anyhow::{anyhow, bail};
use tokio::runtime;

use super::output;
use crate::engine::{Engine, Settings};
use crate::environment::{self, EnvironmentError, Store};
use crate::notice::Herald;
use crate::syncer::kubernetes::{self, Access, Pace, Place};
use crate::syncer::typha::{self, Typha};
use crate::syncer::{Syncer, read_once};

/// Where objects are that are not in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Datastore {
    // What a value says for itself would spread the help of every option over several lines.
    Kubernetes,
    Typha,
}

/// A datastore's sources, and who brings notices to users there, if anybody can.
pub(super) type Opened = (Vec<Box<dyn Syncer>>, Option<Box<dyn Herald>>);

/// How long a one-shot command waits for a source that cannot be read or does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Datastore {
    /// The datastore that the environment names: Typha where it is configured, else the one that Calico's objects are in.
    pub(super) fn from_environment(lookup: environment::Lookup<'_>) -> Result<Self, EnvironmentError> {
        let store = environment::store(lookup)?;
        if environment::typha(lookup)?.is_some() {
            return Ok(Datastore::Typha);
        }
        match store {
            Store::Kubernetes => Ok(Datastore::Kubernetes),
            Store::Etcd => Err(EnvironmentError {
                variable: "DATASTORE_TYPE",
                value: "etcdv3".to_owned(),
                reason: "etcd is read by way of Typha alone; set FELIX_TYPHAADDR, or `kubernetes` if the objects are there"
                    .to_owned(),
            }),
        }
    }

    /// The sources of a node, for a daemon, and who brings its notices to users.
    pub(super) fn sources(self, settings: &Settings) -> anyhow::Result<Opened> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.open(settings, Pace::default()))
    }

    /// Reads everything once, into an engine; what is wrong with the data as far as no object can be named is returned.
    pub(super) fn read(self, engine: &mut Engine) -> anyhow::Result<Vec<String>> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let pace = Pace { newest: true, answer: PATIENCE, ..Pace::default() };
            let (sources, _) = self.open(engine.settings(), pace).await?;
            let mut waiting = |reason: &str| output::warning(&format!("waiting: {reason}"));
            let read = read_once(sources, engine, PATIENCE, &mut waiting).await;
            read.map_err(|error| {
                anyhow!("the cluster could not be read within {} s:\n{error}", PATIENCE.as_secs())
            })
        })
    }

    async fn open(self, settings: &Settings, pace: Pace) -> anyhow::Result<Opened> {
        let lookup = |name: &str| std::env::var(name).ok();
        let group = environment::calico_group(&lookup)?;
        match self {
            Datastore::Kubernetes => {
                let access = Access::open(Place::Environment).await?;
                let (sources, events) = kubernetes::sources(access, settings, group, pace);
                Ok((sources, Some(Box::new(events))))
            }
            Datastore::Typha => {
                let Some(config) = environment::typha(&lookup)? else {
                    bail!(
                        "nothing says where Typha is: set FELIX_TYPHAADDR to its host and port, or \
                         FELIX_TYPHAK8SSERVICENAME to its Service"
                    );
                };
                let is_by_service = matches!(config.at, typha::At::Service { .. });
                let beside = match Access::open(Place::Environment).await {
                    Ok(access) => Some(access),
                    // Nodes without Kubernetes have no Services either.
                    Err(error) if may_do_without_kubernetes(&lookup, is_by_service)? => {
                        tracing::warn!("{error}: no Services are advertised, and peers have no passwords");
                        None
                    }
                    Err(error) => return Err(error.into()),
                };
                let finder = beside.clone().filter(|_| is_by_service);
                let typha = Typha::new(config, finder, settings, typha::Pace::default());
                let mut sources: Vec<Box<dyn Syncer>> = vec![Box::new(typha)];
                let Some(access) = beside else { return Ok((sources, None)) };
                let (more, events) = kubernetes::sources_beside(access, settings, group, pace);
                sources.extend(more);
                Ok((sources, Some(Box::new(events))))
            }
        }
    }
}

/// Whether a node has no Kubernetes and needs none.
pub(super) fn may_do_without_kubernetes(
    lookup: environment::Lookup<'_>,
    is_by_service: bool,
) -> Result<bool, EnvironmentError> {
    Ok(environment::store(lookup)? == Store::Etcd && !is_by_service && !environment::names_kubernetes(lookup))
}
