//! For random histories and random pure plugins: what is derived step by step is what is derived from scratch, the
//! changes are what differs, and errors and other sets of plugins on the way leave nothing behind.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use tailorbird::engine::{Changes, Engine, Snapshot};
use tailorbird::plugin::contract::filter::{
    Action, Destination, Direction, LengthRange, Operation, PrefixCondition, PrefixRange, RouteDecision, Rule,
};
use tailorbird::plugin::contract::peers::{Answer, Change, ClusterIdChoice, Request};
use tailorbird::plugin::contract::types::{
    Address, Community, Family, NextHop, PeeringTraits, Prefix, Range, Span,
};
use tailorbird::policy::{Derived, OnError, Overlay, Placement};

use crate::cluster::birds;
use crate::native::{
    Kv, Native, Natives, Rules, addition, advertise_answer, answer, change, labels, rule, text, texts,
};
use crate::support::rendered::{files, renderer};
use crate::universe::{Happening, happening, settings};

/// What a random plugin is like. All that it does follows from its seed, what it is asked and what it reads.
#[derive(Debug, Clone)]
struct Description {
    seed: u64,
    peers: bool,
    filter: bool,
    on_error: u8,
    after: bool,
    /// Reads its keys with `get`, or lists their folders.
    lists: bool,
}

fn description() -> impl Strategy<Value = Description> {
    (0..1000_u64, any::<bool>(), any::<bool>(), 0..3_u8, any::<bool>(), any::<bool>()).prop_map(
        |(seed, peers, filter, on_error, after, lists)| Description {
            seed,
            peers,
            filter,
            on_error,
            after,
            lists,
        },
    )
}

/// A number that follows from some parts.
fn mix(seed: u64, parts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, parts).hash(&mut hasher);
    hasher.finish()
}

const KEYS: [&str; 7] = [
    "/tailorbird/v1/node/a/labels/rack",
    "/tailorbird/v1/node/b/labels/rack",
    "/tailorbird/v1/node/c/labels/rr",
    "/calico/bgp/v1/global/loglevel",
    "/calico/bgp/v1/global/as_num",
    "/calico/bgp/v1/host/b/ip_addr_v4",
    "/calico/staticroutes/10.96.0.1-32",
];

/// What a plugin reads for an item: which key depends on the item.
fn read(kv: &mut Kv<'_>, about: &Description, item: &str) -> String {
    let key = KEYS[(mix(about.seed, &["key", item]) % KEYS.len() as u64) as usize];
    if about.lists {
        let folder = key.rsplit_once('/').unwrap().0;
        format!("{:?}", kv.list(folder))
    } else if mix(about.seed, &["revision", item]).is_multiple_of(40) {
        // The number itself is not the same from scratch; that it is read is.
        kv.revision();
        String::new()
    } else {
        kv.get(key).unwrap_or_default()
    }
}

fn push(text: &mut String, piece: &str) -> Span {
    let start = text.len() as u32;
    text.push_str(piece);
    Span { start, length: piece.len() as u32 }
}

fn native(index: usize, about: &Description, failing: &Arc<AtomicU32>) -> Native {
    let mut native = Native::new(&format!("p{index}"))
        .may_read(&["/tailorbird/v1/node/*/labels/rack", "/tailorbird/v1/node/c", "/calico"])
        .on_error([OnError::Keep, OnError::Reject, OnError::Skip][about.on_error as usize])
        .placed(if about.after { Placement::After } else { Placement::Before });
    native.facts.identity = about.seed;
    let fails = |failing: &Arc<AtomicU32>| {
        let failing = failing.clone();
        move || {
            let broken = failing.load(Ordering::Relaxed) & (1 << index) != 0;
            if broken { Err("broken".to_owned()) } else { Ok(()) }
        }
    };
    if about.peers {
        let (about, fails) = (about.clone(), fails(failing));
        native = native.select(move |kv, request| {
            fails()?;
            Ok(select(kv, &about, request))
        });
    }
    if about.filter {
        let (advertising, broken) = (about.clone(), fails(failing));
        native = native.advertise(move |kv, request| {
            broken()?;
            let mut answer = advertise_answer();
            for (at, route) in request.routes.iter().enumerate() {
                let item =
                    format!("{:?} {:?} {}", route.prefix, route.kind, text(&request.text, route.service));
                let number = mix(advertising.seed, &[&item, &read(kv, &advertising, &item)]);
                if number.is_multiple_of(3) {
                    continue;
                }
                let start = answer.communities.len() as u32;
                answer.communities.push(Community::Standard((1, (number % 3) as u16)));
                let to = number.is_multiple_of(4).then(|| {
                    let start = answer.destinations.len() as u32;
                    let name = ["p", "q", "r", "nobody"][(number / 4 % 4) as usize];
                    answer.destinations.push(Destination::BgpPeer(push(&mut answer.text, name)));
                    answer.destinations.push(Destination::Address(Address::V4(0x0a00_0002)));
                    Range { start, count: (number / 16 % 3) as u32 }
                });
                answer.decisions.push(RouteDecision {
                    route: at as u32,
                    accept: !number.is_multiple_of(5),
                    communities: Range { start, count: (number / 3 % 2) as u32 },
                    priority: number.is_multiple_of(7).then_some(1 + (number % 3) as u32),
                    to,
                });
            }
            Ok(answer)
        });
        let (about, fails) = (about.clone(), fails(failing));
        native = native.rules(move |kv, request| {
            fails()?;
            let mut rules = Rules::default();
            for (at, session) in request.sessions.iter().enumerate() {
                let names = texts(&request.text, &request.names, session.filters);
                let item = format!(
                    "{} {} {names:?} {:?} {} {:?} {:?}",
                    text(&request.text, session.name),
                    text(&request.text, session.remote_node),
                    session.remote_cluster_id,
                    session.local_as,
                    session.traits,
                    (session.port, session.keepalive_time),
                );
                for direction in [Direction::Import, Direction::Export] {
                    let number =
                        mix(about.seed, &[&item, &format!("{direction:?}"), &read(kv, &about, &item)]);
                    let set = some_rules(&mut rules, number);
                    if !number.is_multiple_of(3) {
                        rules.assign(at, direction, &set);
                    }
                }
            }
            Ok(rules.done())
        });
    }
    native
}

/// One of a few sets of rules.
fn some_rules(rules: &mut Rules, number: u64) -> Vec<Rule> {
    let v4 = Prefix { address: Address::V4(0x0a00_0000), length: 8 };
    let v6 = Prefix { address: Address::V6((0xfd00 << 48, 0)), length: 8 };
    let any_of = rules.prefixes(&[
        PrefixRange { prefix: v4, min: 8 + (number / 3 % 2) as u8, max: 32 },
        PrefixRange { prefix: v6, min: 8, max: 64 },
    ]);
    let operations = rules.operations(&[
        Operation::AddCommunity(Community::Standard((1, (number / 6 % 2) as u16))),
        Operation::SetPriority(7),
    ]);
    match number / 12 % 4 {
        0 => vec![rule(Action::Continue)],
        1 => vec![Rule {
            prefixes: Some(PrefixCondition { any_of, negate: number.is_multiple_of(2) }),
            ..rule(Action::Reject)
        }],
        2 => vec![Rule { operations, ..rule(Action::Accept) }, rule(Action::Reject)],
        _ => vec![Rule {
            as_path_length: Some(LengthRange { min: 1, max: 5 }),
            peer_type: Some(tailorbird::plugin::contract::filter::PeerType::External),
            operations,
            ..rule(Action::Continue)
        }],
    }
}

fn select(kv: &mut Kv<'_>, about: &Description, request: &Request) -> Answer {
    let mut answer = answer();
    let all: Vec<String> = request
        .nodes
        .iter()
        .map(|node| {
            let name = text(&request.text, node.name);
            let facts = (node.ipv4, node.ipv6, node.as_number, node.cluster_id);
            format!("{name} {facts:?} {:?}", labels(request, node.labels))
        })
        .collect();
    let whole = format!("{:?} {} {all:?}", request.this_node, request.mesh);
    let filter = kv.get("/calico/resources/v3/projectcalico.org/bgpfilters/f").is_some();
    answer.names.push(push(&mut answer.text, "f"));
    // One plugin in ten names a filter that need not be there.
    let named = Range { start: 0, count: u32::from(filter || about.seed.is_multiple_of(10)) };
    answer.cluster_id = match mix(about.seed, &["id", &whole, &read(kv, about, "id")]) % 4 {
        0 => ClusterIdChoice::None,
        1 => ClusterIdChoice::Set(0x0a09_0909),
        _ => ClusterIdChoice::Unchanged,
    };
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (at, peering) in request.candidates.peerings.iter().enumerate() {
        let names = texts(&request.text, &request.names, peering.filters);
        let node = request.candidates.node(at).map(|node| &all[node as usize]);
        let item = format!(
            "{} {} {names:?} {node:?} {:?}",
            text(&request.text, peering.name),
            text(&request.text, peering.bgp_peer),
            (
                peering.kind,
                peering.as_number,
                peering.local_as,
                peering.traits.contains(PeeringTraits::PASSWORD),
                peering.remote_cluster_id
            )
        );
        let number = mix(about.seed, &[&item, &read(kv, about, &item)]);
        match number % 5 {
            0 | 1 => {
                answer.drop.push(at as u32);
                continue;
            }
            2 => answer.change.push(Change {
                passive: number.is_multiple_of(2).then_some(number.is_multiple_of(4)),
                next_hop: number.is_multiple_of(3).then_some(NextHop::Own),
                keepalive_time: number.is_multiple_of(7).then_some(1 + (number % 9) as u32),
                ttl_security: number.is_multiple_of(11).then_some((number % 3) as u8),
                remote_cluster_id: match number / 5 % 3 {
                    0 => ClusterIdChoice::Unchanged,
                    1 => ClusterIdChoice::None,
                    _ => ClusterIdChoice::Set(0x0a09_0909),
                },
                filters: number.is_multiple_of(3).then_some(named),
                ..change(at as u32)
            }),
            _ => {}
        }
        taken.insert(format!("{:?}", peering.ip));
    }
    let this = request.this_node.and_then(|this| request.nodes.get(this as usize));
    let Some(this) = this else { return answer };
    for (at, node) in request.nodes.iter().enumerate() {
        for family in [Family::V4, Family::V6] {
            let (ip, own) = match family {
                Family::V4 => (node.ipv4.map(Address::V4), this.ipv4.map(Address::V4)),
                Family::V6 => (node.ipv6.map(Address::V6), this.ipv6.map(Address::V6)),
            };
            let (Some(ip), Some(own)) = (ip, own) else { continue };
            let number = mix(about.seed, &["add", &all[at], &format!("{family:?}")]);
            if number.is_multiple_of(3)
                && ip != own
                && request.this_node != Some(at as u32)
                && taken.insert(format!("{ip:?}"))
            {
                answer.add.push(tailorbird::plugin::contract::peers::Addition {
                    mesh_password: number.is_multiple_of(2),
                    filters: if number.is_multiple_of(5) { named } else { Range { start: 0, count: 0 } },
                    ..addition(at as u32, family)
                });
            }
        }
    }
    answer
}

/// What happens in a step, besides objects.
#[derive(Debug, Clone)]
struct Step {
    happenings: Vec<Happening>,
    /// From now on these are the plugins.
    plugins: Option<Vec<Description>>,
    /// These plugins fail at first, by bits.
    failing: u32,
    renders: bool,
}

fn plugins() -> impl Strategy<Value = Vec<Description>> {
    prop::collection::vec(description(), 0..4)
}

fn step() -> impl Strategy<Value = Step> {
    (
        prop::collection::vec(happening(), 0..5),
        prop::option::weighted(0.15, plugins()),
        prop_oneof![3 => Just(0_u32), 1 => 0..8_u32],
        any::<bool>(),
    )
        .prop_map(|(happenings, plugins, failing, renders)| Step {
            happenings,
            plugins,
            failing,
            renders,
        })
}

fn config(cases: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    Config {
        cases: asked.unwrap_or(cases),
        max_shrink_iters: 5_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..Config::default()
    }
}

/// All items of the models, as text.
fn picture(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for model in &snapshot.models {
        found.insert(format!("{} base", model.base.family), serde_json::to_string(&model.base).unwrap());
        for (at, collection) in model.collections.iter().enumerate() {
            for (key, item) in &collection.items {
                let text = format!("{} {item:?}", serde_json::to_string(item).unwrap());
                found.insert(format!("{} {at} {key}", model.base.family), text);
            }
        }
    }
    found
}

fn same(what: &str, a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Result<(), TestCaseError> {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for key in keys {
        prop_assert_eq!(a.get(key), b.get(key), "{}: {}", what, key);
    }
    Ok(())
}

/// Whether the changes are exactly what differs between two snapshots; `own` when the revisions are the overlay's own.
fn check_changes(before: Option<&Snapshot>, derived: &Derived, own: bool) -> Result<(), TestCaseError> {
    let changes = &derived.changes;
    prop_assert_eq!(changes.to, derived.snapshot.revision);
    let Some(before) = before else { return Ok(()) };
    prop_assert_eq!(changes.from, before.revision);
    prop_assert!(changes.to >= changes.from);
    let mut different = BTreeSet::new();
    for (a, b) in before.models.iter().zip(&derived.snapshot.models) {
        for (at, (a, b)) in a.collections.iter().zip(&b.collections).enumerate() {
            let keys: BTreeSet<_> = a.items.keys().chain(b.items.keys()).collect();
            let differ = keys.into_iter().filter(|key| a.items.get(*key) != b.items.get(*key));
            different.extend(differ.map(|key| (at, key.clone())));
        }
    }
    let said: BTreeSet<_> = changes
        .items
        .iter()
        .flat_map(|((_, id), keys)| keys.iter().map(|key| (id.index(), key.clone())))
        .collect();
    // The engine notes what a batch touched, even if it is in the end what it was.
    prop_assert!(said == different || !own && said.is_superset(&different), "{:?} and {:?}", said, different);
    let view = before.view.revision_of("/") != derived.snapshot.view.revision_of("/");
    let anything = view || picture(before) != picture(&derived.snapshot);
    prop_assert!(changes.to > changes.from || !anything, "a difference without a revision");
    // The engine's own revisions also count what only plugins could see.
    prop_assert!(changes.to == changes.from || anything || !own, "a revision without a difference");
    Ok(())
}

fn check(settings: &tailorbird::engine::Settings, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut settings = settings.clone();
    settings.published = ["/tailorbird/v1".parse().unwrap()].into();
    let mut engine = Engine::new(settings.clone());
    let failing = Arc::new(AtomicU32::new(0));
    let mut overlay = Overlay::new();
    let incremental = RefCell::new(renderer(&settings.node));
    let mut natives: Vec<Native> = Vec::new();
    let mut before: Option<Snapshot> = None;
    let count = steps.len();
    let mut had_plugins = false;
    for (index, step) in steps.iter().enumerate() {
        let what = format!("step {index}");
        if let Some(plugins) = &step.plugins {
            natives = plugins.iter().enumerate().map(|(at, about)| native(at, about, &failing)).collect();
        }
        had_plugins |= !natives.is_empty();
        let mut pending = engine.apply(step.happenings.iter().map(Happening::event));
        let snapshot = engine.snapshot().clone();
        let mut tracked = |failures: u32, before: &mut Option<Snapshot>| -> Result<_, TestCaseError> {
            failing.store(failures, Ordering::Relaxed);
            let mut plugins = Natives::new(&natives, &snapshot.view, snapshot.revision);
            let none = Changes { from: pending.to, to: pending.to, ..Changes::default() };
            let outcome = overlay.derive(&snapshot, std::mem::replace(&mut pending, none), &mut plugins);
            if let Ok(derived) = &outcome {
                check_changes(before.as_ref(), derived, had_plugins)?;
                incremental.borrow_mut().note(&derived.changes);
                *before = Some(derived.snapshot.clone());
            }
            Ok(outcome)
        };
        if step.failing != 0 {
            let _failed = tracked(step.failing, &mut before)?;
        }
        let outcome = tracked(0, &mut before)?;
        let mut plugins = Natives::new(&natives, &snapshot.view, snapshot.revision);
        let scratch = Overlay::new().derive(&snapshot, Changes::default(), &mut plugins);
        match (&outcome, &scratch) {
            (Ok(tracked), Ok(scratch)) => {
                same(&what, &picture(&tracked.snapshot), &picture(&scratch.snapshot))?;
                prop_assert_eq!(&tracked.errors, &scratch.errors, "{}", what);
                if step.renders || index + 1 == count {
                    let rendered = files(&mut incremental.borrow_mut(), &tracked.snapshot);
                    if index + 1 == count {
                        let fresh = files(&mut renderer(&settings.node), &scratch.snapshot);
                        prop_assert_eq!(&rendered, &fresh);
                        if let Some(birds) = birds()
                            && let Err(words) = birds.check(&rendered)
                        {
                            let text =
                                format!("{words}\n{}\n{}", rendered["bird.cfg"], rendered["bird6.cfg"]);
                            return Err(TestCaseError::fail(text));
                        }
                    }
                }
            }
            (Err(tracked), Err(scratch)) => prop_assert_eq!(tracked, scratch, "{}", what),
            (tracked, scratch) => {
                prop_assert!(false, "{what}: {:?} and {:?}", tracked.is_ok(), scratch.is_ok());
            }
        }
        if outcome.is_ok_and(|derived| derived.errors.is_empty()) {
            let again = tracked(0, &mut before)?;
            let again = again.map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(again.changes.from, again.changes.to);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn asked_step_by_step_is_asked_from_scratch(
        settings in settings(),
        first in plugins(),
        mut steps in prop::collection::vec(step(), 1..12),
    ) {
        if let Some(step) = steps.first_mut() {
            step.plugins = Some(first);
        }
        check(&settings, &steps)?;
    }
}
