//! The functions, called as templates call them.

#![allow(clippy::unwrap_used)]

use net::TemplateFunctions;
use serde_json::json;
use tailorbird_guest::testing::{MockKv, call};
use tailorbird_guest::{Function, Functions, Value};

fn value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::None,
        serde_json::Value::Bool(value) => (*value).into(),
        serde_json::Value::Number(number) => number.as_i64().unwrap().into(),
        serde_json::Value::String(text) => text.as_str().into(),
        other => Value::Json(other.to_string()),
    }
}

fn ask(name: &str, arguments: serde_json::Value) -> Result<Value, String> {
    let arguments: Vec<Value> = arguments.as_array().unwrap().iter().map(value).collect();
    call(&TemplateFunctions, &MockKv::new(), name, arguments)
}

#[track_caller]
fn gives(name: &str, arguments: serde_json::Value, expected: serde_json::Value) {
    assert_eq!(ask(name, arguments.clone()), Ok(value(&expected)), "{name} {arguments}");
}

#[track_caller]
fn fails(name: &str, arguments: serde_json::Value, words: &str) {
    let error = ask(name, arguments).unwrap_err();
    assert!(error.contains(words), "{error}");
}

#[test]
fn parts_of_a_prefix() {
    for (prefix, first, last, mask) in [
        ("10.1.2.3/20", "10.1.0.0", "10.1.15.255", "255.255.240.0"),
        ("0.0.0.0/0", "0.0.0.0", "255.255.255.255", "0.0.0.0"),
        ("10.0.0.1", "10.0.0.1", "10.0.0.1", "255.255.255.255"),
        ("2001:db8::/126", "2001:db8::", "2001:db8::3", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffc"),
        ("::/0", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::"),
    ] {
        gives("prefix_first", json!([prefix]), json!(first));
        gives("prefix_last", json!([prefix]), json!(last));
        gives("prefix_mask", json!([prefix]), json!(mask));
    }
    gives("prefix_size", json!(["10.0.0.0/24"]), json!(256));
    gives("prefix_size", json!(["0.0.0.0/0"]), json!(1_i64 << 32));
    gives("prefix_size", json!(["2001:db8::/66"]), json!(1_i64 << 62));
    fails("prefix_size", json!(["2001:db8::/65"]), "2^63");
    fails("prefix_first", json!(["10.0.0.0/33"]), "prefix: `10.0.0.0/33` is neither a prefix");
}

#[test]
fn addresses_by_number() {
    gives("prefix_address", json!(["10.0.0.0/24", 0]), json!("10.0.0.0"));
    gives("prefix_address", json!(["10.0.0.0/24", 255]), json!("10.0.0.255"));
    gives("prefix_address", json!(["10.0.0.0/24", -1]), json!("10.0.0.255"));
    gives("prefix_address", json!(["10.0.0.0/24", -256]), json!("10.0.0.0"));
    gives("prefix_address", json!(["2001:db8::/64", -1]), json!("2001:db8::ffff:ffff:ffff:ffff"));
    gives("prefix_address", json!(["::/0", i64::MAX]), json!("::7fff:ffff:ffff:ffff"));
    gives("prefix_address", json!(["10.0.0.0/24", "7"]), json!("10.0.0.7"));
    for number in [256, -257, i64::MIN, i64::MAX] {
        fails("prefix_address", json!(["10.0.0.0/24", number]), "10.0.0.0/24 has no address with the number");
    }
}

#[test]
fn subnets_and_parents() {
    gives("prefix_subnet", json!(["10.0.0.0/8", 16, 3]), json!("10.3.0.0/16"));
    gives("prefix_subnet", json!(["10.0.0.0/8", 16, -1]), json!("10.255.0.0/16"));
    gives("prefix_subnet", json!(["10.0.0.0/8", 8, 0]), json!("10.0.0.0/8"));
    gives("prefix_subnet", json!(["0.0.0.0/0", 0, 0]), json!("0.0.0.0/0"));
    gives("prefix_subnet", json!(["::/0", 0, -1]), json!("::/0"));
    gives("prefix_subnet", json!(["2001:db8::/32", 48, 65535]), json!("2001:db8:ffff::/48"));
    fails("prefix_subnet", json!(["10.0.0.0/8", 16, 256]), "no /16 with the number 256");
    fails("prefix_subnet", json!(["10.0.0.0/8", 7, 0]), "not between 8 and 32");
    fails("prefix_subnet", json!(["10.0.0.0/8", 33, 0]), "not between 8 and 32");
    fails("prefix_subnet", json!(["10.0.0.0/8", 256, 0]), "length: `256`");

    gives("prefix_subnets", json!(["10.0.0.0/23", 24]), json!(["10.0.0.0/24", "10.0.1.0/24"]));
    let all = ask("prefix_subnets", json!(["10.0.0.0/8", 18])).unwrap();
    assert!(matches!(all, Value::Json(list) if list.matches("/18").count() == 1024));
    fails("prefix_subnets", json!(["10.0.0.0/8", 19]), "more than 1024");
    fails("prefix_subnets", json!(["::/0", 128]), "more than 1024");

    gives("prefix_parent", json!(["10.1.2.0/24", 16]), json!("10.1.0.0/16"));
    gives("prefix_parent", json!(["10.1.2.3", 24]), json!("10.1.2.0/24"));
    fails("prefix_parent", json!(["10.1.2.0/24", 25]), "0 to 24");
}

#[test]
fn prefixes_together() {
    gives("prefix_overlaps", json!(["10.0.0.0/8", "10.1.0.0/16"]), json!(true));
    gives("prefix_overlaps", json!(["10.1.0.1", "10.1.0.0/16"]), json!(true));
    gives("prefix_overlaps", json!(["10.0.0.0/8", "11.0.0.0/8"]), json!(false));
    gives("prefix_overlaps", json!(["0.0.0.0/0", "::/0"]), json!(false));
    for (given, fewest) in [
        (json!([]), json!([])),
        (json!(["10.0.1.0/24", "10.0.0.0/24"]), json!(["10.0.0.0/23"])),
        // Halves of different wholes stay.
        (json!(["10.0.1.0/24", "10.0.2.0/24"]), json!(["10.0.1.0/24", "10.0.2.0/24"])),
        (json!(["10.0.0.0/24", "10.0.0.7", "10.0.0.0/24"]), json!(["10.0.0.0/24"])),
        // One join makes the next possible.
        (json!(["10.0.0.0/25", "10.0.0.128/26", "10.0.0.192/26", "10.0.1.0/24"]), json!(["10.0.0.0/23"])),
        (json!(["128.0.0.0/1", "0.0.0.0/1", "8000::/1", "::/1"]), json!(["0.0.0.0/0", "::/0"])),
    ] {
        gives("prefix_aggregate", json!([given]), fewest);
    }
}

#[test]
fn addresses() {
    gives("address_add", json!(["10.0.0.255", 1]), json!("10.0.1.0"));
    gives("address_add", json!(["2001:db8::", -1]), json!("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff"));
    fails("address_add", json!(["255.255.255.255", 1]), "there is no address");
    fails("address_add", json!(["::", i64::MIN]), "there is no address");
    fails("address_add", json!(["255.255.255.255", i64::MAX]), "there is no address");

    let mixed = json!([["::1", "10.0.0.10", "10.0.0.0/8", "10.0.0.9", "2001:db8::/32", "10.0.0.9"]]);
    let sorted = json!(["10.0.0.0/8", "10.0.0.9", "10.0.0.9", "10.0.0.10", "::1", "2001:db8::/32"]);
    gives("address_sort", mixed.clone(), sorted);
    gives("address_only", json!([mixed[0], "v6"]), json!(["::1", "2001:db8::/32"]));
    fails("address_only", json!([mixed[0], "ipv6"]), "neither `v4` nor `v6`");
    fails("address_sort", json!([["10.0.0.1", "x"]]), "addresses: `x` is neither");
    fails("address_sort", json!(["10.0.0.1"]), "is no list");
}

#[test]
fn communities() {
    gives("community_of", json!([65000, 7]), json!("65000:7"));
    gives("community_of", json!(["65000", 7, null]), json!("65000:7"));
    gives("community_of", json!([4_200_000_000_u32, 1, 2]), json!("4200000000:1:2"));
    fails("community_of", json!([65536, 1]), "three numbers for a large one");
    fails("community_of", json!([-1, 1]), "first: `-1`");
    gives("route_target", json!([64512, 4_294_967_295_u32]), json!("64512:4294967295"));
    gives("route_target", json!([4_200_000_000_u32, 65535]), json!("4200000000:65535"));
    gives("route_target", json!(["192.0.2.1", 100]), json!("192.0.2.1:100"));
    fails("route_target", json!(["65536", 65536]), "above 65535");
    fails("route_target", json!(["192.0.2.1", 65536]), "above 65535");
    fails("route_target", json!(["x", 1]), "neither an AS number nor an IPv4 address");
}

#[test]
fn sets() {
    let (one, other) = (json!(["b", "a", "b", 1]), json!(["c", "a", "1"]));
    gives("set_union", json!([one, other]), json!(["b", "a", "1", "c"]));
    gives("set_intersection", json!([one, other]), json!(["a", "1"]));
    gives("set_difference", json!([one, other]), json!(["b"]));
    gives("set_difference", json!([[], other]), json!([]));
}

#[test]
fn hashes_stay_what_they_are() {
    gives("hash", json!(["node-1"]), json!(HASH_OF_NODE_1));
    gives("hash", json!(["node-1", 16]), json!(HASH_OF_NODE_1 % 16));
    gives("hash", json!(["node-1", 1]), json!(0));
    fails("hash", json!(["node-1", 0]), "buckets: 0");
    let picked = json!(["c", "b"]);
    gives("pick", json!([["a", "b", "c", "d"], "node-1", 2]), picked);
}

const HASH_OF_NODE_1: i64 = 6_057_981_060_994_100_962;

#[test]
fn hashes_spread() {
    let mut buckets = [0_u32; 16];
    for index in 0..16_000 {
        match ask("hash", json!([format!("node-{index}"), 16])) {
            Ok(Value::Integer(bucket)) => buckets[usize::try_from(bucket).unwrap()] += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(buckets.iter().all(|count| (850..1150).contains(count)), "{buckets:?}");
}

/// Who picks an item that stays goes on picking it.
#[test]
fn few_picks_change_with_the_list() {
    let ten: Vec<String> = (0..10).map(|index| format!("reflector-{index}")).collect();
    let pick = |list: &[String], key: usize| ask("pick", json!([list, format!("node-{key}"), 1])).unwrap();
    let mut moved = 0;
    for key in 0..1000 {
        let (before, after) = (pick(&ten[..9], key), pick(&ten, key));
        if before != after {
            moved += 1;
            assert_eq!(after, Value::Json(r#"["reflector-9"]"#.into()));
        }
    }
    assert!((60..140).contains(&moved), "{moved} of 1000 for one of ten");
    // The order of the list, and what is there twice, do not count.
    gives(
        "pick",
        json!([["b", "a", "b"], "x", 5]),
        value_of(&ask("pick", json!([["a", "b"], "x", 5])).unwrap()),
    );
    gives("pick", json!([[], "x"]), json!([]));
}

fn value_of(value: &Value) -> serde_json::Value {
    match value {
        Value::Json(json) => serde_json::from_str(json).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_functions_are_those_of_the_readme() {
    let readme = include_str!("../README.md");
    let functions = TemplateFunctions::functions();
    for name in functions.iter().map(Function::name) {
        assert!(readme.contains(&format!("`{name} ")), "{name} is not in the README");
    }
    let documented = readme
        .lines()
        .filter(|line| line.starts_with("| `"))
        .flat_map(|line| line.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2));
    assert_eq!(documented.count(), functions.len());
}
