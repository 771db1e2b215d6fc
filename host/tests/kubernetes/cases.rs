//! Conformance cases by way of a real API server: what is rendered is what is rendered from files, and what existing
//! clusters run with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use tailorbird::environment;

use crate::cluster::Cluster;
use crate::follow::{Followed, from_files, pace};
use crate::server::ADMIN;
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
    apply: Vec<PathBuf>,
    expect: PathBuf,
}

/// How many cases there are for each one that is tried, unless all are.
const ONE_OF: usize = 30;

/// The cases that were made with a real API server, so that it takes every object in them.
fn cases() -> Vec<PathBuf> {
    let folder = match std::env::var_os("TAILORBIRD_CONFORMANCE") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance"),
    };
    let Ok(entries) = fs::read_dir(folder.join("cases")) else {
        println!("SKIPPED: there are no conformance cases in {} (TAILORBIRD_CONFORMANCE)", folder.display());
        return Vec::new();
    };
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cases.retain(|case| case.file_name().unwrap().to_str().unwrap().starts_with("generated--"));
    cases.sort();
    let all = std::env::var_os("TAILORBIRD_ALL_CASES").is_some();
    cases.into_iter().step_by(if all { 1 } else { ONE_OF }).collect()
}

#[tokio::test]
async fn cases_are_rendered_as_from_files_and_as_by_existing_clusters() {
    let cases = cases();
    let mut compared = 0;
    for folder in &cases {
        let Some(api) = Cluster::take().await else { return };
        let case: Case = toml::from_str(&fs::read_to_string(folder.join("case.toml")).unwrap()).unwrap();
        let settings =
            environment::settings(case.node.parse().unwrap(), &|name| case.env.get(name).cloned()).unwrap();
        let mut objects: Vec<Value> = Vec::new();
        let [step] = &case.step[..] else { panic!("{}: more than one step", folder.display()) };
        for file in &step.apply {
            let text = fs::read_to_string(folder.join(file)).unwrap();
            objects.extend(serde_saphyr::from_multiple::<Value>(&text).unwrap());
        }
        api.apply_all(&objects).await;
        let mut followed = Followed::start(api.kubeconfig(ADMIN), settings.clone(), pace()).await;
        let name = folder.display().to_string();
        followed.until_rendered(&name, &from_files(&settings, &objects)).await;
        for (file, text) in followed.render() {
            let expected = fs::read_to_string(folder.join(&step.expect).join(&file)).unwrap();
            tokens::compare(&expected, &text)
                .unwrap_or_else(|difference| panic!("{name}, {file}: {difference}"));
            compared += 1;
        }
        followed.stop().await;
    }
    println!("{} cases, {compared} files compared", cases.len());
}
