//! Events: what users must know is on the Node or on the BGPPeer, told once, counted up, and in nobody's way.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tailorbird::engine::Settings;
use tailorbird::notice::{About, Herald, Matter, Notice, Notices};
use tailorbird::syncer::kubernetes::{Access, Pace, Place, sources};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cluster::Cluster;
use crate::common::Bench;
use crate::follow::{from_files, pace};
use crate::objects::{calico, cluster, settings};
use crate::program::{daemon, set, until};
use crate::proxy::{Fault, Proxy, Seen};
use crate::server::{AT_MOST, USER};
use crate::support::component::Guest;

const COLLECTION: &str = "/api/v1/namespaces/default/events";

/// What a node tells in Events.
pub(crate) struct Told {
    notices: watch::Sender<Arc<Notices>>,
    task: JoinHandle<()>,
}

impl Drop for Told {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The herald of a node.
pub(crate) async fn herald(node: &str, kubeconfig: std::path::PathBuf) -> Told {
    let access = Access::open(Place::File(kubeconfig)).await.unwrap();
    let pace = Pace { events: Duration::ZERO, ..pace() };
    let (_, events) = sources(access, &Settings::new(node.parse().unwrap()), None, pace);
    let (notices, noticed) = watch::channel(Arc::default());
    Told { notices, task: tokio::spawn(Box::new(events).run(noticed)) }
}

impl Told {
    pub(crate) fn now(&self, notices: &[&Notice]) {
        self.notices.send_replace(Arc::new(notices.iter().copied().cloned().collect()));
    }
}

fn bad_peer(name: &str) -> Notice {
    Notice {
        about: About::BgpPeer(name.parse().unwrap()),
        matter: Matter::BadPeer,
        text: format!("BGPPeer {name}: spec.peerIP = \"no\": not an address"),
    }
}

/// The Events that this program told of an object.
async fn events(api: &Cluster, name: &str) -> Vec<Value> {
    let all = api.ask(Method::GET, COLLECTION, None).await.unwrap();
    let own = all["items"].as_array().unwrap().iter().filter(|event| {
        event["involvedObject"]["name"] == name && event["source"]["component"] == "tailorbird"
    });
    own.cloned().collect()
}

/// Waits until there are such Events of an object, and gives them.
async fn until_events(api: &Cluster, what: &str, name: &str, holds: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    // About a peer, nodes wait by chance for half a minute at most.
    let deadline = tokio::time::Instant::now() + AT_MOST + Pace::default().events;
    loop {
        let events = events(api, name).await;
        if holds(&events) {
            return events;
        }
        assert!(tokio::time::Instant::now() < deadline, "{what}: {events:#?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn forget(api: &Cluster) {
    api.ask(Method::DELETE, COLLECTION, None).await.unwrap();
}

#[tokio::test]
async fn what_is_told_again_or_by_another_node_is_the_same_event() {
    let Some(api) = Cluster::take().await else { return };
    forget(&api).await;
    // Under the deployed account.
    let file = api.deployed(&["bgp"]).await;
    let (first, second) = (herald("worker-1", file.clone()).await, herald("worker-2", file).await);
    let (peer, check) = (bad_peer("switch"), Notice::failed_check("bird", "bird.cfg:7: syntax error"));
    first.now(&[&peer, &check]);
    let on_peer = until_events(&api, "on the peer", "switch", |events| events.len() == 1).await;
    let on_node = until_events(&api, "on the node", "worker-1", |events| events.len() == 1).await;
    let about = |event: &Value| {
        let object = &event["involvedObject"];
        [&object["kind"], &object["apiVersion"], &event["reason"], &event["type"]]
            .map(|text| text.as_str().unwrap().to_owned())
    };
    assert_eq!(about(&on_peer[0]), ["BGPPeer", "crd.projectcalico.org/v1", "BadPeer", "Warning"]);
    assert_eq!(about(&on_node[0]), ["Node", "v1", "FailedCheck", "Warning"]);
    assert_eq!(on_peer[0]["message"], peer.text);

    // Another node has the same to say of the peer, and something of itself.
    second.now(&[&peer, &check]);
    until_events(&api, "on the other node", "worker-2", |events| events.len() == 1).await;
    let on_peer = events(&api, "switch").await;
    assert_eq!((on_peer.len(), &on_peer[0]["count"]), (1, &json!(1)));

    // What goes and comes again, at another line of the file, is counted up.
    first.now(&[]);
    until("it is taken back", || Arc::strong_count(&first.notices.borrow()) == 1).await;
    first.now(&[&Notice::failed_check("bird", "bird.cfg:11: syntax error")]);
    until_events(&api, "counted", "worker-1", |events| events.len() == 1 && events[0]["count"] == 2).await;
}

#[tokio::test]
async fn what_could_not_be_told_is_told_later_and_the_first_ten_at_once() {
    let Some(api) = Cluster::take().await else { return };
    forget(&api).await;
    let proxy = Proxy::start(api.server).await;
    proxy.harm(2, |seen: &Seen| seen.method == Method::POST, Fault::Answer(500, None));
    let told = herald("worker-1", api.put(&proxy.kubeconfig())).await;
    let many: Vec<Notice> = (0..12).map(|number| Notice::quarantined(&format!("plugin-{number}"))).collect();
    told.now(&many.iter().collect::<Vec<_>>());
    until_events(&api, "after errors", "worker-1", |events| !events.is_empty()).await;
    let posts = || proxy.seen(|seen| seen.method == Method::POST).len();
    // Two were answered with errors; each of them counts.
    until("ten were tried", || posts() == 10).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(posts(), 10);
    let messages: BTreeSet<String> =
        events(&api, "worker-1").await.iter().map(|event| event["message"].to_string()).collect();
    assert_eq!(messages.len(), 8, "{messages:#?}");
}

/// Waits until the API server has heard that the user of a kubeconfig may not tell Events.
async fn until_refused(api: &Cluster, kubeconfig: &Path) {
    let config: Value = serde_json::from_slice(&fs::read(kubeconfig).unwrap()).unwrap();
    let client = api.server.client(config["users"][0]["user"]["token"].as_str().unwrap()).await;
    loop {
        let request = http::Request::post(COLLECTION).header("content-type", "application/json");
        let answer = client.request::<Value>(request.body(b"{}".to_vec()).unwrap()).await;
        if matches!(answer, Err(kube::Error::Api(status)) if status.code == 403) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_daemon_tells_of_a_missing_secret_and_one_that_may_not_tell_goes_on() {
    let Some(api) = Cluster::take().await else { return };
    forget(&api).await;
    let mut objects = cluster();
    let reference = json!({"secretKeyRef": {"name": "bgp", "key": "none"}});
    objects[0] = calico("BGPConfiguration", "default", json!({"nodeMeshPassword": reference}));
    api.apply_all(&objects).await;
    for may_tell in [true, false] {
        let bench = Bench::new();
        let file = api.deployed(&["bgp"]).await;
        if !may_tell {
            let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/tailorbird";
            let mut role = api.ask(Method::GET, path, None).await.unwrap();
            let rules = role["rules"].as_array_mut().unwrap();
            rules.retain(|rule| rule["resources"] != json!(["events"]));
            api.ask(Method::PUT, path, Some(&role)).await.unwrap();
            until_refused(&api, &file).await;
        }
        let _daemon = daemon(&api, &bench, "");
        let log = bench.path("log");
        let expected = from_files(&settings(), &objects);
        until("the files are there", || set(&bench.out()) == expected).await;
        let refused = || fs::read_to_string(&log).unwrap().matches("Events may not be told").count();
        if may_tell {
            let told = until_events(&api, "told", "worker-1", |events| !events.is_empty()).await;
            assert_eq!(told[0]["reason"], "MissingSecret");
            assert!(!told[0].to_string().contains("sesame"), "{told:#?}");
            assert_eq!(refused(), 0);
            forget(&api).await;
        } else {
            until("the refusal is told", || refused() == 1).await;
            // Another matter is refused as well, and that is not told again.
            let other = calico("BGPPeer", "switch", json!({"peerIP": "10.0.0.254", "asNumber": "no"}));
            api.apply(&other).await;
            let objects: Vec<Value> =
                objects.iter().filter(|o| o["metadata"]["name"] != "switch").cloned().collect();
            let expected = from_files(&settings(), &objects);
            until("what follows is rendered", || set(&bench.out()) == expected).await;
            assert_eq!(refused(), 1);
            assert_eq!(events(&api, "worker-1").await, Vec::<Value>::new());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_daemon_tells_of_bad_peers_failed_checks_and_quarantined_plugins() {
    let Some(api) = Cluster::take().await else { return };
    forget(&api).await;
    api.apply_all(&cluster()).await;
    api.apply(&calico("BGPPeer", "switch", json!({"peerIP": "no address", "asNumber": 1}))).await;
    api.deployed(&["bgp"]).await;
    let bench = Bench::new();
    bench.daemon("bird", "echo \"$3:7: what is this\" >&2; exit 1");
    let guest = Guest::new("p", "peers-plugin").body("peers#select", "(unreachable)");
    fs::write(bench.path("p.wasm"), guest.component()).unwrap();
    let plugin = "[[plugin]]\npath = \"p.wasm\"\non_error = \"skip\"\n";
    let _daemon = daemon(&api, &bench, plugin);
    let has =
        |reason: &'static str| move |events: &[Value]| events.iter().any(|event| event["reason"] == reason);
    until_events(&api, "the check", "worker-1", has("FailedCheck")).await;
    until_events(&api, "the plugin", "worker-1", has("QuarantinedPlugin")).await;
    until_events(&api, "the peer", "switch", has("BadPeer")).await;
}

#[tokio::test]
async fn one_without_any_permission_tells_nothing_and_tries_each_matter_once() {
    let Some(api) = Cluster::take().await else { return };
    forget(&api).await;
    let proxy = Proxy::start_as(api.server, USER).await;
    let told = herald("worker-1", api.put(&proxy.kubeconfig())).await;
    let notices = [Notice::quarantined("one"), Notice::quarantined("two")];
    told.now(&[&notices[0]]);
    let posts = || proxy.seen(|seen| seen.method == Method::POST).len();
    until("the first is refused", || posts() == 1).await;
    told.now(&[&notices[0], &notices[1]]);
    until("the second is refused", || posts() == 2).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(posts(), 2);
}
