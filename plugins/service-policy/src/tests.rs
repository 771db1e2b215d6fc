use serde_json::{Value, json};
use tailorbird_guest::testing::{MockKv, OneRoute, configure, schema_faults, take_log};
use tailorbird_guest::{Community, Destination};

use super::*;

fn annotated(annotations: &[(&str, &str)]) -> MockKv {
    annotations.iter().fold(MockKv::new().granted(MANIFEST.wants), |kv, (name, value)| {
        kv.with(format!("/tailorbird/v1/service/shop/web/annotations/bgp.tailorbird.io/{name}"), *value)
    })
}

fn decide(settings: Value, kv: &MockKv) -> Decision {
    let policy: ServicePolicy = configure(&settings.to_string()).unwrap();
    policy.advertise(&OneRoute::service("10.96.0.20/32", "shop", "web").view(), kv).unwrap()
}

/// A decision that is not the malformed annotation's.
fn decided(settings: Value, annotations: &[(&str, &str)]) -> Decision {
    take_log();
    let decision = decide(settings, &annotated(annotations));
    assert_eq!(take_log(), []);
    decision
}

fn peer(name: &str) -> Destination {
    Destination::BgpPeer(name.to_owned())
}

fn address(ip: &str) -> Destination {
    Destination::Address(ip.parse().unwrap())
}

#[test]
fn a_service_that_says_nothing_goes_out_as_it_is() {
    assert_eq!(decided(json!({}), &[]), Decision::accept());
    assert_eq!(decided(json!({"namespaces": {"other": {"advertise": false}}}), &[]), Decision::accept());
}

#[test]
fn a_service_gets_the_communities_that_it_asks_for() {
    let both = [Community::Standard(65000, 7), Community::Large(65000, 1, 2)];
    for text in
        ["65000:7,65000:1:2", " 65000:7 , 65000:1:2 ", "65000:1:2\n65000:7", "65000:7 65000:7,,65000:1:2"]
    {
        assert_eq!(
            decided(json!({}), &[("communities", text)]),
            Decision::accept().communities(both),
            "{text:?}"
        );
    }
    assert_eq!(decided(json!({}), &[("communities", "")]), Decision::accept());
}

#[test]
fn a_service_can_stay_at_home() {
    assert_eq!(decided(json!({}), &[("advertise", "false"), ("communities", "1:2")]), Decision::reject());
    assert_eq!(decided(json!({}), &[("advertise", "true")]), Decision::accept());
}

#[test]
fn a_service_can_go_to_some_peers_only() {
    let only = Decision::accept().only_to([peer("rack-e1.v4"), address("192.0.2.1"), address("2001:db8::1")]);
    let text = "rack-e1.v4, 192.0.2.1 2001:db8::1";
    assert_eq!(decided(json!({}), &[("peers", text)]), only);
}

#[test]
fn a_namespace_has_a_policy_for_all_its_services() {
    let settings = json!({"namespaces": {"shop": {
        "communities": ["65000:7"], "peers": ["switch", "192.0.2.1"]
    }}});
    let policy = Decision::accept()
        .community(Community::Standard(65000, 7))
        .only_to([peer("switch"), address("192.0.2.1")]);
    assert_eq!(decided(settings, &[]), policy);
}

#[test]
fn a_service_narrows_what_its_namespace_has_and_never_widens_it() {
    let closed = json!({"namespaces": {"shop": {"advertise": false}}});
    let open = [("advertise", "true"), ("peers", "switch"), ("communities", "1:1")];
    assert_eq!(decided(closed, &open), Decision::reject());

    let settings = json!({"namespaces": {"shop": {"communities": ["1:9", "1:1"], "peers": ["a", "b"]}}});
    let narrowed = [("peers", "b c"), ("communities", "1:5,1:9")];
    let all = [1, 5, 9].map(|value| Community::Standard(1, value));
    assert_eq!(
        decided(settings.clone(), &narrowed),
        Decision::accept().communities(all).only_to([peer("b")])
    );
    // Peers of which none is the namespace's: to nobody.
    let elsewhere = decided(settings, &[("peers", "c")]);
    assert_eq!(
        elsewhere,
        Decision::accept().communities([1, 9].map(|v| Community::Standard(1, v))).only_to([])
    );
}

#[test]
fn a_malformed_annotation_closes_the_route_and_says_so() {
    let many = vec!["1:1"; 33].join(",");
    for (name, value, told) in [
        ("advertise", "no", "`no` is neither `true` nor `false`"),
        ("communities", "65000", "`65000` is no community"),
        ("communities", "1:1 65536:1", "`65536:1` is no community"),
        ("communities", many.as_str(), "more than 32 items"),
        ("peers", "", "names nobody"),
        ("peers", "Switch", "`Switch` is neither an address nor the name of a BGPPeer"),
        ("peers", "a'; reject", "`a';` is neither"),
        ("peers", "-a", "neither"),
        ("community", "1:1", "there are only `advertise`, `communities` and `peers`"),
    ] {
        take_log();
        assert_eq!(decide(json!({}), &annotated(&[(name, value)])), Decision::reject(), "{name}: {value}");
        let log = take_log();
        assert_eq!(log.len(), 1, "{log:?}");
        let (level, line) = &log[0];
        assert_eq!(*level, log::Level::Warn);
        for part in ["Service shop/web", "10.96.0.20/32", &format!("bgp.tailorbird.io/{name}"), told] {
            assert!(line.contains(part), "{line:?} has no {part:?}");
        }
    }
}

#[test]
fn annotations_may_ask_for_communities_of_some_numbers_only() {
    let settings = json!({"communities_of": [65000, 4200000000_u32]});
    let both = [Community::Standard(65000, 1), Community::Large(4_200_000_000, 1, 1)];
    assert_eq!(
        decided(settings.clone(), &[("communities", "65000:1 4200000000:1:1")]),
        Decision::accept().communities(both)
    );
    for text in ["65535:666", "65001:1:1"] {
        assert_eq!(decide(settings.clone(), &annotated(&[("communities", text)])), Decision::reject());
    }
    // The operator's own are not held against it.
    let own = json!({"communities_of": [], "namespaces": {"shop": {"communities": ["65535:666"]}}});
    assert_eq!(decided(own, &[]), Decision::accept().community(Community::BLACKHOLE));
}

#[test]
fn annotations_can_be_switched_off() {
    let kv = annotated(&[("advertise", "false")]);
    assert_eq!(decide(json!({"annotations": false}), &kv), Decision::accept());
    assert!(kv.reads().paths.is_empty() && kv.reads().keys.is_empty());
}

#[test]
fn only_what_the_service_says_is_read() {
    let kv = annotated(&[("advertise", "false")])
        .with("/tailorbird/v1/service/shop/web2/annotations/bgp.tailorbird.io/advertise", "false");
    let policy: ServicePolicy = configure("{}").unwrap();
    let other = OneRoute::service("10.96.0.21/32", "shop", "we");
    assert_eq!(policy.advertise(&other.view(), &kv), Ok(Decision::accept()));
    let paths = kv.reads().paths;
    assert_eq!(paths.len(), 1);
    assert!(paths.contains("/tailorbird/v1/service/shop/we/annotations/bgp.tailorbird.io"));
}

#[test]
fn routes_that_are_no_services_are_left_alone() {
    let policy: ServicePolicy = configure(r#"{"namespaces": {"": {"advertise": false}}}"#).unwrap();
    for route in [OneRoute::block("10.64.0.0/26"), OneRoute::cidr("10.96.0.0/16")] {
        assert_eq!(policy.advertise(&route.view(), &MockKv::new()), Ok(Decision::accept()));
    }
}

#[test]
fn settings_that_cannot_be_meant_are_refused() {
    let many = vec!["1:1"; 33];
    for (settings, told) in [
        (json!({"namespaces": {"shop": {"communities": many}}}), "`namespaces.shop`: `communities` has 33"),
        (json!({"namespaces": {"shop": {"peers": ["A B"]}}}), "`namespaces.shop`: `peers`: `A B` is neither"),
        (json!({"namespaces": {"shop": {"communities": ["x"]}}}), "`x` is no community"),
    ] {
        let error = configure::<ServicePolicy>(&settings.to_string()).unwrap_err();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn the_schema_is_what_the_settings_are() {
    let schema = include_str!("../settings.schema.json");
    let faults = schema_faults(schema, configure::<ServicePolicy>);
    assert!(faults.is_empty(), "{faults:#?}");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let of_namespace = schema["properties"]["namespaces"]["additionalProperties"].to_string();
    let faults = schema_faults(&of_namespace, |settings| {
        let settings: Value = serde_json::from_str(settings).unwrap();
        configure::<ServicePolicy>(&json!({"namespaces": {"shop": settings}}).to_string())
    });
    assert!(faults.is_empty(), "{faults:#?}");
}
