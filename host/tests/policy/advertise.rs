//! Routes that start here: which do, and how they go out.

use tailorbird::engine::CollectionId;
use tailorbird::plugin::contract::filter::{AdvertiseRequest, Destination, RouteDecision, RouteKind};
use tailorbird::plugin::contract::types::{Address, Community, Range, Span};
use tailorbird::policy::OnError;
use tailorbird::resources::Kind;

use crate::cluster::{Look, calico, configuration, peer, service, slice, three_nodes};
use crate::native::{Native, advertise_answer, text};
use crate::world::World;

/// What a plugin says of a route.
#[derive(Debug, Clone, Default)]
struct Say {
    reject: bool,
    communities: Vec<Community>,
    priority: Option<u32>,
    to: Option<Vec<To>>,
}

#[derive(Debug, Clone)]
enum To {
    Peer(&'static str),
    Ip(Address),
}

/// A route as a text: `block 10.244.0.0/26`, `service default/web 10.96.0.1/32`, `cidr …`.
fn name(request: &AdvertiseRequest, at: usize) -> String {
    let route = request.routes.get(at).unwrap();
    let ip = match route.prefix.address {
        Address::V4(bits) => std::net::Ipv4Addr::from(bits).to_string(),
        Address::V6((high, low)) => {
            std::net::Ipv6Addr::from(u128::from(high) << 64 | u128::from(low)).to_string()
        }
    };
    let prefix = format!("{ip}/{}", route.prefix.length);
    match route.kind {
        RouteKind::Block => format!("block {prefix}"),
        RouteKind::Cidr => format!("cidr {prefix}"),
        RouteKind::Service => format!(
            "service {}/{} {prefix}",
            text(&request.text, route.namespace),
            text(&request.text, route.service)
        ),
    }
}

/// A plugin that decides on each route by its name.
fn deciding(plugin: &str, say: impl Fn(&str) -> Option<Say> + 'static) -> Native {
    Native::new(plugin).advertise(move |_, request| {
        let mut answer = advertise_answer();
        for at in 0..request.routes.len() {
            let Some(said) = say(&name(request, at)) else { continue };
            let communities = answer.communities.len() as u32;
            answer.communities.extend_from_slice(&said.communities);
            let to = said.to.map(|to| {
                let start = answer.destinations.len() as u32;
                let count = to.len() as u32;
                for to in to {
                    answer.destinations.push(match to {
                        To::Ip(ip) => Destination::Address(ip),
                        To::Peer(name) => {
                            let start = answer.text.len() as u32;
                            answer.text.push_str(name);
                            Destination::BgpPeer(Span { start, length: name.len() as u32 })
                        }
                    });
                }
                Range { start, count }
            });
            answer.decisions.push(RouteDecision {
                route: at as u32,
                accept: !said.reject,
                communities: Range { start: communities, count: said.communities.len() as u32 },
                priority: said.priority,
                to,
            });
        }
        Ok(answer)
    })
}

fn standard(a: u16, b: u16) -> Community {
    Community::Standard((a, b))
}

/// Services, blocks and prefixes of both families.
fn objects() -> String {
    let block = |name: &str, cidr: &str| {
        calico(
            "BlockAffinity",
            name,
            &format!("{{cidr: '{cidr}', node: a, state: confirmed, deleted: 'false'}}"),
        )
    };
    [
        three_nodes(),
        configuration(
            "{serviceClusterIPs: [{cidr: 10.96.0.0/12}, {cidr: 'fd96::/112'}], \
             serviceExternalIPs: [{cidr: 192.0.2.0/24}]}",
        ),
        service(
            "web",
            "{type: NodePort, clusterIPs: [10.96.0.1, 'fd96::1'], externalIPs: [192.0.2.1], externalTrafficPolicy: Local}",
            &[],
        ),
        slice("x", "web", "IPv4", "[{nodeName: a}]"),
        service("api", "{type: NodePort, clusterIP: 10.96.0.2, externalTrafficPolicy: Local}", &[]),
        slice("y", "api", "IPv4", "[{nodeName: a}]"),
        block("b4", "10.244.0.0/26"),
        block("b6", "fd44::/122"),
        calico("IPPool", "pool", "{cidr: 10.244.0.0/16}"),
        peer("tor", "{peerIP: 192.0.2.254, asNumber: 65001}"),
        peer("tor6", "{peerIP: 'fd00::fe', asNumber: 65001}"),
    ]
    .concat()
}

#[test]
fn a_plugin_is_told_of_every_route() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = seen.clone();
    let plugin = deciding("p", move |name| {
        noted.lock().unwrap().push(name.to_owned());
        None
    });
    let mut world = World::new([plugin]).having(&objects());
    let files = world.files();
    let mut seen = seen.lock().unwrap().clone();
    seen.sort();
    assert_eq!(
        seen,
        [
            "block 10.244.0.0/26",
            "block fd44::/122",
            "cidr 10.96.0.0/12",
            "cidr 192.0.2.0/24",
            "cidr fd96::/112",
            "service default/api 10.96.0.2/32",
            "service default/web 10.96.0.1/32",
            "service default/web 192.0.2.1/32",
            "service default/web fd96::1/128",
        ]
    );
    assert_eq!(files, World::new([]).having(&objects()).files());
}

#[test]
fn a_rejected_route_does_not_start_here() {
    let reject = |name: &str| {
        let reject = name.contains("default/web") || name == "cidr 192.0.2.0/24";
        reject.then(|| Say { reject: true, priority: Some(7), ..Say::default() })
    };
    let mut world = World::new([deciding("p", reject)]).having(&objects());
    for gone in ["10.96.0.1/32", "192.0.2.1/32", "192.0.2.0/24"] {
        world.lacks("bird_aggr.cfg", &format!("route {gone}"));
        world.lacks("bird_ipam.cfg", &format!("if ( net ~ {gone} ) then {{ accept; }}"));
    }
    world.lacks("bird6_aggr.cfg", "route fd96::1/128");
    world.has("bird_aggr.cfg", "route 10.96.0.2/32 blackhole;");
    world.has("bird_ipam.cfg", "if ( net ~ 192.0.2.0/24 ) then { reject; }");
    world.lacks("bird.cfg", "route_policies");
    world.bird_accepts();
}

#[test]
fn a_rejected_block_keeps_its_blackhole_and_goes_to_nobody() {
    let reject = |name: &str| name.starts_with("block").then(|| Say { reject: true, ..Say::default() });
    let mut world = World::new([deciding("p", reject)]).having(&objects());
    world.has("bird_aggr.cfg", "route 10.244.0.0/26 blackhole;");
    world.has(
        "bird.cfg",
        "function route_policies(ip peer_address) { if (defined(source) && source = RTS_BGP) then return true; \
         if (net = 10.244.0.0/26) then { reject; } }",
    );
    world.has("bird6.cfg", "if (net = fd44::/122) then { reject; }");
    world.session_has(
        "Mesh_10_0_0_2",
        &["krt_metric; } route_policies(10.0.0.2); calico_export_to_bgp_peers(true);"],
    );
    world.session_has("Mesh_fd00__2", &["route_policies(fd00::2);"]);
    world.bird_accepts();
}

#[test]
fn what_several_plugins_say_adds_up() {
    let web = |say: Say| move |name: &str| name.starts_with("service default/web").then(|| say.clone());
    let to = |to: &[To]| Some(to.to_vec());
    let (tor, mesh) = (Address::V4(0xc000_02fe), Address::V4(0x0a00_0002));
    let first = Say {
        communities: vec![standard(65535, 0), Community::Large((1, 2, 3))],
        priority: Some(100),
        to: to(&[To::Peer("tor"), To::Ip(mesh)]),
        ..Say::default()
    };
    let second = Say {
        communities: vec![standard(1, 2), standard(65535, 0)],
        to: to(&[To::Ip(mesh), To::Ip(tor), To::Peer("unknown")]),
        ..Say::default()
    };
    let third = Say { priority: Some(200), ..Say::default() };
    let mut world = World::new([
        deciding("first", web(first)),
        deciding("second", web(second.clone())),
        deciding("third", web(third)),
    ])
    .having(&objects());
    world.has(
        "bird.cfg",
        "if (net = 10.96.0.1/32) then { if (peer_address !~ [ 10.0.0.2, 192.0.2.254 ]) then reject; \
         bgp_community.add((65535, 0)); bgp_large_community.add((1, 2, 3)); bgp_community.add((1, 2)); \
         bgp_local_pref = 2147483447; }",
    );
    // No address of the other family.
    world.has("bird6.cfg", "if (net = fd96::1/128) then { reject; }");
    world.lacks("bird.cfg", "net = 10.96.0.2/32");
    world.bird_accepts();
    // The session of the BGPPeer goes, and with it its address.
    world.apply(&peer("tor", "{peerIP: 192.0.2.253, asNumber: 65001}"));
    world.has("bird.cfg", "if (net = 10.96.0.1/32) then { if (peer_address !~ [ 10.0.0.2 ]) then reject;");
    world.delete(Kind::BgpPeer, "tor");
    world.has("bird.cfg", "if (net = 10.96.0.1/32) then { if (peer_address !~ [ 10.0.0.2 ]) then reject;");

    let rejecting = Say { reject: true, ..Say::default() };
    let mut world =
        World::new([deciding("first", web(rejecting)), deciding("second", web(second))]).having(&objects());
    world.lacks("bird.cfg", "net = 10.96.0.1/32");
    world.lacks("bird_aggr.cfg", "route 10.96.0.1/32");
}

#[test]
fn a_route_for_nobody_goes_to_nobody() {
    let nobody = Say { to: Some(Vec::new()), communities: vec![standard(1, 1)], ..Say::default() };
    let mut world =
        World::new([deciding("p", move |name| (name == "cidr 10.96.0.0/12").then(|| nobody.clone()))])
            .having(&objects());
    world.has("bird.cfg", "if (net = 10.96.0.0/12) then { reject; }");
    world.lacks("bird.cfg", "(1, 1)");
    world.has("bird_aggr.cfg", "route 10.96.0.0/12 blackhole;");
    world.lacks("bird6.cfg", "route_policies");
    world.bird_accepts();
}

#[test]
fn annotations_of_a_service_decide_on_its_routes() {
    let plugin = Native::new("p").may_read(&["/tailorbird/v1/service"]).advertise(|kv, request| {
        let mut answer = advertise_answer();
        for (at, route) in request.routes.iter().enumerate() {
            let (namespace, name) =
                (text(&request.text, route.namespace), text(&request.text, route.service));
            let folder = format!("/tailorbird/v1/service/{namespace}/{name}");
            if route.kind == RouteKind::Service
                && kv.get(&format!("{folder}/annotations/example.com/advertise")).as_deref() == Some("no")
            {
                assert_eq!(kv.get(&format!("{folder}/type")).as_deref(), Some("NodePort"));
                answer.decisions.push(RouteDecision {
                    route: at as u32,
                    accept: false,
                    communities: Range { start: 0, count: 0 },
                    priority: None,
                    to: None,
                });
            }
        }
        Ok(answer)
    });
    let mut world = World::new([plugin]).having(&objects());
    world.has("bird_aggr.cfg", "route 10.96.0.2/32 blackhole;");
    world.files();
    assert_eq!(world.count.routes, 0, "nothing changed since the first time");
    let api = service("api", "{type: NodePort, clusterIP: 10.96.0.2, externalTrafficPolicy: Local}", &[]);
    let annotated = api.replace("name: 'api'", "name: 'api', annotations: {example.com/advertise: 'no'}");
    world.apply(&annotated);
    world.lacks("bird_aggr.cfg", "route 10.96.0.2/32");
    world.apply(&api);
    world.has("bird_aggr.cfg", "route 10.96.0.2/32 blackhole;");
}

#[test]
fn routes_of_a_plugin_that_failed_do_not_start_here_or_are_as_they_were() {
    let failing =
        |on_error| Native::new("p").on_error(on_error).advertise(|_, _| Err::<_, String>("no".to_owned()));
    let mut world = World::new([failing(OnError::Reject)]).having(&objects());
    assert_eq!(world.errors().len(), 1);
    assert!(world.keys(0, CollectionId::Routes).is_empty());
    world.has("bird.cfg", "if (net = 10.244.0.0/26) then { reject; }");
    world.has("bird_aggr.cfg", "route 10.244.0.0/26 blackhole;");
    world.bird_accepts();

    let mut skipped = World::new([failing(OnError::Skip)]).having(&objects());
    assert_eq!(skipped.files(), World::new([]).having(&objects()).files());
    assert_eq!(skipped.errors().len(), 1);
}
