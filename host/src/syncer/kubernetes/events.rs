//! Notices as Events of Kubernetes, on the Node or on the BGPPeer that they are about.
//!
//! Every node tells by itself. The name of an Event is made of what it says, so what was told before, or by another node
//! about the same BGPPeer, is counted up and not told anew. Nothing waits for an Event: one that is refused or cannot be
//! told is tried later or given up.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;

use super::failure::Failure;
use super::groups::CalicoGroup;
use super::stream::Shared;
use crate::notice::{About, Herald, Matter, Notice, Notices};
use crate::syncer::backoff::{Backoff, chance};
use crate::types::Name;

/// So many Events can be told at once, and one more every so often.
const BURST: u32 = 10;
const EVERY: Duration = Duration::from_secs(30);

/// An Event about a BGPPeer that is no older was told by another node about the same.
const SAME: i64 = 600;

/// The longest text, in characters.
const LONGEST: usize = 1000;

/// Where Events are about objects without a namespace.
const COLLECTION: &str = "/api/v1/namespaces/default/events";

/// Brings notices to users as Events.
#[derive(Debug)]
pub struct Events {
    shared: Arc<Shared>,
    node: Name,
    /// When all that may be told at once may be told again.
    full: Instant,
    backoff: Backoff,
    /// That they are refused has been said.
    refused: bool,
}

/// What is needed of an Event that is there.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Known {
    metadata: Metadata,
    #[serde(default)]
    count: u32,
    last_timestamp: Option<Timestamp>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: String,
}

impl Herald for Events {
    fn run(
        mut self: Box<Self>,
        mut notices: watch::Receiver<Arc<Notices>>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let mut told: BTreeSet<Notice> = BTreeSet::new();
            loop {
                let now = notices.borrow_and_update().clone();
                told.retain(|notice| now.contains(notice));
                let next = now.iter().find(|notice| !told.contains(*notice));
                let Some(notice) = next else {
                    if notices.changed().await.is_err() {
                        return;
                    }
                    continue;
                };
                if !self.wait_for_turn(notice, &mut notices).await {
                    continue;
                }
                match self.tell(notice).await {
                    Ok(()) => self.backoff.succeeded(),
                    Err(failure) if failure.is_forbidden() => self.say_refused(&failure),
                    Err(failure)
                        if failure.is_passing() || failure.is_conflict() || failure.is_not_found() =>
                    {
                        tracing::debug!("an Event was not told: {failure}");
                        let wait = self.shared.wait_after(&failure, &mut self.backoff).await;
                        tokio::time::sleep(wait).await;
                        continue;
                    }
                    Err(failure) => {
                        tracing::warn!("an Event is refused, and others are told without it: {failure}");
                    }
                }
                told.insert(notice.clone());
            }
        })
    }
}

impl Events {
    pub(super) fn new(shared: Arc<Shared>, node: Name) -> Self {
        Self { shared, node, full: Instant::now(), backoff: Backoff::default(), refused: false }
    }

    /// Waits until one more may be told; false if the notices are others before that.
    async fn wait_for_turn(&mut self, notice: &Notice, notices: &mut watch::Receiver<Arc<Notices>>) -> bool {
        let mut at = self.full.checked_sub(EVERY * (BURST - 1)).unwrap_or_else(Instant::now);
        if let About::BgpPeer(_) = notice.about {
            // Every node knows of it at the same time, and one is enough.
            at = at.max(Instant::now() + self.shared.pace.events.mul_f64(chance()));
        }
        tokio::select! {
            () = tokio::time::sleep_until(at) => {}
            // What cannot change any more can be told still.
            Ok(()) = notices.changed() => {
                notices.mark_changed();
                // A change elsewhere is no reason to begin anew.
                if !notices.borrow().contains(notice) {
                    return false;
                }
                tokio::time::sleep_until(at).await;
            }
        }
        self.full = self.full.max(Instant::now()) + EVERY;
        true
    }

    async fn tell(&self, notice: &Notice) -> Result<(), Failure> {
        let name = self.name_of(notice);
        let event = self.event(notice, &name).await?;
        match self.send(Method::POST, COLLECTION, "application/json", &event).await {
            Err(failure) if failure.is_conflict() => self.count_up(notice, &name).await,
            outcome => outcome.map(drop),
        }
    }

    /// Counts up an Event that is there, unless another node has just told the same.
    async fn count_up(&self, notice: &Notice, name: &str) -> Result<(), Failure> {
        const MERGE: &str = "application/merge-patch+json";
        let path = format!("{COLLECTION}/{name}");
        let known = self.send(Method::PATCH, &path, MERGE, &json!({})).await?;
        let known: Known = serde_json::from_slice(&known)
            .map_err(|error| Failure::Broken(format!("an Event cannot be read: {error}")))?;
        let now = Timestamp::now();
        let age = known.last_timestamp.map(|last| now.as_second() - last.as_second());
        if notice.about != About::Node && age.is_some_and(|age| age < SAME) {
            return Ok(());
        }
        let newer = json!({
            "metadata": {"resourceVersion": known.metadata.resource_version},
            "count": known.count.saturating_add(1),
            "lastTimestamp": seconds(now),
        });
        match self.send(Method::PATCH, &path, MERGE, &newer).await {
            // Another node was faster.
            Err(failure) if failure.is_conflict() => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    async fn send(&self, method: Method, path: &str, r#type: &str, body: &Value) -> Result<Vec<u8>, Failure> {
        let body = body.to_string().into_bytes();
        self.shared.access.send(method, path, r#type, body, self.shared.pace.answer).await
    }

    /// The same for the same matter in the same words; about a node, of that node alone.
    fn name_of(&self, notice: &Notice) -> String {
        let object = match &notice.about {
            About::Node => &self.node,
            About::BgpPeer(name) => name,
        };
        // Lines and versions of files differ from one check to the next.
        let digits = |c: &char| notice.matter == Matter::FailedCheck && c.is_ascii_digit();
        let text: String = notice.text.chars().filter(|c| !digits(c)).collect();
        let digest = Sha256::digest(format!("{} {text}", notice.matter.as_str()));
        let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        // Together with the digest no longer than a name may be.
        let object: String = object.as_str().chars().take(200).collect();
        format!("{}.{digest}", object.trim_end_matches(['.', '-', '_']))
    }

    async fn event(&self, notice: &Notice, name: &str) -> Result<Value, Failure> {
        let about = match &notice.about {
            // What describes a node looks for its Events by its name in the place of a UID.
            About::Node => json!({"apiVersion": "v1", "kind": "Node", "name": self.node, "uid": self.node}),
            About::BgpPeer(peer) => {
                let pace = &self.shared.pace;
                let old = Duration::from_secs(10);
                let served = self.shared.groups.served(&self.shared.access, old, pace.answer).await?;
                let group = served.map_or(CalicoGroup::Crd, |served| served.group);
                json!({"apiVersion": group.as_str(), "kind": "BGPPeer", "name": peer})
            }
        };
        let now = seconds(Timestamp::now());
        let text: String = notice.text.chars().take(LONGEST).collect();
        Ok(json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": "default"},
            "involvedObject": about,
            "type": "Warning",
            "reason": notice.matter.as_str(),
            "message": text,
            "source": {"component": "tailorbird", "host": self.node},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }))
    }

    fn say_refused(&mut self, failure: &Failure) {
        if !std::mem::replace(&mut self.refused, true) {
            tracing::warn!(
                "Events may not be told, and are not: {failure}; allow create and patch of events"
            );
        }
    }
}

/// A time as Events have it.
fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
