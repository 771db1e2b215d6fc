//! What the generator writes is read as exactly the objects that it gives.

use std::io;
use std::path::Path;

use tailorbird::manifest::{Entry, Format, read_from};
use tailorbird::resources::{Defaults, ObjectKey, Resource};
use tailorbird_bench::{ClusterSpec, write_json, write_json_lines, write_yaml};

/// One small cluster of each topology, one of a single family, and one that has little but nodes.
fn clusters() -> [ClusterSpec; 5] {
    let v4 = ClusterSpec { dual_stack: false, own_as_every: 7, ..ClusterSpec::mesh(11) };
    let bare =
        ClusterSpec { services: 0, pools: 0, blocks_per_node: 0, filters: 0, peers: 0, secrets: 0, ..v4 };
    [ClusterSpec::mesh(30), ClusterSpec::reflectors(30), ClusterSpec::top_of_rack(30), v4, bare]
}

#[track_caller]
fn check(format: Format, write: fn(&ClusterSpec, &mut Vec<u8>) -> io::Result<()>) {
    let defaults = Defaults::new("kube-system".parse().expect("a name"));
    for spec in clusters() {
        let mut text = Vec::new();
        write(&spec, &mut text).expect("memory takes all");
        let mut read: Vec<(ObjectKey, Resource)> = Vec::new();
        read_from(Path::new("dump"), &text[..], format, &defaults, &mut |at, entry| match entry {
            Entry::Object(parsed) => {
                assert!(parsed.warnings.is_empty(), "{at}: {:?}", parsed.warnings);
                let resource = parsed.resource.unwrap_or_else(|error| panic!("{at}: {error}"));
                read.push((parsed.key, resource));
            }
            other => panic!("{at}: {other:?}"),
        });
        let expected: Vec<_> = spec.objects().collect();
        for (read, expected) in read.iter().zip(&expected) {
            assert_eq!(read, expected, "{spec:?}");
        }
        assert_eq!(read.len(), expected.len(), "{spec:?}");
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
