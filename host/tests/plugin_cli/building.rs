//! From a core module to a component.

use tailorbird::plugin::build::{EncodeError, component};
use tailorbird::plugin::{MANIFEST_SECTION, PluginFile};

use crate::common::Bench;
use crate::component::{Guest, with_section};

fn guest() -> Guest {
    Guest::new("zone-mesh", "peers-plugin").wants(&["/tailorbird/v1/node/*/labels"])
}

/// A module with a manifest, as the library for plugins makes one.
fn module(guest: &Guest) -> Vec<u8> {
    with_section(guest.module(), MANIFEST_SECTION, guest.manifest().as_bytes())
}

/// How often a custom section is in a file, at any depth.
fn sections(bytes: &[u8], wanted: &str) -> usize {
    let payloads = wasmparser::Parser::new(0).parse_all(bytes);
    let named = |payload: Result<wasmparser::Payload<'_>, _>| match payload {
        Ok(wasmparser::Payload::CustomSection(own)) => own.name() == wanted,
        _ => false,
    };
    payloads.map(named).filter(|named| *named).count()
}

#[test]
fn the_manifest_moves_to_where_a_host_reads_it() {
    let component = component(&module(&guest())).unwrap();
    assert_eq!(sections(&component, MANIFEST_SECTION), 1);
    let plugin = PluginFile::parse("it", component).unwrap();
    assert_eq!((plugin.name.as_str(), plugin.interfaces.names()), ("zone-mesh", vec!["peers"]));
    assert_eq!(plugin.wants.len(), 1);
}

#[test]
fn names_and_debug_information_go() {
    let module = with_section(module(&guest()), ".debug_info", b"/home/somebody/secret/src/lib.rs");
    let component = component(&module).unwrap();
    assert_eq!((sections(&component, ".debug_info"), sections(&component, "name")), (0, 0));
    assert!(!String::from_utf8_lossy(&component).contains("somebody"));
}

#[test]
fn what_is_no_plugin_is_refused_with_what_to_do() {
    let whole = module(&guest());
    let says = |bytes: &[u8]| component(bytes).unwrap_err().to_string();
    assert!(says(&guest().module()).contains("add `tailorbird_guest::manifest!"));
    assert!(says(&with_section(whole.clone(), MANIFEST_SECTION, b"{}")).contains("more than one manifest"));
    let worldless = wat::parse_str("(module)").unwrap();
    assert!(
        says(&with_section(worldless, MANIFEST_SECTION, b"{}")).contains("add `tailorbird_guest::export!")
    );
    assert!(matches!(component(&guest().component()), Err(EncodeError::Component)));
    // A world whose exports are not there.
    let mut hollow = wat::parse_str("(module)").unwrap();
    let world = guest().module();
    for payload in wasmparser::Parser::new(0).parse_all(&world) {
        if let Ok(wasmparser::Payload::CustomSection(own)) = payload {
            hollow = with_section(hollow, own.name(), own.data());
        }
    }
    let hollow = with_section(hollow, MANIFEST_SECTION, b"{}");
    assert!(matches!(component(&hollow), Err(EncodeError::Encode(_))));
    for bytes in [&b""[..], b"\0asm", b"text", &whole[..whole.len() - 1], &whole[..100]] {
        assert!(matches!(component(bytes), Err(EncodeError::Malformed(_))), "{} bytes", bytes.len());
    }
}

#[test]
fn a_folder_that_is_no_crate_is_told() {
    let bench = Bench::new();
    bench
        .run("plugin build")
        .ends(1)
        .prints_nothing()
        .tells("there is no Cargo.toml: `tailorbird plugin new NAME`");
    let path = std::env::var("PATH").unwrap();
    let build = || crate::common::Ran::of(bench.command("plugin build crate").env("PATH", &path));
    bench.put("crate/Cargo.toml", "[workspace]\n");
    build().ends(1).tells("has no [package]");
    bench.put("crate/Cargo.toml", "[package]\nname = \"a\"\n[workspace]\n");
    bench.put("crate/src/lib.rs", "");
    build().ends(1).tells("lacks `crate-type = [\"cdylib\"]`");
    bench.put("crate/Cargo.toml", "[package\n");
    build().ends(1).tells("crate: ").tells("Cargo.toml");
    assert!(!bench.path("crate/target").exists());
}
