use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::resources::{
    Action, Advertisement, BgpConfiguration, BgpFilter, BgpPeer, BlockAffinity, BlockState, CidrMatch,
    CommunityRef, EncapMode, EndpointSlice, FilterRules, IpPool, Kind, KubeNode, Labels, LogSeverity,
    MatchOperator, NamedCommunity, NextHopMode, NodeBgp, ObjectKey, Operation, PeerType,
    ProgramClusterRoutes, RemoteEnd, Resource, Rule, RuleSource, Scope, Secret, Service, SliceEndpoint,
    TrafficPolicy,
};
use crate::types::{AsNumber, Community, Family, Name, Prefix, Priority, Seconds, SecretKeyRef};
use ipnet::IpNet;

use super::manifest::filter_spec;
use super::random::Random;
use super::{ClusterSpec, Topology};

const DIGITS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Namespaces that Services take turns in.
const NAMESPACES: u32 = 50;

const SECRET: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_.";

/// Parses a text that was generated to be a value of the type.
///
/// # Panics
///
/// When it is none, which is a mistake in the generator.
pub(super) fn value<T: FromStr<Err: Debug>>(text: impl AsRef<str>) -> T {
    let text = text.as_ref();
    text.parse().unwrap_or_else(|error| panic!("generated {text:?}: {error:?}"))
}

/// Which object a resource is.
pub(super) fn key(resource: &Resource) -> ObjectKey {
    let global = |kind, name: &Name| ObjectKey::global(kind, name.clone());
    let in_namespace = |kind, namespace: &Name, name: &Name| ObjectKey {
        kind,
        namespace: Some(namespace.clone()),
        name: name.clone(),
    };
    match resource {
        Resource::CalicoNode(x) => global(Kind::CalicoNode, &x.name),
        Resource::KubeNode(x) => global(Kind::KubeNode, &x.name),
        Resource::BgpConfiguration(x) => global(Kind::BgpConfiguration, &x.name),
        Resource::BgpPeer(x) => global(Kind::BgpPeer, &x.name),
        Resource::BgpFilter(x) => global(Kind::BgpFilter, &x.name),
        Resource::IpPool(x) => global(Kind::IpPool, &x.name),
        Resource::BlockAffinity(x) => global(Kind::BlockAffinity, &x.name),
        Resource::Service(x) => in_namespace(Kind::Service, &x.namespace, &x.name),
        Resource::EndpointSlice(x) => in_namespace(Kind::EndpointSlice, &x.namespace, &x.name),
        Resource::Secret(x) => in_namespace(Kind::Secret, &x.namespace, &x.name),
        Resource::Workload(x) => global(Kind::Workload, &x.name),
    }
}

impl ClusterSpec {
    /// All objects: configuration and Secrets first, then nodes, pools, blocks, filters, peers, Services and slices.
    ///
    /// # Panics
    ///
    /// When [`check`](Self::check) would fail, as names and addresses run out.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectKey, Resource)> {
        let families = if self.dual_stack { &Family::ALL[..] } else { &[Family::V4] };
        let blocks = self.nodes * self.blocks_per_node;
        let of_family = move |f: &'static Family, n: u32| (0..n).map(move |i| (*f, i));
        let boxed_peer = |p| Resource::BgpPeer(Box::new(p));
        (self.configurations().map(|c| Resource::BgpConfiguration(Box::new(c))))
            .chain((0..self.secrets).map(|i| Resource::Secret(self.secret(i))))
            .chain((0..self.nodes).map(|i| Resource::KubeNode(self.node(i))))
            .chain(
                families
                    .iter()
                    .flat_map(move |f| of_family(f, self.pools))
                    .map(|(f, i)| Resource::IpPool(self.pool(f, i))),
            )
            .chain(
                families
                    .iter()
                    .flat_map(move |f| of_family(f, blocks))
                    .map(|(f, i)| Resource::BlockAffinity(self.block(f, i))),
            )
            .chain((0..self.filters).map(|i| Resource::BgpFilter(self.filter(i))))
            .chain(self.topology_peers().map(boxed_peer))
            .chain((0..self.peers).map(|i| self.peer(i)).map(boxed_peer))
            .chain((0..self.services).map(|i| Resource::Service(Box::new(self.service(i)))))
            .chain(
                (0..self.services * self.slices_per_service).map(|i| Resource::EndpointSlice(self.slice(i))),
            )
            .map(|resource| (key(&resource), resource))
    }

    /// The name of a node.
    pub fn node_name(&self, node: u32) -> String {
        format!("node-{node:05}")
    }

    fn zone_of(&self, node: u32) -> u32 {
        node % self.zones
    }

    fn rack_of(&self, node: u32) -> u32 {
        node / self.zones % self.racks_per_zone
    }

    /// A rack's number among the racks of all zones.
    fn rack_number(&self, node: u32) -> u32 {
        self.zone_of(node) * self.racks_per_zone + self.rack_of(node)
    }

    pub(super) fn rack_name(&self, zone: u32, rack: u32) -> String {
        format!("zone-{zone}-rack-{rack:02}")
    }

    fn is_reflector(&self, node: u32) -> bool {
        matches!(self.topology, Topology::Reflectors { per_zone } if node / self.zones < per_zone)
    }

    fn rack_as(&self, rack_number: u32) -> AsNumber {
        value((2_000_000_000 + rack_number).to_string())
    }

    /// The addresses of a node. A node that moved has an address in the upper half of its rack's networks.
    pub(super) fn node_addresses(&self, node: u32, moved: bool) -> (Ipv4Addr, Ipv6Addr) {
        let rack = self.rack_number(node);
        let host = node / self.racks() + 10 + if moved { 512 } else { 0 };
        let v4 = u32::from(Ipv4Addr::new(172, 16, 0, 0)) + rack * 1024 + host;
        let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0x16, rack as u16, 0, 0, 0, host as u16);
        (v4.into(), v6)
    }

    pub(super) fn node(&self, i: u32) -> KubeNode {
        let name = self.node_name(i);
        let zone = self.zone_of(i);
        let (v4, v6) = self.node_addresses(i, false);
        let mut labels = Labels::new();
        let mut label = |key: &str, value: &str| labels.insert(key.into(), value.into());
        for prefix in ["beta.kubernetes.io", "kubernetes.io"] {
            label(&format!("{prefix}/arch"), "amd64");
            label(&format!("{prefix}/os"), "linux");
        }
        label("kubernetes.io/hostname", &name);
        label(
            "node.kubernetes.io/instance-type",
            ["m5.4xlarge", "r5.4xlarge", "c5.9xlarge"][(i % 7 % 3) as usize],
        );
        label("rack", &self.rack_name(zone, self.rack_of(i)));
        label("topology.kubernetes.io/region", "region-1");
        label("topology.kubernetes.io/zone", &format!("zone-{zone}"));
        let reflector = self.is_reflector(i);
        if reflector {
            label("route-reflector", "true");
        }
        let own_as = match self.topology {
            Topology::TopOfRack => Some(self.rack_as(self.rack_number(i))),
            _ if self.own_as_every > 0 && i.is_multiple_of(self.own_as_every) => {
                Some(value((4_200_000_000 + i).to_string()))
            }
            _ => None,
        };
        let mut pod_cidrs = vec![value(format!("10.{}.{}.0/24", i >> 8, i & 0xff))];
        if self.dual_stack {
            pod_cidrs.push(value(format!("fd00:20:0:{:x}::/64", i + 1)));
        }
        KubeNode {
            name: value(name),
            labels,
            bgp: NodeBgp {
                ipv4: Some(value(format!("{v4}/22"))),
                ipv6: self.dual_stack.then(|| value(format!("{v6}/64"))),
                as_number: own_as,
                cluster_id: reflector.then(|| value(format!("244.0.0.{}", zone + 1))),
                ..NodeBgp::default()
            },
            pod_cidrs,
            unschedulable: Random::of(self.seed, "cordon", i).one_in(200),
            annotations: Labels::new(),
        }
    }

    /// The cluster's configuration, and a node's own for one node in a thousand.
    fn configurations(&self) -> impl Iterator<Item = BgpConfiguration> {
        let node = |i: u32| BgpConfiguration {
            log_severity: LogSeverity::Debug,
            listen_port: Some(value("1790")),
            ..empty_configuration(value(format!("node.{}", self.node_name(i))))
        };
        std::iter::once(self.configuration()).chain((1..self.nodes).step_by(1000).map(node))
    }

    pub(super) fn configuration(&self) -> BgpConfiguration {
        let mesh = self.topology == Topology::Mesh;
        let cidrs = |v4: &str, v6: &str| {
            let texts = [v4, v6];
            texts[..if self.dual_stack { 2 } else { 1 }].iter().map(value).collect::<Vec<Prefix>>()
        };
        BgpConfiguration {
            as_number: Some(AsNumber::DEFAULT),
            communities: vec![NamedCommunity {
                name: "workloads".into(),
                value: Community::Standard(64512, 100),
            }],
            ignored_interfaces: vec![value("docker0"), value("nodelocaldns")],
            mesh_restart_time: mesh.then_some(Seconds(120)),
            mesh_password: self.password(0).filter(|_| mesh),
            mesh_enabled: mesh,
            advertisements: cidrs("10.128.0.0/9", "fd00:10::/32")
                .into_iter()
                .map(|cidr| Advertisement {
                    cidr,
                    communities: vec![
                        CommunityRef::Named("workloads".into()),
                        CommunityRef::Value(Community::Large(64512, 1, 7)),
                    ],
                })
                .collect(),
            cluster_ips: cidrs("10.96.0.0/12", "fd00:96::/108"),
            external_ips: cidrs("100.64.0.0/10", "fd00:64::/108"),
            load_balancer_ips: cidrs("198.18.0.0/15", "fd00:18::/108"),
            load_balancer_aggregation: false,
            ..empty_configuration(value("default"))
        }
    }

    fn password(&self, i: u32) -> Option<SecretKeyRef> {
        (self.secrets > 0)
            .then(|| SecretKeyRef { name: secret_name(i % self.secrets), key: "password".into() })
    }

    pub(super) fn secret(&self, i: u32) -> Secret {
        self.secret_in_round(i, 0)
    }

    pub(super) fn secret_in_round(&self, i: u32, round: u32) -> Secret {
        let mut random = Random::of(self.seed ^ u64::from(round) << 32, "secret", i);
        let password = value(random.text(24, SECRET));
        Secret {
            namespace: value("kube-system"),
            name: secret_name(i),
            values: BTreeMap::from([("password".into(), Ok(password))]),
        }
    }

    pub(super) fn pool(&self, family: Family, i: u32) -> IpPool {
        let (mut ipip, mut vxlan) = (EncapMode::Never, EncapMode::Never);
        match (family, i % 4) {
            (Family::V4, 1) => ipip = EncapMode::CrossSubnet,
            (_, 2) => vxlan = EncapMode::Always,
            _ => {}
        }
        IpPool {
            name: value(format!("pool-v{}-{i:02}", family.digit())),
            cidr: self.pool_cidr(family, i),
            ipip,
            vxlan,
            nat_outgoing: family == Family::V4,
            disabled: false,
            disable_bgp_export: i % 8 == 3,
            manual_assignment: false,
            allowed_uses: vec!["Workload", "Tunnel"],
        }
    }

    fn pool_cidr(&self, family: Family, i: u32) -> Prefix {
        let blocks = self.blocks_per_pool();
        match family {
            Family::V4 => net(block_v4(i * blocks).into(), 26 - blocks.ilog2() as u8),
            Family::V6 => net(Ipv6Addr::new(0xfd00, 0x10, i as u16, 0, 0, 0, 0, 0).into(), 48),
        }
    }

    /// The block with this number; a node's blocks follow each other.
    fn block_cidr(&self, family: Family, i: u32) -> Prefix {
        match family {
            Family::V4 => net(block_v4(i).into(), 26),
            Family::V6 => {
                let (pool, block) = (i / self.blocks_per_pool(), i % self.blocks_per_pool());
                let low = block * 64;
                let address = Ipv6Addr::new(
                    0xfd00,
                    0x10,
                    pool as u16,
                    0,
                    0,
                    0,
                    (low >> 16) as u16,
                    (low & 0xffff) as u16,
                );
                net(address.into(), 122)
            }
        }
    }

    pub(super) fn block(&self, family: Family, i: u32) -> BlockAffinity {
        let node = self.node_name(i / self.blocks_per_node);
        let cidr = self.block_cidr(family, i);
        let mut random = Random::of(self.seed, "block", i * 2 + family.index() as u32);
        let state = match random.below(100) {
            0 => BlockState::PendingDeletion,
            1 => BlockState::Pending,
            _ => BlockState::Confirmed,
        };
        BlockAffinity {
            name: value(format!("{node}-{}", cidr.to_string().replace(['/', '.', ':'], "-"))),
            cidr,
            node: value(node),
            state,
            deleted: false,
            is_virtual: false,
        }
    }

    pub(super) fn filter(&self, i: u32) -> BgpFilter {
        let mut random = Random::of(self.seed, "filter", i);
        let mut rules = |family| {
            let mut some =
                |most| (0..random.below(most) + 1).map(|_| rule(&mut random, family)).collect::<Vec<_>>();
            FilterRules { import: some(3), export: some(4) }
        };
        let v4 = rules(Family::V4);
        let v6 = if self.dual_stack { rules(Family::V6) } else { FilterRules::default() };
        filter_of(filter_name(i), v4, v6)
    }

    /// The peers that the topology needs.
    fn topology_peers(&self) -> impl Iterator<Item = BgpPeer> {
        let zones = match self.topology {
            Topology::Reflectors { .. } => self.zones,
            _ => 0,
        };
        let racks = match self.topology {
            Topology::TopOfRack => self.racks(),
            _ => 0,
        };
        let all_reflectors = (zones > 0).then(|| BgpPeer {
            scope: Scope::Selector("has(route-reflector)".into()),
            remote: Some(RemoteEnd::Nodes("has(route-reflector)".into())),
            ..empty_peer(value("reflectors"))
        });
        let clients = (0..zones).map(|zone| {
            let here = format!("topology.kubernetes.io/zone == 'zone-{zone}'");
            BgpPeer {
                scope: Scope::Selector(format!("{here} && !has(route-reflector)").into()),
                remote: Some(RemoteEnd::Nodes(format!("{here} && has(route-reflector)").into())),
                password: self.password(zone),
                ..empty_peer(value(format!("clients-zone-{zone}")))
            }
        });
        let families: &[Family] = if self.dual_stack { &Family::ALL } else { &[Family::V4] };
        let switches = (0..racks).flat_map(move |rack| {
            families.iter().map(move |family| {
                let name = self.rack_name(rack / self.racks_per_zone, rack % self.racks_per_zone);
                let address: IpAddr = match family {
                    Family::V4 => {
                        (u32::from(Ipv4Addr::new(172, 16, 0, 1)) + rack * 1024).to_be_bytes().into()
                    }
                    Family::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0x16, rack as u16, 0, 0, 0, 1).into(),
                };
                BgpPeer {
                    scope: Scope::Selector(format!("rack == '{name}'").into()),
                    remote: Some(RemoteEnd::Address(value(address.to_string()))),
                    as_number: Some(self.rack_as(rack)),
                    filters: if self.filters > 0 { vec![filter_name(rack % self.filters)] } else { vec![] },
                    password: self.password(rack),
                    ..empty_peer(value(format!("{name}-switch-v{}", family.digit())))
                }
            })
        });
        all_reflectors.into_iter().chain(clients).chain(switches)
    }

    /// A peer outside the cluster: of all nodes, of a zone, of a rack, or of one node.
    pub(super) fn peer(&self, i: u32) -> BgpPeer {
        let mut random = Random::of(self.seed, "peer", i);
        let node = random.below(self.nodes);
        let zone = self.zone_of(node);
        let scope = match i % 10 {
            0 => Scope::Global,
            1..=3 => Scope::Selector(format!("topology.kubernetes.io/zone in {{\"zone-{zone}\"}}").into()),
            4..=7 => {
                Scope::Selector(format!("rack == '{}'", self.rack_name(zone, self.rack_of(node))).into())
            }
            _ => Scope::Node(value(self.node_name(node))),
        };
        let v6 = self.dual_stack && i % 3 == 2;
        let address = if v6 {
            Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, (i + 1) as u16).to_string()
        } else {
            Ipv4Addr::from(u32::from(Ipv4Addr::new(192, 168, 0, 1)) + i).to_string()
        };
        let endpoint = match (random.one_in(5), v6) {
            (false, _) => address,
            (true, false) => format!("{address}:1790"),
            (true, true) => format!("[{address}]:1790"),
        };
        let filters = match self.filters {
            0 => vec![],
            count => (0..random.below(3)).map(|_| filter_name(random.below(count))).collect(),
        };
        BgpPeer {
            scope,
            remote: Some(RemoteEnd::Address(value(endpoint))),
            as_number: Some(value((65_000 + i % 100).to_string())),
            filters,
            next_hop_mode: random.one_in(4).then_some(NextHopMode::Own),
            max_restart_time: random.one_in(3).then_some(Seconds(90)),
            keepalive_time: random.one_in(6).then_some(Seconds(20)),
            password: self.password(i).filter(|_| random.one_in(2)),
            ttl_security: if random.one_in(5) { 1 } else { 0 },
            ..empty_peer(value(format!("peer-{i:05}")))
        }
    }

    pub(super) fn service(&self, i: u32) -> Service {
        let mut random = Random::of(self.seed, "service", i);
        let is_load_balancer = i.is_multiple_of(5);
        let headless = !is_load_balancer && random.one_in(20);
        let ipv6 = self.dual_stack && !random.one_in(3);
        let addresses = |v4: Ipv4Addr, v6: u16| {
            let mut addresses = vec![IpAddr::from((u32::from(v4) + i + 10).to_be_bytes())];
            if ipv6 {
                let (high, low) = ((i + 10) >> 16, (i + 10) & 0xffff);
                addresses.push(Ipv6Addr::new(0xfd00, v6, 0, 0, 0, 0, high as u16, low as u16).into());
            }
            addresses
        };
        let external = !headless && random.one_in(11);
        let policy = match (is_load_balancer || external, random.one_in(2)) {
            (false, _) => TrafficPolicy::Other,
            (true, false) => TrafficPolicy::Cluster,
            (true, true) => TrafficPolicy::Local,
        };
        Service {
            namespace: namespace(i),
            name: service_name(i),
            routable: true,
            is_load_balancer,
            cluster_ips: if headless { vec![] } else { addresses(Ipv4Addr::new(10, 96, 0, 0), 0x96) },
            ipv4: true,
            ipv6,
            external_ips: if external { addresses(Ipv4Addr::new(100, 64, 0, 0), 0x64) } else { vec![] },
            traffic_policy: policy,
            load_balancer_ip: None,
            ingress_ips: if is_load_balancer {
                addresses(Ipv4Addr::new(198, 18, 0, 0), 0x18)
            } else {
                vec![]
            },
            facts: None,
        }
    }

    pub(super) fn slice(&self, i: u32) -> EndpointSlice {
        let mut random = Random::of(self.seed, "slice", i);
        let service = i / self.slices_per_service;
        let ipv6 = i % self.slices_per_service % 2 == 1 && self.service(service).ipv6;
        let suffix = random.text(5, DIGITS);
        let endpoints = (0..random.below(6) + 1)
            .map(|_| SliceEndpoint {
                node: Some(self.node_name(random.below(self.nodes)).into()),
                ready: !random.one_in(16),
            })
            .collect();
        EndpointSlice {
            namespace: namespace(service),
            // The number keeps names unique where the suffix does not.
            name: value(format!("{}-{}{suffix}", service_name(service), i % self.slices_per_service)),
            service: Some(service_name(service)),
            family: Some(if ipv6 { Family::V6 } else { Family::V4 }),
            endpoints,
        }
    }
}

fn block_v4(i: u32) -> Ipv4Addr {
    (u32::from(Ipv4Addr::new(10, 128, 0, 0)) + i * 64).into()
}

fn net(address: IpAddr, len: u8) -> Prefix {
    match IpNet::new(address, len) {
        Ok(net) => net.into(),
        Err(_) => Prefix::host(address),
    }
}

fn namespace(service: u32) -> Name {
    value(format!("team-{:02}", service % NAMESPACES))
}

/// The namespaces that objects are in and that a new cluster does not have.
pub(super) fn namespaces(spec: &ClusterSpec) -> impl Iterator<Item = Name> {
    (0..spec.services.min(NAMESPACES)).map(namespace)
}

fn service_name(i: u32) -> Name {
    value(format!("service-{i:05}"))
}

fn secret_name(i: u32) -> Name {
    value(format!("bgp-password-{i:02}"))
}

/// The name of a filter; one in ten is so long that its function's name must be shortened.
fn filter_name(i: u32) -> Name {
    if i % 10 == 9 {
        value(format!("filter-{i:03}-for-all-routers-of-the-provider-at-the-edge"))
    } else {
        value(format!("filter-{i:03}"))
    }
}

/// A filter with these rules, and their JSON.
pub(crate) fn filter_of(name: Name, v4: FilterRules, v6: FilterRules) -> BgpFilter {
    let spec = filter_spec(&v4, &v6);
    let json = format!(
        r#"{{"kind":"BGPFilter","apiVersion":"projectcalico.org/v3","metadata":{{"name":"{name}"}},"spec":{spec}}}"#
    );
    BgpFilter { name, v4, v6, json: json.into() }
}

fn rule(random: &mut Random, family: Family) -> Rule {
    let action = if random.one_in(3) { Action::Reject } else { Action::Accept };
    let community = |random: &mut Random| {
        if random.one_in(4) {
            Community::Large(64512, random.below(10), random.below(1000))
        } else {
            Community::Standard(65000, random.below(1000) as u16)
        }
    };
    let operators = [
        MatchOperator::In,
        MatchOperator::In,
        MatchOperator::Equal,
        MatchOperator::NotIn,
        MatchOperator::NotEqual,
    ];
    let cidr = (!random.one_in(5)).then(|| {
        let cidr: Prefix = match family {
            Family::V4 => value(format!("10.{}.0.0/16", random.below(256))),
            Family::V6 => value(format!("fd00:{:x}::/32", random.below(0xffff) + 1)),
        };
        let operator = operators[random.below(operators.len() as u32) as usize];
        let min = cidr.length() + random.below(4) as u8;
        // A prefix that must be the same one has a length already.
        let takes_length = matches!(operator, MatchOperator::In | MatchOperator::NotIn);
        let length = (random.one_in(4) && takes_length).then_some((Some(min), Some(min + 8)));
        CidrMatch { cidr, operator, length }
    });
    let operations = match action {
        Action::Reject => vec![],
        Action::Accept => (0..random.below(3))
            .map(|_| match random.below(3) {
                0 => Operation::AddCommunity(community(random)),
                1 => Operation::PrependAsPath(vec![AsNumber::DEFAULT; random.below(3) as usize + 1]),
                _ => Operation::SetPriority(value_of(random.below(2000) + 1)),
            })
            .collect(),
    };
    Rule {
        action,
        cidr,
        source: random.one_in(5).then_some(RuleSource::RemotePeers),
        interface: random.one_in(8).then(|| value(["eth*", "bond0", "*.cali"][random.below(3) as usize])),
        community: random.one_in(5).then(|| community(random)),
        as_path_prefix: if random.one_in(6) { vec![value("65010"), value("65020")] } else { vec![] },
        priority: random.one_in(10).then(|| value_of(random.below(2000) + 1)),
        peer_type: random
            .one_in(6)
            .then(|| if random.one_in(2) { PeerType::External } else { PeerType::Internal }),
        operations,
    }
}

/// A priority that was generated to be in range; the normal one otherwise.
pub(super) fn value_of(priority: u32) -> Priority {
    Priority::new(priority.into()).unwrap_or(Priority::NORMAL)
}

fn empty_configuration(name: Name) -> BgpConfiguration {
    BgpConfiguration {
        name,
        as_number: None,
        bind_node_ip: false,
        communities: vec![],
        ignored_interfaces: vec![],
        ipv4_priority: None,
        ipv6_priority: None,
        listen_port: None,
        log_severity: LogSeverity::Info,
        mesh_restart_time: None,
        mesh_password: None,
        mesh_enabled: true,
        advertisements: vec![],
        program_cluster_routes: ProgramClusterRoutes::default(),
        cluster_ips: vec![],
        external_ips: vec![],
        load_balancer_ips: vec![],
        load_balancer_aggregation: true,
    }
}

fn empty_peer(name: Name) -> BgpPeer {
    BgpPeer {
        name,
        scope: Scope::Global,
        remote: None,
        as_number: None,
        local_as_number: None,
        num_allowed_local_as: None,
        filters: vec![],
        keep_original_next_hop: false,
        next_hop_mode: None,
        max_restart_time: None,
        keepalive_time: None,
        password: None,
        reachable_by: None,
        manual_reverse: false,
        use_node_ip: true,
        ttl_security: 0,
    }
}
