//! From the bytes of a value to what serde knows.

use std::sync::Arc;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::error::Stop;
use crate::number::float;
use crate::reader::Reader;
use crate::types::{Field, Shape};

/// A place where a value of a type stands.
pub(crate) struct Slot<'r, 'de, 'd> {
    reader: &'r mut Reader<'de, 'd>,
    shape: Arc<Shape>,
    depth: usize,
}

impl<'r, 'de, 'd> Slot<'r, 'de, 'd> {
    /// A value on its own, not within another one.
    pub(crate) fn at_top(reader: &'r mut Reader<'de, 'd>, id: i64) -> Result<Self, Stop> {
        Self::alone(reader, id, 0)
    }

    /// At the top and within an interface: a byte more stands before what is no struct.
    fn alone(reader: &'r mut Reader<'de, 'd>, id: i64, depth: usize) -> Result<Self, Stop> {
        let slot = Self::within(reader, id, depth)?;
        if !matches!(*slot.shape, Shape::Struct(_)) && slot.reader.uint()? != 0 {
            return Err(Stop::broken("a value that is no struct does not begin with 0"));
        }
        Ok(slot)
    }

    fn within(reader: &'r mut Reader<'de, 'd>, id: i64, depth: usize) -> Result<Self, Stop> {
        if depth > reader.limits.depth {
            return Err(Stop::broken(format!("values are nested deeper than {}", reader.limits.depth)));
        }
        let shape = reader.types.of(id)?;
        Ok(Self { reader, shape, depth })
    }

    /// Passes over the value.
    fn skip(self) -> Result<(), Stop> {
        let Self { reader, shape, depth } = self;
        match &*shape {
            Shape::Bool | Shape::Int | Shape::Uint | Shape::Float => drop(reader.uint()?),
            Shape::Complex => {
                reader.uint()?;
                reader.uint()?;
            }
            Shape::Bytes | Shape::Text | Shape::Opaque => drop(reader.bytes()?),
            Shape::Interface => {
                if let Some((_, content)) = Content::open(reader, depth)? {
                    content.skip()?;
                }
            }
            Shape::Array { element, .. } | Shape::Slice { element } => {
                for _ in 0..length(reader, &shape)? {
                    reader.count()?;
                    Slot::within(reader, *element, depth + 1)?.skip()?;
                }
            }
            Shape::Map { key, element } => {
                for _ in 0..reader.uint()? {
                    reader.count()?;
                    Slot::within(reader, *key, depth + 1)?.skip()?;
                    Slot::within(reader, *element, depth + 1)?.skip()?;
                }
            }
            Shape::Struct(fields) => reader.each_field(|reader, at| {
                reader.count()?;
                let id = field(fields, at)?.id;
                Slot::within(reader, id, depth + 1)?.skip()
            })?,
        }
        Ok(())
    }
}

fn field(fields: &[Field], at: i64) -> Result<&Field, Stop> {
    let field = usize::try_from(at).ok().and_then(|at| fields.get(at));
    field.ok_or_else(|| Stop::broken(format!("field {at} of a struct of {}", fields.len())))
}

/// How many elements an array or slice has.
fn length(reader: &mut Reader<'_, '_>, shape: &Shape) -> Result<u64, Stop> {
    let count = reader.uint()?;
    match shape {
        Shape::Array { length, .. } if *length != count => {
            Err(Stop::broken(format!("an array of {length} elements has {count}")))
        }
        _ => Ok(count),
    }
}

impl<'de> Deserializer<'de> for Slot<'_, 'de, '_> {
    type Error = Stop;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        let Self { reader, shape, depth } = self;
        match &*shape {
            Shape::Bool => match reader.uint()? {
                0 => visitor.visit_bool(false),
                1 => visitor.visit_bool(true),
                other => Err(Stop::broken(format!("{other} is no boolean"))),
            },
            Shape::Int => visitor.visit_i64(reader.int()?),
            Shape::Uint => visitor.visit_u64(reader.uint()?),
            Shape::Float => visitor.visit_f64(float(reader.uint()?)),
            Shape::Bytes | Shape::Opaque => visitor.visit_borrowed_bytes(reader.bytes()?),
            Shape::Text => {
                let bytes = reader.bytes()?;
                match str::from_utf8(bytes) {
                    Ok(text) => visitor.visit_borrowed_str(text),
                    Err(_) => visitor.visit_borrowed_bytes(bytes),
                }
            }
            Shape::Complex => Err(Stop::broken("complex numbers are not read")),
            Shape::Interface => match Content::open(reader, depth)? {
                Some((name, content)) => visitor.visit_enum(Named { name, content }),
                None => visitor.visit_unit(),
            },
            Shape::Array { element, .. } | Shape::Slice { element } => {
                let left = length(reader, &shape)?;
                let mut elements = Elements { reader, element: *element, left, depth };
                let value = visitor.visit_seq(&mut elements)?;
                elements.finish()?;
                Ok(value)
            }
            Shape::Map { key, element } => {
                let left = reader.uint()?;
                let mut entries = Entries { reader, key: *key, element: *element, left, depth };
                let value = visitor.visit_map(&mut entries)?;
                match entries.left {
                    0 => Ok(value),
                    left => Err(Stop::broken(format!("a map has {left} entries more than are expected"))),
                }
            }
            Shape::Struct(fields) => {
                let mut fields = Fields { reader, fields, last: -1, ended: false, depth };
                let value = visitor.visit_map(&mut fields)?;
                if fields.ended {
                    Ok(value)
                } else {
                    Err(Stop::broken("a struct has more fields than are expected"))
                }
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        match *self.shape {
            Shape::Interface => match Content::open(self.reader, self.depth)? {
                Some((name, content)) => visitor.visit_some(Named { name, content }),
                None => visitor.visit_none(),
            },
            // A zero field is not on the wire: what is there is something.
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Stop> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier
    }
}

/// What an interface holds.
struct Content<'r, 'de, 'd> {
    reader: &'r mut Reader<'de, 'd>,
    id: i64,
    depth: usize,
    /// Where the value ends, as the count before it says.
    end: usize,
    messages: usize,
}

impl<'r, 'de, 'd> Content<'r, 'de, 'd> {
    /// Reads up to the value, with the name of its type; none for nil.
    fn open(reader: &'r mut Reader<'de, 'd>, depth: usize) -> Result<Option<(&'de [u8], Self)>, Stop> {
        let name = reader.bytes()?;
        if name.is_empty() {
            return Ok(None);
        }
        let id = reader.type_within()?;
        let length = reader.uint()?;
        let Some(length) = usize::try_from(length).ok().filter(|length| *length <= reader.left()) else {
            return Err(Stop::broken(format!(
                "the value of an interface has {length} bytes, and the message {}",
                reader.left()
            )));
        };
        let (end, messages) = (reader.at + length, reader.messages());
        Ok(Some((name, Self { reader, id, depth: depth + 1, end, messages })))
    }

    fn read<T>(self, read: impl FnOnce(Slot<'_, 'de, 'd>) -> Result<T, Stop>) -> Result<T, Stop> {
        let Self { reader, id, depth, end, messages } = self;
        let value = read(Slot::alone(&mut *reader, id, depth)?)?;
        // Definitions in the midst of a value are in other messages and are not counted.
        if reader.messages() == messages && reader.at != end {
            return Err(Stop::broken("the value of an interface is not as long as it says"));
        }
        Ok(value)
    }

    fn skip(self) -> Result<(), Stop> {
        self.read(|slot| slot.skip())
    }
}

/// An interface's value with the name of its type.
struct Named<'r, 'de, 'd> {
    name: &'de [u8],
    content: Content<'r, 'de, 'd>,
}

impl<'de> Deserializer<'de> for Named<'_, 'de, '_> {
    type Error = Stop;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier option newtype_struct ignored_any
    }
}

impl<'r, 'de, 'd> EnumAccess<'de> for Named<'r, 'de, 'd> {
    type Error = Stop;
    type Variant = Content<'r, 'de, 'd>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), Stop> {
        let Ok(name) = str::from_utf8(self.name) else {
            return Err(Stop::broken("an interface's type has a name that is no text"));
        };
        let name: StrDeserializer<'_, Stop> = name.into_deserializer();
        Ok((seed.deserialize(name)?, self.content))
    }
}

impl<'de> VariantAccess<'de> for Content<'_, 'de, '_> {
    type Error = Stop;

    fn unit_variant(self) -> Result<(), Stop> {
        self.skip()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Stop> {
        self.read(|slot| seed.deserialize(slot))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Stop> {
        self.read(|slot| slot.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        self.read(|slot| slot.deserialize_any(visitor))
    }
}

struct Elements<'r, 'de, 'd> {
    reader: &'r mut Reader<'de, 'd>,
    element: i64,
    left: u64,
    depth: usize,
}

impl Elements<'_, '_, '_> {
    fn finish(self) -> Result<(), Stop> {
        match self.left {
            0 => Ok(()),
            left => Err(Stop::broken(format!("a list has {left} elements more than are expected"))),
        }
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de, '_> {
    type Error = Stop;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Stop> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.reader.count()?;
        seed.deserialize(Slot::within(self.reader, self.element, self.depth + 1)?).map(Some)
    }
}

struct Entries<'r, 'de, 'd> {
    reader: &'r mut Reader<'de, 'd>,
    key: i64,
    element: i64,
    left: u64,
    depth: usize,
}

impl<'de> MapAccess<'de> for Entries<'_, 'de, '_> {
    type Error = Stop;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Stop> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.reader.count()?;
        seed.deserialize(Slot::within(self.reader, self.key, self.depth + 1)?).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Stop> {
        seed.deserialize(Slot::within(self.reader, self.element, self.depth + 1)?)
    }
}

struct Fields<'r, 's, 'de, 'd> {
    reader: &'r mut Reader<'de, 'd>,
    fields: &'s [Field],
    last: i64,
    ended: bool,
    depth: usize,
}

impl<'de> MapAccess<'de> for Fields<'_, '_, 'de, '_> {
    type Error = Stop;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Stop> {
        let Some(at) = self.reader.field_after(self.last)? else {
            self.ended = true;
            return Ok(None);
        };
        self.last = at;
        self.reader.count()?;
        let name: StrDeserializer<'_, Stop> = field(self.fields, at)?.name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Stop> {
        let id = field(self.fields, self.last)?.id;
        seed.deserialize(Slot::within(self.reader, id, self.depth + 1)?)
    }
}
