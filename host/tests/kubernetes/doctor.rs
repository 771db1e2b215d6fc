//! What `doctor` tries on the way to the API of Kubernetes.

use std::fs;

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::common::Bench;
use crate::objects::cluster;
use crate::papers::Papers;
use crate::program::{ended, program};
use crate::server::{USER, free_ports};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_step_is_tried_and_what_fails_is_told_with_what_to_do() {
    let Some(api) = Cluster::take().await else { return };
    api.apply_all(&cluster()).await;
    Papers::new(api.files.path(), "other");
    let [dead] = free_ports();
    let good: Value = serde_json::from_slice(&fs::read(api.deployed(&["bgp"]).await).unwrap()).unwrap();
    let with = |what: &str, value: &str| {
        let mut config = good.clone();
        *config.pointer_mut(what).unwrap() = value.into();
        config
    };
    let server = "/clusters/0/cluster/server";
    let lister = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "lister"},
        "rules": [{"apiGroups": [""], "resources": ["services"], "verbs": ["list"]}],
    });
    let bound = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "lister"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "lister"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    });
    for object in [&lister, &bound] {
        api.apply(object).await;
    }
    let at = format!("127.0.0.1 port {}", api.server.address().port());
    for (kubeconfig, expected) in [
        (
            good.clone(),
            &[
                ("ok      kubernetes: look up 127.0.0.1", "127.0.0.1"),
                (&format!("ok      kubernetes: connect to {at}"), "valid from"),
                ("ok      kubernetes: version", "v1."),
                ("ok      kubernetes: Calico's group", "crd.projectcalico.org/v1"),
                ("ok      kubernetes: list and watch nodes", "allowed"),
                ("ok      kubernetes: list and watch bgppeers", "allowed"),
                ("ok      kubernetes: list and watch blockaffinities", "allowed"),
            ][..],
        ),
        (
            with("/users/0/user/token", "nobody"),
            &[("FAILED  kubernetes: version", "a token may be out of date")],
        ),
        (
            with("/users/0/user/token", USER),
            &[
                ("FAILED  kubernetes: list and watch nodes", "cannot list"),
                ("FAILED  kubernetes: list and watch services", "cannot watch"),
                ("FAILED  kubernetes: list and watch bgppeers", "allow `list` and `watch` of bgppeers"),
            ],
        ),
        (
            with(
                "/clusters/0/cluster/certificate-authority",
                api.files.path().join("other.pem").to_str().unwrap(),
            ),
            &[(&format!("FAILED  kubernetes: connect to {at}"), "UnknownIssuer")],
        ),
        (
            with(server, &format!("https://127.0.0.1:{dead}")),
            &[("FAILED  kubernetes: connect to 127.0.0.1", "is the API server running there")],
        ),
        (
            with(server, "https://nowhere.invalid:6443"),
            &[("FAILED  kubernetes: look up nowhere.invalid", "is the name right")],
        ),
    ] {
        api.put(&kubeconfig);
        let bench = Bench::new();
        let ran = ended(program(&api, &bench, "doctor")).await.ends(1);
        for (start, part) in expected {
            let is_it = |line: &str| line.starts_with(start) && line.contains(part);
            assert!(ran.out.lines().any(is_it), "{start}: …{part}: {ran:#?}");
        }
    }
    for object in [&bound, &lister] {
        api.delete(object).await;
    }
}
