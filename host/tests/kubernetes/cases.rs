//! Conformance cases by way of a real API server: what is rendered is what is rendered from files, and what existing
//! clusters run with.

use std::fs;

use serde_json::{Value, json};
use tailorbird::engine::Event;

use crate::cluster::Cluster;
use crate::etcds::Etcd;
use crate::follow::{Followed, Store, pace};
use crate::stored::{Beside, follow_beside, stored};
use crate::support::cases::{Case, Reference, cases};
use crate::support::tokens;
use crate::typhas::{Typha, follow, has_typha};

impl Reference {
    fn is(&self, object: &Value) -> bool {
        let namespace = object["metadata"]["namespace"].as_str();
        object["kind"] == self.kind.as_str()
            && object["metadata"]["name"] == self.name.as_str()
            && (self.namespace.is_none() || namespace.is_none() || namespace == self.namespace.as_deref())
    }
}

/// How many cases there are for each one that is tried, unless all are.
const ONE_OF: usize = 45;

/// What a Calico node says, and the annotation in which a node of Kubernetes does.
pub(crate) const FACTS: [(&str, &str, &str); 6] = [
    ("bgp", "ipv4Address", "IPv4Address"),
    ("bgp", "ipv6Address", "IPv6Address"),
    ("bgp", "asNumber", "ASNumber"),
    ("bgp", "routeReflectorClusterID", "RouteReflectorClusterID"),
    ("wireguard", "interfaceIPv4Address", "IPv4WireguardInterfaceAddr"),
    ("wireguard", "interfaceIPv6Address", "IPv6WireguardInterfaceAddr"),
];

/// An object as Kubernetes' API holds it: nodes are its own, with Calico's facts in annotations, and Calico's other objects
/// are in the group of their definitions.
fn held(object: &Value) -> Value {
    let mut held = object.clone();
    if object["apiVersion"] == "projectcalico.org/v3" {
        held["apiVersion"] = "crd.projectcalico.org/v1".into();
    }
    match object["kind"].as_str() {
        Some("Node") if object["apiVersion"] != "v1" => {
            let mut annotations = object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
            for (part, field, annotation) in FACTS {
                match &object["spec"][part][field] {
                    Value::Null => {}
                    Value::String(text) => {
                        annotations.insert(format!("projectcalico.org/{annotation}"), text.as_str().into());
                    }
                    other => {
                        annotations
                            .insert(format!("projectcalico.org/{annotation}"), other.to_string().into());
                    }
                }
            }
            let mut labels = object["metadata"]["labels"].clone();
            for label in labels.as_object_mut().into_iter().flat_map(|labels| labels.values_mut()) {
                if !label.is_string() {
                    *label = label.to_string().into();
                }
            }
            json!({
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": object["metadata"]["name"], "labels": labels, "annotations": annotations},
                "spec": {"podCIDRs": object["status"]["podCIDRs"]},
            })
        }
        // A Service must have one, and none matters here.
        Some("Service") if object["spec"]["ports"].is_null() && object["spec"].is_object() => {
            held["spec"]["ports"] = json!([{"port": 80}]);
            held
        }
        _ => held,
    }
}

/// Cases with a node's BGPConfiguration that names a community of the cluster's. Calico's validation wants it to define what it
/// names, so Typha does not send it.
const UNSENT: [(&str, &str); 5] = [
    ("generated--3008", "node.node-e"),
    ("generated--3015", "node.node-d-x"),
    ("generated--3020", "node.node-f-x"),
    ("generated--3022", "node.node-i"),
    ("generated--3083", "node.node-h"),
];

/// What Typha's log says of each of them.
const VALIDATION: &str = "Validation failed; treating as missing error=error with field \
     Spec.PrefixAdvertisement[].Communities[] = 'com-1' (community used is invalid or not defined.) key=BGPConfiguration";

/// Cases that no API server holds, with what it does not take and its answer: addresses in a Service's status have no length, and
/// these do.
const NOT_HELD: [(&str, &str); 2] = [
    ("mesh--static-routes", "Service service-1: 422"),
    ("mesh--static-routes-step2", "Service service-1: 422"),
];

/// What became of a case.
enum Outcome {
    /// So many files are as they should be.
    Same(usize),
    /// An object of it cannot be there, as is known.
    NotHeld,
    /// An object of it does not come, as is known, and counts as gone.
    Unsent,
}

/// By which way the objects come.
#[derive(Clone, Copy)]
enum By<'a> {
    Kubernetes,
    Typha,
    Etcd(&'a Etcd),
}

impl By<'_> {
    /// Puts an object there; why it cannot be there otherwise.
    async fn apply(self, api: &Cluster, object: &Value, others: &[Value]) -> Result<(), String> {
        let (By::Etcd(etcd), Some((key, _))) = (self, stored(object)) else {
            return api.try_apply(&held(object)).await.map_err(|code| code.to_string());
        };
        // Two objects of files may be one in etcd: a node of Calico's and of Kubernetes', or two that have one block.
        if others.iter().filter_map(stored).any(|(other, _)| other == key) {
            return Err(format!("{key} is there"));
        }
        etcd.apply(object).await;
        Ok(())
    }

    async fn delete(self, api: &Cluster, object: &Value) {
        match self {
            By::Etcd(etcd) => Beside(etcd, api).delete(object).await,
            By::Kubernetes | By::Typha => api.delete(&held(object)).await,
        }
    }
}

/// Whether Typha, which is in sync, has told of an object. Pools have other names there.
fn is_sent(followed: &Followed, object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap();
    if !["BGPConfiguration", "BGPPeer", "BGPFilter", "IPPool"].contains(&kind) {
        return true;
    }
    let name = match kind {
        "IPPool" => {
            object["spec"]["cidr"].as_str().unwrap_or_default().replacen('/', "-", 1).replace(':', ".")
        }
        _ => object["metadata"]["name"].as_str().unwrap().to_owned(),
    };
    let key = format!("{kind} {name}");
    followed.states[0].events.iter().any(|event| match event {
        Event::Upsert(parsed) => parsed.key.to_string() == key,
        Event::Delete(_) => false,
    })
}

async fn try_case(api: &Cluster, case: &Case, by: By<'_>) -> Outcome {
    let name = case.folder.file_name().unwrap().to_str().unwrap();
    let settings = case.settings(&case.file.node.parse().unwrap());
    let status = case.status_folder();
    let mut objects: Vec<Value> = Vec::new();
    let mut typha = None;
    let mut followed: Option<Followed> = None;
    let mut compared = 0;
    for step in &case.file.step {
        for file in &step.apply {
            let text = fs::read_to_string(case.folder.join(file)).unwrap();
            for object in serde_saphyr::from_multiple::<Value>(&text).unwrap() {
                let reference = Reference {
                    kind: object["kind"].as_str().unwrap().to_owned(),
                    namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
                    name: object["metadata"]["name"].as_str().unwrap().to_owned(),
                };
                objects.retain(|other| !(reference.is(other) && other["apiVersion"] == object["apiVersion"]));
                if let Err(reason) = by.apply(api, &object, &objects).await {
                    let reason = format!("{} {}: {reason}", reference.kind, reference.name);
                    assert!(NOT_HELD.contains(&(name, &reason)), "{name}: {reason}");
                    return Outcome::NotHeld;
                }
                objects.push(object);
            }
        }
        for reference in &step.delete {
            for object in objects.extract_if(.., |object| reference.is(object)) {
                by.delete(api, &object).await;
            }
        }
        let is_first = followed.is_none();
        let followed = match &mut followed {
            Some(followed) => followed,
            none => {
                let secrets = objects.iter().filter(|object| object["kind"] == "Secret");
                let names: Vec<&str> =
                    secrets.map(|secret| secret["metadata"]["name"].as_str().unwrap()).collect();
                let file = api.deployed(&names).await;
                let mut new = match by {
                    By::Kubernetes => Followed::start(file, settings.clone(), pace()).await,
                    By::Typha => {
                        let typha = typha.insert(Typha::start(api, &[]).await);
                        follow(typha.config(), file, settings.clone()).await
                    }
                    By::Etcd(etcd) => follow_beside(etcd.config(), file, settings.clone()).await,
                };
                new.load_workloads(&status);
                none.insert(new)
            }
        };
        let what = format!("{name}, {}", step.expect.display());
        if let Some(typha) = typha.as_ref().filter(|_| is_first) {
            followed.until(&what, Followed::in_sync).await;
            let unsent: Vec<Value> = objects.extract_if(.., |object| !is_sent(followed, object)).collect();
            let named: Vec<_> =
                unsent.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
            let known = UNSENT.iter().filter(|(case, _)| *case == name);
            assert_eq!(named, known.map(|(_, object)| *object).collect::<Vec<_>>(), "{what} comes without");
            let log = typha.log();
            for object in &named {
                let reason = format!("{VALIDATION}({object})");
                assert!(log.lines().any(|line| line.contains(&reason)), "{what}: {reason}");
            }
            if !named.is_empty() {
                followed.until_rendered(&format!("{what} without {named:?}"), &objects).await;
                return Outcome::Unsent;
            }
        }
        followed.until_rendered(&what, &objects).await;
        for (file, text) in followed.render() {
            let expected = fs::read_to_string(case.folder.join(&step.expect).join(&file)).unwrap_or_default();
            tokens::compare(&expected, &text)
                .unwrap_or_else(|difference| panic!("{what}, {file}: {difference}"));
            compared += 1;
        }
    }
    if let Some(followed) = followed {
        followed.stop().await;
    }
    Outcome::Same(compared)
}

/// Tries cases, each by the way that is made for it.
async fn try_all(by: By<'_>, cases: impl Iterator<Item = Case>) {
    let (mut compared, mut not_held, mut unsent) = (0, 0, 0);
    let mut tried = 0;
    for case in cases {
        let Some(api) = Cluster::take().await else { return };
        if let By::Etcd(etcd) = by {
            etcd.wipe().await;
        }
        match try_case(&api, &case, by).await {
            Outcome::Same(files) => compared += files,
            Outcome::NotHeld => not_held += 1,
            Outcome::Unsent => unsent += 1,
        }
        tried += 1;
    }
    println!(
        "{tried} cases, {compared} files compared; of {not_held} an object cannot be there, of {unsent} one does not come"
    );
}

/// The cases that are tried: all where all are asked for, else a few, and this one.
fn chosen(from: usize, also: Option<&str>) -> impl Iterator<Item = Case> {
    let is_all = std::env::var_os("TAILORBIRD_ALL_CASES").is_some();
    let is_also = move |case: &Case| also.is_some_and(|also| case.folder.ends_with(also));
    let all = cases().into_iter().enumerate();
    all.filter(move |(at, case)| is_all || at % ONE_OF == from || is_also(case)).map(|(_, case)| case)
}

#[tokio::test]
async fn cases_are_rendered_as_from_files_and_as_by_existing_clusters() {
    try_all(By::Kubernetes, chosen(0, None)).await;
}

// Each way has cases of its own, so that together they try more.

#[tokio::test]
async fn cases_by_way_of_typha_are_rendered_as_from_files() {
    if has_typha() {
        try_all(By::Typha, chosen(ONE_OF / 2, Some(UNSENT[0].0))).await;
    }
}

#[tokio::test]
async fn cases_by_way_of_etcd_are_rendered_as_from_files() {
    let Some(etcd) = Etcd::start(&[]).await else { return };
    try_all(By::Etcd(&etcd), chosen(ONE_OF / 3, None)).await;
}
