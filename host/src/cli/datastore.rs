//! The datastores that are no files.

use std::time::Duration;

use anyhow::anyhow;
use tokio::runtime;

use super::output;
use crate::engine::{Engine, Settings};
use crate::environment::{self, EnvironmentError};
use crate::notice::Herald;
use crate::syncer::kubernetes::{self, Access, Pace, Place};
use crate::syncer::{Syncer, read_once};
use crate::types::ValueError;

/// Where objects are that are not in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Datastore {
    // What a value says for itself would spread the help of every option over several lines.
    Kubernetes,
}

/// A datastore's sources, and who tells in it.
type Opened = (Vec<Box<dyn Syncer>>, Box<dyn Herald>);

/// How long a one-shot command waits for a source that cannot be read or does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Datastore {
    /// The datastore that `DATASTORE_TYPE` names; Kubernetes when it names none.
    pub(super) fn from_environment(lookup: environment::Lookup<'_>) -> Result<Self, EnvironmentError> {
        let named = environment::value(lookup, "DATASTORE_TYPE", |text| match text {
            "kubernetes" => Ok(Datastore::Kubernetes),
            _ => Err(ValueError::new("not a datastore that is read; write `kubernetes`, or leave it unset")),
        })?;
        Ok(named.unwrap_or(Datastore::Kubernetes))
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
        let Datastore::Kubernetes = self;
        let group = environment::calico_group(&|name| std::env::var(name).ok())?;
        let access = Access::open(Place::Environment).await?;
        let (sources, events) = kubernetes::sources(access, settings, group, pace);
        Ok((sources, Box::new(events)))
    }
}
