//! Does this node originate a prefix, and why not?

use tailorbird::explain::Rule;
use tailorbird::resources::Kind;

use crate::asked::{Answer, route};
use crate::cluster::{Cluster, calico, configuration, node, peer, service, slice, three_nodes};

const RANGES: &str = "serviceClusterIPs: [{cidr: 10.96.0.0/16}], serviceExternalIPs: [{cidr: 203.0.113.0/24}, \
    {cidr: 192.0.2.7/32}], serviceLoadBalancerIPs: [{cidr: 198.51.100.0/24}, {cidr: 192.0.2.9/32}]";

fn cluster(config: &str, more: &[String]) -> Cluster {
    let mut cluster = Cluster::on("a").having(&three_nodes()).having(&configuration(config));
    cluster.apply(&more.concat());
    cluster
}

fn with_ranges(more: &[String]) -> Cluster {
    cluster(&format!("{{{RANGES}}}"), more)
}

fn web(spec: &str) -> String {
    service("web", &format!("{{clusterIP: 10.96.0.20, type: LoadBalancer, {spec}}}"), &["198.51.100.20"])
}

fn ready_on(node: &str) -> String {
    slice("web-1", "web", "IPv4", &format!("[{{nodeName: {node}, conditions: {{ready: true}}}}]"))
}

#[test]
fn a_range_of_the_configuration() {
    let cluster = with_ranges(&[]);
    for (cidr, field) in [
        ("10.96.0.0/16", "serviceClusterIPs"),
        ("203.0.113.0/24", "serviceExternalIPs"),
        ("198.51.100.0/24", "serviceLoadBalancerIPs"),
    ] {
        route(&cluster, cidr)
            .there()
            .stands("bird_aggr.cfg", cidr)
            .because(Rule::ConfiguredRange, "BGPConfiguration default", &[field])
            .because(Rule::NotProgrammed, "BGPConfiguration default", &["kernel"]);
    }
    let overridden = Cluster::with_env("a", &[("CALICO_ADVERTISE_CLUSTER_IPS", "10.97.0.0/16")])
        .having(&three_nodes())
        .having(&configuration(&format!("{{{RANGES}}}")));
    route(&overridden, "10.97.0.0/16").there().because(
        Rule::ConfiguredRange,
        "environment CALICO_ADVERTISE_CLUSTER_IPS",
        &["serviceClusterIPs"],
    );
    route(&overridden, "10.96.0.0/16").absent().because(Rule::Unknown, "", &["10.96.0.0/16"]);
}

#[test]
fn entries_of_the_configuration_that_are_no_routes_by_themselves() {
    let cluster = with_ranges(&[]);
    for ip in ["192.0.2.7", "192.0.2.9"] {
        route(&cluster, ip).absent().because(
            Rule::NotARange,
            "BGPConfiguration default",
            &["single address"],
        );
    }
    let cluster = self::cluster(&format!("{{{RANGES}, serviceLoadBalancerAggregation: Disabled}}"), &[]);
    route(&cluster, "198.51.100.0/24").absent().because(
        Rule::NotARange,
        "BGPConfiguration default",
        &["serviceLoadBalancerAggregation is Disabled"],
    );
}

#[test]
fn why_a_service_is_advertised() {
    let local = with_ranges(&[web("externalTrafficPolicy: Local"), ready_on("a")]);
    for (ip, role) in [("10.96.0.20", "clusterIPs"), ("198.51.100.20", "status.loadBalancer.ingress")] {
        route(&local, ip).there().stands("bird_aggr.cfg", &format!("{ip}/32")).because(
            Rule::Service,
            "Service default/web",
            &[role, "Local", "endpoint on this node is ready"],
        );
    }
    let listed =
        with_ranges(&[web("externalTrafficPolicy: Cluster, externalIPs: [192.0.2.7]"), ready_on("b")]);
    route(&listed, "192.0.2.7").there().because(
        Rule::Service,
        "Service default/web",
        &["externalIPs", "192.0.2.7 is in serviceExternalIPs as a single address"],
    );
    let config = format!("{{{RANGES}, serviceLoadBalancerAggregation: Disabled}}");
    let apart = cluster(&config, &[web("externalTrafficPolicy: Cluster"), ready_on("b")]);
    route(&apart, "198.51.100.20").there().because(
        Rule::Service,
        "Service default/web",
        &["serviceLoadBalancerAggregation is Disabled", "an endpoint is ready"],
    );
}

#[test]
fn why_a_service_is_not_advertised() {
    let local = "externalTrafficPolicy: Local";
    let one = |objects: &[String], words: &[&str]| {
        let cluster = with_ranges(objects);
        route(&cluster, "10.96.0.20")
            .absent()
            .because(Rule::ServiceNotAdvertised, "Service default/web", words)
            .because(Rule::Covered, "BGPConfiguration default", &["10.96.0.0/16"]);
    };
    one(&[web(local)], &["no EndpointSlice of it"]);
    one(
        &[web(local), ready_on("b")],
        &["externalTrafficPolicy is Local", "no endpoint on node a is ready", "web-1", "on other nodes only"],
    );
    one(
        &[web(local), slice("web-1", "web", "IPv4", "[{nodeName: a, conditions: {ready: false}}]")],
        &["no endpoint on node a is ready", "has no ready endpoint"],
    );
    one(
        &[web(local), slice("web-1", "web", "IPv6", "[{nodeName: a}]")],
        &["web-1 is not of a family of the Service"],
    );
    one(
        &[web("externalTrafficPolicy: Cluster"), ready_on("a")],
        &["externalTrafficPolicy is Cluster", "Aggregation is Enabled", "no route of its own"],
    );
    let of_type = |kind: &str| service("web", &format!("{{clusterIP: 10.96.0.20, type: {kind}}}"), &[]);
    one(
        &[of_type("ClusterIP"), ready_on("a")],
        &["externalTrafficPolicy is not set", "Aggregation is Enabled"],
    );
    one(&[of_type("ExternalName"), ready_on("a")], &["its type is none of"]);
    let headless = service("web", "{clusterIP: None, externalIPs: [203.0.113.5]}", &[]);
    let cluster = with_ranges(&[headless, ready_on("a")]);
    route(&cluster, "203.0.113.5").absent().because(
        Rule::ServiceNotAdvertised,
        "Service default/web",
        &["no cluster IP"],
    );
    let config = format!("{{{RANGES}, serviceLoadBalancerAggregation: Disabled}}");
    let apart =
        self::cluster(&config, &[web("externalTrafficPolicy: Cluster"), slice("web-1", "web", "IPv4", "[]")]);
    route(&apart, "198.51.100.20").absent().because(
        Rule::ServiceNotAdvertised,
        "Service default/web",
        &["no endpoint is ready"],
    );
}

#[test]
fn a_node_that_is_named_otherwise_in_kubernetes() {
    let mut cluster = Cluster::with_env("a", &[("CALICO_K8S_NODE_REF", "host-a")])
        .having(&three_nodes())
        .having(&configuration(&format!("{{{RANGES}}}")));
    cluster.apply(&[web("externalTrafficPolicy: Local"), ready_on("a")].concat());
    route(&cluster, "10.96.0.20").absent().because(
        Rule::ServiceNotAdvertised,
        "Service default/web",
        &["no endpoint on node host-a is ready"],
    );
}

#[test]
fn addresses_outside_the_ranges() {
    let web = service(
        "web",
        "{clusterIP: 10.96.0.20, type: LoadBalancer, externalTrafficPolicy: Local, externalIPs: [192.0.2.50], loadBalancerIP: 198.51.100.99}",
        &["192.0.2.60"],
    );
    let cluster = with_ranges(&[web.clone(), ready_on("a")]);
    for (ip, words) in [
        ("192.0.2.50", &["externalIPs", "serviceExternalIPs", "203.0.113.0/24"][..]),
        ("192.0.2.60", &["status.loadBalancer.ingress", "serviceLoadBalancerIPs", "198.51.100.0/24"]),
        ("198.51.100.99", &["spec.loadBalancerIP", "only of an address in status.loadBalancer.ingress"]),
    ] {
        route(&cluster, ip).absent().because(Rule::OutsideRanges, "Service default/web", words);
    }
    let bare = self::cluster("{}", &[web, ready_on("a")]);
    route(&bare, "10.96.0.20").absent().because(
        Rule::OutsideRanges,
        "Service default/web",
        &["serviceClusterIPs", "has no prefix"],
    );
}

#[test]
fn a_node_that_is_excluded_from_load_balancers() {
    let mut cluster = with_ranges(&[web("externalTrafficPolicy: Local"), ready_on("a")]);
    let label = "node.kubernetes.io/exclude-from-external-load-balancers";
    cluster.apply(&node("a", "{ipv4Address: 10.0.0.1/24}", &format!("{{{label}: 'true'}}")));
    for prefix in ["10.96.0.20", "10.96.0.0/16"] {
        route(&cluster, prefix).absent().because(Rule::NodeExcluded, "Node a", &[label]).because(
            Rule::NotProgrammed,
            "BGPConfiguration default",
            &["10.96.0.0/16"],
        );
    }
}

fn block(name: &str, cidr: &str, more: &str) -> String {
    calico("BlockAffinity", name, &format!("{{cidr: {cidr}, {more}}}"))
}

#[test]
fn blocks_and_what_makes_them_count_for_nothing() {
    let cluster = cluster(
        "{}",
        &[
            block("own", "10.64.0.0/26", "node: a, state: confirmed"),
            block("going", "10.64.1.0/26", "node: a, state: pendingDeletion"),
            block("coming", "10.64.2.0/26", "node: a, state: pending"),
            block("deleted", "10.64.3.0/26", "node: a, deleted: 'true'"),
            block("virtual", "10.64.4.0/26", "node: a, type: virtual"),
            block("others", "10.64.5.0/26", "node: b, state: confirmed"),
            calico("IPPool", "pool", "{cidr: 10.64.0.0/16}"),
        ],
    );
    route(&cluster, "10.64.0.0/26").there().stands("bird_aggr.cfg", "10.64.0.0/26").because(
        Rule::Block,
        "BlockAffinity own",
        &["block of this node"],
    );
    let going = route(&cluster, "10.64.1.0/26").there();
    assert!(going.summary.contains("goes to no peer"), "{going}");
    going.because(Rule::BlockState, "BlockAffinity going", &["pendingDeletion"]);
    for (cidr, object, words) in [
        ("10.64.2.0/26", "coming", "pending"),
        ("10.64.3.0/26", "deleted", "deleted"),
        ("10.64.4.0/26", "virtual", "virtual"),
    ] {
        let object = format!("BlockAffinity {object}");
        route(&cluster, cidr).absent().because(Rule::BlockState, &object, &[words]);
    }
    route(&cluster, "10.64.5.0/26").absent().because(
        Rule::Pool,
        "IPPool pool",
        &["no block of this node has it"],
    );
    route(&cluster, "10.64.0.7").absent().because(Rule::Covered, "BlockAffinity own", &["10.64.0.0/26"]);
    route(&cluster, "10.64.5.7").absent().because(Rule::Pool, "IPPool pool", &["borrowed"]);
    // Set right, it counts.
    let mut cluster = cluster;
    cluster.apply(&block("coming", "10.64.2.0/26", "node: a, state: confirmed"));
    route(&cluster, "10.64.2.0/26").there().not_because(Rule::BlockState);
    cluster.delete(Kind::BlockAffinity, "deleted");
    route(&cluster, "10.64.3.0/26").absent().not_because(Rule::BlockState);
}

#[test]
fn blocks_of_pod_cidrs() {
    let kube = "---\napiVersion: v1\nkind: Node\nmetadata: {name: a, annotations: {projectcalico.org/IPv4Address: 10.0.0.1/24}}\nspec: {podCIDRs: [10.65.0.0/24]}\n";
    let cluster = Cluster::with_env("a", &[("USE_POD_CIDR", "true")]).having(kube);
    route(&cluster, "10.65.0.0/24").there().because(Rule::Block, "Node a", &["USE_POD_CIDR"]);
}

#[test]
fn a_pool_that_is_not_exported_holds_everything_in_it_back() {
    let cluster = cluster(
        "{}",
        &[
            block("own", "10.64.0.0/26", "node: a, state: confirmed"),
            calico("IPPool", "quiet", "{cidr: 10.64.0.0/16, disableBGPExport: true}"),
        ],
    );
    let answer = route(&cluster, "10.64.0.0/26").there();
    assert!(answer.summary.contains("goes to no peer"), "{answer}");
    answer.because(Rule::PoolNotExported, "IPPool quiet", &["disableBGPExport", "10.64.0.0/16"]);
    route(&cluster, "10.64.0.9").absent().because(Rule::PoolNotExported, "IPPool quiet", &["10.64.0.0/16"]);
}

#[test]
fn a_gateway_and_what_a_reflector_passes_on() {
    let mut cluster =
        with_ranges(&[peer("p", "{peerIP: 10.9.0.1, asNumber: 65001, reachableBy: 10.0.0.254}")]);
    let answer = route(&cluster, "10.9.0.1").there();
    assert!(answer.summary.contains("the way to a peer"), "{answer}");
    answer.because(Rule::PeerGateway, "BGPPeer p", &["10.0.0.254"]);
    cluster.apply(&node("a", "{ipv4Address: 10.0.0.1/24, routeReflectorClusterID: 1.1.1.1}", "{}"));
    route(&cluster, "203.0.113.5").absent().because(
        Rule::Reflected,
        "BGPConfiguration default",
        &["203.0.113.0/24"],
    );
}

#[test]
fn a_service_that_is_left_out_is_shown() {
    let broken = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {clusterIPs: 5}\n";
    let cluster = with_ranges(&[broken.to_owned()]);
    route(&cluster, "10.96.0.20").absent().because(Rule::Report, "Service default/web", &["clusterIPs"]);
}
