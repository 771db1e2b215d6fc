//! Decisions and rules as the flat lists of an answer.

use std::collections::BTreeMap;

use crate::bindings::filter::exports::tailorbird::policy::filter as wire;
use crate::filter::{Action, Decision, Destination, Operation, Rule, RuleSet};
use crate::text::{Text, add_all, count};
use crate::values::address_to_wire;
use crate::{AsNumber, Community, Direction};

/// Packs decisions, one for each route in order.
#[derive(Default)]
pub(crate) struct DecisionPacker {
    next: u32,
    text: Text,
    communities: Vec<wire::Community>,
    destinations: Vec<wire::Destination>,
    decisions: Vec<wire::RouteDecision>,
}

impl DecisionPacker {
    /// Adds the decision on the next route.
    pub(crate) fn add(&mut self, decision: &Decision) {
        let route = self.next;
        self.next += 1;
        // What no decision names goes out as it is.
        if *decision == Decision::accept() {
            return;
        }
        let Self { text, communities, destinations, decisions, .. } = self;
        let destination = |destination: &Destination| match destination {
            Destination::BgpPeer(name) => wire::Destination::BgpPeer(text.add(name)),
            Destination::Address(address) => wire::Destination::Address(address_to_wire(*address)),
        };
        decisions.push(wire::RouteDecision {
            route,
            accept: decision.accept,
            communities: add_all(communities, decision.communities.iter().map(|own| own.to_wire())),
            priority: decision.priority.map(|priority| priority.get()),
            to: decision.to.as_ref().map(|to| add_all(destinations, to.iter().map(destination))),
        });
    }

    pub(crate) fn finish(self) -> wire::AdvertiseAnswer {
        let Self { text: Text(text), communities, destinations, decisions, .. } = self;
        wire::AdvertiseAnswer { text, communities, destinations, decisions }
    }
}

/// Packs rules; sets that are equal are in the answer once.
#[derive(Default)]
pub(crate) struct RulePacker {
    rules: Vec<wire::Rule>,
    prefixes: Vec<wire::PrefixRange>,
    numbers: Vec<u32>,
    operations: Vec<wire::Operation>,
    sets: Vec<wire::Range>,
    assignments: Vec<wire::Assignment>,
    /// Sets by their place in memory. Each is also a key of `known`, so that its memory is not used again.
    shared: BTreeMap<usize, u32>,
    known: BTreeMap<RuleSet, u32>,
}

impl RulePacker {
    /// Adds the set of a session in a direction.
    pub(crate) fn add(&mut self, session: u32, direction: Direction, set: RuleSet) {
        if set.is_empty() {
            return;
        }
        let set = match self.shared.get(&set.place()) {
            Some(index) => *index,
            None => self.index(set),
        };
        self.assignments.push(wire::Assignment { session, direction, set });
    }

    fn index(&mut self, set: RuleSet) -> u32 {
        if let Some(index) = self.known.get(&set) {
            return *index;
        }
        let index = count(self.sets.len());
        let start = count(self.rules.len());
        for rule in set.rules() {
            let rule = self.rule(rule);
            self.rules.push(rule);
        }
        self.sets.push(wire::Range { start, count: count(set.rules().len()) });
        self.shared.insert(set.place(), index);
        self.known.insert(set, index);
        index
    }

    fn rule(&mut self, rule: &Rule) -> wire::Rule {
        let prefixes = rule.prefixes.as_ref().map(|condition| {
            let ranges = condition.any_of.iter().map(|range| wire::PrefixRange {
                prefix: range.prefix.to_wire(),
                min: range.min,
                max: range.max,
            });
            wire::PrefixCondition { any_of: add_all(&mut self.prefixes, ranges), negate: condition.negate }
        });
        wire::Rule {
            prefixes,
            from_peers: rule.from_peers,
            community: rule.community.map(Community::to_wire),
            as_path_prefix: add_all(
                &mut self.numbers,
                rule.as_path_prefix.iter().copied().map(AsNumber::get),
            ),
            as_path_length: rule.as_path_length.map(|(min, max)| wire::LengthRange { min, max }),
            priority: rule.priority.map(|priority| priority.get()),
            peer_type: rule.peer_type,
            operations: add_all(&mut self.operations, rule.operations.iter().map(operation)),
            action: match rule.action {
                Action::Accept => wire::Action::Accept,
                Action::Reject => wire::Action::Reject,
                Action::Continue => wire::Action::Continue,
            },
        }
    }

    pub(crate) fn finish(self) -> wire::RulesAnswer {
        let Self { rules, prefixes, numbers, operations, sets, assignments, .. } = self;
        wire::RulesAnswer { rules, prefixes, numbers, operations, sets, assignments }
    }
}

fn operation(operation: &Operation) -> wire::Operation {
    match operation {
        Operation::AddCommunity(community) => wire::Operation::AddCommunity(community.to_wire()),
        Operation::RemoveCommunity(community) => wire::Operation::RemoveCommunity(community.to_wire()),
        Operation::PrependAs(number) => wire::Operation::PrependAs(number.get()),
        Operation::SetPriority(priority) => wire::Operation::SetPriority(priority.get()),
        Operation::SetLocalPreference(preference) => wire::Operation::SetLocalPreference(*preference),
    }
}
