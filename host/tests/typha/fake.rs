//! A server that speaks Typha's protocol, and a source that follows it.

use std::sync::Arc;
use std::time::Duration;

use tailorbird::engine::{Event, Settings};
use tailorbird::syncer::typha::{At, Config, Pace, Typha};
use tailorbird::syncer::{Syncer, Told, Update, Updates};
use tailorbird_gob::{Encoder, Record, TypeId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// How long anything may take.
pub(crate) const AT_MOST: Duration = Duration::from_secs(20);

/// Writes what a server says, in one stream.
pub(crate) struct Server {
    encoder: Encoder,
    envelope: TypeId,
    hello: TypeId,
    restart: TypeId,
    values: TypeId,
    status: TypeId,
    ping: TypeId,
    definitions: Vec<u8>,
}

impl Server {
    pub(crate) fn new() -> Self {
        let mut out = Vec::new();
        let mut encoder = Encoder::new();
        let envelope = encoder.structure(&mut out, "Envelope", &[("Message", TypeId::INTERFACE)]);
        let hello = [
            ("Version", TypeId::TEXT),
            ("SyncerType", TypeId::TEXT),
            ("SupportsNodeResourceUpdates", TypeId::BOOL),
            ("ServerConnID", TypeId::UINT),
        ];
        let hello = encoder.structure(&mut out, "MsgServerHello", &hello);
        let restart = [("Message", TypeId::TEXT), ("CompressionAlgorithm", TypeId::TEXT)];
        let restart = encoder.structure(&mut out, "MsgDecoderRestart", &restart);
        let update = [
            ("Key", TypeId::TEXT),
            ("Value", TypeId::BYTES),
            ("Revision", TypeId::INTERFACE),
            ("UpdateType", TypeId::UINT),
        ];
        let update = encoder.structure(&mut out, "SerializedUpdate", &update);
        let updates = encoder.slice(&mut out, "[]SerializedUpdate", update);
        let values = encoder.structure(&mut out, "MsgKVs", &[("KVs", updates)]);
        let status = encoder.structure(&mut out, "MsgSyncStatus", &[("SyncStatus", TypeId::UINT)]);
        let time = encoder.opaque(&mut out, "Time");
        let ping = encoder.structure(&mut out, "MsgPing", &[("Timestamp", time)]);
        Self { encoder, envelope, hello, restart, values, status, ping, definitions: out }
    }

    /// A message of any name.
    pub(crate) fn say(&mut self, name: &str, id: TypeId, said: Record) -> Vec<u8> {
        let mut out = std::mem::take(&mut self.definitions);
        let name = format!("github.com/projectcalico/typha/pkg/syncproto.{name}");
        self.encoder.write(&mut out, self.envelope, Record::new().interface(0, &name, id, said));
        out
    }

    pub(crate) fn hello(&mut self) -> Vec<u8> {
        self.hello_for("bgp", true)
    }

    pub(crate) fn hello_for(&mut self, data: &str, is_new: bool) -> Vec<u8> {
        self.hello_of("v3.99.0", data, is_new)
    }

    pub(crate) fn hello_of(&mut self, version: &str, data: &str, is_new: bool) -> Vec<u8> {
        let hello = Record::new().text(0, version).text(1, data).bool(2, is_new).uint(3, 7);
        self.say("MsgServerHello", self.hello, hello)
    }

    pub(crate) fn restart(&mut self, algorithm: &str) -> Vec<u8> {
        self.say("MsgDecoderRestart", self.restart, Record::new().text(0, "again").text(1, algorithm))
    }

    /// Keys with their values; an empty one: the key is gone.
    pub(crate) fn values(&mut self, values: &[(&str, &str)]) -> Vec<u8> {
        let updates = values.iter().map(|(key, value)| {
            let kind = if value.is_empty() { 3 } else { 1 };
            Record::new().text(0, key).bytes(1, value.as_bytes()).uint(3, kind)
        });
        self.say("MsgKVs", self.values, Record::new().records(0, updates))
    }

    pub(crate) fn status(&mut self, status: u64) -> Vec<u8> {
        self.say("MsgSyncStatus", self.status, Record::new().uint(0, status))
    }

    pub(crate) fn ping(&mut self, time: &[u8]) -> Vec<u8> {
        self.say("MsgPing", self.ping, Record::new().bytes(0, time))
    }

    pub(crate) fn stranger(&mut self) -> Vec<u8> {
        self.say("MsgStranger", self.restart, Record::new())
    }

    /// A greeting, all that there is, and the word that it is all.
    pub(crate) fn everything(&mut self, values: &[(&str, &str)]) -> Vec<u8> {
        [self.hello(), self.values(values), self.status(2)].concat()
    }
}

/// A source at work, and the listener that it connects to.
pub(crate) struct Scene {
    pub(crate) listener: TcpListener,
    pub(crate) told: mpsc::Receiver<Told>,
    source: JoinHandle<()>,
    _secrets: watch::Sender<Arc<std::collections::BTreeSet<tailorbird::types::Name>>>,
}

/// Waits that suit a test.
pub(crate) fn pace() -> Pace {
    Pace {
        first_wait: Duration::from_millis(10),
        longest_wait: Duration::from_millis(50),
        dial: Duration::from_secs(5),
        grace: Duration::from_secs(60),
    }
}

impl Scene {
    pub(crate) async fn start(pace: Pace, read: Duration) -> Self {
        Self::start_with(pace, read, 1).await
    }

    /// A source whose updates wait when so many were not taken.
    pub(crate) async fn start_with(pace: Pace, read: Duration, waiting: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = Config { read, ..Config::new(At::Address(listener.local_addr().unwrap().to_string())) };
        let typha = Typha::new(config, None, &Settings::new("node-a".parse().unwrap()), pace);
        let (sender, told) = mpsc::channel(waiting);
        let (secrets, needed) = watch::channel(Arc::default());
        let source = tokio::spawn(Box::new(typha).run(Updates::new(0, sender, needed)));
        Self { listener, told, source, _secrets: secrets }
    }

    /// The next connection, once the client has greeted.
    pub(crate) async fn accept(&self) -> TcpStream {
        let accepted = tokio::time::timeout(AT_MOST, self.listener.accept()).await.expect("a connection");
        let (mut stream, _) = accepted.unwrap();
        let mut hello = Vec::new();
        while !contains(&hello, b"MsgClientHello") || !contains(&hello, b"node-a") {
            read_some(&mut stream, &mut hello).await;
        }
        stream
    }

    /// What the source tells next, save which instance it follows.
    pub(crate) async fn next(&mut self) -> Vec<Update> {
        loop {
            let told = tokio::time::timeout(AT_MOST, self.told.recv()).await.expect("something is told");
            let mut updates = told.expect("the source goes on").updates;
            updates.retain(|update| !matches!(update, Update::Instance(_)));
            if !updates.is_empty() {
                return updates;
            }
        }
    }

    /// All that is told until something is.
    pub(crate) async fn until(&mut self, is_it: impl Fn(&Update) -> bool) -> Vec<Update> {
        let mut all = Vec::new();
        while !all.iter().any(&is_it) {
            all.extend(self.next().await);
        }
        all
    }

    pub(crate) async fn until_in_sync(&mut self) -> Vec<String> {
        self.until(|update| *update == Update::InSync).await.iter().map(shown).collect()
    }

    /// Nobody listens any more: the source ends.
    pub(crate) async fn end(self) {
        drop(self.told);
        tokio::time::timeout(AT_MOST, self.source).await.expect("the source ends").unwrap();
    }
}

/// An update in short.
pub(crate) fn shown(update: &Update) -> String {
    match update {
        Update::Event(Event::Upsert(parsed)) => match &parsed.resource {
            Ok(_) => format!("+{}", parsed.key),
            Err(error) => format!("!{error}"),
        },
        Update::Event(Event::Delete(key)) => format!("-{key}"),
        Update::InSync => "in sync".to_owned(),
        Update::Lost(reason) => format!("lost: {reason}"),
        Update::Problems(problems) => format!("problems: {}", problems.join("; ")),
        other => format!("{other:?}"),
    }
}

pub(crate) fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

pub(crate) async fn read_some(stream: &mut TcpStream, bytes: &mut Vec<u8>) {
    let read =
        tokio::time::timeout(AT_MOST, stream.read_buf(bytes)).await.expect("the client says something");
    assert_ne!(read.unwrap(), 0, "the client has gone");
}

/// Waits for what a client says that has a part.
pub(crate) async fn expect(stream: &mut TcpStream, part: &[u8]) {
    let mut said = Vec::new();
    while !contains(&said, part) {
        read_some(stream, &mut said).await;
    }
}

pub(crate) async fn send(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).await.unwrap();
}

pub(crate) const POOL: (&str, &str) =
    ("/calico/v1/ipam/v4/pool/10.10.0.0-16", r#"{"cidr":"10.10.0.0/16","ipip_mode":"always"}"#);

pub(crate) const PEER: (&str, &str) = (
    "/calico/resources/v3/projectcalico.org/bgppeers/tor",
    r#"{"kind":"BGPPeer","apiVersion":"projectcalico.org/v3","spec":{"peerIP":"10.0.0.1","asNumber":65000}}"#,
);

pub(crate) const BLOCK: (&str, &str) =
    ("/calico/ipam/v2/host/node-a/ipv4/block/10.10.0.0-26", r#"{"state":"confirmed","deleted":false}"#);
