use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;

use super::node::Calls;
use crate::plugin::Session;
use crate::plugin::contract::{filter, peers};
use crate::policy::{Asked, CallError, Facts, FunctionCalls, Plugins};

/// An export of a plugin, by the plugin's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Called {
    /// The plugin's place in its set.
    pub plugin: usize,
    /// The export.
    pub export: &'static str,
}

/// A rendering's plugins, with a clock before each call. The first call of each makes its instance.
pub(super) struct Stopwatch {
    session: Session,
    calls: BTreeMap<Called, Calls>,
}

impl Stopwatch {
    pub(super) fn new(session: Session) -> Self {
        Self { session, calls: BTreeMap::new() }
    }

    pub(super) fn take(&mut self) -> BTreeMap<Called, Calls> {
        std::mem::take(&mut self.calls)
    }

    fn ask<T>(
        &mut self,
        plugin: usize,
        export: &'static str,
        items: usize,
        call: impl FnOnce(&mut Session) -> Result<Asked<T>, CallError>,
    ) -> Result<Asked<T>, CallError> {
        let begun = Instant::now();
        let asked = call(&mut self.session);
        let took = begun.elapsed();
        let calls = self.calls.entry(Called { plugin, export }).or_default();
        calls.calls += 1;
        calls.items += items;
        calls.time += took;
        asked
    }
}

impl Plugins for Stopwatch {
    fn facts(&self) -> &[Facts] {
        self.session.facts()
    }

    fn select(&mut self, plugin: usize, request: &peers::Request) -> Result<Asked<peers::Answer>, CallError> {
        let items = request.candidates.len() + request.nodes.len();
        self.ask(plugin, "peers.select", items, |session| session.select(plugin, request))
    }

    fn advertise(
        &mut self,
        plugin: usize,
        request: &filter::AdvertiseRequest,
    ) -> Result<Asked<filter::AdvertiseAnswer>, CallError> {
        let items = request.routes.len();
        self.ask(plugin, "filter.advertise", items, |session| session.advertise(plugin, request))
    }

    fn rules(
        &mut self,
        plugin: usize,
        request: &filter::RulesRequest,
    ) -> Result<Asked<filter::RulesAnswer>, CallError> {
        let items = request.sessions.len();
        self.ask(plugin, "filter.rules", items, |session| session.rules(plugin, request))
    }
}

impl FunctionCalls for Stopwatch {
    fn call(&mut self, plugin: usize, index: usize, arguments: &[&Value]) -> Result<Asked<Value>, CallError> {
        self.ask(plugin, "functions.call", 1, |session| session.call_function(plugin, index, arguments))
    }
}
