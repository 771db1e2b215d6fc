//! BGPFilters as functions of BIRD's filter language.
//!
//! A rule is first brought into the form of a [`Clause`], which knows nothing of the API's fields, and a clause
//! prints itself. What can be decided without a route, such as a range of prefix lengths that has none, is
//! decided on the way.

mod clause;
mod rules;

use clause::{Clause, Condition, NetOperand};
pub(super) use clause::{Joined, Statement};
pub use rules::{
    PluginAction, PluginFunction, PluginOperation, PluginRule, PrefixRange, PrefixSet, Way, compile_rules,
};

use super::Literal;
use crate::engine::model::{Filter, FilterCall, FilterFunction};
use crate::resources::{Action, BgpFilter, CidrMatch, MatchOperator, Operation, Rule};
use crate::types::Family;

/// A BGPFilter's functions of a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The functions, if there are rules of the family.
    pub filter: Option<Filter>,
    /// What the user should look at.
    pub warnings: Vec<Warning>,
}

/// Something about a rule that the user should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The rule, as `spec.importV4[0]`.
    pub field: String,
    /// What is odd about it and what was made of it.
    pub reason: String,
}

/// How the functions of a BGPFilter are called, known without compiling its rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The call on import, if there are such rules.
    pub import: Option<Call>,
    /// The call on export, if there are such rules.
    pub export: Option<Call>,
}

/// How a function is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The function's name, a symbol.
    pub function: Literal,
    /// Whether it takes "same AS".
    pub takes_same_as: bool,
}

impl From<Call> for FilterCall {
    fn from(call: Call) -> Self {
        Self { function: Some(call.function), takes_same_as: call.takes_same_as, ..Self::default() }
    }
}

/// The two lists of rules that a filter has for a family.
#[derive(Clone, Copy)]
enum Direction {
    Import,
    Export,
}

impl Direction {
    fn rules(self, filter: &BgpFilter, family: Family) -> &[Rule] {
        let rules = filter.rules(family);
        match self {
            Self::Import => &rules.import,
            Self::Export => &rules.export,
        }
    }

    fn suffix(self, family: Family) -> &'static str {
        match (self, family) {
            (Self::Import, Family::V4) => "_importFilterV4",
            (Self::Import, Family::V6) => "_importFilterV6",
            (Self::Export, Family::V4) => "_exportFilterV4",
            (Self::Export, Family::V6) => "_exportFilterV6",
        }
    }

    /// The field of the API that holds the rules.
    fn field(self, family: Family) -> &'static str {
        match (self, family) {
            (Self::Import, Family::V4) => "importV4",
            (Self::Import, Family::V6) => "importV6",
            (Self::Export, Family::V4) => "exportV4",
            (Self::Export, Family::V6) => "exportV6",
        }
    }

    fn call(self, filter: &BgpFilter, family: Family) -> Option<Call> {
        let rules = self.rules(filter, family);
        (!rules.is_empty()).then(|| Call {
            function: Literal::symbol(&filter.name, self.suffix(family)),
            takes_same_as: rules.iter().any(|rule| rule.peer_type.is_some()),
        })
    }
}

/// How the functions of a BGPFilter are called.
pub fn signature(filter: &BgpFilter, family: Family) -> Signature {
    Signature {
        import: Direction::Import.call(filter, family),
        export: Direction::Export.call(filter, family),
    }
}

/// Compiles a BGPFilter for a family.
///
/// The functions are those of [`signature`], also where no rule of a list can ever match: a peer calls them.
pub fn compile(filter: &BgpFilter, family: Family) -> Compiled {
    let mut warnings = Vec::new();
    let mut function =
        |direction: Direction| {
            let call = direction.call(filter, family)?;
            let mut lines = Vec::new();
            for (i, rule) in direction.rules(filter, family).iter().enumerate() {
                let (clause, warning) = clause(rule, family);
                lines.extend(clause.map(|clause| Literal::composed(clause.to_string())));
                warnings.extend(warning.map(|reason| Warning {
                    field: format!("spec.{}[{i}]", direction.field(family)),
                    reason,
                }));
            }
            Some(FilterFunction { symbol: call.function, takes_same_as: call.takes_same_as, lines })
        };
    let (import, export) = (function(Direction::Import), function(Direction::Export));
    let any = import.is_some() || export.is_some();
    Compiled {
        filter: any.then(|| Filter { name: filter.name.clone(), plugin: false, import, export }),
        warnings,
    }
}

/// The rule as a clause, unless it can never match, and what there is to say about it.
fn clause(rule: &Rule, family: Family) -> (Option<Clause<'_>>, Option<String>) {
    let mut conditions = Vec::new();
    let mut warning = None;
    if let Some(cidr) = &rule.cidr {
        match net_condition(cidr, family) {
            Net::Condition(condition) => conditions.push(condition),
            Net::Never(why) => {
                return (None, Some(format!("{why}, so the rule can never match; it is left out")));
            }
            Net::Always(why) => {
                warning = Some(format!("{why}, so the condition always holds; it is left out"));
            }
        }
    }
    conditions.extend(rule.source.map(Condition::Source));
    conditions
        .extend(rule.interface.as_ref().map(|pattern| Condition::Interface(Literal::interface(pattern))));
    conditions.extend(rule.community.map(Condition::Community));
    if !rule.as_path_prefix.is_empty() {
        conditions.push(Condition::AsPathPrefix(&rule.as_path_prefix));
    }
    conditions.extend(rule.priority.map(Condition::Priority));

    let mut statements = Vec::new();
    for operation in &rule.operations {
        match operation {
            Operation::AddCommunity(community) => statements.push(Statement::AddCommunity(*community)),
            // Each statement puts one number in front, so the one that is to be outermost comes last.
            Operation::PrependAsPath(path) => {
                statements.extend(path.iter().rev().map(|number| Statement::Prepend(*number)));
            }
            Operation::SetPriority(priority) => statements.push(Statement::SetPriority(*priority)),
        }
    }
    statements.push(match rule.action {
        Action::Accept => Statement::Accept,
        Action::Reject => Statement::Reject,
    });
    (Some(Clause { peers: rule.peer_type, conditions, statements }), warning)
}

/// What becomes of a prefix condition, and why, where no route is needed to decide it.
enum Net<'a> {
    Condition(Condition<'a>),
    Never(String),
    Always(String),
}

/// The lengths in question never go below the CIDR's own: BIRD would take `10.0.0.0/8{4,24}` and match 0.0.0.0/4.
/// A range without any length is an error in BIRD, which costs the whole file.
fn net_condition(cidr: &CidrMatch, family: Family) -> Net<'_> {
    let negated = matches!(cidr.operator, MatchOperator::NotEqual | MatchOperator::NotIn);
    let nothing = |why: String| if negated { Net::Always(why) } else { Net::Never(why) };
    let prefix = &cidr.cidr;
    if prefix.family() != family {
        return nothing(format!("cidr {prefix} is of the other family"));
    }
    let exact = matches!(cidr.operator, MatchOperator::Equal | MatchOperator::NotEqual);
    let operand = match cidr.length {
        None => NetOperand::Prefix(prefix),
        Some((min, max)) => {
            let min = min.unwrap_or(0).max(prefix.length());
            let max = max.unwrap_or(family.bits()).min(family.bits());
            if min > max {
                return nothing(format!(
                    "prefixLength leaves no length inside cidr {prefix} (from {min} to {max})"
                ));
            }
            if exact && min > prefix.length() {
                return nothing(format!("prefixLength excludes the length of cidr {prefix} itself"));
            }
            // BIRD never finds a prefix equal to a set; the range has been checked, and no more is to say.
            if exact { NetOperand::Prefix(prefix) } else { NetOperand::Range { prefix, min, max } }
        }
    };
    Net::Condition(Condition::Net { operator: cidr.operator, operand })
}
