//! BGPFilters and nodes, by name.

use std::collections::BTreeSet;

use tailorbird::explain::{Explanation, Rule, Topic};

use crate::asked::{Answer, ask};
use crate::cluster::{Cluster, calico, configuration, node, peer, three_nodes};

fn filter(name: &str, spec: &str) -> String {
    calico("BGPFilter", name, spec)
}

fn cluster() -> Cluster {
    Cluster::on("a").having(&three_nodes()).having(&configuration("{nodeToNodeMeshEnabled: false}"))
}

fn of(cluster: &Cluster, topic: Topic, name: &str) -> Explanation {
    ask(&cluster.engine, &[], topic, name)
}

#[test]
fn a_filter_with_its_functions_and_its_users_in_their_order() {
    let cluster = cluster().having(
        &[
            filter("first", "{importV4: [{action: Accept}], exportV4: [{action: Reject}, {action: Accept}]}"),
            filter("second", "{importV4: [{action: Accept}]}"),
            peer("p", "{peerIP: 10.9.0.1, asNumber: 65001, filters: [second, first]}"),
            peer("elsewhere", "{node: b, peerIP: 10.9.0.2, asNumber: 65001, filters: [first]}"),
        ]
        .concat(),
    );
    let answer = of(&cluster, Topic::Filter, "first").there();
    assert!(answer.summary.contains("1 session of node a uses it"), "{answer}");
    answer
        .stands("bird.cfg", "'bgp_first_importFilterV4'")
        .stands("bird.cfg", "'bgp_first_exportFilterV4'")
        .because(Rule::FilterFunction, "BGPFilter first", &["IPv4 on export", "2 statements"])
        .because(
            Rule::FilterUse,
            "BGPPeer p",
            &["Global_10_9_0_1", "import it is call 2 of 2", "export it is call 1 of 1"],
        )
        .because(Rule::FilterUnused, "BGPFilter first", &["no rules for IPv6"])
        .because(Rule::FilterUnused, "BGPPeer elsewhere", &["no session on this node"]);
    of(&cluster, Topic::Filter, "second").there().because(
        Rule::FilterUse,
        "BGPPeer p",
        &["import it is call 1 of 2", "on export it has nothing to say"],
    );
}

#[test]
fn a_malformed_filter_and_what_follows() {
    let cluster = cluster().having(
        &[
            filter("broken", "{importV4: [{action: Perhaps}]}"),
            peer("p", "{peerIP: 10.9.0.1, asNumber: 65001, filters: [broken]}"),
        ]
        .concat(),
    );
    let answer = of(&cluster, Topic::Filter, "broken").there();
    assert!(answer.summary.contains("cannot be used"), "{answer}");
    answer
        .because(Rule::FilterClosed, "BGPFilter broken", &["take and send no route"])
        .because(
            Rule::FilterUse,
            "BGPPeer p",
            &["Global_10_9_0_1", "on import every route is refused", "on export every"],
        )
        .because(Rule::Report, "BGPFilter broken", &["spec.importV4[0].action", "Perhaps"]);
}

#[test]
fn a_filter_that_nobody_uses_or_that_is_not_there() {
    let cluster = cluster().having(
        &[
            filter("no-private", "{importV4: [{action: Accept}]}"),
            peer("p", "{peerIP: 10.9.0.1, asNumber: 65001, filters: [no-privat]}"),
        ]
        .concat(),
    );
    of(&cluster, Topic::Filter, "no-private").there().because(
        Rule::FilterUnused,
        "BGPFilter no-private",
        &["no session of this node uses it"],
    );
    of(&cluster, Topic::Filter, "no-privat")
        .absent()
        .because(Rule::Missing, "BGPPeer p", &["skipped"])
        .because(Rule::NearName, "", &["no-private"]);
    of(&cluster, Topic::Filter, "x").absent().because(Rule::Missing, "", &["no BGPPeer names it"]);
}

#[test]
fn another_node_with_what_is_between_it_and_this_one() {
    let cluster = cluster().having(
        &[
            node(
                "d",
                "{ipv4Address: 10.0.0.4/24, asNumber: 65004, routeReflectorClusterID: 2.2.2.2}",
                "{rack: r9}",
            ),
            calico("BGPConfiguration", "node.d", "{listenPort: 1790}"),
            peer("racks", "{nodeSelector: \"rack == 'r1'\", peerSelector: has(spine)}"),
            peer("to-b", "{node: a, peerSelector: \"node == 'b'\"}"),
        ]
        .concat(),
    );
    of(&cluster, Topic::Node, "d")
        .there()
        .because(Rule::NodeAddress, "Node d", &["10.0.0.4"])
        .because(Rule::NodeWithoutAddress, "Node d", &["no IPv6 address"])
        .because(Rule::NodeAs, "Node d", &["65004, its own", "port 1790", "node.d"])
        .because(Rule::Reflector, "Node d", &["2.2.2.2"])
        .because(Rule::NodeLabels, "Node d", &["rack is \"r9\"", "racks"])
        .because(Rule::NodeLabels, "Node d", &["spine is not set", "racks"])
        .because(Rule::NotPeerSelected, "BGPPeer racks", &["10.0.0.4", "spine is not set"]);
    let b = of(&cluster, Topic::Node, "b").there();
    assert!(b.summary.contains("Node_10_0_0_2") && b.summary.contains("Node_fd00__2"), "{b}");
    b.stands("bird.cfg", "Node_10_0_0_2").because(Rule::PeerSelector, "BGPPeer to-b", &["10.0.0.2"]);
}

#[test]
fn this_node_with_its_sessions() {
    let cluster =
        Cluster::on("a").having(&three_nodes()).having(&peer("p", "{peerIP: 10.9.0.1, asNumber: 65001}"));
    of(&cluster, Topic::Node, "a")
        .there()
        .stands("bird.cfg", "Global_10_9_0_1")
        .because(Rule::NodeSession, "BGPPeer p", &["IPv4", "Global_10_9_0_1"])
        .because(Rule::Mesh, "BGPConfiguration default", &["IPv6 sessions of the mesh: 2"]);
}

#[test]
fn a_node_that_is_missing_malformed_or_warned_about() {
    let kube = "---\napiVersion: v1\nkind: Node\nmetadata: {name: d, annotations: {projectcalico.org/IPv4Address: ten}}\n";
    let cluster = cluster().having(&node("e", "{ipv4Address: 10.0.0.300/24}", "{}")).having(kube);
    of(&cluster, Topic::Node, "bb").absent().because(Rule::Missing, "", &["no Node"]).because(
        Rule::NearName,
        "",
        &["node b"],
    );
    let e = of(&cluster, Topic::Node, "e").absent();
    assert!(e.summary.contains("malformed"), "{e}");
    e.because(Rule::Report, "Node e", &["ipv4Address", "10.0.0.300"]);
    of(&cluster, Topic::Node, "d").there().because(Rule::Report, "Node d", &["IPv4Address", "ten"]);
}

#[test]
fn the_rules_are_all_on_the_page_about_them() {
    let page = include_str!("../../../docs/explain.md");
    let missing: Vec<&str> = Rule::ALL
        .into_iter()
        .map(Rule::as_str)
        .filter(|rule| !page.lines().any(|line| line.starts_with(&format!("| `{rule}` |"))))
        .collect();
    assert_eq!(missing, [""; 0]);
    let names: BTreeSet<&str> = Rule::ALL.into_iter().map(Rule::as_str).collect();
    assert_eq!(names.len(), Rule::ALL.len(), "no name stands for two rules");
}
