//! The plugins during one rendering: a store each, made when it is first needed.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use wasmtime::{Store, Trap};

use super::contract::{filter, functions, lifecycle, peers};
use super::function;
use super::guest::{LogLine, State};
use super::set::{Loaded, PluginSet};
use crate::engine::View;
use crate::policy::{Asked, CallError, Facts, FunctionCalls, OnError, Plugins, Reads};
use crate::types::tame;

/// The longest text of an error that is kept.
const MAX_CAUSE: usize = 4096;

/// The call that comes before all others.
const CONFIGURE: &str = "lifecycle.configure";

/// The most failures that are told of functions, of those that may be skipped and of the others.
const MAX_TOLD: usize = 16;

/// What a plugin used in a rendering.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Calls of its exports.
    pub calls: u64,
    /// Fuel, that for the host's work for it included.
    pub fuel: u64,
    /// The most memory that there was, in bytes.
    pub memory: usize,
    /// What it logged.
    pub logs: Vec<LogLine>,
    /// Lines that were dropped because there were too many.
    pub dropped_lines: u64,
}

/// The plugins during one rendering.
pub struct Session {
    set: PluginSet,
    view: View,
    revision: u64,
    now: Instant,
    guests: Vec<Guest>,
    skipped: Vec<CallError>,
    missed: Vec<CallError>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("set", &self.set)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

/// A plugin in a rendering.
#[derive(Default)]
struct Guest {
    live: Option<Live>,
    /// Fuel of all calls so far, and what items added to the rendering's share.
    spent: u64,
    added: u64,
    usage: Usage,
}

/// An instance that has been configured.
struct Live {
    store: Store<State>,
    exports: Exports,
    /// What `configure` read: every answer depends on it.
    configured_by: Reads,
    /// Whether it has given an answer since it was made.
    answered: bool,
}

/// The exports of an instance.
struct Exports {
    lifecycle: lifecycle::Guest,
    peers: Option<peers::Guest>,
    filter: Option<filter::Guest>,
    functions: Option<functions::Guest>,
}

/// How a call ended that gave no answer.
enum Failure {
    /// The guest said so.
    Refused(String),
    /// The guest is broken, and its instance cannot be used any more.
    Trapped(String),
}

impl Session {
    pub(super) fn new(set: PluginSet, view: View, revision: u64, now: Instant) -> Self {
        let guests = set.plugins.iter().map(|_| Guest::default()).collect();
        Self { set, view, revision, now, guests, skipped: Vec::new(), missed: Vec::new() }
    }

    /// The set.
    pub fn set(&self) -> &PluginSet {
        &self.set
    }

    /// What each plugin used so far, in their order.
    pub fn usage(&self) -> impl Iterator<Item = &Usage> {
        self.guests.iter().map(|guest| &guest.usage)
    }

    /// Failures of functions whose plugins may be skipped: their value was nothing.
    pub fn skipped(&self) -> &[CallError] {
        &self.skipped
    }

    /// Failures of functions that whoever called them had to do without, and so without what they were called for.
    pub fn missed(&self) -> &[CallError] {
        &self.missed
    }

    /// Calls a function of a plugin for a template.
    ///
    /// # Errors
    /// The arguments do not fit, the function refused, or the plugin failed; not the last two when the plugin may be
    /// skipped.
    pub fn call_function(
        &mut self,
        plugin: usize,
        index: usize,
        values: &[&Value],
    ) -> Result<Asked<Value>, CallError> {
        const CALL: &str = "functions.call";
        let fail = |cause: String| self.error(plugin, CALL, cause);
        let functions = self.set.plugins[plugin].functions();
        let (function, number) = match (functions.get(index), u32::try_from(index)) {
            (Some(function), Ok(number)) => (function, number),
            _ => return Err(fail("there is no such function".to_owned())),
        };
        let arguments = function::arguments(function, values).map_err(fail)?;
        let asked = self.call(plugin, CALL, 0, |store, exports| match &exports.functions {
            Some(functions) => functions.call_call(store, number, &arguments),
            None => Ok(Err("functions is not exported".to_owned())),
        });
        let name = || &self.set.plugins[plugin].functions()[index].name;
        let called = match asked {
            Ok(Asked { answer, reads }) => match function::from_guest(answer) {
                Ok(answer) => Ok(Asked { answer, reads }),
                Err(reason) => Err(self.error(plugin, CALL, format!("`{}` {reason}", name()))),
            },
            Err(error) => Err(CallError { cause: format!("`{}`: {}", name(), error.cause), ..error }),
        };
        called.or_else(|error| {
            if self.set.facts[plugin].on_error != OnError::Skip {
                note(&mut self.missed, error.clone());
                return Err(error);
            }
            note(&mut self.skipped, error);
            // It is asked again in every rendering, for it could succeed.
            Ok(Asked { answer: Value::Null, reads: Reads { revision: true, ..Reads::default() } })
        })
    }

    /// Configures a plugin and asks for its functions.
    pub(super) fn introduce(&mut self, plugin: usize) -> Result<Vec<functions::Function>, CallError> {
        let asked = self.call(plugin, "functions.functions", 0, |store, exports| match &exports.functions {
            Some(functions) => functions.call_functions(store).map(Ok),
            None => Ok(Ok(Vec::new())),
        });
        Ok(asked?.answer)
    }

    /// Makes a plugin's instance and configures it, as its first call would.
    ///
    /// # Errors
    /// The plugin refused its settings, failed, or is in quarantine.
    pub fn prepare(&mut self, plugin: usize) -> Result<(), CallError> {
        self.ready(plugin, CONFIGURE)
    }

    /// Makes sure of an instance that is configured.
    fn ready(&mut self, plugin: usize, call: &'static str) -> Result<(), CallError> {
        // One that is alive is in no quarantine: a trap would have ended it.
        if self.guests[plugin].live.is_some() {
            return Ok(());
        }
        let loaded = self.set.plugins[plugin].clone();
        if let Some(cause) = loaded.health().quarantine(self.now) {
            return Err(self.error(plugin, call, cause));
        }
        let name = self.set.facts[plugin].name.clone();
        match self.start(plugin, &loaded, name) {
            Ok(live) => self.guests[plugin].live = Some(live),
            Err(failure) => return Err(self.failed(plugin, CONFIGURE, failure)),
        }
        Ok(())
    }

    fn error(&self, plugin: usize, call: &'static str, cause: String) -> CallError {
        CallError { plugin: self.set.facts[plugin].name.clone(), call, cause }
    }

    /// Calls an export with a bound on all that it can use.
    fn call<T>(
        &mut self,
        plugin: usize,
        call: &'static str,
        items: usize,
        run: impl FnOnce(&mut Store<State>, &Exports) -> wasmtime::Result<Result<T, String>>,
    ) -> Result<Asked<T>, CallError> {
        self.ready(plugin, call)?;
        let loaded = &*self.set.plugins[plugin];
        let guest = &mut self.guests[plugin];
        let Some(live) = &mut guest.live else {
            return Err(self.error(plugin, call, "there is no instance".to_owned()));
        };
        guest.added = guest.added.saturating_add(loaded.limits.fuel_per_item.saturating_mul(items as u64));
        let left = loaded.limits.fuel_per_rendering.saturating_add(guest.added).saturating_sub(guest.spent);
        let fuel = loaded.limits.fuel(items).min(left);
        let exports = &live.exports;
        let (result, used) = metered(&mut live.store, loaded, fuel, items, |store| run(store, exports));
        guest.spent = guest.spent.saturating_add(used);
        let state = live.store.data_mut();
        let mut reads = state.reads.take();
        settle(&mut guest.usage, state, used, loaded);
        match result {
            Ok(answer) => {
                if !std::mem::replace(&mut live.answered, true) {
                    loaded.health().succeeded();
                }
                if !live.configured_by.is_empty() {
                    reads.extend(live.configured_by.clone());
                }
                Ok(Asked { answer, reads })
            }
            Err(failure) => Err(self.failed(plugin, call, failure)),
        }
    }

    fn failed(&mut self, plugin: usize, call: &'static str, failure: Failure) -> CallError {
        let cause = match failure {
            Failure::Refused(cause) => cause,
            Failure::Trapped(cause) => {
                self.guests[plugin].live = None;
                self.set.plugins[plugin].health().trapped(self.now, &cause);
                cause
            }
        };
        self.error(plugin, call, cause)
    }

    /// Makes an instance and configures it.
    fn start(&mut self, plugin: usize, loaded: &Loaded, name: Arc<str>) -> Result<Live, Failure> {
        let limits = loaded.limits.clone();
        let lines = loaded.health().lines(self.now, limits.log_lines_per_second);
        let rights = self.set.facts[plugin].rights.clone();
        let state = State::new(name, rights, limits, self.view.clone(), self.revision, lines);
        let engine = loaded.compiled.pre.engine();
        let mut store = Store::new(engine, state);
        store.limiter(|state| state);
        let guest = &mut self.guests[plugin];
        let left = loaded.limits.fuel_per_rendering.saturating_add(guest.added).saturating_sub(guest.spent);
        let fuel = loaded.limits.fuel(0).min(left);
        let (result, used) = metered(&mut store, loaded, fuel, 0, |store| {
            let instance = loaded.compiled.pre.instantiate(&mut *store)?;
            let compiled = &loaded.compiled;
            let exports = Exports {
                lifecycle: compiled.lifecycle.load(&mut *store, &instance)?,
                peers: compiled.peers.as_ref().map(|at| at.load(&mut *store, &instance)).transpose()?,
                filter: compiled.filter.as_ref().map(|at| at.load(&mut *store, &instance)).transpose()?,
                functions: compiled
                    .functions
                    .as_ref()
                    .map(|at| at.load(&mut *store, &instance))
                    .transpose()?,
            };
            let configured = exports.lifecycle.call_configure(&mut *store, &loaded.settings)?;
            Ok(configured.map(|()| exports))
        });
        guest.spent = guest.spent.saturating_add(used);
        let state = store.data_mut();
        let configured_by = state.reads.take();
        settle(&mut guest.usage, state, used, loaded);
        Ok(Live { exports: result?, store, configured_by, answered: false })
    }
}

/// Notes a failure once.
fn note(told: &mut Vec<CallError>, error: CallError) {
    if told.len() < MAX_TOLD && !told.contains(&error) {
        told.push(error);
    }
}

/// Runs with this much fuel, for the guest and as much for the host's work for it; returns what was used of both.
fn metered<T>(
    store: &mut Store<State>,
    loaded: &Loaded,
    fuel: u64,
    items: usize,
    run: impl FnOnce(&mut Store<State>) -> wasmtime::Result<Result<T, String>>,
) -> (Result<T, Failure>, u64) {
    store.set_hostcall_fuel(loaded.limits.host_call_bytes.saturating_add(items.saturating_mul(256)));
    store.data_mut().budget = fuel;
    store.data_mut().last_error = None;
    let result = match store.set_fuel(fuel) {
        Ok(()) => run(store),
        Err(error) => Err(error),
    };
    let used = (fuel - store.get_fuel().unwrap_or(0).min(fuel)) + (fuel - store.data().budget.min(fuel));
    let result = match result {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(refusal)) => Err(Failure::Refused(tame(&refusal, MAX_CAUSE))),
        Err(error) => Err(Failure::Trapped(cause(&error, store.data(), loaded, fuel))),
    };
    (result, used)
}

/// Moves what a call left in the store into the plugin's account.
fn settle(usage: &mut Usage, state: &mut State, used: u64, loaded: &Loaded) {
    usage.calls += 1;
    usage.fuel = usage.fuel.saturating_add(used);
    usage.memory = usage.memory.max(state.memory);
    if state.logs.is_empty() && state.lines_dropped == 0 {
        return;
    }
    usage.logs.append(&mut state.logs);
    usage.dropped_lines += std::mem::take(&mut state.lines_dropped);
    loaded.health().logged(state.lines_left);
}

/// Why a call trapped: the guest's own words first.
fn cause(error: &wasmtime::Error, state: &State, loaded: &Loaded, fuel: u64) -> String {
    tracing::debug!(plugin = loaded.file.name.as_str(), "{error:?}");
    let reason = match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            format!("used up its fuel of {fuel} (limits.fuel_per_call, fuel_per_item, fuel_per_rendering)")
        }
        Some(Trap::StackOverflow) => "used up its stack: too deep a recursion".to_owned(),
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    };
    let reason = tame(&reason, MAX_CAUSE);
    match &state.last_error {
        Some(said) => format!("{said} ({reason})"),
        None => reason,
    }
}

impl Plugins for Session {
    fn facts(&self) -> &[Facts] {
        &self.set.facts
    }

    fn select(&mut self, plugin: usize, request: &peers::Request) -> Result<Asked<peers::Answer>, CallError> {
        let items = request.candidates.len() + request.nodes.len();
        self.call(plugin, "peers.select", items, |store, exports| match &exports.peers {
            Some(peers) => peers.call_select(store, request),
            None => Ok(Err("peers is not exported".to_owned())),
        })
    }

    fn advertise(
        &mut self,
        plugin: usize,
        request: &filter::AdvertiseRequest,
    ) -> Result<Asked<filter::AdvertiseAnswer>, CallError> {
        self.call(plugin, "filter.advertise", request.routes.len(), |store, exports| match &exports.filter {
            Some(filter) => filter.call_advertise(store, request),
            None => Ok(Err("filter is not exported".to_owned())),
        })
    }

    fn rules(
        &mut self,
        plugin: usize,
        request: &filter::RulesRequest,
    ) -> Result<Asked<filter::RulesAnswer>, CallError> {
        self.call(plugin, "filter.rules", request.sessions.len(), |store, exports| match &exports.filter {
            Some(filter) => filter.call_rules(store, request),
            None => Ok(Err("filter is not exported".to_owned())),
        })
    }
}

impl FunctionCalls for Session {
    fn call(&mut self, plugin: usize, index: usize, arguments: &[&Value]) -> Result<Asked<Value>, CallError> {
        self.call_function(plugin, index, arguments)
    }
}
