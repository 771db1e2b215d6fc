//! From a source to a program: parsed, checked, with its collections taken out.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use handlebars::template::{DecoratorTemplate, HelperTemplate, Parameter, TemplateElement};
use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, Output, Path, RenderContext, RenderErrorReason,
    Template,
};

use super::Format;
use super::functions::{self, Calls, PluginFunction, Reader, Scope};
use super::guard::{guard, slot_mark};
use super::shape::{self, Shapes, Word};
use super::source::{self, Sources};
use crate::engine::CollectionId;

/// The block helper of collections.
const EACH_ITEM: &str = "each_item";

/// The block helpers that Handlebars brings and that templates may use.
const BLOCKS: [&str; 4] = ["if", "unless", "each", "with"];

/// The functions that Handlebars brings and that templates may use.
const PLAIN: [&str; 11] = ["lookup", "len", "eq", "ne", "gt", "gte", "lt", "lte", "and", "or", "not"];

/// A compiled template.
pub(super) struct Program {
    pub(super) registry: Handlebars<'static>,
    pub(super) main: String,
    /// The bodies of the collections, in the order of their slots.
    pub(super) fragments: Vec<Fragment>,
    /// What the functions that read the view read from.
    pub(super) reader: Arc<Reader>,
    /// Where the functions of plugins find them.
    pub(super) calls: Arc<Calls>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("main", &self.main).finish_non_exhaustive()
    }
}

/// The body of a collection: the template of each item.
pub(super) struct Fragment {
    pub(super) collection: CollectionId,
    pub(super) template: Template,
    /// How items that are alike are rendered, if some can be.
    pub(super) shapes: Option<Shapes>,
}

/// Compiles a source and all partials that it names.
pub(super) fn compile(
    sources: &Sources,
    src: &str,
    has_model: bool,
    format: Format,
    scope: Scope,
    plugins: &[PluginFunction],
) -> Result<Program, String> {
    let reader = Arc::new(Reader::new(scope));
    let calls = Arc::new(Calls::default());
    let mut registry = Handlebars::new();
    registry.set_strict_mode(true);
    registry.register_escape_fn(guard(format));
    registry.unregister_helper("log");
    registry.unregister_helper("raw");
    functions::register(&mut registry, &reader);
    functions::register_plugins(&mut registry, plugins, &calls, &reader);
    registry.register_helper(EACH_ITEM, Box::new(EachItem));

    let mut compiler = Compiler {
        sources,
        registry,
        plugins,
        has_model,
        fragments: Vec::new(),
        partials: BTreeMap::new(),
        open: Vec::new(),
    };
    let text = sources.read(src)?;
    compiler.add(src, &text)?;
    let Compiler { registry, mut fragments, .. } = compiler;
    let word = |name: &str| match name {
        _ if plugins.iter().any(|function| function.name == name) => Word::Impure,
        _ if is_reserved(name) && name != "this" || functions::find(name).is_some() => Word::Pure,
        _ => Word::Field,
    };
    for fragment in &mut fragments {
        fragment.shapes = Shapes::new(shape::holes(&fragment.template, &word), format, &registry);
    }
    Ok(Program { registry, main: src.to_owned(), fragments, reader, calls })
}

/// Writes the mark of a slot, whose number the compiler has put in the place of the parameters.
struct EachItem;

impl HelperDef for EachItem {
    fn call<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let slot =
            h.param(0).and_then(|slot| slot.value().as_u64()).and_then(|slot| usize::try_from(slot).ok());
        let slot =
            slot.ok_or_else(|| RenderErrorReason::Other("each_item cannot be called here".to_owned()))?;
        Ok(out.write(&slot_mark(slot))?)
    }
}

/// What a template does that the body of a collection must not.
#[derive(Debug, Clone, Default)]
struct Traits {
    /// The first thing that depends on more than the item.
    outside: Option<String>,
}

struct Compiler<'a> {
    sources: &'a Sources,
    registry: Handlebars<'static>,
    plugins: &'a [PluginFunction],
    has_model: bool,
    fragments: Vec<Fragment>,
    partials: BTreeMap<String, Traits>,
    /// The templates that are being compiled, outermost first.
    open: Vec<String>,
}

/// Where the inspection is.
struct At<'a> {
    template: &'a str,
    line: usize,
    /// The number of blocks around that change the context, up to the template or the body of a collection.
    depth: usize,
    /// Whether this is inside the body of a collection.
    in_item: bool,
    plugins: &'a [PluginFunction],
}

impl At<'_> {
    /// Whether a name is that of a block or function.
    fn knows(&self, name: &str) -> bool {
        BLOCKS.contains(&name)
            || PLAIN.contains(&name)
            || name == EACH_ITEM
            || functions::find(name).is_some()
            || self.has_plugin_function(name)
    }

    fn has_plugin_function(&self, name: &str) -> bool {
        self.plugins.iter().any(|function| function.name == name)
    }

    fn fail<T>(&self, reason: impl fmt::Display) -> Result<T, String> {
        Err(format!("`{}`, line {}: {reason}", self.template, self.line))
    }
}

impl Compiler<'_> {
    /// Parses, inspects and registers a source.
    fn add(&mut self, name: &str, text: &str) -> Result<Traits, String> {
        source::check(name, text)?;
        let mut template = Template::compile_with_name(text, name.to_owned()).map_err(|error| {
            let line = error.pos().map_or_else(String::new, |(line, _)| format!(", line {line}"));
            format!("`{name}`{line}: {}", error.reason())
        })?;
        self.open.push(name.to_owned());
        let mut traits = Traits::default();
        self.template(&mut template, name, 0, false, &mut traits)?;
        self.open.pop();
        self.registry.register_template(name, template);
        Ok(traits)
    }

    fn template(
        &mut self,
        template: &mut Template,
        name: &str,
        depth: usize,
        in_item: bool,
        traits: &mut Traits,
    ) -> Result<(), String> {
        let lines: Vec<usize> = template.mapping.iter().map(|mapping| mapping.0).collect();
        for (index, element) in template.elements.iter_mut().enumerate() {
            // The parts of an `else if` chain have no lines of their own.
            let line = lines.get(index).or(lines.first()).copied().unwrap_or(1);
            let at = At { template: name, line, depth, in_item, plugins: self.plugins };
            match element {
                TemplateElement::RawString(_) | TemplateElement::Comment(_) => {}
                TemplateElement::Expression(helper) => self.expression(helper, &at, traits)?,
                TemplateElement::HelperBlock(helper) => self.block(helper, &at, traits)?,
                TemplateElement::PartialExpression(partial) => self.partial(partial, &at, traits)?,
                TemplateElement::HtmlExpression(_) => {
                    return at.fail(
                        "`{{{…}}}` and `{{&…}}` go round the check of values and are refused; write `{{…}}`",
                    );
                }
                TemplateElement::PartialBlock(_) => {
                    return at.fail("`{{#> …}}` is not supported; write `{{> name}}`");
                }
                TemplateElement::DecoratorExpression(_) | TemplateElement::DecoratorBlock(_) => {
                    return at.fail("`{{* …}}` is not supported; put a partial into a file of its own");
                }
                _ => return at.fail("an unknown kind of tag"),
            }
        }
        Ok(())
    }

    fn expression(
        &mut self,
        helper: &HelperTemplate,
        at: &At<'_>,
        traits: &mut Traits,
    ) -> Result<(), String> {
        let name_only = helper.params.is_empty() && helper.hash.is_empty();
        match helper.name.as_name() {
            Some(name) if name_only && !at.knows(name) => parameter(&helper.name, at, traits),
            Some(name) => call(name, helper, at, traits),
            None => parameter(&helper.name, at, traits),
        }
    }

    fn block(&mut self, helper: &mut HelperTemplate, at: &At<'_>, traits: &mut Traits) -> Result<(), String> {
        let name = helper.name.as_name().unwrap_or_default().to_owned();
        if name == EACH_ITEM {
            return self.each_item(helper, at, traits);
        }
        let is_plain = PLAIN.contains(&name.as_str()) && name != "lookup" && name != "len";
        if !BLOCKS.contains(&name.as_str()) && !is_plain {
            return at.fail(format_args!("there is no block `{{{{#{name}}}}}`"));
        }
        for parameter_ in helper.params.iter().chain(helper.hash.values()) {
            parameter(parameter_, at, traits)?;
        }
        let scopes = usize::from(name == "each" || name == "with");
        if let Some(body) = &mut helper.template {
            inherit_line(body, at.line);
            self.template(body, at.template, at.depth + scopes, at.in_item, traits)?;
        }
        if let Some(inverse) = &mut helper.inverse {
            inherit_line(inverse, at.line);
            self.template(inverse, at.template, at.depth, at.in_item, traits)?;
        }
        Ok(())
    }

    /// Takes the body of a collection out and leaves the number of its slot.
    fn each_item(
        &mut self,
        helper: &mut HelperTemplate,
        at: &At<'_>,
        traits: &mut Traits,
    ) -> Result<(), String> {
        if at.in_item {
            return at.fail("`each_item` cannot stand inside `each_item`");
        }
        if !self.has_model {
            return at.fail("`each_item` needs a resource with a `family`");
        }
        let collection = match &helper.params[..] {
            [Parameter::Path(Path::Relative((_, name)))] if helper.hash.is_empty() => {
                CollectionId::ALL.into_iter().find(|id| id.name() == name.as_str())
            }
            _ => None,
        };
        let Some(collection) = collection else {
            let names: Vec<&str> = CollectionId::ALL.iter().map(|id| id.name()).collect();
            return at.fail(format_args!("`each_item` takes one of the collections: {}", names.join(", ")));
        };
        if helper.inverse.is_some() || helper.block_param.is_some() {
            return at.fail("`each_item` has neither `else` nor `as |…|`; ask `has.<collection>`");
        }
        let mut body = helper.template.take().unwrap_or_default();
        body.name = Some(at.template.to_owned());
        let mut inner = Traits::default();
        self.template(&mut body, at.template, 0, true, &mut inner)?;
        if let Some(reason) = inner.outside {
            return Err(reason);
        }
        traits
            .outside
            .get_or_insert_with(|| format!("`{}`, line {}: `each_item` in an item", at.template, at.line));
        helper.params = vec![Parameter::Literal(self.fragments.len().into())];
        helper.template = Some(Template::new());
        self.fragments.push(Fragment { collection, template: body, shapes: None });
        Ok(())
    }

    fn partial(
        &mut self,
        partial: &DecoratorTemplate,
        at: &At<'_>,
        traits: &mut Traits,
    ) -> Result<(), String> {
        let Some(name) = partial.name.as_name().map(|name| name.trim_matches(['"', '\'']).to_owned()) else {
            return at.fail("the name of a partial must be written out");
        };
        if name.starts_with('@') {
            return at.fail("`@partial-block` is not supported");
        }
        if self.open.contains(&name) || self.open.iter().any(|open| open.strip_suffix(".hbs") == Some(&name))
        {
            return at.fail(format_args!("the partial `{name}` includes itself"));
        }
        for value in partial.params.iter().chain(partial.hash.values()) {
            parameter(value, at, traits)?;
        }
        let inner = match self.partials.get(&name) {
            Some(known) => known.clone(),
            None => {
                let text = self.sources.read_partial(&name).or_else(|reason| at.fail(reason))?;
                let inner = self.add(&name, &text)?;
                self.partials.insert(name, inner.clone());
                inner
            }
        };
        traits.outside = traits.outside.take().or(inner.outside);
        Ok(())
    }
}

/// Gives the only element of an `else if` chain, which has no line, the line of its block.
fn inherit_line(template: &mut Template, line: usize) {
    if template.mapping.is_empty() {
        let mapping = Template::compile("x").map(|parsed| parsed.mapping).unwrap_or_default();
        for _ in &template.elements {
            template.mapping.extend(mapping.iter().cloned().map(|mut at| {
                at.0 = line;
                at
            }));
        }
    }
}

/// Whether Handlebars or this compiler gives a name a meaning.
pub(super) fn is_reserved(name: &str) -> bool {
    BLOCKS.contains(&name) || PLAIN.contains(&name) || name == EACH_ITEM || name == "else" || name == "this"
}

/// Checks a call of a function.
fn call(name: &str, helper: &HelperTemplate, at: &At<'_>, traits: &mut Traits) -> Result<(), String> {
    if BLOCKS.contains(&name) || name == EACH_ITEM {
        return at.fail(format_args!("`{name}` is a block: `{{{{#{name} …}}}}…{{{{/{name}}}}}`"));
    }
    match functions::find(name) {
        Some(function) if function.reads => {
            traits.outside.get_or_insert_with(|| {
                format!(
                    "`{}`, line {}: `{name}` reads the view, which the body of `each_item` cannot: it is rendered \
                     again only when its item changes",
                    at.template, at.line
                )
            });
        }
        Some(_) => {}
        None if PLAIN.contains(&name) || at.has_plugin_function(name) => {}
        None => return at.fail(format_args!("there is no function `{name}`")),
    }
    for value in helper.params.iter().chain(helper.hash.values()) {
        parameter(value, at, traits)?;
    }
    Ok(())
}

fn parameter(value: &Parameter, at: &At<'_>, traits: &mut Traits) -> Result<(), String> {
    match value {
        Parameter::Name(_) => Ok(()),
        Parameter::Literal(literal) => match literal.as_str() {
            Some(text) if text.contains(char::is_control) => at.fail("a control character in a text"),
            _ => Ok(()),
        },
        Parameter::Subexpression(inner) => match inner.as_element() {
            TemplateElement::Expression(helper) => match helper.name.as_name() {
                Some(name) => call(name, helper, at, traits),
                None => at.fail("the name of a function must be written out"),
            },
            _ => at.fail("not a call of a function"),
        },
        Parameter::Path(path) => {
            let (Path::Relative((_, raw)) | Path::Local((_, _, raw))) = path;
            let ups = raw.matches("../").count() + usize::from(raw.ends_with(".."));
            if raw.contains("@root") || ups > at.depth {
                traits.outside.get_or_insert_with(|| {
                    format!(
                        "`{}`, line {}: `{raw}` leads out of the item; the body of `each_item` sees its item and \
                         nothing else",
                        at.template, at.line
                    )
                });
            }
            Ok(())
        }
        _ => at.fail("an unknown kind of argument"),
    }
}
