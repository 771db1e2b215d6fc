//! The cluster that a test has for itself: the API server is one, so the tests take turns.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream;
use http::{Method, Request};
use serde_json::{Value, json};
use tailorbird::syncer::kubernetes::CalicoGroup;
use tokio::sync::{Mutex, MutexGuard};

use crate::server::{self, ADMIN, Server};

/// Kinds of Calico's: kind, plural.
pub(crate) const CALICO: [(&str, &str); 5] = [
    ("BGPConfiguration", "bgpconfigurations"),
    ("BGPPeer", "bgppeers"),
    ("BGPFilter", "bgpfilters"),
    ("IPPool", "ippools"),
    ("BlockAffinity", "blockaffinities"),
];

/// Kinds of Calico's that only some tests install.
const MORE: [&str; 2] = ["clusterinformations", "tiers"];

/// The kinds of the API server's own that the tests make objects of: version, kind, plural, whether they have a namespace.
const BUILT_IN: [(&str, &str, &str, bool); 11] = [
    ("v1", "Node", "nodes", false),
    ("v1", "Service", "services", true),
    ("v1", "Secret", "secrets", true),
    ("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", true),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", false),
    ("rbac.authorization.k8s.io/v1", "Role", "roles", true),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true),
    ("v1", "ServiceAccount", "serviceaccounts", true),
    ("v1", "ConfigMap", "configmaps", true),
    ("apps/v1", "DaemonSet", "daemonsets", true),
];

/// The files that are deployed.
pub(crate) fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")
}

/// A cluster without objects, with the CRDs of `crd.projectcalico.org/v1`.
pub(crate) struct Cluster {
    pub(crate) server: &'static Server,
    pub(crate) client: kube::Client,
    pub(crate) files: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Cluster {
    /// The cluster, when its turn comes; none where there is no API server.
    pub(crate) async fn take() -> Option<Self> {
        static TURN: Mutex<()> = Mutex::const_new(());
        let turn = TURN.lock().await;
        let server = server::server().await?;
        let client = server.client(ADMIN).await;
        let files = tempfile::tempdir().unwrap();
        let cluster = Self { server, client, files, _turn: turn };
        for plural in MORE {
            cluster.uninstall(CalicoGroup::Crd, plural).await;
        }
        cluster.install(CalicoGroup::Crd).await;
        cluster.wipe().await;
        Some(cluster)
    }

    /// Leaves the cluster to others; the files stay.
    pub(crate) fn end(self) -> tempfile::TempDir {
        self.files
    }

    /// A kubeconfig file for a user of this cluster.
    pub(crate) fn kubeconfig(&self, token: &str) -> PathBuf {
        self.put(&self.server.kubeconfig(token))
    }

    /// A kubeconfig file.
    pub(crate) fn put(&self, config: &Value) -> PathBuf {
        let path = self.files.path().join("kubeconfig");
        std::fs::write(&path, config.to_string()).unwrap();
        path
    }

    /// A kubeconfig file for the account that is deployed: it may do what the manifests allow it, and read these Secrets,
    /// which an operator puts in the place of the manifests' own.
    pub(crate) async fn deployed(&self, secrets: &[&str]) -> PathBuf {
        let text = std::fs::read_to_string(deploy().join("base/rbac.yaml")).unwrap();
        for mut object in serde_saphyr::from_multiple::<Value>(&text).unwrap() {
            if object["kind"] == "Role" {
                object["rules"][0]["resourceNames"] = secrets.into();
            }
            self.apply(&object).await;
        }
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let path = "/api/v1/namespaces/kube-system/serviceaccounts/tailorbird/token";
        let answer = self.ask(Method::POST, path, Some(&request)).await.unwrap();
        self.kubeconfig(answer["status"]["token"].as_str().unwrap())
    }

    /// Asks for something; the answer, or the status of an error.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, u16> {
        self.ask_as(method, path, "application/json", body).await
    }

    /// The same with a body of another type.
    pub(crate) async fn ask_as(
        &self,
        method: Method,
        path: &str,
        r#type: &str,
        body: Option<&Value>,
    ) -> Result<Value, u16> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder().method(method).uri(path).header("content-type", r#type);
        let request = request.body(body.into_bytes()).unwrap();
        match self.client.request::<Value>(request).await {
            Ok(answer) => Ok(answer),
            Err(kube::Error::Api(status)) => {
                if ![404, 409].contains(&status.code) && !status.message.contains("already allocated") {
                    println!("{path}: {}", status.message);
                }
                Err(status.code)
            }
            Err(error) => panic!("{path}: {error}"),
        }
    }

    /// Creates an object or puts it in the place of the one of its name.
    pub(crate) async fn apply(&self, object: &Value) {
        self.try_apply(object).await.unwrap_or_else(|code| panic!("{object:#}: {code}"));
    }

    /// The same; the status where the API server does not take it.
    pub(crate) async fn try_apply(&self, object: &Value) -> Result<(), u16> {
        let (collection, has_status) = collection_of(object);
        let path = format!("{collection}/{}", object["metadata"]["name"].as_str().unwrap());
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut made = loop {
            match self.ask(Method::POST, &collection, Some(object)).await {
                Ok(made) => break made,
                // It is there, or its address is still that of a Service that has just been deleted.
                Err(409) => {}
                Err(422) if object["kind"] == "Service" && Instant::now() < deadline => {}
                Err(code) => return Err(code),
            }
            if let Ok(old) = self.ask(Method::GET, &path, None).await {
                let mut new = object.clone();
                new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
                break self.ask(Method::PUT, &path, Some(&new)).await?;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        if has_status && let Some(status) = object.get("status") {
            made["status"] = status.clone();
            let path = format!("{path}/status");
            self.ask(Method::PUT, &path, Some(&made)).await?;
        }
        Ok(())
    }

    pub(crate) async fn apply_all(&self, objects: &[Value]) {
        stream::iter(objects).for_each_concurrent(8, |object| self.apply(object)).await;
    }

    /// Deletes an object.
    pub(crate) async fn delete(&self, object: &Value) {
        let (collection, _) = collection_of(object);
        let path = format!("{collection}/{}", object["metadata"]["name"].as_str().unwrap());
        self.ask(Method::DELETE, &path, None).await.unwrap_or_else(|code| panic!("{path}: {code}"));
    }

    /// Deletes all objects that tests make.
    async fn wipe(&self) {
        let calico = CALICO.map(|(_, plural)| format!("/apis/{}/{plural}", CalicoGroup::Crd.as_str()));
        for collection in calico {
            self.ask(Method::DELETE, &collection, None).await.unwrap();
        }
        for (version, kind, plural, _) in BUILT_IN {
            let root = if version == "v1" { "/api" } else { "/apis" };
            let all = self.ask(Method::GET, &format!("{root}/{version}/{plural}"), None).await.unwrap();
            let items = all["items"].as_array().unwrap().iter().cloned().map(|mut item| {
                item["apiVersion"] = version.into();
                item["kind"] = kind.into();
                item
            });
            let own = items.filter(|item| {
                let name = item["metadata"]["name"].as_str().unwrap();
                !name.contains(':')
                    && !["kubernetes", "admin", "edit", "view", "cluster-admin"].contains(&name)
            });
            let own: Vec<Value> = own.collect();
            stream::iter(&own).for_each_concurrent(8, |object| self.delete(object)).await;
        }
    }

    /// Installs the CRDs of a group, and takes those of the other away.
    pub(crate) async fn install(&self, group: CalicoGroup) {
        let other = match group {
            CalicoGroup::Crd => CalicoGroup::V3,
            CalicoGroup::V3 => CalicoGroup::Crd,
        };
        for (_, plural) in CALICO {
            self.uninstall(other, plural).await;
        }
        for (kind, plural) in CALICO {
            self.define(group, kind, plural).await;
        }
        for (_, plural) in CALICO {
            self.until_served(group, plural, true).await;
        }
    }

    /// Installs the CRD of one more kind, which takes every object.
    pub(crate) async fn install_also(&self, kind: &str, plural: &str) {
        self.define(CalicoGroup::Crd, kind, plural).await;
        self.until_served(CalicoGroup::Crd, plural, true).await;
    }

    /// Creates the CRD of a kind, unless it is there.
    async fn define(&self, group: CalicoGroup, kind: &str, plural: &str) {
        let crd = definition(group, kind, plural);
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        match self.ask(Method::POST, path, Some(&crd)).await {
            Ok(_) | Err(409) => {}
            Err(code) => panic!("{plural}: {code}"),
        }
    }

    /// Takes the CRD of a kind away.
    pub(crate) async fn uninstall(&self, group: CalicoGroup, plural: &str) {
        let (name, _) = group.as_str().split_once('/').unwrap();
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{name}");
        if self.ask(Method::DELETE, &path, None).await.is_ok() {
            self.until_served(group, plural, false).await;
        }
    }

    async fn until_served(&self, group: CalicoGroup, plural: &str, wanted: bool) {
        for _ in 0..400 {
            let served =
                self.ask(Method::GET, &format!("/apis/{}/{plural}?limit=1", group.as_str()), None).await;
            if served.is_ok() == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{plural} of {}: not as wanted", group.as_str());
    }
}

/// A CRD that takes every object.
fn definition(group: CalicoGroup, kind: &str, plural: &str) -> Value {
    let (name, version) = group.as_str().split_once('/').unwrap();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{name}")},
        "spec": {
            "group": name,
            "scope": "Cluster",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

/// The path of the collection that an object is in, and whether its status has a path of its own.
pub(crate) fn collection_of(object: &Value) -> (String, bool) {
    let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    if let Some((_, plural)) = CALICO.iter().find(|(calico, _)| *calico == kind) {
        return (format!("/apis/{version}/{plural}"), false);
    }
    let of_kind =
        |(own_version, own, ..): &&(&str, &str, &str, bool)| *own_version == version && *own == kind;
    let Some((_, _, plural, has_namespace)) = BUILT_IN.iter().find(of_kind) else {
        panic!("{version} {kind}")
    };
    let root = if version == "v1" { "/api" } else { "/apis" };
    let default = if version == "v1" && kind == "Service" || kind == "EndpointSlice" {
        "default"
    } else {
        "kube-system"
    };
    let namespace = match has_namespace {
        true => format!("/namespaces/{}", object["metadata"]["namespace"].as_str().unwrap_or(default)),
        false => String::new(),
    };
    (format!("{root}/{version}{namespace}/{plural}"), kind == "Service")
}
