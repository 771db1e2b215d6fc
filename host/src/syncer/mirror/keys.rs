//! Calico's keys and values, as etcd holds them and Typha sends them; the latter has pools in a form of their own.

use serde_json::{Map, Value, json};

use crate::engine::Settings;
use crate::resources::{Defaults, Document, ObjectError, Parsed, parse};
use crate::syncer::kubernetes::Pruned;
use crate::types::{Name, ValueError};

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// An object, whole or malformed.
    Object(Box<Parsed>),
    /// An object that cannot even be named: why.
    Nameless(String),
}

/// The folder of Calico's objects.
const OBJECTS: &str = "/calico/resources/v3/projectcalico.org/";

/// The folder of the nodes' blocks.
const BLOCKS: &str = "/calico/ipam/v2/host/";

const POOLS: [&str; 2] = ["/calico/v1/ipam/v4/pool/", "/calico/v1/ipam/v6/pool/"];

/// The folders of the kinds that are read.
const KINDS: [(&str, &str); 5] = [
    ("bgpconfigurations", "BGPConfiguration"),
    ("bgppeers", "BGPPeer"),
    ("bgpfilters", "BGPFilter"),
    ("ippools", "IPPool"),
    ("nodes", "Node"),
];

/// What a key stands for.
pub(super) enum Meaning<'a> {
    /// An object of Calico: its kind and its name.
    Object(&'static str, &'a str),
    /// A pool in Typha's form: its CIDR with a dash.
    Pool(&'a str),
    /// A block: its node, and its CIDR with a dash.
    Block(&'a str, &'a str),
}

/// The folders in etcd that are read for a node, each with its final slash; without blocks where they follow from its pod
/// CIDRs.
pub(in crate::syncer) fn folders(settings: &Settings) -> Vec<String> {
    let mut folders: Vec<String> = KINDS.iter().map(|(folder, _)| format!("{OBJECTS}{folder}/")).collect();
    folders.extend(blocks_of(settings).map(|node| format!("{BLOCKS}{node}/")));
    folders
}

/// The node whose blocks are read, if there is one.
pub(super) fn blocks_of(settings: &Settings) -> Option<Name> {
    (!settings.use_pod_cidr).then(|| settings.node.clone())
}

/// What a key that is read stands for. Of blocks those of this node are read, if there is one.
pub(super) fn meaning<'a>(key: &'a str, blocks_of: Option<&Name>) -> Option<Meaning<'a>> {
    if let Some(rest) = key.strip_prefix(OBJECTS) {
        let (folder, name) = rest.split_once('/')?;
        let (_, kind) = KINDS.into_iter().find(|(own, _)| *own == folder)?;
        return Some(Meaning::Object(kind, name));
    }
    if let Some(rest) = key.strip_prefix(BLOCKS) {
        let (node, rest) = rest.split_once('/')?;
        let cidr = rest.strip_prefix("ipv4/block/").or_else(|| rest.strip_prefix("ipv6/block/"))?;
        let is_own = blocks_of.is_some_and(|own| own.as_str() == node);
        return is_own.then_some(Meaning::Block(node, cidr));
    }
    POOLS.into_iter().find_map(|folder| key.strip_prefix(folder)).map(Meaning::Pool)
}

/// Reads the value of a key that is read, of a datastore that errors call so.
pub(super) fn read(
    of: &'static str,
    key: &str,
    meaning: Meaning<'_>,
    value: &[u8],
    defaults: &Defaults,
) -> Found {
    // A block whose value is empty is confirmed.
    let text = if value.is_empty() && matches!(meaning, Meaning::Block(..)) { &b"{}"[..] } else { value };
    let content = match serde_json::from_slice::<Pruned>(text) {
        Ok(Pruned(Value::Object(content))) => Ok(content),
        Ok(_) => Err("the value is no JSON object".to_owned()),
        Err(error) => Err(format!("the value is no JSON: {error}")),
    };
    let (content, mut fault) = match content {
        Ok(content) => (content, None),
        Err(reason) => (Map::new(), Some(reason)),
    };
    let document = match meaning {
        Meaning::Object(kind, name) => {
            if let Some(other) = content.get("kind").and_then(Value::as_str).filter(|other| *other != kind) {
                let other: String = other.chars().take(80).collect();
                fault = Some(format!("the value is of the kind {other:?}"));
            }
            object(kind, name, content)
        }
        Meaning::Pool(cidr) => {
            let own = content.get("cidr").and_then(Value::as_str).unwrap_or_default();
            if fault.is_none() && own.replacen('/', "-", 1) != cidr {
                let own: String = own.chars().take(80).collect();
                fault = Some(format!("the value is of the pool {own:?}"));
            }
            pool(cidr, content)
        }
        Meaning::Block(node, cidr) => block(node, cidr, content),
    };
    match parse(&document, defaults) {
        Ok(Document::Object(mut parsed)) => {
            if let Some(reason) = fault {
                let reason = ValueError::new(format!("{of} has {key}: {reason}"));
                parsed.resource = Err(ObjectError::new(&parsed.key, "", "", &reason));
                parsed.warnings.clear();
            }
            Found::Object(Box::new(parsed))
        }
        Ok(Document::Ignored { .. }) => Found::Nameless("not of a kind that is read".to_owned()),
        Err(error) => Found::Nameless(error.to_string()),
    }
}

/// The name that an object has is its key's.
fn object(kind: &str, name: &str, mut content: Map<String, Value>) -> Value {
    content.insert("apiVersion".to_owned(), "projectcalico.org/v3".into());
    content.insert("kind".to_owned(), kind.into());
    match content.get_mut("metadata").and_then(Value::as_object_mut) {
        Some(metadata) => drop(metadata.insert("name".to_owned(), name.into())),
        None => drop(content.insert("metadata".to_owned(), json!({ "name": name }))),
    }
    Value::Object(content)
}

/// A pool whose name is not known: its CIDR stands for it.
fn pool(cidr: &str, mut content: Map<String, Value>) -> Value {
    let mut spec = Map::new();
    let mut take = |from: &str, to: &str, value: &dyn Fn(Value) -> Value| {
        if let Some(found) = content.remove(from) {
            spec.insert(to.to_owned(), value(found));
        }
    };
    let as_it_is = |value| value;
    let mode = |value: Value| match value.as_str() {
        Some("") => "Never".into(),
        Some("always") => "Always".into(),
        Some("cross-subnet") => "CrossSubnet".into(),
        _ => value,
    };
    take("cidr", "cidr", &as_it_is);
    take("ipip_mode", "ipipMode", &mode);
    take("vxlan_mode", "vxlanMode", &mode);
    take("masquerade", "natOutgoing", &as_it_is);
    take("disabled", "disabled", &as_it_is);
    take("disableBGPExport", "disableBGPExport", &as_it_is);
    take("assignment_mode", "assignmentMode", &as_it_is);
    take("allowed_uses", "allowedUses", &as_it_is);
    json!({
        "apiVersion": "projectcalico.org/v3",
        "kind": "IPPool",
        "metadata": {"name": cidr.replace(':', ".")},
        "spec": spec,
    })
}

fn block(node: &str, cidr: &str, content: Map<String, Value>) -> Value {
    /// The longest name that an object can have.
    const MAX_NAME: usize = 253;
    let dashed = cidr.replace(['.', ':'], "-");
    let name = Some(format!("{node}-{dashed}")).filter(|name| name.len() <= MAX_NAME).unwrap_or(dashed);
    json!({
        "apiVersion": "projectcalico.org/v3",
        "kind": "BlockAffinity",
        "metadata": {"name": name},
        "spec": {
            "cidr": cidr.replacen('-', "/", 1),
            "node": node,
            "state": content.get("state"),
            "deleted": content.get("deleted"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{EncapMode, Kind, Resource};

    fn own() -> Name {
        "node-a".parse().expect("a name")
    }

    fn read(key: &str, value: &str) -> Found {
        let meaning = meaning(key, Some(&own())).expect("a key that is read");
        super::read("Typha", key, meaning, value.as_bytes(), &Defaults::default())
    }

    fn found(key: &str, value: &str) -> Parsed {
        match read(key, value) {
            Found::Object(parsed) => *parsed,
            Found::Nameless(reason) => panic!("{key}: {reason}"),
        }
    }

    #[test]
    fn only_what_matters_to_the_node_is_read() {
        for (key, is_read) in [
            ("/calico/resources/v3/projectcalico.org/nodes/node-b", true),
            ("/calico/resources/v3/projectcalico.org/bgppeers/x", true),
            ("/calico/resources/v3/projectcalico.org/tiers/x", false),
            ("/calico/resources/v3/projectcalico.org/nodes", false),
            ("/calico/ipam/v2/host/node-a/ipv4/block/10.10.0.0-26", true),
            ("/calico/ipam/v2/host/node-a/ipv6/block/fd10::-122", true),
            ("/calico/ipam/v2/host/node-a-longer/ipv4/block/10.10.0.0-26", false),
            ("/calico/ipam/v2/virtual/load-balancer/ipv4/block/10.10.9.0-26", false),
            ("/calico/v1/ipam/v4/pool/10.10.0.0-16", true),
            ("/calico/v1/host/x", false),
            ("", false),
        ] {
            assert_eq!(meaning(key, Some(&own())).is_some(), is_read, "{key}");
            let is_block = key.starts_with(BLOCKS);
            assert_eq!(meaning(key, None).is_some(), is_read && !is_block, "{key} without blocks");
        }
    }

    #[test]
    fn the_key_says_what_the_value_is() {
        let peers = "/calico/resources/v3/projectcalico.org/bgppeers/";
        let value =
            r#"{"kind":"BGPPeer","metadata":{"name":"other"},"spec":{"peerIP":"10.0.0.1","asNumber":65000}}"#;
        let parsed = found(&format!("{peers}rack"), value);
        assert_eq!(parsed.key.to_string(), "BGPPeer rack");
        assert!(parsed.resource.is_ok());
        for (value, told) in [
            (r#"{"kind":"IPPool","metadata":{"name":"rack"}}"#, "of the kind \"IPPool\""),
            ("[1]", "no JSON object"),
            ("7", "no JSON object"),
            (r#"{"kind":"BGPPeer","#, "no JSON: "),
            ("\u{1}", "no JSON: "),
        ] {
            let error = found(&format!("{peers}rack"), value).resource.expect_err(value);
            let error = error.to_string();
            assert!(error.contains(told) && error.contains(peers) && error.contains("Typha"), "{error}");
        }
        for name in ["a/b", "..", "", "a b", "../nodes/x"] {
            let key = format!("{peers}{name}");
            let found = read(&key, value);
            assert!(matches!(found, Found::Nameless(_)), "{key}: {found:?}");
        }
    }

    #[test]
    fn the_folders_in_etcd_are_read_and_no_others() {
        let mut settings = Settings::new(own());
        let all = folders(&settings);
        assert_eq!(all.len(), KINDS.len() + 1);
        assert!(all.iter().all(|folder| folder.ends_with('/')), "{all:?}");
        assert_eq!(all.last().map(String::as_str), Some("/calico/ipam/v2/host/node-a/"));
        settings.use_pod_cidr = true;
        assert_eq!(folders(&settings), all[..KINDS.len()]);
    }

    #[test]
    fn pools_of_etcd_are_pools() {
        let key = "/calico/resources/v3/projectcalico.org/ippools/pool4";
        let value = r#"{"kind":"IPPool","metadata":{"name":"pool4"},"spec":{"cidr":"10.10.0.0/16","ipipMode":"CrossSubnet"}}"#;
        let Ok(Resource::IpPool(pool)) = found(key, value).resource else { panic!("a pool") };
        assert_eq!((pool.name.as_str(), pool.ipip), ("pool4", EncapMode::CrossSubnet));
    }

    #[test]
    fn pools_of_typha_are_pools() {
        let value = r#"{"cidr":"10.10.0.0/16","ipip":"tunl0","ipip_mode":"cross-subnet","vxlan_mode":"","masquerade":true,
            "ipam":true,"disabled":false,"disableBGPExport":true,"assignment_mode":"Manual","allowed_uses":["Tunnel"]}"#;
        let key = "/calico/v1/ipam/v4/pool/10.10.0.0-16";
        let Ok(Resource::IpPool(pool)) = found(key, value).resource else { panic!("a pool") };
        assert_eq!((pool.name.as_str(), pool.cidr.to_string().as_str()), ("10.10.0.0-16", "10.10.0.0/16"));
        assert_eq!((pool.ipip, pool.vxlan), (EncapMode::CrossSubnet, EncapMode::Never));
        assert!(pool.nat_outgoing && pool.disable_bgp_export && pool.manual_assignment && !pool.disabled);
        assert_eq!(pool.allowed_uses, ["Tunnel"]);

        let six = found("/calico/v1/ipam/v6/pool/fd10::-48", r#"{"cidr":"fd10::/48"}"#);
        assert_eq!((six.key.kind, six.key.name.as_str()), (Kind::IpPool, "fd10..-48"));
        let other = found(key, r#"{"cidr":"10.11.0.0/16"}"#).resource.expect_err("another");
        assert!(other.to_string().contains("10.11.0.0/16"), "{other}");
    }

    #[test]
    fn blocks_have_the_key_for_their_place() {
        let key = "/calico/ipam/v2/host/node-a/ipv6/block/fd10::6d15:7480-122";
        let parsed = found(key, r#"{"state":"pendingDeletion","deleted":false}"#);
        assert_eq!(parsed.key.name.as_str(), "node-a-fd10--6d15-7480-122");
        let Ok(Resource::BlockAffinity(block)) = parsed.resource else { panic!("a block") };
        assert_eq!((block.node.as_str(), block.cidr.to_string().as_str()), ("node-a", "fd10::6d15:7480/122"));
        assert_eq!(block.state.as_str(), "pendingDeletion");
        let Ok(Resource::BlockAffinity(block)) = found(key, "").resource else { panic!("a block") };
        assert_eq!((block.state.as_str(), block.deleted), ("", false));
        let gone = found(key, r#"{"state":"confirmed","deleted":true}"#);
        assert!(matches!(gone.resource, Ok(Resource::BlockAffinity(block)) if block.deleted));
        let bad = found("/calico/ipam/v2/host/node-a/ipv4/block/10.0.0.0", "{}");
        assert!(bad.resource.is_err());
    }
}
