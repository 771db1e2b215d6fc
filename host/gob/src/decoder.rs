use serde::Deserialize;

use crate::error::{Error, Stop};
use crate::limits::Limits;
use crate::reader::Reader;
use crate::types::Types;
use crate::value::Slot;

/// Reads the values of one stream. See the [crate] for what becomes of gob's types.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    types: Types,
    buffer: Vec<u8>,
    /// What of the buffer is used up.
    from: usize,
    /// What came before the buffer, in bytes.
    offset: u64,
    /// How many bytes of the buffer are needed before the next value can be there.
    needed: usize,
}

impl Decoder {
    /// Begins a stream.
    pub fn new(limits: Limits) -> Self {
        Self { limits, types: Types::new(), buffer: Vec::new(), from: 0, offset: 0, needed: 0 }
    }

    /// Takes the next bytes of the stream. What is kept of them is no more than one message that is not complete and
    /// whatever was taken since [`Decoder::next`] last gave none.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.from > 0 {
            self.buffer.drain(..self.from);
            self.offset += self.from as u64;
            self.needed = self.needed.saturating_sub(self.from);
            self.from = 0;
            // One large message must not be paid for from then on.
            if self.buffer.capacity() > 1 << 20 && self.buffer.len() < 1 << 16 {
                self.buffer.shrink_to(1 << 16);
            }
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// How many bytes wait for the rest of their value.
    pub fn waiting(&self) -> usize {
        self.buffer.len() - self.from
    }

    /// The next value, which may borrow from the decoder; none while it is not complete.
    ///
    /// # Errors
    /// The stream is not gob, exceeds a limit, or has a value that cannot be read into the type. The decoder is of no more
    /// use then.
    // Values of one stream can be of several types, which no iterator can give.
    #[allow(clippy::should_implement_trait)]
    pub fn next<'a, T: Deserialize<'a>>(&'a mut self) -> Result<Option<T>, Error> {
        let Self { limits, types, buffer, from, offset, needed } = self;
        if buffer.len() < *needed {
            return Ok(None);
        }
        let mut reader = Reader::new(buffer, *from, types, limits);
        let value = read(&mut reader);
        let Reader { at, begin, mark, .. } = reader;
        *from = begin;
        match value {
            Ok(value) => {
                (*from, *needed) = (at, at + 1);
                Ok(Some(value))
            }
            Err(Stop::Incomplete { needed: bytes }) => {
                // What was defined within the value is defined again when all of the value is there.
                types.back_to(mark);
                *needed = bytes;
                Ok(None)
            }
            Err(Stop::Broken(reason)) => Err(Error { offset: *offset + at as u64, reason }),
        }
    }
}

fn read<'de, T: Deserialize<'de>>(reader: &mut Reader<'de, '_>) -> Result<T, Stop> {
    let id = reader.type_at_top()?;
    let value = T::deserialize(Slot::at_top(&mut *reader, id)?)?;
    if !reader.is_used_up() {
        return Err(Stop::broken(format!("{} bytes are left behind a value", reader.left())));
    }
    Ok(value)
}
