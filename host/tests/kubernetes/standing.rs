//! What stands in the way for longer: kinds that are not installed, permissions that are missing.

use std::time::Duration;

use serde_json::{Value, json};
use tailorbird::syncer::kubernetes::{CalicoGroup, Pace};

use crate::cluster::Cluster;
use crate::follow::{Followed, pace};
use crate::objects::{calico, cluster, moved, peer, secret, service, settings};
use crate::proxy::Proxy;
use crate::server::{ADMIN, USER};

fn without(objects: &[Value], kinds: &[&str]) -> Vec<Value> {
    objects.iter().filter(|object| !kinds.contains(&object["kind"].as_str().unwrap())).cloned().collect()
}

#[tokio::test]
async fn a_kind_that_is_not_installed_has_no_objects_until_it_is() {
    let Some(api) = Cluster::take().await else { return };
    let objects = cluster();
    api.apply_all(&objects).await;
    api.uninstall(CalicoGroup::Crd, "bgpfilters").await;
    let mut followed = Followed::start(api.kubeconfig(ADMIN), settings(), pace()).await;
    let fewer = without(&objects, &["BGPFilter"]);
    followed.until_rendered("without filters", &fewer).await;
    api.install(CalicoGroup::Crd).await;
    api.apply_all(&objects).await;
    followed.until_rendered("with filters", &objects).await;
    // Now they go, and the kind with them: only once that has lasted do they count as gone.
    api.uninstall(CalicoGroup::Crd, "bgpfilters").await;
    followed.until_rendered("without again", &fewer).await;
}

#[tokio::test]
async fn a_cluster_without_calico_says_so() {
    let Some(api) = Cluster::take().await else { return };
    for (_, plural) in crate::cluster::CALICO {
        api.uninstall(CalicoGroup::Crd, plural).await;
    }
    let objects = without(&cluster(), &crate::cluster::CALICO.map(|(kind, _)| kind));
    api.apply_all(&objects).await;
    let mut followed = Followed::start(api.kubeconfig(ADMIN), settings(), pace()).await;
    followed.until_rendered("without", &objects).await;
    let problems = &followed.of("ippools").problems;
    assert!(
        problems[0].contains("neither crd.projectcalico.org/v1 nor projectcalico.org/v3"),
        "{problems:?}"
    );
    let objects = cluster();
    api.install(CalicoGroup::Crd).await;
    api.apply_all(&objects).await;
    followed.until_rendered("with", &objects).await;
    followed
        .until("no problem", |followed| followed.states.iter().all(|state| state.problems.is_empty()))
        .await;
}

#[tokio::test]
async fn the_group_is_the_one_that_is_served_and_follows_when_it_changes() {
    let Some(api) = Cluster::take().await else { return };
    let objects = cluster();
    api.apply_all(&objects).await;
    let mut followed = Followed::start(api.kubeconfig(ADMIN), settings(), pace()).await;
    followed.until_rendered("crd", &objects).await;
    api.install(CalicoGroup::V3).await;
    let objects = moved(&objects);
    api.apply_all(&objects).await;
    followed.until_rendered("v3", &objects).await;
    let more = moved(&[peer(10)]);
    api.apply_all(&more).await;
    let all = [&objects[..], &more].concat();
    followed.until_rendered("v3 goes on", &all).await;
    followed.stop().await;

    // A group that is asked for is taken even where it is not served.
    let forced = Some(CalicoGroup::Crd);
    let mut followed = Followed::start_with(api.kubeconfig(ADMIN), settings(), forced, pace()).await;
    let others = without(&objects, &crate::cluster::CALICO.map(|(kind, _)| kind));
    followed.until_rendered("forced", &others).await;
}

/// A role that may read these resources.
fn role(resources: &[&str]) -> [Value; 2] {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": ["*"], "resources": resources, "verbs": ["list", "watch"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "subjects": [{"kind": "User", "name": USER, "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"kind": "ClusterRole", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"},
    });
    [role, binding]
}

const ALL: [&str; 9] = [
    "nodes",
    "bgpconfigurations",
    "bgppeers",
    "bgpfilters",
    "ippools",
    "blockaffinities",
    "services",
    "endpointslices",
    "secrets",
];

fn all_but(resource: &str) -> Vec<&'static str> {
    ALL.into_iter().filter(|other| *other != resource).collect()
}

#[tokio::test]
async fn without_permission_for_services_peers_are_rendered_and_the_loss_is_told() {
    let Some(api) = Cluster::take().await else { return };
    let objects = cluster();
    api.apply_all(&objects).await;
    api.apply_all(&role(&all_but("services"))).await;
    let mut followed = Followed::start(api.kubeconfig(USER), settings(), pace()).await;
    let fewer = without(&objects, &["Service"]);
    followed.until_rendered("without", &fewer).await;
    let problems = followed.of("services").problems.clone();
    assert!(problems[0].starts_with("services may not be read, they count as none: 403: "), "{problems:?}");
    assert!(problems[0].ends_with("allow list and watch of services"), "{problems:?}");
    api.apply_all(&role(&ALL)).await;
    followed.until_rendered("with", &objects).await;
    followed.until("no problem", |followed| followed.of("services").problems.is_empty()).await;
}

#[tokio::test]
async fn without_permission_for_peers_nothing_is_in_sync_that_would_end_sessions() {
    let Some(api) = Cluster::take().await else { return };
    let objects = cluster();
    api.apply_all(&objects).await;
    api.apply_all(&role(&all_but("bgppeers"))).await;
    let mut followed = Followed::start(api.kubeconfig(USER), settings(), pace()).await;
    followed.until("all but one", |followed| followed.not_in_sync() == ["bgppeers"]).await;
    followed.until("the reason", |followed| followed.of("bgppeers").lost.is_some()).await;
    let reason = followed.of("bgppeers").lost.clone().unwrap();
    assert!(
        reason.ends_with("allow list and watch of bgppeers of the group crd.projectcalico.org"),
        "{reason}"
    );
    api.apply_all(&role(&ALL)).await;
    followed.until_rendered("with", &objects).await;
}

/// What was read before stands, and the others go on.
#[tokio::test]
async fn a_permission_that_is_lost_is_told_and_stops_nothing_else() {
    let Some(api) = Cluster::take().await else { return };
    let mut objects = cluster();
    api.apply_all(&objects).await;
    api.apply_all(&role(&ALL)).await;
    // A watch that has begun outlives its permission: it must end soon.
    let pace = Pace { watch: Duration::from_secs(1), ..pace() };
    let mut followed = Followed::start(api.kubeconfig(USER), settings(), pace).await;
    followed.until_rendered("all", &objects).await;
    api.apply_all(&role(&all_but("bgpfilters"))).await;
    followed.until("the problem", |followed| !followed.of("bgpfilters").problems.is_empty()).await;
    objects.extend(service(2));
    api.apply_all(&objects[objects.len() - 2..]).await;
    followed.until_rendered("others", &objects).await;
    let problem = followed.of("bgpfilters").problems[0].clone();
    assert!(
        problem.starts_with("bgpfilters may not be read, what was last known stands: 403: "),
        "{problem}"
    );

    let filter = calico(
        "BGPFilter",
        "later",
        json!({"importV4": [{"cidr": "10.8.0.0/16", "matchOperator": "In", "action": "Accept"}]}),
    );
    api.apply(&filter).await;
    objects.push(filter);
    api.apply_all(&role(&ALL)).await;
    followed.until_rendered("all again", &objects).await;
    followed.until("no problem", |followed| followed.of("bgpfilters").problems.is_empty()).await;
}

#[tokio::test]
async fn only_the_secrets_that_are_needed_are_asked_for_and_each_change_is_followed() {
    let Some(api) = Cluster::take().await else { return };
    let mut objects = cluster();
    api.apply_all(&objects).await;
    let proxy = Proxy::start(api.server).await;
    let mut followed = Followed::start(api.put(&proxy.kubeconfig()), settings(), pace()).await;
    followed.until_rendered("the start", &objects).await;
    assert!(followed.render()["bird.cfg"].contains("sesame-4711"));

    let position = objects.iter().position(|object| object["metadata"]["name"] == "bgp").unwrap();
    objects[position] = secret("bgp", "sesame-4712");
    api.apply(&objects[position]).await;
    followed.until_rendered("another value", &objects).await;
    let gone = objects.remove(position);
    api.delete(&gone).await;
    followed.until_rendered("no secret", &objects).await;
    objects.push(gone);
    api.apply(&objects[objects.len() - 1]).await;
    followed.until_rendered("a secret again", &objects).await;

    // Another peer needs another one: what is rendered before it is read counts as out of date.
    let spec = json!({"peerIP": "10.1.0.77", "asNumber": 65001,
                      "password": {"secretKeyRef": {"name": "other", "key": "password"}}});
    objects.push(calico("BGPPeer", "with-another", spec));
    api.apply(&objects[objects.len() - 1]).await;
    followed.until("another secret is needed", |followed| !followed.in_sync()).await;
    followed.until_rendered("another secret", &objects).await;
    let asked = proxy.seen(|seen| seen.path.contains("secrets"));
    let by_name = |name: &str| {
        let part = format!("/api/v1/namespaces/kube-system/secrets?fieldSelector=metadata.name%3D{name}&");
        asked.iter().filter(|seen| seen.path.starts_with(&part)).count()
    };
    assert!(by_name("bgp") >= 2 && by_name("other") >= 2);
    assert_eq!(by_name("bgp") + by_name("other"), asked.len());

    // One that nobody needs any more is forgotten.
    let gone = objects.pop().unwrap();
    api.delete(&gone).await;
    followed.until_rendered("one secret", &objects).await;
    let last = followed.of("secrets").events.last();
    assert!(
        matches!(last, Some(tailorbird::engine::Event::Delete(key)) if key.name.as_str() == "other"),
        "{last:?}"
    );
}

#[tokio::test]
async fn only_blocks_that_can_be_the_nodes_are_asked_for_and_one_that_is_labelled_later_stays() {
    let Some(api) = Cluster::take().await else { return };
    let mut objects = cluster();
    api.apply_all(&objects).await;
    let mut followed = Followed::start(api.kubeconfig(ADMIN), settings(), pace()).await;
    followed.until_rendered("the start", &objects).await;
    let label = json!({"projectcalico.org/hostname-hash": crate::objects::hash("worker-1")});
    let unlabelled = objects.iter_mut().find(|object| object["metadata"]["name"] == "unlabelled").unwrap();
    unlabelled["metadata"]["labels"] = label;
    unlabelled["spec"]["state"] = "pendingDeletion".into();
    api.apply(&unlabelled.clone()).await;
    followed.until_rendered("labelled", &objects).await;
    let names: Vec<String> = followed
        .of("blockaffinities")
        .events
        .iter()
        .map(|event| match event {
            tailorbird::engine::Event::Upsert(parsed) => parsed.key.to_string(),
            tailorbird::engine::Event::Delete(key) => format!("- {key}"),
        })
        .collect();
    assert!(names.iter().all(|name| !name.contains("others")), "{names:?}");
}
