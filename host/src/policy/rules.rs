//! `filter.rules`: which rules the sessions get.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::answer::{self, Fault, MAX_ITEMS, MAX_RULE_ITEMS, MAX_SET_RULES, Once, at, bounded, piece, place};
use super::ledger::Ledger;
use super::{Asked, CallError, Facts, ItemKey, Items, Plugins, differences, peer, request};
use crate::bird::{
    PluginAction, PluginFunction, PluginOperation, PluginRule, PrefixRange, PrefixSet, Way, compile_rules,
};
use crate::engine::{CollectionId, Snapshot};
use crate::plugin::contract::filter::{
    Action, Direction, Operation, PeerType as ContractPeerType, Rule, RulesAnswer, RulesRequest,
};
use crate::plugin::contract::types::Peerings;
use crate::resources::PeerType;
use crate::types::{AsNumber, Family};

/// The rules of a session that one plugin made, each set as a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ruled {
    pub(super) import: Option<Arc<PluginFunction>>,
    pub(super) export: Option<Arc<PluginFunction>>,
}

/// What one plugin said of all sessions.
#[derive(Debug, Clone, Default)]
pub(super) struct Ruling {
    pub(super) ledger: Ledger<Ruled>,
    sessions: [Items; 2],
    own_as: Option<[AsNumber; 2]>,
}

impl Ruling {
    /// Asks a plugin about the sessions that it must be asked about.
    ///
    /// # Errors
    /// As [`Ledger::update`].
    pub(super) fn update(
        &mut self,
        plugin: usize,
        facts: &Facts,
        snapshot: &Snapshot,
        sessions: &[Items; 2],
        plugins: &mut dyn Plugins,
        changed: &mut BTreeSet<ItemKey>,
    ) -> Result<(), CallError> {
        let own_as = Family::ALL.map(|family| request::own_as(&snapshot.cluster, family));
        let mut differ = Vec::new();
        for family in Family::ALL {
            let (old, new) = (&self.sessions[family.index()], &sessions[family.index()]);
            for (key, old, new) in differences(old, new) {
                let item = (family, CollectionId::Peers, key.clone());
                match (old.and_then(|old| peer(old)), new.and_then(|new| peer(new))) {
                    (_, None) => self.ledger.gone(&item),
                    (Some(old), Some(new)) if request::same_peering(old, new) => {}
                    (_, Some(_)) => differ.push(item),
                }
            }
        }
        if self.own_as != Some(own_as) {
            differ.extend(keys(sessions));
        }
        self.ledger.changed(differ);
        self.sessions = sessions.clone();
        self.own_as = Some(own_as);
        let ask = |keys: &[ItemKey]| {
            let request = request(keys, sessions, own_as);
            let Asked { answer, reads } = plugins.rules(plugin, &request)?;
            let families: Vec<Family> = keys.iter().map(|(family, ..)| *family).collect();
            let ruled = validate(&answer, &families).map_err(|cause| CallError {
                plugin: facts.name.clone(),
                call: "filter.rules",
                cause,
            })?;
            let answer = ruled.into_iter().map(|(place, ruled)| (keys[place].clone(), Arc::new(ruled)));
            Ok(Asked { answer: answer.collect(), reads })
        };
        self.ledger.update(facts, snapshot, ask, changed)
    }
}

fn keys(sessions: &[Items; 2]) -> impl Iterator<Item = ItemKey> {
    Family::ALL.into_iter().flat_map(move |family| {
        sessions[family.index()].keys().map(move |key| (family, CollectionId::Peers, key.clone()))
    })
}

fn request(keys: &[ItemKey], sessions: &[Items; 2], own_as: [AsNumber; 2]) -> RulesRequest {
    let (mut text, mut names, mut rows) = (String::new(), Vec::new(), Peerings::default());
    for (family, _, key) in keys {
        let session = sessions[family.index()].get(key).and_then(|item| peer(item));
        if let Some(session) = session {
            rows.push(&request::peering(session, own_as[family.index()], &mut text, &mut names));
        }
    }
    RulesRequest { text, sessions: rows, names }
}

/// Checks an answer about sessions of these families: the rules of those that get any, by place.
fn validate(answer: &RulesAnswer, families: &[Family]) -> Result<Vec<(usize, Ruled)>, Fault> {
    bounded("rules", &answer.rules, MAX_ITEMS)?;
    bounded("prefixes", &answer.prefixes, MAX_ITEMS)?;
    bounded("numbers", &answer.numbers, MAX_ITEMS)?;
    bounded("operations", &answer.operations, MAX_ITEMS)?;
    bounded("sets", &answer.sets, MAX_ITEMS)?;
    bounded("assignments", &answer.assignments, families.len() * 2)?;
    let ranges = answer
        .prefixes
        .iter()
        .enumerate()
        .map(|(index, range)| prefix_range(range).map_err(|fault| at("prefixes", index, fault)))
        .collect::<Result<Vec<_>, _>>()?;
    // Rules can share prefixes, and sets rules: what counts is how many there are when nothing is shared.
    let mut room = MAX_ITEMS;
    let mut rules = Vec::with_capacity(answer.rules.len());
    for (index, checked) in answer.rules.iter().enumerate() {
        let checked = rule(checked, answer, &ranges, &mut room).map_err(|fault| at("rules", index, fault))?;
        rules.push(checked);
    }
    let mut room = MAX_ITEMS;
    let mut sets = Vec::with_capacity(answer.sets.len());
    for (index, range) in answer.sets.iter().enumerate() {
        let set = piece("rules", &rules, *range).map_err(|fault| at("sets", index, fault))?;
        bounded("the set", set, MAX_SET_RULES).map_err(|fault| at("sets", index, fault))?;
        let items: usize = set.iter().map(|rule| 1 + prefixes_of(rule)).sum();
        room = room.checked_sub(items).ok_or_else(|| {
            at("sets", index, format!("all sets together have more than {MAX_ITEMS} rules and prefixes"))
        })?;
        sets.push(set);
    }

    let mut compiled: FxHashMap<(usize, Family, Way), Option<Arc<PluginFunction>>> = FxHashMap::default();
    let mut once = [Once::new(families.len()), Once::new(families.len())];
    let mut ruled: FxHashMap<usize, Ruled> = FxHashMap::default();
    for (index, assignment) in answer.assignments.iter().enumerate() {
        let fault = |fault: Fault| at("assignments", index, fault);
        let session = place("sessions", assignment.session, families.len()).map_err(fault)?;
        let set = place("sets", assignment.set, sets.len()).map_err(fault)?;
        let way = match assignment.direction {
            Direction::Import => Way::Import,
            Direction::Export => Way::Export,
        };
        once[way as usize]
            .take(session)
            .map_err(|cause| fault(format!("session: {cause} for a direction")))?;
        let family = families[session];
        let function = compiled
            .entry((set, family, way))
            .or_insert_with(|| compile_rules(sets[set], family, way).map(Arc::new));
        if let Some(function) = function {
            let ruled = ruled.entry(session).or_default();
            match way {
                Way::Import => ruled.import = Some(function.clone()),
                Way::Export => ruled.export = Some(function.clone()),
            }
        }
    }
    Ok(ruled.into_iter().collect())
}

fn prefixes_of(rule: &PluginRule) -> usize {
    rule.prefixes.as_ref().map_or(0, |set| set.any_of.len())
}

fn prefix_range(range: &crate::plugin::contract::filter::PrefixRange) -> Result<PrefixRange, Fault> {
    let net = answer::prefix(range.prefix)?;
    PrefixRange::new(net, range.min, range.max).ok_or_else(|| {
        format!("{} to {} is no range of lengths of prefixes inside {net}", range.min, range.max)
    })
}

fn rule(
    rule: &Rule,
    answer: &RulesAnswer,
    ranges: &[PrefixRange],
    room: &mut usize,
) -> Result<PluginRule, Fault> {
    let prefixes = match &rule.prefixes {
        None => None,
        Some(condition) => {
            let any_of = piece("prefixes", ranges, condition.any_of)?;
            *room = room
                .checked_sub(any_of.len())
                .ok_or_else(|| format!("all rules together have more than {MAX_ITEMS} prefixes"))?;
            Some(PrefixSet { any_of: any_of.to_vec(), negate: condition.negate })
        }
    };
    let path = piece("numbers", &answer.numbers, rule.as_path_prefix)?;
    bounded("as-path-prefix", path, MAX_RULE_ITEMS)?;
    let as_path_length = match rule.as_path_length {
        None => None,
        Some(length) if length.min <= length.max => Some((length.min, length.max)),
        Some(length) => {
            return Err(format!("as-path-length: {} to {} is no range", length.min, length.max));
        }
    };
    let operations = piece("operations", &answer.operations, rule.operations)?;
    bounded("operations", operations, MAX_RULE_ITEMS)?;
    if rule.action == Action::Reject && !operations.is_empty() {
        return Err("a rule that rejects has no operations".to_owned());
    }
    Ok(PluginRule {
        prefixes,
        from_peers: rule.from_peers,
        community: rule.community.map(answer::community),
        as_path_prefix: path.iter().map(|number| answer::as_number(*number)).collect::<Result<_, _>>()?,
        as_path_length,
        priority: rule.priority.map(answer::priority).transpose()?,
        peer_type: rule.peer_type.map(|peer_type| match peer_type {
            ContractPeerType::External => PeerType::External,
            ContractPeerType::Internal => PeerType::Internal,
        }),
        operations: operations.iter().map(operation).collect::<Result<_, _>>()?,
        action: match rule.action {
            Action::Accept => PluginAction::Accept,
            Action::Reject => PluginAction::Reject,
            Action::Continue => PluginAction::Continue,
        },
    })
}

fn operation(operation: &Operation) -> Result<PluginOperation, Fault> {
    Ok(match *operation {
        Operation::AddCommunity(community) => PluginOperation::AddCommunity(answer::community(community)),
        Operation::RemoveCommunity(community) => {
            PluginOperation::RemoveCommunity(answer::community(community))
        }
        Operation::PrependAs(number) => PluginOperation::Prepend(answer::as_number(number)?),
        Operation::SetPriority(priority) => PluginOperation::SetPriority(answer::priority(priority)?),
        Operation::SetLocalPreference(preference) => PluginOperation::SetLocalPreference(preference),
    })
}
