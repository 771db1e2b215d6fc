//! Why something is there or is not: the objects, the rules, the winner and the loser.
//!
//! [`explain`] is a pure function of what an engine and an overlay have computed. It decides nothing: every verdict is
//! that of the code which decided, asked once more, so an explanation cannot say otherwise than the files.

mod filter;
mod node;
mod peer;
mod route;
mod rule;
mod text;

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::bird::check::Daemon;
use crate::engine::selector::Selector;
use crate::engine::{Engine, Report, Severity, Snapshot};
use crate::policy::{Overlay, Told};
use crate::resources::{Kind, Labels, ObjectKey};
use crate::types::{Family, Name, Prefix, ValueError};
pub use rule::Rule;

/// The most reasons of one rule that are told one by one.
const MAX_ALIKE: usize = 20;

/// The most things that could not be read that are told one by one.
const MAX_UNREAD: usize = 5;

/// The kinds of things that can be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// A BGP session, by the address of its remote end.
    Peer,
    /// A prefix that this node may originate.
    Route,
    /// A BGPFilter.
    Filter,
    /// A node.
    Node,
}

impl Topic {
    /// All of them.
    pub const ALL: [Topic; 4] = [Topic::Peer, Topic::Route, Topic::Filter, Topic::Node];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Topic::Peer => "peer",
            Topic::Route => "route",
            Topic::Filter => "filter",
            Topic::Node => "node",
        }
    }
}

impl FromStr for Topic {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let found = Self::ALL.into_iter().find(|topic| topic.as_str() == text);
        found.ok_or_else(|| ValueError::new("can be explained are: peer, route, filter, node"))
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// Has this node a session with this address?
    Peer(IpAddr),
    /// Does this node originate this prefix?
    Route(Prefix),
    /// Who uses this BGPFilter?
    Filter(Name),
    /// What is this node to this one?
    Node(Name),
}

impl Query {
    /// A question about a topic.
    ///
    /// # Errors
    /// The text is no address, prefix or name, as the topic wants it.
    pub fn new(topic: Topic, text: &str) -> Result<Self, ValueError> {
        let address = || text.parse::<IpAddr>().ok();
        match topic {
            Topic::Peer => address().map(Self::Peer).ok_or_else(|| {
                ValueError::new(
                    "not an IP address; a peer is asked about by the address of its remote end, a node by `node NAME`",
                )
            }),
            Topic::Route => match address() {
                Some(ip) => Ok(Self::Route(Prefix::host(ip))),
                None => text.parse().map(Self::Route),
            },
            Topic::Filter => text.parse().map(Self::Filter),
            Topic::Node => text.parse().map(Self::Node),
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Peer(ip) => write!(f, "peer {ip}"),
            Self::Route(prefix) => write!(f, "route {prefix}"),
            Self::Filter(name) => write!(f, "filter {name}"),
            Self::Node(name) => write!(f, "node {name}"),
        }
    }
}

/// The answer. No part of it ever holds a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What was asked, as `peer 10.0.0.7`.
    pub subject: String,
    /// The node whose files are meant.
    pub node: Name,
    /// The revision of the objects that is explained.
    pub revision: u64,
    /// Whether it is there: the session, a route of exactly this prefix, the filter (usable or not), the node.
    pub present: bool,
    /// The same in a sentence.
    pub summary: String,
    /// Where it stands in BIRD's files.
    pub places: Vec<Place>,
    /// Why, what decides first.
    pub because: Vec<Reason>,
    /// What must be known besides: why nothing is rendered now, or why plugins could not be asked.
    pub notes: Vec<String>,
}

/// A place in BIRD's files, as the built-in templates write them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The daemon, and the group of files: `bird` or `bird6`.
    pub daemon: &'static str,
    /// The file's name.
    pub file: String,
    /// What stands there: a protocol's name, a function's, or a prefix.
    pub name: String,
}

/// A reason: a rule, the object that it is about, and what follows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Reason {
    /// The rule.
    pub rule: Rule,
    /// The object, as `BGPPeer tor`; a plugin as `plugin drain`.
    pub object: Option<String>,
    /// What the rule comes to.
    pub text: String,
}

/// What is explained.
#[derive(Debug, Clone, Copy)]
pub struct State<'a> {
    engine: &'a Engine,
    told: Option<Told<'a>>,
    /// There are plugins.
    plugins: bool,
}

impl<'a> State<'a> {
    /// An engine, and what plugins made of its snapshot, if they were asked about it as it is now; `plugins` says
    /// whether there are any.
    pub fn new(engine: &'a Engine, overlay: &'a Overlay, plugins: bool) -> Self {
        Self { engine, told: overlay.told(engine.snapshot().revision), plugins }
    }

    /// The snapshot with what plugins made of it.
    fn snapshot(&self) -> &'a Snapshot {
        self.told.map_or(self.engine.snapshot(), |told| told.snapshot)
    }

    /// This node.
    fn this(&self) -> &'a Name {
        &self.engine.settings().node
    }

    /// Whether a node is this one.
    fn is_this(&self, node: &Name) -> bool {
        node == self.this()
    }
}

impl Explanation {
    /// Notes what of the sources could not be read: nobody knows which objects it holds.
    pub fn note_unread(&mut self, problems: impl IntoIterator<Item = String>) {
        let mut problems = problems.into_iter();
        self.notes.extend(problems.by_ref().take(MAX_UNREAD).map(|problem| format!("not read: {problem}")));
        let more = problems.count();
        if more > 0 {
            self.notes.push(format!("not read: {more} more"));
        }
    }
}

/// Answers a question.
pub fn explain(state: &State<'_>, query: &Query) -> Explanation {
    let mut found = match query {
        Query::Peer(ip) => peer::explain(state, *ip),
        Query::Route(prefix) => route::explain(state, prefix),
        Query::Filter(name) => filter::explain(state, name),
        Query::Node(name) => node::explain(state, name),
    };
    found.shorten();
    let mut notes = Vec::new();
    let engine = state.engine;
    if !engine.has_node(state.this().as_str()) {
        notes.push(format!("there is no node {}: nothing is rendered before there is", state.this()));
    }
    for error in engine.blocking() {
        notes.push(format!("nothing is rendered, and the files stay as they are, while this is so: {error}"));
    }
    if state.plugins && state.told.is_none() {
        notes.push(
            "plugins have not been asked about this revision, so what they change is not in this answer"
                .into(),
        );
    }
    Explanation {
        subject: query.to_string(),
        node: state.this().clone(),
        revision: engine.snapshot().revision,
        present: found.present,
        summary: found.summary,
        places: found.places,
        because: found.because,
        notes,
    }
}

/// What an answer is made of.
#[derive(Debug, Default)]
struct Found {
    present: bool,
    summary: String,
    places: Vec<Place>,
    because: Vec<Reason>,
    /// Those in `because`.
    known: FxHashSet<Reason>,
}

impl Found {
    fn push(&mut self, rule: Rule, object: impl Into<Option<String>>, text: impl Into<String>) {
        let reason = Reason { rule, object: object.into(), text: text.into() };
        if self.known.insert(reason.clone()) {
            self.because.push(reason);
        }
    }

    /// Adds what is known to be wrong with objects.
    fn reports<'r>(&mut self, reports: impl Iterator<Item = &'r Report>) {
        for report in reports {
            self.push(Rule::Report, report.error.object.to_string(), words(report));
        }
    }

    /// Adds what is wrong with the objects of these kinds that were named; when what was asked about is absent, also with
    /// any that was left out, for it could have led there.
    fn reports_of(&mut self, state: &State<'_>, kinds: &[Kind]) {
        let named: BTreeSet<String> =
            self.because.iter().filter_map(|reason| reason.object.clone()).collect();
        let absent = !self.present;
        self.reports(state.engine.reports().filter(|report| {
            let key = &report.error.object;
            let lost = absent && report.severity == Severity::LeftOut;
            kinds.contains(&key.kind) && (lost || named.contains(&key.to_string()))
        }));
    }

    /// Takes out what is too much of one kind, and says how much that was.
    fn shorten(&mut self) {
        for rule in Rule::ALL {
            let alike = self.because.iter().filter(|reason| reason.rule == rule).count();
            if alike <= MAX_ALIKE {
                continue;
            }
            let mut seen = 0;
            self.because.retain(|reason| {
                seen += usize::from(reason.rule == rule);
                reason.rule != rule || seen <= MAX_ALIKE
            });
            let text = format!("and {} more like this", alike - MAX_ALIKE);
            let last = self.because.iter().rposition(|reason| reason.rule == rule);
            let at = last.map_or(self.because.len(), |last| last + 1);
            self.because.insert(at, Reason { rule, object: None, text });
        }
    }
}

/// A report without the object, which is told beside it.
fn words(report: &Report) -> String {
    let whole = report.error.to_string();
    let object = format!("{}: ", report.error.object);
    whole.strip_prefix(&object).unwrap_or(&whole).to_owned()
}

/// The name of an object without a namespace.
fn object(kind: Kind, name: &Name) -> String {
    ObjectKey::global(kind, name.clone()).to_string()
}

fn node_object(name: &Name) -> String {
    object(Kind::KubeNode, name)
}

fn plugin_object(name: &str) -> String {
    format!("plugin {name}")
}

/// The file of a family's daemon, by the end of its name.
fn place(family: Family, end: &str, name: impl Into<String>) -> Place {
    let daemon = Daemon::of(family).program();
    Place { daemon, file: format!("{daemon}{end}.cfg"), name: name.into() }
}

/// The family's name in sentences.
fn family_name(family: Family) -> &'static str {
    match family {
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
    }
}

/// The labels that a selector mentions, with their values: `rack is "r2", zone is not set`.
fn labels_of(selector: &str, labels: &Labels) -> String {
    let Ok(selector) = Selector::parse(selector) else { return String::new() };
    let values = selector.mentions().map(|label| label_in_words(label, labels));
    values.collect::<Vec<_>>().join(", ")
}

/// A label with its value.
fn label_in_words(label: &str, labels: &Labels) -> String {
    match labels.get(label) {
        Some(value) => format!("{label} is {value:?}"),
        None => format!("{label} is not set"),
    }
}

/// Names in a list, at most so many of them.
fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>, most: usize) -> String {
    let all: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match all.get(..most) {
        Some(first) if all.len() > most => format!("{} and {} more", first.join(", "), all.len() - most),
        _ => all.join(", "),
    }
}

/// The names that are nearest to one that is not there.
pub fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut near: Vec<(f64, &str)> = names.map(|name| (strsim::jaro_winkler(wanted, name), name)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(5).map(|(_, name)| name).collect()
}
