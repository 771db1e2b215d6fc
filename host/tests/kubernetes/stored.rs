//! Calico's objects in etcd as its own clients write them, and those who follow them there.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};
use tailorbird::engine::Settings;
use tailorbird::syncer::Syncer;
use tailorbird::syncer::etcd::{self, Config};
use tailorbird::syncer::kubernetes::{Access, Place, sources_beside};

use crate::cases::FACTS;
use crate::cluster::{CALICO, Cluster};
use crate::etcds::{Etcd, pair};
use crate::follow::{Followed, Store, pace};

/// The folder of Calico's objects.
pub(crate) const OBJECTS: &str = "/calico/resources/v3/projectcalico.org";

impl Etcd {
    /// Puts one of Calico's objects there, if that is possible now.
    pub(crate) async fn try_put(&self, object: &Value) -> bool {
        let (key, value) = stored(object).unwrap();
        self.try_ask("kv/put", &pair(&key, &value)).await["header"].is_object()
    }

    /// Puts all objects there that belong to Calico.
    pub(crate) async fn apply_all(&self, objects: &[Value]) {
        for (key, value) in objects.iter().filter_map(stored) {
            self.put(&key, &value).await;
        }
    }
}

impl Store for Etcd {
    async fn apply(&self, object: &Value) {
        let (key, value) = stored(object).unwrap_or_else(|| panic!("{object}"));
        self.put(&key, &value).await;
    }

    async fn delete(&self, object: &Value) {
        let (key, _) = stored(object).unwrap_or_else(|| panic!("{object}"));
        let gone = self.ask("kv/deleterange", &json!({"key": BASE64.encode(&key)})).await;
        assert_eq!(gone["deleted"], "1", "{key}");
    }
}

/// An etcd with Calico's objects, and a Kubernetes that has the others.
pub(crate) struct Beside<'a>(pub(crate) &'a Etcd, pub(crate) &'a Cluster);

impl Store for Beside<'_> {
    async fn apply(&self, object: &Value) {
        match stored(object) {
            Some(_) => self.0.apply(object).await,
            None => self.1.apply(object).await,
        }
    }

    async fn delete(&self, object: &Value) {
        match stored(object) {
            Some(_) => self.0.delete(object).await,
            None => self.1.delete(object).await,
        }
    }
}

/// The key and the value under which etcd has an object; none if it is not Calico's.
pub(crate) fn stored(object: &Value) -> Option<(String, String)> {
    let (kind, name) = (object["kind"].as_str()?, object["metadata"]["name"].as_str()?);
    let mut value = object.clone();
    value["apiVersion"] = "projectcalico.org/v3".into();
    let folder = match kind {
        "BlockAffinity" => {
            let spec = &object["spec"];
            let cidr = spec["cidr"].as_str()?.replacen('/', "-", 1);
            let family = if cidr.contains(':') { "ipv6" } else { "ipv4" };
            let deleted = spec["deleted"] == true || spec["deleted"] == "true";
            let value = match (&spec["state"], deleted) {
                // Who confirms a block may say nothing at all.
                (Value::Null, false) => String::new(),
                (state, _) => json!({"state": state, "deleted": deleted}).to_string(),
            };
            let node = spec["node"].as_str()?;
            return Some((format!("/calico/ipam/v2/host/{node}/{family}/block/{cidr}"), value));
        }
        "Node" => {
            if object["apiVersion"] == "v1" {
                value = node(object);
            }
            "nodes"
        }
        _ => CALICO.into_iter().find(|(own, _)| *own == kind)?.1,
    };
    Some((format!("{OBJECTS}/{folder}/{name}"), value.to_string()))
}

/// The node of Calico's that says what one of Kubernetes' does.
fn node(object: &Value) -> Value {
    let annotations = &object["metadata"]["annotations"];
    let mut spec = Map::new();
    for (part, field, annotation) in FACTS {
        let fact = &annotations[format!("projectcalico.org/{annotation}")];
        if !fact.is_null() {
            let part = spec.entry(part).or_insert_with(|| json!({}));
            part[field] = fact.clone();
        }
    }
    json!({
        "apiVersion": "projectcalico.org/v3",
        "kind": "Node",
        "metadata": {"name": object["metadata"]["name"], "labels": object["metadata"]["labels"]},
        "spec": spec,
        "status": {"podCIDRs": object["spec"]["podCIDRs"]},
    })
}

/// Waits and amounts that suit a test.
pub(crate) fn etcd_pace() -> etcd::Pace {
    etcd::Pace {
        first_wait: Duration::from_millis(20),
        longest_wait: Duration::from_millis(200),
        grace: Duration::from_secs(30),
        answer: Duration::from_secs(5),
        page: 2,
        ..etcd::Pace::default()
    }
}

/// Follows an etcd alone.
pub(crate) fn follow_alone(config: Config, settings: Settings, pace: etcd::Pace) -> Followed {
    let etcd: Box<dyn Syncer> = Box::new(etcd::Etcd::new(config, &settings, pace));
    Followed::start_from(vec![etcd], settings)
}

/// Follows an etcd, and what is beside it, as the user of a kubeconfig.
pub(crate) async fn follow_beside(config: Config, kubeconfig: PathBuf, settings: Settings) -> Followed {
    let access = Access::open(Place::File(kubeconfig)).await.unwrap();
    let mut sources: Vec<Box<dyn Syncer>> = vec![Box::new(etcd::Etcd::new(config, &settings, etcd_pace()))];
    sources.extend(sources_beside(access, &settings, None, pace()).0);
    Followed::start_from(sources, settings)
}
