//! A policy asked as a host asks a component: flat requests in, flat answers out.

#![allow(clippy::unwrap_used)]

use std::net::IpAddr;

use serde::Deserialize;
use tailorbird_guest::bindings::filter::exports::tailorbird::policy::filter as filter_wire;
use tailorbird_guest::bindings::functions::exports::tailorbird::policy::functions as functions_wire;
use tailorbird_guest::bindings::host::tailorbird::policy::types as wire;
use tailorbird_guest::bindings::lifecycle::exports::tailorbird::policy::lifecycle::Guest as _;
use tailorbird_guest::bindings::peers::exports::tailorbird::policy::peers as peers_wire;
use tailorbird_guest::component::Component;
use tailorbird_guest::{
    Addition, AsNumber, Change, ClusterId, ClusterIdChoice, Community, Decision, Destination, Direction,
    Family, Filter, Function, Functions, Kv, NextHop, Operation, PeerType, Peering, Peers, Policy, Prefix,
    PrefixRange, Priority, Request, Route, RouteKind, Rule, RuleSet, Selection,
};

/// Does a bit of everything.
struct Everything {
    shared: RuleSet,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    refused: Prefix,
}

impl Policy for Everything {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, String> {
        if settings.refused.length() == 0 {
            return Err("`refused` is everything".into());
        }
        let shared = RuleSet::from([Rule::reject().prefixes_in([PrefixRange::or_longer(settings.refused)])]);
        Ok(Self { shared })
    }
}

fn cluster_id() -> ClusterId {
    ClusterId::new(7).unwrap()
}

impl Peers for Everything {
    fn select(&self, request: &Request<'_>, _: &dyn Kv) -> Result<Selection, String> {
        let mut selection = Selection::unchanged();
        selection.set_cluster_id(Some(cluster_id()));
        for candidate in request.candidates() {
            let peering = candidate.peering();
            match (candidate.node().map(|node| node.name()), peering.filters().next()) {
                (Some("b"), _) => selection.drop(candidate),
                (Some("c"), Some(first)) => selection.change(
                    candidate,
                    Change::new()
                        .passive(true)
                        .next_hop(NextHop::Keep)
                        .port(1179)
                        .restart_time(120)
                        .keepalive_time(30)
                        .ttl_security(0)
                        .remote_cluster_id(ClusterIdChoice::None)
                        .filters(["added", first]),
                ),
                // Nothing is changed.
                _ => selection.change(candidate, Change::new()),
            }
        }
        let other =
            request.nodes().find(|node| node.label("zone") == Some("east")).ok_or("nobody in the east")?;
        selection.add(
            Addition::new(other, Family::V6)
                .mesh_password()
                .next_hop(NextHop::Own)
                .remote_cluster_id(Some(cluster_id()))
                .filters(["more"]),
        );
        Ok(selection)
    }
}

impl Filter for Everything {
    fn advertise(&self, route: &Route<'_>, _: &dyn Kv) -> Result<Decision, String> {
        Ok(match (route.kind(), route.service()) {
            (RouteKind::Cidr, _) => Decision::reject(),
            (_, Some(service)) if service.namespace == "shop" => Decision::accept()
                .communities([Community::Standard(65000, 1), Community::Large(1, 2, 3)])
                .priority(Priority::WORST)
                .only_to([
                    Destination::BgpPeer(service.name.to_owned()),
                    Destination::Address(route.prefix().address()),
                ]),
            (_, Some(service)) if service.namespace == "secret" => Decision::accept().only_to([]),
            (_, Some(service)) if service.namespace == "broken" => return Err("broken".into()),
            _ => Decision::accept(),
        })
    }

    fn rules(&self, peering: &Peering<'_>, direction: Direction, _: &dyn Kv) -> Result<RuleSet, String> {
        let own = |number: u32| {
            RuleSet::from([
                Rule::apply([
                    Operation::AddCommunity(Community::NO_EXPORT),
                    Operation::RemoveCommunity(Community::Large(1, 2, 3)),
                    Operation::PrependAs(AsNumber::new(number).unwrap()),
                    Operation::SetPriority(Priority::WORST),
                    Operation::SetLocalPreference(0),
                ])
                .as_path_prefix([AsNumber::new(64512).unwrap(), AsNumber::new(1).unwrap()])
                .as_path_length(1..=5)
                .community(Community::GRACEFUL_SHUTDOWN)
                .priority(Priority::WORST)
                .peer_type(PeerType::Internal)
                .from_peers(),
                Rule::accept([]).prefixes_not_in([]),
            ])
        };
        Ok(match (direction, peering.is_internal()) {
            (Direction::Import, _) => self.shared.clone(),
            (Direction::Export, true) => own(peering.as_number().get()),
            (Direction::Export, false) => RuleSet::default(),
        })
    }
}

impl Functions for Everything {
    fn functions() -> Vec<Function<Self>> {
        let join = |_: &Self, texts: Vec<String>, separator: Option<String>| {
            texts.join(separator.as_deref().unwrap_or(" "))
        };
        let fail = |_: &Self, number: u8| -> Result<u8, String> { Err(format!("{number} is no good")) };
        vec![
            Function::new("join_all", "Joins.", ["texts", "separator"], join),
            Function::new("fail", "Fails.", ["number"], fail),
        ]
    }
}

type Plugin = Component<Everything>;

fn configured() {
    Plugin::configure(r#"{"refused": "10.0.0.0/8"}"#.into()).unwrap();
}

/// A text that grows, and the pieces in it.
#[derive(Default)]
struct Text(String);

impl Text {
    fn add(&mut self, piece: &str) -> wire::Span {
        let start = self.0.len() as u32;
        self.0.push_str(piece);
        wire::Span { start, length: piece.len() as u32 }
    }
}

fn slice(text: &str, span: wire::Span) -> &str {
    &text[span.start as usize..][..span.length as usize]
}

/// A piece of a text or of a list, as columns have it.
fn packed(start: u32, length: u32) -> u64 {
    u64::from(length) << 32 | u64::from(start)
}

/// Peerings of the mesh: their addresses, AS numbers and filters.
fn peerings<const N: usize>(text: &mut Text, rows: [(&str, u32, u64); N]) -> wire::Peerings {
    let wire::Span { start, length } = text.add("Mesh_x");
    let addresses = rows.map(|(address, ..)| address.parse::<IpAddr>().unwrap());
    let internal = |(_, as_number, _)| match as_number {
        64512 => wire::PeeringTraits::INTERNAL,
        _ => wire::PeeringTraits::empty(),
    };
    let words = |address| match address {
        IpAddr::V4(ip) => [0, ip.to_bits().into()],
        IpAddr::V6(ip) => [(ip.to_bits() >> 64) as u64, ip.to_bits() as u64],
    };
    wire::Peerings {
        names: vec![packed(start, length); N],
        kinds: vec![wire::PeeringKind::Mesh; N],
        bgp_peers: vec![0; N],
        remote_nodes: vec![0; N],
        families: addresses.map(tailorbird_guest::family).to_vec(),
        addresses: addresses.map(words).concat(),
        ports: vec![0; N],
        as_numbers: rows.map(|(_, as_number, _)| as_number).to_vec(),
        local_as_numbers: vec![64512; N],
        traits: rows.map(internal).to_vec(),
        next_hops: vec![wire::NextHop::Automatic; N],
        restart_times: vec![u32::MAX; N],
        keepalive_times: vec![u32::MAX; N],
        ttl_securities: vec![0; N],
        remote_cluster_ids: vec![0; N],
        filters: rows.map(|(.., filters)| filters).to_vec(),
    }
}

fn peers_request() -> peers_wire::Request {
    let mut text = Text::default();
    let mut piece = |piece| {
        let wire::Span { start, length } = text.add(piece);
        packed(start, length)
    };
    let labels = peers_wire::Labels { keys: vec![piece("zone")], values: vec![piece("east")] };
    let nodes = peers_wire::Nodes {
        names: ["a", "b", "c"].map(&mut piece).to_vec(),
        ipv4: vec![1; 3],
        ipv6: vec![0; 6],
        as_numbers: vec![64512; 3],
        cluster_ids: vec![0; 3],
        labels: vec![0, 0, packed(0, 1)],
    };
    let names = vec![piece("unused"), piece("ipv4-ü")];
    let filtered = packed(1, 1);
    let rows = [("10.0.0.2", 64512, 0), ("10.0.0.3", 64512, filtered), ("10.9.9.9", 65001, filtered)];
    let peerings = peerings(&mut text, rows);
    peers_wire::Request {
        text: text.0,
        nodes,
        labels,
        this_node: Some(0),
        candidates: peers_wire::Candidates { peerings, nodes: vec![1, 2, u32::MAX] },
        names,
        mesh: true,
    }
}

#[test]
fn a_selection_is_packed() {
    use peers_wire::Guest;
    configured();
    let answer = Plugin::select(peers_request()).unwrap();
    assert_eq!(answer.cluster_id, peers_wire::ClusterIdChoice::Set(7));
    assert_eq!(answer.drop, [0]);
    let names = |range: wire::Range| -> Vec<&str> {
        let names = &answer.names[range.start as usize..][..range.count as usize];
        names.iter().map(|name| slice(&answer.text, *name)).collect()
    };
    let [change] = &answer.change[..] else { panic!("{:?}", answer.change) };
    let filters = change.filters.unwrap();
    assert_eq!(names(filters), ["added", "ipv4-ü"]);
    let expected = peers_wire::Change {
        candidate: 1,
        passive: Some(true),
        next_hop: Some(wire::NextHop::Keep),
        port: Some(1179),
        restart_time: Some(120),
        keepalive_time: Some(30),
        ttl_security: Some(0),
        remote_cluster_id: peers_wire::ClusterIdChoice::None,
        filters: Some(filters),
    };
    assert_eq!(*change, expected);
    let [addition] = &answer.add[..] else { panic!("{:?}", answer.add) };
    assert_eq!(names(addition.filters), ["more"]);
    let expected = peers_wire::Addition {
        node: 2,
        family: wire::Family::V6,
        mesh_password: true,
        next_hop: wire::NextHop::Own,
        restart_time: None,
        keepalive_time: None,
        remote_cluster_id: peers_wire::ClusterIdChoice::Set(7),
        filters: addition.filters,
    };
    assert_eq!(*addition, expected);
}

#[test]
fn pieces_that_are_not_there_are_empty() {
    use peers_wire::Guest;
    configured();
    let mut request = peers_request();
    request.text.truncate(3);
    request.names.clear();
    request.this_node = Some(99);
    request.candidates.nodes[0] = 99;
    // The label's text is gone.
    assert_eq!(Plugin::select(request), Err("nobody in the east".into()));
}

#[test]
fn decisions_are_packed() {
    use filter_wire::Guest;
    configured();
    let mut text = Text::default();
    let mut routes = |rows: &[(RouteKind, &str, &str)]| {
        let mut piece = |piece: &str| {
            let wire::Span { start, length } = text.add(piece);
            packed(start, length)
        };
        filter_wire::Routes {
            families: vec![wire::Family::V4; rows.len()],
            addresses: [0, 0x0a60_0001].repeat(rows.len()),
            lengths: vec![32; rows.len()],
            kinds: rows.iter().map(|row| row.0).collect(),
            namespaces: rows.iter().map(|row| piece(row.1)).collect(),
            services: rows.iter().map(|row| piece(row.2)).collect(),
        }
    };
    let broken = routes(&[(RouteKind::Service, "broken", "web")]);
    let routes = routes(&[
        (RouteKind::Block, "", ""),
        (RouteKind::Service, "shop", "web"),
        (RouteKind::Cidr, "", ""),
        (RouteKind::Service, "secret", "web"),
    ]);
    let request = |routes| filter_wire::AdvertiseRequest { text: text.0.clone(), routes };
    let answer = Plugin::advertise(request(routes)).unwrap();
    let decision = |route, accept| filter_wire::RouteDecision {
        route,
        accept,
        communities: wire::Range { start: 0, count: 0 },
        priority: None,
        to: None,
    };
    let expected = [
        filter_wire::RouteDecision {
            communities: wire::Range { start: 0, count: 2 },
            priority: Some(2_147_483_646),
            to: Some(wire::Range { start: 0, count: 2 }),
            ..decision(1, true)
        },
        filter_wire::RouteDecision { communities: wire::Range { start: 2, count: 0 }, ..decision(2, false) },
        filter_wire::RouteDecision {
            communities: wire::Range { start: 2, count: 0 },
            to: Some(wire::Range { start: 2, count: 0 }),
            ..decision(3, true)
        },
    ];
    assert_eq!(answer.decisions, expected);
    assert_eq!(
        answer.communities,
        [wire::Community::Standard((65000, 1)), wire::Community::Large((1, 2, 3))]
    );
    let [filter_wire::Destination::BgpPeer(name), filter_wire::Destination::Address(address)] =
        &answer.destinations[..]
    else {
        panic!("{:?}", answer.destinations)
    };
    assert_eq!((slice(&answer.text, *name), *address), ("web", wire::Address::V4(0x0a60_0001)));
    assert_eq!(Plugin::advertise(request(broken)), Err("broken".into()));
}

#[test]
fn equal_sets_are_in_the_answer_once() {
    use filter_wire::{Guest, RulesRequest};
    configured();
    let mut text = Text::default();
    let sessions = peerings(&mut text, [65001, 64512, 64512].map(|number| ("2001:db8::1", number, 0)));
    let answer = Plugin::rules(RulesRequest { text: text.0, sessions, names: Vec::new() }).unwrap();
    let assignments: Vec<_> =
        answer.assignments.iter().map(|own| (own.session, own.direction, own.set)).collect();
    assert_eq!(
        assignments,
        [
            (0, Direction::Import, 0),
            (1, Direction::Import, 0),
            (1, Direction::Export, 1),
            (2, Direction::Import, 0),
            (2, Direction::Export, 1),
        ]
    );
    assert_eq!(answer.sets, [wire::Range { start: 0, count: 1 }, wire::Range { start: 1, count: 2 }]);
    let refused = wire::Prefix { address: wire::Address::V4(0x0a00_0000), length: 8 };
    assert_eq!(answer.prefixes, [filter_wire::PrefixRange { prefix: refused, min: 8, max: 32 }]);
    assert_eq!(answer.numbers, [64512, 1]);
    let operations = [
        filter_wire::Operation::AddCommunity(wire::Community::Standard((65535, 65281))),
        filter_wire::Operation::RemoveCommunity(wire::Community::Large((1, 2, 3))),
        filter_wire::Operation::PrependAs(64512),
        filter_wire::Operation::SetPriority(2_147_483_646),
        filter_wire::Operation::SetLocalPreference(0),
    ];
    assert_eq!(answer.operations, operations);
    let plain = filter_wire::Rule {
        prefixes: None,
        from_peers: false,
        community: None,
        as_path_prefix: wire::Range { start: 0, count: 0 },
        as_path_length: None,
        priority: None,
        peer_type: None,
        operations: wire::Range { start: 0, count: 0 },
        action: filter_wire::Action::Reject,
    };
    let condition = |start, count, negate| {
        Some(filter_wire::PrefixCondition { any_of: wire::Range { start, count }, negate })
    };
    let expected = [
        filter_wire::Rule { prefixes: condition(0, 1, false), ..plain },
        filter_wire::Rule {
            from_peers: true,
            community: Some(wire::Community::Standard((65535, 0))),
            as_path_prefix: wire::Range { start: 0, count: 2 },
            as_path_length: Some(filter_wire::LengthRange { min: 1, max: 5 }),
            priority: Some(2_147_483_646),
            peer_type: Some(PeerType::Internal),
            operations: wire::Range { start: 0, count: 5 },
            action: filter_wire::Action::Continue,
            ..plain
        },
        filter_wire::Rule {
            prefixes: condition(1, 0, true),
            as_path_prefix: wire::Range { start: 2, count: 0 },
            operations: wire::Range { start: 5, count: 0 },
            action: filter_wire::Action::Accept,
            ..plain
        },
    ];
    assert_eq!(answer.rules, expected);
}

#[test]
fn functions_are_described_and_called() {
    use functions_wire::{Guest, Value};
    configured();
    let described: Vec<_> = Plugin::functions()
        .into_iter()
        .map(|own| {
            (own.name, own.parameters.into_iter().map(|own| (own.name, own.optional)).collect::<Vec<_>>())
        })
        .collect();
    let parameters = vec![("texts".to_owned(), false), ("separator".to_owned(), true)];
    assert_eq!(described[0], ("join_all".to_owned(), parameters));
    let list = || Value::Json(r#"["a", 1, "b"]"#.into());
    assert_eq!(Plugin::call(0, vec![list()]), Ok(Value::Text("a 1 b".into())));
    assert_eq!(Plugin::call(0, vec![list(), Value::Text(",".into())]), Ok(Value::Text("a,1,b".into())));
    for (function, arguments, words) in [
        (0, vec![], "texts: nothing is no list"),
        (0, vec![list(), Value::Boolean(true)], "separator: `true` is no text"),
        (0, vec![list(), list(), list()], "3 arguments where there are 2"),
        (0, vec![Value::Json("[1".into())], "texts: `[1` is no list"),
        (1, vec![Value::Integer(256)], "number: `256` is not between 0 and 255"),
        (1, vec![Value::Integer(7)], "7 is no good"),
        (2, vec![], "there is no such function"),
    ] {
        assert_eq!(Plugin::call(function, arguments), Err(words.into()));
    }
}

#[test]
fn wrong_settings_and_a_wrong_order_are_told() {
    use functions_wire::Guest;
    assert_eq!(Plugin::call(0, vec![]), Err("called before `configure`".into()));
    let configure = |settings: &str| Plugin::configure(settings.into()).unwrap_err();
    assert!(configure("{}").contains("settings: missing field `refused`"));
    assert!(configure(r#"{"refused": "x"}"#).contains("`x` is no prefix"));
    assert!(configure(r#"{"refused": "10.0.0.0/8", "x": 1}"#).contains("unknown field `x`"));
    assert!(configure("[").contains("settings: "));
    assert_eq!(configure(r#"{"refused": "::/0"}"#), "`refused` is everything");
    configured();
    assert_eq!(configure(r#"{"refused": "10.0.0.0/8"}"#), "configured twice");
}
