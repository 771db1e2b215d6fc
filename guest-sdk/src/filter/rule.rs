use std::ops::RangeInclusive;
use std::rc::Rc;

use crate::{AsNumber, Community, PeerType, Prefix, Priority};

/// Prefixes of a range of lengths inside a prefix: `10.0.0.0/8{16,24}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrefixRange {
    pub(super) prefix: Prefix,
    pub(super) min: u8,
    pub(super) max: u8,
}

impl PrefixRange {
    /// The prefix alone.
    pub fn exactly(prefix: Prefix) -> Self {
        Self { prefix, min: prefix.length(), max: prefix.length() }
    }

    /// The prefix, and all prefixes in it.
    pub fn or_longer(prefix: Prefix) -> Self {
        Self { prefix, min: prefix.length(), max: prefix.max_length() }
    }

    /// The prefixes in it with these lengths. None when the range is empty, begins below the prefix's own length, or ends
    /// above 32 or 128.
    pub fn new(prefix: Prefix, lengths: RangeInclusive<u8>) -> Option<Self> {
        let (min, max) = lengths.into_inner();
        let right = prefix.length() <= min && min <= max && max <= prefix.max_length();
        right.then_some(Self { prefix, min, max })
    }

    /// The prefix.
    pub fn prefix(self) -> Prefix {
        self.prefix
    }

    /// The lengths.
    pub fn lengths(self) -> RangeInclusive<u8> {
        self.min..=self.max
    }
}

/// What is changed about a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Adds a community.
    AddCommunity(Community),
    /// Removes a community.
    RemoveCommunity(Community),
    /// Puts an AS number in front of the path.
    PrependAs(AsNumber),
    /// Sets the priority.
    SetPriority(Priority),
    /// Sets the local preference as it is.
    SetLocalPreference(u32),
}

/// A rule. All its conditions must hold; one without any holds for every route.
///
/// ```
/// use tailorbird_guest::{Community, Operation, PeerType, PrefixRange, Rule};
///
/// let private = PrefixRange::or_longer("10.0.0.0/8".parse()?);
/// let refuse = Rule::reject().prefixes_in([private]).peer_type(PeerType::External);
/// let mark = Rule::apply([Operation::AddCommunity(Community::NO_EXPORT)]).as_path_length(5..=u32::MAX);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    pub(crate) action: Action,
    pub(crate) operations: Vec<Operation>,
    pub(crate) prefixes: Option<PrefixCondition>,
    pub(crate) from_peers: bool,
    pub(crate) community: Option<Community>,
    pub(crate) as_path_prefix: Vec<AsNumber>,
    pub(crate) as_path_length: Option<(u32, u32)>,
    pub(crate) priority: Option<Priority>,
    pub(crate) peer_type: Option<PeerType>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    Accept,
    Reject,
    Continue,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PrefixCondition {
    pub(crate) any_of: Vec<PrefixRange>,
    pub(crate) negate: bool,
}

impl Rule {
    /// Applies the operations, at most 10; no further rule of this set is looked at. The peer's own BGPFilters and the
    /// node's own rules still decide: nothing goes out that they hold back.
    pub fn accept(operations: impl IntoIterator<Item = Operation>) -> Self {
        Self::new(Action::Accept, operations.into_iter().collect())
    }

    /// Refuses the route.
    pub fn reject() -> Self {
        Self::new(Action::Reject, Vec::new())
    }

    /// Applies the operations, at most 10, and goes on to the next rule.
    pub fn apply(operations: impl IntoIterator<Item = Operation>) -> Self {
        Self::new(Action::Continue, operations.into_iter().collect())
    }

    fn new(action: Action, operations: Vec<Operation>) -> Self {
        Self {
            action,
            operations,
            prefixes: None,
            from_peers: false,
            community: None,
            as_path_prefix: Vec::new(),
            as_path_length: None,
            priority: None,
            peer_type: None,
        }
    }

    /// Only routes in one of these. Those of the other family than the session's are passed over.
    pub fn prefixes_in(self, any_of: impl IntoIterator<Item = PrefixRange>) -> Self {
        let any_of = any_of.into_iter().collect();
        Self { prefixes: Some(PrefixCondition { any_of, negate: false }), ..self }
    }

    /// Only routes in none of these. Those of the other family than the session's are passed over.
    pub fn prefixes_not_in(self, any_of: impl IntoIterator<Item = PrefixRange>) -> Self {
        let any_of = any_of.into_iter().collect();
        Self { prefixes: Some(PrefixCondition { any_of, negate: true }), ..self }
    }

    /// Only routes that came from a BGP peer.
    pub fn from_peers(self) -> Self {
        Self { from_peers: true, ..self }
    }

    /// Only routes with this community.
    pub fn community(self, community: Community) -> Self {
        Self { community: Some(community), ..self }
    }

    /// Only routes whose path begins with these AS numbers, at most 10.
    pub fn as_path_prefix(self, path: impl IntoIterator<Item = AsNumber>) -> Self {
        Self { as_path_prefix: path.into_iter().collect(), ..self }
    }

    /// Only routes whose path has a length in this range.
    pub fn as_path_length(self, lengths: RangeInclusive<u32>) -> Self {
        Self { as_path_length: Some(lengths.into_inner()), ..self }
    }

    /// Only routes with this priority.
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// Only sessions with peers in other ASes, or in this one.
    pub fn peer_type(self, peer_type: PeerType) -> Self {
        Self { peer_type: Some(peer_type), ..self }
    }
}

/// The rules of a session in a direction, in order. A clone shares them: a set that many sessions get is best made once.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleSet(Rc<Vec<Rule>>);

impl RuleSet {
    /// The rules.
    pub fn rules(&self) -> &[Rule] {
        &self.0
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where the rules are in memory: the same for sets that share them.
    pub(super) fn place(&self) -> usize {
        Rc::as_ptr(&self.0) as usize
    }
}

impl From<Vec<Rule>> for RuleSet {
    fn from(rules: Vec<Rule>) -> Self {
        Self(Rc::new(rules))
    }
}

impl<const N: usize> From<[Rule; N]> for RuleSet {
    fn from(rules: [Rule; N]) -> Self {
        Self::from(Vec::from(rules))
    }
}

impl FromIterator<Rule> for RuleSet {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Self::from(rules.into_iter().collect::<Vec<_>>())
    }
}
