//! Conditions and statements of BIRD's filter language as values; each prints itself whole.

use std::fmt::{self, Display, Formatter};

use ipnet::IpNet;

use crate::bird::Literal;
use crate::resources::{MatchOperator, PeerType, RuleSource};
use crate::types::{AsNumber, Community, Prefix, Priority};

/// Statements that are carried out for the routes for which all conditions hold.
pub(super) struct Clause<'a> {
    /// The peers for which the clause is there at all.
    pub(super) peers: Option<PeerType>,
    /// The conditions, in the order in which they are tested.
    pub(super) conditions: Vec<Condition<'a>>,
    /// The statements, in the order in which they are carried out.
    pub(super) statements: Vec<Statement>,
}

impl Display for Clause<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.peers {
            Some(PeerType::Internal) => f.write_str("if (is_same_as) then { ")?,
            Some(PeerType::External) => f.write_str("if (!is_same_as) then { ")?,
            None => {}
        }
        if !self.conditions.is_empty() {
            write!(f, "if ({}) then {{ ", Joined(&self.conditions, "&&"))?;
        }
        write!(f, "{}", Joined(&self.statements, " "))?;
        if !self.conditions.is_empty() {
            f.write_str(" }")?;
        }
        if self.peers.is_some() {
            f.write_str(" }")?;
        }
        Ok(())
    }
}

/// A condition on a route. It prints in parentheses of its own.
pub(super) enum Condition<'a> {
    Net {
        operator: MatchOperator,
        operand: NetOperand<'a>,
    },
    /// It needs a range.
    NetSet {
        negate: bool,
        ranges: Vec<NetRange>,
    },
    Source(RuleSource),
    Interface(Literal),
    Community(Community),
    AsPathPrefix(&'a [AsNumber]),
    AsPathLength {
        min: u32,
        max: u32,
    },
    Priority(Priority),
}

impl Display for Condition<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net { operator, operand } => {
                let operator = match operator {
                    MatchOperator::Equal => "=",
                    MatchOperator::NotEqual => "!=",
                    MatchOperator::In => "~",
                    MatchOperator::NotIn => "!~",
                };
                write!(f, "(net {operator} {operand})")
            }
            Self::NetSet { negate, ranges } => {
                write!(f, "(net {} [ {} ])", if *negate { "!~" } else { "~" }, Joined(ranges, ", "))
            }
            Self::Source(RuleSource::RemotePeers) => {
                f.write_str("((defined(source))&&(source ~ [ RTS_BGP ]))")
            }
            Self::Interface(pattern) => write!(f, "((defined(ifname))&&(ifname ~ {pattern}))"),
            Self::Community(community) => {
                write!(f, "({} ~ {})", Literal::community(*community), community.attribute())
            }
            Self::AsPathPrefix(path) => write!(f, "(bgp_path ~ [= {} * =])", Joined(path, " ")),
            Self::AsPathLength { min, max } => {
                write!(f, "((bgp_path.len >= {min})&&(bgp_path.len <= {max}))")
            }
            Self::Priority(priority) => {
                write!(f, "(defined(bgp_local_pref)&&(bgp_local_pref = {}))", priority.local_pref())
            }
        }
    }
}

/// What a route's prefix is compared with.
pub(super) enum NetOperand<'a> {
    /// A prefix; for `~` with all that it covers.
    Prefix(&'a Prefix),
    /// What a prefix covers, of these lengths. It needs `min` <= `max`, and no more than the family's bits.
    Range { prefix: &'a Prefix, min: u8, max: u8 },
}

impl Display for NetOperand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(prefix) => prefix.fmt(f),
            Self::Range { prefix, min, max } => write!(f, "[ {prefix}{{{min},{max}}} ]"),
        }
    }
}

/// What a prefix covers, of these lengths. It needs `min` <= `max`, none below the prefix's own, and no more than the
/// family's bits.
pub(super) struct NetRange {
    pub(super) net: IpNet,
    pub(super) min: u8,
    pub(super) max: u8,
}

impl Display for NetRange {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{{{},{}}}", self.net, self.min, self.max)
    }
}

/// A statement, with its semicolon.
pub(in crate::bird) enum Statement {
    AddCommunity(Community),
    RemoveCommunity(Community),
    Prepend(AsNumber),
    SetPriority(Priority),
    SetLocalPreference(u32),
    Accept,
    Reject,
    /// Leaves the function, and not the filter that called it.
    Return,
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddCommunity(community) => {
                write!(f, "{}.add({});", community.attribute(), Literal::community(*community))
            }
            Self::RemoveCommunity(community) => {
                write!(f, "{}.delete({});", community.attribute(), Literal::community(*community))
            }
            Self::Prepend(number) => write!(f, "bgp_path.prepend({number});"),
            Self::SetPriority(priority) => write!(f, "bgp_local_pref = {};", priority.local_pref()),
            Self::SetLocalPreference(preference) => write!(f, "bgp_local_pref = {preference};"),
            Self::Accept => f.write_str("accept;"),
            Self::Reject => f.write_str("reject;"),
            Self::Return => f.write_str("return true;"),
        }
    }
}

/// Values with a separator between them.
pub(in crate::bird) struct Joined<'a, T>(pub(in crate::bird) &'a [T], pub(in crate::bird) &'static str);

impl<T: Display> Display for Joined<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(self.1)?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}
