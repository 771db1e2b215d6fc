//! BGPFilters as functions of BIRD.

use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tailorbird::bird::{Warning, compile, signature};
use tailorbird::engine::model::{FilterCall, FilterFunction};
use tailorbird::resources::{
    Action, BgpFilter, CidrMatch, FilterRules, MatchOperator, Operation, PeerType, Rule, RuleSource,
};
use tailorbird::types::{AsNumber, Community, Family, Name, Prefix, Priority};

fn filter(name: &str, v4: FilterRules, v6: FilterRules) -> BgpFilter {
    BgpFilter { name: name.parse().expect("a name"), v4, v6, json: "{}".into() }
}

fn cidr(operator: MatchOperator, cidr: &str, length: Option<(Option<u8>, Option<u8>)>) -> Option<CidrMatch> {
    Some(CidrMatch { cidr: cidr.parse().expect("a prefix"), operator, length })
}

fn asn(n: u32) -> AsNumber {
    AsNumber::new(n).expect("an AS number")
}

fn priority(n: i64) -> Priority {
    Priority::new(n).expect("a priority")
}

/// The lines of a filter with one import rule, and the warnings.
fn compiled(family: Family, rule: Rule) -> (Vec<String>, Vec<Warning>) {
    let rules = FilterRules { import: vec![rule], export: vec![] };
    let filter = match family {
        Family::V4 => filter("f", rules, FilterRules::default()),
        Family::V6 => filter("f", FilterRules::default(), rules),
    };
    let compiled = compile(&filter, family);
    let import = compiled.filter.expect("a filter").import.expect("a function");
    (import.lines.iter().map(ToString::to_string).collect(), compiled.warnings)
}

fn community(text: &str) -> Community {
    text.parse().expect("a community")
}

/// A rule of every kind, and its statement.
fn examples() -> Vec<(Family, Rule, &'static str)> {
    use Action::{Accept, Reject};
    use Family::{V4, V6};
    use MatchOperator::{Equal, In, NotEqual, NotIn};
    let net = |operator, text, length| Rule { cidr: cidr(operator, text, length), ..Rule::new(Accept) };
    vec![
        (V4, Rule::new(Accept), "accept;"),
        (V6, Rule::new(Reject), "reject;"),
        (V4, net(In, "10.1.0.0/16", None), "if ((net ~ 10.1.0.0/16)) then { accept; }"),
        (V4, net(NotIn, "10.1.0.0/16", None), "if ((net !~ 10.1.0.0/16)) then { accept; }"),
        (V6, net(Equal, "fd00:0::0/64", None), "if ((net = fd00:0::0/64)) then { accept; }"),
        (V6, net(NotEqual, "FD00::/8", None), "if ((net != FD00::/8)) then { accept; }"),
        (
            V4,
            net(In, "10.1.0.0/16", Some((Some(20), Some(24)))),
            "if ((net ~ [ 10.1.0.0/16{20,24} ])) then { accept; }",
        ),
        (
            V4,
            net(In, "10.1.0.0/16", Some((None, Some(16)))),
            "if ((net ~ [ 10.1.0.0/16{16,16} ])) then { accept; }",
        ),
        (
            V4,
            net(NotIn, "10.1.0.0/16", Some((Some(30), None))),
            "if ((net !~ [ 10.1.0.0/16{30,32} ])) then { accept; }",
        ),
        (
            V6,
            net(NotIn, "fd00::/8", Some((None, None))),
            "if ((net !~ [ fd00::/8{8,128} ])) then { accept; }",
        ),
        // Shorter than the CIDR itself is not inside it; longer than an address is nothing.
        (
            V4,
            net(In, "10.1.0.0/16", Some((Some(8), Some(24)))),
            "if ((net ~ [ 10.1.0.0/16{16,24} ])) then { accept; }",
        ),
        (
            V4,
            net(In, "10.1.0.0/16", Some((Some(8), Some(99)))),
            "if ((net ~ [ 10.1.0.0/16{16,32} ])) then { accept; }",
        ),
        // An exact match has one length; where that is allowed, the range says no more.
        (
            V4,
            net(Equal, "10.1.0.0/16", Some((Some(8), Some(24)))),
            "if ((net = 10.1.0.0/16)) then { accept; }",
        ),
        (V4, net(NotEqual, "10.1.0.0/16", Some((None, None))), "if ((net != 10.1.0.0/16)) then { accept; }"),
        (
            V4,
            Rule { source: Some(RuleSource::RemotePeers), ..Rule::new(Reject) },
            "if (((defined(source))&&(source ~ [ RTS_BGP ]))) then { reject; }",
        ),
        (
            V6,
            Rule { interface: Some("wlan*".parse().expect("a pattern")), ..Rule::new(Accept) },
            "if (((defined(ifname))&&(ifname ~ \"wlan*\"))) then { accept; }",
        ),
        (
            V4,
            Rule { community: Some(community("65010:7")), ..Rule::new(Accept) },
            "if (((65010, 7) ~ bgp_community)) then { accept; }",
        ),
        (
            V4,
            Rule { community: Some(community("4294967295:0:7")), ..Rule::new(Accept) },
            "if (((4294967295, 0, 7) ~ bgp_large_community)) then { accept; }",
        ),
        (
            V6,
            Rule { as_path_prefix: vec![asn(4_294_967_295), asn(1)], ..Rule::new(Accept) },
            "if ((bgp_path ~ [= 4294967295 1 * =])) then { accept; }",
        ),
        (
            V4,
            Rule { priority: Some(priority(1)), ..Rule::new(Reject) },
            "if ((defined(bgp_local_pref)&&(bgp_local_pref = 2147483646))) then { reject; }",
        ),
        (
            V4,
            Rule { peer_type: Some(PeerType::External), ..Rule::new(Accept) },
            "if (!is_same_as) then { accept; }",
        ),
        (
            V4,
            Rule {
                operations: vec![
                    Operation::PrependAsPath(vec![asn(65_010), asn(65_011)]),
                    Operation::AddCommunity(community("1:2:3")),
                    Operation::SetPriority(priority(512)),
                    Operation::AddCommunity(community("1:2")),
                    Operation::SetPriority(priority(512)),
                ],
                ..Rule::new(Accept)
            },
            "bgp_path.prepend(65011); bgp_path.prepend(65010); bgp_large_community.add((1, 2, 3)); \
             bgp_local_pref = 2147483135; bgp_community.add((1, 2)); bgp_local_pref = 2147483135; accept;",
        ),
        (
            V4,
            Rule {
                action: Accept,
                cidr: cidr(NotIn, "10.1.0.0/16", Some((Some(17), None))),
                source: Some(RuleSource::RemotePeers),
                interface: Some("eth0".parse().expect("a pattern")),
                community: Some(community("65010:7")),
                as_path_prefix: vec![asn(65_010)],
                priority: Some(priority(2_147_483_646)),
                peer_type: Some(PeerType::Internal),
                operations: vec![Operation::SetPriority(priority(100))],
            },
            "if (is_same_as) then { if ((net !~ [ 10.1.0.0/16{17,32} ])&&((defined(source))&&(source ~ [ RTS_BGP ]))\
             &&((defined(ifname))&&(ifname ~ \"eth0\"))&&((65010, 7) ~ bgp_community)&&(bgp_path ~ [= 65010 * =])\
             &&(defined(bgp_local_pref)&&(bgp_local_pref = 1))) then { bgp_local_pref = 2147483547; accept; } }",
        ),
    ]
}

#[test]
fn a_rule_becomes_a_statement() {
    for (family, rule, expected) in examples() {
        assert_eq!(compiled(family, rule), (vec![expected.to_owned()], vec![]));
    }
}

#[test]
fn a_prefix_condition_that_no_route_decides_is_resolved() {
    use Family::{V4, V6};
    use MatchOperator::{Equal, In, NotEqual, NotIn};
    #[rustfmt::skip]
    let cases = [
        (V4, In, "10.0.0.0/28", (None, Some(24)), false, "leaves no length inside cidr 10.0.0.0/28 (from 28 to 24)"),
        (V4, In, "10.0.0.0/8", (Some(24), Some(16)), false, "(from 24 to 16)"),
        (V4, In, "10.0.0.0/8", (Some(33), None), false, "(from 33 to 32)"),
        (V6, In, "fd00::/64", (Some(15), Some(55)), false, "(from 64 to 55)"),
        (V4, NotIn, "10.0.0.0/28", (None, Some(24)), true, "(from 28 to 24)"),
        (V6, NotIn, "fd00::/64", (Some(99), Some(98)), true, "(from 99 to 98)"),
        (V4, Equal, "10.0.0.0/8", (Some(9), None), false, "excludes the length of cidr 10.0.0.0/8"),
        (V4, Equal, "10.0.0.0/8", (None, Some(7)), false, "(from 8 to 7)"),
        (V4, NotEqual, "10.0.0.0/8", (Some(9), None), true, "excludes the length of cidr 10.0.0.0/8"),
        (V4, In, "fd00::/64", (None, None), false, "other family"),
        (V6, NotEqual, "10.0.0.0/8", (None, None), true, "other family"),
    ];
    for (family, operator, text, length, always, why) in cases {
        let condition = cidr(operator, text, Some(length));
        let (lines, warnings) =
            compiled(family, Rule { cidr: condition.clone(), ..Rule::new(Action::Accept) });
        assert_eq!(lines, if always { vec!["accept;"] } else { vec![] }, "{operator:?} {text} {length:?}");
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert_eq!(warning.field, format!("spec.importV{}[0]", family.digit()));
        assert!(warning.reason.contains(why), "{warning:?}");
        assert!(warning.reason.contains(if always { "always holds" } else { "never match" }), "{warning:?}");

        // The other conditions stay, or go with the rule.
        let more = Rule {
            cidr: condition,
            source: Some(RuleSource::RemotePeers),
            peer_type: Some(PeerType::Internal),
            ..Rule::new(Action::Reject)
        };
        let statement =
            "if (is_same_as) then { if (((defined(source))&&(source ~ [ RTS_BGP ]))) then { reject; } }";
        assert_eq!(compiled(family, more).0, if always { vec![statement] } else { vec![] });
    }
}

#[test]
fn the_signature_is_that_of_the_functions() {
    let never = Rule {
        cidr: cidr(MatchOperator::In, "10.0.0.0/28", Some((None, Some(4)))),
        peer_type: Some(PeerType::External),
        ..Rule::new(Action::Accept)
    };
    let v4 = FilterRules {
        import: vec![never.clone()],
        export: vec![Rule::new(Action::Reject), never, Rule::new(Action::Accept)],
    };
    let v6 = FilterRules { import: vec![], export: vec![Rule::new(Action::Reject)] };
    let filter = filter("My_filter.1", v4, v6);

    let four = compile(&filter, Family::V4);
    let both = four.filter.expect("rules for IPv4");
    let import = both.import.expect("import");
    assert_eq!(import.symbol.as_str(), "'bgp_My_filter.1_importFilterV4'");
    assert!(import.takes_same_as && import.lines.is_empty(), "called although no rule is left");
    let export = both.export.expect("export");
    assert_eq!(export.lines.len(), 2);
    assert_eq!(four.warnings.len(), 2);
    assert!(four.warnings[1].field.contains("exportV4[1]"), "{:?}", four.warnings);

    let calls = signature(&filter, Family::V4);
    let call: FilterCall = calls.import.expect("import").into();
    assert_eq!((call.function, call.takes_same_as), (Some(import.symbol), true));
    assert!(!call.reject && call.reason.is_none());
    assert!(calls.export.expect("export").takes_same_as);

    let six = compile(&filter, Family::V6).filter.expect("rules for IPv6");
    assert!(six.import.is_none() && !six.export.expect("export").takes_same_as);
    assert!(signature(&filter, Family::V6).import.is_none());

    let empty = self::filter("empty", FilterRules::default(), FilterRules::default());
    assert!(compile(&empty, Family::V4).filter.is_none());
}

#[test]
fn symbols_are_at_most_64_characters() {
    let symbol = |name: &str| {
        let rules = FilterRules { import: vec![], export: vec![Rule::new(Action::Accept)] };
        signature(&filter(name, FilterRules::default(), rules), Family::V6)
            .export
            .expect("export")
            .function
            .to_string()
    };
    let fits = "a".repeat(45);
    assert_eq!(symbol(&fits), format!("'bgp_{fits}_exportFilterV6'"));
    // sha256("b" * 46) and sha256("c" * 253)
    assert_eq!(symbol(&"b".repeat(46)), format!("'bgp_{}_6AFED5022F96DF06_exportFilterV6'", "b".repeat(28)));
    assert_eq!(symbol(&"c".repeat(253)), format!("'bgp_{}_4B4E34EB907BEA94_exportFilterV6'", "c".repeat(28)));
    for len in 1..=253 {
        assert!(symbol(&"d".repeat(len)).len() <= 64 + "''".len());
    }
}

fn any_prefix(family: Family) -> BoxedStrategy<Prefix> {
    match family {
        Family::V4 => (any::<u32>(), 0..=32u8)
            .prop_map(|(ip, len)| format!("{}/{len}", std::net::Ipv4Addr::from(ip)))
            .prop_map(|text| text.parse().expect("a prefix"))
            .boxed(),
        // Also as people write them: zeros and capitals.
        Family::V6 => (any::<u128>(), 0..=128u8, 0..4u8)
            .prop_map(|(bits, len, style)| {
                let bits = bits & u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
                let ip = std::net::Ipv6Addr::from(bits);
                let full = ip.segments().map(|s| format!("{s:04x}")).join(":");
                match style {
                    0 => format!("{ip}/{len}"),
                    1 => format!("{full}/{len}"),
                    2 => format!("{}/{len}", full.to_uppercase()),
                    _ => format!("{}/{len}", ip.segments().map(|s| format!("{s:x}")).join(":")),
                }
            })
            .prop_map(|text| text.parse().expect("a prefix"))
            .boxed(),
    }
}

fn any_rule(family: Family) -> impl Strategy<Value = Rule> {
    use MatchOperator::{Equal, In, NotEqual, NotIn};
    let length = prop::option::of((prop::option::of(0..=family.bits()), prop::option::of(0..=family.bits())));
    let operator = prop::sample::select(vec![Equal, NotEqual, In, NotIn]);
    let cidr = (any_prefix(family), operator, length).prop_map(|(cidr, operator, length)| CidrMatch {
        cidr,
        operator,
        length,
    });
    let number = (1..=u32::MAX).prop_map(asn);
    let community = prop_oneof![
        any::<(u16, u16)>().prop_map(|(a, b)| Community::Standard(a, b)),
        any::<(u32, u32, u32)>().prop_map(|(a, b, c)| Community::Large(a, b, c)),
    ];
    let priority = (1..=2_147_483_646i64).prop_map(priority);
    let operation = prop_oneof![
        community.clone().prop_map(Operation::AddCommunity),
        prop::collection::vec(number.clone(), 1..10).prop_map(Operation::PrependAsPath),
        priority.clone().prop_map(Operation::SetPriority),
    ];
    // Everything printable is tried; the type keeps what it allows.
    let interface = "[!-~]{1,15}".prop_map(|text| text.parse().ok());
    (
        prop::sample::select(vec![Action::Accept, Action::Reject]),
        prop::option::of(cidr),
        prop::option::of(Just(RuleSource::RemotePeers)),
        interface,
        prop::option::of(community),
        prop::collection::vec(number, 0..10),
        prop::option::of(priority),
        prop::option::of(prop::sample::select(vec![PeerType::External, PeerType::Internal])),
        prop::collection::vec(operation, 0..10),
    )
        .prop_map(
            |(
                action,
                cidr,
                source,
                interface,
                community,
                as_path_prefix,
                priority,
                peer_type,
                operations,
            )| {
                Rule {
                    action,
                    cidr,
                    source,
                    interface,
                    community,
                    as_path_prefix,
                    priority,
                    peer_type,
                    operations,
                }
            },
        )
}

fn any_filter() -> impl Strategy<Value = BgpFilter> {
    let rules = |family| {
        let list = move || prop::collection::vec(any_rule(family), 0..5);
        (list(), list()).prop_map(|(import, export)| FilterRules { import, export })
    };
    ("[a-zA-Z0-9._-]{0,250}", rules(Family::V4), rules(Family::V6))
        .prop_map(|(name, v4, v6)| filter(&format!("x{name}"), v4, v6))
}

/// A file of BIRD with these filters' functions and a filter that calls them all.
fn file(filters: &[BgpFilter], family: Family) -> String {
    let mut text = "router id 192.0.2.1;\nprotocol device {\n}\n".to_owned();
    let mut calls = String::new();
    let mut write = |function: FilterFunction| {
        let (parameter, argument) =
            if function.takes_same_as { ("bool is_same_as", "true") } else { ("", "") };
        text.push_str(&format!("function {}({parameter}) {{\n", function.symbol));
        for line in &function.lines {
            text.push_str(&format!("  {line}\n"));
        }
        text.push_str("}\n");
        calls.push_str(&format!("  {}({argument});\n", function.symbol));
    };
    for filter in filters {
        let compiled = compile(filter, family).filter;
        let functions = compiled.into_iter().flat_map(|f| [f.import, f.export]);
        functions.flatten().for_each(&mut write);
    }
    text.push_str(&format!("filter all_of_them {{\n{calls}  accept;\n}}\n"));
    text
}

/// The daemons of BIRD 1: in the directory `TAILORBIRD_BIRD1`, or on the path (only BIRD 1 has a `bird6`).
fn daemons() -> Option<[PathBuf; 2]> {
    let both = |dir: &Path| {
        Some([dir.join("bird"), dir.join("bird6")]).filter(|both| both.iter().all(|d| d.is_file()))
    };
    match std::env::var_os("TAILORBIRD_BIRD1") {
        Some(dir) => Some(both(Path::new(&dir)).expect("TAILORBIRD_BIRD1 has bird and bird6")),
        None => std::env::split_paths(&std::env::var_os("PATH")?).find_map(|dir| both(&dir)),
    }
}

/// Lets the daemons read the filters, each family in one file.
fn accepted_by_bird(filters: &[BgpFilter]) {
    let Some(daemons) = daemons() else {
        eprintln!("skipped: no BIRD 1 (set TAILORBIRD_BIRD1 to a directory with bird and bird6)");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    for family in Family::ALL {
        let path = dir.path().join("bird.cfg");
        let text = file(filters, family);
        std::fs::write(&path, &text).expect("written");
        let run = Command::new(&daemons[family.index()])
            .arg("-p")
            .arg("-c")
            .arg(&path)
            .output()
            .expect("BIRD runs");
        let message = String::from_utf8_lossy(&run.stderr);
        // The message begins with `FILE:LINE:COLUMN`.
        let line = message.split(':').nth(2).and_then(|n| n.parse::<usize>().ok()).unwrap_or(1);
        assert!(run.status.success(), "{message}\n{}", text.lines().nth(line - 1).unwrap_or_default());
    }
}

#[test]
fn bird_accepts_every_kind_of_rule() {
    let mut v4 = FilterRules::default();
    let mut v6 = FilterRules::default();
    for (family, rule, _) in examples() {
        let rules = if family == Family::V4 { &mut v4 } else { &mut v6 };
        rules.import.push(rule.clone());
        rules.export.insert(0, rule);
    }
    let never = Rule {
        cidr: cidr(MatchOperator::In, "10.0.0.0/28", Some((None, Some(4)))),
        ..Rule::new(Action::Accept)
    };
    let nothing = FilterRules { import: vec![never], export: vec![] };
    accepted_by_bird(&[
        filter("every-kind", v4.clone(), v6.clone()),
        filter(&"9.".repeat(126), v4, v6),
        filter("nothing-left", nothing, FilterRules::default()),
    ]);
}

#[test]
fn bird_accepts_any_filter() {
    let mut runner = TestRunner::default();
    let filters: Vec<BgpFilter> = (0..300)
        .map(|i| {
            let mut filter = any_filter().new_tree(&mut runner).expect("a filter").current();
            let name: Name = filter.name;
            // The number tells them apart.
            filter.name =
                format!("{i}{}", &name.as_str()[..name.as_str().len().min(249)]).parse().expect("a name");
            filter
        })
        .collect();
    accepted_by_bird(&filters);
}

proptest! {
    #[test]
    fn statements_are_whole(filter in any_filter()) {
        for family in Family::ALL {
            let calls = signature(&filter, family);
            let compiled = compile(&filter, family).filter;
            let (import, export) = compiled.map(|f| (f.import, f.export)).unwrap_or_default();
            for (call, function) in [(calls.import, import), (calls.export, export)] {
                prop_assert_eq!(
                    call.map(|c| (c.function, c.takes_same_as)),
                    function.as_ref().map(|f| (f.symbol.clone(), f.takes_same_as))
                );
                for line in function.iter().flat_map(|f| &f.lines) {
                    let line = line.as_str();
                    let mut depth = 0i32;
                    let mut quoted = false;
                    for c in line.chars() {
                        match c {
                            '"' => quoted = !quoted,
                            '{' | '(' if !quoted => depth += 1,
                            '}' | ')' if !quoted => depth -= 1,
                            _ => {}
                        }
                        prop_assert!(depth >= 0 && c != '\n' && c != '#', "{}", line);
                    }
                    prop_assert!(depth == 0 && !quoted && (line.ends_with(';') || line.ends_with('}')), "{}", line);
                }
            }
        }
    }
}
