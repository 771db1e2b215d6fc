use serde_json::{Value, json};
use tailorbird::resources::{EncapMode, LogSeverity, NextHopMode, ProgramClusterRoutes, RemoteEnd, Scope};
use tailorbird::types::{Family, Seconds};

use crate::{assert_contains, calico, fault, good, object};

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
    assert_eq!(config.external_ips[0].to_string(), "5000::0/64");
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
fn zero_is_no_as_number_of_a_peer() {
    let (peer, _) = resource!(BgpPeer, calico("BGPPeer", json!({"asNumber": 0, "localASNumber": 0})));
    assert_eq!((peer.as_number, peer.local_as_number), (None, None));
}

#[test]
fn a_password_in_place_of_a_reference_is_not_told() {
    for password in [json!("hunter2"), json!({"secretKeyRef": "hunter2"}), json!(7357)] {
        for (kind, field) in [("BGPPeer", "password"), ("BGPConfiguration", "nodeMeshPassword")] {
            let said = fault(kind, json!({ field: password }));
            assert_contains(&said, field);
            assert_contains(&said, "must be a mapping");
            assert!(!said.contains("hunter2") && !said.contains("7357"), "{said}");
        }
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
    let cidr = filter.v6.export[0].cidr.as_ref().map(|cidr| cidr.cidr.to_string());
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
