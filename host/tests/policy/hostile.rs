//! Answers that are no good: what is said of each, and that nobody else is the worse for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tailorbird::plugin::contract::filter::{
    Action, AdvertiseAnswer, Assignment, Destination, Direction, LengthRange, Operation, PrefixCondition,
    PrefixRange, RouteDecision, Rule, RulesAnswer,
};
use tailorbird::plugin::contract::peers::{Answer, Change, ClusterIdChoice};
use tailorbird::plugin::contract::types::{Address, Community, Family, Prefix, Range, Span};
use tailorbird::policy::OnError;

use crate::cluster::{Look, calico, configuration, node, peer, service, slice, three_nodes};
use crate::native::{NONE, Native, Rules, addition, advertise_answer, answer, change, rule, rules_answer};
use crate::world::World;

const MANY: usize = 1_000_000;

fn objects() -> String {
    [
        three_nodes(),
        node("four", "{ipv4Address: 10.0.0.4/24}", "{}"),
        configuration("{serviceClusterIPs: [{cidr: 10.96.0.0/12}]}"),
        calico("BGPFilter", "f", "{exportV4: [{action: Accept}]}"),
        peer("tor", "{peerIP: 192.0.2.254, asNumber: 65001}"),
        service("web", "{type: NodePort, clusterIP: 10.96.0.1, externalTrafficPolicy: Local}", &[]),
        slice("x", "web", "IPv4", "[{nodeName: a}]"),
        calico("BlockAffinity", "b", "{cidr: 10.244.0.0/26, node: a, state: confirmed, deleted: 'false'}"),
    ]
    .concat()
}

/// A change after which every plugin is asked something.
fn happens() -> String {
    [
        node("z", "{ipv4Address: 10.0.0.20/24, ipv6Address: 'fd00::20/64'}", "{}"),
        service("api", "{type: NodePort, clusterIP: 10.96.0.2, externalTrafficPolicy: Local}", &[]),
        slice("y", "api", "IPv4", "[{nodeName: a}]"),
        service("ftp", "{type: NodePort, clusterIP: 10.96.0.3, externalTrafficPolicy: Local}", &[]),
        slice("z", "ftp", "IPv4", "[{nodeName: a}]"),
    ]
    .concat()
}

/// A plugin that does its part for routes, and for all sessions.
fn sibling() -> Native {
    Native::new("sibling")
        .rules(|_, request| {
            let mut rules = Rules::default();
            let operations = rules.operations(&[Operation::AddCommunity(Community::Standard((1, 1)))]);
            for session in 0..request.sessions.len() {
                rules.assign(session, Direction::Export, &[Rule { operations, ..rule(Action::Continue) }]);
            }
            Ok(rules.done())
        })
        .advertise(|_, request| {
            let decisions = (0..request.routes.len() as u32)
                .map(|route| RouteDecision { priority: Some(7), ..decide(route) });
            Ok(AdvertiseAnswer { decisions: decisions.collect(), ..advertise_answer() })
        })
}

fn decide(route: u32) -> RouteDecision {
    RouteDecision { route, accept: true, communities: NONE, priority: None, to: None }
}

/// A world with the sibling and a plugin that is hostile while the switch is on.
struct Case {
    hostile: Native,
    on: Arc<AtomicBool>,
}

impl Case {
    fn world(&self, on_error: OnError) -> World {
        World::new([sibling(), self.hostile.clone().on_error(on_error)]).having(&objects())
    }

    /// What holds for every answer that is no good; `closed` is what a failure closes.
    #[track_caller]
    fn check(&self, what: &str, words: &str, closed: impl Fn(&mut World)) {
        let set = |on| self.on.store(on, Ordering::Relaxed);
        let good = || World::new([sibling()]).having(&objects()).having(&happens()).files();

        // Skipped: as if it was not there.
        set(true);
        let mut world = self.world(OnError::Skip);
        world.apply(&happens());
        let errors = world.errors();
        assert_eq!(errors.len(), 1, "{what}: {errors:?}");
        let text = errors[0].to_string();
        assert!(text.starts_with("plugin hostile: ") && text.contains(words), "{what}: {text}");
        assert!(text.len() < 400, "{what}: a message of {} bytes", text.len());
        assert_eq!(world.files(), good(), "{what}");

        // Kept: nothing is derived, and the next time all is well.
        set(false);
        let mut world = self.world(OnError::Keep);
        world.files();
        set(true);
        world.apply(&happens());
        let abandoned = world.derive().unwrap_err();
        assert!(abandoned.to_string().contains(words), "{what}: {abandoned}");
        set(false);
        assert_eq!(world.files(), good(), "{what}");

        // Rejected: closed, and BIRD takes it.
        set(true);
        let mut world = self.world(OnError::Reject);
        assert_eq!(world.errors().len(), 1);
        closed(&mut world);
        world.has("bird_aggr.cfg", "route 10.244.0.0/26 blackhole;");
        set(false);
        let mut healed = World::new([sibling()]).having(&objects());
        assert_eq!(world.files(), healed.files(), "{what}");
    }
}

fn repeat<T: Clone>(item: T) -> Vec<T> {
    vec![item; MANY]
}

fn span(start: u32, length: u32) -> Span {
    Span { start, length }
}

fn range(start: u32, count: u32) -> Range {
    Range { start, count }
}

#[test]
fn hostile_choices_of_peers() {
    // The candidates are Global_192_0_2_254 and three of the mesh, then two of IPv6; the nodes a, b, c and four.
    let filters = |text: &str, names: Vec<Span>, filters: Range| Answer {
        text: text.to_owned(),
        names,
        change: vec![Change { filters: Some(filters), ..change(0) }],
        ..answer()
    };
    let named = |text: &str| filters(text, vec![span(0, text.len() as u32)], range(0, 1));
    let changed = |change: Change| Answer { change: vec![change], ..answer() };
    let added =
        |node, family| Answer { drop: (0..6).collect(), add: vec![addition(node, family)], ..answer() };
    let cases: Vec<(&str, Answer, &str)> = vec![
        (
            "a place too far",
            Answer { drop: vec![99], ..answer() },
            "drop[0]: there is no place 99 in candidates",
        ),
        (
            "the last place",
            Answer { drop: vec![u32::MAX], ..answer() },
            "drop[0]: there is no place 4294967295",
        ),
        ("twice", Answer { drop: vec![1, 2, 1], ..answer() }, "drop[2]: place 1 is named twice"),
        (
            "dropped and changed",
            Answer { drop: vec![0], ..changed(change(0)) },
            "change[0]: place 0 is named twice",
        ),
        ("changed too far", changed(change(77)), "change[0]: there is no place 77"),
        ("a million drops", Answer { drop: repeat(0), ..answer() }, "drop has 1000000 items"),
        ("a million changes", Answer { change: repeat(change(0)), ..answer() }, "change has 1000000 items"),
        (
            "a million additions",
            Answer { add: repeat(addition(1, Family::V4)), ..answer() },
            "add has 1000000 items",
        ),
        ("a million names", Answer { names: repeat(span(0, 0)), ..answer() }, "names has 1000000 items"),
        ("port 0", changed(Change { port: Some(0), ..change(0) }), "change[0]: 0 is no port"),
        ("keepalive 0", changed(Change { keepalive_time: Some(0), ..change(0) }), "0 is no keepalive-time"),
        (
            "keepalive",
            changed(Change { keepalive_time: Some(21_846), ..change(0) }),
            "21846 is no keepalive-time",
        ),
        ("restart", changed(Change { restart_time: Some(4096), ..change(0) }), "4096 is no restart-time"),
        (
            "cluster id",
            Answer { cluster_id: ClusterIdChoice::Set(0), ..answer() },
            "cluster-id: 0 is no cluster id",
        ),
        (
            "remote cluster id",
            changed(Change { remote_cluster_id: ClusterIdChoice::Set(0), ..change(0) }),
            "change[0]: remote-cluster-id: 0",
        ),
        ("an unknown filter", named("nosuch"), "there is no BGPFilter \"nosuch\""),
        ("a filter with a quote", named("f'"), "filter \"f'\": not an object name"),
        ("BIRD's syntax", named("f(); accept; } #"), "not an object name"),
        ("a long name", named(&"x".repeat(100_000)), "not an object name"),
        ("no name", named(""), "not an object name"),
        ("a span too far", filters("f", vec![span(0, 2)], range(0, 1)), "2 bytes long, is no piece"),
        ("a span that wraps", filters("f", vec![span(u32::MAX, u32::MAX)], range(0, 1)), "is no piece"),
        ("half a character", filters("é", vec![span(0, 1)], range(0, 1)), "1 bytes long, is no piece"),
        (
            "a range too far",
            filters("f", vec![span(0, 1)], range(1, 1)),
            "1 items from place 1 are no piece of names",
        ),
        (
            "many filters",
            filters("f", vec![span(0, 1); 101], range(0, 101)),
            "filters has 101 items, and at most 100",
        ),
        ("an unknown node", added(9, Family::V4), "add[0]: there is no place 9 in nodes"),
        ("this node", added(0, Family::V4), "add[0]: node a is this node"),
        ("no address", added(3, Family::V6), "add[0]: node four has no IPv6 address"),
        (
            "there already",
            Answer { add: vec![addition(1, Family::V4)], ..answer() },
            "add[0]: there is a peering with 10.0.0.2 already",
        ),
        (
            "added twice",
            Answer { drop: (0..6).collect(), add: vec![addition(1, Family::V4); 2], ..answer() },
            "add[1]: 10.0.0.2 is added twice",
        ),
    ];
    for (what, bad, words) in cases {
        let on = Arc::new(AtomicBool::new(false));
        let switch = on.clone();
        let hostile = Native::new("hostile")
            .select(move |_, _| Ok(if switch.load(Ordering::Relaxed) { bad.clone() } else { answer() }));
        Case { hostile, on }.check(what, words, |world| assert!(world.sessions().is_empty(), "{what}"));
    }
}

#[test]
fn hostile_decisions_on_routes() {
    let decided =
        |decision: RouteDecision| AdvertiseAnswer { decisions: vec![decision], ..advertise_answer() };
    let to = |text: &str, span: Span| AdvertiseAnswer {
        text: text.to_owned(),
        destinations: vec![Destination::BgpPeer(span)],
        ..decided(RouteDecision { to: Some(range(0, 1)), ..decide(0) })
    };
    let named = |text: &str| to(text, span(0, text.len() as u32));
    let cases: Vec<(&str, AdvertiseAnswer, &str)> = vec![
        ("a place too far", decided(decide(1000)), "decisions[0]: there is no place 1000 in routes"),
        (
            "twice",
            AdvertiseAnswer { decisions: vec![decide(0); 2], ..advertise_answer() },
            "decisions[1]: place 0 is named twice",
        ),
        (
            "a million decisions",
            AdvertiseAnswer { decisions: repeat(decide(0)), ..advertise_answer() },
            "decisions has 1000000 items",
        ),
        (
            "a million communities",
            AdvertiseAnswer { communities: repeat(Community::Standard((1, 1))), ..advertise_answer() },
            "communities has 1000000 items",
        ),
        (
            "a million destinations",
            AdvertiseAnswer {
                destinations: repeat(Destination::Address(Address::V4(1))),
                ..advertise_answer()
            },
            "destinations has 1000000 items",
        ),
        (
            "many communities of a route",
            AdvertiseAnswer {
                communities: vec![Community::Standard((1, 1)); 65],
                ..decided(RouteDecision { communities: range(0, 65), ..decide(0) })
            },
            "communities has 65 items",
        ),
        (
            "communities too far",
            decided(RouteDecision { communities: range(0, 1), ..decide(0) }),
            "decisions[0]: 1 items from place 0 are no piece of communities",
        ),
        ("priority 0", decided(RouteDecision { priority: Some(0), ..decide(0) }), "0: not a route priority"),
        (
            "priority",
            decided(RouteDecision { priority: Some(2_147_483_647), ..decide(0) }),
            "2147483647: not a route priority",
        ),
        (
            "destinations too far",
            decided(RouteDecision { to: Some(range(0, 1)), ..decide(0) }),
            "are no piece of destinations",
        ),
        ("a peer with a quote", named("tor\""), "not an object name"),
        ("BIRD's syntax", named("10.0.0.1 ]) then accept; #"), "not an object name"),
        ("a span too far", to("tor", span(1, 3)), "is no piece of the answer's text"),
    ];
    for (what, bad, words) in cases {
        let on = Arc::new(AtomicBool::new(false));
        let switch = on.clone();
        let hostile = Native::new("hostile").advertise(move |_, _| {
            Ok(if switch.load(Ordering::Relaxed) { bad.clone() } else { advertise_answer() })
        });
        Case { hostile, on }.check(what, words, |world| {
            world.lacks("bird_aggr.cfg", "route 10.96.0.1/32");
            world.has("bird.cfg", "if (net = 10.244.0.0/26) then { reject; }");
        });
    }
}

#[test]
fn hostile_rules() {
    let v4 = |length, min, max| PrefixRange {
        prefix: Prefix { address: Address::V4(0x0a00_0000), length },
        min,
        max,
    };
    let assigned = |session, set| Assignment { session, direction: Direction::Import, set };
    // One rule in one set that the first session has.
    let one = |rule: Rule| RulesAnswer {
        rules: vec![rule],
        sets: vec![range(0, 1)],
        assignments: vec![assigned(0, 0)],
        ..rules_answer()
    };
    let prefix = |prefix: PrefixRange| RulesAnswer { prefixes: vec![prefix], ..rules_answer() };
    let operating = |operation: Operation, count: usize| RulesAnswer {
        operations: vec![operation; count],
        ..one(Rule { operations: range(0, count as u32), ..rule(Action::Accept) })
    };
    let community = Operation::AddCommunity(Community::Standard((1, 1)));
    let any = Rule {
        prefixes: Some(PrefixCondition { any_of: range(0, 100_000), negate: false }),
        ..rule(Action::Reject)
    };
    let cases: Vec<(&str, RulesAnswer, &str)> = vec![
        (
            "a session too far",
            RulesAnswer { assignments: vec![assigned(500, 0)], ..one(rule(Action::Reject)) },
            "assignments[0]: there is no place 500 in sessions",
        ),
        (
            "a set too far",
            RulesAnswer { assignments: vec![assigned(0, 1)], ..one(rule(Action::Reject)) },
            "assignments[0]: there is no place 1 in sets",
        ),
        (
            "twice",
            RulesAnswer { assignments: vec![assigned(0, 0); 2], ..one(rule(Action::Reject)) },
            "assignments[1]: session: place 0 is named twice",
        ),
        (
            "a million assignments",
            RulesAnswer { assignments: repeat(assigned(0, 0)), ..one(rule(Action::Reject)) },
            "assignments has 1000000 items",
        ),
        (
            "a million rules",
            RulesAnswer { rules: repeat(rule(Action::Reject)), ..rules_answer() },
            "rules has 1000000",
        ),
        (
            "a million prefixes",
            RulesAnswer { prefixes: repeat(v4(8, 8, 8)), ..rules_answer() },
            "prefixes has 1000000",
        ),
        ("a million sets", RulesAnswer { sets: repeat(NONE), ..rules_answer() }, "sets has 1000000"),
        (
            "prefixes that are shared very often",
            RulesAnswer { rules: vec![any; 100_000], prefixes: vec![v4(8, 8, 8); 100_000], ..rules_answer() },
            "rules[1]: all rules together have more than 100000 prefixes",
        ),
        (
            "rules that are shared very often",
            RulesAnswer {
                rules: vec![rule(Action::Reject); 1000],
                sets: vec![range(0, 1000); 100_000],
                ..rules_answer()
            },
            "sets[100]: all sets together have more than 100000 rules",
        ),
        (
            "a large set",
            RulesAnswer {
                rules: vec![rule(Action::Reject); 1001],
                sets: vec![range(0, 1001)],
                ..rules_answer()
            },
            "sets[0]: the set has 1001 items",
        ),
        ("a set too far", RulesAnswer { sets: vec![range(0, 1)], ..rules_answer() }, "are no piece of rules"),
        ("length 33", prefix(v4(33, 33, 33)), "prefixes[0]: 33 is no length of a prefix of 10.0.0.0"),
        ("below the length", prefix(v4(8, 7, 24)), "prefixes[0]: 7 to 24 is no range"),
        ("above the family", prefix(v4(8, 8, 33)), "prefixes[0]: 8 to 33 is no range"),
        ("a range backwards", prefix(v4(8, 24, 16)), "prefixes[0]: 24 to 16 is no range"),
        (
            "AS 0",
            RulesAnswer {
                numbers: vec![0],
                ..one(Rule { as_path_prefix: range(0, 1), ..rule(Action::Reject) })
            },
            "rules[0]: 0 is no AS number",
        ),
        (
            "a long path",
            RulesAnswer {
                numbers: vec![1; 11],
                ..one(Rule { as_path_prefix: range(0, 11), ..rule(Action::Reject) })
            },
            "as-path-prefix has 11 items",
        ),
        (
            "a path too far",
            one(Rule { as_path_prefix: range(0, 1), ..rule(Action::Reject) }),
            "are no piece of numbers",
        ),
        (
            "path lengths backwards",
            one(Rule { as_path_length: Some(LengthRange { min: 5, max: 4 }), ..rule(Action::Reject) }),
            "as-path-length: 5 to 4 is no range",
        ),
        ("priority 0", one(Rule { priority: Some(0), ..rule(Action::Reject) }), "0: not a route priority"),
        ("prepend 0", operating(Operation::PrependAs(0), 1), "0 is no AS number"),
        ("set priority 0", operating(Operation::SetPriority(0), 1), "0: not a route priority"),
        ("many operations", operating(community, 11), "operations has 11 items"),
        (
            "a rejection with operations",
            RulesAnswer {
                operations: vec![community],
                ..one(Rule { operations: range(0, 1), ..rule(Action::Reject) })
            },
            "a rule that rejects has no operations",
        ),
        (
            "prefixes too far",
            one(Rule {
                prefixes: Some(PrefixCondition { any_of: range(3, 1), negate: true }),
                ..rule(Action::Reject)
            }),
            "are no piece of prefixes",
        ),
    ];
    for (what, bad, words) in cases {
        let on = Arc::new(AtomicBool::new(false));
        let switch = on.clone();
        let hostile = Native::new("hostile")
            .rules(move |_, _| Ok(if switch.load(Ordering::Relaxed) { bad.clone() } else { rules_answer() }));
        Case { hostile, on }.check(what, words, |world| {
            for session in world.sessions() {
                let text = world.session(&session).unwrap();
                assert!(text.contains("import filter { reject ;"), "{what}: {session} is open: {text}");
                assert!(text.contains("- krt_metric ; } reject ;"), "{what}: {session} is open: {text}");
            }
        });
    }
}

#[test]
fn bird_takes_what_is_left_after_hostile_answers() {
    let hostile = |on_error| {
        Native::new("a \"name\"; }")
            .on_error(on_error)
            .rules(|_, _| Ok(RulesAnswer { sets: vec![range(9, 9)], ..rules_answer() }))
            .advertise(|_, _| Ok(AdvertiseAnswer { decisions: vec![decide(99)], ..advertise_answer() }))
    };
    let mut world = World::new([sibling(), hostile(OnError::Reject)]).having(&objects());
    world.bird_accepts();
    assert_eq!(world.errors().len(), 2);
    let mut world = World::new([sibling(), hostile(OnError::Skip)]).having(&objects());
    world.bird_accepts();
}
