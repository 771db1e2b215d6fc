//! What is said between Typha and its clients.

use serde::Deserialize;
use tailorbird_gob::{Encoder, Record, TypeId};

/// What a server says. Fields that are of no use here are passed over.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) enum Message<'a> {
    #[serde(rename = "github.com/projectcalico/typha/pkg/syncproto.MsgServerHello")]
    Hello(ServerHello),
    #[serde(rename = "github.com/projectcalico/typha/pkg/syncproto.MsgDecoderRestart")]
    Restart(Restart),
    #[serde(borrow, rename = "github.com/projectcalico/typha/pkg/syncproto.MsgKVs")]
    Values(Values<'a>),
    #[serde(rename = "github.com/projectcalico/typha/pkg/syncproto.MsgSyncStatus")]
    Status(Status),
    #[serde(borrow, rename = "github.com/projectcalico/typha/pkg/syncproto.MsgPing")]
    Ping(Ping<'a>),
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Envelope<'a> {
    #[serde(borrow)]
    pub(super) message: Option<Message<'a>>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct ServerHello {
    pub(super) version: String,
    pub(super) syncer_type: String,
    pub(super) supports_node_resource_updates: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Restart {
    pub(super) compression_algorithm: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Values<'a> {
    #[serde(borrow, rename = "KVs")]
    pub(super) values: Vec<KeyValue<'a>>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct KeyValue<'a> {
    pub(super) key: &'a [u8],
    /// Without one the key is gone, whatever else is said.
    pub(super) value: &'a [u8],
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Status {
    /// 0: the datastore is waited for; 1: it is read; 2: all has been said.
    pub(super) sync_status: u8,
}

/// All has been said.
pub(super) const IN_SYNC: u8 = 2;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Ping<'a> {
    /// A time, which goes back as it is.
    pub(super) timestamp: &'a [u8],
}

/// The data that is asked for.
pub(super) const SYNCER_TYPE: &str = "bgp";

/// The compression that is asked for.
pub(super) const SNAPPY: &str = "snappy";

/// Writes what a client says. All of it is one stream for as long as a connection lasts.
pub(super) struct Speaker {
    encoder: Encoder,
    envelope: TypeId,
    ack: TypeId,
    pong: TypeId,
}

const ACK: &str = "github.com/projectcalico/typha/pkg/syncproto.MsgACK";
const PONG: &str = "github.com/projectcalico/typha/pkg/syncproto.MsgPong";
const HELLO: &str = "github.com/projectcalico/typha/pkg/syncproto.MsgClientHello";

impl Speaker {
    /// Greets a server in the name of a node; the bytes to send. `id` is what its log calls the connection.
    pub(super) fn greet(node: &str, id: u64) -> (Self, Vec<u8>) {
        let mut out = Vec::new();
        let mut encoder = Encoder::new();
        let envelope = encoder.structure(&mut out, "Envelope", &[("Message", TypeId::INTERFACE)]);
        let texts = encoder.slice(&mut out, "[]string", TypeId::TEXT);
        let hello = [
            ("Hostname", TypeId::TEXT),
            ("Info", TypeId::TEXT),
            ("Version", TypeId::TEXT),
            ("SyncerType", TypeId::TEXT),
            ("SupportsDecoderRestart", TypeId::BOOL),
            ("SupportedCompressionAlgorithms", texts),
            ("SupportsModernPolicyKeys", TypeId::BOOL),
            ("ClientConnID", TypeId::UINT),
        ];
        let hello = encoder.structure(&mut out, "MsgClientHello", &hello);
        let ack = encoder.structure(&mut out, "MsgACK", &[]);
        let time = encoder.opaque(&mut out, "Time");
        let pong = [("PingTimestamp", time), ("PongTimestamp", time)];
        let pong = encoder.structure(&mut out, "MsgPong", &pong);
        let speaker = Self { encoder, envelope, ack, pong };
        let version = env!("CARGO_PKG_VERSION");
        let said = Record::new()
            .text(0, node)
            .text(1, concat!("tailorbird ", env!("CARGO_PKG_VERSION")))
            .text(2, version)
            .text(3, SYNCER_TYPE)
            .bool(4, true)
            .texts(5, &[SNAPPY])
            .bool(6, true)
            .uint(7, id);
        speaker.say(&mut out, HELLO, hello, said);
        (speaker, out)
    }

    /// Says that the decoder has been begun anew.
    pub(super) fn ack(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.say(&mut out, ACK, self.ack, Record::new());
        out
    }

    /// Answers a ping.
    pub(super) fn pong(&self, timestamp: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        self.say(&mut out, PONG, self.pong, Record::new().bytes(0, timestamp));
        out
    }

    fn say(&self, out: &mut Vec<u8>, name: &str, id: TypeId, said: Record) {
        self.encoder.write(out, self.envelope, Record::new().interface(0, name, id, said));
    }
}
