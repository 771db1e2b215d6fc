//! Has this node a session with an address, and why not?

use tailorbird::explain::{Query, Rule, Topic};

use crate::asked::{self, Answer, ask};
use crate::cluster::{Cluster, Look, configuration, node, peer, secret, three_nodes};

/// Node `a` of three, without the mesh.
fn alone(more: &[String]) -> Cluster {
    let mut cluster =
        Cluster::on("a").having(&three_nodes()).having(&configuration("{nodeToNodeMeshEnabled: false}"));
    cluster.apply(&more.concat());
    cluster
}

#[test]
fn the_mesh_is_named_with_what_it_comes_of() {
    let cluster = Cluster::on("a").having(&three_nodes());
    let answer = asked::peer(&cluster, "10.0.0.2").there().stands("bird.cfg", "Mesh_10_0_0_2");
    assert_eq!(answer.subject, "peer 10.0.0.2");
    answer.because(Rule::Mesh, "BGPConfiguration default", &["there is none", "node b"]);
    asked::peer(&cluster, "fd00::2").there().stands("bird6.cfg", "Mesh_fd00__2");
    let cluster = cluster
        .having(&configuration("{nodeMeshPassword: {secretKeyRef: {name: s, key: k}}}"))
        .having(&secret("s", "{k: sesame}"));
    let answer = asked::peer(&cluster, "10.0.0.2").there();
    assert!(!answer.to_string().contains("sesame"), "{answer}");
    answer.because(Rule::Mesh, "BGPConfiguration default", &["on in it"]).because(
        Rule::Password,
        "Secret kube-system/s",
        &["the mesh", "\"k\""],
    );
}

#[test]
fn a_mesh_that_is_off_is_the_reason() {
    let cluster = alone(&[]);
    asked::peer(&cluster, "10.0.0.2").absent().because(
        Rule::MeshOff,
        "BGPConfiguration default",
        &["nodeToNodeMeshEnabled is false", "node b"],
    );
}

#[test]
fn route_reflectors_are_not_in_the_mesh() {
    let reflector = node("b", "{ipv4Address: 10.0.0.2/24, routeReflectorClusterID: 1.1.1.1}", "{}");
    let cluster = Cluster::on("a").having(&three_nodes()).having(&reflector);
    asked::peer(&cluster, "10.0.0.2").absent().because(Rule::Reflector, "Node b", &["1.1.1.1"]);
    let cluster = Cluster::on("b").having(&three_nodes()).having(&reflector);
    asked::peer(&cluster, "10.0.0.1").absent().because(Rule::Reflector, "Node b", &["route reflector"]);
}

#[test]
fn of_two_nodes_with_one_address_the_other_is_named() {
    let cluster =
        Cluster::on("a").having(&three_nodes()).having(&node("d", "{ipv4Address: 10.0.0.2/24}", "{}"));
    asked::peer(&cluster, "10.0.0.2")
        .there()
        .because(Rule::Mesh, "BGPConfiguration default", &["node b"])
        .because(Rule::FirstWins, "Node d", &["node b"]);
}

#[test]
fn this_nodes_own_address() {
    let cluster = alone(&[peer("self", "{peerIP: 10.0.0.1, asNumber: 65001}")]);
    asked::peer(&cluster, "10.0.0.1")
        .absent()
        .because(Rule::OwnAddress, "Node a", &["this node's own"])
        .because(Rule::PeerAddress, "BGPPeer self", &["10.0.0.1"]);
}

#[test]
fn an_address_that_nobody_has() {
    let cluster = alone(&[node("d", "{}", "{}")]);
    asked::peer(&cluster, "10.0.0.77")
        .absent()
        .because(Rule::Unknown, "", &["no node has the address 10.0.0.77", "no BGPPeer names it"])
        .because(Rule::NodeWithoutAddress, "", &["IPv4", ": d"]);
}

#[test]
fn a_family_in_which_this_node_has_no_address() {
    let mut cluster = alone(&[peer("p", "{peerIP: 'fd00::99', asNumber: 65001}")]);
    cluster.apply(&node("a", "{ipv4Address: 10.0.0.1/24}", "{}"));
    asked::peer(&cluster, "fd00::99")
        .absent()
        .because(Rule::PeerAddress, "BGPPeer p", &["fd00::99"])
        .because(Rule::NoOwnAddress, "Node a", &["no IPv6 address"]);
    // The mesh needs one too.
    cluster.apply(&configuration("{}"));
    asked::peer(&cluster, "fd00::2").absent().because(Rule::NoOwnAddress, "Node a", &["no IPv6 address"]);
}

#[test]
fn each_way_to_come_to_a_session_names_its_bgp_peer() {
    let cluster = alone(&[
        peer("global", "{peerIP: 10.9.0.1, asNumber: 65001}"),
        peer("named", "{node: a, peerIP: '10.9.0.2:1790', asNumber: 65001}"),
        peer("selected", "{nodeSelector: \"rack == 'r1'\", peerIP: 10.9.0.3, asNumber: 65001}"),
        peer("nodes", "{node: a, peerSelector: \"node == 'b'\"}"),
        peer("back", "{node: c, peerIP: 10.0.0.1, asNumber: 64512}"),
    ]);
    for (ip, protocol, rule, object, words) in [
        ("10.9.0.1", "Global_10_9_0_1", Rule::PeerAddress, "global", "every node"),
        ("10.9.0.2", "Node_10_9_0_2_port_1790", Rule::PeerAddress, "named", "port 1790"),
        ("10.9.0.3", "Node_10_9_0_3", Rule::PeerAddress, "selected", "\"rack == 'r1'\" matches this node"),
        ("10.0.0.2", "Node_10_0_0_2", Rule::PeerSelector, "nodes", "matches node b"),
        ("10.0.0.10", "Node_10_0_0_10", Rule::ReversePeering, "back", "the way back"),
    ] {
        asked::peer(&cluster, ip)
            .there()
            .stands("bird.cfg", protocol)
            .because(rule, &format!("BGPPeer {object}"), &[words])
            .not_because(Rule::MeshOff);
    }
}

#[test]
fn local_workloads() {
    let mut cluster = alone(&[peer("w", "{localWorkloadSelector: all(), asNumber: 65001}")]);
    cluster.workload("pod", r#"{"ifaceName": "cali1", "ipv4Nets": ["10.64.0.5/32"], "bgpPeerName": "w"}"#);
    cluster
        .workload("stray", r#"{"ifaceName": "cali2", "ipv4Nets": ["10.64.0.6/32"], "bgpPeerName": "gone"}"#);
    asked::peer(&cluster, "10.64.0.5").there().stands("bird.cfg", "Local_Workload_10_64_0_5").because(
        Rule::LocalWorkload,
        "BGPPeer w",
        &["pod"],
    );
    asked::peer(&cluster, "10.64.0.6").absent().because(
        Rule::LocalWorkload,
        "endpoint status stray",
        &["BGPPeer gone", "not there"],
    );
    cluster.apply(&peer("w", "{node: b, localWorkloadSelector: all(), asNumber: 65001}"));
    asked::peer(&cluster, "10.64.0.5").absent().because(Rule::NodeSelector, "BGPPeer w", &["node b alone"]);
}

#[test]
fn a_node_selector_that_does_not_match_is_shown_with_the_labels_that_it_mentions() {
    let cluster = alone(&[
        peer(
            "tor",
            "{nodeSelector: \"rack == 'r2' && !has(retired) && zone == 'x'\", peerIP: 10.9.0.1, asNumber: 65001}",
        ),
        peer("other", "{node: b, peerIP: 10.9.0.1, asNumber: 65001}"),
    ]);
    asked::peer(&cluster, "10.9.0.1")
        .absent()
        .because(
            Rule::NodeSelector,
            "BGPPeer tor",
            &[
                "rack == 'r2'",
                "does not match this node, a",
                "rack is \"r1\"",
                "retired is not set",
                "zone is not set",
            ],
        )
        .because(Rule::NodeSelector, "BGPPeer other", &["node b alone"]);
}

#[test]
fn a_peer_selector_that_does_not_match_is_shown_with_the_other_nodes_labels() {
    let cluster = alone(&[
        peer("racks", "{node: a, peerSelector: \"rack == 'r2'\"}"),
        // It means neither of the two ends.
        peer("elsewhere", "{node: c, peerSelector: \"node == 'c'\"}"),
    ]);
    let answer = asked::peer(&cluster, "10.0.0.2").absent().because(
        Rule::NotPeerSelected,
        "BGPPeer racks",
        &["does not match node b", "rack is \"r1\""],
    );
    assert!(!answer.to_string().contains("elsewhere"), "{answer}");
}

#[test]
fn a_way_back_that_does_not_come_about() {
    let with = |spec: &str| asked::peer(&alone(&[peer("p", spec)]), "10.0.0.2").absent();
    with("{node: b, peerSelector: \"node == 'a'\", reversePeering: Manual}").because(
        Rule::NoReversePeering,
        "BGPPeer p",
        &["node b", "Manual"],
    );
    with("{node: b, peerIP: 10.0.0.1, asNumber: 65009}").because(
        Rule::NoReversePeering,
        "BGPPeer p",
        &["AS 65009", "AS 64512"],
    );
    with("{node: b, peerIP: '10.0.0.1:1790', asNumber: 64512}").because(
        Rule::NoReversePeering,
        "BGPPeer p",
        &["port"],
    );
    with("{node: b, peerIP: 'fd00::1', asNumber: 64512}").because(
        Rule::NoReversePeering,
        "BGPPeer p",
        &["other family"],
    );
    with("{node: c, peerSelector: \"node == 'a'\"}").because(
        Rule::NodeSelector,
        "BGPPeer p",
        &["matches this node", "node c alone"],
    );
    with("{node: b, peerSelector: \"node == 'c'\"}").because(
        Rule::NotPeerSelected,
        "BGPPeer p",
        &["does not match this node, a", "node is \"a\""],
    );
}

#[test]
fn a_selector_that_is_malformed() {
    let cluster = alone(&[peer("broken", "{nodeSelector: 'rack ==', peerIP: 10.9.0.1, asNumber: 65001}")]);
    asked::peer(&cluster, "10.9.0.1")
        .absent()
        .because(Rule::NodeSelector, "BGPPeer broken", &["malformed", "matches nothing"])
        .because(Rule::Report, "BGPPeer broken", &["spec.nodeSelector", "column"]);
}

#[test]
fn who_lost_against_whom_and_by_which_rule() {
    let cluster = alone(&[
        peer("b-global", "{peerIP: 10.9.0.1, asNumber: 65001}"),
        peer("a-node", "{node: a, peerIP: 10.9.0.1, asNumber: 65002}"),
        peer("c-global", "{peerIP: 10.9.0.1, asNumber: 65003}"),
        peer("z-forward", "{node: a, peerSelector: \"node == 'b'\"}"),
        peer("y-back", "{node: b, peerSelector: \"node == 'a'\"}"),
    ]);
    asked::peer(&cluster, "10.9.0.1")
        .there()
        .because(Rule::PeerAddress, "BGPPeer b-global", &["every node"])
        .because(Rule::FirstWins, "BGPPeer a-node", &["BGPPeer b-global", "every node", "before"])
        .because(Rule::FirstWins, "BGPPeer c-global", &["BGPPeer b-global", "name sorts before"]);
    asked::peer(&cluster, "10.0.0.2")
        .there()
        .because(Rule::PeerSelector, "BGPPeer z-forward", &["node b"])
        .because(Rule::FirstWins, "BGPPeer y-back", &["BGPPeer z-forward", "before a way back"]);
}

#[test]
fn passwords_that_are_missing_or_cannot_be_used() {
    let spec = "{peerIP: 10.9.0.1, asNumber: 65001, password: {secretKeyRef: {name: s, key: k}}}";
    let mut cluster = alone(&[peer("p", spec)]);
    asked::peer(&cluster, "10.9.0.1").there().because(
        Rule::Password,
        "Secret kube-system/s",
        &["BGPPeer p has no password for now", "there is no Secret s"],
    );
    cluster.apply(&secret("s", "{other: sesame-4711}"));
    asked::peer(&cluster, "10.9.0.1").there().because(
        Rule::Password,
        "Secret kube-system/s",
        &["no key \"k\""],
    );
    cluster.apply(&secret("s", "{k: sesame-4711}"));
    let answer = asked::peer(&cluster, "10.9.0.1").there();
    assert!(!answer.to_string().contains("sesame"), "{answer}");
    assert!(!serde_json::to_string(&answer).unwrap().contains("sesame"), "{answer}");
    cluster.apply(&secret("s", "{k: 'sesame\"4711'}"));
    let answer = asked::peer(&cluster, "10.9.0.1").absent().because(
        Rule::Password,
        "Secret kube-system/s",
        &["BGPPeer p", "double quote"],
    );
    assert!(!answer.to_string().contains("sesame"), "{answer}");
    // The same when it is selected, and for the way back.
    for spec in [
        "{node: a, peerSelector: \"node == 'b'\", PASSWORD}",
        "{node: b, peerSelector: \"node == 'a'\", PASSWORD}",
    ] {
        let spec = spec.replace("PASSWORD", "password: {secretKeyRef: {name: s, key: k}}");
        cluster.apply(&peer("q", &spec));
        asked::peer(&cluster, "10.0.0.2").absent().because(
            Rule::Password,
            "Secret kube-system/s",
            &["BGPPeer q", "double quote"],
        );
    }
}

#[test]
fn a_bgp_peer_that_has_no_effect_is_named_beside_the_session_of_the_mesh() {
    let password = "password: {secretKeyRef: {name: s, key: k}}";
    let mut cluster = Cluster::on("a").having(&three_nodes()).having(&secret("s", "{k: 'ses\"ame'}"));
    cluster.apply(
        &[
            peer("other-node", "{node: b, peerIP: 10.0.0.2, asNumber: 64512}"),
            peer("broken", &format!("{{node: a, peerSelector: \"node == 'b'\", {password}}}")),
            peer("not-selected", "{node: a, peerSelector: \"node == 'c'\"}"),
        ]
        .concat(),
    );
    asked::peer(&cluster, "10.0.0.2")
        .there()
        .because(Rule::Mesh, "BGPConfiguration default", &["node b"])
        .because(Rule::NodeSelector, "BGPPeer other-node", &["node b alone"])
        .because(Rule::Password, "Secret kube-system/s", &["BGPPeer broken"])
        .not_because(Rule::NotPeerSelected);
    // Once there is one in effect, one that names the address for others is no matter.
    cluster.apply(&peer("in-effect", "{node: a, peerIP: 10.0.0.2, asNumber: 64512}"));
    asked::peer(&cluster, "10.0.0.2")
        .there()
        .because(Rule::PeerAddress, "BGPPeer in-effect", &["10.0.0.2"])
        .not_because(Rule::NodeSelector);
}

#[test]
fn a_gateway_of_the_other_family() {
    let cluster = alone(&[peer("p", "{peerIP: 10.9.0.1, asNumber: 65001, reachableBy: 'fd00::77'}")]);
    asked::peer(&cluster, "10.9.0.1").absent().because(Rule::GatewayFamily, "BGPPeer p", &["fd00::77"]);
}

#[test]
fn filters_that_are_missing_malformed_or_called() {
    let filter = |name: &str, spec: &str| crate::cluster::calico("BGPFilter", name, spec);
    let cluster = alone(&[
        peer("p", "{peerIP: 10.9.0.1, asNumber: 65001, filters: [gone, broken, fine]}"),
        filter("broken", "{importV4: [{action: Perhaps}]}"),
        filter("fine", "{importV4: [{action: Accept}]}"),
    ]);
    asked::peer(&cluster, "10.9.0.1")
        .there()
        .because(Rule::Filter, "BGPFilter gone", &["no such BGPFilter", "skipped"])
        .because(Rule::Filter, "BGPFilter broken", &["malformed", "no route"])
        .because(
            Rule::Filter,
            "BGPFilter fine",
            &["import calls 'bgp_fine_importFilterV4'", "no rules on export"],
        );
}

#[test]
fn an_object_that_is_left_out_is_shown_with_the_words_of_its_report() {
    let cluster = alone(&[
        peer("typo", "{peerIP: 10.9.0.300, asNumber: 65001}"),
        node("d", "{ipv4Address: 10.0.0.4.4/24}", "{}"),
        peer("empty", "{node: a}"),
    ]);
    asked::peer(&cluster, "10.9.0.30")
        .absent()
        .because(Rule::Unknown, "", &["10.9.0.30"])
        .because(Rule::Report, "BGPPeer typo", &["spec.peerIP", "10.9.0.300"])
        .because(Rule::Report, "Node d", &["ipv4Address"])
        .because(Rule::NoRemoteEnd, "BGPPeer empty", &["no remote end"]);
}

#[test]
fn many_of_one_kind_are_cut_short_and_counted() {
    let many: Vec<String> =
        (0..50).map(|i| peer(&format!("p{i:02}"), "{node: b, peerIP: 10.9.0.1, asNumber: 65001}")).collect();
    let answer = asked::peer(&alone(&many), "10.9.0.1").absent();
    assert_eq!(answer.because.len(), 21, "{answer}");
    answer.because(Rule::NodeSelector, "BGPPeer p19", &["node b"]).because(
        Rule::NodeSelector,
        "",
        &["30 more"],
    );
}

#[test]
fn while_nothing_is_rendered_the_answer_says_so() {
    let cluster = alone(&[]).having(&configuration("{asNumber: many}"));
    asked::peer(&cluster, "10.0.0.2").noted("BGPConfiguration default");
    let cluster = Cluster::on("nobody").having(&three_nodes());
    asked::peer(&cluster, "10.0.0.2").absent().noted("there is no node nobody");
}

#[test]
fn an_answer_depends_on_the_objects_and_not_on_their_history() {
    let mut cluster = alone(&[peer("p", "{node: b, peerIP: 10.9.0.1, asNumber: 65001}")]);
    cluster.apply(&peer("p", "{node: a, peerIP: 10.9.0.1, asNumber: 65001}"));
    let now = asked::peer(&cluster, "10.9.0.1").there();
    let fresh = alone(&[peer("p", "{node: a, peerIP: 10.9.0.1, asNumber: 65001}")]);
    assert_eq!(now.because, ask(&fresh.engine, &[], Topic::Peer, "10.9.0.1").because);
    assert!(cluster.sessions().contains(&"Node_10_9_0_1".to_owned()));
}

#[test]
fn what_is_no_address_prefix_or_name_is_no_question() {
    for (topic, text) in [
        (Topic::Peer, "worker-1"),
        (Topic::Peer, "10.0.0.0/24"),
        (Topic::Peer, ""),
        (Topic::Route, "10.0.0.0/33"),
        (Topic::Route, "web"),
        (Topic::Filter, "a b"),
        (Topic::Node, "a/b"),
    ] {
        assert!(Query::new(topic, text).is_err(), "{text}");
    }
    assert_eq!(Query::new(Topic::Route, "10.1.2.3").unwrap().to_string(), "route 10.1.2.3/32");
}
