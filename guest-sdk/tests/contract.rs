//! The published contract, and the bindings that are made from it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator};
use wit_bindgen_rust::{Opts, WithOption};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A world's bindings. One world for each interface, so that a plugin exports just those it has.
fn bindings(interface: &str) -> String {
    let mut resolve = Resolve::default();
    resolve.push_path(folder("wit")).unwrap();
    let items = match interface {
        "host" => {
            ["types", "kv", "log"].map(|name| format!("import tailorbird:policy/{name}@0.1.0;")).concat()
        }
        other => format!("export tailorbird:policy/{other}@0.1.0;"),
    };
    let world = format!("package tailorbird:guest-{interface}; world only-{interface} {{ {items} }}");
    let package = resolve.push_str("world.wit", &world).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let mut options = Opts {
        format: true,
        generate_all: true,
        generate_unused_types: interface == "host",
        additional_derive_attributes: vec!["PartialEq".into()],
        runtime_path: Some("wit_bindgen::rt".into()),
        pub_export_macro: interface != "host",
        export_macro_name: Some(format!("export_{interface}")),
        ..Opts::default()
    };
    if matches!(interface, "peers" | "filter") {
        let types = "crate::bindings::host::tailorbird::policy::types".to_owned();
        options.with.push(("tailorbird:policy/types@0.1.0".to_owned(), WithOption::Path(types)));
    }
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files).unwrap();
    let (_, code) = files.iter().next().unwrap();
    String::from_utf8(code.to_vec()).unwrap()
}

/// The bindings are kept, so that whoever builds a plugin need not build their generator first.
#[test]
fn the_bindings_are_those_of_the_contract() {
    let bless = std::env::var_os("BLESS").is_some();
    for interface in ["host", "lifecycle", "peers", "filter", "functions"] {
        let path = folder("src/bindings").join(format!("{interface}.rs"));
        let expected = bindings(interface);
        if bless {
            fs::write(&path, &expected).unwrap();
        }
        let same = fs::read_to_string(&path).is_ok_and(|kept| kept == expected);
        assert!(
            same,
            "{} is not what the contract gives. Make it again:\n  \
             BLESS=1 cargo test --package tailorbird-guest --test contract",
            path.display(),
        );
    }
}

/// What a version of the contract is: all but the spaces at the ends of its lines.
fn digest(wit: &str) -> String {
    let lines = wit.lines().map(|line| format!("{}\n", line.trim_end()));
    Sha256::digest(lines.collect::<String>()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A plugin that was built against a version finds that version. Until a release has it, a version may change.
#[test]
fn a_version_of_the_contract_stays_what_it_is() {
    let wit = read(&folder("wit/policy.wit"));
    let version = wit
        .lines()
        .find_map(|line| line.strip_prefix("package tailorbird:policy@")?.strip_suffix(';'))
        .expect("the contract names its version");
    assert_eq!(version, tailorbird_guest::CONTRACT, "the library says which version it is for");
    let versions = read(&folder("wit/VERSIONS"));
    let versions: BTreeMap<&str, &str> = versions
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .collect();
    let digest = digest(&wit);
    assert_eq!(
        versions.get(version),
        Some(&digest.as_str()),
        "guest-sdk/wit/policy.wit is not what guest-sdk/wit/VERSIONS says of version {version}. If a plugin can have been \
         built against {version}, give the package in policy.wit, CONTRACT in the library and in the host the next \
         version, and add the line `<version> {digest}`. If {version} was never released, write the new digest into its \
         line."
    );
}
