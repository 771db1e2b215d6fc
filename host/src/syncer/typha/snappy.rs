//! Snappy's framing format, chunk by chunk: what has come whole is there at once.

use std::collections::VecDeque;
use std::io::Read;

use snap::read::FrameDecoder;

/// The longest chunk that is taken, in bytes: one of 64 KiB that could not be compressed, and room for padding.
const MAX_CHUNK: usize = 76 << 10;

/// Inflates one stream.
pub(super) struct Inflater {
    chunks: FrameDecoder<VecDeque<u8>>,
    /// A chunk that is not complete.
    begun: Vec<u8>,
}

impl Inflater {
    pub(super) fn new() -> Self {
        Self { chunks: FrameDecoder::new(VecDeque::new()), begun: Vec::new() }
    }

    /// Takes the next bytes and hands over what they come to.
    ///
    /// # Errors
    /// The stream is broken.
    pub(super) fn push(&mut self, bytes: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        self.begun.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(header) = self.begun.get(from..from + 4) {
            let length = usize::from(header[1]) | usize::from(header[2]) << 8 | usize::from(header[3]) << 16;
            if length > MAX_CHUNK {
                return Err(format!("a snappy chunk of {length} bytes is larger than any that is taken"));
            }
            let Some(chunk) = self.begun.get(from..from + 4 + length) else { break };
            self.chunks.get_mut().extend(chunk);
            from += 4 + length;
            self.inflate(sink)?;
        }
        self.begun.drain(..from);
        Ok(())
    }

    /// How many bytes wait for the rest of their chunk.
    pub(super) fn waiting(&self) -> usize {
        self.begun.len()
    }

    fn inflate(&mut self, sink: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        let mut piece = [0; 16 << 10];
        loop {
            match self.chunks.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(size) => sink(&piece[..size]),
                Err(error) => return Err(format!("the snappy stream is broken: {error}")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn deflated(parts: &[&[u8]]) -> Vec<u8> {
        let mut encoder = snap::write::FrameEncoder::new(Vec::new());
        for part in parts {
            encoder.write_all(part).expect("written");
            encoder.flush().expect("flushed");
        }
        encoder.into_inner().expect("whole")
    }

    fn inflated(bytes: &[u8], size: usize) -> Result<(Vec<u8>, usize), String> {
        let (mut inflater, mut out) = (Inflater::new(), Vec::new());
        for piece in bytes.chunks(size) {
            inflater.push(piece, &mut |bytes| out.extend_from_slice(bytes))?;
        }
        Ok((out, inflater.waiting()))
    }

    #[test]
    fn what_was_flushed_is_there_in_pieces_of_any_size() {
        let long: Vec<u8> = (0..200_000u32).map(|number| (number % 251) as u8).collect();
        let parts = [b"one".as_slice(), &long, b"", b"two"];
        let bytes = deflated(&parts);
        for size in [1, 3, 1000, bytes.len()] {
            assert_eq!(inflated(&bytes, size), Ok((parts.concat(), 0)), "pieces of {size}");
        }
        assert_eq!(inflated(&bytes[..bytes.len() - 1], 100).map(|(out, _)| out.len()), Ok(3 + long.len()));
    }

    #[test]
    fn a_broken_stream_is_refused() {
        let good = deflated(&[b"some words"]);
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            inflated(&bytes, 7)
        };
        assert!(inflated(&good[10..], 7).is_err(), "no identifier");
        assert!(with(10, 0x02).is_err(), "a reserved chunk");
        assert!(with(14, good[14] ^ 1).is_err(), "another checksum");
        let error = with(13, 0x40).expect_err("a chunk of 4 MiB");
        assert!(error.contains("larger than any"), "{error}");
        // A chunk that says that it becomes larger than any may: 1 GiB.
        let bomb = [&good[..10], &[0, 10, 0, 0, 1, 2, 3, 4, 0x80, 0x80, 0x80, 0x80, 0x04, 0]].concat();
        assert!(inflated(&bomb, 7).is_err(), "a bomb");
    }
}
