//! BIRD's side of the conversation as a pure parser: bytes in, whole replies out.
//!
//! A reply is a run of lines. `NNNN-text` is followed by more, ` text` continues the same code, `NNNN text` is the
//! last. A line that begins with `+` belongs to no reply and may come between any two lines.

/// The longest line that is read, in bytes. BIRD's own lines end at 4 KiB.
pub const LINE_LIMIT: usize = 16 * 1024;

/// The largest reply that is read, in bytes, with the notices before and in it. Ten thousand sessions of two
/// families are about 25 MiB.
pub const REPLY_LIMIT: usize = 32 * 1024 * 1024;

/// What is shown of a line that is no line of BIRD's, in characters.
const EXCERPT: usize = 60;

/// Something that BIRD said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A whole reply.
    Reply(Reply),
    /// A line that BIRD said without being asked, as that a configuration's time ran out.
    Notice(String),
}

/// Why what came is not what BIRD says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A line that is none of BIRD's.
    #[error("the line {0:?} is no line of a reply")]
    Line(String),
    /// A line that is longer than [`LINE_LIMIT`].
    #[error("a line has more than {LINE_LIMIT} bytes")]
    LongLine,
    /// A reply that is larger than [`REPLY_LIMIT`].
    #[error("a reply has more than {REPLY_LIMIT} bytes")]
    LongReply,
}

/// A whole reply: at least one line.
///
/// What is not UTF-8 and all control characters but the tab are replaced by U+FFFD, so that a line can be shown on a
/// terminal and written to a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    text: String,
    /// The code of each line, and where it ends in the text.
    lines: Vec<(u16, usize)>,
}

/// A line of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// What kind of line it is, 0 to 9999: 0xxx for done, 1xxx for data, 2xxx for headings, 8xxx and 9xxx for errors.
    pub code: u16,
    /// The text behind the code, with its leading blanks.
    pub text: &'a str,
}

impl Reply {
    /// The code of the last line, which says how the command ended.
    pub fn code(&self) -> u16 {
        self.lines.last().map_or(0, |(code, _)| *code)
    }

    /// The text of the last line.
    pub fn message(&self) -> &str {
        self.lines().last().map_or("", |line| line.text)
    }

    /// The lines, in order.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let starts = std::iter::once(0).chain(self.lines.iter().map(|(_, end)| *end));
        starts
            .zip(&self.lines)
            .map(|(start, (code, end))| Line { code: *code, text: &self.text[start..*end] })
    }

    fn push(&mut self, code: u16, text: &str) {
        self.text.push_str(text);
        self.lines.push((code, self.text.len()));
    }
}

/// Takes bytes as they come and gives what they say. It never waits, and what it keeps is bounded.
#[derive(Debug, Default)]
pub struct Parser {
    /// What came and is not read yet, from `at`.
    buffer: Vec<u8>,
    at: usize,
    /// How far the buffer was searched for the end of a line.
    searched: usize,
    /// The lines of a reply that has not ended.
    open: Reply,
    /// The bytes of lines since the last whole reply.
    size: usize,
    failed: Option<Malformed>,
}

impl Parser {
    /// Takes more bytes. After an error they are thrown away.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.buffer.drain(..self.at);
            self.searched -= self.at;
            self.at = 0;
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// What came next; `None` until more bytes are there.
    ///
    /// # Errors
    ///
    /// What came is not of BIRD, or too much. Nothing can be read after that, and the same error is given again.
    pub fn next_event(&mut self) -> Result<Option<Event>, Malformed> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let read = self.read();
        if let Err(malformed) = &read {
            *self = Self { failed: Some(malformed.clone()), ..Self::default() };
        }
        read
    }

    fn read(&mut self) -> Result<Option<Event>, Malformed> {
        while let Some(line) = self.line()? {
            match line.as_bytes() {
                [b'+', ..] => return Ok(Some(Event::Notice(line[1..].to_owned()))),
                [b' ', ..] => match self.open.lines.last() {
                    Some((code, _)) => self.open.push(*code, &line[1..]),
                    None => return Err(malformed(&line)),
                },
                [a, b, c, d, more @ (b'-' | b' '), ..]
                    if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()) =>
                {
                    let code =
                        [a, b, c, d].iter().fold(0, |code, digit| code * 10 + u16::from(**digit - b'0'));
                    self.open.push(code, &line[5..]);
                    if *more == b' ' {
                        self.size = 0;
                        return Ok(Some(Event::Reply(std::mem::take(&mut self.open))));
                    }
                }
                _ => return Err(malformed(&line)),
            }
        }
        Ok(None)
    }

    /// The next whole line, without its end.
    fn line(&mut self) -> Result<Option<String>, Malformed> {
        let end = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
        let length = end.map_or(self.buffer.len(), |end| self.searched + end) - self.at;
        if length > LINE_LIMIT {
            return Err(Malformed::LongLine);
        }
        if end.is_none() {
            self.searched = self.buffer.len();
            return Ok(None);
        }
        self.size += length + 1;
        if self.size > REPLY_LIMIT {
            return Err(Malformed::LongReply);
        }
        let line = clean(&self.buffer[self.at..self.at + length]);
        self.at += length + 1;
        self.searched = self.at;
        Ok(Some(line))
    }
}

fn clean(bytes: &[u8]) -> String {
    let shown = |c: char| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
    String::from_utf8_lossy(bytes).chars().map(shown).collect()
}

fn malformed(line: &str) -> Malformed {
    let mut excerpt: String = line.chars().take(EXCERPT).collect();
    if excerpt.len() < line.len() {
        excerpt.push('…');
    }
    Malformed::Line(excerpt)
}
