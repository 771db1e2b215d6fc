//! Measures the daemon behind a real API server: a generated cluster is created there, and the command is started on it.
//!
//! `KUBEBUILDER_ASSETS` names the folder of `etcd` and `kube-apiserver`. The cluster of 5,000 nodes takes some minutes to be
//! created, and the servers 2 GiB of memory.

#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use http::Method;
use tailorbird::daemon::config::Options;
use tailorbird::generator::ClusterSpec;
use tailorbird::measure::Times;
use tailorbird_bench::cpu;

use api::{beside, load, until};
use cluster::Cluster;

#[path = "../compare/api.rs"]
#[allow(dead_code)]
mod api;
#[path = "../../host/tests/kubernetes/cluster.rs"]
#[allow(dead_code, unreachable_pub)]
mod cluster;
#[path = "../../host/tests/kubernetes/server.rs"]
#[allow(dead_code, unreachable_pub)]
mod server;

#[derive(Parser)]
#[command(about = "Measures the daemon behind a real API server")]
struct Args {
    /// Nodes
    #[arg(long, default_value_t = 500)]
    nodes: u32,
    /// Services
    #[arg(long, default_value_t = 1000)]
    services: u32,
    /// EndpointSlices of each Service
    #[arg(long, default_value_t = 3)]
    slices_per_service: u32,
    /// The command to measure; else the one that stands beside this one in the target folder
    #[arg(long, value_name = "PATH")]
    tailorbird: Option<PathBuf>,
    /// The folder of the default plugins, to measure with the configuration of deploy/base
    #[arg(long, value_name = "DIR")]
    plugins: Option<PathBuf>,
    /// How many changes are measured
    #[arg(long, default_value_t = 9)]
    changes: u32,
}

/// What a process has used.
#[derive(Clone, Copy)]
struct Usage {
    cpu: Duration,
    resident: u64,
    peak: u64,
}

fn usage(child: &Child) -> Usage {
    let process = child.id().to_string();
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let kibibytes = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    Usage { cpu: cpu(&process), resident: kibibytes("VmRSS:"), peak: kibibytes("VmHWM:") }
}

/// Waits until a process has done nothing for a second, and has given back what only the start needed.
async fn rest(child: &Child) {
    tokio::time::sleep(2 * Options::default().probe).await;
    let mut last = usage(child).cpu;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = usage(child).cpu;
        if now.saturating_sub(last) < Duration::from_millis(20) {
            return;
        }
        last = now;
    }
}

fn start(program: &Path, api: &Cluster, kubeconfig: &Path, node: &str) -> Child {
    let folder = api.files.path();
    Command::new(program)
        .args(["run", "--http", "none", "--out", "out", "--config", "tailorbird.toml", "--node", node])
        .env_clear()
        .env("KUBECONFIG", kubeconfig)
        .env("PATH", "/usr/bin:/bin")
        .env("TAILORBIRD_BIRD1", folder)
        .env("CALICO_ENDPOINT_STATUS_PATH_PREFIX", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(folder.join("log")).unwrap())
        .spawn()
        .unwrap()
}

fn prepare(folder: &Path, plugins: Option<&Path>) {
    use std::os::unix::fs::PermissionsExt;
    for name in ["bird", "bird6"] {
        fs::write(folder.join(name), "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut text = "[daemon]\nreload = \"none\"\n".to_owned();
    if let Some(plugins) = plugins {
        let base = fs::read_to_string(cluster::deploy().join("base/tailorbird.toml")).unwrap();
        let plugins = plugins.canonicalize().unwrap();
        let base = base.replace("/usr/lib/tailorbird/plugins", plugins.to_str().unwrap());
        text += &base.replace("/var/cache/tailorbird", folder.to_str().unwrap());
    }
    fs::write(folder.join("tailorbird.toml"), text).unwrap();
}

fn print(what: &str, wall: Duration, before: Duration, after: Usage) {
    println!(
        "{what:<34} {:>8.1} ms, {:>7.0} ms of CPU, {:>6.1} MiB resident, {:>6.1} MiB at its peak",
        wall.as_secs_f64() * 1e3,
        after.cpu.saturating_sub(before).as_secs_f64() * 1e3,
        after.resident as f64 / 1024.0,
        after.peak as f64 / 1024.0
    );
}

/// A node that these files have a session with.
async fn peer_of(api: &Cluster, bird: &str) -> String {
    let nodes = api.ask(Method::GET, "/api/v1/nodes", None).await.unwrap();
    let peer = nodes["items"].as_array().unwrap().iter().find(|node| {
        let address =
            node["metadata"]["annotations"]["projectcalico.org/IPv4Address"].as_str().unwrap_or_default();
        let (address, _) = address.split_once('/').unwrap_or_default();
        bird.contains(&format!("neighbor {address} "))
    });
    peer.expect("a session with a node")["metadata"]["name"].as_str().unwrap().to_owned()
}

#[tokio::main]
async fn main() {
    let args = Args::parse();
    let spec = ClusterSpec {
        nodes: args.nodes,
        services: args.services,
        slices_per_service: args.slices_per_service,
        ..ClusterSpec::large()
    };
    let Some(api) = Cluster::take().await else { return };
    let begun = Instant::now();
    load(&api, &spec).await;
    println!(
        "{} nodes, {} Services, {} EndpointSlices, created in {:.0} s",
        spec.nodes,
        spec.services,
        spec.services * spec.slices_per_service,
        begun.elapsed().as_secs_f64()
    );
    let folder = api.files.path().to_owned();
    prepare(&folder, args.plugins.as_deref());
    let mut names = Vec::new();
    let secrets = api.ask(Method::GET, "/api/v1/namespaces/kube-system/secrets", None).await.unwrap();
    for secret in secrets["items"].as_array().unwrap() {
        names.push(secret["metadata"]["name"].as_str().unwrap().to_owned());
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let kubeconfig = api.deployed(&names).await;
    let program = args.tailorbird.unwrap_or_else(beside);
    let file = folder.join("out/bird.cfg");

    // The second start has the compiled plugins in its cache.
    for what in ["first start to files", "second start to files"] {
        fs::remove_dir_all(folder.join("out")).unwrap_or_default();
        fs::create_dir(folder.join("out")).unwrap();
        let mut child = start(&program, &api, &kubeconfig, &spec.node_name(0));
        let wall =
            until("the files are there", || file.exists() && folder.join("out/bird6.cfg").exists()).await;
        print(what, wall, Duration::ZERO, usage(&child));
        rest(&child).await;
        print("at rest", wall, Duration::ZERO, usage(&child));
        if what.starts_with("second") {
            let mut walls = Times::default();
            let before = usage(&child).cpu;
            let name = peer_of(&api, &fs::read_to_string(&file).unwrap()).await;
            for number in 0..args.changes {
                let path = format!("/api/v1/nodes/{name}");
                let before_it = fs::read_to_string(&file).unwrap();
                let address = format!("172.31.{}.{}/16", number / 250 % 250, number % 250 + 1);
                let patch = serde_json::json!({"metadata": {"annotations": {"projectcalico.org/IPv4Address": address}}});
                let begun = Instant::now();
                api.ask_as(Method::PATCH, &path, "application/merge-patch+json", Some(&patch)).await.unwrap();
                let (address, _) = address.split_once('/').unwrap();
                let text = format!("{address} ");
                until("the change is in the file", || {
                    fs::read_to_string(&file).is_ok_and(|file| file != before_it && file.contains(&text))
                })
                .await;
                walls.push(begun.elapsed());
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            let wall = walls.median();
            let used = usage(&child);
            print(&format!("{} changes, the median", walls.len()), wall, before, used);
            println!(
                "{:<34} {:>8.0} ms of CPU each",
                "",
                used.cpu.saturating_sub(before).as_secs_f64() * 1e3 / f64::from(args.changes)
            );
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
