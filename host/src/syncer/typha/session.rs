//! One connection, from the greeting on: what a message means and what is answered. No I/O.

use super::message::{IN_SYNC, Message, SNAPPY, SYNCER_TYPE, Speaker};
use super::mirror::Mirror;
use super::wire::Wire;

/// A conversation with a server.
pub(super) struct Session {
    wire: Wire,
    speaker: Speaker,
    /// The server's version, once it has greeted.
    version: Option<String>,
}

/// What became of some bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// What is to be sent.
    pub(super) answer: Vec<u8>,
    /// How many messages were complete.
    pub(super) messages: usize,
    /// The server has said that it has more to say: it reads its datastore.
    pub(super) reads: bool,
}

impl Session {
    /// Begins a conversation in the name of a node; the bytes to send first.
    pub(super) fn begin(node: &str, id: u64) -> (Self, Vec<u8>) {
        let (speaker, hello) = Speaker::greet(node, id);
        (Self { wire: Wire::new(), speaker, version: None }, hello)
    }

    /// The server's version, once it has greeted.
    pub(super) fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Takes bytes that came; what they tell goes into the mirror.
    ///
    /// # Errors
    /// The server cannot be understood: the connection is of no more use.
    pub(super) fn take(&mut self, bytes: &[u8], mirror: &mut Mirror) -> Result<Taken, String> {
        let Self { wire, speaker, version } = self;
        wire.push(bytes)?;
        let mut taken = Taken::default();
        loop {
            let restart = match wire.next()? {
                None => return Ok(taken),
                Some(Message::Hello(hello)) => {
                    if version.is_some() {
                        return Err("the server greets a second time".to_owned());
                    }
                    if hello.syncer_type != SYNCER_TYPE || !hello.supports_node_resource_updates {
                        return Err(format!(
                            "the server, version {:?}, does not serve the data {SYNCER_TYPE:?}: it is too old",
                            hello.version
                        ));
                    }
                    *version = Some(hello.version);
                    None
                }
                Some(_) if version.is_none() => return Err("the server does not greet".to_owned()),
                Some(Message::Restart(restart)) => match restart.compression_algorithm.as_str() {
                    "" => Some(false),
                    SNAPPY => Some(true),
                    other => {
                        return Err(format!("the server compresses by {other:?}, which was not offered"));
                    }
                },
                Some(Message::Values(values)) => {
                    for value in &values.values {
                        mirror.set(value.key, value.value);
                    }
                    None
                }
                Some(Message::Status(status)) => {
                    taken.reads = status.sync_status != IN_SYNC;
                    mirror.server_says(!taken.reads);
                    None
                }
                Some(Message::Ping(ping)) => {
                    taken.answer.extend(speaker.pong(ping.timestamp));
                    None
                }
            };
            taken.messages += 1;
            if let Some(compressed) = restart {
                wire.restart(compressed)?;
                taken.answer.extend(speaker.ack());
            }
        }
    }
}
