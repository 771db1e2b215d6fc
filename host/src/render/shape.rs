//! Items that differ only in values which a template puts into its text as they are.
//!
//! Thousands of sessions of a mesh have the same stanza but for a name and an address. A field of an item that the body of a
//! collection only writes out, and asks nothing about, is a hole: the body is rendered once for all items that are equal in their
//! other fields, with marks in the place of the holes, and for each item the holes are filled with what the guard lets through.
//! Where anything is out of the ordinary, the item is rendered by itself, which gives the same text or the error.

use std::collections::BTreeSet;
use std::sync::Arc;

use handlebars::template::{HelperTemplate, Parameter, TemplateElement};
use handlebars::{Context, Handlebars, Path, RenderContext, Renderable, Template};
use serde_json::Value;

use super::Format;
use super::apart::Apart;
use super::guard::{Sink, guard};
use crate::engine::Item;

/// Stands around the number of a hole. No template and no value has it.
const MARK: char = '\u{2}';

/// The most shapes that are kept for a collection; more mean that its items are not alike.
const MAX_SHAPES: usize = 16;

/// What a name in a template is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// A field.
    Field,
    /// A block or function whose value depends on its arguments alone.
    Pure,
    /// A function that must be called for each item.
    Impure,
}

/// The fields that the body of a collection only writes out, sorted; none if that cannot be told.
pub(super) fn holes(body: &Template, word: &dyn Fn(&str) -> Word) -> Vec<String> {
    let mut uses = Uses { written: BTreeSet::new(), asked: BTreeSet::new(), opaque: false, word };
    uses.template(body, 0);
    if uses.opaque { Vec::new() } else { uses.written.difference(&uses.asked).cloned().collect() }
}

/// What a body does with the fields of its item.
struct Uses<'a> {
    written: BTreeSet<String>,
    asked: BTreeSet<String>,
    /// It does something that is not understood here.
    opaque: bool,
    word: &'a dyn Fn(&str) -> Word,
}

/// Where a path leads.
enum Target<'a> {
    /// To a field of the item, or into it.
    Field {
        name: &'a str,
        whole: bool,
    },
    /// Into what a block is about.
    Inner,
    Unknown,
}

/// Where a path leads that stands inside so many blocks which change the context.
fn target(path: &str, depth: usize) -> Target<'_> {
    let mut rest = path;
    let mut ups = 0;
    while let Some(upper) = rest.strip_prefix("../") {
        rest = upper;
        ups += 1;
    }
    if ups < depth {
        // There are other ways to write the way up, as `./../ip`.
        return if rest.contains("..") { Target::Unknown } else { Target::Inner };
    }
    let rest = rest.strip_prefix("this.").unwrap_or(rest);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let name = &rest[..end];
    match (ups == depth, name) {
        (false, _) | (true, "" | "this") => Target::Unknown,
        (true, name) => Target::Field { name, whole: end == rest.len() },
    }
}

impl Uses<'_> {
    fn template(&mut self, template: &Template, depth: usize) {
        for element in &template.elements {
            match element {
                TemplateElement::RawString(_) | TemplateElement::Comment(_) => {}
                TemplateElement::Expression(helper) => self.expression(helper, depth),
                TemplateElement::HelperBlock(helper) => self.block(helper, depth),
                _ => self.opaque = true,
            }
        }
    }

    fn expression(&mut self, helper: &HelperTemplate, depth: usize) {
        let name = helper.name.as_name().unwrap_or_default();
        if (self.word)(name) != Word::Field || !helper.params.is_empty() || !helper.hash.is_empty() {
            return self.call(helper, depth);
        }
        match &helper.name {
            Parameter::Name(path) | Parameter::Path(Path::Relative((_, path))) => match target(path, depth) {
                Target::Field { name, whole: true } => {
                    self.written.insert(name.to_owned());
                }
                Target::Field { name, whole: false } => {
                    self.asked.insert(name.to_owned());
                }
                Target::Inner => {}
                Target::Unknown => self.opaque = true,
            },
            _ => self.opaque = true,
        }
    }

    fn call(&mut self, helper: &HelperTemplate, depth: usize) {
        self.opaque |= helper.name.as_name().is_none_or(|name| (self.word)(name) != Word::Pure);
        helper.params.iter().chain(helper.hash.values()).for_each(|value| self.ask(value, depth));
    }

    fn block(&mut self, helper: &HelperTemplate, depth: usize) {
        self.call(helper, depth);
        self.opaque |= helper.block_param.is_some();
        let scopes = usize::from(matches!(helper.name.as_name(), Some("each" | "with")));
        if let Some(body) = &helper.template {
            self.template(body, depth + scopes);
        }
        if let Some(inverse) = &helper.inverse {
            self.template(inverse, depth);
        }
    }

    fn ask(&mut self, value: &Parameter, depth: usize) {
        match value {
            Parameter::Literal(_) => {}
            Parameter::Name(path) | Parameter::Path(Path::Relative((_, path))) => match target(path, depth) {
                Target::Field { name, .. } => {
                    self.asked.insert(name.to_owned());
                }
                Target::Inner => {}
                Target::Unknown => self.opaque = true,
            },
            Parameter::Subexpression(inner) => match inner.as_element() {
                TemplateElement::Expression(helper) => self.call(helper, depth),
                _ => self.opaque = true,
            },
            _ => self.opaque = true,
        }
    }
}

/// Puts the marks of holes through, and all else by way of the guard.
fn guard_with_holes(value: &str, format: Format) -> String {
    let number = value.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(MARK));
    let is_mark = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    if is_mark { value.to_owned() } else { guard(format)(value) }
}

/// Renders the items of one collection.
pub(super) struct Shapes {
    holes: Vec<String>,
    format: Format,
    /// The functions and partials of the template, and a guard that knows the marks.
    registry: Handlebars<'static>,
}

/// The shapes that items had.
#[derive(Default)]
pub(super) struct Known {
    /// The newest is the last.
    shapes: Vec<Arc<Shape>>,
    /// The item before, taken apart; kept for its memory alone.
    apart: Apart,
}

impl Clone for Known {
    fn clone(&self) -> Self {
        Self { shapes: self.shapes.clone(), apart: Apart::default() }
    }
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Fields may be passwords.
        f.debug_struct("Known").field("shapes", &self.shapes.len()).finish_non_exhaustive()
    }
}

/// The text of items that are equal but for their holes.
struct Shape {
    /// All fields that are no holes, as [`Apart`] has them.
    rest: Box<[u8]>,
    parts: Vec<Part>,
}

enum Part {
    Text(Box<str>),
    Hole(usize),
}

impl Shapes {
    /// Shapes of a body with these holes; none where there is no hole.
    pub(super) fn new(holes: Vec<String>, format: Format, registry: &Handlebars<'static>) -> Option<Self> {
        if holes.is_empty() {
            return None;
        }
        let mut registry = registry.clone();
        registry.register_escape_fn(move |value| guard_with_holes(value, format));
        Some(Self { holes, format, registry })
    }

    /// Writes the text of an item, if it is one that fills a shape, and tells whether that was known; else it must be rendered by
    /// itself.
    pub(super) fn render(
        &self,
        body: &Template,
        item: &Item,
        known: &mut Known,
        sink: &mut Sink,
    ) -> Option<bool> {
        let Known { shapes, apart } = known;
        if !apart.take(item, &self.holes, &|value| fill(value, self.format)) {
            return None;
        }
        let found = shapes.iter().rev().find(|shape| *shape.rest == *apart.rest);
        let was_known = found.is_some();
        let shape = match found {
            Some(shape) => shape.clone(),
            None => {
                let rest = apart.rest.as_slice().into();
                let shape = Arc::new(Shape { rest, parts: self.parts(body, item)? });
                if shapes.len() == MAX_SHAPES {
                    shapes.remove(0);
                }
                shapes.push(shape.clone());
                shape
            }
        };
        shape.parts.iter().for_each(|part| sink.push(part.of(&apart.filling)));
        Some(was_known)
    }

    /// The pieces of an item's text, between them the holes; none if it cannot be rendered with marks in their place.
    fn parts(&self, body: &Template, item: &Item) -> Option<Vec<Part>> {
        let mut context = Context::wraps(item).ok()?;
        let fields = context.data_mut().as_object_mut()?;
        for (number, hole) in self.holes.iter().enumerate() {
            fields.insert(hole.clone(), format!("{MARK}{number}{MARK}").into());
        }
        let mut sink = Sink::default();
        body.render(&self.registry, &context, &mut RenderContext::new(None), &mut sink).ok()?;
        let mut parts = Vec::new();
        for (nth, piece) in sink.text().split(MARK).enumerate() {
            if nth % 2 == 1 {
                parts.push(Part::Hole(piece.parse().ok().filter(|hole| *hole < self.holes.len())?));
            } else if !piece.is_empty() {
                parts.push(Part::Text(piece.into()));
            }
        }
        Some(parts)
    }
}

/// What the guard lets through for a hole; none if that is not plain text.
fn fill(value: &Value, format: Format) -> Option<String> {
    let text = match value {
        Value::String(text) => guard(format)(text),
        Value::Number(number) => guard(format)(&number.to_string()),
        Value::Bool(yes) => guard(format)(&yes.to_string()),
        _ => return None,
    };
    (!text.is_empty() && !text.contains(char::is_control)).then_some(text)
}

impl Part {
    fn of<'a>(&'a self, filling: &'a [String]) -> &'a str {
        match self {
            Part::Text(text) => text,
            Part::Hole(hole) => &filling[*hole],
        }
    }
}
