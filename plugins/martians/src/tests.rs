use tailorbird_guest::testing::{BgpRoute, MockKv, OnePeering, configure, schema_faults};
use tailorbird_guest::{AsNumber, Community};

use super::*;

fn number(value: u32) -> AsNumber {
    AsNumber::new(value).unwrap()
}

fn switch(ip: &str) -> OnePeering {
    OnePeering::global(ip, "switch").as_number(number(65001))
}

/// A cluster with pools and Service ranges.
fn cluster() -> MockKv {
    [
        "/calico/v1/ipam/v4/pool/20.0.0.0-16",
        "/calico/v1/ipam/v6/pool/2a00:64::-48",
        "/calico/rejectcidrs/20.96.0.0-16",
        "/calico/rejectcidrsv6/2a00:96::-112",
        // What would not end in a prefix is passed over.
        "/calico/rejectcidrs/nothing",
    ]
    .into_iter()
    .fold(MockKv::new(), |kv, key| kv.with(key, "{}"))
    .granted(MANIFEST.wants)
}

fn import(settings: &str, peering: &OnePeering) -> RuleSet {
    let martians: Martians = configure(settings).unwrap();
    martians.rules(&peering.alone().view(), Direction::Import, &cluster()).unwrap()
}

/// Whether a route is let through from a router outside.
fn passes(settings: &str, route: BgpRoute) -> bool {
    let peering = switch(if route.prefix.family() == Family::V4 { "20.1.0.1" } else { "2a00::1" });
    let passed = route.clone().through(&import(settings, &peering), &peering.alone().view());
    // What is let through is not changed.
    assert!(passed.is_none() || passed == Some(route));
    passed.is_some()
}

#[test]
fn routes_of_the_internet_pass() {
    for prefix in
        ["1.0.0.0/8", "8.8.8.0/24", "223.255.0.0/16", "2001:4860::/32", "2a00:1450:4001::/48", "2600::/16"]
    {
        assert!(passes("{}", BgpRoute::new(prefix)), "{prefix}");
    }
}

#[test]
fn prefixes_that_are_nobodys_are_refused() {
    let refused = [
        "0.1.0.0/16",
        "127.0.0.0/8",
        "127.1.0.0/16",
        "169.254.0.0/16",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/8",
        "239.1.0.0/16",
        "240.0.0.0/8",
        "255.255.255.0/24",
        "::/16",
        "64:ff9b::/48",
        "100::/48",
        "2001::/32",
        "2001:2::/48",
        "2001:10::/28",
        "2001:db8::/32",
        "2001:db8:1::/48",
        "2002::/16",
        "3ffe::/16",
        "3fff::/20",
        "4000::/16",
        "5f00::/16",
        "fe80::/16",
        "fec0::/16",
        "ff00::/16",
        "ff0e::/32",
    ];
    for prefix in refused {
        assert!(!passes("{}", BgpRoute::new(prefix)), "{prefix}");
        assert!(passes(&format!(r#"{{"allow": ["{prefix}"]}}"#), BgpRoute::new(prefix)), "{prefix}");
    }
}

#[test]
fn prefixes_of_private_use_are_refused_if_the_operator_says_so() {
    for prefix in [
        "10.0.0.0/8",
        "10.1.0.0/16",
        "172.31.0.0/16",
        "192.168.1.0/24",
        "100.64.0.0/10",
        "fc00::/16",
        "fd12:3456::/32",
    ] {
        assert!(passes("{}", BgpRoute::new(prefix)), "{prefix}");
        assert!(!passes(r#"{"allow_private": false}"#, BgpRoute::new(prefix)), "{prefix}");
    }
}

#[test]
fn the_clusters_own_prefixes_do_not_come_from_outside() {
    for prefix in ["20.0.0.0/16", "20.0.1.0/24", "20.96.0.0/16", "20.96.7.0/24", "2a00:64::/48"] {
        assert!(!passes("{}", BgpRoute::new(prefix)), "{prefix}");
        assert!(passes(r#"{"allow_cluster": true}"#, BgpRoute::new(prefix)), "{prefix}");
    }
    // A less specific route is none of the cluster's.
    assert!(passes("{}", BgpRoute::new("20.0.0.0/8")));
    assert!(!passes(r#"{"ipv6_lengths": [16, 128]}"#, BgpRoute::new("2a00:96::1/128")));
}

#[test]
fn the_default_route_is_refused_unless_allowed() {
    let any = r#"{"ipv4_lengths": [0, 32], "ipv6_lengths": [0, 128]}"#;
    let allowed = r#"{"allow": ["0.0.0.0/0", "::/0"]}"#;
    for prefix in ["0.0.0.0/0", "::/0"] {
        assert!(!passes("{}", BgpRoute::new(prefix)), "{prefix}");
        assert!(!passes(any, BgpRoute::new(prefix)), "{prefix}");
        assert!(passes(allowed, BgpRoute::new(prefix)), "{prefix}");
    }
    // It alone is allowed then, not what is in it.
    assert!(!passes(allowed, BgpRoute::new("127.0.0.0/8")) && !passes(allowed, BgpRoute::new("ff00::/16")));
}

#[test]
fn lengths_have_bounds() {
    for (prefix, usual, narrow) in [
        ("8.0.0.0/7", false, false),
        ("8.0.0.0/8", true, false),
        ("8.8.0.0/16", true, true),
        ("8.8.8.0/24", true, false),
        ("8.8.8.0/25", false, false),
        ("2600::/15", false, false),
        ("2600::/16", true, false),
        ("2600::/32", true, true),
        ("2600:1:2::/48", true, false),
        ("2600:1:2::/49", false, false),
    ] {
        assert_eq!(passes("{}", BgpRoute::new(prefix)), usual, "{prefix}");
        let settings = r#"{"ipv4_lengths": [9, 23], "ipv6_lengths": [17, 47]}"#;
        assert_eq!(passes(settings, BgpRoute::new(prefix)), narrow, "{prefix}");
    }
}

#[test]
fn what_is_allowed_passes_whatever_else_it_is() {
    let settings = r#"{"allow": ["192.0.2.0/24", "20.0.0.0/24", "2001:db8::/32"]}"#;
    let long = || (0..200).map(|_| number(65001));
    for prefix in ["192.0.2.0/24", "192.0.2.9/32", "20.0.0.0/26", "2001:db8::1/128"] {
        assert!(passes(settings, BgpRoute::new(prefix).as_path(long())), "{prefix}");
    }
    assert!(!passes(settings, BgpRoute::new("192.0.0.0/16").as_path(long())));
}

#[test]
fn a_path_must_not_be_too_long() {
    let of_length = |length: usize| BgpRoute::new("8.8.8.0/24").as_path(vec![number(65001); length]);
    assert!(passes("{}", of_length(64)) && !passes("{}", of_length(65)));
    let short = r#"{"longest_as_path": 3}"#;
    assert!(passes(short, of_length(3)) && !passes(short, of_length(4)));
}

#[test]
fn only_import_from_routers_outside_is_touched() {
    let outside = switch("20.1.0.1");
    let workload = OnePeering::node("20.1.0.1", "vm").as_number(number(65001));
    let inside = OnePeering::global("20.1.0.1", "switch");
    let node = switch("20.1.0.1").remote_node("b");
    let mesh = OnePeering::mesh([20, 1, 0, 1].into(), "b").as_number(number(65001));
    assert!(!import("{}", &outside).is_empty() && !import("{}", &workload).is_empty());
    for peering in [inside, node, mesh] {
        assert!(import("{}", &peering).is_empty(), "{peering:?}");
    }
    let martians: Martians = configure("{}").unwrap();
    let export = martians.rules(&outside.alone().view(), Direction::Export, &cluster()).unwrap();
    assert!(export.is_empty());
    assert!(import(r#"{"kinds": ["node"]}"#, &outside).is_empty());
    assert!(import(r#"{"except": ["other", "switch"]}"#, &outside).is_empty());
    assert!(!import(r#"{"except": ["other"]}"#, &outside).is_empty());
}

#[test]
fn rules_follow_the_clusters_prefixes() {
    let martians: Martians = configure("{}").unwrap();
    let peering = switch("20.1.0.1").alone();
    let rules = |kv: &MockKv| martians.rules(&peering.view(), Direction::Import, kv).unwrap();
    let passes = |kv: &MockKv, prefix: &str| {
        BgpRoute::new(prefix).community(Community::NO_EXPORT).through(&rules(kv), &peering.view()).is_some()
    };
    let before = cluster();
    let after = cluster().with("/calico/v1/ipam/v4/pool/30.0.0.0-16", "{}");
    for (kv, there) in [(&before, true), (&after, false), (&before, true)] {
        assert_eq!(passes(kv, "30.0.0.0/16"), there);
        assert_eq!(rules(kv), rules(kv));
    }
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    for (settings, told) in [
        (r#"{"ipv4_lengths": [24, 8]}"#, "`ipv4_lengths`"),
        (r#"{"ipv4_lengths": [8, 33]}"#, "at most 32"),
        (r#"{"ipv6_lengths": [0, 129]}"#, "at most 128"),
        (r#"{"longest_as_path": 0}"#, "`longest_as_path`"),
        (r#"{"allow": ["10.0.0.0"]}"#, "`10.0.0.0` is no prefix"),
        (r#"{"kinds": ["mesh"]}"#, "mesh"),
        (r#"{"alow": []}"#, "alow"),
    ] {
        let error = configure::<Martians>(settings).unwrap_err();
        assert!(error.contains(told), "{settings}: {error}");
    }
}

#[test]
fn the_schema_is_what_the_settings_are() {
    let faults = schema_faults(include_str!("../settings.schema.json"), configure::<Martians>);
    assert!(faults.is_empty(), "{faults:#?}");
}
