//! Whole sets of files under `tests/golden/<case>/`: `objects.yaml`, an optional `env.toml` of environment variables
//! (`NODENAME` is `a` unless it says otherwise), an optional `status/` of local workloads, and in `expected/` the six
//! files and, if there is anything to report, `reports.txt`.
//!
//! `TAILORBIRD_BLESS=1` writes `expected/` anew. What it wrote must be read before it is committed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tailorbird::environment;
use tailorbird::resources::Defaults;
use tailorbird::syncer::files;

use crate::cluster::{Cluster, Look, birds};
use crate::support::rendered::Files;

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut cases: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

fn result(case: &Path) -> Files {
    let env: BTreeMap<String, String> = match fs::read_to_string(case.join("env.toml")) {
        Ok(text) => toml::from_str(&text).unwrap(),
        Err(_) => BTreeMap::new(),
    };
    let lookup = |name: &str| env.get(name).cloned();
    let node = environment::node(&lookup).unwrap().unwrap_or_else(|| "a".parse().unwrap());
    let mut cluster = Cluster::with_settings(environment::settings(node, &lookup).unwrap());
    let defaults = Defaults::new(cluster.engine.settings().secret_namespace.clone());
    let mut batch = cluster.engine.batch();
    let loaded = files::load_manifests(&[case.join("objects.yaml")], &defaults, &mut batch);
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    assert_eq!(files::load_workloads(&case.join("status"), &mut batch), [""; 0]);
    batch.finish();
    assert_eq!(cluster.engine.blocking(), []);
    let mut result = cluster.files();
    let reports = cluster.reports();
    if !reports.is_empty() {
        result.insert("reports.txt".to_owned(), format!("{}\n", reports.join("\n")));
    }
    result
}

fn expected(folder: &Path) -> Files {
    let Ok(entries) = fs::read_dir(folder) else { return Files::new() };
    let file = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    entries.map(|entry| file(entry.unwrap().path())).collect()
}

#[test]
fn every_set_is_as_it_was() {
    let mut failures = Vec::new();
    for case in cases() {
        let (actual, folder) = (result(&case), case.join("expected"));
        if std::env::var_os("TAILORBIRD_BLESS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            for name in expected(&folder).keys().filter(|name| !actual.contains_key(*name)) {
                fs::remove_file(folder.join(name)).unwrap();
            }
            actual.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
            continue;
        }
        let expected = expected(&folder);
        for name in actual.keys().chain(expected.keys().filter(|name| !actual.contains_key(*name))) {
            let text = |files: &Files| files.get(name).cloned().unwrap_or_default();
            if actual.get(name) != expected.get(name) {
                let (old, new) = (text(&expected), text(&actual));
                let diff = similar::TextDiff::from_lines(&old, &new);
                failures.push(format!("{}/{name}:\n{}", case.display(), diff.unified_diff()));
            }
        }
    }
    assert!(failures.is_empty(), "{}\nTAILORBIRD_BLESS=1 writes them anew", failures.join("\n"));
}

#[test]
fn bird_accepts_every_set() {
    let Some(birds) = birds() else { return };
    for case in cases() {
        if let Err(words) = birds.check(&result(&case)) {
            panic!("{}: {words}", case.display());
        }
    }
}
