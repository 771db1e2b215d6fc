//! Go's gob encoding, as far as a client needs it: values are read into types that derive [`serde::Deserialize`], and
//! structs are written one field at a time.
//!
//! A [`Decoder`] takes the bytes of one stream in pieces of any size and does no I/O. What it reads may come from anybody:
//! nothing makes it panic, and memory, depth and the number of values have [`Limits`]. An [`Error`] tells the place in the
//! stream; nothing that follows it in the same stream can be trusted.
//!
//! How a gob type becomes what serde knows:
//! - A struct is a map by field names. Fields that are zero are not on the wire, so a type that is read into has
//!   `#[serde(default)]`; fields that it does not know are passed over.
//! - An interface is an enum whose variants are the registered names, or an `Option` of one where nil can occur.
//! - A string is text, or bytes where it is not UTF-8. `[]byte` and what encodes itself (`GobEncoder` and the like) are
//!   bytes, which can be borrowed from the decoder.
//! - Slices and arrays are sequences, maps are maps, numbers are numbers. Complex numbers are not read.

mod decoder;
mod encoder;
mod error;
mod limits;
mod number;
mod reader;
mod types;
mod value;

pub use decoder::Decoder;
pub use encoder::{Encoder, Record, TypeId};
pub use error::Error;
pub use limits::Limits;
