//! The program itself: once, and for as long as it runs.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cluster::Cluster;
use crate::follow::from_files;
use crate::objects::{cluster, node, peer, settings};
use crate::proxy::{Fault, Proxy, Seen};
use crate::support::rendered::Files;

/// How long anything may take.
const AT_MOST: Duration = Duration::from_secs(20);

fn program(api: &Cluster, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailorbird"));
    command.env_clear().env("PATH", "/usr/bin:/bin").env("KUBECONFIG", api.files.path().join("kubeconfig"));
    command.env("NODENAME", "worker-1").env("TAILORBIRD_BIRD1", api.files.path());
    command.env("CALICO_ENDPOINT_STATUS_PATH_PREFIX", api.files.path());
    command.current_dir(api.files.path()).args(arguments).stdin(Stdio::null());
    command
}

/// Runs to the end, without holding up the proxy.
async fn ended(mut command: Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

fn set(folder: &Path) -> Files {
    let Ok(entries) = fs::read_dir(folder) else { return Files::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| !name.starts_with('.'));
    names.map(|name| (name.clone(), fs::read_to_string(folder.join(&name)).unwrap_or_default())).collect()
}

/// Stand-ins for BIRD that take every file.
fn birds(api: &Cluster) {
    use std::os::unix::fs::PermissionsExt;
    for name in ["bird", "bird6"] {
        let path = api.files.path().join(name);
        fs::write(&path, "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + AT_MOST;
    while !holds() {
        assert!(Instant::now() < deadline, "it did not come to pass that {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_rendered_once_and_compared() {
    let Some(api) = Cluster::take().await else { return };
    birds(&api);
    let mut objects = cluster();
    api.apply_all(&objects).await;
    let token = api.deployed(&["bgp"]).await;
    let out = api.files.path().join("out");
    let render = ["render", "--datastore", "kubernetes", "--out", "out"];
    let (code, said, errors) = ended(program(&api, &render)).await;
    assert_eq!((code, errors.as_str()), (0, ""), "{said}");
    assert_eq!(set(&out), from_files(&settings(), &objects));

    let diff = ["diff", "--datastore", "kubernetes", "--out", "out"];
    assert_eq!(ended(program(&api, &diff)).await, (0, String::new(), String::new()));
    objects.push(peer(9));
    api.apply(&peer(9)).await;
    let (code, said, _) = ended(program(&api, &diff)).await;
    assert_eq!(code, 1);
    assert!(said.contains("+  neighbor 10.1.0.9 as 65001;"), "{said}");

    // The API server does not let this user in: nothing is rendered, and it says what is wrong.
    fs::write(&token, api.server.kubeconfig("nobody").to_string()).unwrap();
    let (refused, lost) = (program(&api, &render), program(&api, &render));
    // Others can have the cluster meanwhile.
    let _files = api.end();
    let (code, said, errors) = ended(refused).await;
    assert_eq!((code, said.as_str()), (1, ""));
    assert!(errors.contains("kubernetes/nodes: ") && errors.contains("401: Unauthorized"), "{errors}");
    // There is no way to it at all.
    fs::remove_file(&token).unwrap();
    let (code, _, errors) = ended(lost).await;
    assert_eq!(code, 1);
    assert!(errors.contains("no way to the Kubernetes API") && errors.contains("KUBECONFIG"), "{errors}");
}

#[test]
fn only_kubernetes_can_be_the_datastore() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailorbird"));
    command.env_clear().env("DATASTORE_TYPE", "etcdv3").args(["run", "--node", "worker-1"]);
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(errors.contains("DATASTORE_TYPE=\"etcdv3\"") && errors.contains("kubernetes"), "{errors}");
}

/// A daemon that runs; it is killed with this value.
struct Daemon(Child);

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
    birds(&api);
    let mut objects = cluster();
    api.apply_all(&objects).await;
    let proxy = Proxy::start(api.server).await;
    api.put(&proxy.kubeconfig());
    fs::create_dir(api.files.path().join("out")).unwrap();
    fs::write(api.files.path().join("tailorbird.toml"), "[daemon]\nreload = \"none\"\n").unwrap();
    let log = api.files.path().join("log");
    let mut command =
        program(&api, &["run", "--out", "out", "--config", "tailorbird.toml", "--http", "none"]);
    let daemon = command.stdout(Stdio::null()).stderr(File::create(&log).unwrap()).spawn().unwrap();
    let _daemon = Daemon(daemon);
    let out = api.files.path().join("out");
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
