//! Facts of nodes and Services that are in the view for plugins alone.

use tailorbird::engine::{Engine, Event, Settings};
use tailorbird::resources::{Defaults, Kind};

use crate::cluster::{key, read};

const NODE: &str = "---\napiVersion: v1\nkind: Node\nmetadata: {name: b, labels: {rack: r1, topology.kubernetes.io/zone: z1}, \
    annotations: {example.com/drain: 'yes', other: '1'}}\nspec: {unschedulable: true}\n";
const CALICO: &str = "---\napiVersion: projectcalico.org/v3\nkind: Node\nmetadata: {name: b, labels: {calico: l}, \
    annotations: {example.com/drain: 'no', own: x}}\n";
const SERVICE: &str = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {app: web}, annotations: {example.com/to: tor}}\n\
    spec: {type: NodePort, clusterIP: 10.96.0.1}\n";

fn engine(published: &[&str]) -> Engine {
    let mut settings = Settings::new("a".parse().unwrap());
    settings.published = published.iter().map(|text| text.parse().unwrap()).collect();
    Engine::new(settings)
}

fn apply(engine: &mut Engine, yaml: &str) -> bool {
    let published = engine.settings().published.clone();
    let defaults = Defaults { published, ..Defaults::default() };
    let changes = engine.apply(read(yaml, &defaults).into_iter().map(Event::Upsert));
    changes.from != changes.to
}

fn keys(engine: &Engine) -> Vec<String> {
    let rows = engine.snapshot().view.list("/tailorbird");
    rows.map(|(key, value)| format!("{} = {value}", key.strip_prefix("/tailorbird/v1/").unwrap())).collect()
}

#[test]
fn everything_that_is_covered_is_there() {
    let mut engine = engine(&["/tailorbird/v1"]);
    assert_eq!(keys(&engine), ["this-node = a"]);
    apply(&mut engine, &[NODE, CALICO, SERVICE].concat());
    assert_eq!(
        keys(&engine),
        [
            "node/b/annotations/example.com/drain = yes",
            "node/b/annotations/other = 1",
            "node/b/annotations/own = x",
            "node/b/labels/calico = l",
            "node/b/labels/rack = r1",
            "node/b/labels/topology.kubernetes.io/zone = z1",
            "node/b/unschedulable = true",
            "service/default/web/annotations/example.com/to = tor",
            "service/default/web/labels/app = web",
            "service/default/web/type = NodePort",
            "this-node = a",
        ]
    );
}

#[test]
fn nothing_else_is_kept() {
    let mut none = engine(&[]);
    apply(&mut none, &[NODE, SERVICE].concat());
    assert_eq!(keys(&none), Vec::<String>::new());
    assert!(!apply(&mut none, &NODE.replace("unschedulable: true", "podCIDR: ''")), "not even as a change");
    assert!(!apply(&mut none, &SERVICE.replace("tor", "other")));

    let mut some =
        engine(&["/tailorbird/v1/node/*/labels/rack", "/tailorbird/v1/service/*/*/annotations/example.com"]);
    apply(&mut some, &[NODE, SERVICE].concat());
    assert_eq!(
        keys(&some),
        ["node/b/labels/rack = r1", "service/default/web/annotations/example.com/to = tor"]
    );
    assert!(!apply(&mut some, &NODE.replace("unschedulable: true", "podCIDR: ''")));
}

#[test]
fn keys_follow_their_object() {
    let mut engine = engine(&["/tailorbird/v1/node", "/tailorbird/v1/service"]);
    apply(&mut engine, &[NODE, SERVICE].concat());
    let before = engine.snapshot().revision;
    let untouched = "/tailorbird/v1/node/b/labels/topology.kubernetes.io/zone";
    assert!(apply(
        &mut engine,
        &NODE.replace("rack: r1", "rack: r2").replace("unschedulable: true", "podCIDR: ''")
    ));
    let view = &engine.snapshot().view;
    assert_eq!(view.get("/tailorbird/v1/node/b/labels/rack").as_deref(), Some("r2"));
    assert_eq!(view.get("/tailorbird/v1/node/b/unschedulable"), None);
    assert!(
        view.revision_of(untouched) <= before
            && view.revision_of("/tailorbird/v1/node/b/labels/rack") > before
    );
    assert!(apply(&mut engine, &SERVICE.replace("type: NodePort, ", "").replace("{app: web}", "{}")));
    let view = &engine.snapshot().view;
    assert_eq!(view.get("/tailorbird/v1/service/default/web/type").as_deref(), Some("ClusterIP"));
    assert_eq!(view.get("/tailorbird/v1/service/default/web/labels/app"), None);
    engine.apply([Event::Delete(key(Kind::Service, "web")), Event::Delete(key(Kind::KubeNode, "b"))]);
    assert_eq!(keys(&engine), Vec::<String>::new());
}

#[test]
fn a_text_that_a_template_could_take_for_a_typed_value_is_left_out() {
    let mut engine = engine(&["/tailorbird/v1"]);
    let hostile = SERVICE
        .replace("tor", "\"\\u0001accept; }\"")
        .replace("{app: web}", "{app: \"\\u0001\", \"\\u0001\": x, good: yep}");
    apply(&mut engine, &hostile);
    apply(&mut engine, &NODE.replace("rack: r1", "rack: \"\\u0001r\""));
    let keys = keys(&engine);
    assert!(keys.iter().all(|row| !row.contains('\u{1}')), "{keys:?}");
    assert!(keys.contains(&"service/default/web/labels/good = yep".to_owned()), "{keys:?}");
    let reports: Vec<String> = engine.reports().map(|report| report.error.to_string()).collect();
    assert!(
        reports.iter().any(|report| report.contains("example.com/to") && report.contains("control")),
        "{reports:?}"
    );
}

#[test]
fn annotations_that_are_no_mapping_cost_the_service_nothing_else() {
    let mut engine = engine(&["/tailorbird/v1"]);
    apply(&mut engine, &SERVICE.replace("{example.com/to: tor}", "[no, mapping]"));
    assert!(keys(&engine).contains(&"service/default/web/type = NodePort".to_owned()));
    assert_eq!(engine.reports().count(), 1);
}
