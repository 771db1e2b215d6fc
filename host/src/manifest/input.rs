//! Lines of a stream, bounded.

use std::io::{self, BufRead, Read as _};

use super::MAX_OBJECT_BYTES;

/// The byte order mark of UTF-8.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads lines. A line that is too long comes in pieces.
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    in_line: bool,
    at_file_start: bool,
}

/// A line with its end, or a piece of one.
pub(super) struct Line<'a> {
    /// The bytes.
    pub(super) bytes: &'a [u8],
    /// The bytes begin where a line begins.
    pub(super) at_start: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), in_line: false, at_file_start: true }
    }

    /// The next line; none at the end of the stream.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        if self.buffer.capacity() > (1 << 20) {
            self.buffer.shrink_to(1 << 20);
        }
        let limit = MAX_OBJECT_BYTES as u64 + 1;
        if self.reader.by_ref().take(limit).read_until(b'\n', &mut self.buffer)? == 0 {
            return Ok(None);
        }
        let at_start = !self.in_line;
        self.in_line = self.buffer.last() != Some(&b'\n');
        let mut bytes = self.buffer.as_slice();
        if std::mem::take(&mut self.at_file_start) {
            bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
        }
        Ok(Some(Line { bytes, at_start }))
    }
}

/// The bytes as text that a YAML document may consist of, or the line of the first offence and what it is.
pub(super) fn text(bytes: &[u8]) -> Result<&str, (u64, &'static str)> {
    let line_at = |at: usize| 1 + bytes[..at].iter().filter(|b| **b == b'\n').count() as u64;
    if let Some(at) = bytes.iter().position(|b| *b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r')) {
        return Err((line_at(at), "a control character; this is no YAML text"));
    }
    std::str::from_utf8(bytes).map_err(|error| (line_at(error.valid_up_to()), "not UTF-8 text"))
}
