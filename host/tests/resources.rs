//! Conversion of documents to objects: every field, and everything that makes an object malformed.

use serde_json::{Value, json};
use tailorbird::resources::{
    Defaults, Document, EncapMode, LogSeverity, NextHopMode, Parsed, ProgramClusterRoutes, RemoteEnd,
    Resource, Scope, TrafficPolicy, parse, parse_workload,
};
use tailorbird::types::{Family, Seconds};

fn object(document: &Value) -> Parsed {
    match parse(document, &Defaults::default()) {
        Ok(Document::Object(parsed)) => parsed,
        other => panic!("{other:?}"),
    }
}

fn calico(kind: &str, spec: Value) -> Value {
    json!({"apiVersion": "projectcalico.org/v3", "kind": kind, "metadata": {"name": "x"}, "spec": spec})
}

/// What is wrong with a spec: `field = "value": reason`.
fn fault(kind: &str, spec: Value) -> String {
    match object(&calico(kind, spec.clone())).resource {
        Err(error) => error.to_string().replacen(&format!("{kind} x: "), "", 1),
        Ok(resource) => panic!("{spec}: {resource:?}"),
    }
}

/// The `Debug` form of a good object.
fn good(kind: &str, spec: Value) -> String {
    match object(&calico(kind, spec.clone())).resource {
        Ok(resource) => format!("{resource:?}"),
        Err(error) => panic!("{spec}: {error}"),
    }
}

macro_rules! resource {
    ($variant:ident, $document:expr) => {
        match object(&$document) {
            Parsed { resource: Ok(Resource::$variant(resource)), warnings, .. } => {
                let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
                (resource, warnings)
            }
            other => panic!("{other:?}"),
        }
    };
}

fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in {text:?}");
}

#[test]
fn documents_are_told_apart() {
    let cases = [
        ("crd.projectcalico.org/v1", "BGPPeer", Some("BgpPeer")),
        ("projectcalico.org/v3", "BGPPeer", Some("BgpPeer")),
        ("projectcalico.org/v3", "Node", Some("CalicoNode")),
        ("crd.projectcalico.org/v1", "Node", Some("CalicoNode")),
        ("v1", "Node", Some("KubeNode")),
        ("v1", "Service", Some("Service")),
        ("v1", "Secret", Some("Secret")),
        ("discovery.k8s.io/v1", "EndpointSlice", Some("EndpointSlice")),
        ("discovery.k8s.io/v1beta1", "EndpointSlice", Some("EndpointSlice")),
        ("v1", "BGPPeer", None),
        ("projectcalico.org/v3", "FelixConfiguration", None),
        ("v1", "Pod", None),
    ];
    for (api_version, kind, expected) in cases {
        let document = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}});
        match (parse(&document, &Defaults::default()), expected) {
            (Ok(Document::Object(parsed)), Some(expected)) => {
                assert_eq!(format!("{:?}", parsed.key.kind), expected)
            }
            (Ok(Document::Ignored { api_version: a, kind: k }), None) => {
                assert_eq!((&*a, &*k), (api_version, kind))
            }
            (other, _) => panic!("{api_version} {kind}: {other:?}"),
        }
    }
    let namespaces = [("Service", "default"), ("Secret", "kube-system")];
    for (kind, namespace) in namespaces {
        let parsed = object(&json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}}));
        assert_eq!(parsed.key.to_string(), format!("{kind} {namespace}/x"));
        let own = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "namespace": "own"}});
        assert_eq!(object(&own).key.to_string(), format!("{kind} own/x"));
    }
    let elsewhere = Defaults::new("calico-system".parse().unwrap());
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}});
    assert_contains(&format!("{:?}", parse(&secret, &elsewhere)), "calico-system");
}

#[test]
fn documents_that_cannot_be_named_are_errors() {
    let cases = [
        (json!([]), "not an object"),
        (json!({"kind": "Node"}), "Node: apiVersion: must be set"),
        (json!({"apiVersion": "v1"}), "kind: must be set"),
        (json!({"apiVersion": "v1", "kind": "Node"}), "Node: metadata.name: must be set"),
        (json!({"apiVersion": "v1", "kind": "Node", "metadata": 3}), "Node: metadata: must be a mapping"),
        (
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": ""}}),
            "Node: metadata.name: must be set",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a/b"}}),
            "metadata.name = \"a/b\": not an",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": true}}),
            "metadata.name = \"true\": must be text",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "a b"}}),
            "metadata.namespace = \"a b\": not an",
        ),
    ];
    for (document, expected) in cases {
        assert_contains(&parse(&document, &Defaults::default()).unwrap_err().to_string(), expected);
    }
}

#[test]
fn bgp_configuration_has_defaults() {
    for spec in
        [json!(null), json!({}), json!({"asNumber": null, "logSeverityScreen": "", "communities": ""})]
    {
        let (config, warnings) = resource!(BgpConfiguration, calico("BGPConfiguration", spec));
        assert!(warnings.is_empty());
        assert!(config.mesh_enabled && config.load_balancer_aggregation && !config.bind_node_ip);
        assert_eq!(config.log_severity, LogSeverity::Info);
        assert_eq!(config.program_cluster_routes, ProgramClusterRoutes::EnabledNoEncapOnly);
        assert_eq!(
            (config.as_number, config.listen_port, config.mesh_password.is_some()),
            (None, None, false)
        );
    }
}

#[test]
fn bgp_configuration_is_read_whole() {
    let spec = json!({
        "asNumber": "65000.1", "bindMode": "NodeIP", "communities": [{"name": "c", "value": "1:2:3"}, {}],
        "ignoredInterfaces": ["eth0", "dummy*"], "ipv4NormalRoutePriority": 512, "ipv6NormalRoutePriority": "700",
        "listenPort": 178, "logSeverityScreen": "warning", "nodeMeshMaxRestartTime": "1500ms",
        "nodeMeshPassword": {"secretKeyRef": {"name": "s", "key": "k"}}, "nodeToNodeMeshEnabled": "true",
        "prefixAdvertisements": [{"cidr": "10.0.0.0/8", "communities": ["c", "100:6532"]}, {}],
        "programClusterRoutes": "EnabledIPIPOnly", "serviceClusterIPs": [{"cidr": "10.96.0.0/12"}, {}],
        "serviceExternalIPs": [{"cidr": "5000::0/64"}], "serviceLoadBalancerIPs": [{"cidr": "80.15.0.0/24"}],
        "serviceLoadBalancerAggregation": "Disabled",
    });
    let (config, warnings) = resource!(BgpConfiguration, calico("BGPConfiguration", spec));
    assert!(warnings.is_empty());
    assert_eq!(config.as_number.map(|n| n.get()), Some(65000 << 16 | 1));
    assert_eq!(config.mesh_restart_time, Some(Seconds(2)));
    assert_eq!(config.log_severity, LogSeverity::None);
    assert_eq!(config.program_cluster_routes, ProgramClusterRoutes::EnabledIpipOnly);
    assert_eq!((config.cluster_ips.len(), config.advertisements.len(), config.communities.len()), (1, 1, 1));
    assert_eq!(config.external_ips[0].as_str(), "5000::0/64");
    assert!(config.bind_node_ip && !config.load_balancer_aggregation);
    let expected = "communities: [Named(\"c\"), Value(Standard(100, 6532))]";
    assert_contains(&format!("{config:?}"), expected);

    let idle = json!({
        "nodeToNodeMeshEnabled": false, "nodeMeshMaxRestartTime": "1s", "communities": [{"name": "a", "value": "1:2"}],
        "nodeMeshPassword": {"secretKeyRef": {"name": "s", "key": "k"}},
    });
    assert_eq!(resource!(BgpConfiguration, calico("BGPConfiguration", idle)).1.len(), 3);
}

#[test]
fn bgp_configuration_is_malformed_by_any_bad_field() {
    let cases = [
        (json!("x"), "spec = \"x\": must be a mapping"),
        (json!({"asNumber": 0}), "spec.asNumber = \"0\": 0 is no AS number"),
        (json!({"asNumber": 4_294_967_296_u64}), "spec.asNumber = \"4294967296\": not an AS number"),
        (json!({"asNumber": 65000.5}), "in quotes"),
        (json!({"bindMode": "All"}), "spec.bindMode = \"All\": must be one of None, NodeIP"),
        (json!({"communities": {}}), "spec.communities: must be a list"),
        (
            json!({"communities": [{"name": "a", "value": "1"}]}),
            "spec.communities[0].value = \"1\": not a community",
        ),
        (json!({"ignoredInterfaces": ["a b"]}), "spec.ignoredInterfaces[0] = \"a b\""),
        (json!({"ipv4NormalRoutePriority": 0}), "spec.ipv4NormalRoutePriority = \"0\": not a route priority"),
        (json!({"listenPort": 65536}), "spec.listenPort = \"65536\": not a port (1 to 65535)"),
        (json!({"listenPort": [1]}), "spec.listenPort: must be text"),
        (json!({"logSeverityScreen": "Loud"}), "must be one of Trace, Debug, Info, Warning, Error, Fatal"),
        (
            json!({"nodeMeshMaxRestartTime": 10}),
            "spec.nodeMeshMaxRestartTime = \"10\": not a time with units",
        ),
        (
            json!({"nodeMeshPassword": {"secretKeyRef": {"name": "s"}}}),
            "spec.nodeMeshPassword.secretKeyRef.key: must be set",
        ),
        (
            json!({"nodeMeshPassword": {"secretKeyRef": {"key": "s"}}}),
            "spec.nodeMeshPassword.secretKeyRef.name: must be set",
        ),
        (json!({"nodeToNodeMeshEnabled": "maybe"}), "must be true or false"),
        (
            json!({"prefixAdvertisements": [{"cidr": "10.0.0.0"}]}),
            "spec.prefixAdvertisements[0].cidr = \"10.0.0.0\"",
        ),
        (
            json!({"prefixAdvertisements": [{"communities": ["70000:1"]}]}),
            "spec.prefixAdvertisements[0].communities[0] = \"70000:1\": not a community",
        ),
        (
            json!({"programClusterRoutes": "Yes"}),
            "must be one of Enabled, Disabled, EnabledIPIPOnly, EnabledNoEncapOnly",
        ),
        (json!({"serviceClusterIPs": [{}, {"cidr": "x"}]}), "spec.serviceClusterIPs[1].cidr = \"x\""),
        (json!({"serviceLoadBalancerAggregation": "On"}), "must be one of Enabled, Disabled"),
    ];
    for (spec, expected) in cases {
        assert_contains(&fault("BGPConfiguration", spec), expected);
    }
}

#[test]
fn durations_are_rounded_to_seconds() {
    let cases = [
        ("10s", 10),
        ("1m30s", 90),
        ("1.5h", 5400),
        ("500ms", 1),
        ("499ms", 0),
        ("1m0.4s", 60),
        ("2.5s", 3),
        ("0", 0),
        ("+3s", 3),
        ("1h1m1s", 3661),
        (".5s", 1),
        ("1500000us", 2),
        ("1µs", 0),
    ];
    for (text, expected) in cases {
        let (peer, _) = resource!(BgpPeer, calico("BGPPeer", json!({"keepaliveTime": text})));
        assert_eq!(peer.keepalive_time, Some(Seconds(expected)), "{text}");
    }
    for text in ["10", "s", "-5s", "1x", "1 s", "1s ", "9999999999h", "1.s.", "99999999999999999999s", "+"] {
        assert_contains(&fault("BGPPeer", json!({"maxRestartTime": text})), "spec.maxRestartTime");
    }
}

#[test]
fn bgp_peer_is_read_whole() {
    let (peer, _) = resource!(BgpPeer, calico("BGPPeer", json!(null)));
    assert_eq!((&peer.scope, &peer.remote), (&Scope::Global, &None));
    assert!(peer.use_node_ip && !peer.manual_reverse && peer.ttl_security == 0);

    let spec = json!({
        "node": "n", "peerIP": "[ac13::57]:50", "asNumber": 4_294_967_295_u64, "localASNumber": "65001",
        "numAllowedLocalASNumbers": 2, "filters": ["a", "b"], "keepOriginalNextHop": true, "nextHopMode": "Self",
        "maxRestartTime": "90s", "keepaliveTime": "30s", "password": {"secretKeyRef": {"name": "s", "key": "k"}},
        "reachableBy": "fe80::1", "reversePeering": "Manual", "sourceAddress": "None", "ttlSecurity": 255,
    });
    let (peer, _) = resource!(BgpPeer, calico("BGPPeer", spec));
    assert_eq!(peer.scope, Scope::Node("n".parse().unwrap()));
    assert_eq!(peer.remote, Some(RemoteEnd::Address("[ac13::57]:50".parse().unwrap())));
    assert_eq!(peer.as_number.map(|n| n.get()), Some(u32::MAX));
    assert_eq!((peer.num_allowed_local_as, peer.filters.len(), peer.ttl_security), (Some(2), 2, 255));
    assert_eq!((peer.keep_original_next_hop, peer.next_hop_mode), (true, Some(NextHopMode::Own)));
    assert!(peer.manual_reverse && !peer.use_node_ip && peer.reachable_by.is_some());

    let scopes = [
        (
            json!({"nodeSelector": "has(a)", "peerSelector": "all()", "asNumber": 0}),
            "Selector(\"has(a)\")",
            "Nodes(\"all()\")",
        ),
        (
            json!({"node": "", "nodeSelector": null, "localWorkloadSelector": "a", "asNumber": 1}),
            "Global",
            "Workloads",
        ),
    ];
    for (spec, scope, remote) in scopes {
        let text = good("BGPPeer", spec);
        assert_contains(&text, scope);
        assert_contains(&text, remote);
    }
}

#[test]
fn bgp_peer_is_malformed_where_the_api_refuses_it() {
    let cases = [
        (
            json!({"node": "a", "nodeSelector": "all()"}),
            "spec.node = \"a\": node and nodeSelector cannot both be set",
        ),
        (
            json!({"peerIP": "1.2.3.4", "peerSelector": "all()"}),
            "spec.peerIP = \"1.2.3.4\": peerIP and peerSelector",
        ),
        (
            json!({"peerIP": "1.2.3.4", "localWorkloadSelector": "a", "asNumber": 1}),
            "peerIP must be empty when",
        ),
        (
            json!({"peerSelector": "a", "localWorkloadSelector": "a", "asNumber": 1}),
            "peerSelector must be empty when",
        ),
        (json!({"peerSelector": "a", "asNumber": 1}), "spec.asNumber = \"1\": asNumber must be empty when"),
        (json!({"localWorkloadSelector": "a"}), "spec.asNumber: asNumber is required when"),
        (json!({"reachableBy": "1.2.3.4"}), "spec.reachableBy = \"1.2.3.4\": reachableBy must be empty when"),
        (json!({"peerIP": "1.2.3.4", "reachableBy": "x"}), "spec.reachableBy = \"x\": not an IP address"),
        (json!({"peerIP": "1.2.3.4:0"}), "spec.peerIP = \"1.2.3.4:0\": not a port"),
        (json!({"asNumber": "x"}), "spec.asNumber = \"x\": not an AS number"),
        (json!({"localASNumber": -1}), "spec.localASNumber = \"-1\": not an AS number"),
        (json!({"node": "a b"}), "spec.node = \"a b\": not an object name"),
        (json!({"filters": ["a'b"]}), "spec.filters[0] = \"a'b\": not an object name"),
        (json!({"filters": [["a"]]}), "spec.filters[0]: must be text"),
        (json!({"nextHopMode": "self"}), "must be one of Auto, Self, Keep"),
        (json!({"reversePeering": "x"}), "must be one of Auto, Manual"),
        (json!({"sourceAddress": "x"}), "must be one of UseNodeIP, None"),
        (json!({"ttlSecurity": 256}), "must be a whole number from 0 to 255"),
        (json!({"numAllowedLocalASNumbers": -1}), "must be a whole number from 0"),
        (json!({"keepOriginalNextHop": 1}), "must be true or false"),
    ];
    for (spec, expected) in cases {
        assert_contains(&fault("BGPPeer", spec), expected);
    }
}

#[test]
fn bgp_filter_is_read_whole() {
    let spec = json!({
        "importV4": [{
            "action": "Accept", "cidr": "10.0.0.0/8", "matchOperator": "In", "prefixLength": {"min": 16},
            "source": "RemotePeers", "interface": "eth*", "communities": {"values": ["65000:1"]},
            "asPathPrefix": [65000, "1.2"], "priority": 100, "peerType": "eBGP",
            "operations": [
                {"addCommunity": {"value": "1:2:3"}}, {"prependASPath": {"prefix": [1, 2]}}, {"setPriority": {"value": 5}},
            ],
        }],
        "exportV6": [{"action": "Reject", "cidr": "5000::0/64", "matchOperator": "NotEqual", "operations": []}],
    });
    let (filter, _) = resource!(BgpFilter, calico("BGPFilter", spec.clone()));
    let rule = format!("{:?}", filter.rules(Family::V4).import[0]);
    for part in [
        "length: Some((Some(16), None))",
        "Some(RemotePeers)",
        "Some(External)",
        "Standard(65000, 1)",
        "AddCommunity(Large(1, 2, 3))",
        "PrependAsPath([AsNumber(1), AsNumber(2)])",
        "SetPriority(Priority(5))",
        "[AsNumber(65000), AsNumber(65538)]",
    ] {
        assert_contains(&rule, part);
    }
    let cidr = filter.v6.export[0].cidr.as_ref().map(|cidr| cidr.cidr.as_str().to_owned());
    assert_eq!(cidr.as_deref(), Some("5000::0/64"));
    let json = serde_json::from_str::<Value>(&filter.json).unwrap();
    assert_eq!(json, calico("BGPFilter", spec));
    let head = r#"{"kind":"BGPFilter","apiVersion":"projectcalico.org/v3","metadata":{"name":"x"},"spec":{"#;
    assert!(filter.json.starts_with(head));
    assert!(resource!(BgpFilter, calico("BGPFilter", json!(null))).0.json.ends_with("\"spec\":{}}"));
}

#[test]
fn bgp_filter_is_malformed_where_the_api_refuses_it() {
    let cases = [
        (json!({}), "spec.importV4[0].action: must be set to Accept or Reject"),
        (json!({"action": "Drop"}), "spec.importV4[0].action = \"Drop\": must be one of Accept, Reject"),
        (json!({"action": "Accept", "cidr": "10.0.0.0/8"}), "cidr and matchOperator must both be set"),
        (json!({"action": "Accept", "matchOperator": "In"}), "cidr and matchOperator must both be set"),
        (
            json!({"action": "Accept", "prefixLength": {"min": 1}}),
            "cidr is required when prefixLength is set",
        ),
        (
            json!({"action": "Accept", "cidr": "::/0", "matchOperator": "In"}),
            "spec.importV4[0].cidr = \"::/0\": must be an IPv4 prefix here",
        ),
        (
            json!({"action": "Accept", "cidr": "x", "matchOperator": "In"}),
            "spec.importV4[0].cidr = \"x\": not a prefix",
        ),
        (
            json!({"action": "Accept", "cidr": "1.0.0.0/8", "matchOperator": "Is"}),
            "must be one of Equal, NotEqual, In, NotIn",
        ),
        (
            json!({"action": "Accept", "cidr": "1.0.0.0/8", "matchOperator": "In", "prefixLength": {"max": 33}}),
            "spec.importV4[0].prefixLength.max = \"33\": must be a whole number from 0 to 32",
        ),
        (
            json!({"action": "Accept", "cidr": "1.0.0.0/8", "matchOperator": "In", "prefixLength": {"max": 7}}),
            "spec.importV4[0].prefixLength: the shortest length, 8, is above the longest, 7",
        ),
        (json!({"action": "Accept", "source": "Me"}), "must be one of RemotePeers"),
        (json!({"action": "Accept", "peerType": "ebgp"}), "must be one of eBGP, iBGP"),
        (json!({"action": "Accept", "interface": "sixteen-letters-"}), "at most 15"),
        (json!({"action": "Accept", "interface": "a\"b"}), "not an interface name"),
        (
            json!({"action": "Accept", "communities": {}}),
            "spec.importV4[0].communities.values: must have exactly one",
        ),
        (json!({"action": "Accept", "communities": {"values": ["1:2", "3:4"]}}), "must have exactly one"),
        (
            json!({"action": "Accept", "communities": {"values": ["1:70000"]}}),
            "communities.values[0] = \"1:70000\"",
        ),
        (json!({"action": "Accept", "asPathPrefix": [0]}), "spec.importV4[0].asPathPrefix[0] = \"0\""),
        (json!({"action": "Accept", "priority": 2_147_483_647}), "not a route priority"),
        (
            json!({"action": "Reject", "operations": [{"setPriority": {"value": 5}}]}),
            "operations may only be used with action Accept",
        ),
        (
            json!({"action": "Accept", "operations": [{}]}),
            "spec.importV4[0].operations[0]: must be exactly one of",
        ),
        (
            json!({"action": "Accept", "operations": [{"setPriority": {"value": 1}, "addCommunity": {"value": "1:2"}}]}),
            "must be exactly one of",
        ),
        (
            json!({"action": "Accept", "operations": [{"setPriority": {}}]}),
            "operations[0].setPriority.value: must be set",
        ),
        (
            json!({"action": "Accept", "operations": [{"prependASPath": {"prefix": []}}]}),
            "1 to 10 AS numbers",
        ),
        (
            json!({"action": "Accept", "operations": vec![json!({"setPriority": {"value": 1}}); 11]}),
            "at most 10",
        ),
    ];
    for (rule, expected) in cases {
        assert_contains(&fault("BGPFilter", json!({"importV4": [rule]})), expected);
    }
    let long = json!({"exportV6": [{"action": "x".repeat(200)}]});
    let error = object(&calico("BGPFilter", long)).resource.unwrap_err();
    assert_eq!(error.value.chars().count(), 81);
}

#[test]
fn ip_pools_are_read() {
    let (pool, _) = resource!(IpPool, calico("IPPool", json!({"cidr": "10.0.0.0/8"})));
    assert!(!pool.nat_outgoing && !pool.disabled && !pool.disable_bgp_export && !pool.manual_assignment);
    let spec = json!({
        "cidr": "10.0.0.0/8", "ipipMode": "CrossSubnet", "vxlanMode": "Never", "natOutgoing": true, "disabled": true,
        "disableBGPExport": true, "assignmentMode": "Manual", "allowedUses": ["Workload", "Tunnel"], "blockSize": 26,
    });
    let (pool, _) = resource!(IpPool, calico("IPPool", spec));
    assert_eq!((pool.ipip, pool.vxlan), (EncapMode::CrossSubnet, EncapMode::Never));
    assert_eq!(pool.allowed_uses, ["Workload", "Tunnel"]);
    assert!(pool.nat_outgoing && pool.disabled && pool.disable_bgp_export && pool.manual_assignment);
    let cases = [
        (json!({}), "spec.cidr: must be set"),
        (
            json!({"cidr": "10.0.0.1/8"}),
            "spec.cidr = \"10.0.0.1/8\": the CIDR must be strictly masked: 10.0.0.0/8",
        ),
        (
            json!({"cidr": "10.0.0.0/8", "ipipMode": "Always", "vxlanMode": "CrossSubnet"}),
            "cannot both be enabled",
        ),
        (json!({"cidr": "fd00::/8", "ipipMode": "Always"}), "IPIP is not supported on IPv6 pools"),
        (json!({"cidr": "10.0.0.0/8", "ipipMode": "On"}), "must be one of Never, Always, CrossSubnet"),
        (
            json!({"cidr": "10.0.0.0/8", "allowedUses": ["All"]}),
            "must be one of Workload, Tunnel, LoadBalancer",
        ),
        (json!({"cidr": "10.0.0.0/8", "assignmentMode": "x"}), "must be one of Automatic, Manual"),
        (json!({"cidr": "10.0.0.0/8", "blockSize": 129}), "from 0 to 128"),
    ];
    for (spec, expected) in cases {
        assert_contains(&fault("IPPool", spec), expected);
    }
}

#[test]
fn block_affinities_are_read() {
    let with = |state: Value, deleted: Value| json!({"cidr": "10.0.0.0/26", "node": "n", "state": state, "deleted": deleted, "type": "virtual"});
    let cases = [
        (with(json!(""), json!("false")), "state: Unset, deleted: false"),
        (with(json!("pending"), json!(true)), "state: Pending, deleted: true"),
        (with(json!("pendingDeletion"), json!("true")), "state: PendingDeletion, deleted: true"),
        (with(json!("confirmed"), json!(null)), "state: Confirmed, deleted: false, is_virtual: true"),
    ];
    for (spec, expected) in cases {
        assert_contains(&good("BlockAffinity", spec), expected);
    }
    assert_contains(
        &fault("BlockAffinity", with(json!("x"), json!(false))),
        "one of confirmed, pending, pendingDeletion",
    );
    assert_contains(&fault("BlockAffinity", json!({"cidr": "10.0.0.0/26"})), "spec.node: must be set");
    assert_contains(&fault("BlockAffinity", json!({"node": "n"})), "spec.cidr: must be set");
}

#[test]
fn calico_nodes_are_read() {
    let document = json!({
        "apiVersion": "projectcalico.org/v3", "kind": "Node",
        "metadata": {"name": "n", "labels": {"a": true, "b": 1, "c": "x", "d": null}},
        "spec": {
            "bgp": {
                "ipv4Address": "10.0.0.1/24", "ipv6Address": "fd00::1", "asNumber": 65001,
                "routeReflectorClusterID": "10.0.0.9",
            },
            "wireguard": {"interfaceIPv4Address": "10.1.0.1", "interfaceIPv6Address": "fd01::1"},
        },
        "status": {"wireguardPublicKey": "k=", "podCIDRs": ["10.244.0.0/24", "x"]},
    });
    let (node, warnings) = resource!(CalicoNode, document);
    let labels: Vec<String> = node.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(labels, ["a=true", "b=1", "c=x", "d="]);
    assert!(node.bgp.ipv4.is_some() && node.bgp.ipv6.is_some() && node.bgp.has_wireguard_key);
    assert!(
        node.bgp.wireguard_ipv4.is_some()
            && node.bgp.wireguard_ipv6.is_some()
            && node.bgp.cluster_id.is_some()
    );
    assert_eq!(node.pod_cidrs.len(), 1);
    assert_eq!(
        warnings,
        ["Node n: status.podCIDRs[1] = \"x\": not a prefix (an address, a slash and a length)"]
    );
    let cases = [
        (
            json!({"bgp": {"ipv4Address": "fd00::1/64"}}),
            "spec.bgp.ipv4Address = \"fd00::1/64\": must be an IPv4 address",
        ),
        (json!({"bgp": {"ipv6Address": "10.0.0.1"}}), "must be an IPv6 address"),
        (json!({"bgp": {"ipv4Address": "10.0.0.1/33"}}), "prefix length"),
        (json!({"bgp": {"asNumber": "x"}}), "spec.bgp.asNumber"),
        (json!({"bgp": {"routeReflectorClusterID": "1"}}), "spec.bgp.routeReflectorClusterID"),
        (json!({"wireguard": {"interfaceIPv4Address": "fd00::1"}}), "not an IPv4 address"),
        (json!({"bgp": []}), "spec.bgp: must be a mapping"),
    ];
    for (spec, expected) in cases {
        assert_contains(&fault("Node", spec), expected);
    }
    assert_contains(&good("Node", json!(null)), "ipv4: None");
}

#[test]
fn kubernetes_nodes_keep_what_is_good() {
    let document = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": "n", "labels": {"a": "kube"},
            "annotations": {
                "projectcalico.org/IPv4Address": "10.0.0.1/24", "projectcalico.org/IPv6Address": "fd00::1/64",
                "projectcalico.org/ASNumber": "64513", "projectcalico.org/RouteReflectorClusterID": "1.1.1.1",
                "projectcalico.org/IPv4WireguardInterfaceAddr": "10.1.0.1",
                "projectcalico.org/IPv6WireguardInterfaceAddr": "fd01::1",
                "projectcalico.org/WireguardPublicKey": "k=", "projectcalico.org/labels": "{\"a\":\"calico\",\"b\":\"c\"}",
            },
        },
        "spec": {"podCIDR": "10.244.0.0/24", "unschedulable": true},
    });
    let (node, warnings) = resource!(KubeNode, document);
    assert!(warnings.is_empty());
    let labels: Vec<String> = node.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(labels, ["a=kube", "b=c"]);
    assert!(node.unschedulable && node.bgp.has_wireguard_key && node.bgp.cluster_id.is_some());
    assert_eq!((node.pod_cidrs.len(), node.bgp.as_number.map(|n| n.get())), (1, Some(64513)));

    let document = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": "n",
            "annotations": {
                "projectcalico.org/IPv4Address": "fd00::1", "projectcalico.org/IPv6Address": "x",
                "projectcalico.org/ASNumber": "0", "projectcalico.org/RouteReflectorClusterID": "x",
                "projectcalico.org/IPv4WireguardInterfaceAddr": "x", "projectcalico.org/IPv6WireguardInterfaceAddr": "x",
                "projectcalico.org/labels": "[1]",
            },
        },
        "spec": {"podCIDRs": ["x"]},
    });
    let (node, warnings) = resource!(KubeNode, document);
    assert_eq!(node.bgp, Default::default());
    assert_eq!(warnings.len(), 8);
    let expected =
        "Node n: metadata.annotations[projectcalico.org/IPv4Address] = \"fd00::1\": must be an IPv4 address";
    assert!(warnings.contains(&expected.to_owned()), "{warnings:?}");
}

#[test]
fn services_are_read() {
    let service = |spec: Value, status: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec, "status": status});
    let (plain, _) = resource!(Service, service(json!({"clusterIP": "10.96.0.1"}), json!(null)));
    assert!(plain.routable && !plain.is_load_balancer && plain.ipv4 && !plain.ipv6);
    assert_eq!((plain.cluster_ips.len(), plain.traffic_policy), (1, TrafficPolicy::Other));

    let spec = json!({
        "type": "LoadBalancer", "clusterIPs": ["10.96.0.1", "fd00::1"], "clusterIP": "10.96.0.1", "ipFamilies": ["IPv6"],
        "externalIPs": ["1.2.3.4", "x"], "externalTrafficPolicy": "Local", "loadBalancerIP": "9.9.9.9",
    });
    let status = json!({"loadBalancer": {"ingress": [{"ip": "80.15.0.1/32"}, {"hostname": "h"}, {"ip": "80.15.0.2"}]}});
    let (full, warnings) = resource!(Service, service(spec, status));
    assert!(full.is_load_balancer && !full.ipv4 && full.ipv6 && full.load_balancer_ip.is_some());
    assert_eq!((full.cluster_ips.len(), full.external_ips.len(), full.ingress_ips.len()), (2, 1, 1));
    assert_eq!(full.traffic_policy, TrafficPolicy::Local);
    assert_eq!(
        warnings,
        [
            "Service default/s: spec.externalIPs[1] = \"x\": not an IP address; it is left out",
            "Service default/s: status.loadBalancer.ingress[0].ip = \"80.15.0.1/32\": not an IP address; it is left out",
        ]
    );
    let policies = [
        (json!({"type": "NodePort"}), TrafficPolicy::Cluster),
        (json!({"type": "LoadBalancer"}), TrafficPolicy::Cluster),
        (json!({"externalIPs": ["1.2.3.4"]}), TrafficPolicy::Cluster),
        (json!({"type": "ClusterIP"}), TrafficPolicy::Other),
        (json!({"type": "NodePort", "externalTrafficPolicy": "Odd"}), TrafficPolicy::Other),
    ];
    for (spec, policy) in policies {
        assert_eq!(resource!(Service, service(spec, json!(null))).0.traffic_policy, policy);
    }
    let (none, warnings) =
        resource!(Service, service(json!({"clusterIP": "None", "clusterIPs": ["None"]}), json!(null)));
    assert!(none.cluster_ips.is_empty() && warnings.is_empty());
    let (external, warnings) = resource!(Service, service(json!({"type": "ExternalName"}), json!(null)));
    assert!(!external.routable && warnings.is_empty());
    let (odd, warnings) =
        resource!(Service, service(json!({"type": "Odd", "ipFamilies": ["IPv5"]}), json!(null)));
    assert!(!odd.routable && warnings.len() == 2);
    assert!(object(&service(json!({"externalIPs": "1.2.3.4"}), json!(null))).resource.is_err());
}

#[test]
fn endpoint_slices_are_read() {
    let slice = |address_type: Value| {
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "s", "labels": {"kubernetes.io/service-name": "svc"}},
            "addressType": address_type,
            "endpoints": [
                {"nodeName": "a"}, {"nodeName": "b", "conditions": {"ready": null}}, {"conditions": {"ready": false}},
                {"topology": {"kubernetes.io/hostname": "c"}},
            ],
        })
    };
    let (v4, warnings) = resource!(EndpointSlice, slice(json!("IPv4")));
    assert!(warnings.is_empty());
    assert_eq!(
        (v4.family, v4.service.map(|name| name.to_string())),
        (Some(Family::V4), Some("svc".to_owned()))
    );
    let endpoints: Vec<_> = v4.endpoints.iter().map(|e| (e.node.as_deref(), e.ready)).collect();
    assert_eq!(endpoints, [(Some("a"), true), (Some("b"), true), (None, false), (Some("c"), true)]);
    for (address_type, family, count) in [
        (json!("IPv6"), Some(Family::V6), 0),
        (json!("FQDN"), None, 0),
        (json!("IPv5"), None, 1),
        (json!(null), None, 1),
    ] {
        let (read, warnings) = resource!(EndpointSlice, slice(address_type));
        assert_eq!((read.family, warnings.len()), (family, count));
    }
    let bare = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "s"}, "addressType": "IPv4"});
    let (bare, _) = resource!(EndpointSlice, bare);
    assert!(bare.service.is_none() && bare.endpoints.is_empty());
}

#[test]
fn secrets_never_show_their_values() {
    let document = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "data": {
            "good": "aHVudGVyMg==", "newline": "aHVudGVyMgo=", "binary": "/w==", "bad": "hunter2!", "over": "aHVudGVyMg==",
            "number": 12345,
        },
        "stringData": {"over": "hunter3", "quote": "hunter\"", "number2": 12345, "empty": ""},
    });
    let (secret, _) = resource!(Secret, document);
    let value = |key: &str| match &secret.values[key] {
        Ok(password) => password.reveal().to_owned(),
        Err(error) => format!("! {error}"),
    };
    assert_eq!((value("good").as_str(), value("over").as_str()), ("hunter2", "hunter3"));
    for (key, reason) in [
        ("newline", "control character"),
        ("binary", "not UTF-8"),
        ("bad", "not base64"),
        ("number", "not base64"),
        ("quote", "double quote"),
        ("number2", "in quotes"),
        ("empty", "empty"),
    ] {
        assert_contains(&value(key), reason);
        assert!(!value(key).contains("hunter") && !value(key).contains("12345"));
    }
    assert!(!format!("{secret:?}").contains("hunter"));
    for bad in [json!({"data": "hunter2"}), json!({"stringData": ["hunter2"]})] {
        let mut document = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
        document.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
        let error = object(&document).resource.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter"));
        assert_contains(&error.to_string(), "must be a mapping");
    }
}

#[test]
fn workload_status_files_are_read() {
    let text = br#"{"ifaceName":"c","ipv4Nets":["10.0.0.1/32","10.0.0.2/32"],"ipv6Nets":["fd00::1/128"],"bgpPeerName":"p"}"#;
    let parsed = parse_workload("pod1", text);
    assert_eq!(parsed.key.to_string(), "endpoint status pod1");
    assert_contains(
        &format!("{:?}", parsed.resource),
        "peer: Some(\"p\"), ipv4: Some(10.0.0.1), ipv6: Some(fd00::1)",
    );
    assert_contains(
        &format!("{:?}", parse_workload("p", b"{}").resource),
        "peer: None, ipv4: None, ipv6: None",
    );
    for (bytes, expected) in [
        (&b"{\"ipv4Nets\""[..], "not a status file"),
        (b"\xff", "not a status file"),
        (br#"{"ipv4Nets":["fd00::1/128"]}"#, "ipv4Nets[0] = \"fd00::1/128\": must be an IPv4 address"),
        (br#"{"ipv6Nets":["x"]}"#, "ipv6Nets[0] = \"x\""),
        (br#"{"bgpPeerName":"a b"}"#, "bgpPeerName = \"a b\": not an object name"),
    ] {
        assert_contains(&parse_workload("p", bytes).resource.unwrap_err().to_string(), expected);
    }
    let derived = parse_workload("k8s default/pod%1", b"{}").key.name;
    assert!(derived.as_str().starts_with("k8s_default_pod_1."), "{derived}");
    assert_ne!(derived, parse_workload("k8s_default/pod%1", b"{}").key.name);
    assert_ne!(derived, parse_workload(derived.as_str(), b"{}").key.name);
    assert_eq!(derived, parse_workload("k8s default/pod%1", b"{}").key.name);
    assert!(parse_workload(&"é".repeat(300), b"{}").key.name.as_str().len() <= 253);
}
