//! Plugins that are plain functions.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use tailorbird::engine::View;
use tailorbird::plugin::columns::span;
use tailorbird::plugin::contract::filter::{
    AdvertiseAnswer, AdvertiseRequest, Assignment, Direction, Operation, PrefixRange, Rule, RulesAnswer,
    RulesRequest,
};
use tailorbird::plugin::contract::peers::{Addition, Answer, Change, ClusterIdChoice, Request};
use tailorbird::plugin::contract::types::{Family, NextHop, Range, Span};
use tailorbird::policy::{Asked, CallError, Facts, OnError, Placement, Plugins, Reads, Rights};

/// What a plugin reads from; it notes what is read.
pub(crate) struct Kv<'a> {
    view: &'a View,
    rights: &'a Rights,
    revision: u64,
    reads: Reads,
}

impl Kv<'_> {
    pub(crate) fn get(&mut self, key: &str) -> Option<String> {
        if !self.rights.allow(key) {
            return None;
        }
        self.reads.keys.insert(key.into());
        self.view.get(key).map(Cow::into_owned)
    }

    pub(crate) fn list(&mut self, path: &str) -> Vec<(String, String)> {
        if !self.rights.meet(path) {
            return Vec::new();
        }
        self.reads.paths.insert(path.into());
        let rows = self.view.list(path).filter(|(key, _)| self.rights.allow(key));
        rows.map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
    }

    pub(crate) fn revision(&mut self) -> u64 {
        self.reads.revision = true;
        self.revision
    }
}

type Function<Q, A> = Arc<dyn Fn(&mut Kv<'_>, &Q) -> Result<A, String>>;

/// A plugin.
#[derive(Clone)]
pub(crate) struct Native {
    pub(crate) facts: Facts,
    select: Option<Function<Request, Answer>>,
    advertise: Option<Function<AdvertiseRequest, AdvertiseAnswer>>,
    rules: Option<Function<RulesRequest, RulesAnswer>>,
}

impl Native {
    /// A plugin that exports nothing and may read everything.
    pub(crate) fn new(name: &str) -> Self {
        let facts = Facts {
            name: name.into(),
            identity: 0,
            peers: false,
            filter: false,
            on_error: OnError::Keep,
            placement: Placement::Before,
            rights: Rights(["/".parse().unwrap()].into()),
        };
        Self { facts, select: None, advertise: None, rules: None }
    }

    pub(crate) fn on_error(mut self, on_error: OnError) -> Self {
        self.facts.on_error = on_error;
        self
    }

    pub(crate) fn placed(mut self, placement: Placement) -> Self {
        self.facts.placement = placement;
        self
    }

    pub(crate) fn may_read(mut self, patterns: &[&str]) -> Self {
        self.facts.rights = Rights(patterns.iter().map(|text| text.parse().unwrap()).collect());
        self
    }

    pub(crate) fn select(
        mut self,
        function: impl Fn(&mut Kv<'_>, &Request) -> Result<Answer, String> + 'static,
    ) -> Self {
        self.facts.peers = true;
        self.select = Some(Arc::new(function));
        self
    }

    pub(crate) fn advertise(
        mut self,
        function: impl Fn(&mut Kv<'_>, &AdvertiseRequest) -> Result<AdvertiseAnswer, String> + 'static,
    ) -> Self {
        self.facts.filter = true;
        self.advertise = Some(Arc::new(function));
        self
    }

    pub(crate) fn rules(
        mut self,
        function: impl Fn(&mut Kv<'_>, &RulesRequest) -> Result<RulesAnswer, String> + 'static,
    ) -> Self {
        self.facts.filter = true;
        self.rules = Some(Arc::new(function));
        self
    }
}

/// How often the plugins were asked, and about how many items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) selects: usize,
    pub(crate) routes: usize,
    pub(crate) sessions: usize,
}

/// Plugins during one rendering.
pub(crate) struct Natives<'a> {
    facts: Vec<Facts>,
    plugins: &'a [Native],
    view: &'a View,
    revision: u64,
    pub(crate) count: Count,
}

impl<'a> Natives<'a> {
    pub(crate) fn new(plugins: &'a [Native], view: &'a View, revision: u64) -> Self {
        let facts = plugins.iter().map(|plugin| plugin.facts.clone()).collect();
        Self { facts, plugins, view, revision, count: Count::default() }
    }

    fn call<Q, A>(
        &self,
        plugin: usize,
        call: &'static str,
        function: &Option<Function<Q, A>>,
        request: &Q,
        other: impl FnOnce() -> A,
    ) -> Result<Asked<A>, CallError> {
        let facts = &self.facts[plugin];
        let mut kv =
            Kv { view: self.view, rights: &facts.rights, revision: self.revision, reads: Reads::default() };
        let answer = match function {
            Some(function) => function(&mut kv, request),
            None => Ok(other()),
        };
        match answer {
            Ok(answer) => Ok(Asked { answer, reads: kv.reads }),
            Err(cause) => Err(CallError { plugin: facts.name.clone(), call, cause }),
        }
    }
}

impl Plugins for Natives<'_> {
    fn facts(&self) -> &[Facts] {
        &self.facts
    }

    fn select(&mut self, plugin: usize, request: &Request) -> Result<Asked<Answer>, CallError> {
        self.count.selects += 1;
        self.call(plugin, "peers.select", &self.plugins[plugin].select, request, answer)
    }

    fn advertise(
        &mut self,
        plugin: usize,
        request: &AdvertiseRequest,
    ) -> Result<Asked<AdvertiseAnswer>, CallError> {
        self.count.routes += request.routes.len();
        self.call(plugin, "filter.advertise", &self.plugins[plugin].advertise, request, advertise_answer)
    }

    fn rules(&mut self, plugin: usize, request: &RulesRequest) -> Result<Asked<RulesAnswer>, CallError> {
        self.count.sessions += request.sessions.len();
        self.call(plugin, "filter.rules", &self.plugins[plugin].rules, request, rules_answer)
    }
}

/// The text of a span.
pub(crate) fn text(text: &str, span: Span) -> &str {
    &text[span.start as usize..(span.start + span.length) as usize]
}

/// The texts of a piece of a request's names.
pub(crate) fn texts<'a>(all: &'a str, names: &[u64], piece: Range) -> Vec<&'a str> {
    let names = &names[piece.start as usize..][..piece.count as usize];
    names.iter().map(|name| text(all, span(*name))).collect()
}

/// Keys and values of a piece of a request's labels.
pub(crate) fn labels(request: &Request, piece: Range) -> Vec<(&str, &str)> {
    let labels = (piece.start..piece.start + piece.count).map(|at| request.labels.get(at as usize).unwrap());
    labels.map(|label| (text(&request.text, label.key), text(&request.text, label.value))).collect()
}

/// Nothing of a list.
pub(crate) const NONE: Range = Range { start: 0, count: 0 };

/// An answer that leaves all peerings as they are.
pub(crate) fn answer() -> Answer {
    Answer {
        text: String::new(),
        names: Vec::new(),
        cluster_id: ClusterIdChoice::Unchanged,
        drop: Vec::new(),
        change: Vec::new(),
        add: Vec::new(),
    }
}

/// The name of a candidate.
pub(crate) fn candidate_name(request: &Request, at: usize) -> &str {
    text(&request.text, request.candidates.peerings.get(at).unwrap().name)
}

/// The place of the node of this name.
pub(crate) fn node_place(request: &Request, wanted: &str) -> u32 {
    request.nodes.iter().position(|node| text(&request.text, node.name) == wanted).unwrap() as u32
}

/// A change of a candidate that leaves it as it is.
pub(crate) fn change(candidate: u32) -> Change {
    Change {
        candidate,
        passive: None,
        next_hop: None,
        port: None,
        restart_time: None,
        keepalive_time: None,
        ttl_security: None,
        remote_cluster_id: ClusterIdChoice::Unchanged,
        filters: None,
    }
}

/// A session with a node, without anything that need not be said.
pub(crate) fn addition(node: u32, family: Family) -> Addition {
    Addition {
        node,
        family,
        mesh_password: false,
        next_hop: NextHop::Automatic,
        restart_time: None,
        keepalive_time: None,
        remote_cluster_id: ClusterIdChoice::Unchanged,
        filters: NONE,
    }
}

/// A plugin that drops every session whose name has a word.
pub(crate) fn dropping(plugin: &str, word: &'static str) -> Native {
    Native::new(plugin).select(move |_, request| {
        let drop = (0..request.candidates.len()).filter(|at| candidate_name(request, *at).contains(word));
        Ok(Answer { drop: drop.map(|at| at as u32).collect(), ..answer() })
    })
}

/// An answer that leaves all routes as they are.
pub(crate) fn advertise_answer() -> AdvertiseAnswer {
    AdvertiseAnswer {
        text: String::new(),
        communities: Vec::new(),
        destinations: Vec::new(),
        decisions: Vec::new(),
    }
}

/// An answer without rules.
pub(crate) fn rules_answer() -> RulesAnswer {
    RulesAnswer {
        rules: Vec::new(),
        prefixes: Vec::new(),
        numbers: Vec::new(),
        operations: Vec::new(),
        sets: Vec::new(),
        assignments: Vec::new(),
    }
}

/// A rule that holds for every route and does that.
pub(crate) fn rule(action: tailorbird::plugin::contract::filter::Action) -> Rule {
    Rule {
        prefixes: None,
        from_peers: false,
        community: None,
        as_path_prefix: NONE,
        as_path_length: None,
        priority: None,
        peer_type: None,
        operations: NONE,
        action,
    }
}

/// Writes an answer of `rules` piece by piece.
#[derive(Default)]
pub(crate) struct Rules {
    answer: Option<RulesAnswer>,
    sets: BTreeMap<String, u32>,
}

impl Rules {
    fn part(&mut self) -> &mut RulesAnswer {
        self.answer.get_or_insert_with(rules_answer)
    }

    pub(crate) fn prefixes(&mut self, prefixes: &[PrefixRange]) -> Range {
        let part = self.part();
        let start = part.prefixes.len() as u32;
        part.prefixes.extend_from_slice(prefixes);
        Range { start, count: prefixes.len() as u32 }
    }

    pub(crate) fn numbers(&mut self, numbers: &[u32]) -> Range {
        let part = self.part();
        let start = part.numbers.len() as u32;
        part.numbers.extend_from_slice(numbers);
        Range { start, count: numbers.len() as u32 }
    }

    pub(crate) fn operations(&mut self, operations: &[Operation]) -> Range {
        let part = self.part();
        let start = part.operations.len() as u32;
        part.operations.extend_from_slice(operations);
        Range { start, count: operations.len() as u32 }
    }

    /// Gives a session these rules; sets with the same rules are one.
    pub(crate) fn assign(&mut self, session: usize, direction: Direction, rules: &[Rule]) {
        let known = format!("{rules:?}");
        let set = match self.sets.get(&known) {
            Some(set) => *set,
            None => {
                let part = self.part();
                let start = part.rules.len() as u32;
                part.rules.extend_from_slice(rules);
                part.sets.push(Range { start, count: rules.len() as u32 });
                let set = part.sets.len() as u32 - 1;
                self.sets.insert(known, set);
                set
            }
        };
        self.part().assignments.push(Assignment { session: session as u32, direction, set });
    }

    pub(crate) fn done(mut self) -> RulesAnswer {
        self.part();
        self.answer.unwrap()
    }
}
