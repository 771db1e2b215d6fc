//! Times other renderers beside Tailorbird: each is a command, started on the same generated cluster behind the same real API server.
//!
//! `KUBEBUILDER_ASSETS` names the folder of `etcd` and `kube-apiserver`. Without them nothing is measured.

#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use http::Method;
use serde_json::json;
use tailorbird::generator::ClusterSpec;
use tailorbird::measure::{Times, shown};

use api::{beside, load, until};
use cluster::Cluster;

#[allow(dead_code)]
mod api;
#[path = "../../host/tests/kubernetes/cluster.rs"]
#[allow(dead_code, unreachable_pub)]
mod cluster;
#[path = "../../host/tests/kubernetes/server.rs"]
#[allow(dead_code, unreachable_pub)]
mod server;

const HELP: &str = "\
A command is run by `sh -c` and must keep running. It finds in its environment KUBECONFIG, NODENAME (the node) and OUT (an empty folder
for its files). It is up to date when each file of --files is in OUT and the first of them has the address that a node of the mesh got
last. Commands take turns, and the first one is Tailorbird.";

#[derive(Parser)]
#[command(about = "Times other renderers beside Tailorbird", after_help = HELP)]
struct Args {
    /// Nodes
    #[arg(long, default_value_t = 200)]
    nodes: u32,
    /// Services
    #[arg(long, default_value_t = 200)]
    services: u32,
    /// Another renderer: what it is called and the command. Can be given several times
    #[arg(long, value_name = "NAME=COMMAND")]
    with: Vec<String>,
    /// The tailorbird to measure; else the one that stands beside this one in the target folder
    #[arg(long, value_name = "PATH")]
    tailorbird: Option<PathBuf>,
    /// How often each is started, and changes once
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(5..))]
    turns: u32,
    /// The files that there must be
    #[arg(long, value_delimiter = ',', default_value = "bird.cfg,bird6.cfg")]
    files: Vec<String>,
}

/// One side of the comparison.
struct Renderer {
    name: String,
    command: String,
    start: Times,
    change: Times,
}

impl Renderer {
    fn new(name: &str, command: &str) -> Self {
        Self {
            name: name.to_owned(),
            command: command.to_owned(),
            start: Times::default(),
            change: Times::default(),
        }
    }
}

/// A renderer that runs, with all processes that it started; they end with it.
struct Running(Child);

impl Running {
    fn start(renderer: &Renderer, folder: &Path, kubeconfig: &Path, node: &str) -> Self {
        let out = folder.join("out");
        fs::remove_dir_all(&out).unwrap_or_default();
        fs::create_dir(&out).unwrap();
        let log = File::create(folder.join(format!("{}.log", renderer.name))).unwrap();
        let child = Command::new("sh")
            .args(["-c", &format!("exec {}", renderer.command)])
            .env("KUBECONFIG", kubeconfig)
            .env("NODENAME", node)
            .env("OUT", &out)
            .env("TAILORBIRD_BIRD1", folder)
            .env("CALICO_ENDPOINT_STATUS_PATH_PREFIX", folder)
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self(child)
    }

    /// Panics with the end of its log unless it runs.
    fn check(&mut self, folder: &Path, renderer: &str) {
        if let Some(status) = self.0.try_wait().unwrap() {
            let log = fs::read_to_string(folder.join(format!("{renderer}.log"))).unwrap_or_default();
            let from = log.len().saturating_sub(2000);
            panic!("{renderer} ended: {status}\n{}", log.get(from..).unwrap_or(&log));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its own group: whatever it started goes too.
        let _ = Command::new("kill").args(["-9", "--", &format!("-{}", self.0.id())]).status();
        let _ = self.0.wait();
    }
}

/// Gives a node of the mesh another address.
async fn readdress(api: &Cluster, node: &str, number: u32) -> String {
    let address = format!("172.31.{}.{}", 200 + number / 250, number % 250 + 1);
    let patch =
        json!({"metadata": {"annotations": {"projectcalico.org/IPv4Address": format!("{address}/16")}}});
    let path = format!("/api/v1/nodes/{node}");
    api.ask_as(Method::PATCH, &path, "application/merge-patch+json", Some(&patch)).await.unwrap();
    address
}

fn is_up_to_date(out: &Path, files: &[String], address: &str) -> bool {
    let there = files.iter().all(|file| out.join(file).is_file());
    there && fs::read_to_string(out.join(&files[0])).is_ok_and(|text| text.contains(&format!("{address} ")))
}

#[tokio::main]
async fn main() {
    use std::os::unix::fs::PermissionsExt;
    let args = Args::parse();
    let spec = ClusterSpec { nodes: args.nodes, services: args.services, ..ClusterSpec::mesh(args.nodes) };
    spec.check().unwrap_or_else(|error| panic!("{error}"));
    let Some(api) = Cluster::take().await else { return };
    let begun = Instant::now();
    load(&api, &spec).await;
    println!(
        "{} nodes, {} Services, created in {:.0} s",
        spec.nodes,
        spec.services,
        begun.elapsed().as_secs_f64()
    );
    let folder = api.files.path().to_owned();
    for name in ["bird", "bird6"] {
        fs::write(folder.join(name), "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(folder.join("tailorbird.toml"), "[daemon]\nreload = \"none\"\n").unwrap();
    let program = args.tailorbird.unwrap_or_else(beside);
    let own = format!(
        "{} run --datastore kubernetes --http none --out \"$OUT\" --config tailorbird.toml",
        program.canonicalize().unwrap_or(program).display()
    );
    let mut renderers = vec![Renderer::new("tailorbird", &own)];
    for with in &args.with {
        let (name, command) = with.split_once('=').expect("--with takes NAME=COMMAND");
        renderers.push(Renderer::new(name, command));
    }
    let secrets = (0..spec.secrets).map(|number| format!("bgp-password-{number:02}")).collect::<Vec<_>>();
    let kubeconfig = api.deployed(&secrets.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let (out, node, other) = (folder.join("out"), spec.node_name(0), spec.node_name(1));
    let mut number = 0;
    let mut address = readdress(&api, &other, number).await;
    for turn in 1..=args.turns {
        for renderer in &mut renderers {
            let begun = Instant::now();
            let mut running = Running::start(renderer, &folder, &kubeconfig, &node);
            until("all files are there", || {
                running.check(&folder, &renderer.name);
                is_up_to_date(&out, &args.files, &address)
            })
            .await;
            let start = begun.elapsed();
            // What it still does after its start is no part of the change.
            tokio::time::sleep(Duration::from_secs(2)).await;
            number += 1;
            let begun = Instant::now();
            address = readdress(&api, &other, number).await;
            until("the change is in the file", || {
                running.check(&folder, &renderer.name);
                is_up_to_date(&out, &args.files, &address)
            })
            .await;
            let change = begun.elapsed();
            eprintln!(
                "turn {turn} of {}: {}: start {}, change {}",
                args.turns,
                renderer.name,
                shown(start),
                shown(change)
            );
            renderer.start.push(start);
            renderer.change.push(change);
        }
    }
    println!("{:<16}  {:>12}  {:>8}  {:>12}  {:>8}", "medians", "start", "ratio", "change", "ratio");
    for renderer in &renderers {
        let ratio = |of: fn(&Renderer) -> &Times| {
            of(renderer).median().as_secs_f64() / of(&renderers[0]).median().as_secs_f64()
        };
        println!(
            "{:<16}  {:>12}  {:>6.2} x  {:>12}  {:>6.2} x",
            renderer.name,
            shown(renderer.start.median()),
            ratio(|renderer| &renderer.start),
            shown(renderer.change.median()),
            ratio(|renderer| &renderer.change),
        );
    }
}
