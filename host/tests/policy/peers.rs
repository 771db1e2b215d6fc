//! Peerings: which there are, and with which fields.

use tailorbird::plugin::contract::peers::{Addition, Answer, Change, ClusterIdChoice, Request};
use tailorbird::plugin::contract::types::{Family, NextHop, PeeringKind, Range, Span};
use tailorbird::policy::OnError;

use crate::cluster::{Look, calico, configuration, node, peer, secret, service, slice, three_nodes};
use crate::native::{Native, addition, answer, candidate_name, change, dropping, labels, node_place, text};
use crate::world::World;

fn place(request: &Request, wanted: &str) -> u32 {
    (0..request.candidates.len()).find(|at| candidate_name(request, *at) == wanted).unwrap() as u32
}

fn push_names(answer: &mut Answer, names: &[&str]) -> Range {
    let start = answer.names.len() as u32;
    for name in names {
        let start = answer.text.len() as u32;
        answer.text.push_str(name);
        answer.names.push(Span { start, length: name.len() as u32 });
    }
    Range { start, count: names.len() as u32 }
}

#[test]
fn a_plugin_is_told_of_all_nodes_and_candidates() {
    let plugin = Native::new("p").may_read(&["/tailorbird/v1/node/*/labels/rack"]).select(|_, request| {
        let names: Vec<&str> = request.nodes.iter().map(|node| text(&request.text, node.name)).collect();
        assert_eq!(names, ["a", "b", "c"], "a node without an address is not there");
        assert_eq!((request.this_node, request.mesh), (Some(0), true));
        let b = request.nodes.get(1).unwrap();
        assert_eq!((b.ipv4, b.ipv6), (Some(0x0a00_0002), Some((0xfd00_0000_0000_0000, 2))));
        assert_eq!((b.as_number, b.cluster_id), (64513, None));
        assert_eq!(labels(request, b.labels), [("rack", "r1")], "only what the plugin may read");
        assert_eq!(request.nodes.get(2).unwrap().cluster_id, Some(0x0a09_0909));
        let candidates: Vec<&str> =
            (0..request.candidates.len()).map(|at| candidate_name(request, at)).collect();
        assert_eq!(candidates, ["Global_192_0_2_1", "Mesh_10_0_0_2", "Mesh_fd00__2"]);
        let nodes: Vec<_> = (0..3).map(|at| request.candidates.node(at)).collect();
        assert_eq!(nodes, [None, Some(1), Some(1)]);
        Ok(answer())
    });
    let mut world = World::new([plugin])
        .having(&node("a", "{ipv4Address: 10.0.0.1/24, ipv6Address: 'fd00::1/64'}", "{rack: r1}"))
        .having(&node(
            "b",
            "{ipv4Address: 10.0.0.2/24, ipv6Address: 'fd00::2/64', asNumber: 64513}",
            "{rack: r1, x: y}",
        ))
        .having(&node("c", "{ipv4Address: 10.0.0.10/24, routeReflectorClusterID: 10.9.9.9}", "{}"))
        .having(&node("d", "{}", "{rack: r2}"))
        .having(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001}"));
    assert_eq!(world.errors(), []);
    assert_eq!(world.files().len(), 6);
}

#[test]
fn dropped_peerings_are_gone_and_the_others_stay() {
    let mut world = World::new([dropping("p", "Mesh_10")])
        .having(&three_nodes())
        .having(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001}"));
    assert_eq!(world.sessions(), ["Global_192_0_2_1", "Mesh_fd00__10", "Mesh_fd00__2"]);
    world.bird_accepts();
}

#[test]
fn every_field_can_be_changed() {
    let plugin = Native::new("p").select(|_, request| {
        let mut answer = answer();
        let filters = Some(push_names(&mut answer, &["g", "f"]));
        let none = Some(push_names(&mut answer, &[]));
        answer.change.push(Change {
            passive: Some(true),
            next_hop: Some(NextHop::Own),
            port: Some(1790),
            restart_time: Some(17),
            keepalive_time: Some(5),
            ttl_security: Some(9),
            filters,
            ..change(place(request, "Mesh_10_0_0_10"))
        });
        answer.change.push(Change {
            passive: Some(false),
            next_hop: Some(NextHop::Automatic),
            ttl_security: Some(0),
            filters: none,
            ..change(place(request, "Global_192_0_2_1"))
        });
        Ok(answer)
    });
    let mut world = World::new([plugin])
        .having(&three_nodes())
        .having(&calico("BGPFilter", "f", "{exportV4: [{action: Accept}]}"))
        .having(&calico("BGPFilter", "g", "{exportV4: [{action: Reject}], importV4: [{action: Reject}]}"))
        .having(&peer(
            "p",
            "{peerIP: 192.0.2.1, asNumber: 65001, ttlSecurity: 3, nextHopMode: Self, filters: [f], keepaliveTime: 9s}",
        ));
    world.session_has(
        "Mesh_10_0_0_10",
        &[
            "neighbor 10.0.0.10 port 1790 as 64512;",
            "ttl security on; multihop 9;",
            "passive on;",
            "graceful restart time 17;",
            "keepalive time 5;",
            "next hop self;",
            "import filter { 'bgp_g_importFilterV4'();",
            "'bgp_g_exportFilterV4'(); 'bgp_f_exportFilterV4'();",
        ],
    );
    world.session_has("Global_192_0_2_1", &["ttl security off;", "keepalive time 9;"]);
    world.session_lacks("Global_192_0_2_1", &["next hop", "bgp_f"]);
    world.bird_accepts();
    // A filter that changes what it is called by reaches the sessions that a plugin gave it to.
    world.apply(&calico("BGPFilter", "g", "{exportV4: [{action: Reject, peerType: eBGP}]}"));
    world.session_has("Mesh_10_0_0_10", &["'bgp_g_exportFilterV4'(true); 'bgp_f_exportFilterV4'();"]);
    world.session_lacks("Mesh_10_0_0_10", &["bgp_g_importFilterV4"]);
}

#[test]
fn added_peerings_are_like_those_of_the_mesh() {
    let plugin = Native::new("p").select(|_, request| {
        let mut answer = answer();
        answer.drop = (0..request.candidates.len() as u32).collect();
        let filters = push_names(&mut answer, &["f"]);
        let (b, c) = (node_place(request, "b"), node_place(request, "c"));
        answer.add = vec![
            Addition { mesh_password: true, filters, ..addition(c, Family::V4) },
            Addition { restart_time: Some(7), next_hop: NextHop::Keep, ..addition(c, Family::V6) },
            Addition { keepalive_time: Some(3), ..addition(b, Family::V4) },
        ];
        Ok(answer)
    });
    let mut world = World::new([plugin])
        .having(&three_nodes())
        .having(&secret("s", "{k: hush}"))
        .having(&calico("BGPFilter", "f", "{exportV4: [{action: Accept}]}"))
        .having(&configuration(
            "{nodeMeshMaxRestartTime: 90s, listenPort: 1791, nodeMeshPassword: {secretKeyRef: {name: s, key: k}}}",
        ))
        .having(&calico("BGPConfiguration", "node.c", "{listenPort: 1792}"));
    assert_eq!(world.sessions(), ["Plugin_10_0_0_10", "Plugin_10_0_0_2", "Plugin_fd00__10"]);
    world.session_has(
        "Plugin_10_0_0_10",
        &[
            "neighbor 10.0.0.10 port 1792 as 64512; source address 10.0.0.1;",
            "passive on; graceful restart time 90;",
            "password \"hush\";",
            "'bgp_f_exportFilterV4'();",
        ],
    );
    world.session_has("Plugin_10_0_0_2", &["port 1791", "keepalive time 3;", "passive on;"]);
    world.session_has("Plugin_fd00__10", &["next hop keep;", "graceful restart time 7;"]);
    world.session_lacks("Plugin_fd00__10", &["password"]);
    world.bird_accepts();
    // What no plugin sees, such as a password, and the ports, reach them too.
    world.apply(&secret("s", "{k: whist}"));
    world.session_has("Plugin_10_0_0_10", &["password \"whist\";"]);
    assert_eq!(world.count.selects, 0);
    world.apply(&calico("BGPConfiguration", "node.c", "{listenPort: 1793}"));
    world.session_has("Plugin_10_0_0_10", &["port 1793"]);
    world.apply(&configuration("{listenPort: 1794, nodeToNodeMeshEnabled: false}"));
    world.session_has("Plugin_10_0_0_2", &["port 1794"]);
    world.session_lacks("Plugin_10_0_0_10", &["password", "restart"]);
}

#[test]
fn a_cluster_id_makes_this_node_a_reflector() {
    let plugin = Native::new("p")
        .may_read(&["/tailorbird/v1/node/a/labels/rr", "/tailorbird/v1/this-node"])
        .select(|kv, request| {
            let this = kv.get("/tailorbird/v1/this-node").unwrap();
            let mut answer = answer();
            if kv.get(&format!("/tailorbird/v1/node/{this}/labels/rr")).as_deref() == Some("yes") {
                answer.cluster_id = ClusterIdChoice::Set(0x0a09_0909);
                // Another reflector of the same cluster is no client.
                answer.change.push(Change {
                    remote_cluster_id: ClusterIdChoice::Set(0x0a09_0909),
                    ..change(place(request, "Mesh_10_0_0_2"))
                });
            }
            Ok(answer)
        });
    let config = configuration("{serviceExternalIPs: [{cidr: 192.0.2.0/24}]}");
    let mut world = World::new([plugin])
        .having(&three_nodes())
        .having(&config)
        .having(&peer("p", "{peerIP: 192.0.2.9, asNumber: 65001}"))
        .having(&service("web", "{type: NodePort, clusterIP: 10.96.0.1}", &[]))
        .having(&slice("x", "web", "IPv4", "[{nodeName: b}]"));
    world.session_lacks("Mesh_10_0_0_10", &["rr client"]);
    world.lacks(
        "bird_ipam.cfg",
        "if ( net ~ 192.0.2.0/24 ) then { accept; } if ( net ~ 192.0.2.0/24 ) then { accept; }",
    );
    world.apply(&node("a", "{ipv4Address: 10.0.0.1/24, ipv6Address: 'fd00::1/64'}", "{rr: 'yes'}"));
    world.session_has("Mesh_10_0_0_10", &["rr client; rr cluster id 10.9.9.9;"]);
    world.session_lacks("Mesh_10_0_0_2", &["rr client"]);
    world.session_lacks("Global_192_0_2_9", &["rr client"]);
    // What a reflector passes on: the prefix stands once as a route, and once as reflected.
    world.has(
        "bird_ipam.cfg",
        "if ( net ~ 192.0.2.0/24 ) then { accept; } if ( net ~ 192.0.2.0/24 ) then { accept; }",
    );
    world.bird_accepts();
    world.apply(&three_nodes());
    world.session_lacks("Mesh_10_0_0_10", &["rr client"]);
}

#[test]
fn a_cluster_id_can_be_taken_away() {
    let plugin = Native::new("p").select(|_, _| Ok(Answer { cluster_id: ClusterIdChoice::None, ..answer() }));
    let mut world = World::new([plugin])
        .having(&three_nodes())
        .having(&node("a", "{ipv4Address: 10.0.0.1/24, routeReflectorClusterID: 10.9.9.9}", "{}"))
        .having(&configuration("{serviceExternalIPs: [{cidr: 192.0.2.0/24}]}"))
        .having(&peer("p", "{peerSelector: 'all()'}"));
    world.session_lacks("Global_10_0_0_2", &["rr client"]);
    world.lacks(
        "bird_ipam.cfg",
        "if ( net ~ 192.0.2.0/24 ) then { accept; } if ( net ~ 192.0.2.0/24 ) then { accept; }",
    );
    world.plugins.clear();
    world.session_has("Global_10_0_0_2", &["rr client; rr cluster id 10.9.9.9;"]);
}

#[test]
fn each_plugin_sees_what_the_one_before_it_left() {
    let adding = Native::new("adding").select(|_, request| {
        let mut answer = answer();
        answer.drop.push(place(request, "Mesh_10_0_0_2"));
        answer.change.push(Change { keepalive_time: Some(5), ..change(place(request, "Mesh_10_0_0_10")) });
        answer.add.push(addition(node_place(request, "b"), Family::V4));
        Ok(answer)
    });
    let second = Native::new("second").select(|_, request| {
        let names: Vec<&str> = (0..request.candidates.len()).map(|at| candidate_name(request, at)).collect();
        assert_eq!(names, ["Mesh_10_0_0_10", "Plugin_10_0_0_2", "Mesh_fd00__10", "Mesh_fd00__2"]);
        let peerings: Vec<_> = request.candidates.peerings.iter().collect();
        assert_eq!(peerings[0].keepalive_time, Some(5));
        assert_eq!(peerings[1].kind, PeeringKind::Plugin);
        assert_eq!(request.candidates.node(1), Some(1));
        let mut answer = answer();
        answer.drop.push(0);
        // It can put its own in the place of another's.
        answer.drop.push(1);
        answer.add.push(Addition { keepalive_time: Some(9), ..addition(1, Family::V4) });
        Ok(answer)
    });
    let mut world = World::new([adding, second]).having(&three_nodes());
    assert_eq!(world.sessions(), ["Plugin_10_0_0_2", "Mesh_fd00__10", "Mesh_fd00__2"]);
    world.session_has("Plugin_10_0_0_2", &["keepalive time 9;"]);
}

#[test]
fn peerings_of_a_plugin_that_failed_are_dropped_or_as_they_were() {
    let failing = |on_error| Native::new("p").on_error(on_error).select(|_, _| Err("no".to_owned()));
    let mut rejected = World::new([failing(OnError::Reject), dropping("q", "fd00")]).having(&three_nodes());
    assert_eq!(rejected.sessions(), Vec::<String>::new());
    assert_eq!(rejected.errors().len(), 1);
    rejected.bird_accepts();
    let mut skipped = World::new([failing(OnError::Skip), dropping("q", "fd00")]).having(&three_nodes());
    assert_eq!(skipped.sessions(), ["Mesh_10_0_0_10", "Mesh_10_0_0_2"]);
    assert_eq!(skipped.errors().len(), 1);
}

#[test]
fn a_plugin_is_asked_again_only_when_its_question_or_what_it_read_is_another() {
    let plugin = Native::new("p").may_read(&["/tailorbird/v1/node/*/labels/rack"]).select(|kv, _| {
        kv.list("/tailorbird/v1/node/b");
        Ok(answer())
    });
    let mut world = World::new([plugin]).having(&three_nodes());
    let mut asked = |yaml: &str| {
        world.apply(yaml);
        world.files();
        world.count.selects
    };
    assert_eq!(asked(""), 1);
    assert_eq!(asked(&calico("BGPFilter", "f", "{}")), 0);
    let c = |labels: &str| node("c", "{ipv4Address: 10.0.0.10/24, ipv6Address: 'fd00::10/64'}", labels);
    assert_eq!(asked(&c("{rack: r1, other: x}")), 0, "a label that the plugin may not read");
    assert_eq!(asked(&c("{rack: r2, other: x}")), 1, "a label in its question");
    assert_eq!(asked(&node("d", "{ipv4Address: 10.0.0.20/24}", "{}")), 1, "a node that comes");
    assert_eq!(asked(&node("d", "{ipv4Address: 10.0.0.20/24, asNumber: 65005}", "{}")), 1, "an AS number");
    assert_eq!(asked(&configuration("{logSeverityScreen: Debug}")), 0);
    assert_eq!(asked(&configuration("{nodeToNodeMeshEnabled: false}")), 1);
    assert_eq!(asked(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001}")), 1, "a candidate that comes");
}

/// A node with an address, or without any.
fn one_of_many(number: usize, address: Option<usize>) -> String {
    let address =
        address.map(|address| format!("ipv4Address: 10.1.{}.{}/16", address / 200, address % 200 + 1));
    node(&format!("n{number:03}"), &format!("{{{}}}", address.unwrap_or_default()), "{}")
}

/// Few changes are brought into the question one by one, and for many it is begun anew: that is the same.
#[test]
fn a_plugin_is_told_the_same_after_few_changes_and_after_many() {
    const NODES: usize = 200;
    // It drops the sessions with every other node by the address that it is told of.
    let plugin = || {
        Native::new("p").select(|_, request| {
            let is_odd = |node: u32| {
                let address = request.nodes.get(node as usize).and_then(|node| node.ipv4);
                address.is_some_and(|address| !address.is_multiple_of(2))
            };
            let drop = (0..request.candidates.len())
                .filter(|at| request.candidates.node(*at).is_some_and(is_odd))
                .map(|at| at as u32);
            Ok(Answer { drop: drop.collect(), ..answer() })
        })
    };
    let this = node("a", "{ipv4Address: 10.0.0.1/24}", "{}");
    let all = |address: &dyn Fn(usize) -> Option<usize>| -> String {
        (0..NODES).map(|number| one_of_many(number, address(number))).collect()
    };
    let mut world = World::new([plugin()]).having(&this).having(&all(&Some));
    assert_eq!(world.sessions().len(), NODES / 2);
    for many in [1, 30, 70, NODES] {
        // The first ones move on by one behind the last, and every tenth of them has no address any more.
        let moved = |number: usize| match number {
            _ if number >= many => Some(number),
            _ if number.is_multiple_of(10) => None,
            _ => Some(number + NODES + 1),
        };
        for address in [&moved as &dyn Fn(usize) -> Option<usize>, &Some] {
            let yaml = all(address);
            world.apply(&yaml);
            let mut scratch = World::new([plugin()]).having(&this).having(&yaml);
            assert_eq!(world.files(), scratch.files(), "{many} nodes");
        }
    }
}
