//! The functions of templates. Each gets its arguments as JSON values and returns one.

mod keys;
mod net;
mod plugin;
mod text;
mod typed;
mod value;

use std::sync::Arc;

use handlebars::{
    Context, Handlebars, Helper, HelperDef, RenderContext, RenderError as HandlebarsError, RenderErrorReason,
    ScopedJson,
};
use serde_json::Value;

pub(super) use keys::{Reader, Scope};
pub(super) use plugin::{Calls, register as register_plugins};
pub use plugin::{PluginFunction, SharedCalls, plugin_functions};

use crate::bird::Literal;

/// A function of templates.
#[derive(Debug, Clone, Copy)]
pub struct FunctionInfo {
    /// The name.
    pub name: &'static str,
    /// The parameters as documentation shows them.
    pub parameters: &'static str,
    /// Whether it reads the view; such a function cannot stand in the body of `each_item`.
    pub reads: bool,
    min: usize,
    max: usize,
    /// Whether arguments may be typed values. Other functions refuse them, for a part of one is not one.
    typed: bool,
    run: fn(&[&Value], &Reader) -> Result<Value, String>,
}

macro_rules! functions {
    ($($name:literal $parameters:literal $kind:ident $min:literal $max:expr => $run:path;)*) => {
        /// All functions that this program adds to Handlebars' own.
        pub const FUNCTIONS: &[FunctionInfo] = &[$(FunctionInfo {
            name: $name,
            parameters: $parameters,
            reads: functions!(@reads $kind),
            min: $min,
            max: $max,
            typed: functions!(@typed $kind),
            run: $run,
        }),*];
    };
    (@reads view) => { true };
    (@reads $other:ident) => { false };
    (@typed any) => { true };
    (@typed $other:ident) => { false };
}

const ANY: usize = usize::MAX;

functions! {
    "exists" "key" view 1 1 => keys::exists;
    "get" "key [default]" view 1 2 => keys::get;
    "getv" "key [default]" view 1 2 => keys::get;
    "list" "path" view 1 1 => keys::list;
    "gets" "path" view 1 1 => keys::list;
    "ls" "path" view 1 1 => keys::ls;
    "lsdir" "path" view 1 1 => keys::lsdir;
    "base" "path" plain 1 1 => text::base;
    "dir" "path" plain 1 1 => text::dir;
    "json" "text" plain 1 1 => value::json;
    "to_json" "value" plain 1 1 => value::to_json;
    "default" "value fallback" any 2 2 => value::default;
    "is_set" "value" any 1 1 => value::is_set;
    "sort" "list" plain 1 1 => value::sort;
    "add" "a b" plain 2 2 => value::add;
    "sub" "a b" plain 2 2 => value::sub;
    "concat" "text…" plain 1 ANY => text::concat;
    "split" "text separator" plain 2 2 => text::split;
    "join" "list separator" plain 2 2 => text::join;
    "replace" "text from to" plain 3 3 => text::replace;
    "upper" "text" plain 1 1 => text::upper;
    "lower" "text" plain 1 1 => text::lower;
    "contains" "text-or-list part" plain 2 2 => text::contains;
    "underscore" "text" plain 1 1 => text::underscore;
    "cidr_network" "prefix" plain 1 1 => net::cidr_network;
    "cidr_len" "prefix" plain 1 1 => net::cidr_len;
    "cidr_contains" "prefix address-or-prefix" plain 2 2 => net::cidr_contains;
    "ip_family" "address-or-prefix" plain 1 1 => net::ip_family;
    "host_prefix" "address" plain 1 1 => net::host_prefix;
    "community" "text" plain 1 1 => typed::community;
    "quote" "text" plain 1 1 => typed::quote;
    "symbol" "text" plain 1 1 => typed::symbol;
    "number" "text" plain 1 1 => typed::number;
}

/// The function of a name.
pub(super) fn find(name: &str) -> Option<&'static FunctionInfo> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

pub(super) fn register(registry: &mut Handlebars<'static>, reader: &Arc<Reader>) {
    for function in FUNCTIONS {
        registry.register_helper(function.name, Box::new(Call { function, reader: reader.clone() }));
    }
}

struct Call {
    function: &'static FunctionInfo,
    reader: Arc<Reader>,
}

impl Call {
    fn run(&self, h: &Helper<'_>) -> Result<Value, String> {
        let FunctionInfo { parameters, min, max, .. } = *self.function;
        let count = h.params().len();
        if count < min || (max != ANY && count > max) || !h.hash().is_empty() {
            return Err(format!("takes: {parameters}"));
        }
        (self.function.run)(&arguments_of(h, self.function.typed)?, &self.reader)
    }
}

/// The arguments of a call; `typed` says whether they may be missing, or typed values.
fn arguments_of<'a>(h: &'a Helper<'_>, typed: bool) -> Result<Vec<&'a Value>, String> {
    let mut arguments = Vec::with_capacity(h.params().len());
    for (index, param) in h.params().iter().enumerate() {
        if param.is_value_missing() && !typed {
            let name = param.relative_path().map_or("", String::as_str);
            return Err(format!("argument {} (`{name}`) is missing", index + 1));
        }
        if !typed && has_control(param.value()) {
            return Err(format!("argument {} is a typed value or has control characters", index + 1));
        }
        arguments.push(param.value());
    }
    Ok(arguments)
}

impl HelperDef for Call {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, HandlebarsError> {
        match self.run(h) {
            Ok(value) => Ok(ScopedJson::Derived(value)),
            Err(reason) => Err(RenderErrorReason::Other(format!("{}: {reason}", self.function.name)).into()),
        }
    }
}

/// Whether a text has a mark of a typed value, or another character that no value of a file has.
fn is_odd(text: &str) -> bool {
    text.contains(|c: char| c == Literal::MARK || (c.is_control() && !matches!(c, '\n' | '\t' | '\r')))
}

/// Whether any text in a value is odd.
fn has_control(value: &Value) -> bool {
    match value {
        Value::String(text) => is_odd(text),
        Value::Array(values) => values.iter().any(has_control),
        Value::Object(fields) => fields.iter().any(|(name, value)| is_odd(name) || has_control(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A text argument: a text, or a number or boolean as text.
fn text_of(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Null => Err("an argument is null".to_owned()),
        Value::Array(_) | Value::Object(_) => {
            Err("an argument is a list or an object, not a text".to_owned())
        }
    }
}

/// An array argument.
fn list_of(value: &Value) -> Result<&[Value], String> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| "the argument is not a list".to_owned())
}
