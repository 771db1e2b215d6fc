//! The rules by which objects become keys and files, one or a few assertions each.

use serde_json::{Value, json};
use tailorbird::resources::Kind;

use crate::cluster::{
    Cluster, Look, calico, configuration, node, normal, peer, secret, service, slice, three_nodes,
};

/// Node `a` of three, with this cluster-wide configuration.
fn a_with(config: &str) -> Cluster {
    Cluster::on("a").having(&three_nodes()).having(&configuration(config))
}

/// The same without the mesh.
fn a_alone() -> Cluster {
    a_with("{nodeToNodeMeshEnabled: false}")
}

fn json_at(cluster: &Cluster, key: &str) -> Value {
    serde_json::from_str(&cluster.value(key).unwrap_or_else(|| panic!("there is no key {key}"))).unwrap()
}

// The view.

#[test]
fn the_keys_of_a_cluster_without_objects() {
    let empty = Cluster::on("a");
    let keys: Vec<_> = empty.engine.snapshot().view.list("/").collect();
    let expected = [
        ("/calico/bgp/v1/global/as_num", "64512"),
        ("/calico/bgp/v1/global/loglevel", "info"),
        ("/calico/bgp/v1/global/node_mesh", "{\"enabled\":true}"),
        ("/calico/bgpconfig", ""),
    ];
    assert_eq!(keys, expected.map(|(key, value)| (key.into(), value.into())));
}

#[test]
fn the_keys_of_nodes() {
    let mut a = Cluster::on("a");
    a.apply(&node(
        "a",
        "{ipv4Address: 10.0.0.7/24, asNumber: '1.2', routeReflectorClusterID: 10.9.9.9}",
        "{}",
    ));
    a.apply(&node("b", "{}", "{}"));
    a.apply(&calico("BGPConfiguration", "node.b", "{listenPort: 1790, logSeverityScreen: Warning}"));
    let of = |name: &str| -> Vec<(String, String)> {
        let prefix = format!("/calico/bgp/v1/host/{name}");
        let list = a.engine.snapshot().view.list(&prefix);
        list.map(|(key, value)| (key[prefix.len() + 1..].to_owned(), value.into_owned())).collect()
    };
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let expected = pairs(&[
        ("as_num", "65538"),
        ("ip_addr_v4", "10.0.0.7"),
        ("ip_addr_v6", ""),
        ("network_v4", "10.0.0.0/24"),
        ("rr_cluster_id", "10.9.9.9"),
        ("wireguard_addr_v4", ""),
        ("wireguard_addr_v6", ""),
    ]);
    assert_eq!(of("a"), expected);
    let expected = pairs(&[
        ("ip_addr_v4", ""),
        ("ip_addr_v6", ""),
        ("listen_port", "1790"),
        ("loglevel", "none"),
        ("rr_cluster_id", ""),
        ("wireguard_addr_v4", ""),
        ("wireguard_addr_v6", ""),
    ]);
    assert_eq!(of("b"), expected);
}

#[test]
fn the_keys_of_pools_blocks_routes_and_filters() {
    let mut a = a_with("{serviceClusterIPs: [{cidr: 10.96.0.0/12}, {cidr: 'fd96::0/112'}]}");
    a.apply(&calico("IPPool", "p", "{cidr: 10.244.0.0/16, ipipMode: CrossSubnet, natOutgoing: true}"));
    a.apply(&calico(
        "IPPool",
        "q",
        "{cidr: 'fd44::0/64', vxlanMode: Always, disabled: true, disableBGPExport: true}",
    ));
    a.apply(&calico("BlockAffinity", "b", "{cidr: 10.244.0.0/26, node: a, state: confirmed}"));
    a.apply(&calico("BGPFilter", "f", "{importV4: [{action: Accept}]}"));
    let pool = json_at(&a, "/calico/v1/ipam/v4/pool/10.244.0.0-16");
    assert_eq!(pool["cidr"], "10.244.0.0/16");
    assert_eq!(
        (&pool["ipip"], &pool["ipip_mode"], &pool["vxlan_mode"]),
        (&json!("tunl0"), &json!("cross-subnet"), &json!(""))
    );
    assert_eq!(
        (&pool["masquerade"], &pool["ipam"], &pool["disabled"]),
        (&json!(true), &json!(true), &json!(false))
    );
    let pool = json_at(&a, "/calico/v1/ipam/v6/pool/fd44::-64");
    assert_eq!((&pool["cidr"], &pool["ipip"]), (&json!("fd44::/64"), &json!("")));
    assert_eq!((&pool["vxlan_mode"], &pool["ipam"]), (&json!("always"), &json!(false)));
    assert_eq!((&pool["disabled"], &pool["disableBGPExport"]), (&json!(true), &json!(true)));
    assert_eq!(
        json_at(&a, "/calico/ipam/v2/host/a/ipv4/block/10.244.0.0-26"),
        json!({"state": "confirmed", "deleted": false})
    );
    for key in ["staticroutes/10.96.0.0-12", "rejectcidrs/10.96.0.0-12"] {
        assert_eq!(a.value(&format!("/calico/{key}")).as_deref(), Some("10.96.0.0/12"));
    }
    for key in ["staticroutesv6/fd96::0-112", "rejectcidrsv6/fd96::0-112"] {
        assert_eq!(a.value(&format!("/calico/{key}")).as_deref(), Some("fd96::0/112"), "written as given");
    }
    let filter = json_at(&a, "/calico/resources/v3/projectcalico.org/bgpfilters/f");
    assert_eq!(filter["metadata"], json!({"name": "f"}));
    assert_eq!(filter["spec"], json!({"importV4": [{"action": "Accept"}]}));
}

#[test]
fn passwords_are_hidden_from_all_but_templates() {
    let mut a = a_alone().having(&secret("bgp", "{k: hush}"));
    a.apply(&peer(
        "p",
        "{peerIP: 192.0.2.1, asNumber: 65001, password: {secretKeyRef: {name: bgp, key: k}}}",
    ));
    let key = "/calico/bgp/v1/global/peer_v4/192.0.2.1";
    assert_eq!(json_at(&a, key)["password"], "(hidden)");
    let revealed: Value = serde_json::from_str(&a.engine.snapshot().view.reveal(key).unwrap().text).unwrap();
    assert_eq!(revealed["password"], "hush");
    assert!(!format!("{:?}", a.engine.snapshot()).contains("hush"), "nor does Debug print it");
    a.apply(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001}"));
    assert_eq!(json_at(&a, key)["password"], Value::Null);
}

#[test]
fn the_value_of_a_peering() {
    let mut a = a_alone();
    a.apply(&peer(
        "p",
        "{node: a, peerIP: '[2001:db8::1]:1790', asNumber: 65001, localASNumber: 65002, maxRestartTime: 1m30.5s, \
          keepaliveTime: 29.4s, keepOriginalNextHop: true, numAllowedLocalASNumbers: 3, ttlSecurity: 2, \
          filters: [f], reachableBy: 'fd00::fe', nextHopMode: Self, sourceAddress: None}",
    ));
    let expected = json!({
        "ip": "2001:db8::1", "as_num": "65001", "local_as_num": "65002", "rr_cluster_id": "", "password": null,
        "source_addr": "None", "restart_time": "91", "keepalive_time": "29", "port": 1790, "keep_next_hop": true,
        "calico_node": false, "num_allow_local_as": 3, "ttl_security": 2, "filters": ["f"],
        "reachable_by": "fd00::fe", "passive_mode": false, "local_bgp_peer": false, "next_hop_mode": "Self",
    });
    assert_eq!(json_at(&a, "/calico/bgp/v1/host/a/peer_v6/2001:db8::1-1790"), expected);
}

// Configuration.

#[test]
fn only_three_fields_of_a_nodes_own_configuration_count() {
    let own = "{listenPort: 1790, logSeverityScreen: Debug, asNumber: 65001, nodeToNodeMeshEnabled: false, \
        bindMode: NodeIP, ignoredInterfaces: [eth9], serviceClusterIPs: [{cidr: 10.96.0.0/12}], \
        ipv4NormalRoutePriority: 500, programClusterRoutes: Disabled}";
    let mut a = a_with("{}").having(&calico("BGPConfiguration", "node.a", own));
    a.has("bird.cfg", "listen bgp port 1790;");
    a.has("bird.cfg", "debug all;");
    a.has("bird.cfg", "local as 64512;");
    a.lacks("bird.cfg", "eth9");
    assert_eq!(a.originated(), [""; 0]);
    assert_eq!(a.sessions(), ["Mesh_10_0_0_10", "Mesh_10_0_0_2", "Mesh_fd00__10", "Mesh_fd00__2"]);
    a.has("bird_ipam.cfg", "krt_metric = 1024;");
    a.apply(&calico("BGPConfiguration", "somebody", "{listenPort: 9}"));
    a.reports_on(&["warning", "BGPConfiguration somebody", "no effect"]);
}

#[test]
fn log_levels() {
    for severity in ["Trace", "Warning", "Error", "Fatal"] {
        let mut a = a_with(&format!("{{logSeverityScreen: {severity}}}"));
        assert_eq!(a.value("/calico/bgp/v1/global/loglevel").as_deref(), Some("none"));
        a.lacks("bird.cfg", "debug");
        a.lacks("bird6.cfg", "debug");
    }
    let mut a = a_with("{logSeverityScreen: Debug}");
    a.has("bird.cfg", "template direct direct_template { debug all;");
    a.has("bird6.cfg", "protocol device { debug all;");
    a.has("bird6.cfg", "template bgp bgp_template { debug all;");
    // The CRD's default is Info in every object, so a node's own silent object says Info.
    a.apply(&calico("BGPConfiguration", "node.a", "{listenPort: 1790}"));
    a.has("bird.cfg", "template direct direct_template { debug { states };");
    a.has("bird6.cfg", "template bgp bgp_template { debug { states, routes, filters, events };");
    assert_eq!(a.value("/calico/bgp/v1/host/a/loglevel").as_deref(), Some("info"));
}

#[test]
fn where_bird_listens() {
    let mut a = a_with("{}");
    a.lacks("bird.cfg", "listen bgp");
    a.apply(&configuration("{listenPort: 179}"));
    a.has("bird.cfg", "listen bgp port 179;");
    a.apply(&configuration("{bindMode: NodeIP}"));
    a.has("bird.cfg", "listen bgp address 10.0.0.1;");
    a.has("bird6.cfg", "listen bgp address fd00::1;");
    a.apply(&configuration("{bindMode: NodeIP, listenPort: 1790}"));
    a.has("bird.cfg", "listen bgp address 10.0.0.1 port 1790;");
    a.apply(&node("a", "{ipv6Address: 'fd00::1/64'}", "{}"));
    a.has("bird.cfg", "listen bgp port 1790;");
    a.has("bird6.cfg", "listen bgp address fd00::1 port 1790;");
    a.apply(&configuration("{bindMode: NodeIP}"));
    a.lacks("bird.cfg", "listen bgp");
    a.bird_accepts();
}

#[test]
fn a_nodes_own_advertisements_replace_the_clusters_in_both_families() {
    let global = "{communities: [{name: one, value: '65000:1'}], prefixAdvertisements: \
        [{cidr: 10.244.0.0/16, communities: [one]}, {cidr: 'fd44::/64', communities: [one]}]}";
    let mut a = a_with(global);
    a.has("bird.cfg", "if ( net ~ 10.244.0.0/16 ) then { bgp_community.add((65000, 1)); }");
    a.has("bird6.cfg", "if ( net ~ fd44::/64 ) then { bgp_community.add((65000, 1)); }");
    // Sorted as text, each once; large communities have their own attribute; names are those of the same object.
    let own = "{communities: [{name: two, value: '9:8:7'}], prefixAdvertisements: \
        [{cidr: 10.1.0.0/16, communities: ['9:9', two, '100:1', '9:9', one]}]}";
    a.apply(&calico("BGPConfiguration", "node.a", own));
    a.has(
        "bird.cfg",
        "function apply_communities () { if ( net ~ 10.1.0.0/16 ) then { bgp_community.add((100, 1)); \
           bgp_large_community.add((9, 8, 7)); bgp_community.add((9, 9)); } }",
    );
    a.has("bird6.cfg", "function apply_communities () { }");
    a.reports_on(&["warning", "BGPConfiguration node.a", "spec.prefixAdvertisements[0].communities", "one"]);
    let expected = json!([{"cidr": "10.1.0.0/16", "communities": ["100:1", "9:8:7", "9:9"]}]);
    assert_eq!(json_at(&a, "/calico/bgp/v1/host/a/prefix_advertisements/ip_v4"), expected);
    a.bird_accepts();
}

#[test]
fn ignored_interfaces_stand_in_front() {
    let mut a = a_with("{ignoredInterfaces: ['eth9', 'dummy*']}");
    let line = "interface -\"eth9\", -\"dummy*\", -\"cali*\", -\"kube-ipvs*\", \"*\";";
    a.has("bird.cfg", line);
    a.has("bird6.cfg", line);
}

#[test]
fn a_malformed_configuration_blocks() {
    let mut a = a_with("{asNumber: x}");
    assert_eq!(a.engine.blocking().len(), 1);
    assert!(a.engine.blocking()[0].to_string().contains("spec.asNumber"), "{:?}", a.engine.blocking());
    a.apply(&configuration("{asNumber: 65001}"));
    assert_eq!(a.engine.blocking(), []);
    a.apply(&calico("BGPConfiguration", "node.b", "{listenPort: x}"));
    assert_eq!(a.engine.blocking(), [], "another node's does not");
    a.reports_on(&["left out", "BGPConfiguration node.b", "spec.listenPort"]);
    a.apply(&calico("BGPConfiguration", "node.a", "{listenPort: x}"));
    assert_eq!(a.engine.blocking().len(), 1);
    a.delete(Kind::BgpConfiguration, "node.a");
    a.apply(&calico("IPPool", "p", "{cidr: 10.0.0.0/33}"));
    assert_eq!(a.engine.blocking().len(), 1);
    a.delete(Kind::IpPool, "p");
    assert_eq!(a.engine.blocking(), []);
}

#[test]
fn the_environment_overrides_the_cluster_ips() {
    let config = configuration("{serviceClusterIPs: [{cidr: 10.96.0.0/12}, {cidr: 'fd96::/112'}]}");
    let mut a = Cluster::with_env("a", &[("CALICO_ADVERTISE_CLUSTER_IPS", "10.100.0.0/16")]).having(&config);
    assert_eq!(a.originated(), ["10.100.0.0/16"]);
    let mut literal = Cluster::with_env("a", &[("CALICO_ROUTER_ID", "192.0.2.99")]).having(&three_nodes());
    literal.has("bird6.cfg", "router id 192.0.2.99;");
}

// Nodes.

#[test]
fn two_objects_of_one_name_are_one_node() {
    let mut a = a_alone();
    a.apply("{apiVersion: v1, kind: Node, metadata: {name: b, labels: {rack: r2, disk: fast}, annotations: {projectcalico.org/IPv4Address: 10.0.0.99/24, projectcalico.org/ASNumber: nonsense}}}");
    a.apply(&peer("p", "{node: a, peerSelector: rack == 'r2' && node == 'b' && disk == 'fast'}"));
    assert_eq!(
        a.sessions(),
        ["Node_10_0_0_2", "Node_fd00__2"],
        "labels merged, addresses from the Calico Node"
    );
    a.reports_on(&["warning", "Node b", "projectcalico.org/ASNumber", "nonsense"]);
    a.delete(Kind::CalicoNode, "b");
    a.apply(&peer("p", "{node: a, peerSelector: rack == 'r2'}"));
    assert_eq!(a.sessions(), ["Node_10_0_0_99"]);
    // Kubernetes' labels win over Calico's own in the annotation.
    a.apply("{apiVersion: v1, kind: Node, metadata: {name: b, labels: {rack: r3}, annotations: {projectcalico.org/IPv4Address: 10.0.0.99/24, projectcalico.org/labels: '{\"rack\":\"r2\",\"zone\":\"z\"}'}}}");
    assert_eq!(a.sessions(), [""; 0]);
    a.apply(&peer("p", "{node: a, peerSelector: zone == 'z'}"));
    assert_eq!(a.sessions(), ["Node_10_0_0_99"]);
}

#[test]
fn blocks_of_pod_cidrs() {
    let mut a = Cluster::with_env("a", &[("USE_POD_CIDR", "true")]);
    a.apply("{apiVersion: v1, kind: Node, metadata: {name: a, annotations: {projectcalico.org/IPv4Address: 10.0.0.1/24, projectcalico.org/WireguardPublicKey: x}}, spec: {podCIDRs: [10.244.3.0/24, 'fd44:3::/80']}}");
    a.apply(&calico("BlockAffinity", "b", "{cidr: 10.244.9.0/26, node: a, state: confirmed}"));
    assert_eq!(a.originated(), ["10.244.3.0/24", "fd44:3::/80"], "BlockAffinity is not read");
    assert_eq!(a.value("/calico/bgp/v1/host/a/wireguard_addr_v4").as_deref(), Some("10.244.3.1"));
}

// The peer engine.

#[test]
fn the_scope_of_a_peer() {
    let objects = [
        three_nodes(),
        configuration("{nodeToNodeMeshEnabled: false}"),
        peer("all", "{peerIP: 192.0.2.1, asNumber: 65001}"),
        peer("one", "{node: b, peerIP: 192.0.2.2, asNumber: 65001}"),
        peer("some", "{nodeSelector: \"node in {'b', 'c'}\", peerIP: 192.0.2.3, asNumber: 65001}"),
        peer("none", "{nodeSelector: 'node ==', peerIP: 192.0.2.4, asNumber: 65001}"),
    ]
    .concat();
    let on = |name: &str| Cluster::on(name).having(&objects);
    assert_eq!(on("a").sessions(), ["Global_192_0_2_1"]);
    assert_eq!(on("b").sessions(), ["Global_192_0_2_1", "Node_192_0_2_2", "Node_192_0_2_3"]);
    assert_eq!(on("c").sessions(), ["Global_192_0_2_1", "Node_192_0_2_3"]);
    on("a").reports_on(&["left out", "BGPPeer none", "spec.nodeSelector", "column 8"]);
}

#[test]
fn a_peering_by_address_with_a_node_gets_the_port_of_that_node() {
    let mut a = a_with("{nodeToNodeMeshEnabled: false, listenPort: 1790}");
    a.apply(&calico("BGPConfiguration", "node.b", "{listenPort: 1791}"));
    a.apply(&peer("b", "{node: a, peerIP: 10.0.0.2, asNumber: 64512}"));
    a.apply(&peer("c", "{node: a, peerIP: 10.0.0.10, asNumber: 64512}"));
    a.apply(&peer("c6", "{node: a, peerIP: 'fd00::10', asNumber: 65001}"));
    a.apply(&peer("far", "{node: a, peerIP: 192.0.2.1, asNumber: 64512}"));
    let expected = ["Node_10_0_0_10_port_1790", "Node_10_0_0_2_port_1791", "Node_192_0_2_1", "Node_fd00__10"];
    assert_eq!(a.sessions(), expected, "another AS number is not the node's");
    // The port is written although it is BGP's own, here and in the name.
    a.apply(&peer("far", "{node: a, peerIP: '192.0.2.1:179', asNumber: 64512}"));
    a.session_has("Node_192_0_2_1_port_179", &["neighbor 192.0.2.1 port 179 as 64512;"]);
}

#[test]
fn reverse_peerings() {
    let base = [three_nodes(), configuration("{nodeToNodeMeshEnabled: false, listenPort: 1790}")].concat();
    let sessions = |extra: &str| Cluster::on("b").having(&base).having(extra).sessions();
    let by_address = |ip: &str| peer("p", &format!("{{node: a, peerIP: '{ip}', asNumber: 64512}}"));
    assert_eq!(sessions(&by_address("10.0.0.2")), ["Node_10_0_0_1_port_1790"]);
    assert_eq!(sessions(&by_address("10.0.0.2:1790")), ["Node_10_0_0_1_port_1790"]);
    assert_eq!(sessions(&by_address("10.0.0.2:1791")), [""; 0], "no node listens there");
    let own = calico("BGPConfiguration", "node.b", "{listenPort: 1791}");
    assert_eq!(sessions(&[by_address("10.0.0.2:1791"), own.clone()].concat()), ["Node_10_0_0_1_port_1790"]);
    assert_eq!(sessions(&[by_address("10.0.0.2:1790"), own].concat()), [""; 0], "its own port is another");
    let manual = peer("p", "{node: a, peerSelector: node == 'b', reversePeering: Manual}");
    assert_eq!(sessions(&manual), [""; 0]);
    // A reverse peering never replaces a forward one.
    let forward = peer("z", "{node: b, peerSelector: node == 'a', ttlSecurity: 3}");
    let reverse = peer("a", "{node: a, peerSelector: node == 'b', ttlSecurity: 1}");
    Cluster::on("b")
        .having(&base)
        .having(&[forward, reverse].concat())
        .session_has("Node_10_0_0_1_port_1790", &["ttl security on; multihop 3;"]);
}

#[test]
fn the_fields_of_a_peering_by_selector_and_of_its_reverse() {
    let objects = [
        three_nodes(),
        node("b", "{ipv4Address: 10.0.0.2/24, asNumber: 65002, routeReflectorClusterID: 10.9.9.9}", "{node: b}"),
        configuration("{nodeToNodeMeshEnabled: false}"),
        calico("BGPFilter", "f", "{importV4: [{action: Accept}]}"),
        secret("bgp", "{k: hush}"),
        peer(
            "p",
            "{node: a, peerSelector: node == 'b', localASNumber: 65009, numAllowedLocalASNumbers: 2, ttlSecurity: 4, \
              filters: [f], maxRestartTime: 10s, keepaliveTime: 5s, nextHopMode: Keep, \
              password: {secretKeyRef: {name: bgp, key: k}}}",
        ),
    ]
    .concat();
    let common = [
        "ttl security on; multihop 4;",
        "import filter { 'bgp_f_importFilterV4'();",
        "graceful restart time 10; keepalive time 5; password \"hush\"; next hop keep;",
    ];
    let not_here = ["local as", "allow local as", "passive on"];
    let mut a = Cluster::on("a").having(&objects);
    a.session_has("Node_10_0_0_2", &common);
    a.session_has("Node_10_0_0_2", &["neighbor 10.0.0.2 as 65002; source address 10.0.0.1;"]);
    a.session_lacks("Node_10_0_0_2", &not_here);
    let value = json_at(&a, "/calico/bgp/v1/host/a/peer_v4/10.0.0.2");
    assert_eq!((&value["rr_cluster_id"], &value["local_as_num"]), (&json!("10.9.9.9"), &json!("0")));
    assert_eq!((&value["num_allow_local_as"], &value["calico_node"]), (&json!(0), &json!(false)));
    let mut b = Cluster::on("b").having(&objects);
    b.session_has("Node_10_0_0_1", &common);
    b.session_has("Node_10_0_0_1", &["neighbor 10.0.0.1 as 64512; source address 10.0.0.2;"]);
    b.session_lacks("Node_10_0_0_1", &not_here);
}

#[test]
fn local_workloads() {
    let spec = "{localWorkloadSelector: all(), asNumber: 65077, localASNumber: 65078, numAllowedLocalASNumbers: 1, \
        ttlSecurity: 5, nextHopMode: Self, maxRestartTime: 10s, keepaliveTime: 5s, filters: [f], \
        password: {secretKeyRef: {name: bgp, key: k}}}";
    let mut a = a_alone().having(&peer("workloads", spec)).having(&secret("bgp", "{k: hush}"));
    a.apply(&calico("BGPFilter", "f", "{importV4: [{action: Accept}], exportV6: [{action: Accept}]}"));
    a.workload("one", r#"{"bgpPeerName": "workloads", "ipv4Nets": ["10.244.0.5/32", "10.244.0.6/32"], "ipv6Nets": ["fd44::5/128"]}"#);
    a.workload("two", r#"{"bgpPeerName": "somebody-else", "ipv4Nets": ["10.244.0.7/32"]}"#);
    a.workload("three", r#"{"ipv4Nets": ["10.244.0.8/32"]}"#);
    assert_eq!(
        a.sessions(),
        ["Local_Workload_10_244_0_5", "Local_Workload_fd44__5"],
        "the first net of each family"
    );
    for (name, filter) in [
        ("Local_Workload_10_244_0_5", "import filter { 'bgp_f_importFilterV4'();"),
        ("Local_Workload_fd44__5", "'bgp_f_exportFilterV6'(); calico_export_to_bgp_peers(false);"),
    ] {
        a.session_has(
            name,
            &[
                filter,
                "local as 65078; neighbor",
                "as 65077; ttl security off; multihop; import",
                "passive on; graceful restart time 10; keepalive time 5; password \"hush\";",
            ],
        );
        a.session_lacks(name, &["source address", "next hop", "allow local as"]);
    }
    a.bird_accepts();
    // Of a peer for the nodes of a selector its nodes alone have it; and a file can go.
    a.delete(Kind::Workload, "one");
    assert_eq!(a.sessions(), [""; 0]);
}

#[test]
fn a_peer_without_an_as_number_is_of_the_clusters() {
    let mut a =
        a_with("{nodeToNodeMeshEnabled: false, asNumber: 65010}").having(&peer("p", "{peerIP: 192.0.2.1}"));
    a.session_has("Global_192_0_2_1", &["neighbor 192.0.2.1 as 65010;", "calico_export_to_bgp_peers(true);"]);
    a.apply(&peer("p", "{peerIP: 192.0.2.1, asNumber: 0}"));
    a.session_has("Global_192_0_2_1", &["neighbor 192.0.2.1 as 65010;"]);
}

#[test]
fn gateways() {
    let mut a = a_alone();
    a.apply(&peer("global", "{peerIP: 192.0.2.9, asNumber: 65001, reachableBy: 10.0.0.254}"));
    a.apply(&peer("node", "{node: a, peerIP: 192.0.2.1, asNumber: 65001, reachableBy: 10.0.0.253}"));
    a.apply(&peer("six", "{peerIP: '2001:db8::1', asNumber: 65001, reachableBy: 'fd00::fe'}"));
    a.apply(&peer("mixed", "{peerIP: 192.0.2.2, asNumber: 65001, reachableBy: 'fd00::fe'}"));
    a.has(
        "bird_aggr.cfg",
        "template static static_template { route 192.0.2.9/32 via 10.0.0.254; route 192.0.2.1/32 via 10.0.0.253; } \
         protocol static from static_template { }",
    );
    a.has("bird6_aggr.cfg", "template static static_template { route 2001:db8::1/128 via fd00::fe; }");
    assert_eq!(a.sessions(), ["Global_192_0_2_9", "Node_192_0_2_1", "Global_2001_db8__1"]);
    a.reports_on(&["left out", "BGPPeer mixed", "spec.reachableBy", "fd00::fe"]);
    a.bird_accepts();
    // Also in a family for which this node has no address.
    a.apply(&node("a", "{ipv4Address: 10.0.0.1/24}", "{}"));
    assert_eq!(a.sessions(), ["Global_192_0_2_9", "Node_192_0_2_1"]);
    a.has("bird6_aggr.cfg", "route 2001:db8::1/128 via fd00::fe;");
}

#[test]
fn an_address_that_is_no_longer_a_nodes() {
    let mut a = a_alone().having(&peer("p", "{peerIP: 10.0.0.2, asNumber: 65001}"));
    a.session_has("Global_10_0_0_2", &["passive on;"]);
    a.apply(&node("b", "{ipv4Address: 10.0.0.3/24}", "{}"));
    a.session_lacks("Global_10_0_0_2", &["passive on"]);
    assert_eq!(json_at(&a, "/calico/bgp/v1/global/peer_v4/10.0.0.2")["calico_node"], false);
}

#[test]
fn who_waits_is_decided_by_the_addresses_as_text() {
    // As text 10.0.0.10 < 10.0.0.2, and fd00::10 < fd00::2.
    let passive = |this: &str| -> Vec<String> {
        let mut cluster = Cluster::on(this).having(&three_nodes());
        let names = cluster.sessions();
        names.into_iter().filter(|name| cluster.session(name).unwrap().contains("passive on")).collect()
    };
    assert_eq!(passive("a"), ["Mesh_10_0_0_10", "Mesh_10_0_0_2", "Mesh_fd00__10", "Mesh_fd00__2"]);
    assert_eq!(passive("b"), [""; 0]);
    assert_eq!(passive("c"), ["Mesh_10_0_0_2", "Mesh_fd00__2"]);
    // Global peers that are nodes wait as well, node-specific ones never do.
    let mut a = a_alone();
    a.apply(&peer("global", "{peerIP: 10.0.0.2, asNumber: 64512}"));
    a.apply(&peer("node", "{node: a, peerIP: 10.0.0.10, asNumber: 64512}"));
    a.session_has("Global_10_0_0_2", &["passive on;"]);
    a.session_lacks("Node_10_0_0_10", &["passive on"]);
}

#[test]
fn a_password_that_cannot_be_written_leaves_the_peer_out() {
    let reference = "password: {secretKeyRef: {name: bgp, key: k}}";
    let mut a = a_alone().having(&peer("p", &format!("{{peerIP: 192.0.2.1, asNumber: 65001, {reference}}}")));
    a.apply(&secret("bgp", "{k: 'with \"quotes\"'}"));
    assert_eq!(a.sessions(), [""; 0], "better no session than one without its password");
    a.reports_on(&["left out", "BGPPeer p", "spec.password", "bgp/k"]);
    assert!(!a.reports().concat().contains("quotes"), "no report carries the value");
    a.apply(&secret("bgp", "{k: plain}"));
    a.session_has("Global_192_0_2_1", &["password \"plain\";"]);
    // That of the mesh holds everything back.
    a.apply(&secret("bgp", "{k: ''}"));
    a.apply(&configuration("{nodeMeshPassword: {secretKeyRef: {name: bgp, key: k}}}"));
    assert_eq!(a.engine.blocking().len(), 1);
    assert!(a.engine.blocking()[0].to_string().contains("spec.nodeMeshPassword"));
    // One in another namespace is none of ours.
    a.apply("{apiVersion: v1, kind: Secret, metadata: {name: bgp, namespace: other}, stringData: {k: x}}");
    assert_eq!(a.engine.blocking().len(), 1);
}

#[test]
fn malformed_peers_and_filters_that_are_missing() {
    let mut a = a_alone();
    a.apply(&peer("bad", "{peerIP: 10.0.0.300, asNumber: 1}"));
    a.apply(&peer("good", "{peerIP: 192.0.2.1, asNumber: 65001, filters: [missing]}"));
    assert_eq!(a.sessions(), ["Global_192_0_2_1"]);
    a.reports_on(&["left out", "BGPPeer bad", "spec.peerIP", "10.0.0.300"]);
    a.reports_on(&["warning", "BGPPeer good", "spec.filters", "missing"]);
    a.session_has("Global_192_0_2_1", &["import filter { if (defined(bgp_local_pref)"]);
}

// Sessions.

#[test]
fn the_mesh() {
    let mut a = a_with(
        "{nodeMeshMaxRestartTime: 90s, nodeMeshPassword: {secretKeyRef: {name: bgp, key: k}}, listenPort: 1790}",
    );
    a.apply(&secret("bgp", "{k: whist}"));
    a.apply(&node("b", "{ipv4Address: 10.0.0.2/24, asNumber: 65002}", "{}"));
    a.apply(&calico("BGPConfiguration", "node.c", "{listenPort: 1791}"));
    assert_eq!(a.sessions(), ["Mesh_10_0_0_10", "Mesh_10_0_0_2", "Mesh_fd00__10"], "no port in the name");
    a.session_has(
        "Mesh_10_0_0_10",
        &[
            "neighbor 10.0.0.10 port 1791 as 64512; source address 10.0.0.1; ttl security off; multihop;",
            "passive on; graceful restart time 90; password \"whist\";",
        ],
    );
    a.session_has("Mesh_10_0_0_2", &["port 1790 as 65002;", "calico_export_to_bgp_peers(false);"]);
    // An explicit peering with the same address is written beside it.
    a.apply(&peer("p", "{node: a, peerIP: '10.0.0.2', asNumber: 65009}"));
    assert!(a.sessions().contains(&"Node_10_0_0_2".to_owned()), "{:?}", a.sessions());
    assert!(a.sessions().contains(&"Mesh_10_0_0_2".to_owned()));
    // A reflector is not in it, and without a reflector's own address neither is this node.
    a.apply(&node("b", "{ipv4Address: 10.0.0.2/24, routeReflectorClusterID: 10.9.9.9}", "{}"));
    assert_eq!(a.sessions(), ["Mesh_10_0_0_10", "Node_10_0_0_2", "Mesh_fd00__10"]);
    a.apply(&node(
        "a",
        "{ipv4Address: 10.0.0.1/24, ipv6Address: 'fd00::1/64', routeReflectorClusterID: 10.9.9.9}",
        "{}",
    ));
    assert_eq!(a.sessions(), ["Node_10_0_0_2"]);
    a.bird_accepts();
}

#[test]
fn a_session_with_all_statements_in_order() {
    let reflector = "{ipv4Address: 10.0.0.1/24, routeReflectorClusterID: 10.9.9.9}";
    let mut a = a_alone().having(&node("a", reflector, "{}")).having(&secret("bgp", "{k: hush}"));
    a.apply(&peer(
        "p",
        "{peerIP: '192.0.2.1:1790', asNumber: 65001, localASNumber: 65001, maxRestartTime: 10s, keepaliveTime: 5s, \
          ttlSecurity: 7, nextHopMode: Self, keepOriginalNextHop: true, numAllowedLocalASNumbers: 2, \
          password: {secretKeyRef: {name: bgp, key: k}}}",
    ));
    let expected = normal(
        "local as 65001;
         neighbor 192.0.2.1 port 1790 as 65001;
         source address 10.0.0.1;
         ttl security on; multihop 7;
         import filter {
           if (defined(bgp_local_pref)&&(bgp_local_pref > 2147482623)) then preference = 200;
           accept;
         };
         export filter {
           if (defined(source) && source = RTS_BGP && defined(bgp_local_pref)) then {
             krt_metric = 2147483647 - bgp_local_pref;
           } else {
             if (!defined(krt_metric)) then { krt_metric = 1024; }
             bgp_local_pref = 2147483647 - krt_metric;
           }
           calico_export_to_bgp_peers(true);
           reject;
         };
         graceful restart time 10;
         keepalive time 5;
         rr client; rr cluster id 10.9.9.9;
         password \"hush\";
         next hop self;
         allow local as 2;",
    );
    assert_eq!(a.session("Global_192_0_2_1_port_1790").unwrap(), expected);
    a.bird_accepts();
}

#[test]
fn next_hops() {
    let mut a = a_alone();
    for (fields, expected) in [
        ("asNumber: 65001, keepOriginalNextHop: true", Some("next hop keep;")),
        ("asNumber: 64512, keepOriginalNextHop: true", None),
        ("asNumber: 65001, keepOriginalNextHop: true, nextHopMode: Auto", None),
        ("asNumber: 65001, keepOriginalNextHop: true, nextHopMode: Self", Some("next hop self;")),
        ("asNumber: 64512, nextHopMode: Keep", Some("next hop keep;")),
        ("asNumber: 65001", None),
    ] {
        a.apply(&peer("p", &format!("{{peerIP: 192.0.2.1, {fields}}}")));
        match expected {
            Some(statement) => a.session_has("Global_192_0_2_1", &[statement]),
            None => a.session_lacks("Global_192_0_2_1", &["next hop"]),
        }
    }
}

#[test]
fn the_source_address_and_this_nodes_own_address() {
    let mut a = a_alone().having(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001, sourceAddress: None}"));
    a.session_lacks("Global_192_0_2_1", &["source address"]);
    a.apply(&peer("self", "{peerIP: 10.0.0.1, asNumber: 65001}"));
    a.apply(&peer("rack", "{nodeSelector: all(), peerSelector: node == 'a', reversePeering: Manual}"));
    assert_eq!(a.sessions(), ["Global_192_0_2_1"]);
}

#[test]
fn a_reflector_and_other_reflectors() {
    let reflector = |name: &str, host: u8, id: &str| {
        node(
            name,
            &format!("{{ipv4Address: 10.0.0.{host}/24, routeReflectorClusterID: {id}}}"),
            &format!("{{node: {name}}}"),
        )
    };
    let mut a = a_alone();
    a.apply(
        &[reflector("a", 1, "10.9.9.9"), reflector("b", 2, "10.9.9.9"), reflector("c", 10, "10.9.9.8")]
            .concat(),
    );
    a.apply(&peer("p", "{nodeSelector: all(), peerSelector: all()}"));
    a.session_lacks("Node_10_0_0_2", &["rr client"]);
    a.session_has("Node_10_0_0_10", &["rr client; rr cluster id 10.9.9.9;"]);
}

#[test]
fn sessions_stand_in_the_order_of_their_names() {
    let mut a = a_with("{}");
    a.apply(&peer("p", "{node: a, peerIP: 192.0.2.10, asNumber: 65001}"));
    a.apply(&peer("q", "{node: a, peerIP: 192.0.2.9, asNumber: 65001}"));
    a.apply(&peer("r", "{peerIP: 192.0.2.30, asNumber: 65001}"));
    let expected =
        ["Global_192_0_2_30", "Mesh_10_0_0_10", "Mesh_10_0_0_2", "Node_192_0_2_10", "Node_192_0_2_9"];
    assert_eq!(a.sessions()[..5], expected);
}

#[test]
fn a_family_without_an_address_has_no_session_and_no_filter() {
    let mut a = a_with("{}").having(&calico(
        "BGPFilter",
        "f",
        "{importV4: [{action: Accept}], importV6: [{action: Accept}]}",
    ));
    a.has("bird6.cfg", "function 'bgp_f_importFilterV6'()");
    a.apply(&node("a", "{ipv4Address: 10.0.0.1/24}", "{}"));
    a.lacks("bird6.cfg", "bgp_template");
    a.lacks("bird6.cfg", "bgp_f_importFilterV6");
    a.lacks("bird6.cfg", "protocol bgp");
    a.has("bird6.cfg", "protocol kernel from kernel_template");
    a.has("bird.cfg", "function 'bgp_f_importFilterV4'()");
    a.bird_accepts();
}

// Filters.

#[test]
fn filters_of_rules() {
    let mut a = a_with("{}");
    let rule = "{action: Accept, cidr: 10.0.0.0/8, matchOperator: In, prefixLength: {min: 9}, source: RemotePeers, \
        interface: 'eth*', communities: {values: ['65000:1']}, asPathPrefix: [65001, 65002], priority: 100, \
        peerType: eBGP, operations: [{addCommunity: {value: '1:2:3'}}, {prependASPath: {prefix: [65003, 65004]}}, \
        {setPriority: {value: 200}}, {addCommunity: {value: '1:2:3'}}]}";
    let spec = format!(
        "{{importV4: [{rule}, {{action: Reject, peerType: iBGP}}, {{action: Reject}}], exportV6: [\
         {{action: Reject, cidr: '5000::0/64', matchOperator: NotIn}}, \
         {{action: Accept, cidr: '5000::0/64', matchOperator: Equal}}, \
         {{action: Accept, cidr: '5000::0/64', matchOperator: NotEqual}}, \
         {{action: Accept, cidr: '5000::0/64', matchOperator: In, prefixLength: {{max: 96}}}}]}}"
    );
    a.apply(&calico("BGPFilter", "unused", &spec));
    a.has(
        "bird.cfg",
        "function 'bgp_unused_importFilterV4'(bool is_same_as) { \
           if (!is_same_as) then { if ((net ~ [ 10.0.0.0/8{9,32} ])&&((defined(source))&&(source ~ [ RTS_BGP ]))&&\
           ((defined(ifname))&&(ifname ~ \"eth*\"))&&((65000, 1) ~ bgp_community)&&\
           (bgp_path ~ [= 65001 65002 * =])&&(defined(bgp_local_pref)&&(bgp_local_pref = 2147483547))) then { \
             bgp_large_community.add((1, 2, 3)); bgp_path.prepend(65004); bgp_path.prepend(65003); \
             bgp_local_pref = 2147483447; bgp_large_community.add((1, 2, 3)); accept; } } \
           if (is_same_as) then { reject; } reject; }",
    );
    a.lacks("bird.cfg", "bgp_unused_exportFilterV4");
    a.has(
        "bird6.cfg",
        "function 'bgp_unused_exportFilterV6'() { if ((net !~ 5000::0/64)) then { reject; } \
           if ((net = 5000::0/64)) then { accept; } if ((net != 5000::0/64)) then { accept; } \
           if ((net ~ [ 5000::0/64{64,96} ])) then { accept; } }",
    );
    // In the order of the names, import before export; long names are shortened to what BIRD takes.
    let long = "a-name-of-a-filter-that-is-much-longer-than-forty-five-characters";
    a.apply(&calico("BGPFilter", long, "{exportV4: [{action: Accept}], importV4: [{action: Reject}]}"));
    let text = a.file("bird.cfg");
    let at = |symbol: &str| text.find(symbol).unwrap_or_else(|| panic!("no {symbol} in {text}"));
    // The SHA-256 of the name begins with these digits.
    let short = "'bgp_a-name-of-a-filter-that-is-m_42F03E8FE1D5742C_importFilterV4'";
    assert!(at(short) < at("'bgp_unused_importFilterV4'"));
    assert!(text.find("_importFilterV4").unwrap() < text.find("_exportFilterV4").unwrap());
    a.bird_accepts();
}

// Routes that leave this node, and routes that enter the kernel.

#[test]
fn blocks() {
    let mut a = a_with("{ipv4NormalRoutePriority: 2000}");
    for (name, spec) in [
        ("confirmed", "{cidr: 10.244.0.64/26, node: a, state: confirmed, deleted: 'false'}"),
        ("implied", "{cidr: 10.244.0.128/26, node: a}"),
        ("leaving", "{cidr: 10.244.0.192/26, node: a, state: pendingDeletion}"),
        ("single", "{cidr: 10.244.9.9/32, node: a, state: confirmed}"),
        ("pending", "{cidr: 10.244.1.0/26, node: a, state: pending}"),
        ("deleted", "{cidr: 10.244.2.0/26, node: a, state: confirmed, deleted: 'true'}"),
        ("virtual", "{cidr: 10.244.3.0/26, node: a, state: confirmed, type: virtual}"),
        ("other", "{cidr: 10.244.4.0/26, node: b, state: confirmed}"),
    ] {
        a.apply(&calico("BlockAffinity", name, spec));
    }
    assert_eq!(
        a.originated(),
        ["10.244.0.128/26", "10.244.0.192/26", "10.244.0.64/26"],
        "sorted as text, no /32"
    );
    let lines = |cidr: &str| {
        format!(
            "if ( net = {cidr} ) then {{ accept; }} if ( net ~ {cidr} && krt_metric < 2000 ) then {{ accept; }} \
             if ( net ~ {cidr} ) then {{ reject; }}"
        )
    };
    let all = ["10.244.0.128/26", "10.244.0.64/26", "10.244.9.9/32"].map(lines).join(" ");
    a.has("bird_aggr.cfg", &format!("function calico_aggr () {{ {all} }}"));
    a.bird_accepts();
    // The static protocol is there with a single address alone, too.
    let mut alone = a_with("{}").having(&calico("BlockAffinity", "b", "{cidr: 10.244.9.9/32, node: a}"));
    alone
        .has("bird_aggr.cfg", "template static static_template { } protocol static from static_template { }");
    alone.lacks("bird6_aggr.cfg", "protocol static");
}

#[test]
fn which_pools_bird_programs() {
    let reject = |cidr: &str| format!("if (net ~ {cidr}) then {{ reject; }}");
    let accept = |cidr: &str| format!("if (net ~ {cidr}) then {{ accept; }}");
    let tunnel = |cidr: &str| format!("if (net ~ {cidr}) then {{ krt_tunnel=\"tunl0\"; accept; }}");
    let cross = |cidr: &str| {
        format!(
            "if (net ~ {cidr}) then {{ if (defined(bgp_next_hop)&&(bgp_next_hop ~ 10.0.0.0/24)) then krt_tunnel=\"\"; \
             else krt_tunnel=\"tunl0\"; accept; }}"
        )
    };
    let pools = [
        calico("IPPool", "plain", "{cidr: 10.1.0.0/16}"),
        calico("IPPool", "always", "{cidr: 10.2.0.0/16, ipipMode: Always}"),
        calico("IPPool", "cross", "{cidr: 10.3.0.0/16, ipipMode: CrossSubnet, disableBGPExport: true}"),
        calico("IPPool", "vxlan", "{cidr: 10.4.0.0/16, vxlanMode: Always, disabled: true}"),
        calico("IPPool", "vxcross", "{cidr: 10.5.0.0/16, vxlanMode: CrossSubnet}"),
        calico("IPPool", "plain6", "{cidr: 'fd01::/64'}"),
        calico("IPPool", "vxlan6", "{cidr: 'fd02::/64', vxlanMode: Always}"),
        calico("IPPool", "vxcross6", "{cidr: 'fd03::/64', vxlanMode: CrossSubnet, disableBGPExport: true}"),
    ]
    .concat();
    // What is written, whether BIRD programs what has no encapsulation, and whether it programs IPIP.
    for (mode, plain, ipip) in [
        ("{}", true, false),
        ("{programClusterRoutes: EnabledNoEncapOnly}", true, false),
        ("{programClusterRoutes: EnabledIPIPOnly}", false, true),
        ("{programClusterRoutes: Enabled}", true, true),
        ("{programClusterRoutes: Disabled}", false, false),
    ] {
        let mut a = a_with(mode).having(&pools);
        let lines = [
            if plain { accept("10.1.0.0/16") } else { reject("10.1.0.0/16") },
            if ipip { tunnel("10.2.0.0/16") } else { reject("10.2.0.0/16") },
            if ipip { cross("10.3.0.0/16") } else { reject("10.3.0.0/16") },
            reject("10.4.0.0/16"),
            reject("10.5.0.0/16"),
        ];
        a.has("bird_ipam.cfg", &format!("preference = 200; }} }} {} accept; }}", lines.join(" ")));
        let mut lines6 = vec![reject("fd02::/64"), reject("fd03::/64")];
        if !plain {
            lines6.insert(0, reject("fd01::/64"));
        }
        a.has("bird6_ipam.cfg", &format!("preference = 200; }} }} {} accept; }}", lines6.join(" ")));
        // Export does not depend on it, but for the tunnel whose routes are Felix's.
        let exported = ["10.1.0.0/16", "10.2.0.0/16", "10.4.0.0/16", "10.5.0.0/16"].map(accept).join(" ");
        a.has("bird_ipam.cfg", &format!("calico_aggr(); {exported} }}"));
        a.has("bird_ipam.cfg", &format!("(bool internal_peer) {{ {}", reject("10.3.0.0/16")));
        a.has(
            "bird6_ipam.cfg",
            &format!("calico_aggr(); {} {} }}", accept("fd01::/64"), accept("fd02::/64")),
        );
        let tunnel = "(ifname ~ \"tunl0\")";
        if ipip {
            a.lacks("bird_ipam.cfg", tunnel);
        } else {
            a.has("bird_ipam.cfg", tunnel);
        }
        a.bird_accepts();
        // Without an IPv4 network of this node there are no IPv4 lines.
        a.apply(&node("a", "{ipv6Address: 'fd00::1/64'}", "{}"));
        a.has("bird_ipam.cfg", "preference = 200; } } accept; }");
        a.has("bird6_ipam.cfg", &format!("preference = 200; }} }} {} accept; }}", lines6.join(" ")));
    }
}

#[test]
fn a_network_of_one_address_and_of_host_bits() {
    let pool = calico("IPPool", "cross", "{cidr: 10.3.0.0/16, ipipMode: CrossSubnet}");
    let mut a = a_with("{programClusterRoutes: Enabled}").having(&pool);
    a.apply(&node("a", "{ipv4Address: 10.0.0.77}", "{}"));
    a.has("bird_ipam.cfg", "(bgp_next_hop ~ 10.0.0.77/32)");
    a.apply(&node("a", "{ipv4Address: 10.0.0.77/26}", "{}"));
    a.has("bird_ipam.cfg", "(bgp_next_hop ~ 10.0.0.64/26)");
}

#[test]
fn two_pools_of_one_prefix() {
    let mut a = a_with("{}");
    a.apply(&calico("IPPool", "b", "{cidr: 10.1.0.0/16, vxlanMode: Always}"));
    a.apply(&calico("IPPool", "a", "{cidr: 10.1.0.0/16}"));
    a.has("bird_ipam.cfg", "} if (net ~ 10.1.0.0/16) then { accept; } accept; }");
    a.lacks("bird_ipam.cfg", "if (net ~ 10.1.0.0/16) then { reject; }");
    a.delete(Kind::IpPool, "a");
    a.has("bird_ipam.cfg", "if (net ~ 10.1.0.0/16) then { reject; } accept; }");
}

#[test]
fn the_metric_of_the_kernel() {
    let mut a = a_with("{ipv4NormalRoutePriority: 512, ipv6NormalRoutePriority: 600}");
    for (file, priority) in [("bird_ipam.cfg", 512), ("bird6_ipam.cfg", 600)] {
        a.has(
            file,
            &format!(
                "filter calico_kernel_programming {{ if (defined(source) && (source = RTS_BGP) && !defined(krt_metric)) then {{ \
                   krt_metric = {priority}; if (defined(bgp_local_pref)) then {{ krt_metric = 2147483647 - bgp_local_pref; }} \
                   if (krt_metric < {priority}) then {{ preference = 200; }} }}"
            ),
        );
    }
    a.session_has("Mesh_10_0_0_2", &["(bgp_local_pref > 2147483135)", "krt_metric = 512;"]);
    a.session_has("Mesh_fd00__2", &["(bgp_local_pref > 2147483047)", "krt_metric = 600;"]);
}

#[test]
fn the_order_of_the_export_function() {
    let reflector = "{ipv4Address: 10.0.0.1/24, routeReflectorClusterID: 10.9.9.9}";
    let config = "{serviceClusterIPs: [{cidr: 10.96.0.0/12}], serviceLoadBalancerIPs: [{cidr: 192.0.2.9/32}, {cidr: 198.51.100.0/24}], \
        serviceExternalIPs: [{cidr: 203.0.113.0/24}]}";
    let mut a = a_with(config).having(&node("a", reflector, "{}"));
    a.apply(&calico("IPPool", "p", "{cidr: 10.1.0.0/16}"));
    a.apply(&calico("IPPool", "q", "{cidr: 10.2.0.0/16, disableBGPExport: true}"));
    let accept = |cidr: &&str| format!("if (net ~ {cidr}) then {{ accept; }}");
    let routes = ["10.96.0.0/12", "198.51.100.0/24", "203.0.113.0/24"].iter().map(accept);
    let reflected = ["192.0.2.9/32", "198.51.100.0/24", "203.0.113.0/24"];
    let accepts: Vec<_> =
        routes.chain(reflected.iter().map(accept)).chain([accept(&"10.1.0.0/16")]).collect();
    let expected =
        format!("reject_local_routes(); apply_communities(); calico_aggr(); {} }}", accepts.join(" "));
    a.has("bird_ipam.cfg", &expected);
    // An excluded reflector originates nothing and passes all of it on.
    a.apply(&node("a", reflector, "{node.kubernetes.io/exclude-from-external-load-balancers: 'true'}"));
    let accepts: Vec<_> = reflected.iter().map(accept).chain([accept(&"10.1.0.0/16")]).collect();
    a.has("bird_ipam.cfg", &format!("calico_aggr(); {} }}", accepts.join(" ")));
    assert_eq!(a.never_programmed(), ["10.96.0.0/12", "198.51.100.0/24", "203.0.113.0/24"]);
}

// The route generator.

#[test]
fn ranges_and_single_addresses_of_the_configuration() {
    let config = |aggregation: &str| {
        format!(
            "{{serviceClusterIPs: [{{cidr: 10.96.7.7/32}}, {{cidr: 10.96.0.0/16}}], \
              serviceExternalIPs: [{{cidr: 203.0.113.0/24}}, {{cidr: 203.0.112.7/32}}], \
              serviceLoadBalancerIPs: [{{cidr: 192.0.2.0/24}}, {{cidr: 198.51.100.1/32}}, {{cidr: '2001:db8::1/128'}}], \
              serviceLoadBalancerAggregation: {aggregation}}}"
        )
    };
    let mut a = a_with(&config("Enabled"));
    let ranges = ["10.96.0.0/16", "10.96.7.7/32", "192.0.2.0/24", "203.0.113.0/24"];
    assert_eq!(
        (a.originated(), a.never_programmed()),
        (ranges.map(String::from).into(), ranges.map(String::from).into())
    );
    a.apply(&configuration(&config("Disabled")));
    let ranges = ["10.96.0.0/16", "10.96.7.7/32", "203.0.113.0/24"];
    assert_eq!(
        (a.originated(), a.never_programmed()),
        (ranges.map(String::from).into(), ranges.map(String::from).into())
    );
}

#[test]
fn which_services_are_advertised() {
    let enabled = "{serviceClusterIPs: [{cidr: 10.96.0.0/16}], serviceExternalIPs: [{cidr: 203.0.113.7/32}], \
        serviceLoadBalancerIPs: [{cidr: 192.0.2.1/32}, {cidr: 198.51.100.0/24}]}";
    let disabled = enabled.replace("]}", "], serviceLoadBalancerAggregation: Disabled}");
    let here = "[{nodeName: a}]";
    let there = "[{nodeName: b}]";
    let advertised = |config: &str, spec: &str, ingress: &[&str], endpoints: &str| -> Vec<String> {
        let mut a = a_with(config);
        let ranges = a.originated();
        a.apply(&[service("web", spec, ingress), slice("web-x", "web", "IPv4", endpoints)].concat());
        a.originated().into_iter().filter(|route| !ranges.contains(route)).collect()
    };
    let check = |config: &str, spec: &str, ingress: &[&str], endpoints: &str, expected: &[&str]| {
        let routes = advertised(config, spec, ingress, endpoints);
        assert_eq!(routes, expected, "{config}\n{spec} {ingress:?} {endpoints}");
    };
    // Policy Cluster: a single address that is listed, of a load balancer or external.
    let cluster = "{type: LoadBalancer, clusterIP: 10.96.0.1, externalTrafficPolicy: Cluster}";
    check(enabled, cluster, &["192.0.2.1"], "[]", &["10.96.0.1/32", "192.0.2.1/32"]);
    check(enabled, cluster, &["198.51.100.5"], here, &[]);
    let in_spec = "{type: LoadBalancer, clusterIP: 10.96.0.1, externalTrafficPolicy: Cluster, loadBalancerIP: 192.0.2.1}";
    check(enabled, in_spec, &[], "[]", &["10.96.0.1/32"]);
    let unset = "{type: LoadBalancer, clusterIP: 10.96.0.1}";
    check(enabled, unset, &["192.0.2.1"], "[]", &["10.96.0.1/32", "192.0.2.1/32"]);
    let node_port = "{type: NodePort, clusterIP: 10.96.0.1, externalTrafficPolicy: Cluster}";
    check(enabled, node_port, &["192.0.2.1"], "[]", &[]);
    // An address outside all ranges is not a route.
    let external = "{clusterIP: 10.96.0.1, externalIPs: [203.0.113.7, 203.0.113.8, nonsense], externalTrafficPolicy: Cluster}";
    check(enabled, external, &[], "[]", &["10.96.0.1/32", "203.0.113.7/32"]);
    // Policy Local: a ready endpoint here; the cluster IP need not be inside the range.
    let local = "{type: LoadBalancer, clusterIP: 10.99.0.1, externalTrafficPolicy: Local}";
    check(enabled, local, &["198.51.100.5"], here, &["10.99.0.1/32", "198.51.100.5/32"]);
    check(enabled, local, &["198.51.100.5"], there, &[]);
    check("{}", local, &["198.51.100.5"], here, &[]);
    // No aggregation: a ready endpoint anywhere.
    check(&disabled, cluster, &["198.51.100.5"], there, &["10.96.0.1/32", "198.51.100.5/32"]);
    check(&disabled, cluster, &["198.51.100.5"], "[{nodeName: b, conditions: {ready: false}}]", &[]);
    check(&disabled, "{clusterIP: 10.96.0.1}", &[], there, &["10.96.0.1/32"]);
    check(&disabled, local, &["198.51.100.5"], there, &[]);
    // Types and cluster IPs that are never advertised.
    check(
        enabled,
        "{type: ExternalName, clusterIP: 10.96.0.1, externalTrafficPolicy: Local}",
        &[],
        here,
        &[],
    );
    check(
        enabled,
        "{clusterIP: None, externalIPs: [203.0.113.7], externalTrafficPolicy: Local}",
        &[],
        here,
        &[],
    );
    check(enabled, "{externalIPs: [203.0.113.7], externalTrafficPolicy: Local}", &[], here, &[]);
}

#[test]
fn endpoints_are_of_this_node_by_its_name_in_kubernetes() {
    let mut a = Cluster::with_env("a", &[("CALICO_K8S_NODE_REF", "a.example.org")]);
    a.apply(&configuration("{serviceClusterIPs: [{cidr: 10.96.0.0/16}]}"));
    a.apply(&service("web", "{clusterIP: 10.96.0.1, externalTrafficPolicy: Local}", &[]));
    a.apply(&slice("s", "web", "IPv4", "[{nodeName: a}]"));
    assert_eq!(a.originated(), ["10.96.0.0/16"]);
    a.apply(&slice("s", "web", "IPv4", "[{nodeName: a.example.org}]"));
    assert_eq!(a.originated(), ["10.96.0.0/16", "10.96.0.1/32"]);
}

#[test]
fn addresses_that_do_not_parse_are_reported_once() {
    let mut a = a_with("{serviceExternalIPs: [{cidr: 203.0.113.7/32}]}");
    let spec = "{clusterIP: 10.96.0.1, externalIPs: [nonsense, 203.0.113.7], externalTrafficPolicy: Local}";
    for _ in 0..3 {
        a.apply(&service("web", spec, &[]));
        a.apply(&slice("s", "web", "IPv4", "[{nodeName: a}]"));
    }
    assert_eq!(a.originated(), ["203.0.113.7/32"]);
    assert_eq!(a.reports().len(), 1, "{:?}", a.reports());
    a.reports_on(&["warning", "Service default/web", "spec.externalIPs[0]", "nonsense"]);
}
