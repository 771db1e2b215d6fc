use crate::number::{unsigned, write_uint};
use crate::types::FIRST_OWN;

/// The number of a type in one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeId(i64);

impl TypeId {
    /// `bool`
    pub const BOOL: Self = Self(1);
    /// Every `int`, `time.Duration` too.
    pub const INT: Self = Self(2);
    /// Every `uint`.
    pub const UINT: Self = Self(3);
    /// `[]byte`
    pub const BYTES: Self = Self(5);
    /// `string`
    pub const TEXT: Self = Self(6);
    /// Every interface.
    pub const INTERFACE: Self = Self(8);
}

/// Writes the values of one stream. Every type is defined, once, before a value has it.
#[derive(Debug)]
pub struct Encoder {
    next: i64,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { next: FIRST_OWN }
    }
}

impl Encoder {
    /// Begins a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Defines a struct with these fields, in order.
    pub fn structure(&mut self, out: &mut Vec<u8>, name: &str, fields: &[(&str, TypeId)]) -> TypeId {
        let fields = fields.iter().map(|(name, id)| Record::new().text(0, name).int(1, id.0));
        self.define(out, 2, name, |form| form.records(1, fields))
    }

    /// Defines a slice.
    pub fn slice(&mut self, out: &mut Vec<u8>, name: &str, element: TypeId) -> TypeId {
        self.define(out, 1, name, |form| form.int(1, element.0))
    }

    /// Defines a type that makes bytes of itself (`GobEncoder`).
    pub fn opaque(&mut self, out: &mut Vec<u8>, name: &str) -> TypeId {
        self.define(out, 4, name, |form| form)
    }

    /// Writes a struct.
    pub fn write(&self, out: &mut Vec<u8>, id: TypeId, value: Record) {
        let mut message = Vec::new();
        write_uint(&mut message, unsigned(id.0));
        message.extend(value.finish());
        write_uint(out, message.len() as u64);
        out.extend(message);
    }

    /// `rest` adds what follows the common part, which is field 0.
    fn define(
        &mut self,
        out: &mut Vec<u8>,
        kind: u16,
        name: &str,
        rest: impl FnOnce(Record) -> Record,
    ) -> TypeId {
        let id = self.next;
        self.next += 1;
        let common = Record::new().text(0, name).int(1, id);
        let form = rest(Record::new().record(0, common));
        self.write(out, TypeId(-id), Record::new().record(kind, form));
        TypeId(id)
    }
}

/// The value of a struct: its fields in order, of which those that are zero are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    bytes: Vec<u8>,
    last: i64,
}

impl Default for Record {
    fn default() -> Self {
        Self { bytes: Vec::new(), last: -1 }
    }
}

impl Record {
    /// All fields zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// A text. `field` counts from 0 and is greater than that of any field before, here and below.
    pub fn text(self, field: u16, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// Bytes, of a `[]byte` or of a type that makes bytes of itself.
    pub fn bytes(mut self, field: u16, bytes: &[u8]) -> Self {
        if !bytes.is_empty() {
            self.field(field.into());
            write_bytes(&mut self.bytes, bytes);
        }
        self
    }

    /// A boolean.
    pub fn bool(self, field: u16, value: bool) -> Self {
        self.uint(field, value.into())
    }

    /// An unsigned number.
    pub fn uint(mut self, field: u16, number: u64) -> Self {
        if number != 0 {
            self.field(field.into());
            write_uint(&mut self.bytes, number);
        }
        self
    }

    /// A signed number.
    pub fn int(self, field: u16, number: i64) -> Self {
        self.uint(field, unsigned(number))
    }

    /// A list of texts.
    pub fn texts(mut self, field: u16, texts: &[&str]) -> Self {
        if !texts.is_empty() {
            self.field(field.into());
            write_uint(&mut self.bytes, texts.len() as u64);
            texts.iter().for_each(|text| write_bytes(&mut self.bytes, text.as_bytes()));
        }
        self
    }

    /// A struct, which is there even if all of it is zero.
    fn record(mut self, field: u16, record: Record) -> Self {
        self.field(field.into());
        self.bytes.extend(record.finish());
        self
    }

    /// A list of structs.
    pub fn records(mut self, field: u16, records: impl IntoIterator<Item = Record>) -> Self {
        let records: Vec<Record> = records.into_iter().collect();
        if !records.is_empty() {
            self.field(field.into());
            write_uint(&mut self.bytes, records.len() as u64);
            records.into_iter().for_each(|record| self.bytes.extend(record.finish()));
        }
        self
    }

    /// An interface that holds a struct, whose type is registered under a name.
    pub fn interface(mut self, field: u16, name: &str, id: TypeId, value: Record) -> Self {
        self.field(field.into());
        write_bytes(&mut self.bytes, name.as_bytes());
        write_uint(&mut self.bytes, unsigned(id.0));
        write_bytes(&mut self.bytes, &value.finish());
        self
    }

    /// Moves to a field.
    fn field(&mut self, field: i64) {
        debug_assert!(field > self.last, "fields go in order");
        write_uint(&mut self.bytes, (field - self.last).unsigned_abs());
        self.last = field;
    }

    fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_uint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
