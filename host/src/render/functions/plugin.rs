//! Functions that plugins bring.

use std::sync::{Arc, Mutex, PoisonError};

use handlebars::{
    Context, Handlebars, Helper, HelperDef, RenderContext, RenderError as HandlebarsError, RenderErrorReason,
    ScopedJson,
};

use serde_json::Value;

use super::{Reader, arguments_of, find};
use crate::plugin::{LoadError, PluginSet};
use crate::policy::{FunctionCalls, Reads};

/// Calls that templates can make while a rendering goes on.
pub type SharedCalls = Arc<Mutex<dyn FunctionCalls>>;

/// A function that a plugin brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFunction {
    /// The name.
    pub name: String,
    /// The parameters as documentation shows them.
    pub parameters: String,
    /// The place of the plugin in its set.
    plugin: usize,
    /// The place of the function in its plugin.
    index: usize,
}

/// The functions of a set of plugins.
///
/// # Errors
/// A function has a name that templates already use.
pub fn plugin_functions(set: &PluginSet) -> Result<Vec<PluginFunction>, LoadError> {
    let mut functions: Vec<PluginFunction> = Vec::new();
    for (plugin, function) in set.functions() {
        let name = &function.name;
        if find(name).is_some() || super::super::compile::is_reserved(name) {
            let reason = format!("has a function `{name}`, a name that templates already have a meaning for");
            return Err(LoadError::new(&set.facts()[plugin].name, reason));
        }
        let index = functions.iter().filter(|other| other.plugin == plugin).count();
        functions.push(PluginFunction {
            name: name.clone(),
            parameters: function.signature(),
            plugin,
            index,
        });
    }
    Ok(functions)
}

/// Where the functions of a template find the plugins, and what their calls read.
#[derive(Default)]
pub(crate) struct Calls {
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    calls: Option<SharedCalls>,
    reads: Reads,
}

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Calls")
    }
}

impl Calls {
    /// Sets where calls go, until they are to go nowhere again.
    pub(crate) fn lend(&self, calls: Option<SharedCalls>) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now = Now { calls, reads: Reads::default() };
    }

    /// What was read since the last time that this was asked.
    pub(crate) fn take_reads(&self) -> Reads {
        std::mem::take(&mut self.now.lock().unwrap_or_else(PoisonError::into_inner).reads)
    }
}

/// Registers the functions.
pub(crate) fn register(
    registry: &mut Handlebars<'static>,
    functions: &[PluginFunction],
    calls: &Arc<Calls>,
    reader: &Arc<Reader>,
) {
    for function in functions {
        let call = PluginCall { function: function.clone(), calls: calls.clone(), reader: reader.clone() };
        registry.register_helper(&function.name, Box::new(call));
    }
}

struct PluginCall {
    function: PluginFunction,
    calls: Arc<Calls>,
    reader: Arc<Reader>,
}

impl HelperDef for PluginCall {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        h: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, HandlebarsError> {
        let PluginFunction { name, parameters, plugin, index } = &self.function;
        let fail = |reason: String| RenderErrorReason::Other(reason);
        if !h.hash().is_empty() {
            return Err(fail(format!("{name}: takes: {parameters}")).into());
        }
        let arguments = arguments_of(h, false).map_err(|reason| fail(format!("{name}: {reason}")))?;
        if let Some(at) = arguments.iter().position(|argument| holds_password(argument, &self.reader)) {
            return Err(fail(format!(
                "{name}: argument {} holds a password, and no plugin sees one",
                at + 1
            ))
            .into());
        }
        let mut now = self.calls.now.lock().unwrap_or_else(PoisonError::into_inner);
        let Now { calls: Some(calls), reads } = &mut *now else {
            return Err(fail(format!("{name}: its plugin is not there in this rendering")).into());
        };
        let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = calls.call(*plugin, *index, &arguments).map_err(|error| fail(error.to_string()))?;
        if !asked.reads.is_empty() {
            reads.extend(asked.reads);
        }
        Ok(ScopedJson::Derived(asked.answer))
    }
}

/// Whether any text in a value holds a password.
fn holds_password(value: &Value, reader: &Reader) -> bool {
    match value {
        Value::String(text) => reader.holds_password(text),
        Value::Array(values) => values.iter().any(|value| holds_password(value, reader)),
        Value::Object(fields) => fields.values().any(|value| holds_password(value, reader)),
        Value::Number(_) => reader.holds_password(&value.to_string()),
        Value::Null | Value::Bool(_) => false,
    }
}
