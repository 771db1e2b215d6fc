//! What the generator writes is read as exactly the objects that it gives.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tailorbird::generator::{ClusterSpec, write_folder, write_json, write_json_lines, write_yaml};
use tailorbird::manifest::{Entry, Format, read, read_from};
use tailorbird::resources::{Defaults, ObjectKey, Resource};

/// One small cluster of each topology, one of a single family, and one that has little but nodes.
fn clusters() -> [ClusterSpec; 5] {
    let v4 = ClusterSpec { dual_stack: false, own_as_every: 7, ..ClusterSpec::mesh(11) };
    let bare =
        ClusterSpec { services: 0, pools: 0, blocks_per_node: 0, filters: 0, peers: 0, secrets: 0, ..v4 };
    [ClusterSpec::mesh(30), ClusterSpec::reflectors(30), ClusterSpec::top_of_rack(30), v4, bare]
}

fn defaults() -> Defaults {
    Defaults::new("kube-system".parse().unwrap())
}

/// Objects that are read, and the other kinds.
#[derive(Default)]
struct Read {
    objects: Vec<(ObjectKey, Resource)>,
    others: BTreeMap<String, usize>,
}

impl Read {
    fn take(&mut self, at: impl std::fmt::Display, entry: Entry) {
        match entry {
            Entry::Object(parsed) => {
                assert!(parsed.warnings.is_empty(), "{at}: {:?}", parsed.warnings);
                let resource = parsed.resource.unwrap_or_else(|error| panic!("{at}: {error}"));
                self.objects.push((parsed.key, resource));
            }
            Entry::Ignored { kind, .. } => *self.others.entry(kind).or_default() += 1,
            Entry::Problem(problem) => panic!("{at}: {problem}"),
        }
    }

    /// It is the cluster, in its order.
    #[track_caller]
    fn is(&self, spec: &ClusterSpec) {
        let expected: Vec<_> = spec.objects().collect();
        for (read, expected) in self.objects.iter().zip(&expected) {
            assert_eq!(read, expected, "{spec:?}");
        }
        assert_eq!(self.objects.len(), expected.len(), "{spec:?}");
    }
}

#[track_caller]
fn check(format: Format, write: fn(&ClusterSpec, &mut Vec<u8>) -> io::Result<()>) {
    for spec in clusters() {
        let mut text = Vec::new();
        write(&spec, &mut text).expect("memory takes all");
        let mut all = Read::default();
        read_from(Path::new("dump"), &text[..], format, &defaults(), &mut |at, entry| all.take(at, entry));
        all.is(&spec);
        assert_eq!(all.others, BTreeMap::new());
    }
}

#[test]
fn yaml() {
    check(Format::Yaml, write_yaml);
}

#[test]
fn json() {
    check(Format::Json, write_json);
}

#[test]
fn json_lines() {
    check(Format::Json, write_json_lines);
}

/// A cluster's folder, and all bytes in it by file.
fn folder(spec: &ClusterSpec, parent: &Path, name: &str) -> (PathBuf, BTreeMap<String, Vec<u8>>) {
    let folder = parent.join(name);
    let written = write_folder(spec, &folder).unwrap();
    let bytes: BTreeMap<String, Vec<u8>> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    let told: Vec<PathBuf> = bytes.keys().map(|name| folder.join(name)).collect();
    assert_eq!(written.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>(), told);
    for ((_, count), bytes) in written.iter().zip(bytes.values()) {
        let documents = String::from_utf8(bytes.clone()).unwrap().matches("---\n").count();
        assert_eq!(*count, documents);
    }
    (folder, bytes)
}

#[test]
fn a_folder() {
    let parent = tempfile::tempdir().unwrap();
    for (nth, spec) in clusters().into_iter().enumerate() {
        let (folder, bytes) = folder(&spec, parent.path(), &format!("a/{nth}"));
        let mut all = Read::default();
        read(&[folder], &defaults(), &mut |at, entry| all.take(at, entry));
        all.is(&spec);
        let namespaces = BTreeMap::from([("Namespace".to_owned(), spec.services.min(50) as usize)]);
        assert_eq!(all.others, if spec.services > 0 { namespaces } else { BTreeMap::new() });
        for (name, bytes) in &bytes {
            let text = String::from_utf8(bytes.clone()).unwrap();
            for word in ["\n  uid:", "\n  resourceVersion:", "\n  ownerReferences:"] {
                assert!(!text.contains(word), "{name} has {word}");
            }
        }
    }
    let left: Vec<_> = fs::read_dir(parent.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["a"]);
}

#[test]
fn one_seed_gives_the_same_bytes_and_another_gives_others() {
    let parent = tempfile::tempdir().unwrap();
    let spec = ClusterSpec::top_of_rack(50);
    let first = folder(&spec, parent.path(), "first").1;
    assert_eq!(first, folder(&spec, parent.path(), "again").1);
    let other = folder(&ClusterSpec { seed: 2, ..spec }, parent.path(), "other").1;
    assert_eq!(first.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for random in ["20-secrets.yaml", "60-bgpfilters.yaml", "70-bgppeers.yaml", "90-endpointslices.yaml"] {
        assert_ne!(first[random], other[random], "{random}");
    }
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let spec = ClusterSpec::mesh(1);
    fs::create_dir(parent.path().join("used")).unwrap();
    fs::write(parent.path().join("used/note"), "mine").unwrap();
    for used in ["used", "used/note"] {
        let path = parent.path().join(used);
        let error = write_folder(&spec, &path).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
        assert!(error.contains("is there already"), "{error}");
    }
    assert_eq!(fs::read_to_string(parent.path().join("used/note")).unwrap(), "mine");
    assert_eq!(fs::read_dir(parent.path().join("used")).unwrap().count(), 1);
    fs::create_dir(parent.path().join("empty")).unwrap();
    write_folder(&spec, &parent.path().join("empty")).unwrap();
}

#[test]
fn sizes_from_ten_to_twenty_thousand_nodes() {
    for nodes in [10, 100, 20_000] {
        for spec in
            [ClusterSpec::mesh(nodes), ClusterSpec::reflectors(nodes), ClusterSpec::top_of_rack(nodes)]
        {
            assert_eq!(spec.check(), Ok(()), "{spec:?}");
        }
    }
}
