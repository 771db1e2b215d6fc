//! Which of Calico's two groups the API server has, and which kinds in it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::Mutex;

use super::access::Access;
use super::failure::Failure;

/// A group of the API that Calico's objects are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalicoGroup {
    /// `crd.projectcalico.org/v1`
    Crd,
    /// `projectcalico.org/v3`
    V3,
}

impl CalicoGroup {
    /// The group and its version, as `apiVersion` has them.
    pub fn as_str(self) -> &'static str {
        match self {
            CalicoGroup::Crd => "crd.projectcalico.org/v1",
            CalicoGroup::V3 => "projectcalico.org/v3",
        }
    }
}

/// A group that is served, with the resources in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) group: CalicoGroup,
    pub(super) resources: BTreeSet<String>,
}

/// The choice of the group, shared by all that ask.
#[derive(Debug)]
pub(super) struct Groups {
    forced: Option<CalicoGroup>,
    known: Mutex<Option<(Instant, Option<Served>)>>,
}

impl Groups {
    pub(super) fn new(forced: Option<CalicoGroup>) -> Self {
        Self { forced, known: Mutex::default() }
    }

    /// The group that Calico's objects are in: `projectcalico.org/v3` only where the other one is not served, for a v3
    /// that stands beside it is another view of the same objects. None where there is neither. What was found within
    /// `at_most_old` is still held to be so.
    pub(super) async fn served(
        &self,
        access: &Access,
        at_most_old: Duration,
        answer: Duration,
    ) -> Result<Option<Served>, Failure> {
        // Held while asking: the others want to know the same.
        let mut known = self.known.lock().await;
        if let Some((when, served)) = &*known
            && when.elapsed() < at_most_old
        {
            return Ok(served.clone());
        }
        let found = match self.forced {
            Some(group) => resources(access, group, answer).await?,
            None => match resources(access, CalicoGroup::Crd, answer).await? {
                None => resources(access, CalicoGroup::V3, answer).await?,
                found => found,
            },
        };
        *known = Some((Instant::now(), found.clone()));
        Ok(found)
    }

    /// What was found does not seem to be so any more.
    pub(super) async fn forget(&self) {
        *self.known.lock().await = None;
    }
}

async fn resources(access: &Access, group: CalicoGroup, answer: Duration) -> Result<Option<Served>, Failure> {
    #[derive(Deserialize)]
    struct List {
        #[serde(default)]
        resources: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        name: String,
    }
    let text = match access.get_whole(&format!("/apis/{}", group.as_str()), answer).await {
        Ok(text) => text,
        Err(failure) if failure.is_not_found() => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let list: List = serde_json::from_slice(&text).map_err(|error| {
        Failure::Broken(format!("the resources of {} cannot be read: {error}", group.as_str()))
    })?;
    Ok(Some(Served { group, resources: list.resources.into_iter().map(|entry| entry.name).collect() }))
}
