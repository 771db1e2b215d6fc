use tailorbird_guest::AsNumber;
use tailorbird_guest::testing::{MockKv, OnePeering, configure, schema_faults};

use super::*;

const CORDONED: &str = "/tailorbird/v1/node/a/unschedulable";
const ANNOTATED: &str = "/tailorbird/v1/node/a/annotations/tailorbird.io/drain";

fn node_a() -> MockKv {
    MockKv::new().with(THIS_NODE, "a").granted(MANIFEST.wants)
}

fn internal() -> OnePeering {
    OnePeering::mesh([10, 0, 0, 2].into(), "b")
}

fn external() -> OnePeering {
    OnePeering::global("192.0.2.1", "switch").as_number(AsNumber::new(65001).unwrap())
}

fn rules(settings: &str, peering: &OnePeering, direction: Direction, kv: &MockKv) -> Vec<Rule> {
    let drain: Drain = configure(settings).unwrap();
    drain.rules(&peering.alone().view(), direction, kv).unwrap().rules().to_vec()
}

fn exports_marked(settings: &str, peering: &OnePeering, kv: &MockKv) -> bool {
    let rules = rules(settings, peering, Direction::Export, kv);
    let marked = [Rule::apply([
        Operation::AddCommunity(Community::Standard(65535, 0)),
        Operation::SetLocalPreference(0),
    ])];
    assert!(rules.is_empty() || rules == marked, "{rules:?}");
    !rules.is_empty()
}

#[test]
fn a_cordoned_node_marks_all_that_it_exports() {
    for peering in [internal(), external()] {
        assert!(!exports_marked("{}", &peering, &node_a()));
        assert!(exports_marked("{}", &peering, &node_a().with(CORDONED, "true")));
    }
}

#[test]
fn an_annotation_drains_a_node_too() {
    for (value, drains) in [("true", true), ("", true), ("since monday", true), ("false", false)] {
        assert_eq!(exports_marked("{}", &internal(), &node_a().with(ANNOTATED, value)), drains, "{value:?}");
    }
    // An annotation does not keep a cordoned node in service; the setting does.
    let both = || node_a().with(ANNOTATED, "false").with(CORDONED, "true");
    assert!(exports_marked("{}", &internal(), &both()));
    assert!(!exports_marked(r#"{"cordoned": false}"#, &internal(), &both()));
}

#[test]
fn another_annotation_can_be_chosen() {
    let kv = || node_a().with("/tailorbird/v1/node/a/annotations/tailorbird.io/leaving", "yes");
    assert!(exports_marked(r#"{"annotation": "tailorbird.io/leaving"}"#, &internal(), &kv()));
    assert!(!exports_marked("{}", &internal(), &kv()));
    for key in ["", "drain", "tailorbird.io/", "example.com/drain", "tailorbird.io/a/b"] {
        let error = configure::<Drain>(&format!(r#"{{"annotation": "{key}"}}"#)).unwrap_err();
        assert!(error.contains("`annotation`") && error.contains("tailorbird.io/NAME"), "{error}");
    }
}

#[test]
fn another_node_that_drains_changes_nothing_here() {
    let kv = node_a().with("/tailorbird/v1/node/b/unschedulable", "true");
    assert!(!exports_marked("{}", &internal(), &kv));
    assert!(kv.reads().keys.iter().all(|key| !key.contains("/node/b/")));
}

#[test]
fn routes_with_the_mark_are_least_preferred() {
    let lowered = [Rule::apply([Operation::SetLocalPreference(0)]).community(Community::Standard(65535, 0))];
    for peering in [internal(), external()] {
        let kv = node_a();
        assert_eq!(rules("{}", &peering, Direction::Import, &kv), lowered);
        // What it read would decide when it is asked again.
        assert!(kv.reads().keys.is_empty());
        assert!(rules(r#"{"import": false}"#, &peering, Direction::Import, &kv).is_empty());
    }
}

#[test]
fn sessions_can_be_left_out() {
    let kv = node_a().with(CORDONED, "true");
    for (sessions, inside, outside) in
        [("all", true, true), ("internal", true, false), ("external", false, true)]
    {
        let settings = format!(r#"{{"sessions": "{sessions}"}}"#);
        for (peering, touched) in [(internal(), inside), (external(), outside)] {
            assert_eq!(exports_marked(&settings, &peering, &kv), touched);
            assert_eq!(!rules(&settings, &peering, Direction::Import, &kv).is_empty(), touched);
        }
    }
}

#[test]
fn a_view_without_this_nodes_name_is_an_error() {
    let drain: Drain = configure("{}").unwrap();
    let error = drain.rules(&internal().alone().view(), Direction::Export, &MockKv::new()).unwrap_err();
    assert!(error.contains(THIS_NODE), "{error}");
}

#[test]
fn the_schema_is_what_the_settings_are() {
    let faults = schema_faults(include_str!("../settings.schema.json"), configure::<Drain>);
    assert!(faults.is_empty(), "{faults:#?}");
}
