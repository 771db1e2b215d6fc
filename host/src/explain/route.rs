//! Does this node originate a prefix, and does it go to peers?

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Found, Rule, State, list, node_object, object, place, plugin_object};
use crate::engine::model::{CollectionId, Item, RouteOrigin, Snapshot};
use crate::engine::{
    Advertised, EXCLUDE_LABEL, KeptService, List, NoBlock, NoRange, NotAdvertised, Role, ServiceKey,
};
use crate::policy::RouteSaid;
use crate::resources::{BlockState, Kind, ObjectKey, TrafficPolicy};
use crate::types::{Family, Prefix};

/// The collections of prefixes that start at this node.
const ORIGINATED: [CollectionId; 4] =
    [CollectionId::Routes, CollectionId::Blocks, CollectionId::GlobalGateways, CollectionId::NodeGateways];

pub(super) fn explain(state: &State<'_>, prefix: &Prefix) -> Found {
    let mut found = Found::default();
    let family = prefix.family();
    let net = prefix.net();
    let in_force = || originated(state.snapshot(), family);
    let here: Vec<_> = in_force().filter(|(_, item)| item.net() == net).collect();
    found.present = !here.is_empty();
    found.places = here
        .iter()
        .filter(|(_, item)| item.is_written())
        .map(|(_, item)| place(family, "_aggr", item.prefix.to_string()))
        .collect();
    if found.present {
        own(state, prefix, &mut found);
        plugins(state, prefix, &mut found);
    } else {
        plugins(state, prefix, &mut found);
        own(state, prefix, &mut found);
    }
    if !found.present || !prefix.is_host() {
        near_ranges(state, prefix, &mut found);
    }
    services(state, prefix, &mut found);
    let around: Vec<_> =
        in_force().filter(|(_, item)| item.net() != net && item.net().contains(&net)).collect();
    for (_, item) in &around {
        let text = format!("lies inside {}, which this node originates", item.prefix);
        found.push(Rule::Covered, item.object(state), text);
    }
    blocks_passed_over(state, net, &mut found);
    let held_back = pools(state, prefix, &around, &mut found);
    rest(state, net, &mut found);
    if found.because.is_empty() {
        let text = format!(
            "no list of the BGPConfiguration, no Service, no block of this node and no pool has to do with {prefix}"
        );
        found.push(Rule::Unknown, None, text);
    }
    found.reports_of(state, &[Kind::Service, Kind::EndpointSlice, Kind::BlockAffinity]);
    let this = state.this();
    found.summary = match (found.present, around.first()) {
        (true, _) if here.iter().all(|(_, item)| matches!(item.item, Item::Gateway(_))) => {
            format!("node {this} has a static route to {prefix}, the way to a peer")
        }
        (true, _) if held_back || here.iter().all(|(_, item)| !item.is_exported()) => {
            format!("node {this} originates {prefix}, but it goes to no peer")
        }
        (true, _) => format!("node {this} originates {prefix}"),
        (false, Some((_, item))) => {
            format!("node {this} has no route of its own for {prefix}, which lies inside {}", item.prefix)
        }
        (false, None) => format!("node {this} does not originate {prefix}"),
    };
    found
}

/// A prefix that starts here.
#[derive(Clone, Copy)]
struct Origin<'a> {
    prefix: &'a Prefix,
    item: &'a Item,
}

impl<'a> Origin<'a> {
    /// The prefix of an item that has one.
    fn of(item: &'a Item) -> Option<Self> {
        let prefix = match item {
            Item::Block(block) => &block.prefix,
            Item::Route(route) => &route.prefix,
            Item::Gateway(gateway) => &gateway.prefix,
            Item::RoutePolicy(_) | Item::Peer(_) | Item::Filter(_) | Item::NextHop(_) => return None,
        };
        Some(Self { prefix, item })
    }

    fn net(self) -> IpNet {
        self.prefix.net()
    }

    /// Whether a static route is written for it: a single address that is a block has none.
    fn is_written(self) -> bool {
        !matches!(self.item, Item::Block(block) if !block.blackhole)
    }

    fn is_exported(self) -> bool {
        !matches!(self.item, Item::Block(block) if !block.exported)
    }

    /// The object that it comes from.
    fn object(self, state: &State<'_>) -> Option<String> {
        match self.item {
            Item::Route(route) => Some(match &route.origin {
                RouteOrigin::Configuration => configuration(state, self.prefix),
                RouteOrigin::Service(namespace, name) => service_object(&(namespace.clone(), name.clone())),
            }),
            Item::Block(block) => {
                state.engine.block_objects(&block.prefix.text()).next().map(|name| match name {
                    Some(name) => object(Kind::BlockAffinity, name),
                    None => node_object(state.this()),
                })
            }
            _ => None,
        }
    }
}

/// The prefixes of a family that start here.
fn originated(snapshot: &Snapshot, family: Family) -> impl Iterator<Item = (CollectionId, Origin<'_>)> {
    let model = snapshot.model(family);
    ORIGINATED.into_iter().flat_map(move |id| {
        model.collection(id).items.values().filter_map(move |item| Some((id, Origin::of(item)?)))
    })
}

/// Where the prefixes of a list stand.
fn configuration(state: &State<'_>, prefix: &Prefix) -> String {
    let mut lists = state.engine.ranges().filter(|(_, cidr, _)| cidr.net() == prefix.net());
    match lists.next() {
        Some((List::Cluster, ..)) if state.engine.settings().advertise_cluster_ips.is_some() => {
            "environment CALICO_ADVERTISE_CLUSTER_IPS".to_owned()
        }
        _ => "BGPConfiguration default".to_owned(),
    }
}

fn field(list: List) -> &'static str {
    match list {
        List::Cluster => "serviceClusterIPs",
        List::External => "serviceExternalIPs",
        List::LoadBalancer => "serviceLoadBalancerIPs",
    }
}

fn service_object(key: &ServiceKey) -> String {
    let (namespace, name) = key.clone();
    ObjectKey { kind: Kind::Service, namespace: Some(namespace), name }.to_string()
}

/// Where the prefix comes from before plugins have their say.
fn own(state: &State<'_>, prefix: &Prefix, found: &mut Found) {
    let engine = state.engine;
    for (id, item) in originated(engine.snapshot(), prefix.family()) {
        if item.net() != prefix.net() {
            continue;
        }
        match (id, item.item) {
            (CollectionId::Routes, _) => {
                for origin in engine.route_origins(item.prefix) {
                    // A Service is told with why it is advertised.
                    if origin == RouteOrigin::Configuration {
                        let lists =
                            engine.ranges().filter(|(_, cidr, is)| *cidr == item.prefix && is.is_ok());
                        let fields: Vec<&str> = lists.map(|(list, ..)| field(list)).collect();
                        let text = format!("it is in {}, which every node originates", fields.join(" and "));
                        found.push(Rule::ConfiguredRange, configuration(state, prefix), text);
                    }
                }
            }
            (CollectionId::Blocks, Item::Block(block)) => {
                for name in engine.block_objects(&block.prefix.text()) {
                    let (of, text) = match name {
                        Some(name) => (object(Kind::BlockAffinity, name), "it is a block of this node"),
                        None => {
                            (node_object(state.this()), "it is one of the node's pod CIDRs (USE_POD_CIDR)")
                        }
                    };
                    found.push(Rule::Block, of.clone(), text);
                    if !block.exported {
                        let text = format!(
                            "its state is {}: the addresses are still kept here, and no longer go to peers",
                            BlockState::PendingDeletion.as_str()
                        );
                        found.push(Rule::BlockState, of, text);
                    }
                }
            }
            (_, Item::Gateway(gateway)) => {
                let peers = engine.claims_to(prefix.net().addr());
                let winners = peers.values().filter_map(|claims| claims.first());
                for winner in winners {
                    let text = format!("the way to this peer is its reachableBy {}", gateway.via);
                    found.push(Rule::PeerGateway, object(Kind::BgpPeer, winner.peer), text);
                }
            }
            _ => {}
        }
    }
}

/// What plugins say of the prefix.
fn plugins(state: &State<'_>, prefix: &Prefix, found: &mut Found) {
    let Some(told) = state.told else { return };
    let engine = state.engine.snapshot();
    for id in [CollectionId::Routes, CollectionId::Blocks] {
        let items = &engine.model(prefix.family()).collection(id).items;
        let same =
            items.iter().filter(|(_, item)| Origin::of(item).is_some_and(|item| item.net() == prefix.net()));
        for (key, _) in same {
            for (plugin, said) in told.of_route(prefix.family(), id, key) {
                let what = if id == CollectionId::Blocks {
                    "the block goes to no peer; its addresses stay here"
                } else {
                    "the route is not originated"
                };
                let (rule, text) = match said {
                    RouteSaid::Rejected => (Rule::PluginDropped, format!("filter.advertise says no: {what}")),
                    RouteSaid::RejectedByFailure => (
                        Rule::PluginFailed,
                        format!("filter.advertise failed, and with `on_error = \"reject\"` {what}"),
                    ),
                    RouteSaid::Changed { attributes, to } => {
                        let to = to.map(|to| match &to[..] {
                            [] => "goes to nobody".to_owned(),
                            to => format!("goes only to {}", list(to, 10)),
                        });
                        let words: Vec<String> = attributes.into_iter().chain(to).collect();
                        (Rule::PluginChanged, format!("filter.advertise: {}", words.join(", ")))
                    }
                };
                found.push(rule, plugin_object(plugin), text);
            }
        }
    }
}

/// The prefix in the lists of the configuration, where it is no route.
fn near_ranges(state: &State<'_>, prefix: &Prefix, found: &mut Found) {
    for (list, cidr, is_range) in state.engine.ranges() {
        if cidr.net() != prefix.net() {
            continue;
        }
        let at = field(list);
        let text = match is_range {
            Ok(()) if state.engine.is_excluded() => {
                excluded(state, found);
                continue;
            }
            Ok(()) => continue,
            Err(NoRange::Single) => {
                format!("it is in {at} as a single address: routes to it come of the Services that have it")
            }
            Err(NoRange::Disaggregated) => format!(
                "it is in {at}, and serviceLoadBalancerAggregation is Disabled: routes come of Services one by one"
            ),
        };
        found.push(Rule::NotARange, configuration(state, prefix), text);
    }
}

/// That this node originates no route for Services.
pub(super) fn excluded(state: &State<'_>, found: &mut Found) {
    let text = format!("its label {EXCLUDE_LABEL} is \"true\", so it originates no route for Services");
    found.push(Rule::NodeExcluded, node_object(state.this()), text);
}

/// The Services that have the address.
fn services(state: &State<'_>, prefix: &Prefix, found: &mut Found) {
    if !prefix.is_host() {
        return;
    }
    let ip = prefix.net().addr();
    for (key, (service, roles)) in state.engine.services_at(ip) {
        let of = service_object(key);
        match state.engine.advertised(key, service) {
            Err(NotAdvertised::NodeExcluded) => excluded(state, found),
            Err(why) => {
                let text = format!(
                    "{}has {ip}, and {}",
                    role_words(&roles),
                    not_advertised(state, key, service, why)
                );
                found.push(Rule::ServiceNotAdvertised, of.clone(), text);
            }
            Ok(why) => {
                let admitted: Vec<Role> =
                    roles.iter().copied().filter(|role| state.engine.admits(*role, ip)).collect();
                if !admitted.is_empty() {
                    let text = format!("{}has {ip}, and {}", role_words(&admitted), advertised(service, why));
                    found.push(Rule::Service, of.clone(), text);
                }
            }
        }
        for role in &roles {
            if !state.engine.admits(*role, ip) {
                found.push(Rule::OutsideRanges, of.clone(), outside(state, *role, ip));
            }
        }
        if roles.is_empty() {
            let text = format!(
                "spec.loadBalancerIP asks for {ip}, and a route comes only of an address in status.loadBalancer.ingress"
            );
            found.push(Rule::OutsideRanges, of, text);
        }
    }
}

fn role_words(roles: &[Role]) -> String {
    let fields: Vec<&str> = roles.iter().map(|role| role_field(*role)).collect();
    if fields.is_empty() { String::new() } else { format!("{} ", fields.join(", ")) }
}

fn role_field(role: Role) -> &'static str {
    match role {
        Role::Cluster => "clusterIPs",
        Role::External => "externalIPs",
        Role::Ingress => "status.loadBalancer.ingress",
    }
}

fn outside(state: &State<'_>, role: Role, ip: IpAddr) -> String {
    let (list_of, at) = (role.list(), field(role.list()));
    let cidrs: Vec<_> =
        state.engine.ranges().filter(|(list, ..)| *list == list_of).map(|(_, cidr, _)| cidr).collect();
    let what = role_field(role);
    match &cidrs[..] {
        [] => format!("{what} has {ip}, and {at} of the BGPConfiguration has no prefix"),
        cidrs => {
            format!("{what} has {ip}, which is outside {at} of the BGPConfiguration: {}", list(cidrs, 10))
        }
    }
}

fn policy(service: &KeptService) -> &'static str {
    match service.traffic_policy() {
        TrafficPolicy::Cluster => "externalTrafficPolicy is Cluster",
        TrafficPolicy::Local => "externalTrafficPolicy is Local",
        TrafficPolicy::Other => "externalTrafficPolicy is not set",
    }
}

fn advertised(service: &KeptService, why: Advertised) -> String {
    let policy = policy(service);
    match why {
        Advertised::LoadBalancerIp(ip) => {
            format!("{policy}, and {ip} is in {} as a single address", field(List::LoadBalancer))
        }
        Advertised::ExternalIp(ip) => {
            format!("{policy}, and {ip} is in {} as a single address", field(List::External))
        }
        Advertised::EndpointHere => format!("{policy}, and an endpoint on this node is ready"),
        Advertised::Endpoint => {
            format!("{policy}, serviceLoadBalancerAggregation is Disabled, and an endpoint is ready")
        }
    }
}

fn not_advertised(state: &State<'_>, key: &ServiceKey, service: &KeptService, why: NotAdvertised) -> String {
    let policy = policy(service);
    match why {
        NotAdvertised::NoSlice => {
            "there is no EndpointSlice of it (label kubernetes.io/service-name)".to_owned()
        }
        NotAdvertised::NodeExcluded => format!("this node's label {EXCLUDE_LABEL} is \"true\""),
        NotAdvertised::Type => "its type is none of ClusterIP, NodePort and LoadBalancer".to_owned(),
        NotAdvertised::NoClusterIp => "it has no cluster IP".to_owned(),
        NotAdvertised::NoEndpointHere => {
            let node = &state.engine.settings().kubernetes_node;
            format!("{policy}, and no endpoint on node {node} is ready: {}", slices(state, key))
        }
        NotAdvertised::NoEndpoint => format!("no endpoint is ready: {}", slices(state, key)),
        NotAdvertised::Aggregated => format!(
            "{policy}, and serviceLoadBalancerAggregation is Enabled: it has no route of its own, and is reached \
             through the prefixes of the BGPConfiguration, which every node originates"
        ),
    }
}

/// The slices of a Service with what counts of them.
fn slices(state: &State<'_>, key: &ServiceKey) -> String {
    let words = state.engine.slices_of(key).into_iter().map(|slice| {
        let what = match (slice.counts, slice.ready_here, slice.ready) {
            (false, ..) => "is not of a family of the Service",
            (true, true, _) => "has a ready endpoint here",
            (true, false, true) => "has ready endpoints on other nodes only",
            (true, false, false) => "has no ready endpoint",
        };
        format!("EndpointSlice {} {what}", slice.name)
    });
    list(words, 5)
}

/// This node's BlockAffinities that have to do with the prefix and count for nothing.
fn blocks_passed_over(state: &State<'_>, net: IpNet, found: &mut Found) {
    for (name, cidr, why) in
        state.engine.blocks_passed_over().filter(|(_, cidr, _)| cidr.net().contains(&net))
    {
        let why = match why {
            NoBlock::Pending => "its state is pending: the block is not this node's yet",
            NoBlock::Deleted => "it is marked as deleted",
            NoBlock::Virtual => "it is virtual, and no route comes of it",
            NoBlock::OtherNode => "it is another node's",
        };
        found.push(Rule::BlockState, object(Kind::BlockAffinity, name), format!("{cidr}: {why}"));
    }
}

/// The pools that the prefix lies in; whether one of them holds it back from peers.
fn pools(
    state: &State<'_>,
    prefix: &Prefix,
    around: &[(CollectionId, Origin<'_>)],
    found: &mut Found,
) -> bool {
    let in_block = around.iter().any(|(id, _)| *id == CollectionId::Blocks);
    let mut held_back = false;
    for (name, pool) in state.engine.pools().filter(|(_, pool)| pool.cidr.net().contains(&prefix.net())) {
        let of = object(Kind::IpPool, name);
        let cidr = &pool.cidr;
        if pool.disable_bgp_export {
            held_back = true;
            let text = format!("spec.disableBGPExport is true: nothing inside {cidr} goes to peers");
            found.push(Rule::PoolNotExported, of, text);
        } else if !found.present && !in_block {
            let kernel = match prefix.is_host() {
                true => "; if a workload here has borrowed it, BIRD finds it in the kernel and passes it on",
                false => "",
            };
            let text = format!(
                "lies inside {cidr}, and no block of this node has it (the blocks of others are not known here){kernel}"
            );
            found.push(Rule::Pool, of, text);
        }
    }
    held_back
}

/// What else the files say of the prefix.
fn rest(state: &State<'_>, net: IpNet, found: &mut Found) {
    let family = Family::of(net.addr());
    let model = state.snapshot().model(family);
    for cidr in model.base.reflected.iter().filter(|cidr| cidr.net().contains(&net)) {
        let text =
            format!("lies inside {cidr}: this node, a route reflector, passes it on when it comes by BGP");
        found.push(Rule::Reflected, configuration(state, cidr), text);
    }
    let rejects = model.collection(CollectionId::Rejects).items.values();
    for reject in rejects.filter_map(|item| Origin::of(item)).filter(|reject| reject.net().contains(&net)) {
        let text =
            format!("lies inside {}: routes to it that come by BGP never enter the kernel", reject.prefix);
        found.push(Rule::NotProgrammed, configuration(state, reject.prefix), text);
    }
}
