use std::collections::BTreeSet;

use crate::filter::{Action, Rule};
use crate::{AsNumber, Community, Operation, PeerType, Peering, Prefix, RuleSet};

/// A route on its way through rules, in a test: what BIRD would make of it.
///
/// ```
/// use tailorbird_guest::testing::{BgpRoute, OnePeering};
/// use tailorbird_guest::{Community, Operation, PrefixRange, Rule, RuleSet};
///
/// let rules = RuleSet::from([
///     Rule::reject().prefixes_in([PrefixRange::or_longer("10.0.0.0/8".parse()?)]),
///     Rule::apply([Operation::AddCommunity(Community::NO_EXPORT)]),
/// ]);
/// let peering = OnePeering::global("192.0.2.1", "switch").alone();
/// assert_eq!(BgpRoute::new("10.1.0.0/16").through(&rules, &peering.view()), None);
/// let passed = BgpRoute::new("192.0.2.0/24").through(&rules, &peering.view());
/// assert_eq!(passed, Some(BgpRoute::new("192.0.2.0/24").community(Community::NO_EXPORT)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BgpRoute {
    /// The prefix.
    pub prefix: Prefix,
    /// The communities.
    pub communities: BTreeSet<Community>,
    /// The AS numbers of the path, the nearest first.
    pub as_path: Vec<AsNumber>,
    /// The local preference.
    pub local_preference: u32,
    /// Whether it came from a BGP peer.
    pub from_peer: bool,
}

/// The local preference of priority 0.
const BEST: u32 = 2_147_483_647;

impl BgpRoute {
    /// A route from a BGP peer with the local preference 100, no communities and no path.
    ///
    /// # Panics
    /// The prefix is none.
    pub fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.parse().unwrap_or_else(|_| panic!("`{prefix}` is no prefix")),
            communities: BTreeSet::new(),
            as_path: Vec::new(),
            local_preference: 100,
            from_peer: true,
        }
    }

    /// With a community.
    pub fn community(mut self, community: Community) -> Self {
        self.communities.insert(community);
        self
    }

    /// With a path.
    pub fn as_path(self, path: impl IntoIterator<Item = AsNumber>) -> Self {
        Self { as_path: path.into_iter().collect(), ..self }
    }

    /// The route as it leaves the rules of a session; none when they refuse it.
    pub fn through(mut self, rules: &RuleSet, peering: &Peering<'_>) -> Option<Self> {
        for rule in rules.rules() {
            if !self.meets(rule, peering) {
                continue;
            }
            if rule.action == Action::Reject {
                return None;
            }
            rule.operations.iter().for_each(|operation| self.apply(*operation));
            if rule.action == Action::Accept {
                break;
            }
        }
        Some(self)
    }

    fn meets(&self, rule: &Rule, peering: &Peering<'_>) -> bool {
        let in_set = |condition: &crate::filter::PrefixCondition| {
            condition.any_of.iter().any(|range| {
                range.prefix().covers(self.prefix) && range.lengths().contains(&self.prefix.length())
            })
        };
        let length = u32::try_from(self.as_path.len()).unwrap_or(u32::MAX);
        rule.prefixes.as_ref().is_none_or(|condition| in_set(condition) != condition.negate)
            && (!rule.from_peers || self.from_peer)
            && rule.community.is_none_or(|community| self.communities.contains(&community))
            && self.as_path.starts_with(&rule.as_path_prefix)
            && rule.as_path_length.is_none_or(|(min, max)| (min..=max).contains(&length))
            && rule.priority.is_none_or(|priority| self.local_preference == BEST - priority.get())
            && rule.peer_type.is_none_or(|kind| (kind == PeerType::Internal) == peering.is_internal())
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::AddCommunity(community) => {
                self.communities.insert(community);
            }
            Operation::RemoveCommunity(community) => {
                self.communities.remove(&community);
            }
            Operation::PrependAs(number) => self.as_path.insert(0, number),
            Operation::SetPriority(priority) => self.local_preference = BEST - priority.get(),
            Operation::SetLocalPreference(preference) => self.local_preference = preference,
        }
    }
}
