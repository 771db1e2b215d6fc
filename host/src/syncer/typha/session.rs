//! One connection, from the greeting on: what a message means and what is answered. No I/O.

use super::message::{IN_SYNC, Message, SNAPPY, SYNCER_TYPE, Speaker};
use super::wire::Wire;
use crate::syncer::mirror::Mirror;

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
    /// A message was complete.
    pub(super) has_message: bool,
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
                        match value.value.is_empty() {
                            true => mirror.unset(value.key),
                            false => mirror.set(value.key, value.value),
                        }
                    }
                    None
                }
                Some(Message::Status(status)) => {
                    taken.reads = status.sync_status != IN_SYNC;
                    match taken.reads {
                        true => mirror.is_stale(),
                        false => mirror.is_complete(),
                    }
                    None
                }
                Some(Message::Ping(ping)) => {
                    taken.answer.extend(speaker.pong(ping.timestamp));
                    None
                }
            };
            taken.has_message = true;
            if let Some(compressed) = restart {
                wire.restart(compressed)?;
                taken.answer.extend(speaker.ack());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::engine::{Event, Settings};
    use crate::syncer::Update;

    fn mirror() -> Mirror {
        Mirror::new("Typha", &Settings::new("one".parse().expect("a name")))
    }

    /// What a conversation came to: the objects that are there, and how often it was answered.
    fn replay(recording: &[u8], piece: usize) -> Result<(BTreeSet<String>, usize), String> {
        let mut mirror = mirror();
        let (mut session, _) = Session::begin("one", 1);
        mirror.begins();
        let (mut objects, mut answers, mut in_sync) = (BTreeSet::new(), 0, 0);
        for bytes in recording.chunks(piece) {
            answers += usize::from(!session.take(bytes, &mut mirror)?.answer.is_empty());
            for update in mirror.take() {
                match update {
                    Update::Event(Event::Upsert(parsed)) => {
                        assert!(parsed.resource.is_ok() && parsed.warnings.is_empty(), "{parsed:?}");
                        objects.insert(parsed.key.to_string());
                    }
                    Update::Event(Event::Delete(key)) => assert!(objects.remove(&key.to_string()), "{key}"),
                    Update::InSync => in_sync += 1,
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!((in_sync, session.version().is_some()), (1, true));
        Ok((objects, answers))
    }

    const PLAIN: &[u8] = include_bytes!("../../../tests/typha/recordings/plain.bin");
    const SNAPPY: &[u8] = include_bytes!("../../../tests/typha/recordings/snappy.bin");

    #[test]
    fn what_a_real_server_said_is_understood() {
        let expected = [
            "BGPConfiguration default",
            "BlockAffinity one-10-40-1-0-26",
            "IPPool 10.40.0.0-16",
            "IPPool 10.41.0.0-16",
            "Node one",
            "Node three",
        ];
        let expected: BTreeSet<String> = expected.map(str::to_owned).into();
        // A server waits for answers before it goes on in another stream, so these come byte by byte.
        let (objects, answers) = replay(SNAPPY, 1).expect("understood");
        assert_eq!(objects, expected);
        assert!(answers >= 2 + 3, "two streams begin and pings come: {answers}");
        for piece in [1, 7, 512, PLAIN.len()] {
            assert_eq!(replay(PLAIN, piece).expect("understood").0, expected, "pieces of {piece}");
        }
    }

    #[test]
    fn a_flaw_in_it_is_an_error_or_none_and_never_more() {
        for recording in [PLAIN, SNAPPY] {
            for at in (0..recording.len()).step_by(13) {
                let mut flawed = recording.to_vec();
                flawed[at] ^= 0x55;
                let mut mirror = mirror();
                let (mut session, _) = Session::begin("one", 1);
                mirror.begins();
                for byte in flawed.chunks(1) {
                    if session.take(byte, &mut mirror).is_err() {
                        break;
                    }
                    mirror.take();
                }
            }
        }
    }
}
