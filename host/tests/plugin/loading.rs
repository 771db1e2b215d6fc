//! What is loaded, what is not, and what the operator is told.

use std::os::unix::fs::{PermissionsExt, symlink};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::json;
use tailorbird::plugin::config::Grants;
use tailorbird::plugin::{Digest, PluginFile, PluginSet, PublicKey, Sandbox, signature_path};

use crate::common::*;

fn good() -> Guest {
    Guest::function("good", NOTHING)
}

#[test]
fn a_plugin_of_any_subset_loads() {
    for (world, interfaces) in [
        ("peers-plugin", vec!["peers"]),
        ("filter-plugin", vec!["filter"]),
        ("functions-plugin", vec!["functions"]),
        ("plugin", vec!["peers", "filter", "functions"]),
    ] {
        let guest = Guest::new("any", world);
        let set = Plugins::of(std::slice::from_ref(&guest)).load();
        let file = set.files().next().unwrap();
        assert_eq!(file.interfaces.names(), interfaces, "{world}");
        assert_eq!((file.name.as_str(), file.manifest.version.as_str()), ("any", "1.2.3"));
        assert_eq!(file.digest, Digest::of(&guest.component()));
        let functions: Vec<_> = set.functions().map(|(_, f)| (f.name.as_str(), f.signature())).collect();
        let expected = interfaces.contains(&"functions").then(|| ("f", "[a] [b]".to_owned()));
        assert_eq!(functions, Vec::from_iter(expected));
    }
}

#[test]
fn what_is_no_plugin_is_refused() {
    let component = good().component();
    let core = wat::parse_str(good().wat()).unwrap();
    let imports = |name: &str| {
        let text = format!("(component (import \"{name}\" (instance (export \"f\" (func)))))");
        with_section(wat::parse_str(text).unwrap(), "tailorbird.plugin", good().manifest().as_bytes())
    };
    let manifest = |text: &str| with_section(good().bare(), "tailorbird.plugin", text.as_bytes());
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("text", b"#!/bin/sh\necho".to_vec(), "is no component"),
        ("nothing", Vec::new(), "is no component"),
        ("truncated", component[..component.len() / 2].to_vec(), "not a whole one"),
        ("core module", core, "a core module, not a component: `tailorbird plugin build`"),
        ("WASI", imports("wasi:cli/environment@0.2.0"), "there is no WASI here"),
        ("foreign import", imports("acme:net/socket@1.0.0"), "imports `acme:net/socket@1.0.0`, but only kv"),
        ("future kv", imports("tailorbird:policy/kv@0.2.0"), "imports `tailorbird:policy/kv@0.2.0`"),
        ("no manifest", good().bare(), "has no manifest"),
        ("two manifests", with_section(component.clone(), "tailorbird.plugin", b"{}"), "has two manifests"),
        ("manifest of garbage", manifest("{"), "its manifest cannot be read"),
        (
            "no name",
            manifest(r#"{"version":"1","contract":"0.1.0"}"#),
            "its manifest cannot be read: missing field `name`",
        ),
        (
            "wrong name",
            manifest(r#"{"name":"a\"; b","version":"1","contract":"0.1.0"}"#),
            "its manifest: name",
        ),
        (
            "wrong want",
            manifest(r#"{"name":"a","version":"1","contract":"0.1.0","wants":["x"]}"#),
            "wants \"x\"",
        ),
        ("nothing exported", manifest_of_empty(), "does not export `tailorbird:policy/lifecycle@0.1.0`"),
    ];
    for (what, bytes, reason) in cases {
        let told = Plugins::new().with_bytes("x", &bytes, |_| ()).refusal();
        assert!(told.contains(reason), "{what}: {told}");
    }
}

fn manifest_of_empty() -> Vec<u8> {
    with_section(wat::parse_str("(component)").unwrap(), "tailorbird.plugin", good().manifest().as_bytes())
}

#[test]
fn only_versions_of_this_contract_load() {
    for (contract, loads) in
        [("0.1.0", true), ("0.1.7", true), ("0.2.0", false), ("1.0.0", false), ("0.1", false), ("", false)]
    {
        let guest = Guest { contract: contract.to_owned(), ..good() };
        let plugins = Plugins::of(&[guest]);
        assert_eq!(plugins.try_load().is_ok(), loads, "{contract}");
        if !loads {
            assert!(plugins.refusal().contains("this host has 0.1.0"), "{contract}");
        }
    }
}

#[test]
fn a_component_that_is_too_long_is_not_read() {
    let long = with_section(good().component(), "ballast", &vec![0; 11 << 20]);
    let told = Plugins::new().with_bytes("long", &long, |_| ()).refusal();
    assert!(told.contains("is longer than 10485760 bytes, the limit `component`"), "{told}");
    let mut plugins = Plugins::new().with_bytes("long", &long, |entry| entry.limits.component = 12 << 20);
    assert_eq!(plugins.load().files().count(), 1);
    plugins.configuration.plugins[0].path = plugins.path("missing.wasm");
    assert!(plugins.refusal().contains("missing.wasm: cannot be read"));
}

#[test]
fn a_want_that_is_not_granted_is_an_error_that_says_what_to_write() {
    let guest = good().wants(&["/tailorbird/v1/node/*/labels/rack", "/calico/v1/ipam"]);
    let granted = |grants: &[&str]| {
        let grants = grants.iter().map(|grant| grant.parse().unwrap()).collect();
        Plugins::new().with(&guest, |entry| entry.grants = Grants::Listed(grants))
    };
    let told = granted(&["/calico"]).refusal();
    let line = r#"write into its [[plugin]]: grants = ["/calico", "/tailorbird/v1/node/*/labels/rack"]"#;
    assert!(
        told.starts_with("plugin good: wants to read \"/tailorbird/v1/node/*/labels/rack\"")
            && told.ends_with(line),
        "{told}"
    );
    assert!(granted(&["/tailorbird/v1/node/a", "/calico"]).try_load().is_err());
    let set = granted(&["/tailorbird/v1/node", "/calico", "/other"]).load();
    // A grant without a want gives nothing.
    let rights = &set.facts()[0].rights;
    assert!(
        rights.allow("/calico/v1/ipam/v4") && !rights.allow("/calico/v1/host") && !rights.allow("/other")
    );
    assert_eq!(set.published().len(), 2);
}

#[test]
fn the_digest_must_be_the_configured_one() {
    let component = good().component();
    let right = Plugins::new().with(&good(), |entry| entry.digest = Some(Digest::of(&component)));
    assert_eq!(right.load().files().count(), 1);
    let told = Plugins::new().with(&good(), |entry| entry.digest = Some(Digest::of(b"x"))).refusal();
    assert!(told.contains(&format!("has the SHA-256 {}", Digest::of(&component))), "{told}");
}

#[test]
fn with_keys_only_what_they_signed_loads() {
    let (own, other) = (SigningKey::from_bytes(&[7; 32]), SigningKey::from_bytes(&[8; 32]));
    let pem = |key: &SigningKey| key.verifying_key().to_public_key_pem(LineEnding::LF).unwrap();
    let mut plugins = Plugins::of(&[good()]);
    plugins.configuration.keys =
        [&other, &own].map(|key| PublicKey::from_pem(&pem(key)).unwrap()).into_iter().collect();
    assert!(plugins.refusal().contains("its signature"), "no signature");

    let path = signature_path(&plugins.configuration.plugins[0].path);
    let bytes = good().component();
    let signature = own.sign(&bytes).to_bytes();
    for right in [signature.to_vec(), format!("{}\n", BASE64_STANDARD.encode(signature)).into_bytes()] {
        std::fs::write(&path, right).unwrap();
        assert_eq!(plugins.load().files().count(), 1);
    }
    for wrong in
        [own.sign(b"other bytes").to_bytes().to_vec(), b"x".to_vec(), vec![0; 64], vec![b'A'; 10_000]]
    {
        std::fs::write(&path, wrong).unwrap();
        assert!(plugins.try_load().is_err());
    }
    std::fs::write(&path, signature).unwrap();
    plugins.configuration.keys.remove(1);
    assert!(plugins.refusal().contains("was not made by any of the configured keys"));
    assert!(PublicKey::from_pem("x").is_err());
}

#[test]
fn names_and_functions_are_unique() {
    let two = Plugins::of(&[good(), good()]);
    assert!(two.refusal().contains("there are two plugins of this name"));
    let renamed = Plugins::of(&[good()]).with(&good(), |entry| entry.name = Some("second".to_owned()));
    assert_eq!(renamed.refusal(), "plugin second: has a function `f`, and so has plugin good");
    let peers = Guest::new("good", "peers-plugin");
    let renamed = Plugins::of(&[good()]).with(&peers, |entry| entry.name = Some("second".to_owned()));
    let names: Vec<_> = renamed.load().facts().iter().map(|facts| facts.name.to_string()).collect();
    assert_eq!(names, ["good", "second"]);
}

#[test]
fn functions_with_impossible_names_are_refused() {
    let named = |name: &str| {
        let escaped: String = name.bytes().map(|b| format!("\\{b:02x}")).collect();
        good().more(&format!(
            "(data (i32.const 3000) \"{escaped}\") (data (i32.const 1144) \"\\b8\\0b\\00\\00\\{:02x}\\00\\00\\00\")",
            name.len()
        ))
    };
    assert!(Plugins::of(&[named("net_prefix2")]).try_load().is_ok());
    for name in ["", "Net", "a b", "2x", "a\"; reject;", "each-item", "ä"] {
        let told = Plugins::of(&[named(name)]).refusal();
        assert!(told.contains("a name has lower case letters"), "{name:?}: {told}");
    }
}

#[test]
fn every_error_is_told_and_then_there_is_no_set() {
    let plugins = Plugins::of(&[good()]).with_bytes("x", b"x", |_| ()).with(
        &Guest::function("refuses", NOTHING).configure(NOTHING).wants(&["/x"]),
        |entry| {
            entry.grants = Grants::Listed(Vec::new());
        },
    );
    let errors = plugins.try_load().unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn compiled_plugins_are_kept_and_only_trusted_when_they_are_ours() {
    let plugins = Plugins::of(&[good()]);
    let cache = plugins.path("cache");
    let load =
        || PluginSet::load(&Sandbox::new(Some(cache.clone())).unwrap(), &plugins.configuration).map(drop);
    let file = || std::fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path();
    load().unwrap();
    assert_eq!(std::fs::metadata(&cache).unwrap().permissions().mode() & 0o777, 0o700);
    let path = file();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let kept = std::fs::read(&path).unwrap();

    // Whatever is wrong with a kept file, it is as if it was not there, and it is made anew.
    let mut flipped = kept.clone();
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    for wrong in [flipped, kept[..40].to_vec(), Vec::new(), b"x".to_vec()] {
        std::fs::write(&path, wrong).unwrap();
        load().unwrap();
        assert_eq!(std::fs::read(&path).unwrap().len(), kept.len());
    }
    // A file that others could write, or a link, is not read: its digest is right, and still it is replaced.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    load().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let elsewhere = plugins.path("elsewhere");
    std::fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    load().unwrap();
    assert!(std::fs::symlink_metadata(&path).unwrap().is_file());

    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o755)).unwrap();
    let told = Sandbox::new(Some(cache.clone())).unwrap_err().to_string();
    assert!(told.contains("mode 0700"), "{told}");
}

#[test]
fn the_settings_reach_configure() {
    // Configure refuses with the settings' own text.
    let echo = "(i32.store8 (i32.const 2000) (i32.const 1)) (i32.store (i32.const 2004) (local.get $ptr)) \
                (i32.store (i32.const 2008) (local.get $len)) (i32.const 2000)";
    let guest = good().configure(echo);
    let settings = json!({ "a": [1, "two"] }).as_object().unwrap().clone();
    let told = Plugins::new().with(&guest, |entry| entry.settings = settings).refusal();
    assert_eq!(told, "plugin good: lifecycle.configure: {\"a\":[1,\"two\"]}");
    assert_eq!(Plugins::of(&[guest]).refusal(), "plugin good: lifecycle.configure: {}");
}

#[test]
fn a_file_is_described_without_being_compiled() {
    let file = PluginFile::parse("x.wasm", Guest::new("x", "plugin").wants(&["/a/"]).component()).unwrap();
    assert_eq!(file.wants[0].as_str(), "/a");
    assert!(file.imports.iter().all(|import| import.starts_with("tailorbird:policy/")), "{:?}", file.imports);
    assert!(file.exports.contains(&"tailorbird:policy/peers@0.1.0".to_owned()), "{:?}", file.exports);
}
