//! Measures what a node pays for Typha or etcd: everything there is of a large cluster, read and rendered, and then a new
//! connection, on which nothing is another.
//!
//! Typha is a part of this program that sends bytes which were made before. etcd is the one in the folder that
//! `KUBEBUILDER_ASSETS` names. What is measured is the processor's time of this whole program.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use serde_json::{Value, json};
use tailorbird::engine::{Engine, Settings};
use tailorbird::measure::Resident;
use tailorbird::syncer::{Syncer, Told, Update, Updates, etcd, typha};
use tailorbird::types::Name;
use tailorbird_bench::cpu;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use etcds::{Etcd, pair};
use fake::Server;

#[path = "../../host/tests/kubernetes/etcds.rs"]
#[allow(dead_code, unreachable_pub)]
mod etcds;
#[path = "../../host/tests/typha/fake.rs"]
#[allow(dead_code, unreachable_pub)]
mod fake;
#[path = "../../host/tests/support/rendered.rs"]
#[allow(dead_code, unreachable_pub)]
mod rendered;
#[path = "../../host/tests/kubernetes/server.rs"]
#[allow(dead_code, unreachable_pub)]
mod server;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(about = "Measures what a node pays for the data of Typha or etcd")]
struct Args {
    /// What the data comes from; each is a process of its own, for its peak of memory
    datastore: Datastore,
    /// Nodes
    #[arg(long, default_value_t = 5000)]
    nodes: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Datastore {
    Typha,
    Etcd,
}

/// The most that was resident so far, in MiB.
fn peak() -> f64 {
    Resident::read().unwrap().peak as f64 / f64::from(1 << 20)
}

/// All nodes, as Calico keeps them: keys and values.
fn nodes(nodes: u32) -> Vec<(String, String)> {
    let node = |at: u32| {
        let (high, low) = (at / 250, at % 250 + 1);
        let name = format!("node-{at:05}");
        let value = format!(
            r#"{{"kind":"Node","apiVersion":"projectcalico.org/v3","metadata":{{"name":"{name}","uid":"6b0c3f3e-0000-4000-8000-{at:012}","creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"kubernetes.io/hostname":"{name}","kubernetes.io/os":"linux","rack":"r{high}"}},"annotations":{{"projectcalico.org/kube-labels":"{{}}"}}}},"spec":{{"bgp":{{"ipv4Address":"10.{high}.0.{low}/16","ipv6Address":"fd00:{high:x}::{low:x}/64"}},"orchRefs":[{{"nodeName":"{name}","orchestrator":"k8s"}}],"addresses":[{{"address":"10.{high}.0.{low}/16","type":"CalicoNodeIP"}}]}},"status":{{"podCIDRs":["10.244.0.0/24"]}}}}"#
        );
        (format!("/calico/resources/v3/projectcalico.org/nodes/{name}"), value)
    };
    (0..nodes).map(node).collect()
}

/// This node, as it follows a source.
struct Follower {
    engine: Engine,
    told: mpsc::Receiver<Told>,
    _secrets: watch::Sender<Arc<BTreeSet<Name>>>,
}

impl Follower {
    fn of(source: impl FnOnce(&Settings) -> Box<dyn Syncer>) -> Self {
        let settings = Settings::new("node-00000".parse().unwrap());
        let (sender, told) = mpsc::channel(64);
        let (secrets, needed) = watch::channel(Arc::default());
        tokio::spawn(source(&settings).run(Updates::new(0, sender, needed)));
        Self { engine: Engine::new(settings), told, _secrets: secrets }
    }

    /// Takes everything that there is and renders it, and prints what that took since a time of the processor.
    async fn read(&mut self, begin: Duration) {
        let mut in_sync = false;
        while !in_sync {
            let mut batch = self.engine.batch();
            for update in self.told.recv().await.unwrap().updates {
                match update {
                    Update::Event(event) => batch.push(event),
                    Update::InSync => in_sync = true,
                    Update::Instance(_) => {}
                    other => println!("{other:?}"),
                }
            }
            let _ = batch.finish();
        }
        let read = cpu("self") - begin;
        let mut renderer = rendered::renderer(&self.engine.settings().node);
        let files = rendered::files(&mut renderer, self.engine.snapshot());
        let all = cpu("self") - begin;
        let bytes: usize = files.values().map(String::len).sum();
        println!("  read: {read:?}; read and rendered, {bytes} bytes: {all:?}; peak {:.1} MiB", peak());
    }

    /// How much was told of objects since this was asked last.
    fn events(&mut self) -> usize {
        let told = std::iter::from_fn(|| self.told.try_recv().ok()).flat_map(|told| told.updates);
        told.filter(|update| matches!(update, Update::Event(_))).count()
    }
}

/// What comes back once all has been taken.
const END: &[u8] = b"that is all";

/// What Typha says to a client that offered no compression: all nodes, a hundred a message.
fn everything(nodes: &[(String, String)]) -> Vec<u8> {
    let mut server = Server::new();
    let mut said = server.hello();
    for some in nodes.chunks(100) {
        let some: Vec<(&str, &str)> =
            some.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        said.extend(server.values(&some));
    }
    said.extend(server.values(&[fake::POOL]));
    said.extend(server.status(2));
    said.extend(server.ping(END));
    said
}

async fn by_typha(nodes: &[(String, String)]) {
    let said = everything(nodes);
    println!(
        "Typha: {} nodes, {:.1} MiB from the server",
        nodes.len(),
        said.len() as f64 / f64::from(1 << 20)
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = typha::Config::new(typha::At::Address(listener.local_addr().unwrap().to_string()));
    let pace = typha::Pace { first_wait: Duration::from_millis(10), ..typha::Pace::default() };
    let mut follower = Follower::of(|settings| Box::new(typha::Typha::new(config, None, settings, pace)));

    let begin = cpu("self");
    let mut stream = serve(&listener, &said).await;
    follower.read(begin).await;

    let (begin, before) = (cpu("self"), peak());
    drop(stream);
    stream = serve(&listener, &said).await;
    fake::expect(&mut stream, END).await;
    assert_eq!(follower.events(), 0, "nothing has changed");
    println!("  the same again: {:?}, peak {:+.1} MiB", cpu("self") - begin, peak() - before);
}

/// Waits for the client and says everything.
async fn serve(listener: &TcpListener, said: &[u8]) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    stream.write_all(said).await.unwrap();
    stream
}

async fn by_etcd(nodes: &[(String, String)]) {
    let Some(mut etcd) = Etcd::start(&[]).await else { return };
    for some in nodes.chunks(100) {
        let puts: Vec<Value> =
            some.iter().map(|(key, value)| json!({ "requestPut": pair(key, value) })).collect();
        etcd.ask("kv/txn", &json!({ "success": puts })).await;
    }
    println!("etcd: {} nodes", nodes.len());
    let config = etcd.config();
    let pace = etcd::Pace { first_wait: Duration::from_millis(10), ..etcd::Pace::default() };

    let begin = cpu("self");
    let mut follower = Follower::of(|settings| Box::new(etcd::Etcd::new(config, settings, pace)));
    follower.read(begin).await;

    let (begin, before) = (cpu("self"), peak());
    etcd.end();
    etcd.begin().await;
    // One node is another in the end, so that there is something to wait for.
    let (key, value) = &nodes[1];
    etcd.put(key, &value.replace("linux", "another")).await;
    let mut events = 0;
    while events == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        events = follower.events();
    }
    assert_eq!(events, 1, "one node is another");
    println!("  after a restart: {:?}, peak {:+.1} MiB", cpu("self") - begin, peak() - before);
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args = Args::parse();
    let nodes = nodes(args.nodes);
    match args.datastore {
        Datastore::Typha => by_typha(&nodes).await,
        Datastore::Etcd => by_etcd(&nodes).await,
    }
}
