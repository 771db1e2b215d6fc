//! Conformance cases by way of a real API server: what is rendered is what is rendered from files, and what existing
//! clusters run with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use tailorbird::engine::Settings;
use tailorbird::environment;

use crate::cluster::Cluster;
use crate::follow::{Followed, from_files_and_workloads, pace};
use crate::server::skipped;
use crate::support::tokens;

#[derive(Deserialize)]
struct Case {
    node: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
    step: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    #[serde(default)]
    apply: Vec<PathBuf>,
    #[serde(default)]
    delete: Vec<Reference>,
    expect: PathBuf,
}

#[derive(Deserialize)]
struct Reference {
    kind: String,
    namespace: Option<String>,
    name: String,
}

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

fn cases() -> Vec<PathBuf> {
    let folder = match std::env::var_os("TAILORBIRD_CONFORMANCE") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance"),
    };
    let Ok(entries) = fs::read_dir(folder.join("cases")) else {
        skipped(&format!("there are no conformance cases in {} (TAILORBIRD_CONFORMANCE)", folder.display()));
        return Vec::new();
    };
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    let all = std::env::var_os("TAILORBIRD_ALL_CASES").is_some();
    cases.into_iter().step_by(if all { 1 } else { ONE_OF }).collect()
}

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
            let facts = [
                ("bgp", "ipv4Address", "IPv4Address"),
                ("bgp", "ipv6Address", "IPv6Address"),
                ("bgp", "asNumber", "ASNumber"),
                ("bgp", "routeReflectorClusterID", "RouteReflectorClusterID"),
                ("wireguard", "interfaceIPv4Address", "IPv4WireguardInterfaceAddr"),
                ("wireguard", "interfaceIPv6Address", "IPv6WireguardInterfaceAddr"),
            ];
            for (part, field, annotation) in facts {
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

/// What became of a case.
enum Outcome {
    /// So many files are as they should be.
    Same(usize),
    /// The API server refuses an object of it.
    NotHeld(String),
}

async fn try_case(api: &Cluster, folder: &Path) -> Outcome {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let case: Case = toml::from_str(&fs::read_to_string(folder.join("case.toml")).unwrap()).unwrap();
    let lookup = |name: &str| match case.env.get(name) {
        // A path in a case is relative to the case.
        Some(value) if folder.join(value).is_dir() => Some(folder.join(value).display().to_string()),
        other => other.cloned(),
    };
    let settings: Settings = environment::settings(case.node.parse().unwrap(), &lookup).unwrap();
    let status = lookup("CALICO_ENDPOINT_STATUS_PATH_PREFIX")
        .map_or_else(|| folder.join("no-status"), |folder| Path::new(&folder).join("endpoint-status"));
    let mut objects: Vec<Value> = Vec::new();
    let mut followed: Option<Followed> = None;
    let mut compared = 0;
    for step in &case.step {
        for file in &step.apply {
            let text = fs::read_to_string(folder.join(file)).unwrap();
            for object in serde_saphyr::from_multiple::<Value>(&text).unwrap() {
                let reference = Reference {
                    kind: object["kind"].as_str().unwrap().to_owned(),
                    namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
                    name: object["metadata"]["name"].as_str().unwrap().to_owned(),
                };
                objects.retain(|other| !(reference.is(other) && other["apiVersion"] == object["apiVersion"]));
                if let Err(code) = api.try_apply(&held(&object)).await {
                    return Outcome::NotHeld(format!(
                        "{name}: {} {}: {code}",
                        reference.kind, reference.name
                    ));
                }
                objects.push(object);
            }
        }
        for reference in &step.delete {
            for object in objects.extract_if(.., |object| reference.is(object)) {
                api.delete(&held(&object)).await;
            }
        }
        let followed = match &mut followed {
            Some(followed) => followed,
            none => {
                let secrets = objects.iter().filter(|object| object["kind"] == "Secret");
                let names: Vec<&str> =
                    secrets.map(|secret| secret["metadata"]["name"].as_str().unwrap()).collect();
                let file = api.deployed(&names).await;
                let mut new = Followed::start(file, settings.clone(), pace()).await;
                new.load_workloads(&status);
                none.insert(new)
            }
        };
        let what = format!("{name}, {}", step.expect.display());
        followed.until_rendered(&what, &from_files_and_workloads(&settings, &objects, &status)).await;
        for (file, text) in followed.render() {
            let expected = fs::read_to_string(folder.join(&step.expect).join(&file)).unwrap_or_default();
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

#[tokio::test]
async fn cases_are_rendered_as_from_files_and_as_by_existing_clusters() {
    let cases = cases();
    let (mut compared, mut not_held) = (0, Vec::new());
    for folder in &cases {
        let Some(api) = Cluster::take().await else { return };
        match try_case(&api, folder).await {
            Outcome::Same(files) => compared += files,
            Outcome::NotHeld(reason) => not_held.push(reason),
        }
    }
    println!(
        "{} cases, {compared} files compared; {} hold objects that the API server refuses:\n{}",
        cases.len(),
        not_held.len(),
        not_held.join("\n")
    );
    assert!(not_held.len() * 4 <= cases.len(), "too many cases are not tried: {not_held:#?}");
}
