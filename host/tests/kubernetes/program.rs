//! The program itself: once, and for as long as it runs.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::common::{Bench, Ran};
use crate::follow::from_files;
use crate::objects::{cluster, node, peer, settings};
use crate::proxy::{Fault, Proxy, Seen};
use crate::server::{AT_MOST, free_ports, http};
use crate::support::component::Guest;
use crate::support::rendered::Files;

pub(crate) fn program(api: &Cluster, bench: &Bench, line: &str) -> Command {
    let mut command = bench.command(line);
    command.env("KUBECONFIG", api.files.path().join("kubeconfig")).env("NODENAME", "worker-1");
    command
}

/// The daemon: its folder is there, and its configuration has this, and that BIRD is told nothing.
pub(crate) fn run(api: &Cluster, bench: &Bench, more: &str) -> Command {
    fs::create_dir(bench.out()).unwrap();
    bench.put("tailorbird.toml", &format!("{more}[daemon]\nreload = \"none\"\n"));
    program(api, bench, "run --out OUT --config tailorbird.toml --http none")
}

/// The same at work.
pub(crate) fn daemon(api: &Cluster, bench: &Bench, more: &str) -> Daemon {
    Daemon::start(bench, run(api, bench, more))
}

/// A daemon that runs; it is killed with this value.
pub(crate) struct Daemon(Child);

impl Daemon {
    /// What it tells goes into the bench's file `log`.
    pub(crate) fn start(bench: &Bench, mut command: Command) -> Self {
        let log = File::create(bench.path("log")).unwrap();
        Self(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    /// One that answers HTTP, and what it tells of itself once all its sources are in sync. It is started with the words of
    /// its command line.
    pub(crate) async fn shown(bench: &Bench, command: impl Fn(&str) -> Command) -> (Self, Value) {
        fs::create_dir(bench.out()).unwrap();
        bench.put("tailorbird.toml", "[daemon]\nreload = \"none\"\n");
        let [port] = free_ports();
        let line = format!("run --out OUT --config tailorbird.toml --http 127.0.0.1:{port}");
        let daemon = Self::start(bench, command(&line));
        let deadline = Instant::now() + AT_MOST;
        loop {
            let answer = http(port, "GET /status HTTP/1.0\r\n\r\n").await;
            let status: Value = serde_json::from_str(&answer).unwrap_or_default();
            let sources = status["sources"].as_array().map(Vec::as_slice).unwrap_or_default();
            if !sources.is_empty() && sources.iter().all(|source| source["in_sync"] == true) {
                return (daemon, status);
            }
            assert!(Instant::now() < deadline, "not in sync: {status:#}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended before.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Runs to the end, without holding up the proxy.
pub(crate) async fn ended(mut command: Command) -> Ran {
    tokio::task::spawn_blocking(move || Ran::of(&mut command)).await.unwrap()
}

/// All that is in a folder.
pub(crate) fn set(folder: &Path) -> Files {
    let Ok(entries) = fs::read_dir(folder) else { return Files::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| !name.starts_with('.'));
    names.map(|name| (name.clone(), fs::read_to_string(folder.join(&name)).unwrap_or_default())).collect()
}

pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + AT_MOST;
    while !holds() {
        assert!(Instant::now() < deadline, "it did not come to pass that {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_rendered_once_and_compared() {
    let Some(api) = Cluster::take().await else { return };
    let bench = Bench::new();
    let mut objects = cluster();
    api.apply_all(&objects).await;
    let token = api.deployed(&["bgp"]).await;
    let render = "render --datastore kubernetes --out OUT";
    let ran = ended(program(&api, &bench, render)).await.ends(0);
    assert_eq!(ran.err, "", "{}", ran.out);
    assert_eq!(set(&bench.out()), from_files(&settings(), &objects));

    let diff = "diff --datastore kubernetes --out OUT";
    let ran = ended(program(&api, &bench, diff)).await.ends(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    objects.push(peer(9));
    api.apply(&peer(9)).await;
    ended(program(&api, &bench, diff)).await.ends(1).prints("+  neighbor 10.1.0.9 as 65001;");

    // The API server does not let this user in: nothing is rendered, and it says what is wrong.
    fs::write(&token, api.server.kubeconfig("nobody").to_string()).unwrap();
    let (refused, lost) = (program(&api, &bench, render), program(&api, &bench, render));
    // Others can have the cluster meanwhile.
    let _files = api.end();
    let ran = ended(refused).await.ends(1).tells("kubernetes/nodes: ").tells("401: Unauthorized");
    assert_eq!(ran.out, "");
    // There is no way to it at all.
    fs::remove_file(&token).unwrap();
    ended(lost).await.ends(1).tells("no way to the Kubernetes API").tells("KUBECONFIG");
}

/// The lists that are read anyway hold all that plugins may read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deployed_account_is_enough_for_plugins() {
    let Some(api) = Cluster::take().await else { return };
    let mut objects = cluster();
    for object in &mut objects {
        match object["kind"].as_str() {
            Some("Service") => object["metadata"]["annotations"] = json!({"bgp.tailorbird.io/priority": "7"}),
            Some("Node") => object["spec"] = json!({"unschedulable": true}),
            _ => {}
        }
    }
    api.apply_all(&objects).await;
    api.deployed(&["bgp"]).await;
    let bench = Bench::new();
    let grants = [
        "/tailorbird/v1/node/*/labels/rack",
        "/tailorbird/v1/node/*/unschedulable",
        "/tailorbird/v1/service/*/*/annotations/bgp.tailorbird.io",
    ];
    let guest = Guest::new("p", "peers-plugin").wants(&grants);
    fs::write(bench.path("p.wasm"), guest.component()).unwrap();
    let plugin = format!("[[plugin]]\npath = \"p.wasm\"\ngrants = {grants:?}\n");
    bench.put("tailorbird.toml", &plugin);
    let get = program(&api, &bench, "get /tailorbird/v1 --datastore kubernetes --config tailorbird.toml");
    let ran = ended(get).await.ends(0);
    assert_eq!(ran.err, "", "{}", ran.out);
    for key in [
        "/tailorbird/v1/node/worker-2/labels/rack",
        "/tailorbird/v1/node/worker-3/unschedulable",
        "/tailorbird/v1/service/default/service-1/annotations/bgp.tailorbird.io/priority",
    ] {
        assert!(ran.out.contains(key), "{key}: {}", ran.out);
    }

    let _daemon = daemon(&api, &bench, &plugin);
    let expected = from_files(&settings(), &objects);
    until("the files are there", || set(&bench.out()) == expected).await;
    let log = fs::read_to_string(bench.path("log")).unwrap();
    assert!(!log.contains("ERROR") && !log.contains("403"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_follows_the_cluster_through_an_absence_of_its_api_server() {
    let Some(api) = Cluster::take().await else { return };
    let bench = Bench::new();
    let mut objects = cluster();
    api.apply_all(&objects).await;
    let proxy = Proxy::start(api.server).await;
    api.put(&proxy.kubeconfig());
    let _daemon = daemon(&api, &bench, "");
    let out = bench.out();
    let shows = |objects: &[serde_json::Value]| {
        let expected = from_files(&settings(), objects);
        let out = out.clone();
        move || set(&out) == expected
    };
    until("the files are there", shows(&objects)).await;

    let mut moved = node(2);
    moved["metadata"]["annotations"]["projectcalico.org/IPv4Address"] = json!("10.0.0.202/24");
    let position = objects.iter().position(|object| object["metadata"]["name"] == "worker-2").unwrap();
    objects[position] = moved.clone();
    api.apply(&moved).await;
    until("the node has moved", shows(&objects)).await;

    // A peer comes and another goes while nobody can be asked, and what happened is not known afterwards.
    let port = proxy.port();
    drop(proxy);
    let position = objects.iter().position(|object| object["metadata"]["name"] == "rack").unwrap();
    api.delete(&objects.remove(position)).await;
    objects.push(peer(9));
    api.apply(&peer(9)).await;
    let proxy = Proxy::start_at(api.server, port).await;
    proxy.harm(1, |seen: &Seen| seen.is_watch("bgppeers"), Fault::OLDEST);
    until("all is as it should be", shows(&objects)).await;
    let log = fs::read_to_string(bench.path("log")).unwrap();
    assert!(log.contains("bgppeers: what happened meanwhile is no longer known"));
}
