//! Random objects of every kind, over so few names, addresses and labels that they collide all the time.
//!
//! Everything shrinks towards less: fewer events, fewer fields, the first of each list of values.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tailorbird::engine::{Event, RouterId, Settings};
use tailorbird::resources::{Defaults, Document, Kind, ObjectKey, Parsed, parse, parse_workload};

use crate::cluster::key;

const NODES: [&str; 3] = ["a", "b", "c"];
const V4: [&str; 4] = ["10.0.0.1", "10.0.0.2", "10.0.0.10", "192.0.2.1"];
const V6: [&str; 4] = ["fd00::1", "fd00::2", "fd00::10", "2001:db8::1"];
const SELECTORS: [&str; 9] = [
    "all()",
    "rack == 'r1'",
    "rack == 'r2'",
    "rack != 'r1'",
    "has(rr)",
    "!has(rr)",
    "rack in {'r1', 'r2'} && !has(rr)",
    "rr == 'x' || rack == 'r2'",
    "rack ==",
];
const CIDRS: [&str; 9] = [
    "10.96.0.0/12",
    "192.0.2.0/24",
    "192.0.2.1/32",
    "192.0.2.2/32",
    "fd96::/112",
    "2001:db8::/64",
    "2001:db8::1/128",
    "2001:db8::0/64",
    "10.0.0.0/24",
];

type Json = BoxedStrategy<Value>;

/// Something that happens, in a form that prints itself when a property fails.
#[derive(Clone, PartialEq)]
pub(crate) enum Happening {
    Object(Value),
    Status(&'static str, Value),
    Gone(ObjectKey),
}

impl std::fmt::Debug for Happening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Happening::Object(value) => write!(f, "{value}"),
            Happening::Status(file, value) => write!(f, "status {file}: {value}"),
            Happening::Gone(key) => write!(f, "gone: {:?} {key}", key.kind),
        }
    }
}

impl Happening {
    fn parsed(&self) -> Option<Parsed> {
        match self {
            Happening::Object(value) => match parse(value, &Defaults::default()).unwrap() {
                Document::Object(parsed) => Some(parsed),
                ignored => panic!("{ignored:?}"),
            },
            Happening::Status(file, value) => Some(parse_workload(file, value.to_string().as_bytes())),
            Happening::Gone(_) => None,
        }
    }

    /// The event.
    pub(crate) fn event(&self) -> Event {
        match (self.parsed(), self) {
            (Some(parsed), _) => Event::Upsert(parsed),
            (None, Happening::Gone(key)) => Event::Delete(key.clone()),
            (None, _) => unreachable!(),
        }
    }

    /// The object that it happens to.
    pub(crate) fn key(&self) -> ObjectKey {
        match (self.parsed(), self) {
            (Some(parsed), _) => parsed.key,
            (None, Happening::Gone(key)) => key.clone(),
            (None, _) => unreachable!(),
        }
    }
}

/// A settings of some node.
pub(crate) fn settings() -> impl Strategy<Value = Settings> {
    let router = prop::sample::select(vec![
        RouterId::NodeAddress,
        RouterId::Hash,
        RouterId::Literal([192, 0, 2, 99].into()),
    ]);
    let cidr = prop::option::weighted(0.2, prop::sample::select(vec!["10.96.0.0/12", "fd96::/112"]));
    (prop::sample::select(NODES.to_vec()), router, prop::bool::weighted(0.25), cidr).prop_map(
        |(node, router_id, use_pod_cidr, cidr)| {
            let mut settings = Settings::new(node.parse().unwrap());
            settings.router_id = router_id;
            settings.use_pod_cidr = use_pod_cidr;
            settings.advertise_cluster_ips = cidr.map(|text| text.parse().unwrap());
            settings
        },
    )
}

/// Something that happens to an object of any kind.
pub(crate) fn happening() -> impl Strategy<Value = Happening> {
    let object = |json: Json| json.prop_map(Happening::Object);
    prop_oneof![
        6 => object(calico_node()),
        3 => object(core_node()),
        4 => object(configuration()),
        8 => object(peer()),
        3 => object(filter()),
        2 => object(pool()),
        2 => object(block()),
        4 => object(service()),
        4 => object(slice()),
        2 => object(secret()),
        2 => status(),
        8 => gone(),
    ]
}

fn pick(values: &[&'static str]) -> Json {
    prop::sample::select(values.to_vec()).prop_map(Value::from).boxed()
}

fn number(values: &[u64]) -> Json {
    prop::sample::select(values.to_vec()).prop_map(Value::from).boxed()
}

fn flag() -> Json {
    any::<bool>().prop_map(Value::from).boxed()
}

fn list(of: impl Strategy<Value = Value> + 'static) -> Json {
    prop::collection::vec(of, 0..4).prop_map(Value::from).boxed()
}

/// A mapping in which each field is there with the probability beside it.
fn fields(fields: Vec<(&'static str, f64, Json)>) -> Json {
    let (names, strategies): (Vec<_>, Vec<_>) = fields
        .into_iter()
        .map(|(name, probability, json)| (name, prop::option::weighted(probability, json)))
        .unzip();
    strategies
        .prop_map(move |values| {
            let set = names.iter().zip(values).filter_map(|(name, value)| Some(((*name).to_owned(), value?)));
            Value::Object(set.collect::<Map<_, _>>())
        })
        .boxed()
}

fn object(kind: &'static str, names: &[&'static str], spec: Json) -> Json {
    (prop::sample::select(names.to_vec()), spec)
        .prop_map(move |(name, spec)| {
            json!({"apiVersion": "projectcalico.org/v3", "kind": kind, "metadata": {"name": name}, "spec": spec})
        })
        .boxed()
}

/// Sometimes what stands here cannot be used.
fn or_malformed(good: Json, bad: Value) -> Json {
    prop_oneof![12 => good, 1 => Just(bad)].boxed()
}

fn v4_address() -> Json {
    let with_mask: Vec<&str> = vec!["10.0.0.1/24", "10.0.0.2/24", "10.0.0.10/25", "10.0.0.2"];
    or_malformed(pick(&with_mask), json!("10.0.0"))
}

fn v6_address() -> Json {
    or_malformed(pick(&["fd00::1/64", "fd00::2/64", "fd00::10", "fd00::1"]), json!("10.0.0.1"))
}

fn labels() -> Json {
    fields(vec![
        ("rack", 0.6, pick(&["r1", "r2"])),
        ("rr", 0.3, pick(&["x", ""])),
        ("node.kubernetes.io/exclude-from-external-load-balancers", 0.15, pick(&["true", "false"])),
        ("unrelated", 0.2, pick(&["1", "2"])),
    ])
}

fn as_number() -> Json {
    prop_oneof![number(&[64512, 64513, 4_200_000_000]), pick(&["64000.7"])].boxed()
}

fn pod_cidrs() -> Json {
    list(pick(&["10.244.0.0/24", "10.244.1.0/24", "fd44::/64", "10.244.9.9/32"]))
}

fn calico_node() -> Json {
    let bgp = fields(vec![
        ("ipv4Address", 0.8, v4_address()),
        ("ipv6Address", 0.6, v6_address()),
        ("asNumber", 0.3, as_number()),
        ("routeReflectorClusterID", 0.25, pick(&["10.9.9.9", "10.9.9.8"])),
    ]);
    let wireguard = fields(vec![
        ("interfaceIPv4Address", 0.7, pick(&["10.50.0.1", "10.50.0.2"])),
        ("interfaceIPv6Address", 0.7, pick(&["fd50::1", "fd50::2"])),
    ]);
    let spec = fields(vec![("bgp", 0.9, bgp), ("wireguard", 0.3, wireguard)]);
    let status = fields(vec![("podCIDRs", 0.5, pod_cidrs()), ("wireguardPublicKey", 0.3, pick(&["jHQ="]))]);
    (prop::sample::select(NODES.to_vec()), labels(), spec, status)
        .prop_map(|(name, labels, spec, status)| {
            json!({"apiVersion": "projectcalico.org/v3", "kind": "Node",
                "metadata": {"name": name, "labels": labels}, "spec": spec, "status": status})
        })
        .boxed()
}

fn core_node() -> Json {
    let annotations = fields(vec![
        ("projectcalico.org/IPv4Address", 0.7, v4_address()),
        ("projectcalico.org/IPv6Address", 0.5, v6_address()),
        ("projectcalico.org/ASNumber", 0.3, or_malformed(pick(&["64513", "4200000000"]), json!("x"))),
        ("projectcalico.org/RouteReflectorClusterID", 0.2, pick(&["10.9.9.9", "no id"])),
        ("projectcalico.org/IPv4WireguardInterfaceAddr", 0.2, pick(&["10.50.0.2"])),
        ("projectcalico.org/IPv6WireguardInterfaceAddr", 0.2, pick(&["fd50::2"])),
        ("projectcalico.org/labels", 0.3, pick(&[r#"{"rack":"r2"}"#, r#"{"rr":"x"}"#, "{"])),
    ]);
    let spec = fields(vec![("podCIDRs", 0.5, pod_cidrs())]);
    (prop::sample::select(NODES.to_vec()), labels(), annotations, spec)
        .prop_map(|(name, labels, annotations, spec)| {
            json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": labels, "annotations": annotations}, "spec": spec})
        })
        .boxed()
}

fn secret_ref() -> Json {
    (pick(&["s", "t"]), pick(&["k", "l"]))
        .prop_map(|(name, key)| json!({"secretKeyRef": {"name": name, "key": key}}))
        .boxed()
}

fn cidrs() -> Json {
    list(pick(&CIDRS).prop_map(|cidr| json!({ "cidr": cidr })))
}

fn configuration() -> Json {
    let communities = list(
        (pick(&["one", "two"]), pick(&["65000:1", "65000:2", "1:2:3"]))
            .prop_map(|(name, value)| json!({"name": name, "value": value})),
    );
    let advertisements = list(
        (pick(&["10.244.0.0/16", "fd44::/64"]), list(pick(&["one", "two", "gone", "65000:9", "9:8:7"])))
            .prop_map(|(cidr, communities)| json!({"cidr": cidr, "communities": communities})),
    );
    let spec = fields(vec![
        ("asNumber", 0.3, or_malformed(as_number(), json!(0))),
        ("listenPort", 0.3, number(&[179, 1790])),
        ("logSeverityScreen", 0.3, pick(&["Info", "Debug", "Warning"])),
        ("nodeToNodeMeshEnabled", 0.3, flag()),
        ("nodeMeshPassword", 0.25, secret_ref()),
        ("nodeMeshMaxRestartTime", 0.2, pick(&["90s", "1m30.6s"])),
        ("bindMode", 0.2, pick(&["None", "NodeIP"])),
        ("communities", 0.4, communities),
        ("prefixAdvertisements", 0.4, advertisements),
        ("ignoredInterfaces", 0.2, list(pick(&["eth1", "dummy*"]))),
        ("ipv4NormalRoutePriority", 0.2, number(&[512, 2000])),
        ("ipv6NormalRoutePriority", 0.2, number(&[600])),
        (
            "programClusterRoutes",
            0.3,
            pick(&["Disabled", "Enabled", "EnabledIPIPOnly", "EnabledNoEncapOnly"]),
        ),
        ("serviceClusterIPs", 0.4, cidrs()),
        ("serviceExternalIPs", 0.4, cidrs()),
        ("serviceLoadBalancerIPs", 0.4, cidrs()),
        ("serviceLoadBalancerAggregation", 0.3, pick(&["Enabled", "Disabled"])),
    ]);
    object("BGPConfiguration", &["default", "default", "node.a", "node.b", "other"], spec)
}

fn peer() -> Json {
    let scope = prop_oneof![
        2 => Just(json!({})),
        2 => pick(&NODES).prop_map(|node| json!({ "node": node })),
        4 => pick(&SELECTORS).prop_map(|text| json!({ "nodeSelector": text })),
    ];
    let own_ports = ["10.0.0.2:179", "10.0.0.2:1790", "[fd00::2]:179", "10.0.0.1:179"];
    let addresses: Vec<&'static str> = V4.iter().chain(&V6).chain(&own_ports).copied().collect();
    let by_address = (
        pick(&addresses),
        fields(vec![
            ("asNumber", 0.9, as_number()),
            ("reachableBy", 0.3, pick(&["10.0.0.254", "fd00::fe"])),
            ("localASNumber", 0.2, as_number()),
        ]),
    );
    let remote = prop_oneof![
        5 => by_address.prop_map(|(ip, mut rest)| { rest["peerIP"] = ip; rest }),
        5 => pick(&SELECTORS).prop_map(|text| json!({ "peerSelector": text })),
        2 => Just(json!({"localWorkloadSelector": "all()", "asNumber": 64514})),
        1 => Just(json!({})),
        1 => Just(json!({"peerIP": "10.0.0.300", "asNumber": 1})),
    ];
    let rest = fields(vec![
        ("filters", 0.3, list(pick(&["f", "g", "missing"]))),
        ("keepOriginalNextHop", 0.2, flag()),
        ("nextHopMode", 0.2, pick(&["Auto", "Self", "Keep"])),
        ("maxRestartTime", 0.2, pick(&["10s", "0s"])),
        ("keepaliveTime", 0.2, pick(&["2m"])),
        ("password", 0.3, secret_ref()),
        ("reversePeering", 0.2, pick(&["Auto", "Manual"])),
        ("sourceAddress", 0.2, pick(&["UseNodeIP", "None"])),
        ("ttlSecurity", 0.2, number(&[0, 1, 255])),
        ("numAllowedLocalASNumbers", 0.2, number(&[0, 2])),
    ]);
    let spec = (scope, remote, rest).prop_map(|(mut scope, remote, rest)| {
        let spec = scope.as_object_mut().unwrap();
        for part in [remote, rest] {
            let Value::Object(part) = part else { unreachable!() };
            spec.extend(part);
        }
        scope
    });
    object("BGPPeer", &["p", "q", "r", "s"], spec.boxed())
}

fn rule(v4: bool) -> Json {
    let cidr = if v4 { pick(&["10.0.0.0/8", "0.0.0.0/0"]) } else { pick(&["fd00::/8", "::/0"]) };
    let net = (cidr, pick(&["Equal", "NotEqual", "In", "NotIn"]));
    let net = prop::option::weighted(0.6, net);
    let rest = fields(vec![
        ("source", 0.2, pick(&["RemotePeers"])),
        ("interface", 0.2, pick(&["eth*"])),
        ("peerType", 0.3, pick(&["eBGP", "iBGP"])),
        ("priority", 0.2, number(&[100])),
    ]);
    (pick(&["Accept", "Reject"]), net, rest)
        .prop_map(|(action, net, mut rule)| {
            rule["action"] = action;
            if let Some((cidr, operator)) = net {
                rule["cidr"] = cidr;
                rule["matchOperator"] = operator;
            }
            rule
        })
        .boxed()
}

fn filter() -> Json {
    let spec = fields(vec![
        ("importV4", 0.5, or_malformed(list(rule(true)), json!([{"action": "Perhaps"}]))),
        ("exportV4", 0.5, list(rule(true))),
        ("importV6", 0.4, list(rule(false))),
        ("exportV6", 0.4, or_malformed(list(rule(false)), json!("no list"))),
    ]);
    object("BGPFilter", &["f", "g", "unused"], spec)
}

fn pool() -> Json {
    let spec = fields(vec![
        ("cidr", 0.97, pick(&["10.244.0.0/16", "10.245.0.0/16", "fd44::/64", "fd45::/64"])),
        ("ipipMode", 0.3, pick(&["Never", "Always", "CrossSubnet"])),
        ("vxlanMode", 0.3, pick(&["Never", "Always", "CrossSubnet"])),
        ("disableBGPExport", 0.3, flag()),
        ("disabled", 0.2, flag()),
    ]);
    object("IPPool", &["pool-1", "pool-2", "pool-3"], spec)
}

fn block() -> Json {
    let spec = fields(vec![
        ("cidr", 0.95, pick(&["10.244.0.0/26", "10.244.0.64/26", "10.244.9.9/32", "fd44::/122"])),
        ("node", 0.95, pick(&NODES)),
        ("state", 0.7, pick(&["confirmed", "pending", "pendingDeletion"])),
        ("deleted", 0.2, pick(&["true", "false"])),
        ("type", 0.1, pick(&["virtual", "host"])),
    ]);
    object("BlockAffinity", &["block-1", "block-2", "block-3"], spec)
}

fn service() -> Json {
    let ips = || list(pick(&["192.0.2.1", "192.0.2.2", "2001:db8::1", "203.0.113.1", "no address"]));
    let spec = fields(vec![
        ("type", 0.7, pick(&["ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "Odd"])),
        ("clusterIP", 0.8, pick(&["10.96.0.1", "fd96::1", "None"])),
        ("clusterIPs", 0.3, list(pick(&["10.96.0.1", "fd96::1"]))),
        ("externalIPs", 0.5, ips()),
        ("externalTrafficPolicy", 0.8, pick(&["Local", "Cluster"])),
        ("loadBalancerIP", 0.3, pick(&["192.0.2.2", "2001:db8::1"])),
        ("ipFamilies", 0.2, list(pick(&["IPv4", "IPv6"]))),
    ]);
    (prop::sample::select(vec!["web", "api"]), spec, prop::option::weighted(0.4, ips()))
        .prop_map(|(name, spec, ingress)| {
            let mut service = json!({"apiVersion": "v1", "kind": "Service",
                "metadata": {"name": name, "namespace": "default"}, "spec": spec});
            if let Some(Value::Array(ips)) = ingress {
                let ips: Vec<_> = ips.into_iter().map(|ip| json!({ "ip": ip })).collect();
                service["status"] = json!({"loadBalancer": {"ingress": ips}});
            }
            service
        })
        .boxed()
}

fn slice() -> Json {
    let endpoint = fields(vec![
        ("nodeName", 0.9, pick(&NODES)),
        ("conditions", 0.5, flag().prop_map(|ready| json!({ "ready": ready })).boxed()),
    ]);
    let service = prop::option::weighted(0.95, pick(&["web", "api"]));
    (prop::sample::select(vec!["x", "y", "z"]), service, pick(&["IPv4", "IPv6", "FQDN"]), list(endpoint))
        .prop_map(|(name, service, kind, endpoints)| {
            let mut slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                "metadata": {"name": name, "namespace": "default"}, "addressType": kind, "endpoints": endpoints});
            if let Some(service) = service {
                slice["metadata"]["labels"] = json!({ "kubernetes.io/service-name": service });
            }
            slice
        })
        .boxed()
}

fn secret() -> Json {
    let data =
        fields(vec![("k", 0.7, pick(&["hush", "whist", "not \"good\""])), ("l", 0.3, pick(&["hush", ""]))]);
    (pick(&["s", "t"]), or_malformed(data, json!(["no mapping"])))
        .prop_map(|(name, data)| {
            json!({"apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": name, "namespace": "kube-system"}, "stringData": data})
        })
        .boxed()
}

fn status() -> impl Strategy<Value = Happening> {
    let file = fields(vec![
        ("ifaceName", 0.5, pick(&["cali1"])),
        ("ipv4Nets", 0.7, list(pick(&["10.244.0.5/32", "10.244.0.6/32", "10.0.0.2/32"]))),
        ("ipv6Nets", 0.5, list(pick(&["fd44::5/128"]))),
        ("bgpPeerName", 0.9, pick(&["p", "q", "r"])),
    ]);
    (prop::sample::select(vec!["w1", "w2"]), or_malformed(file, json!(["no status"])))
        .prop_map(|(name, value)| Happening::Status(name, value))
}

fn gone() -> impl Strategy<Value = Happening> {
    let of = |kind: Kind, names: &[&str]| -> Vec<ObjectKey> { names.iter().map(|n| key(kind, n)).collect() };
    let keys = [
        of(Kind::CalicoNode, &NODES),
        of(Kind::KubeNode, &NODES),
        of(Kind::BgpConfiguration, &["default", "node.a", "node.b", "other"]),
        of(Kind::BgpPeer, &["p", "q", "r", "s"]),
        of(Kind::BgpFilter, &["f", "g", "unused"]),
        of(Kind::IpPool, &["pool-1", "pool-2", "pool-3"]),
        of(Kind::BlockAffinity, &["block-1", "block-2", "block-3"]),
        of(Kind::Service, &["web", "api"]),
        of(Kind::EndpointSlice, &["x", "y", "z"]),
        of(Kind::Secret, &["s", "t"]),
        of(Kind::Workload, &["w1", "w2"]),
    ];
    prop::sample::select(keys.concat()).prop_map(Happening::Gone)
}
