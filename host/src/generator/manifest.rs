use std::net::IpAddr;

use crate::resources::{
    Action, BgpConfiguration, BgpFilter, BgpPeer, BlockAffinity, CommunityRef, EncapMode, EndpointSlice,
    FilterRules, IpPool, KubeNode, LogSeverity, MatchOperator, Operation, PeerType, ProgramClusterRoutes,
    RemoteEnd, Resource, Rule, RuleSource, Scope, Secret, Service, TrafficPolicy,
};
use crate::types::{AsNumber, Family, InterfaceAddress, SecretKeyRef};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::random::Random;

/// The manifest of an object, with the bulk that a real API server's answer has; none for Calico's own Nodes and for
/// status files of workloads, which generated clusters do not have.
///
/// What the object does not hold follows from its name alone: an object that changes keeps the rest of its manifest.
pub(super) fn manifest(resource: &Resource) -> Option<Value> {
    Some(match resource {
        Resource::KubeNode(x) => node(x),
        Resource::BgpConfiguration(x) => calico("BGPConfiguration", x.name.as_str(), configuration_spec(x)),
        Resource::BgpPeer(x) => calico("BGPPeer", x.name.as_str(), peer_spec(x)),
        Resource::BgpFilter(BgpFilter { name, v4, v6, .. }) => {
            calico("BGPFilter", name.as_str(), filter_spec(v4, v6))
        }
        Resource::IpPool(x) => calico("IPPool", x.name.as_str(), pool_spec(x)),
        Resource::BlockAffinity(x) => calico("BlockAffinity", x.name.as_str(), block_spec(x)),
        Resource::Service(x) => service(x),
        Resource::EndpointSlice(x) => slice(x),
        Resource::Secret(x) => secret(x),
        Resource::CalicoNode(_) | Resource::Workload(_) => return None,
    })
}

/// `metadata` with what the API server adds.
fn metadata(random: &mut Random, name: &str, namespace: Option<&str>) -> Map<String, Value> {
    let mut metadata = Map::new();
    let mut put = |key: &str, value: Value| metadata.insert(key.to_owned(), value);
    put("creationTimestamp", time(random).into());
    put("name", name.into());
    if let Some(namespace) = namespace {
        put("namespace", namespace.into());
    }
    put("resourceVersion", (1000 + random.below(90_000_000)).to_string().into());
    put("uid", random.uuid().into());
    metadata
}

fn time(random: &mut Random) -> String {
    let (day, hour, minute, second) =
        (random.below(28) + 1, random.below(24), random.below(60), random.below(60));
    format!("2025-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z", random.below(12) + 1)
}

fn calico(kind: &str, name: &str, spec: Value) -> Value {
    let mut random = Random::of_text(&format!("{kind}/{name}"));
    let metadata = metadata(&mut random, name, None);
    json!({"apiVersion": "crd.projectcalico.org/v1", "kind": kind, "metadata": metadata, "spec": spec})
}

/// An object of the fields that are there.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect::<Map<_, _>>().into()
}

fn text(value: impl ToString) -> Value {
    value.to_string().into()
}

/// A list, unless it is empty.
fn list<T>(items: &[T], each: impl FnMut(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| items.iter().map(each).collect())
}

fn password(reference: &SecretKeyRef) -> Value {
    json!({"secretKeyRef": {"key": &*reference.key, "name": reference.name}})
}

fn interface_address(address: &InterfaceAddress) -> String {
    format!("{}/{}", address.ip(), address.network().prefix_len())
}

fn node(node: &KubeNode) -> Value {
    const IMAGES: [&str; 6] = [
        "docker.io/calico/node",
        "docker.io/calico/cni",
        "registry.k8s.io/kube-proxy",
        "quay.io/prometheus/node-exporter",
        "registry.k8s.io/pause",
        "registry.k8s.io/dns/k8s-dns-node-cache",
    ];
    let name = node.name.as_str();
    let mut random = Random::of_text(name);
    let mut metadata = metadata(&mut random, name, None);
    let bgp = &node.bgp;
    let annotations = object([
        ("csi.volume.kubernetes.io/nodeid", Some(text(json!({"ebs.csi.aws.com": hex(&mut random, 17)})))),
        ("kubeadm.alpha.kubernetes.io/cri-socket", Some("unix:///run/containerd/containerd.sock".into())),
        ("node.alpha.kubernetes.io/ttl", Some("0".into())),
        ("projectcalico.org/ASNumber", bgp.as_number.map(text)),
        ("projectcalico.org/IPv4Address", bgp.ipv4.as_ref().map(|a| text(interface_address(a)))),
        ("projectcalico.org/IPv4WireguardInterfaceAddr", bgp.wireguard_ipv4.map(text)),
        ("projectcalico.org/IPv6Address", bgp.ipv6.as_ref().map(|a| text(interface_address(a)))),
        ("projectcalico.org/IPv6WireguardInterfaceAddr", bgp.wireguard_ipv6.map(text)),
        ("projectcalico.org/RouteReflectorClusterID", bgp.cluster_id.map(text)),
        ("volumes.kubernetes.io/controller-managed-attach-detach", Some("true".into())),
    ]);
    metadata.insert("annotations".into(), annotations);
    let labels: Map<_, _> = node.labels.iter().map(|(k, v)| (k.to_string(), Value::from(&**v))).collect();
    metadata.insert("labels".into(), labels.into());

    let spec = object([
        ("podCIDR", node.pod_cidrs.first().map(text)),
        ("podCIDRs", list(&node.pod_cidrs, |cidr| text(cidr))),
        ("providerID", Some(format!("aws:///zone/i-{}", hex(&mut random, 17)).into())),
        ("taints", node.unschedulable.then(|| {
            json!([{"effect": "NoSchedule", "key": "node.kubernetes.io/unschedulable", "timeAdded": time(&mut random)}])
        })),
        ("unschedulable", node.unschedulable.then_some(true.into())),
    ]);

    let addresses = [bgp.ipv4, bgp.ipv6].into_iter().flatten().map(|a| (text(a.ip()), "InternalIP"));
    let addresses: Vec<Value> = addresses
        .chain([(name.into(), "Hostname")])
        .map(|(address, kind)| json!({"address": address, "type": kind}))
        .collect();
    let mut condition = |kind: &str, status: &str, reason: &str, message: &str| {
        let (heartbeat, transition) = (time(&mut random), time(&mut random));
        json!({"lastHeartbeatTime": heartbeat, "lastTransitionTime": transition, "message": message, "reason": reason,
            "status": status, "type": kind})
    };
    let conditions = [
        condition("NetworkUnavailable", "False", "CalicoIsUp", "Calico is running on this node"),
        condition(
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        condition("Ready", "True", "KubeletReady", "kubelet is posting ready status. AppArmor enabled"),
    ];
    let images: Vec<Value> = IMAGES
        .iter()
        .map(|image| {
            let tagged = format!("{image}:v{}.{}.{}", random.below(4), random.below(32), random.below(10));
            json!({"names": [format!("{image}@sha256:{}", hex(&mut random, 64)), tagged],
                "sizeBytes": 300_000 + random.below(300_000_000)})
        })
        .collect();
    let resources = |cpu: &str, storage: &str, memory: &str| {
        json!({"cpu": cpu, "ephemeral-storage": storage, "hugepages-1Gi": "0", "hugepages-2Mi": "0", "memory": memory,
            "pods": "110"})
    };
    let status = json!({
        "addresses": addresses,
        "allocatable": resources("15890m", "95551679124", "63361244Ki"),
        "capacity": resources("16", "104845292Ki", "64377052Ki"),
        "conditions": conditions,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "images": images,
        "nodeInfo": {
            "architecture": "amd64", "bootID": random.uuid(), "containerRuntimeVersion": "containerd://2.0.5",
            "kernelVersion": "6.1.0-34-amd64", "kubeProxyVersion": "", "kubeletVersion": "v1.33.2",
            "machineID": hex(&mut random, 32), "operatingSystem": "linux",
            "osImage": "Debian GNU/Linux 12 (bookworm)", "systemUUID": random.uuid(),
        },
    });
    json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status})
}

fn hex(random: &mut Random, len: usize) -> String {
    random.text(len, b"0123456789abcdef")
}

fn configuration_spec(x: &BgpConfiguration) -> Value {
    let cidrs = |prefixes: &[_]| list(prefixes, |cidr: &crate::types::Prefix| json!({"cidr": cidr}));
    let community = |community: &CommunityRef| match community {
        CommunityRef::Value(value) => Value::from(value.to_api()),
        CommunityRef::Named(name) => Value::from(&**name),
    };
    object([
        ("asNumber", x.as_number.map(|n| n.get().into())),
        ("bindMode", x.bind_node_ip.then_some("NodeIP".into())),
        ("communities", list(&x.communities, |c| json!({"name": &*c.name, "value": c.value.to_api()}))),
        ("ignoredInterfaces", list(&x.ignored_interfaces, |i| text(i))),
        ("ipv4NormalRoutePriority", x.ipv4_priority.map(|p| p.get().into())),
        ("ipv6NormalRoutePriority", x.ipv6_priority.map(|p| p.get().into())),
        ("listenPort", x.listen_port.map(|p| p.get().into())),
        (
            "logSeverityScreen",
            Some(match x.log_severity {
                LogSeverity::Debug => "Debug".into(),
                LogSeverity::Info => "Info".into(),
                LogSeverity::None => "Error".into(),
            }),
        ),
        ("nodeMeshMaxRestartTime", x.mesh_restart_time.map(|s| format!("{}s", s.0).into())),
        ("nodeMeshPassword", x.mesh_password.as_ref().map(password)),
        ("nodeToNodeMeshEnabled", (!x.mesh_enabled).then_some(false.into())),
        (
            "prefixAdvertisements",
            list(
                &x.advertisements,
                |a| json!({"cidr": a.cidr, "communities": a.communities.iter().map(community).collect::<Vec<_>>()}),
            ),
        ),
        (
            "programClusterRoutes",
            match x.program_cluster_routes {
                ProgramClusterRoutes::Enabled => Some("Enabled".into()),
                ProgramClusterRoutes::Disabled => Some("Disabled".into()),
                ProgramClusterRoutes::EnabledIpipOnly => Some("EnabledIPIPOnly".into()),
                ProgramClusterRoutes::EnabledNoEncapOnly => None,
            },
        ),
        ("serviceClusterIPs", cidrs(&x.cluster_ips)),
        ("serviceExternalIPs", cidrs(&x.external_ips)),
        ("serviceLoadBalancerAggregation", (!x.load_balancer_aggregation).then_some("Disabled".into())),
        ("serviceLoadBalancerIPs", cidrs(&x.load_balancer_ips)),
    ])
}

fn peer_spec(x: &BgpPeer) -> Value {
    let (node, node_selector) = match &x.scope {
        Scope::Global => (None, None),
        Scope::Node(node) => (Some(text(node)), None),
        Scope::Selector(selector) => (None, Some(text(selector))),
    };
    let (peer_ip, peer_selector, workloads) = match &x.remote {
        None => (None, None, None),
        Some(RemoteEnd::Workloads) => (None, None, Some("all()".into())),
        Some(RemoteEnd::Nodes(selector)) => (None, Some(text(selector)), None),
        Some(RemoteEnd::Address(end)) => {
            let ip = match (end.port, end.ip) {
                (None, ip) => ip.to_string(),
                (Some(port), IpAddr::V4(ip)) => format!("{ip}:{port}"),
                (Some(port), IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
            };
            (Some(Value::from(ip)), None, None)
        }
    };
    object([
        ("asNumber", x.as_number.map(|n| n.get().into())),
        ("filters", list(&x.filters, |name| text(name))),
        ("keepOriginalNextHop", x.keep_original_next_hop.then_some(true.into())),
        ("keepaliveTime", x.keepalive_time.map(|s| format!("{}s", s.0).into())),
        ("localASNumber", x.local_as_number.map(|n| n.get().into())),
        ("localWorkloadSelector", workloads),
        ("maxRestartTime", x.max_restart_time.map(|s| format!("{}s", s.0).into())),
        ("nextHopMode", x.next_hop_mode.map(|mode| mode.as_str().into())),
        ("node", node),
        ("nodeSelector", node_selector),
        ("numAllowedLocalASNumbers", x.num_allowed_local_as.map(Value::from)),
        ("password", x.password.as_ref().map(password)),
        ("peerIP", peer_ip),
        ("peerSelector", peer_selector),
        ("reachableBy", x.reachable_by.map(text)),
        ("reversePeering", x.manual_reverse.then_some("Manual".into())),
        ("sourceAddress", (!x.use_node_ip).then_some("None".into())),
        ("ttlSecurity", (x.ttl_security > 0).then_some(x.ttl_security.into())),
    ])
}

/// A BGPFilter's `spec`.
pub(super) fn filter_spec(v4: &FilterRules, v6: &FilterRules) -> Value {
    object([
        ("exportV4", list(&v4.export, rule)),
        ("exportV6", list(&v6.export, rule)),
        ("importV4", list(&v4.import, rule)),
        ("importV6", list(&v6.import, rule)),
    ])
}

fn rule(x: &Rule) -> Value {
    let numbers = |numbers: &[AsNumber]| numbers.iter().map(|n| n.get()).collect::<Vec<_>>();
    let operation = |operation: &Operation| match operation {
        Operation::AddCommunity(value) => json!({"addCommunity": {"value": value.to_api()}}),
        Operation::PrependAsPath(path) => json!({"prependASPath": {"prefix": numbers(path)}}),
        Operation::SetPriority(value) => json!({"setPriority": {"value": value.get()}}),
    };
    let cidr = x.cidr.as_ref();
    object([
        (
            "action",
            Some(match x.action {
                Action::Accept => "Accept".into(),
                Action::Reject => "Reject".into(),
            }),
        ),
        ("asPathPrefix", (!x.as_path_prefix.is_empty()).then(|| numbers(&x.as_path_prefix).into())),
        ("cidr", cidr.map(|c| text(&c.cidr))),
        ("communities", x.community.map(|c| json!({"values": [c.to_api()]}))),
        ("interface", x.interface.as_ref().map(text)),
        (
            "matchOperator",
            cidr.map(|c| match c.operator {
                MatchOperator::Equal => "Equal".into(),
                MatchOperator::NotEqual => "NotEqual".into(),
                MatchOperator::In => "In".into(),
                MatchOperator::NotIn => "NotIn".into(),
            }),
        ),
        ("operations", list(&x.operations, operation)),
        (
            "peerType",
            x.peer_type.map(|kind| match kind {
                PeerType::External => "eBGP".into(),
                PeerType::Internal => "iBGP".into(),
            }),
        ),
        (
            "prefixLength",
            cidr.and_then(|c| c.length)
                .map(|(min, max)| object([("max", max.map(Value::from)), ("min", min.map(Value::from))])),
        ),
        ("priority", x.priority.map(|p| p.get().into())),
        ("source", x.source.map(|RuleSource::RemotePeers| "RemotePeers".into())),
    ])
}

fn pool_spec(x: &IpPool) -> Value {
    let mode = |mode| match mode {
        EncapMode::Never => "Never",
        EncapMode::Always => "Always",
        EncapMode::CrossSubnet => "CrossSubnet",
    };
    object([
        ("allowedUses", list(&x.allowed_uses, |r#use| text(r#use))),
        ("assignmentMode", Some(if x.manual_assignment { "Manual" } else { "Automatic" }.into())),
        ("blockSize", Some(if x.cidr.family() == Family::V4 { 26 } else { 122 }.into())),
        ("cidr", Some(text(&x.cidr))),
        ("disableBGPExport", x.disable_bgp_export.then_some(true.into())),
        ("disabled", x.disabled.then_some(true.into())),
        ("ipipMode", Some(mode(x.ipip).into())),
        ("natOutgoing", x.nat_outgoing.then_some(true.into())),
        ("nodeSelector", Some("all()".into())),
        ("vxlanMode", Some(mode(x.vxlan).into())),
    ])
}

fn block_spec(x: &BlockAffinity) -> Value {
    object([
        ("cidr", Some(text(&x.cidr))),
        ("deleted", Some(text(x.deleted))),
        ("node", Some(text(&x.node))),
        ("state", Some(x.state.as_str().into())),
        ("type", x.is_virtual.then_some("virtual".into())),
    ])
}

fn service(x: &Service) -> Value {
    let (namespace, name) = (x.namespace.as_str(), x.name.as_str());
    let mut random = Random::of_text(&format!("Service/{namespace}/{name}"));
    let mut metadata = metadata(&mut random, name, Some(namespace));
    let labels = json!({"app.kubernetes.io/instance": name, "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/name": name, "helm.sh/chart": format!("{name}-1.{}.0", random.below(20))});
    let applied = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"labels": &labels, "name": name,
        "namespace": namespace}, "spec": {"ports": [{"name": "http", "port": 80, "targetPort": 8080}],
        "selector": {"app.kubernetes.io/name": name}}});
    let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": format!("{applied}\n"),
        "meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace});
    metadata.insert("annotations".into(), annotations);
    metadata.insert("labels".into(), labels);

    let kind = match (x.is_load_balancer, x.traffic_policy, x.external_ips.is_empty()) {
        (true, ..) => "LoadBalancer",
        // Only a Service that can be reached from outside has the policy.
        (false, TrafficPolicy::Cluster | TrafficPolicy::Local, true) => "NodePort",
        _ => "ClusterIP",
    };
    let port = |name: &str, port: u16, target: u16| json!({"name": name, "port": port, "protocol": "TCP", "targetPort": target});
    let ports = [port("http", 80, 8080), port("metrics", 9090, 9090)];
    let cluster_ips = match list(&x.cluster_ips, |ip| text(ip)) {
        Some(ips) => ips,
        None => json!(["None"]),
    };
    let families: Vec<&str> =
        [(x.ipv4, "IPv4"), (x.ipv6, "IPv6")].iter().filter(|f| f.0).map(|f| f.1).collect();
    let spec = object([
        // Addresses that BGP announces need no node ports, and thousands of Services would run out of them.
        ("allocateLoadBalancerNodePorts", (kind == "LoadBalancer").then_some(false.into())),
        ("clusterIP", cluster_ips.get(0).cloned()),
        ("clusterIPs", Some(cluster_ips)),
        ("externalIPs", list(&x.external_ips, |ip| text(ip))),
        (
            "externalTrafficPolicy",
            match x.traffic_policy {
                TrafficPolicy::Cluster => Some("Cluster".into()),
                TrafficPolicy::Local => Some("Local".into()),
                TrafficPolicy::Other => None,
            },
        ),
        ("internalTrafficPolicy", Some("Cluster".into())),
        ("ipFamilyPolicy", Some(if families.len() > 1 { "PreferDualStack" } else { "SingleStack" }.into())),
        ("ipFamilies", Some(families.into())),
        ("loadBalancerIP", x.load_balancer_ip.map(text)),
        ("ports", Some(json!(ports))),
        ("selector", Some(json!({"app.kubernetes.io/name": name}))),
        ("sessionAffinity", Some("None".into())),
        ("type", Some(kind.into())),
    ]);
    let ingress = list(&x.ingress_ips, |ip| json!({"ip": ip, "ipMode": "VIP"}));
    let status = json!({"loadBalancer": object([("ingress", ingress)])});
    json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec, "status": status})
}

fn slice(x: &EndpointSlice) -> Value {
    let (namespace, name) = (x.namespace.as_str(), x.name.as_str());
    let mut random = Random::of_text(&format!("EndpointSlice/{namespace}/{name}"));
    let mut metadata = metadata(&mut random, name, Some(namespace));
    let service = x.service.as_ref().map(text);
    metadata.insert(
        "annotations".into(),
        json!({"endpoints.kubernetes.io/last-change-trigger-time": time(&mut random)}),
    );
    metadata.insert("generateName".into(), x.service.as_ref().map(|s| format!("{s}-")).into());
    metadata.insert(
        "labels".into(),
        object([
            ("app.kubernetes.io/managed-by", Some("Helm".into())),
            ("endpointslice.kubernetes.io/managed-by", Some("endpointslice-controller.k8s.io".into())),
            ("kubernetes.io/service-name", service.clone()),
        ]),
    );
    metadata.insert(
        "ownerReferences".into(),
        json!([{"apiVersion": "v1", "blockOwnerDeletion": true,
        "controller": true, "kind": "Service", "name": service, "uid": random.uuid()}]),
    );
    let endpoints: Vec<Value> = x
        .endpoints
        .iter()
        .map(|endpoint| {
            let pod = format!("{name}-{}", hex(&mut random, 10));
            let address = match x.family {
                Some(Family::V6) => format!("fd00:10::{:x}", random.below(0xffff) + 1),
                _ => format!("10.{}.{}.{}", 128 + random.below(4), random.below(256), random.below(256)),
            };
            object([
                ("addresses", Some(json!([address]))),
                (
                    "conditions",
                    Some(json!({"ready": endpoint.ready, "serving": endpoint.ready, "terminating": false})),
                ),
                ("nodeName", endpoint.node.as_ref().map(text)),
                (
                    "targetRef",
                    Some(json!({"kind": "Pod", "name": pod, "namespace": namespace, "uid": random.uuid()})),
                ),
            ])
        })
        .collect();
    let address_type = match x.family {
        Some(Family::V4) => "IPv4",
        Some(Family::V6) => "IPv6",
        None => "FQDN",
    };
    json!({"addressType": address_type, "apiVersion": "discovery.k8s.io/v1", "endpoints": endpoints,
        "kind": "EndpointSlice", "metadata": metadata, "ports": [
            {"name": "http", "port": 8080, "protocol": "TCP"}, {"name": "metrics", "port": 9090, "protocol": "TCP"}]})
}

fn secret(x: &Secret) -> Value {
    let (namespace, name) = (x.namespace.as_str(), x.name.as_str());
    let mut random = Random::of_text(&format!("Secret/{namespace}/{name}"));
    let metadata = metadata(&mut random, name, Some(namespace));
    let known = x.values.iter().filter_map(|(key, value)| Some((key, value.as_ref().ok()?)));
    let data: Map<_, _> =
        known.map(|(key, value)| (key.to_string(), BASE64_STANDARD.encode(value.reveal()).into())).collect();
    json!({"apiVersion": "v1", "data": data, "kind": "Secret", "metadata": metadata, "type": "Opaque"})
}
