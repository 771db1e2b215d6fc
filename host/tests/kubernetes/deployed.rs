//! The manifests: the API server takes them, and they allow what is needed and nothing else.

use std::collections::BTreeSet;
use std::process::Command;

use http::Method;
use serde_json::{Value, json};
use tailorbird::notice::Notice;
use tailorbird::syncer::kubernetes::{CalicoGroup, Pace};

use crate::cluster::{Cluster, collection_of, deploy};
use crate::events::herald;
use crate::follow::{Followed, pace};
use crate::objects::{cluster, moved, settings};
use crate::program::until;
use crate::proxy::{Proxy, Seen};
use crate::server::skipped;

/// What is built of a folder; none where there is nothing to build it with.
fn built(folder: &str) -> Option<Vec<Value>> {
    let parts = std::env::var_os("KUBEBUILDER_ASSETS")?;
    let kubectl = std::path::Path::new(&parts).join("kubectl");
    if !kubectl.is_file() {
        skipped("there is no kubectl in the folder that KUBEBUILDER_ASSETS names");
        return None;
    }
    let output = Command::new(kubectl).arg("kustomize").arg(deploy().join(folder)).output().unwrap();
    assert!(output.status.success(), "{folder}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(serde_saphyr::from_multiple(&text).unwrap())
}

/// The definition of a PodMonitor, as far as it goes here.
fn pod_monitors() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "podmonitors.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"kind": "PodMonitor", "listKind": "PodMonitorList", "plural": "podmonitors", "singular": "podmonitor"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "required": ["selector", "podMetricsEndpoints"], "properties": {
                    "selector": {"type": "object", "properties": {
                        "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
                    }},
                    "podMetricsEndpoints": {"type": "array", "items": {"type": "object", "properties": {
                        "port": {"type": "string"}, "path": {"type": "string"}, "interval": {"type": "string"},
                    }}},
                }}},
            }}}],
        },
    })
}

#[tokio::test]
async fn the_api_server_takes_every_manifest() {
    let Some(api) = Cluster::take().await else { return };
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let made = api.ask(Method::POST, definitions, Some(&pod_monitors())).await;
    assert!(matches!(made, Ok(_) | Err(409)));
    for (folder, count) in [("base", 7), ("overlays/monitoring", 8), ("overlays/drop-in", 7)] {
        let Some(objects) = built(folder) else { return };
        assert_eq!(objects.len(), count, "{folder}");
        for object in objects {
            let collection = match object["kind"].as_str().unwrap() {
                "PodMonitor" => {
                    "/apis/monitoring.coreos.com/v1/namespaces/kube-system/podmonitors".to_owned()
                }
                _ => collection_of(&object).0,
            };
            let name = object["metadata"]["name"].as_str().unwrap();
            let path = format!(
                "{collection}/{name}?dryRun=All&fieldValidation=Strict&fieldManager=tests&force=true"
            );
            let taken = api.ask_as(Method::PATCH, &path, "application/apply-patch+yaml", Some(&object)).await;
            assert!(taken.is_ok(), "{folder}: {object:#}");
        }
    }
}

/// What calico-node's DaemonSet has that the patch is about.
fn calico_node() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "calico-node", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"k8s-app": "calico-node"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": {"k8s-app": "calico-node"}},
                "spec": {
                    "hostNetwork": true,
                    "serviceAccountName": "calico-node",
                    "containers": [{
                        "name": "calico-node",
                        "image": "calico/node",
                        "securityContext": {"privileged": true},
                        "env": [{"name": "CALICO_ROUTER_ID", "value": "hash"}],
                        "volumeMounts": [{"name": "var-run-calico", "mountPath": "/var/run/calico"}],
                    }],
                    "volumes": [{"name": "var-run-calico", "hostPath": {"path": "/var/run/calico"}}],
                },
            },
        },
    })
}

#[tokio::test]
async fn the_patch_puts_a_container_beside_calico_nodes_and_switches_confd_off() {
    let Some(api) = Cluster::take().await else { return };
    api.apply(&calico_node()).await;
    let text = std::fs::read_to_string(deploy().join("overlays/drop-in/calico-node.yaml")).unwrap();
    let patch: Value = serde_saphyr::from_str(&text).unwrap();
    let path =
        "/apis/apps/v1/namespaces/kube-system/daemonsets/calico-node?dryRun=All&fieldValidation=Strict";
    let kind = "application/strategic-merge-patch+json";
    let patched = api.ask_as(Method::PATCH, path, kind, Some(&patch)).await.unwrap();
    assert_eq!(patched["spec"]["updateStrategy"], json!({"type": "OnDelete"}));
    let pod = &patched["spec"]["template"]["spec"];
    let of = |name: &str| {
        let mut containers = pod["containers"].as_array().unwrap().iter();
        containers.find(|container| container["name"] == name).unwrap_or_else(|| panic!("{pod:#}"))
    };
    let mounts = |name: &str| {
        let mounts = of(name)["volumeMounts"].as_array().unwrap().iter();
        let mounts = mounts.map(|mount| {
            (
                mount["mountPath"].as_str().unwrap().to_owned(),
                (mount["name"].as_str().unwrap().to_owned(), mount["readOnly"] == true),
            )
        });
        mounts.collect::<std::collections::BTreeMap<_, _>>()
    };
    let files = "/etc/calico/confd/config";
    let (calicos, ours) = (mounts("calico-node"), mounts("tailorbird"));
    // One folder, one writer; what was there stays.
    assert_eq!((&calicos[files].0, calicos[files].1, ours[files].1), (&ours[files].0, true, false));
    assert_eq!(calicos["/var/run/calico"].0, ours["/var/run/calico"].0);
    assert!(calicos.contains_key("/etc/service/available/confd/run"));
    assert_eq!(of("calico-node")["env"][0]["name"], "CALICO_ROUTER_ID");
}

/// Group, resource and verb of a request for Kubernetes' objects.
fn permission(seen: &Seen) -> Option<(String, String, &'static str)> {
    let of_events = |verb| Some((String::new(), "events".to_owned(), verb));
    match seen.method.as_str() {
        "POST" if seen.path.ends_with("/events") => return of_events("create"),
        "PATCH" if seen.path.contains("/events/") => return of_events("patch"),
        _ => {}
    }
    let (path, query) = seen.path.split_once('?')?;
    let mut parts = path.trim_start_matches('/').split('/');
    let group = if parts.next()? == "api" { "" } else { parts.next()? };
    let verb = if query.contains("watch=1") { "watch" } else { "list" };
    Some((group.to_owned(), parts.next_back()?.to_owned(), verb))
}

#[tokio::test]
async fn the_role_allows_what_is_done_and_nothing_else() {
    let Some(api) = Cluster::take().await else { return };
    let file = api.deployed(&["bgp"]).await;
    let own: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let token = own["users"][0]["user"]["token"].as_str().unwrap();
    let mut done = BTreeSet::new();
    for group in [CalicoGroup::Crd, CalicoGroup::V3] {
        api.install(group).await;
        let objects = if group == CalicoGroup::Crd { cluster() } else { moved(&cluster()) };
        api.apply_all(&objects).await;
        let proxy = Proxy::start_as(api.server, token).await;
        let mut followed = Followed::start(api.put(&proxy.kubeconfig()), settings(), pace()).await;
        followed.until_rendered("all", &objects).await;
        let seen = |verb| {
            let seen = proxy.seen(|_| true).into_iter().filter_map(|seen| permission(&seen));
            seen.filter(|(.., other)| *other == verb).collect::<BTreeSet<_>>()
        };
        // The watches begin when the lists have been told.
        while seen("watch").len() < seen("list").len() {
            followed.during(std::time::Duration::from_millis(10)).await;
        }
        done.extend(proxy.seen(|_| true).into_iter().filter_map(|seen| permission(&seen)));
        assert!(followed.states.iter().all(|state| state.problems.is_empty()), "{:?}", followed.states);
        let events =
            |verb| proxy.seen(|seen| permission(seen).is_some_and(|(.., other)| other == verb)).len();
        let told = herald("worker-1", api.put(&proxy.kubeconfig())).await;
        let notice = Notice::quarantined("plugin");
        told.now(&[&notice]);
        until("it is told", || events("create") == 1).await;
        let again = herald("worker-1", api.put(&proxy.kubeconfig())).await;
        again.now(&[&notice]);
        // Read and counted up.
        until("it is counted", || events("patch") >= 2).await;
        done.extend(proxy.seen(|_| true).into_iter().filter_map(|seen| permission(&seen)));
    }
    let text = std::fs::read_to_string(deploy().join("base/rbac.yaml")).unwrap();
    let manifests = serde_saphyr::from_multiple::<Value>(&text).unwrap();
    let mut allowed = BTreeSet::new();
    let strings = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    for rule in manifests.iter().filter_map(|object| object["rules"].as_array()).flatten() {
        for group in strings(&rule["apiGroups"]) {
            for resource in strings(&rule["resources"]) {
                for verb in strings(&rule["verbs"]) {
                    allowed.insert((group.clone(), resource.clone(), verb));
                }
            }
        }
    }
    let done: BTreeSet<_> =
        done.into_iter().map(|(group, resource, verb)| (group, resource, verb.to_owned())).collect();
    assert_eq!(done, allowed);
}

/// Passwords in other Secrets than those that are named count as none, and that is told.
#[tokio::test]
async fn a_secret_that_is_not_named_may_not_be_read() {
    let Some(api) = Cluster::take().await else { return };
    let objects = cluster();
    api.apply_all(&objects).await;
    let file = api.deployed(&["another"]).await;
    let pace = Pace { longest_wait: std::time::Duration::from_millis(50), ..pace() };
    let mut followed = Followed::start(file, settings(), pace).await;
    let fewer: Vec<Value> = objects.iter().filter(|object| object["kind"] != "Secret").cloned().collect();
    followed.until_rendered("without", &fewer).await;
    followed.until("the problem", |followed| !followed.of("secrets").problems.is_empty()).await;
    api.deployed(&["bgp"]).await;
    followed.until_rendered("with", &objects).await;
}
