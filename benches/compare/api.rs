//! A generated cluster behind a real API server.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use http::Method;
use serde_json::Value;
use tailorbird::generator::{ClusterSpec, write_json_lines};

use crate::cluster::{Cluster, collection_of};

/// Creates an object with its status.
async fn create(api: &Cluster, mut object: Value) {
    let (collection, _) = collection_of(&object);
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"] {
            metadata.remove(field);
        }
    }
    let has_status = matches!(object["kind"].as_str(), Some("Node" | "Service"));
    let path = format!("{collection}/{}", object["metadata"]["name"].as_str().unwrap());
    let mut made = match api.ask(Method::POST, &collection, Some(&object)).await {
        Ok(made) => made,
        Err(409) => return,
        Err(code) => panic!("{path}: {code}"),
    };
    if has_status && object["status"].is_object() {
        made["status"] = object["status"].clone();
        api.ask(Method::PUT, &format!("{path}/status"), Some(&made)).await.unwrap();
    }
}

/// Creates all objects of a cluster.
pub(crate) async fn load(api: &Cluster, spec: &ClusterSpec) {
    let mut lines = Vec::new();
    write_json_lines(spec, &mut lines).unwrap();
    let objects = lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let objects = objects.map(|line| serde_json::from_slice::<Value>(line).unwrap());
    stream::iter(objects).for_each_concurrent(32, |object| create(api, object)).await;
}

/// Waits until something holds; returns how long that took.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(1800), "it did not come to pass that {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    begun.elapsed()
}

/// The command that is built together with this one.
pub(crate) fn beside() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.parent().unwrap().parent().unwrap().join("tailorbird")
}
