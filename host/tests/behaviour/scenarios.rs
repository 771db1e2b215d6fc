//! Situations that went wrong in systems of this kind, each with what is right.

use tailorbird::engine::{Engine, Settings};
use tailorbird::resources::Kind;

use crate::cluster::{Cluster, Look, calico, configuration, node, peer, secret, service, slice, three_nodes};
use crate::support::rendered::renderer;

/// Node `a` of three, with this cluster-wide configuration.
fn a_with(config: &str) -> Cluster {
    Cluster::on("a").having(&three_nodes()).having(&configuration(config))
}

const READY_ON_A: &str = "[{nodeName: a}]";
const READY_ON_B: &str = "[{nodeName: b, conditions: {ready: true}}]";

// Service routes.

/// A range of one address with policy Local: only nodes with a ready endpoint of their own advertise it.
#[test]
fn s01_a_listed_single_address_with_policy_local_needs_a_local_endpoint() {
    let objects = [
        three_nodes(),
        configuration(
            "{serviceLoadBalancerIPs: [{cidr: 192.0.2.1/32}, {cidr: '2001:db8::1/128'}], \
              serviceExternalIPs: [{cidr: 203.0.113.7/32}]}",
        ),
        service(
            "web",
            "{type: LoadBalancer, clusterIPs: [10.96.0.1, 'fd96::1'], externalTrafficPolicy: Local, externalIPs: [203.0.113.7]}",
            &["192.0.2.1", "2001:db8::1"],
        ),
        slice("web-x", "web", "IPv4", READY_ON_B),
    ]
    .concat();
    assert_eq!(Cluster::on("a").having(&objects).originated(), [""; 0]);
    let expected = ["192.0.2.1/32", "203.0.113.7/32", "2001:db8::1/128"];
    assert_eq!(Cluster::on("b").having(&objects).originated(), expected);
}

/// The configuration and a Service give one prefix; the configuration's entry goes and the Service's route stays.
#[test]
fn s02_a_route_of_the_configuration_and_of_a_service_stays_until_both_are_gone() {
    let with = "{serviceClusterIPs: [{cidr: 10.96.0.1/32}, {cidr: 'fd96::1/128'}, {cidr: 10.100.0.0/16}]}";
    let without = "{serviceClusterIPs: [{cidr: 10.100.0.0/16}]}";
    let mut a = a_with(with);
    a.apply(&service("web", "{clusterIPs: [10.96.0.1, 'fd96::1'], externalTrafficPolicy: Local}", &[]));
    a.apply(&slice("web-x", "web", "IPv4", READY_ON_A));
    assert_eq!(a.originated(), ["10.100.0.0/16", "10.96.0.1/32", "fd96::1/128"]);
    a.apply(&configuration(without));
    assert_eq!(a.originated(), ["10.100.0.0/16", "10.96.0.1/32", "fd96::1/128"]);
    a.delete(Kind::Service, "web");
    assert_eq!(a.originated(), ["10.100.0.0/16"]);
    // And the other way round: the Service goes first.
    a.apply(&configuration(with));
    assert_eq!(a.originated(), ["10.100.0.0/16", "10.96.0.1/32", "fd96::1/128"]);
}

/// A route reflector passes on external routes without endpoints of its own; a node of the mesh does not.
#[test]
fn s03_only_a_route_reflector_passes_on_the_routes_of_others() {
    let config = configuration(
        "{serviceLoadBalancerIPs: [{cidr: 192.0.2.1/32}, {cidr: '2001:db8::1/128'}], \
          serviceExternalIPs: [{cidr: 203.0.113.0/24}], serviceLoadBalancerAggregation: Disabled}",
    );
    let accepts = [
        (
            "bird_ipam.cfg",
            "if (net ~ 192.0.2.1/32) then { accept; } if (net ~ 203.0.113.0/24) then { accept; }",
        ),
        ("bird6_ipam.cfg", "if (net ~ 2001:db8::1/128) then { accept; }"),
    ];
    let bgp = "{ipv4Address: 10.0.0.1/24, ipv6Address: 'fd00::1/64', routeReflectorClusterID: 10.9.9.9}";
    let mut reflector = Cluster::on("a").having(&node("a", bgp, "{}")).having(&config);
    let mut other = a_with("{}").having(&config);
    for (file, accept) in accepts {
        reflector.has(file, accept);
        other.lacks(file, accept);
    }
    other.lacks("bird_ipam.cfg", "192.0.2.1/32");
    other.lacks("bird6_ipam.cfg", "2001:db8::1/128");
    // Passing on is not originating.
    assert_eq!(reflector.originated(), ["203.0.113.0/24"]);
    reflector.bird_accepts();
}

/// Dual stack: all cluster IPs are advertised; a slice of a family that the Service has not does nothing at all.
#[test]
fn s04_slices_of_another_family_neither_advertise_nor_withdraw() {
    let mut a = a_with("{serviceClusterIPs: [{cidr: 10.96.0.0/12}, {cidr: 'fd96::/112'}]}");
    let ranges = ["10.96.0.0/12", "fd96::/112"];
    let dual = "{clusterIPs: [10.96.0.1, 'fd96::1'], ipFamilies: [IPv4, IPv6], externalTrafficPolicy: Local}";
    a.apply(&service("dual", dual, &[]));
    a.apply(&slice("dual-6", "dual", "IPv6", READY_ON_A));
    let both = ["10.96.0.0/12", "10.96.0.1/32", "fd96::/112", "fd96::1/128"];
    assert_eq!(a.originated(), both);
    a.delete(Kind::Service, "dual");

    a.apply(&service(
        "four",
        "{clusterIP: 10.96.0.4, ipFamilies: [IPv4], externalTrafficPolicy: Local}",
        &[],
    ));
    a.apply(&slice("four-6", "four", "IPv6", READY_ON_A));
    assert_eq!(a.originated(), ranges, "an IPv6 slice does not advertise an IPv4 Service");
    a.apply(&slice("four-4", "four", "IPv4", READY_ON_A));
    let four = ["10.96.0.0/12", "10.96.0.4/32", "fd96::/112"];
    assert_eq!(a.originated(), four);
    a.apply(&slice("four-6", "four", "IPv6", "[{nodeName: a, conditions: {ready: false}}]"));
    a.delete(Kind::EndpointSlice, "four-6");
    assert_eq!(a.originated(), four, "nor does it withdraw one");
}

/// A local endpoint that is not ready does not count; of two slices one suffices.
#[test]
fn s05_an_endpoint_counts_while_it_is_ready_in_any_slice() {
    let mut a = a_with("{serviceClusterIPs: [{cidr: 10.96.0.0/12}]}");
    a.apply(&service("web", "{clusterIP: 10.96.0.1, externalTrafficPolicy: Local}", &[]));
    let not_ready = "[{nodeName: a, conditions: {ready: false}}]";
    a.apply(&slice("x", "web", "IPv4", not_ready));
    assert_eq!(a.originated(), ["10.96.0.0/12"]);
    a.apply(&slice("y", "web", "IPv4", "[{nodeName: a, conditions: {}}]"));
    assert_eq!(a.originated(), ["10.96.0.0/12", "10.96.0.1/32"], "an absent condition means ready");
    a.apply(&slice("y", "web", "IPv4", not_ready));
    assert_eq!(a.originated(), ["10.96.0.0/12"]);
}

/// External IPs are advertised for the type ClusterIP too; a load balancer's address may stand in the status alone.
#[test]
fn s06_external_ips_of_any_type_and_addresses_of_the_status_count() {
    let mut a = a_with(
        "{serviceExternalIPs: [{cidr: 203.0.113.7/32}, {cidr: '2001:db8:7::7/128'}], \
          serviceLoadBalancerIPs: [{cidr: 192.0.2.1/32}, {cidr: '2001:db8::1/128'}]}",
    );
    let external = "{type: ClusterIP, clusterIP: 10.96.0.1, externalIPs: [203.0.113.7, '2001:db8:7::7'], \
         externalTrafficPolicy: Cluster}";
    a.apply(&service("external", external, &[]));
    a.apply(&slice("x", "external", "IPv4", READY_ON_B));
    assert_eq!(a.originated(), ["203.0.113.7/32", "2001:db8:7::7/128"]);
    a.delete(Kind::Service, "external");

    let balanced = "{type: LoadBalancer, clusterIP: 10.96.0.2, externalTrafficPolicy: Cluster}";
    a.apply(&service("balanced", balanced, &[]));
    a.apply(&slice("y", "balanced", "IPv4", "[]"));
    assert_eq!(a.originated(), [""; 0]);
    a.apply(&service("balanced", balanced, &["192.0.2.1", "2001:db8::1"]));
    assert_eq!(a.originated(), ["192.0.2.1/32", "2001:db8::1/128"]);
}

/// The label that excludes a node withdraws its routes at once, keeps the kernel rejects, and gives all back.
#[test]
fn s07_the_exclude_label_withdraws_and_gives_back() {
    let mut a = a_with("{serviceClusterIPs: [{cidr: 10.96.0.0/12}, {cidr: 'fd96::/112'}]}");
    a.apply(&service("web", "{clusterIPs: [10.96.0.1, 'fd96::1'], externalTrafficPolicy: Local}", &[]));
    a.apply(&slice("x", "web", "IPv4", READY_ON_A));
    let all = ["10.96.0.0/12", "10.96.0.1/32", "fd96::/112", "fd96::1/128"];
    let rejects = ["10.96.0.0/12", "fd96::/112"];
    assert_eq!(
        (a.originated(), a.never_programmed()),
        (all.map(String::from).into(), rejects.map(String::from).into())
    );
    let bgp = "{ipv4Address: 10.0.0.1/24, ipv6Address: 'fd00::1/64'}";
    let labelled = |value| {
        node("a", bgp, &format!("{{node.kubernetes.io/exclude-from-external-load-balancers: '{value}'}}"))
    };
    a.apply(&labelled("true"));
    assert_eq!(a.originated(), [""; 0]);
    assert_eq!(a.never_programmed(), rejects);
    a.has("bird_ipam.cfg", "if ( net ~ 10.96.0.0/12 ) then { reject; }");
    a.has("bird6_ipam.cfg", "if ( net ~ fd96::/112 ) then { reject; }");
    a.lacks("bird_ipam.cfg", "10.96.0.0/12 ) then { accept; }");
    a.apply(&labelled("false"));
    assert_eq!(a.originated(), all, "only `true` excludes");
}

/// An address of several Services, or twice in one, is withdrawn when its last owner goes: never before or later.
#[test]
fn s08_a_shared_address_is_withdrawn_with_its_last_owner() {
    let mut a = a_with("{serviceExternalIPs: [{cidr: 203.0.113.7/32}, {cidr: '2001:db8:7::7/128'}]}");
    let spec =
        |ips: &str| format!("{{clusterIP: 10.96.0.1, externalIPs: [{ips}], externalTrafficPolicy: Local}}");
    let twice = "203.0.113.7, 203.0.113.7, '2001:db8:7::7', '2001:DB8:7:0::7'";
    let routes = ["203.0.113.7/32", "2001:db8:7::7/128"];
    a.apply(&service("one", &spec(twice), &[]));
    a.apply(&service("two", &spec("203.0.113.7, '2001:db8:7::7'"), &[]));
    a.apply(&slice("x", "one", "IPv4", READY_ON_A));
    a.apply(&slice("y", "two", "IPv4", READY_ON_A));
    assert_eq!(a.originated(), routes);
    a.delete(Kind::Service, "two");
    assert_eq!(a.originated(), routes);
    a.apply(&service("one", &spec("203.0.113.7, '2001:db8:7::7'"), &[]));
    assert_eq!(a.originated(), routes, "the second mention goes, the first stays");
    a.apply(&service("one", &spec(""), &[]));
    assert_eq!(a.originated(), [""; 0]);
}

/// The last slice of a Service goes, whatever its name: its routes go.
#[test]
fn s09_the_routes_of_a_service_go_with_its_last_slice() {
    let mut a = a_with("{serviceExternalIPs: [{cidr: 203.0.113.7/32}]}");
    let spec = "{clusterIP: 10.96.0.1, externalIPs: [203.0.113.7], externalTrafficPolicy: Cluster}";
    a.apply(&service("web", spec, &[]));
    assert_eq!(a.originated(), [""; 0], "no slice, no route");
    a.apply(&slice("unlike-the-service", "web", "IPv4", "[]"));
    a.apply(&slice("web-2", "web", "IPv4", "[]"));
    assert_eq!(a.originated(), ["203.0.113.7/32"], "an empty slice is enough");
    a.delete(Kind::EndpointSlice, "web-2");
    assert_eq!(a.originated(), ["203.0.113.7/32"]);
    a.delete(Kind::EndpointSlice, "unlike-the-service");
    assert_eq!(a.originated(), [""; 0]);
    // A slice that moves to another Service is gone from its first.
    a.apply(&slice("x", "web", "IPv4", "[]"));
    a.apply(&slice("x", "other", "IPv4", "[]"));
    assert_eq!(a.originated(), [""; 0]);
}

/// To advertise load balancers does not touch the blocks of pods.
#[test]
fn s10_blocks_stay_when_load_balancers_are_advertised() {
    let mut a = a_with("{}");
    let block = |name, cidr| {
        calico(
            "BlockAffinity",
            name,
            &format!("{{cidr: '{cidr}', node: a, state: confirmed, deleted: 'false'}}"),
        )
    };
    a.apply(&[block("b4", "10.244.0.0/26"), block("b6", "fd44::/122")].concat());
    let blocks = [
        ("bird_aggr.cfg", "if ( net = 10.244.0.0/26 ) then { accept; }"),
        ("bird6_aggr.cfg", "if ( net = fd44::/122 ) then { accept; }"),
    ];
    a.apply(&configuration("{serviceLoadBalancerIPs: [{cidr: 192.0.2.0/24}, {cidr: '2001:db8::/64'}]}"));
    assert_eq!(a.originated(), ["10.244.0.0/26", "192.0.2.0/24", "fd44::/122", "2001:db8::/64"]);
    blocks.iter().for_each(|(file, text)| a.has(file, text));
    a.apply(&configuration("{}"));
    assert_eq!(a.originated(), ["10.244.0.0/26", "fd44::/122"]);
    blocks.iter().for_each(|(file, text)| a.has(file, text));
}

// Peers and filters.

/// Peers that were computed before the BGPConfiguration came are computed again when it comes.
#[test]
fn s11_peers_follow_a_configuration_that_comes_late() {
    let mut a = Cluster::on("a").having(&three_nodes());
    a.apply(&peer("rack", "{nodeSelector: node == 'a', peerSelector: node == 'b'}"));
    a.session_has("Mesh_10_0_0_10", &["neighbor 10.0.0.10 as 64512"]);
    a.session_has("Node_10_0_0_2", &["neighbor 10.0.0.2 as 64512"]);
    a.apply(&configuration("{asNumber: 65001, listenPort: 1790, nodeToNodeMeshEnabled: false}"));
    assert_eq!(a.sessions(), ["Node_10_0_0_2_port_1790", "Node_fd00__2_port_1790"]);
    a.session_has("Node_10_0_0_2_port_1790", &["neighbor 10.0.0.2 port 1790 as 65001"]);
    a.session_has("Node_fd00__2_port_1790", &["neighbor fd00::2 port 1790 as 65001"]);
    a.has("bird.cfg", "local as 65001;");
}

/// A global and a node-specific peering to one address are one stanza, the global one.
#[test]
fn s12_one_stanza_for_a_global_and_a_node_specific_peering() {
    let mut a = a_with("{nodeToNodeMeshEnabled: false}");
    a.apply(&peer("a-node", "{node: a, peerIP: 192.0.2.1, asNumber: 65001}"));
    a.apply(&peer("a-node-6", "{node: a, peerIP: '2001:db8::1', asNumber: 65001}"));
    assert_eq!(a.sessions(), ["Node_192_0_2_1", "Node_2001_db8__1"]);
    a.apply(&peer("z-global", "{peerIP: 192.0.2.1, asNumber: 65002}"));
    a.apply(&peer("z-global-6", "{peerIP: '2001:db8::1', asNumber: 65002}"));
    assert_eq!(a.sessions(), ["Global_192_0_2_1", "Global_2001_db8__1"]);
    a.session_has("Global_192_0_2_1", &["neighbor 192.0.2.1 as 65002"]);
    // Another port is another peering.
    a.apply(&peer("a-node", "{node: a, peerIP: '192.0.2.1:1790', asNumber: 65001}"));
    assert_eq!(a.sessions(), ["Global_192_0_2_1", "Node_192_0_2_1_port_1790", "Global_2001_db8__1"]);
    a.delete(Kind::BgpPeer, "z-global");
    a.apply(&peer("a-node", "{node: a, peerIP: 192.0.2.1, asNumber: 65001}"));
    assert_eq!(a.sessions(), ["Node_192_0_2_1", "Global_2001_db8__1"], "the other one is there at once");
}

/// A reverse peering of a peering by address stays in that address's family; one by selector has both.
#[test]
fn s13_a_reverse_peering_by_address_stays_in_its_family() {
    let mut b =
        Cluster::on("b").having(&three_nodes()).having(&configuration("{nodeToNodeMeshEnabled: false}"));
    b.apply(&peer("four", "{nodeSelector: node == 'a', peerIP: 10.0.0.2, asNumber: 64512}"));
    assert_eq!(b.sessions(), ["Node_10_0_0_1"]);
    b.apply(&peer("four", "{nodeSelector: node == 'a', peerIP: 'fd00::2', asNumber: 64512}"));
    assert_eq!(b.sessions(), ["Node_fd00__1"]);
    b.apply(&peer("four", "{nodeSelector: node == 'a', peerSelector: node == 'b'}"));
    assert_eq!(b.sessions(), ["Node_10_0_0_1", "Node_fd00__1"]);
    b.apply(&peer("four", "{nodeSelector: node == 'a', peerIP: 10.0.0.2, asNumber: 64513}"));
    assert_eq!(b.sessions(), [""; 0], "the address with another AS number is not the node's");
}

/// `keepOriginalNextHop` holds for global peers too, and a local AS number decides what "the same AS" is everywhere.
#[test]
fn s14_the_next_hop_of_global_peers_and_the_local_as() {
    let mut a = a_with("{nodeToNodeMeshEnabled: false}");
    a.apply(&calico(
        "BGPFilter",
        "f",
        "{exportV4: [{action: Accept, peerType: iBGP}], exportV6: [{action: Accept, peerType: eBGP}]}",
    ));
    for (ip, name) in [("192.0.2.1", "Global_192_0_2_1"), ("'2001:db8::1'", "Global_2001_db8__1")] {
        let family = if ip.contains(':') { 6 } else { 4 };
        let spec = |local: &str| {
            format!("{{peerIP: {ip}, asNumber: 65001, keepOriginalNextHop: true, filters: [f]{local}}}")
        };
        a.apply(&peer("p", &spec("")));
        let call = |same: bool| {
            format!("'bgp_f_exportFilterV{family}'({same}); calico_export_to_bgp_peers({same});")
        };
        a.session_has(name, &["next hop keep;", &call(false)]);
        a.apply(&peer("p", &spec(", localASNumber: 65001")));
        a.session_has(name, &["local as 65001;", &call(true)]);
        a.session_lacks(name, &["next hop"]);
        a.bird_accepts();
    }
}

/// `rr client` never stands in a session with another AS: BIRD refuses the whole file.
#[test]
fn s15_no_external_peer_is_a_client_of_a_reflector() {
    let reflector =
        "{ipv4Address: 10.0.0.1/24, ipv6Address: 'fd00::1/64', routeReflectorClusterID: 10.9.9.9}";
    let mut a = a_with("{nodeToNodeMeshEnabled: false}").having(&node("a", reflector, "{node: a}"));
    let other_as = "{ipv4Address: 10.0.0.2/24, ipv6Address: 'fd00::2/64', asNumber: 65001}";
    a.apply(&node("b", other_as, "{node: b}"));
    a.apply(&peer("clients", "{nodeSelector: node == 'a', peerSelector: node != 'a'}"));
    for name in ["Node_10_0_0_10", "Node_fd00__10"] {
        a.session_has(name, &["rr client; rr cluster id 10.9.9.9;"]);
    }
    for name in ["Node_10_0_0_2", "Node_fd00__2"] {
        a.session_lacks(name, &["rr client", "rr cluster id"]);
    }
    // A local AS number makes an external peer of one that was internal.
    a.apply(&peer("p", "{node: a, peerIP: 192.0.2.1, asNumber: 64512}"));
    a.session_has("Node_192_0_2_1", &["rr client;"]);
    a.apply(&peer("p", "{node: a, peerIP: 192.0.2.1, asNumber: 64512, localASNumber: 65009}"));
    a.session_lacks("Node_192_0_2_1", &["rr client"]);
    a.bird_accepts();
}

/// A hashed router id is no multicast address, whatever the name.
#[test]
fn s16_a_hashed_router_id_is_never_above_223() {
    let mut lowered = 0;
    for number in 0..300 {
        let mut settings = Settings::new(format!("node-{number}").parse().unwrap());
        settings.router_id = tailorbird::engine::RouterId::Hash;
        let engine = Engine::new(settings);
        let [four, six] = engine.snapshot().models.each_ref().map(|model| model.base.router_id);
        assert_eq!(four, six);
        assert!(four.octets()[0] <= 223, "node-{number}: {four}");
        lowered += usize::from(four.octets()[0] >= 192);
    }
    assert!(lowered > 40, "hashes that begin with 224 to 255 begin with 192 to 223 now");
    // SHA-256 of `kube-master` begins with 19 4f d4 08.
    let mut known = Cluster::with_env("kube-master", &[("CALICO_ROUTER_ID", "hash")]);
    known.has("bird.cfg", "router id 25.79.212.8;");
    known.has("bird6.cfg", "router id 25.79.212.8;");
}

/// Routes of tunnels, of the BPF dataplane and of WireGuard are not passed on or programmed where Felix owns them.
#[test]
fn s17_what_the_data_plane_owns_is_left_alone() {
    let mut a = a_with("{}");
    let wireguard = |name: &str, bgp: &str, addresses: &str| {
        node(name, bgp, "{}").replace("spec: {", &format!("spec: {{wireguard: {addresses}, "))
    };
    a.apply(&wireguard(
        "a",
        "{ipv4Address: 10.0.0.1/24, ipv6Address: 'fd00::1/64'}",
        "{interfaceIPv4Address: 10.50.0.1, interfaceIPv6Address: 'fd50::1'}",
    ));
    a.apply(&wireguard(
        "b",
        "{ipv4Address: 10.0.0.2/24, ipv6Address: 'fd00::2/64'}",
        "{interfaceIPv4Address: 10.50.0.2, interfaceIPv6Address: 'fd50::2'}",
    ));
    a.apply(&calico("IPPool", "vxlan4", "{cidr: 10.244.0.0/16, vxlanMode: Always}"));
    a.apply(&calico("IPPool", "vxlan6", "{cidr: 'fd44::/64', vxlanMode: CrossSubnet}"));
    for file in ["bird_ipam.cfg", "bird6_ipam.cfg"] {
        a.has(file, "if (ifname ~ \"bpf*.cali\") then { reject; }");
        a.has(
            file,
            "if (internal_peer) then { if (defined(ifname)) then { \
               if ((ifname ~ \"*.cali\") || (ifname ~ \"*.calico\") || (ifname ~ \"tunl0\")) then { reject; } } }",
        );
    }
    a.has("bird_ipam.cfg", "if (defined(bgp_next_hop) && bgp_next_hop = 10.0.0.2) then { reject; }");
    a.has("bird6_ipam.cfg", "if (defined(bgp_next_hop) && bgp_next_hop = fd00::2) then { reject; }");
    // Node c has no WireGuard.
    a.lacks("bird_ipam.cfg", "bgp_next_hop = 10.0.0.10");
    a.has("bird_ipam.cfg", "if (net ~ 10.244.0.0/16) then { reject; } accept; }");
    a.has("bird6_ipam.cfg", "if (net ~ fd44::/64) then { reject; } accept; }");
    a.bird_accepts();
}

/// Pending blocks are not advertised; a pool that is not exported is rejected before anything is accepted.
#[test]
fn s18_pending_blocks_and_pools_that_are_not_exported() {
    let mut a = a_with("{serviceClusterIPs: [{cidr: 10.96.0.0/12}, {cidr: 'fd96::/112'}]}");
    for (name, cidr) in [("b4", "10.244.0.0/26"), ("b6", "fd44::/122")] {
        a.apply(&calico("BlockAffinity", name, &format!("{{cidr: '{cidr}', node: a, state: pending}}")));
    }
    a.lacks("bird_aggr.cfg", "10.244.0.0/26");
    a.lacks("bird6_aggr.cfg", "fd44::/122");
    for (name, cidr) in [("p4", "10.96.0.0/16"), ("p6", "fd96::/120")] {
        a.apply(&calico("IPPool", name, &format!("{{cidr: '{cidr}', disableBGPExport: true}}")));
    }
    for (file, cidr) in [("bird_ipam.cfg", "10.96.0.0/16"), ("bird6_ipam.cfg", "fd96::/120")] {
        let text = a.file(file);
        let (_, export) = text.split_once("function calico_export_to_bgp_peers").unwrap();
        let first =
            crate::cluster::normal(&format!("(bool internal_peer) {{ if (net ~ {cidr}) then {{ reject; }}"));
        assert!(export.trim_start().starts_with(&first), "{file}: {export}");
    }
}

/// A Secret that appears, changes, loses its key or goes is followed without any other event.
#[test]
fn s19_the_secret_alone_renders_again() {
    let mut a = a_with("{nodeMeshPassword: {secretKeyRef: {name: bgp, key: mesh}}}");
    let password = "password: {secretKeyRef: {name: bgp, key: tor}}";
    a.apply(&peer("p", &format!("{{peerIP: 192.0.2.1, asNumber: 65001, {password}}}")));
    a.apply(&peer("q", &format!("{{peerIP: '2001:db8::1', asNumber: 65001, {password}}}")));
    let explicit = ["Global_192_0_2_1", "Global_2001_db8__1"];
    let mesh = ["Mesh_10_0_0_2", "Mesh_fd00__2"];
    let check = |a: &mut Cluster, names: [&str; 2], password: Option<&str>| {
        for name in names {
            match password {
                Some(text) => a.session_has(name, &[&format!("password \"{text}\";")]),
                None => a.session_lacks(name, &["password"]),
            }
        }
    };
    check(&mut a, explicit, None);
    check(&mut a, mesh, None);
    a.reports_on(&["warning", "BGPPeer p", "there is no Secret bgp"]);
    a.reports_on(&["warning", "BGPConfiguration default", "there is no Secret bgp"]);
    a.apply(&secret("bgp", "{tor: hush, mesh: whist}"));
    check(&mut a, explicit, Some("hush"));
    check(&mut a, mesh, Some("whist"));
    assert_eq!(a.reports(), [""; 0]);
    a.apply(&secret("bgp", "{tor: 'hush, hush', mesh: whist}"));
    check(&mut a, explicit, Some("hush, hush"));
    a.apply(&secret("bgp", "{tor: hush}"));
    check(&mut a, mesh, None);
    a.delete(Kind::Secret, "bgp");
    check(&mut a, explicit, None);
}

/// Empty objects and lists that read back as null neither crash nor keep anything busy.
#[test]
fn s20_empty_configurations_and_null_lists() {
    let mut a = Cluster::on("a").having(&three_nodes());
    let plain = a.files();
    for spec in [
        "null",
        "{}",
        "{serviceClusterIPs: null, communities: null, prefixAdvertisements: null, ignoredInterfaces: null}",
        "{serviceClusterIPs: [], serviceExternalIPs: [{cidr: null}, {}], nodeMeshPassword: null}",
    ] {
        a.apply(&configuration(spec));
        assert_eq!(a.files(), plain, "{spec}");
        let revision = a.engine.snapshot().revision;
        for _ in 0..3 {
            let changes = a.apply(&configuration(spec));
            assert_eq!(changes.to, revision, "{spec}: the same again is a new revision");
        }
    }
    a.apply("{apiVersion: projectcalico.org/v3, kind: BGPConfiguration, metadata: {name: node.a}}");
    a.apply(&calico("BGPFilter", "f", "{importV4: null, exportV4: []}"));
    a.apply(&peer("nothing", "null"));
    assert_eq!(a.files(), plain);
    a.delete(Kind::BgpConfiguration, "default");
    a.delete(Kind::BgpConfiguration, "never-was");
    assert_eq!(a.files(), plain);
}

/// A filter that cannot be compiled closes the peers that name it, and no other peer goes down with it.
#[test]
fn s21_a_filter_that_cannot_be_used_closes_only_its_peers() {
    let mut a = a_with("{}");
    a.apply(&calico("BGPFilter", "good", "{importV4: [{action: Accept}], importV6: [{action: Accept}]}"));
    a.apply(&calico("BGPFilter", "bad", "{importV4: [{action: Accept, cidr: nonsense, matchOperator: In}]}"));
    a.apply(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001, filters: [bad, good]}"));
    a.apply(&peer("p6", "{peerIP: '2001:db8::1', asNumber: 65001, filters: [bad]}"));
    a.apply(&peer("q", "{peerIP: 192.0.2.2, asNumber: 65001, filters: [good]}"));
    for name in ["Global_192_0_2_1", "Global_2001_db8__1"] {
        a.session_has(name, &["import filter { reject;", "reject; calico_export_to_bgp_peers(false);"]);
    }
    a.session_has("Global_192_0_2_2", &["import filter { 'bgp_good_importFilterV4'(); if"]);
    a.session_lacks("Global_192_0_2_2", &["reject; calico_export"]);
    assert!(
        a.files()["bird.cfg"].contains("reject; # filter bad cannot be used"),
        "the reason stands beside it"
    );
    a.reports_on(&["left out", "BGPFilter bad", "spec.importV4[0].cidr", "nonsense"]);
    assert_eq!(a.engine.blocking(), [], "a filter does not hold up everything else");
    a.bird_accepts();
}

/// Two objects that yield one peering: the lower name wins, in whatever order they came, and the next one follows.
#[test]
fn s22_the_same_winner_whatever_the_order() {
    let one = peer("aaa", "{peerIP: 192.0.2.1, asNumber: 65001}");
    let two = peer("bbb", "{peerIP: 192.0.2.1, asNumber: 65002}");
    let three = peer("ccc", "{peerIP: 192.0.2.1, asNumber: 65003}");
    let one6 = peer("aaa6", "{peerIP: '2001:db8::1', asNumber: 65001}");
    let two6 = peer("bbb6", "{peerIP: '2001:DB8::1', asNumber: 65002}");
    let orders = [[&one, &two, &three, &one6, &two6], [&two6, &three, &two, &one6, &one]];
    for this in ["a", "b", "c"] {
        for order in orders {
            let mut cluster = Cluster::on(this).having(&three_nodes());
            order.iter().for_each(|object| drop(cluster.apply(object)));
            cluster.session_has("Global_192_0_2_1", &["as 65001;"]);
            cluster.session_has("Global_2001_db8__1", &["as 65001;"]);
            cluster.delete(Kind::BgpPeer, "aaa");
            cluster.session_has("Global_192_0_2_1", &["as 65002;"]);
        }
    }
}

// Found on random clusters.

/// A node without an IPv4 address has a router id all the same: its name's.
#[test]
fn s35_a_node_without_an_ipv4_address_has_a_router_id() {
    let six = node("kube-master", "{ipv6Address: 'fd00::1/64'}", "{}");
    let other = node("b", "{ipv4Address: 10.0.0.2/24, ipv6Address: 'fd00::2/64'}", "{}");
    let mut only6 = Cluster::on("kube-master").having(&six).having(&other);
    only6.has("bird.cfg", "router id 25.79.212.8;");
    only6.has("bird6.cfg", "router id 25.79.212.8;");
    assert_eq!(only6.sessions(), ["Mesh_fd00__2"]);
    only6.lacks("bird.cfg", "template bgp");
    only6.bird_accepts();
    only6.apply(&node("kube-master", "{ipv4Address: 10.0.0.1/24, ipv6Address: 'fd00::1/64'}", "{}"));
    only6.has("bird6.cfg", "router id 10.0.0.1;");
}

/// A range of prefix lengths that holds none: with In the rule is left out, with NotIn the condition is.
#[test]
fn s36_a_prefix_length_that_leaves_no_length() {
    let rules = |cidr: &str| {
        format!(
            "[{{action: Accept, cidr: {cidr}, matchOperator: In, prefixLength: {{max: 4}}}}, \
              {{action: Reject, cidr: {cidr}, matchOperator: NotIn, prefixLength: {{max: 4}}}}]"
        )
    };
    let mut a = a_with("{}");
    let spec = format!("{{importV4: {}, importV6: {}}}", rules("10.0.0.0/8"), rules("'fd00::/8'"));
    a.apply(&calico("BGPFilter", "f", &spec));
    a.apply(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001, filters: [f]}"));
    a.has("bird.cfg", "function 'bgp_f_importFilterV4'() { reject; }");
    a.has("bird6.cfg", "function 'bgp_f_importFilterV6'() { reject; }");
    a.reports_on(&["warning", "BGPFilter f", "importV4[0]", "left out"]);
    a.reports_on(&["warning", "BGPFilter f", "importV6[1]", "always"]);
    a.bird_accepts();
}

/// The files of one daemon are one set: none is ever checked before those that it includes.
#[test]
fn s37_the_files_of_a_daemon_are_one_group() {
    let engine = Engine::new(Settings::new("a".parse().unwrap()));
    let rendering = renderer(&"a".parse().unwrap()).render(engine.snapshot());
    let mut groups: Vec<(String, String)> = Vec::new();
    for file in rendering.files {
        let file = file.unwrap();
        let name = file.dest.file_name().unwrap().to_str().unwrap().to_owned();
        groups.push((file.group.unwrap(), name));
    }
    groups.sort();
    let expected = [
        ("bird", "bird.cfg"),
        ("bird", "bird_aggr.cfg"),
        ("bird", "bird_ipam.cfg"),
        ("bird6", "bird6.cfg"),
        ("bird6", "bird6_aggr.cfg"),
        ("bird6", "bird6_ipam.cfg"),
    ];
    assert_eq!(groups, expected.map(|(group, name)| (group.to_owned(), name.to_owned())));
    // The set of a cluster without any object is whole, too.
    Cluster::on("a").bird_accepts();
}

/// AS numbers up to the last one work wherever one can be written.
#[test]
fn s38_as_numbers_of_four_octets() {
    let annotated = "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: b\n  annotations:\n    \
        projectcalico.org/IPv4Address: 10.0.0.2/24\n    projectcalico.org/IPv6Address: fd00::2/64\n    \
        projectcalico.org/ASNumber: '4200000001'\n";
    let mut a = Cluster::on("a");
    a.apply(&node("a", "{ipv4Address: 10.0.0.1/24, ipv6Address: 'fd00::1/64', asNumber: 4294967295}", "{}"));
    a.apply(annotated);
    for (name, ip) in [("Mesh_10_0_0_2", "10.0.0.2"), ("Mesh_fd00__2", "fd00::2")] {
        a.session_has(
            name,
            &[&format!("neighbor {ip} as 4200000001;"), "calico_export_to_bgp_peers(false);"],
        );
    }
    a.has("bird.cfg", "local as 4294967295;");
    a.apply(&peer("p", "{peerIP: 192.0.2.1, asNumber: '64000.7', localASNumber: 3000000000}"));
    a.session_has("Global_192_0_2_1", &["local as 3000000000;", "neighbor 192.0.2.1 as 4194304007;"]);
    a.apply(&configuration("{asNumber: 4100000000}"));
    assert_eq!(a.value("/calico/bgp/v1/global/as_num").as_deref(), Some("4100000000"));
    let prepend = "{exportV4: [{action: Accept, asPathPrefix: [4200000001], operations: [{prependASPath: {prefix: [4200000002]}}]}]}";
    a.apply(&calico("BGPFilter", "f", prepend));
    a.has("bird.cfg", "(bgp_path ~ [= 4200000001 * =])");
    a.has("bird.cfg", "bgp_path.prepend(4200000002);");
    a.bird_accepts();
}
