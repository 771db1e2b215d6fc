//! Rules that plugins make: BGPFilter's and more, compiled to the same clauses.

use std::sync::Arc;

use ipnet::IpNet;

use super::clause::{Clause, Condition, NetRange, Statement};
use super::{Direction, Literal};
use crate::engine::model::{Filter, FilterCall, FilterFunction};
use crate::resources::{PeerType, RuleSource};
use crate::types::{AsNumber, Community, Family, Priority};

/// A rule. All conditions that are set must hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PluginRule {
    /// The prefix condition.
    pub prefixes: Option<PrefixSet>,
    /// Only routes that came over BGP.
    pub from_peers: bool,
    /// The community condition.
    pub community: Option<Community>,
    /// The AS path begins with these, if there are any.
    pub as_path_prefix: Vec<AsNumber>,
    /// The shortest and the longest AS path.
    pub as_path_length: Option<(u32, u32)>,
    /// The priority condition.
    pub priority: Option<Priority>,
    /// The peers that the rule is for; unset means all.
    pub peer_type: Option<PeerType>,
    /// Changes, in order.
    pub operations: Vec<PluginOperation>,
    /// What happens then.
    pub action: PluginAction,
}

/// A set of prefixes, of both families, as a condition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PrefixSet {
    /// The prefixes, any of which will do.
    pub any_of: Vec<PrefixRange>,
    /// Whether the condition holds for routes outside of the set.
    pub negate: bool,
}

/// The prefixes inside a prefix whose lengths are in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PrefixRange {
    net: IpNet,
    min: u8,
    max: u8,
}

impl PrefixRange {
    /// A range, if there is a length in it and each is one that a prefix inside `net` can have. Host bits are cleared.
    pub fn new(net: IpNet, min: u8, max: u8) -> Option<Self> {
        let allowed = net.prefix_len() <= min && min <= max && max <= net.max_prefix_len();
        allowed.then(|| Self { net: net.trunc(), min, max })
    }

    fn is(&self, family: Family) -> bool {
        Family::of(self.net.addr()) == family
    }
}

/// A change to a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PluginOperation {
    /// Adds a community.
    AddCommunity(Community),
    /// Takes a community away.
    RemoveCommunity(Community),
    /// Puts an AS number in front of the path.
    Prepend(AsNumber),
    /// Sets the priority.
    SetPriority(Priority),
    /// Sets the local preference as it is.
    SetLocalPreference(u32),
}

/// What becomes of a route for which a rule's conditions hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PluginAction {
    /// No further rule of the set is looked at; others still decide.
    Accept,
    /// The route is refused.
    Reject,
    /// The next rule is looked at.
    Continue,
}

/// Which way routes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// From the peer.
    Import,
    /// To the peer.
    Export,
}

/// A set of rules as a function, and how it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFunction {
    /// The place of the function among the filters. No BGPFilter can have it.
    pub key: Arc<str>,
    /// The function.
    pub filter: Filter,
    /// The call of it.
    pub call: FilterCall,
}

/// Compiles a set of rules; none when no rule of it can ever do anything.
///
/// Sets that do the same are the same function: its name is made of its text.
pub fn compile_rules<'a>(
    rules: impl IntoIterator<Item = &'a PluginRule>,
    family: Family,
    way: Way,
) -> Option<PluginFunction> {
    let clauses: Vec<Clause<'_>> = rules.into_iter().filter_map(|rule| clause(rule, family)).collect();
    if clauses.is_empty() {
        return None;
    }
    let takes_same_as = clauses.iter().any(|clause| clause.peers.is_some());
    let lines: Vec<Literal> =
        clauses.into_iter().map(|clause| Literal::composed(clause.to_string())).collect();
    let direction = match way {
        Way::Import => Direction::Import,
        Way::Export => Direction::Export,
    };
    let (symbol, name) = Literal::rules_symbol(&lines, direction.suffix(family));
    let function = FilterFunction { symbol: symbol.clone(), takes_same_as, lines };
    let (import, export) = match way {
        Way::Import => (Some(function), None),
        Way::Export => (None, Some(function)),
    };
    // No name has a blank in it, and a blank sorts before all that names have.
    let key = format!(" {name}{}", direction.suffix(family)).into();
    let call = FilterCall { function: Some(symbol), takes_same_as, ..FilterCall::default() };
    Some(PluginFunction { key, filter: Filter { name, plugin: true, import, export }, call })
}

/// The rule as a clause, unless it can never match or does nothing.
fn clause(rule: &PluginRule, family: Family) -> Option<Clause<'_>> {
    let mut conditions = Vec::new();
    if let Some(set) = &rule.prefixes {
        let ranges: Vec<NetRange> = set
            .any_of
            .iter()
            .filter(|range| range.is(family))
            .map(|range| NetRange { net: range.net, min: range.min, max: range.max })
            .collect();
        match (ranges.is_empty(), set.negate) {
            (true, false) => return None,
            (true, true) => {}
            (false, negate) => conditions.push(Condition::NetSet { negate, ranges }),
        }
    }
    conditions.extend(rule.from_peers.then_some(Condition::Source(RuleSource::RemotePeers)));
    conditions.extend(rule.community.map(Condition::Community));
    if !rule.as_path_prefix.is_empty() {
        conditions.push(Condition::AsPathPrefix(&rule.as_path_prefix));
    }
    conditions.extend(rule.as_path_length.map(|(min, max)| Condition::AsPathLength { min, max }));
    conditions.extend(rule.priority.map(Condition::Priority));

    let operations = rule.operations.iter().map(|operation| match *operation {
        PluginOperation::AddCommunity(community) => Statement::AddCommunity(community),
        PluginOperation::RemoveCommunity(community) => Statement::RemoveCommunity(community),
        PluginOperation::Prepend(number) => Statement::Prepend(number),
        PluginOperation::SetPriority(priority) => Statement::SetPriority(priority),
        PluginOperation::SetLocalPreference(preference) => Statement::SetLocalPreference(preference),
    });
    let end = match rule.action {
        PluginAction::Accept => Some(Statement::Return),
        PluginAction::Reject => Some(Statement::Reject),
        PluginAction::Continue => None,
    };
    let statements: Vec<Statement> = operations.chain(end).collect();
    (!statements.is_empty()).then_some(Clause { peers: rule.peer_type, conditions, statements })
}
