//! Goes through the messages of a stream: numbers, bytes, definitions.

use crate::error::Stop;
use crate::limits::Limits;
use crate::number::{Uint, read_uint, signed};
use crate::types::{Field, Shape, Types};

/// A place in the bytes that there are.
pub(crate) struct Reader<'de, 'd> {
    buffer: &'de [u8],
    pub(crate) at: usize,
    /// Where the value at hand begins.
    pub(crate) begin: usize,
    /// How many types were defined before it.
    pub(crate) mark: usize,
    /// Where the message at hand ends.
    end: usize,
    messages: usize,
    elements: usize,
    pub(crate) types: &'d mut Types,
    pub(crate) limits: &'d Limits,
}

impl<'de, 'd> Reader<'de, 'd> {
    /// At the border of a message.
    pub(crate) fn new(buffer: &'de [u8], at: usize, types: &'d mut Types, limits: &'d Limits) -> Self {
        let mark = types.mark();
        Self { buffer, at, begin: at, mark, end: at, messages: 0, elements: 0, types, limits }
    }

    /// Goes into the next message.
    fn enter(&mut self) -> Result<(), Stop> {
        let (length, size) = match read_uint(self.buffer.get(self.at..).unwrap_or_default()) {
            Uint::Read(length, size) => (length, size),
            Uint::Short(size) => return Err(Stop::Incomplete { needed: self.at + size }),
            Uint::Overlong(count) => return Err(overlong(count)),
        };
        let Some(length) = usize::try_from(length).ok().filter(|length| *length <= self.limits.message)
        else {
            return Err(Stop::broken(format!(
                "a message of {length} bytes is larger than the {} that are taken",
                self.limits.message
            )));
        };
        let end = self.at + size + length;
        if self.messages > 0 && end - self.begin > self.limits.message {
            return Err(Stop::broken(format!(
                "a value is larger than the {} bytes that are taken",
                self.limits.message
            )));
        }
        if end > self.buffer.len() {
            return Err(Stop::Incomplete { needed: end });
        }
        self.messages += 1;
        if self.messages > self.limits.spread {
            return Err(Stop::broken(format!(
                "a value is spread over more than {} messages",
                self.limits.spread
            )));
        }
        self.at += size;
        self.end = end;
        Ok(())
    }

    /// The messages so far.
    pub(crate) fn messages(&self) -> usize {
        self.messages
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.at == self.end
    }

    /// What is left of the message.
    pub(crate) fn left(&self) -> usize {
        self.end - self.at
    }

    /// Definitions before a value at the top; the value's type. Each definition is whole in its message, so those that
    /// were taken stay although the value may not be there yet.
    pub(crate) fn type_at_top(&mut self) -> Result<i64, Stop> {
        loop {
            self.enter()?;
            match self.int()? {
                id @ 0.. => return Ok(id),
                id => {
                    self.define(id)?;
                    if !self.is_used_up() {
                        return Err(Stop::broken("a definition is followed by something in its message"));
                    }
                    (self.messages, self.begin, self.mark) = (0, self.at, self.types.mark());
                }
            }
        }
    }

    /// The same within an interface, where definitions stand between the name and the value.
    pub(crate) fn type_within(&mut self) -> Result<i64, Stop> {
        loop {
            if self.is_used_up() {
                self.enter()?;
            }
            match self.int()? {
                id @ 0.. => return Ok(id),
                id => {
                    self.define(id)?;
                    if !self.is_used_up() {
                        self.uint()?;
                    }
                }
            }
        }
    }

    pub(crate) fn uint(&mut self) -> Result<u64, Stop> {
        match read_uint(&self.buffer[self.at..self.end]) {
            Uint::Read(number, size) => {
                self.at += size;
                Ok(number)
            }
            Uint::Short(_) => Err(Stop::broken("the message ends within a value")),
            Uint::Overlong(count) => Err(overlong(count)),
        }
    }

    pub(crate) fn int(&mut self) -> Result<i64, Stop> {
        self.uint().map(signed)
    }

    /// A count, and so many bytes.
    pub(crate) fn bytes(&mut self) -> Result<&'de [u8], Stop> {
        let length = self.uint()?;
        let Some(length) = usize::try_from(length).ok().filter(|length| *length <= self.left()) else {
            return Err(Stop::broken(format!(
                "{length} bytes are announced, and the message has {}",
                self.left()
            )));
        };
        let bytes = &self.buffer[self.at..self.at + length];
        self.at += length;
        Ok(bytes)
    }

    /// One element or field more.
    pub(crate) fn count(&mut self) -> Result<(), Stop> {
        self.elements += 1;
        if self.elements > self.limits.elements {
            return Err(Stop::broken(format!(
                "a value has more than the {} elements that are taken",
                self.limits.elements
            )));
        }
        Ok(())
    }

    /// Goes through the fields of a struct, up to its end.
    pub(crate) fn each_field(
        &mut self,
        mut take: impl FnMut(&mut Self, i64) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut last = -1;
        while let Some(field) = self.field_after(last)? {
            last = field;
            take(self, field)?;
        }
        Ok(())
    }

    /// The next field of a struct after another one (-1: the first); none at its end.
    pub(crate) fn field_after(&mut self, last: i64) -> Result<Option<i64>, Stop> {
        let delta = self.uint()?;
        if delta == 0 {
            return Ok(None);
        }
        let next = i64::try_from(delta).ok().and_then(|delta| last.checked_add(delta));
        next.map(Some).ok_or_else(|| Stop::broken(format!("a field number {delta} further than the last")))
    }

    fn define(&mut self, negated: i64) -> Result<(), Stop> {
        let id = negated.checked_neg().unwrap_or(i64::MAX);
        let from = self.at;
        let mut shape = None;
        self.each_field(|reader, field| {
            let read = match field {
                0 => reader
                    .part(3, |[_, element, length]| Shape::Array { element, length: length.max(0) as u64 })?,
                1 => reader.part(2, |[_, element, _]| Shape::Slice { element })?,
                2 => Shape::Struct(reader.fields()?),
                3 => reader.part(3, |[_, key, element]| Shape::Map { key, element })?,
                4..=6 => reader.part(1, |_| Shape::Opaque)?,
                _ => return Err(Stop::broken(format!("a definition of type {id} of an unknown form"))),
            };
            match shape.replace(read) {
                None => Ok(()),
                Some(_) => Err(Stop::broken(format!("type {id} is defined in two ways at once"))),
            }
        })?;
        let shape = shape.ok_or_else(|| Stop::broken(format!("the definition of type {id} says nothing")))?;
        self.types.define(id, shape, self.at - from, self.limits)
    }

    /// A form that has the common part in front and no more than numbers behind it, `count` fields in all.
    fn part(&mut self, count: i64, shape: impl FnOnce([i64; 3]) -> Shape) -> Result<Shape, Stop> {
        let mut numbers = [0; 3];
        self.each_field(|reader, field| {
            match numbers.get_mut(field as usize) {
                Some(_) if field == 0 => reader.common()?,
                Some(number) if field < count => *number = reader.int()?,
                _ => return Err(unknown_part()),
            }
            Ok(())
        })?;
        Ok(shape(numbers))
    }

    /// Name and number of a type: neither means anything here.
    fn common(&mut self) -> Result<(), Stop> {
        self.each_field(|reader, field| {
            match field {
                0 => drop(reader.bytes()?),
                1 => drop(reader.int()?),
                _ => return Err(unknown_part()),
            }
            Ok(())
        })
    }

    fn fields(&mut self) -> Result<Vec<Field>, Stop> {
        let mut fields = Vec::new();
        self.each_field(|reader, field| {
            match field {
                0 => reader.common()?,
                1 => {
                    // Each takes a byte at least, and what is announced may be more than there is.
                    for _ in 0..reader.uint()? {
                        fields.push(reader.field()?);
                        // Counted before they are kept, for a field takes more room here than there.
                        if fields.len() > reader.limits.definitions / 8 {
                            return Err(Stop::broken("a struct of too many fields"));
                        }
                    }
                }
                _ => return Err(unknown_part()),
            }
            Ok(())
        })?;
        Ok(fields)
    }

    fn field(&mut self) -> Result<Field, Stop> {
        let (mut name, mut id) = (String::new(), 0);
        self.each_field(|reader, field| {
            match field {
                0 => {
                    let text = reader.bytes()?;
                    if text.len() > reader.limits.definitions {
                        return Err(Stop::broken("a field whose name is too long"));
                    }
                    name = String::from_utf8_lossy(text).into_owned();
                }
                1 => id = reader.int()?,
                _ => return Err(unknown_part()),
            }
            Ok(())
        })?;
        Ok(Field { name, id })
    }
}

fn unknown_part() -> Stop {
    Stop::broken("a definition with an unknown part")
}

fn overlong(count: usize) -> Stop {
    Stop::broken(format!("a number of {count} bytes"))
}
