//! What a running BIRD does with the functions that rules and decisions become.

use std::collections::BTreeMap;

use tailorbird::bird::{
    Export, PluginAction, PluginOperation, PluginRule, PrefixRange, PrefixSet, Way, compile_rules,
};
use tailorbird::types::{Community, Family, Priority};

use crate::cluster::birds;

type Passed = BTreeMap<String, BTreeMap<String, String>>;

fn rule(action: PluginAction, prefix: &str, operations: &[PluginOperation]) -> PluginRule {
    let any_of: Vec<PrefixRange> = match prefix {
        "" => Vec::new(),
        prefix => {
            let (net, max) = prefix.split_once(' ').unwrap();
            let net: ipnet::IpNet = net.parse().unwrap();
            vec![PrefixRange::new(net, net.prefix_len(), max.parse().unwrap()).unwrap()]
        }
    };
    PluginRule {
        prefixes: (!prefix.is_empty()).then_some(PrefixSet { any_of, negate: false }),
        from_peers: false,
        community: None,
        as_path_prefix: Vec::new(),
        as_path_length: None,
        priority: None,
        peer_type: None,
        operations: operations.to_vec(),
        action,
    }
}

fn not(mut rule: PluginRule) -> PluginRule {
    rule.prefixes = rule.prefixes.map(|set| PrefixSet { negate: true, ..set });
    rule
}

/// The routes that a set of rules, and after it `rest`, lets through.
fn pass(rules: &[PluginRule], rest: &str, routes: &[&str]) -> Option<Passed> {
    let function = compile_rules(rules, Family::V4, Way::Export)?;
    let function = function.filter.export?;
    let lines: Vec<&str> = function.lines.iter().map(|line| line.as_str()).collect();
    let functions = format!("function {}() {{\n{}\n}}", function.symbol, lines.join("\n"));
    // A session has given a route its path before it is filtered.
    let filter = format!("bgp_path = +empty+;\n{}();\n{rest}", function.symbol);
    Some(birds()?.pass(&functions, &filter, routes))
}

fn preference(passed: &Passed, prefix: &str) -> Option<String> {
    passed.get(prefix)?.get("local_pref").cloned()
}

#[test]
fn accept_leaves_the_set_and_not_the_filter() {
    use PluginAction::{Accept, Continue, Reject};
    let set = PluginOperation::SetLocalPreference;
    let rules = [
        rule(Accept, "10.1.0.0/16 24", &[set(1)]),
        rule(Reject, "10.2.0.0/16 24", &[]),
        rule(Continue, "10.3.0.0/16 24", &[set(3), PluginOperation::AddCommunity(Community::Standard(1, 3))]),
        not(rule(Continue, "10.0.0.0/8 32", &[set(4)])),
        rule(Continue, "10.3.0.0/24 24", &[PluginOperation::AddCommunity(Community::Large(1, 2, 3))]),
        rule(Reject, "10.1.0.0/16 24", &[]),
    ];
    let routes = ["10.1.0.0/24", "10.1.1.0/25", "10.1.2.0/24", "10.2.0.0/24", "10.3.0.0/24", "192.0.2.0/24"];
    // What comes after the set holds one back that the set accepted.
    let rest = "if (net = 10.1.2.0/24) then reject;\naccept;";
    let Some(passed) = pass(&rules, rest, &routes) else { return };
    let names: Vec<&String> = passed.keys().collect();
    assert_eq!(names, ["10.1.0.0/24", "10.1.1.0/25", "10.3.0.0/24", "192.0.2.0/24"]);
    assert_eq!(preference(&passed, "10.1.0.0/24").as_deref(), Some("1"));
    assert_eq!(preference(&passed, "10.1.1.0/25"), None, "longer than the range");
    assert_eq!(preference(&passed, "10.3.0.0/24").as_deref(), Some("3"));
    assert_eq!(passed["10.3.0.0/24"]["community"], "(1,3)");
    assert_eq!(passed["10.3.0.0/24"]["large_community"], "(1, 2, 3)");
    assert_eq!(preference(&passed, "192.0.2.0/24").as_deref(), Some("4"));
}

#[test]
fn communities_are_taken_away_and_lengths_of_paths_compared() {
    use PluginAction::{Continue, Reject};
    let standard = |value| Community::Standard(1, value);
    let mut longer = rule(Reject, "", &[]);
    longer.as_path_length = Some((2, 3));
    let mut with = rule(Continue, "", &[PluginOperation::SetPriority(Priority::new(7).unwrap())]);
    with.community = Some(standard(2));
    let mut from_peers = rule(Reject, "", &[]);
    from_peers.from_peers = true;
    let rules = [
        rule(
            Continue,
            "",
            &[
                PluginOperation::AddCommunity(standard(1)),
                PluginOperation::AddCommunity(standard(2)),
                PluginOperation::RemoveCommunity(standard(1)),
            ],
        ),
        with,
        from_peers,
        rule(Continue, "10.1.0.0/24 24", &[PluginOperation::Prepend("65001".parse().unwrap())]),
        rule(Continue, "10.2.0.0/24 24", &[PluginOperation::Prepend("65001".parse().unwrap()); 2]),
        longer,
    ];
    let Some(passed) = pass(&rules, "accept;", &["10.1.0.0/24", "10.2.0.0/24"]) else { return };
    assert_eq!(passed.keys().collect::<Vec<_>>(), ["10.1.0.0/24"]);
    assert_eq!(passed["10.1.0.0/24"]["community"], "(1,2)");
    assert_eq!(passed["10.1.0.0/24"]["as_path"], "65001");
    assert_eq!(preference(&passed, "10.1.0.0/24").as_deref(), Some("2147483640"));
}

#[test]
fn a_route_goes_where_it_may() {
    let Some(birds) = birds() else { return };
    let export = |to: &[&str]| Export {
        communities: vec![Community::Standard(65535, 0)],
        priority: Some(Priority::new(100).unwrap()),
        to: Some(to.iter().map(|ip| ip.parse().unwrap()).collect()),
        ..Export::default()
    };
    let statements: Vec<String> = [
        ("10.1.0.0/24", export(&["10.0.0.2", "10.0.0.3"])),
        ("10.2.0.0/24", export(&["10.0.0.3"])),
        ("10.3.0.0/24", export(&[])),
        ("10.4.0.0/24", Export { reject: true, ..Export::default() }),
        ("10.5.0.0/24", Export { to: None, ..export(&[]) }),
        ("10.6.0.0/24", Export::default()),
    ]
    .iter()
    .filter_map(|(prefix, export)| export.statement(&prefix.parse().unwrap()))
    .map(|statement| statement.to_string())
    .collect();
    assert_eq!(statements.len(), 5);
    let functions = format!("function route_policies(ip peer_address) {{\n{}\n}}", statements.join("\n"));
    let routes = ["10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24", "10.4.0.0/24", "10.5.0.0/24", "10.6.0.0/24"];
    let passed = birds.pass(&functions, "route_policies(10.0.0.2);\naccept;", &routes);
    assert_eq!(passed.keys().collect::<Vec<_>>(), ["10.1.0.0/24", "10.5.0.0/24", "10.6.0.0/24"]);
    for prefix in ["10.1.0.0/24", "10.5.0.0/24"] {
        assert_eq!(passed[prefix]["community"], "(65535,0)");
        assert_eq!(preference(&passed, prefix).as_deref(), Some("2147483547"));
    }
    assert!(passed["10.6.0.0/24"].is_empty());
}
