//! From the bytes of a connection to messages.

use tailorbird_gob::{Decoder, Limits};

use super::message::{Envelope, Message};
use super::snappy::Inflater;

/// What a server may send. A change can be a message of any number of values, and a value is no larger than what etcd
/// takes, 1.5 MiB.
const LIMITS: Limits =
    Limits { message: 64 << 20, elements: 1 << 20, depth: 16, types: 128, definitions: 64 << 10, spread: 64 };

/// One direction of a connection, from the server.
pub(super) struct Wire {
    inflater: Option<Inflater>,
    decoder: Decoder,
}

impl Wire {
    /// At the start of a connection.
    pub(super) fn new() -> Self {
        Self { inflater: None, decoder: Decoder::new(LIMITS) }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// They cannot be what a server sends; nothing that follows can be trusted.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        let Self { inflater, decoder } = self;
        match inflater {
            Some(inflater) => inflater.push(bytes, &mut |bytes| decoder.push(bytes)),
            None => {
                decoder.push(bytes);
                Ok(())
            }
        }
    }

    /// The next message that is complete.
    ///
    /// # Errors
    /// As for [`Wire::push`].
    pub(super) fn next(&mut self) -> Result<Option<Message<'_>>, String> {
        match self.decoder.next::<Envelope<'_>>() {
            Ok(None) => Ok(None),
            Ok(Some(Envelope { message: Some(message) })) => Ok(Some(message)),
            Ok(Some(Envelope { message: None })) => Err("an envelope without a message".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// A new stream begins.
    ///
    /// # Errors
    /// Bytes of the old one are left: the server does not wait for the answer, so nobody can tell which stream they are of.
    pub(super) fn restart(&mut self, compressed: bool) -> Result<(), String> {
        if self.decoder.waiting() > 0 || self.inflater.as_ref().is_some_and(|inflater| inflater.waiting() > 0)
        {
            return Err("the decoder is to begin anew in the midst of the data".to_owned());
        }
        *self = Self { inflater: compressed.then(Inflater::new), ..Self::new() };
        Ok(())
    }
}
