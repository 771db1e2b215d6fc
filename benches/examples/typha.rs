//! Measures what a node pays for Typha: everything there is of a large cluster, read and rendered, and then a new connection
//! that brings the same again.
//!
//! The server is a part of this program that sends bytes which were made before; what is measured is the processor's time of
//! the whole program.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use tailorbird::engine::{Engine, Settings};
use tailorbird::measure::Resident;
use tailorbird::syncer::typha::{At, Config, Pace, Typha};
use tailorbird::syncer::{Syncer, Update, Updates};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use fake::Server;

#[path = "../../host/tests/typha/fake.rs"]
#[allow(dead_code, unreachable_pub)]
mod fake;
#[path = "../../host/tests/support/rendered.rs"]
#[allow(dead_code, unreachable_pub)]
mod rendered;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(about = "Measures what a node pays for Typha's data")]
struct Args {
    /// Nodes
    #[arg(long, default_value_t = 5000)]
    nodes: u32,
}

/// The processor's time of this program so far.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = text.rsplit_once(')').unwrap();
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// The most that was resident so far, in MiB.
fn peak() -> f64 {
    Resident::read().unwrap().peak as f64 / f64::from(1 << 20)
}

/// What comes back once all has been taken.
const END: &[u8] = b"that is all";

/// What a server says to a client that offered no compression: all nodes, a hundred a message.
fn everything(nodes: u32) -> Vec<u8> {
    let mut server = Server::new();
    let mut said = server.hello();
    let values: Vec<(String, String)> = (0..nodes)
        .map(|at| {
            let (high, low) = (at / 250, at % 250 + 1);
            let name = format!("node-{at:05}");
            let value = format!(
                r#"{{"kind":"Node","apiVersion":"projectcalico.org/v3","metadata":{{"name":"{name}","uid":"6b0c3f3e-0000-4000-8000-{at:012}","creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"kubernetes.io/hostname":"{name}","kubernetes.io/os":"linux","rack":"r{high}"}},"annotations":{{"projectcalico.org/kube-labels":"{{}}"}}}},"spec":{{"bgp":{{"ipv4Address":"10.{high}.0.{low}/16","ipv6Address":"fd00:{high:x}::{low:x}/64"}},"orchRefs":[{{"nodeName":"{name}","orchestrator":"k8s"}}],"addresses":[{{"address":"10.{high}.0.{low}/16","type":"CalicoNodeIP"}}]}},"status":{{"podCIDRs":["10.244.0.0/24"]}}}}"#
            );
            (format!("/calico/resources/v3/projectcalico.org/nodes/{name}"), value)
        })
        .collect();
    for some in values.chunks(100) {
        let some: Vec<(&str, &str)> =
            some.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        said.extend(server.values(&some));
    }
    said.extend(server.values(&[fake::POOL]));
    said.extend(server.status(2));
    said.extend(server.ping(END));
    said
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args = Args::parse();
    let said = everything(args.nodes);
    println!("{} nodes, {:.1} MiB from the server", args.nodes, said.len() as f64 / f64::from(1 << 20));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = Config::new(At::Address(listener.local_addr().unwrap().to_string()));
    let settings = Settings::new("node-00000".parse().unwrap());
    let pace = Pace { first_wait: Duration::from_millis(10), ..Pace::default() };
    let typha = Typha::new(config, None, &settings, pace);
    let mut engine = Engine::new(settings);
    let mut renderer = rendered::renderer(&engine.settings().node);
    let (sender, mut told) = mpsc::channel(64);
    let (_secrets, needed) = watch::channel(Arc::default());
    let _source = tokio::spawn(Box::new(typha).run(Updates::new(0, sender, needed)));

    let begin = cpu();
    let mut stream = serve(&listener, &said).await;
    let mut in_sync = false;
    while !in_sync {
        let mut batch = engine.batch();
        for update in told.recv().await.unwrap().updates {
            match update {
                Update::Event(event) => batch.push(event),
                Update::InSync => in_sync = true,
                other => println!("{other:?}"),
            }
        }
        let _ = batch.finish();
    }
    let read = cpu() - begin;
    let files = rendered::files(&mut renderer, engine.snapshot());
    let all = cpu() - begin;
    let bytes: usize = files.values().map(String::len).sum();
    println!("read: {read:?}; read and rendered, {bytes} bytes: {all:?}; peak {:.1} MiB", peak());

    let (begin, before) = (cpu(), peak());
    drop(stream);
    stream = serve(&listener, &said).await;
    fake::expect(&mut stream, END).await;
    assert!(told.try_recv().is_err(), "nothing has changed, and something was told");
    println!("the same again: {:?}, peak {:+.1} MiB", cpu() - begin, peak() - before);
}

/// Waits for the client and says everything.
async fn serve(listener: &TcpListener, said: &[u8]) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    stream.write_all(said).await.unwrap();
    stream
}
