//! The program itself: once, and for as long as it runs.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cluster::Cluster;
use crate::common::{Bench, Ran};
use crate::follow::{AT_MOST, from_files};
use crate::objects::{cluster, node, peer, settings};
use crate::proxy::{Fault, Proxy, Seen};
use crate::support::rendered::Files;

pub(crate) fn program(api: &Cluster, bench: &Bench, line: &str) -> Command {
    let mut command = bench.command(line);
    command.env("KUBECONFIG", api.files.path().join("kubeconfig")).env("NODENAME", "worker-1");
    command
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

#[test]
fn only_kubernetes_can_be_the_datastore() {
    let bench = Bench::new();
    let mut command = bench.command("run --node worker-1");
    let ran = Ran::of(command.env("DATASTORE_TYPE", "etcdv3"));
    ran.ends(2).tells("DATASTORE_TYPE=\"etcdv3\"").tells("kubernetes");
}

/// A daemon that runs; it is killed with this value.
pub(crate) struct Daemon(pub(crate) Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended before.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_follows_the_cluster_through_an_absence_of_its_api_server() {
    let Some(api) = Cluster::take().await else { return };
    let bench = Bench::new();
    let mut objects = cluster();
    api.apply_all(&objects).await;
    let proxy = Proxy::start(api.server).await;
    api.put(&proxy.kubeconfig());
    fs::create_dir(bench.out()).unwrap();
    bench.put("tailorbird.toml", "[daemon]\nreload = \"none\"\n");
    let log = bench.path("log");
    let mut command = program(&api, &bench, "run --out OUT --config tailorbird.toml --http none");
    let daemon = command.stdout(Stdio::null()).stderr(File::create(&log).unwrap()).spawn().unwrap();
    let _daemon = Daemon(daemon);
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
    proxy.harm(1, |seen: &Seen| seen.is_watch("bgppeers"), Fault::Oldest);
    until("all is as it should be", shows(&objects)).await;
    assert!(
        fs::read_to_string(&log).unwrap().contains("bgppeers: what happened meanwhile is no longer known")
    );
}
