//! Tries the way to the API and each permission, one after the other.

use std::time::Duration;

use serde::Deserialize;

use super::access::{Access, Server};
use super::collection::{Collection, encoded};
use super::collections;
use super::failure::Failure;
use super::groups::{CalicoGroup, Groups};
use crate::engine::Settings;
use crate::syncer::dial::dial;
use crate::syncer::step::{MAX_SHOWN, Step, look_up, tell, unconnected};
use crate::types::tame;

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// Looks the API server up and connects to it, where no proxy does that; asks for the version, for Calico's group, and for one
/// object and the changes of each kind; without Calico's kinds and the nodes where another datastore has them. Secrets are
/// asked for by name once they are needed, and so not here.
pub async fn probe(
    access: &Access,
    settings: &Settings,
    group: Option<CalicoGroup>,
    with_calico: bool,
) -> Vec<Step> {
    let mut steps = Vec::new();
    if !connect(access, &mut steps).await {
        return steps;
    }
    let found = version(access).await;
    let is_there = found.is_ok();
    steps.push(Step::new("kubernetes: version", found));
    if !is_there {
        return steps;
    }
    let mut collections = collections(settings, with_calico).concat();
    // What is in no other datastore comes first.
    collections.sort_by_key(|collection| !collection.can_be_done_without());
    if with_calico {
        let served = Groups::new(group).served(access, Duration::ZERO, ANSWER).await;
        let found = match &served {
            Ok(Some(served)) => Ok(served.group.as_str().to_owned()),
            Ok(None) => Err("Calico's kinds are not installed here: is this the right cluster?".to_owned()),
            Err(failure) => Err(failure.to_string()),
        };
        steps.push(Step::new("kubernetes: Calico's group", found));
        let group = served.ok().flatten().map_or(CalicoGroup::Crd, |served| served.group);
        collections.iter_mut().for_each(|collection| collection.group = group);
    }
    for collection in collections {
        let resource = collection.resource();
        let found = match follow(access, &collection).await {
            Ok(()) => Ok("allowed".to_owned()),
            Err(failure) if failure.is_forbidden() => Err(format!(
                "{failure}; allow `list` and `watch` of {resource} to this account, as deploy/base/rbac.yaml does"
            )),
            Err(failure) if failure.is_not_found() && collection.is_calicos() => {
                Ok("the kind is not installed: there are none".to_owned())
            }
            Err(failure) => Err(failure.to_string()),
        };
        steps.push(Step::new(format!("kubernetes: list and watch {resource}"), found));
    }
    steps
}

/// Connects, and gives up the connection again; returns whether that is possible, or a proxy does it.
async fn connect(access: &Access, steps: &mut Vec<Step>) -> bool {
    let Server { host, port, tls } = match access.server() {
        Ok(Some(server)) => server,
        Ok(None) => return true,
        Err(reason) => return tell(steps, "kubernetes: TLS", Err(reason)),
    };
    if !tell(steps, format!("kubernetes: look up {host}"), look_up(&host, port, ANSWER).await) {
        return false;
    }
    let found = match dial((host.as_str(), port), tls, ANSWER).await {
        Ok(dialled) => Ok(dialled.peer.unwrap_or_else(|| "without TLS".to_owned())),
        Err(reason) => Err(unconnected("the API server", &reason)),
    };
    tell(steps, format!("kubernetes: connect to {host} port {port}"), found)
}

/// Lists one object, and begins to watch from there.
async fn follow(access: &Access, collection: &Collection) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct List {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        resource_version: String,
    }
    let list = access.get_whole(&format!("{}limit=1", collection.path()), ANSWER).await?;
    let List { metadata } = serde_json::from_slice(&list)
        .map_err(|error| Failure::Broken(format!("the answer is no list: {error}")))?;
    let version = encoded(&metadata.resource_version);
    let watch = format!("{}watch=1&timeoutSeconds=1&resourceVersion={version}", collection.path());
    access.get(&watch, ANSWER).await.map(drop)
}

async fn version(access: &Access) -> Result<String, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        git_version: String,
    }
    match access.get_whole("/version", ANSWER).await {
        Ok(text) => match serde_json::from_slice::<Version>(&text) {
            Ok(version) => Ok(tame(&version.git_version, MAX_SHOWN)),
            Err(_) => {
                Err("what answers is no API server; KUBECONFIG names the file with its address".to_owned())
            }
        },
        Err(failure @ Failure::Refused { code: 401 | 403, .. }) => {
            Err(format!("{failure}; the credentials are not taken: a token may be out of date"))
        }
        Err(failure) => {
            Err(format!("{failure}; the address stands in the file that KUBECONFIG names, or in the pod"))
        }
    }
}
