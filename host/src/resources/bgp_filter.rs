use crate::types::{AsNumber, Community, Family, InterfacePattern, Name, Prefix, Priority};

/// What a rule does with a route that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Take it, after the operations.
    Accept,
    /// Refuse it.
    Reject,
}

/// How a route's prefix is compared with a rule's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MatchOperator {
    Equal,
    NotEqual,
    In,
    NotIn,
}

/// The prefix condition of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CidrMatch {
    /// The prefix, of the rule's family.
    pub cidr: Prefix,
    /// The operator.
    pub operator: MatchOperator,
    /// `prefixLength`: the shortest and the longest length, each if it was written.
    pub length: Option<(Option<u8>, Option<u8>)>,
}

/// `source` of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleSource {
    /// Routes that came over BGP.
    RemotePeers,
}

/// `peerType` of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerType {
    /// Peers in another AS.
    External,
    /// Peers in the same AS.
    Internal,
}

/// A change to a route before it is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Add a community.
    AddCommunity(Community),
    /// Put AS numbers in front of the path, the first one outermost.
    PrependAsPath(Vec<AsNumber>),
    /// Set the priority.
    SetPriority(Priority),
}

/// One rule of a BGPFilter. All conditions that are set must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What happens to a route that matches.
    pub action: Action,
    /// The prefix condition.
    pub cidr: Option<CidrMatch>,
    /// The source condition.
    pub source: Option<RuleSource>,
    /// The interface condition.
    pub interface: Option<InterfacePattern>,
    /// The community condition.
    pub community: Option<Community>,
    /// The AS path begins with these, if there are any.
    pub as_path_prefix: Vec<AsNumber>,
    /// The priority condition.
    pub priority: Option<Priority>,
    /// The peers that the rule is for; unset means all.
    pub peer_type: Option<PeerType>,
    /// Changes, in order.
    pub operations: Vec<Operation>,
}

/// The rules of one family.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterRules {
    /// `importV4` or `importV6`.
    pub import: Vec<Rule>,
    /// `exportV4` or `exportV6`.
    pub export: Vec<Rule>,
}

/// BGPFilter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BgpFilter {
    /// The name.
    pub name: Name,
    /// The rules for IPv4.
    pub v4: FilterRules,
    /// The rules for IPv6.
    pub v6: FilterRules,
    /// The resource's `spec` as JSON, for the view.
    pub json: super::Text,
}

impl BgpFilter {
    /// The rules of a family.
    pub fn rules(&self, family: Family) -> &FilterRules {
        match family {
            Family::V4 => &self.v4,
            Family::V6 => &self.v6,
        }
    }
}
