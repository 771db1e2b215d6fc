use serde_json::{Value, json};
use tailorbird::resources::{Defaults, Document, TrafficPolicy, parse, parse_workload};
use tailorbird::types::Family;

use crate::{assert_contains, fault, good, object};

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
                assert_eq!(format!("{:?}", parsed.key.kind), expected);
            }
            (Ok(Document::Ignored { api_version: a, kind: k }), None) => {
                assert_eq!((&*a, &*k), (api_version, kind));
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
