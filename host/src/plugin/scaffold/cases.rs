//! The golden cases of a new crate: the form of a case is said here alone.
//!
//! A case is a folder: `objects.yaml` has the cluster's objects, `case.toml` what is asked, and `expected.json` the answer, as
//! `tailorbird plugin run` prints it.

use super::{File, Kind};

/// The cases of a kind of plugin.
pub(super) fn cases(kind: Kind) -> Vec<File> {
    match kind {
        Kind::Peers => case(
            "own-zone",
            include_str!("template/peers/objects.yaml"),
            include_str!("template/peers/case.toml"),
            include_str!("template/peers/expected.json"),
        ),
        Kind::Filter => {
            let objects = include_str!("template/filter/objects.yaml");
            let mut cases = case(
                "marked",
                objects,
                include_str!("template/filter/advertise.toml"),
                include_str!("template/filter/advertise.json"),
            );
            cases.extend(case(
                "from-peers",
                objects,
                include_str!("template/filter/rules.toml"),
                include_str!("template/filter/rules.json"),
            ));
            cases
        }
        Kind::Functions => case(
            "gateway",
            include_str!("template/functions/objects.yaml"),
            include_str!("template/functions/case.toml"),
            include_str!("template/functions/expected.json"),
        ),
    }
}

fn case(name: &str, objects: &str, case: &str, expected: &str) -> Vec<File> {
    let file = |file: &str, text: &str| File::new(format!("cases/{name}/{file}"), text);
    vec![file("objects.yaml", objects), file("case.toml", case), file("expected.json", expected)]
}
