//! An item taken apart: the fields that a template only writes out, and all others as one text that tells whether two items are alike.

use serde::Serialize;
use serde::ser::{Error as _, Impossible, SerializeStruct, Serializer};
use serde_json::Value;

/// What an item is made of. It is kept from item to item, for its memory.
#[derive(Default)]
pub(super) struct Apart {
    /// The names and values of all fields that are no holes, as JSON. They may be passwords.
    pub(super) rest: Vec<u8>,
    /// What fills each hole.
    pub(super) filling: Vec<String>,
}

impl Apart {
    /// Takes an item apart. `fill` tells what stands in a hole for a value; none if the item must be rendered by itself.
    ///
    /// Returns whether it is one with all these holes. The names of holes are sorted.
    pub(super) fn take(
        &mut self,
        item: &impl Serialize,
        holes: &[String],
        fill: &dyn Fn(&Value) -> Option<String>,
    ) -> bool {
        self.rest.clear();
        self.filling.clear();
        self.filling.resize(holes.len(), String::new());
        let fields = Fields { apart: self, holes, fill, filled: 0 };
        item.serialize(fields).is_ok_and(|filled| filled == holes.len())
    }
}

/// Takes the fields of one struct; anything else is an error. Its result is the number of holes that were filled.
struct Fields<'a> {
    apart: &'a mut Apart,
    holes: &'a [String],
    fill: &'a dyn Fn(&Value) -> Option<String>,
    filled: usize,
}

impl SerializeStruct for Fields<'_> {
    type Ok = usize;
    type Error = serde_json::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Self::Error> {
        let Ok(hole) = self.holes.binary_search_by(|hole| hole.as_str().cmp(name)) else {
            // No name and no JSON in one line has a line's end, so no two items have the same lines that are not alike.
            self.apart.rest.extend_from_slice(name.as_bytes());
            self.apart.rest.push(b':');
            serde_json::to_writer(&mut self.apart.rest, value)?;
            self.apart.rest.push(b'\n');
            return Ok(());
        };
        let filling = (self.fill)(&serde_json::to_value(value)?);
        self.apart.filling[hole] =
            filling.ok_or_else(|| Self::Error::custom("the item is out of the ordinary"))?;
        self.filled += 1;
        Ok(())
    }

    fn end(self) -> Result<Self::Ok, Self::Error> {
        Ok(self.filled)
    }
}

fn no_struct<T>() -> Result<T, serde_json::Error> {
    Err(serde_json::Error::custom("the item has no fields"))
}

/// The methods for what is no struct.
macro_rules! refused {
    ($($method:ident($($argument:ty),*) -> $ok:ty;)*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<$ok, Self::Error> {
            no_struct()
        })*
    };
}

type No = Impossible<usize, serde_json::Error>;

impl Serializer for Fields<'_> {
    type Ok = usize;
    type Error = serde_json::Error;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = No;
    type SerializeStruct = Self;
    type SerializeStructVariant = No;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Self::Error> {
        Ok(self)
    }

    refused! {
        serialize_bool(bool) -> usize;
        serialize_i8(i8) -> usize;
        serialize_i16(i16) -> usize;
        serialize_i32(i32) -> usize;
        serialize_i64(i64) -> usize;
        serialize_u8(u8) -> usize;
        serialize_u16(u16) -> usize;
        serialize_u32(u32) -> usize;
        serialize_u64(u64) -> usize;
        serialize_f32(f32) -> usize;
        serialize_f64(f64) -> usize;
        serialize_char(char) -> usize;
        serialize_str(&str) -> usize;
        serialize_bytes(&[u8]) -> usize;
        serialize_none() -> usize;
        serialize_unit() -> usize;
        serialize_unit_struct(&'static str) -> usize;
        serialize_unit_variant(&'static str, u32, &'static str) -> usize;
        serialize_seq(Option<usize>) -> No;
        serialize_tuple(usize) -> No;
        serialize_tuple_struct(&'static str, usize) -> No;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> No;
        serialize_map(Option<usize>) -> No;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> No;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<usize, Self::Error> {
        no_struct()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<usize, Self::Error> {
        no_struct()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<usize, Self::Error> {
        no_struct()
    }
}
