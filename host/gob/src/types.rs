//! The types of a stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Stop;
use crate::limits::Limits;

/// What values of a type look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    Bool,
    Int,
    Uint,
    Float,
    Bytes,
    Text,
    Complex,
    Interface,
    Array {
        element: i64,
        length: u64,
    },
    Slice {
        element: i64,
    },
    Map {
        key: i64,
        element: i64,
    },
    Struct(Vec<Field>),
    /// Bytes that a Go type makes of itself.
    Opaque,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) id: i64,
}

/// The first number that a stream's own types have.
pub(crate) const FIRST_OWN: i64 = 64;

/// All types that are known.
#[derive(Debug)]
pub(crate) struct Types {
    shapes: BTreeMap<i64, Arc<Shape>>,
    /// In the order of their definitions, with the size of each.
    defined: Vec<(i64, usize)>,
    size: usize,
}

impl Types {
    /// Those that every stream has.
    pub(crate) fn new() -> Self {
        let shapes = [
            Shape::Bool,
            Shape::Int,
            Shape::Uint,
            Shape::Float,
            Shape::Bytes,
            Shape::Text,
            Shape::Complex,
            Shape::Interface,
        ];
        let shapes = (1..).zip(shapes.map(Arc::new)).collect();
        Self { shapes, defined: Vec::new(), size: 0 }
    }

    pub(crate) fn of(&self, id: i64) -> Result<Arc<Shape>, Stop> {
        self.shapes.get(&id).cloned().ok_or_else(|| Stop::broken(format!("type {id} was never defined")))
    }

    /// Takes a definition of so many bytes.
    pub(crate) fn define(&mut self, id: i64, shape: Shape, size: usize, limits: &Limits) -> Result<(), Stop> {
        if id < FIRST_OWN {
            return Err(Stop::broken(format!("type {id} cannot be defined: it is one of gob's own")));
        }
        if self.shapes.contains_key(&id) {
            return Err(Stop::broken(format!("type {id} is defined a second time")));
        }
        if self.defined.len() >= limits.types || self.size + size > limits.definitions {
            return Err(Stop::broken(format!(
                "more types are defined than the {} types and {} bytes that are taken",
                limits.types, limits.definitions
            )));
        }
        self.shapes.insert(id, Arc::new(shape));
        self.defined.push((id, size));
        self.size += size;
        Ok(())
    }

    /// How many definitions there are.
    pub(crate) fn mark(&self) -> usize {
        self.defined.len()
    }

    /// Forgets the definitions that came after a mark.
    pub(crate) fn back_to(&mut self, mark: usize) {
        for (id, size) in self.defined.drain(mark.min(self.defined.len())..) {
            self.shapes.remove(&id);
            self.size -= size;
        }
    }
}
