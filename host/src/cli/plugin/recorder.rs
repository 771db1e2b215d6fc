//! A plugin in a rendering, watched: of its exports one is asked, and what comes back is noted.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::answer;
use super::call::Export;
use crate::plugin::Session;
use crate::plugin::contract::{filter, peers};
use crate::policy::{Asked, CallError, Facts, OnError, Plugins, Reads};

/// What becomes of the calls of the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    /// They are made, and the answers kept.
    Record,
    /// They are made and timed.
    Time,
    /// They are not made: the plugin is as if it answered nothing.
    Absent,
}

/// Passes on the calls of one export; the plugin's other exports answer nothing.
pub(super) struct Recorder<'a> {
    session: &'a mut Session,
    facts: Vec<Facts>,
    export: Export,
    watch: Watch,
    /// The answer, unchecked, as JSON.
    pub(super) answer: Option<Value>,
    /// What it depends on.
    pub(super) reads: Reads,
    /// The time of the calls.
    pub(super) time: Duration,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(session: &'a mut Session, export: Export, watch: Watch) -> Self {
        let facts = session.facts().iter().map(|facts| Facts {
            peers: facts.peers && export == Export::PeersSelect,
            filter: facts.filter && export != Export::PeersSelect,
            // A failure must come back as one.
            on_error: OnError::Keep,
            ..facts.clone()
        });
        Self {
            facts: facts.collect(),
            session,
            export,
            watch,
            answer: None,
            reads: Reads::default(),
            time: Duration::ZERO,
        }
    }

    fn ask<T>(
        &mut self,
        export: Export,
        nothing: T,
        call: impl FnOnce(&mut Session) -> Result<Asked<T>, CallError>,
        show: impl FnOnce(&T) -> Value,
    ) -> Result<Asked<T>, CallError> {
        if export != self.export || self.watch == Watch::Absent {
            return Ok(Asked { answer: nothing, reads: Reads::default() });
        }
        let begun = Instant::now();
        let asked = call(self.session);
        self.time += begun.elapsed();
        if let (Watch::Record, Ok(asked)) = (self.watch, &asked) {
            self.answer = Some(show(&asked.answer));
            self.reads.extend(asked.reads.clone());
        }
        asked
    }
}

impl Plugins for Recorder<'_> {
    fn facts(&self) -> &[Facts] {
        &self.facts
    }

    fn select(&mut self, plugin: usize, request: &peers::Request) -> Result<Asked<peers::Answer>, CallError> {
        let nothing = peers::Answer {
            text: String::new(),
            names: Vec::new(),
            cluster_id: peers::ClusterIdChoice::Unchanged,
            drop: Vec::new(),
            change: Vec::new(),
            add: Vec::new(),
        };
        self.ask(
            Export::PeersSelect,
            nothing,
            |session| session.select(plugin, request),
            |answer| answer::select(request, answer),
        )
    }

    fn advertise(
        &mut self,
        plugin: usize,
        request: &filter::AdvertiseRequest,
    ) -> Result<Asked<filter::AdvertiseAnswer>, CallError> {
        let nothing = filter::AdvertiseAnswer {
            text: String::new(),
            communities: Vec::new(),
            destinations: Vec::new(),
            decisions: Vec::new(),
        };
        self.ask(
            Export::FilterAdvertise,
            nothing,
            |session| session.advertise(plugin, request),
            |answer| answer::advertise(request, answer),
        )
    }

    fn rules(
        &mut self,
        plugin: usize,
        request: &filter::RulesRequest,
    ) -> Result<Asked<filter::RulesAnswer>, CallError> {
        let nothing = filter::RulesAnswer {
            rules: Vec::new(),
            prefixes: Vec::new(),
            numbers: Vec::new(),
            operations: Vec::new(),
            sets: Vec::new(),
            assignments: Vec::new(),
        };
        self.ask(
            Export::FilterRules,
            nothing,
            |session| session.rules(plugin, request),
            |answer| answer::rules(request, answer),
        )
    }
}
