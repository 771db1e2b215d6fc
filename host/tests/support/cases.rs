//! The conformance cases: a folder of their own, named by `TAILORBIRD_CONFORMANCE` or beside the repository.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tailorbird::engine::{Changes, Engine, Event, Settings};
use tailorbird::environment;
use tailorbird::resources::{Defaults, Kind, ObjectKey};
use tailorbird::syncer::files;
use tailorbird::types::Name;

/// What `case.toml` says.
#[derive(Deserialize)]
pub struct CaseFile {
    pub node: String,
    #[serde(default)]
    env: BTreeMap<String, String>,
    pub step: Vec<Step>,
}

/// One of the steps on one datastore.
#[derive(Deserialize)]
pub struct Step {
    #[serde(default)]
    pub apply: Vec<PathBuf>,
    #[serde(default)]
    pub delete: Vec<Reference>,
    pub expect: PathBuf,
}

/// An object that goes.
#[derive(Deserialize)]
pub struct Reference {
    pub kind: String,
    pub namespace: Option<String>,
    pub name: String,
}

impl Reference {
    fn keys(&self) -> Vec<ObjectKey> {
        let kinds: &[Kind] = match self.kind.as_str() {
            "Node" => &[Kind::CalicoNode, Kind::KubeNode],
            "BGPConfiguration" => &[Kind::BgpConfiguration],
            "BGPPeer" => &[Kind::BgpPeer],
            "BGPFilter" => &[Kind::BgpFilter],
            "IPPool" => &[Kind::IpPool],
            "BlockAffinity" => &[Kind::BlockAffinity],
            "Service" => &[Kind::Service],
            "EndpointSlice" => &[Kind::EndpointSlice],
            "Secret" => &[Kind::Secret],
            other => panic!("a case deletes a {other}"),
        };
        let namespace = self.namespace.as_ref().map(|text| text.parse().unwrap());
        let key = |kind| ObjectKey { kind, namespace: namespace.clone(), name: self.name.parse().unwrap() };
        kinds.iter().copied().map(key).collect()
    }
}

/// A cluster's objects, and the files that existing clusters run with them.
pub struct Case {
    pub folder: PathBuf,
    pub file: CaseFile,
}

impl Case {
    pub fn settings(&self, node: &Name) -> Settings {
        let lookup = |name: &str| match self.file.env.get(name) {
            // A path in a case is relative to the case.
            Some(value) if self.folder.join(value).is_dir() => {
                Some(self.folder.join(value).display().to_string())
            }
            other => other.cloned(),
        };
        environment::settings(node.clone(), &lookup).unwrap()
    }

    /// The folder of the status files of local workloads; one that is not there where the case has none.
    pub fn status_folder(&self) -> PathBuf {
        let lookup = |name: &str| match self.file.env.get(name) {
            Some(value) => Some(self.folder.join(value).display().to_string()),
            None => Some(self.folder.join("no-status").display().to_string()),
        };
        environment::endpoint_status_folder(&lookup)
    }

    /// Takes a step's objects.
    pub fn apply(&self, engine: &mut Engine, step: &Step) -> Changes {
        let defaults = Defaults::new(engine.settings().secret_namespace.clone());
        let mut batch = engine.batch();
        let paths: Vec<PathBuf> = step.apply.iter().map(|path| self.folder.join(path)).collect();
        let loaded = files::load_manifests(&paths, &defaults, &mut batch);
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        assert_eq!(files::load_workloads(&self.status_folder(), &mut batch), Vec::<String>::new());
        step.delete.iter().flat_map(Reference::keys).for_each(|key| batch.push(Event::Delete(key)));
        let changes = batch.finish();
        assert_eq!(engine.blocking(), []);
        changes
    }

    /// Visits every node of the case, its own first: the others are those that the engine of its own node knows.
    pub fn on_every_node(&self, mut visit: impl FnMut(&Name) -> Engine) {
        let own: Name = self.file.node.parse().unwrap();
        let engine = visit(&own);
        for other in engine.node_names().filter(|other| **other != own) {
            visit(other);
        }
    }
}

/// All cases, by name; none, and a message, where there are none.
pub fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = match std::env::var_os("TAILORBIRD_CONFORMANCE") {
        Some(folder) => PathBuf::from(folder),
        None => root.join("../shared/conformance"),
    };
    let Ok(entries) = fs::read_dir(folder.join("cases")) else {
        // Not by a macro of the standard library: those are shown of tests that fail, and this is to be seen.
        let mut out = std::io::stderr();
        writeln!(
            out,
            "skipped: there are no conformance cases in {} (TAILORBIRD_CONFORMANCE)",
            folder.display()
        )
        .unwrap();
        return Vec::new();
    };
    let mut cases: Vec<Case> = entries
        .map(|entry| {
            let folder = entry.unwrap().path();
            let text = fs::read_to_string(folder.join("case.toml")).unwrap();
            Case { file: toml::from_str(&text).unwrap(), folder }
        })
        .collect();
    cases.sort_by(|a, b| a.folder.cmp(&b.folder));
    cases
}
