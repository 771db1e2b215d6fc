//! Functions for authors of templates.

mod communities;
mod hashing;
mod prefixes;
mod sets;

use std::net::IpAddr;

use tailorbird_guest::{Function, Functions, NoSettings, Policy, export, manifest};

use prefixes::Net;

/// The functions. They read nothing of the cluster, and have no settings.
#[derive(Debug)]
pub struct TemplateFunctions;

impl Policy for TemplateFunctions {
    type Settings = NoSettings;

    fn configure(_: NoSettings) -> Result<Self, String> {
        Ok(Self)
    }
}

impl Functions for TemplateFunctions {
    fn functions() -> Vec<Function<Self>> {
        vec![
            Function::new(
                "prefix_first",
                "The first address of a prefix.",
                ["prefix"],
                |_: &Self, net: Net| net.0.address(),
            ),
            Function::new(
                "prefix_last",
                "The last address of a prefix.",
                ["prefix"],
                |_: &Self, net: Net| net.0.last(),
            ),
            Function::new(
                "prefix_mask",
                "The mask of a prefix, as an address.",
                ["prefix"],
                |_: &Self, net: Net| prefixes::mask(net.0),
            ),
            Function::new(
                "prefix_size",
                "How many addresses are in a prefix; an error above 2^62.",
                ["prefix"],
                |_: &Self, net: Net| prefixes::size(net.0),
            ),
            Function::new(
                "prefix_address",
                "The address with a number in a prefix, from 0; negative numbers count from the end.",
                ["prefix", "number"],
                |_: &Self, net: Net, number: i64| prefixes::address(net.0, number),
            ),
            Function::new(
                "prefix_subnet",
                "The prefix of a length with a number in a prefix, from 0; negative numbers count from the end.",
                ["prefix", "length", "number"],
                |_: &Self, net: Net, length: u8, number: i64| prefixes::subnet(net.0, length, number),
            ),
            Function::new(
                "prefix_subnets",
                "All prefixes of a length in a prefix, at most 1024.",
                ["prefix", "length"],
                |_: &Self, net: Net, length: u8| prefixes::subnets(net.0, length),
            ),
            Function::new(
                "prefix_parent",
                "The prefix of a shorter length that a prefix is in.",
                ["prefix", "length"],
                |_: &Self, net: Net, length: u8| prefixes::parent(net.0, length),
            ),
            Function::new(
                "prefix_overlaps",
                "Whether two prefixes have an address in common.",
                ["one", "other"],
                |_: &Self, one: Net, other: Net| one.0.overlaps(other.0),
            ),
            Function::new(
                "prefix_aggregate",
                "The fewest prefixes with the same addresses, in order.",
                ["prefixes"],
                |_: &Self, nets: Vec<Net>| prefixes::aggregate(nets.into_iter().map(|net| net.0)),
            ),
            Function::new(
                "address_add",
                "An address so many behind another, or before it.",
                ["address", "number"],
                |_: &Self, address: IpAddr, number: i64| prefixes::add(address, number),
            ),
            Function::new(
                "address_sort",
                "Addresses and prefixes in order: IPv4 first, then by value, then by length.",
                ["addresses"],
                |_: &Self, nets: Vec<Net>| prefixes::sort(nets),
            ),
            Function::new(
                "address_only",
                "The addresses and prefixes of a family, `v4` or `v6`.",
                ["addresses", "family"],
                |_: &Self, nets: Vec<Net>, family: String| prefixes::only(nets, &family),
            ),
            Function::new(
                "community_of",
                "A community: `65000:7` of two numbers, a large one of three.",
                ["first", "second", "third"],
                |_: &Self, first: u32, second: u32, third: Option<u32>| {
                    communities::community(first, second, third)
                },
            ),
            Function::new(
                "route_target",
                "A route target as `64512:100`, of an AS number or an IPv4 address and a number (RFC 4360, RFC 5668).",
                ["administrator", "number"],
                |_: &Self, administrator: String, number: u32| {
                    communities::route_target(&administrator, number)
                },
            ),
            Function::new(
                "set_union",
                "What is in one of two lists, once.",
                ["one", "other"],
                |_: &Self, one: Vec<String>, other: Vec<String>| sets::union(one, other),
            ),
            Function::new(
                "set_intersection",
                "What is in both lists, once.",
                ["one", "other"],
                |_: &Self, one: Vec<String>, other: Vec<String>| sets::intersection(one, &other),
            ),
            Function::new(
                "set_difference",
                "What is in the first list and not in the second, once.",
                ["one", "other"],
                |_: &Self, one: Vec<String>, other: Vec<String>| sets::difference(one, &other),
            ),
            Function::new(
                "hash",
                "A number that a text always has, from 0; below `buckets` if that is given.",
                ["text", "buckets"],
                |_: &Self, text: String, buckets: Option<u32>| hashing::hash_below(&text, buckets),
            ),
            Function::new(
                "pick",
                "So many of a list (else 1), best first, that a key always has; few change when the list does.",
                ["list", "key", "count"],
                |_: &Self, list: Vec<String>, key: String, count: Option<u32>| {
                    hashing::pick(list, &key, count)
                },
            ),
        ]
    }
}

export!(TemplateFunctions: Functions);

manifest! {
    name: env!("CARGO_PKG_NAME"),
    description: "Functions for templates: prefixes, addresses, communities, sets, hashing.",
    wants: [],
}
