use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::engine::Settings;
use crate::engine::config::Configurations;
use crate::engine::reports::Reports;
use crate::resources::{SliceEndpoint, TrafficPolicy};
use crate::types::Family;

const HERE: &str = "here";

const NAMESPACES: [&str; 2] = ["a", "b"];
const SERVICES: [&str; 3] = ["s", "s-1", "t"];
/// Some begin with the name of a Service, and the order of the others is among them.
const SLICES: [&str; 8] = ["s", "s-", "s-0", "s-1", "s-1-x", "s.1", "r", "t-1"];
const ADDRESSES: [&str; 5] = ["10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2", "192.0.2.1"];
/// Ranges and single addresses, some in another spelling than that of a Service's route.
const RANGES: [&str; 8] = [
    "10.0.0.0/24",
    "10.0.0.1/32",
    "10.0.0.2/32",
    "fd00::/64",
    "fd00::0/64",
    "fd00::1/128",
    "fd00::0:2/128",
    "192.0.2.0/24",
];

/// What can happen.
#[derive(Debug, Clone)]
enum Step {
    Service(ServiceKey, Option<Service>),
    Slice((Name, Name), Option<EndpointSlice>),
    Configuration {
        lists: [Vec<Prefix>; 3],
        aggregation: bool,
        advertising: Advertising,
    },
    /// All until here is one batch.
    Settle,
}

fn value<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

fn one_of<T: std::str::FromStr<Err: std::fmt::Debug> + Clone + std::fmt::Debug>(
    texts: &'static [&'static str],
) -> impl Strategy<Value = T> {
    proptest::sample::select(texts).prop_map(value)
}

fn key() -> impl Strategy<Value = ServiceKey> {
    (one_of(&NAMESPACES), one_of(&SERVICES))
}

fn addresses() -> impl Strategy<Value = Vec<IpAddr>> {
    vec(one_of(&ADDRESSES), 0..4)
}

fn service() -> impl Strategy<Value = Service> {
    let policy =
        proptest::sample::select(&[TrafficPolicy::Cluster, TrafficPolicy::Local, TrafficPolicy::Other][..]);
    let flags = (prop::bool::weighted(0.9), any::<bool>(), any::<bool>(), any::<bool>());
    (flags, [addresses(), addresses(), addresses()], option::of(one_of(&ADDRESSES)), policy).prop_map(
        |((routable, is_load_balancer, ipv4, ipv6), lists, load_balancer_ip, traffic_policy)| {
            let [cluster_ips, external_ips, ingress_ips] = lists;
            Service {
                namespace: value("unused"),
                name: value("unused"),
                routable,
                is_load_balancer,
                cluster_ips,
                ipv4,
                ipv6,
                external_ips,
                traffic_policy,
                load_balancer_ip,
                ingress_ips,
                facts: None,
            }
        },
    )
}

fn slice() -> impl Strategy<Value = EndpointSlice> {
    let endpoint = (option::of(proptest::sample::select(&[HERE, "there"][..])), any::<bool>())
        .prop_map(|(node, ready)| SliceEndpoint { node: node.map(Into::into), ready });
    let family = proptest::sample::select(&[None, Some(Family::V4), Some(Family::V6)][..]);
    let service = option::weighted(0.9, one_of(&SERVICES));
    (service, family, vec(endpoint, 0..3)).prop_map(|(service, family, endpoints)| EndpointSlice {
        namespace: value("unused"),
        name: value("unused"),
        service,
        family,
        endpoints,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let ranges = || vec(one_of(&RANGES), 0..4);
    let advertising =
        prop::bool::weighted(0.1).prop_map(|is| if is { Advertising::Excluded } else { Advertising::Yes });
    prop_oneof![
        6 => (key(), option::weighted(0.8, service())).prop_map(|(key, service)| Step::Service(key, service)),
        8 => (one_of(&NAMESPACES), one_of(&SLICES), option::weighted(0.8, slice()))
            .prop_map(|(namespace, name, slice)| Step::Slice((namespace, name), slice)),
        1 => ([ranges(), ranges(), ranges()], any::<bool>(), advertising).prop_map(
            |(lists, aggregation, advertising)| Step::Configuration { lists, aggregation, advertising }
        ),
        4 => Just(Step::Settle),
    ]
}

fn configuration() -> Effective {
    Configurations::default().effective(&Settings::new(value(HERE)), &mut Reports::default())
}

/// All that is there, from which everything is found by looking through all of it.
struct Naive {
    services: BTreeMap<ServiceKey, Service>,
    slices: BTreeMap<(Name, Name), EndpointSlice>,
    config: Effective,
    advertising: Advertising,
}

impl Naive {
    /// The slices of each Service, also of one that is not there, by name.
    fn slices(&self) -> BTreeMap<ServiceKey, Vec<(&Name, &EndpointSlice)>> {
        let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for ((namespace, name), slice) in &self.slices {
            if let Some(service) = &slice.service {
                all.entry((namespace.clone(), service.clone())).or_default().push((name, slice));
            }
        }
        all
    }

    /// What counts of the slices of each Service.
    fn facts(&self) -> BTreeMap<ServiceKey, Vec<(Name, Slice)>> {
        let facts = |(name, slice): (&Name, &EndpointSlice)| {
            let (ready, ready_here) = (is_ready(slice), is_ready_here(slice));
            (name.clone(), Slice { family: slice.family, ready, ready_here })
        };
        self.slices()
            .into_iter()
            .map(|(key, slices)| (key, slices.into_iter().map(facts).collect()))
            .collect()
    }

    fn is_advertised(&self, key: &ServiceKey, service: &Service) -> bool {
        let slices = self.slices().remove(key).unwrap_or_default();
        if slices.is_empty()
            || self.advertising == Advertising::Excluded
            || !service.routable
            || service.cluster_ips.is_empty()
        {
            return false;
        }
        let single = |list: &[Prefix], ips: &[IpAddr]| {
            ips.iter().any(|ip| list.iter().any(|cidr| cidr.is_host() && cidr.net().addr() == *ip))
        };
        let any = |is: fn(&EndpointSlice) -> bool| {
            slices.iter().any(|(_, slice)| counts(slice, service) && is(slice))
        };
        match service.traffic_policy {
            TrafficPolicy::Local => any(is_ready_here),
            policy => {
                let balanced = service.is_load_balancer
                    && (single(&self.config.load_balancer_ips, &service.ingress_ips)
                        || single(&self.config.load_balancer_ips, &Vec::from_iter(service.load_balancer_ip)));
                let listed = balanced || single(&self.config.external_ips, &service.external_ips);
                policy == TrafficPolicy::Cluster && listed
                    || !self.config.load_balancer_aggregation && any(is_ready)
            }
        }
    }

    /// The texts that the configuration originates where the node is not excluded.
    fn ranges(&self) -> BTreeSet<String> {
        let config = &self.config;
        let external = config.external_ips.iter().filter(|cidr| !cidr.is_host());
        let balanced = config
            .load_balancer_ips
            .iter()
            .filter(|cidr| !cidr.is_host() && config.load_balancer_aggregation);
        config.cluster_ips.iter().chain(external).chain(balanced).map(Prefix::to_string).collect()
    }

    /// Who originates which text, the winner first.
    fn origins(&self) -> BTreeMap<String, Vec<RouteOrigin>> {
        let mut all: BTreeMap<String, Vec<RouteOrigin>> = BTreeMap::new();
        if self.advertising == Advertising::Yes {
            all.extend(self.ranges().into_iter().map(|text| (text, vec![RouteOrigin::Configuration])));
        }
        for (key, service) in self.services.iter().filter(|(key, service)| self.is_advertised(key, service)) {
            let inside = |ips: &[IpAddr], list: &[Prefix]| -> Vec<IpAddr> {
                ips.iter().copied().filter(|ip| list.iter().any(|cidr| cidr.contains(*ip))).collect()
            };
            let config = &self.config;
            let mut ips: BTreeSet<IpAddr> = BTreeSet::new();
            if !config.cluster_ips.is_empty() {
                ips.extend(&service.cluster_ips);
            }
            ips.extend(inside(&service.external_ips, &config.external_ips));
            ips.extend(inside(&service.ingress_ips, &config.load_balancer_ips));
            for ip in ips {
                let origin = RouteOrigin::Service(key.0.clone(), key.1.clone());
                all.entry(Prefix::host(ip).to_string()).or_default().push(origin);
            }
        }
        all
    }
}

fn is_ready(slice: &EndpointSlice) -> bool {
    slice.endpoints.iter().any(|endpoint| endpoint.ready)
}

fn is_ready_here(slice: &EndpointSlice) -> bool {
    slice.endpoints.iter().any(|endpoint| endpoint.ready && endpoint.node.as_deref() == Some(HERE))
}

fn counts(slice: &EndpointSlice, service: &Service) -> bool {
    slice.family == Some(Family::V4) && service.ipv4 || slice.family == Some(Family::V6) && service.ipv6
}

/// The keys for which two tables say something else.
fn differing<K: Ord + Clone, V: PartialEq>(one: &BTreeMap<K, V>, other: &BTreeMap<K, V>) -> BTreeSet<K> {
    one.keys().chain(other.keys()).filter(|key| one.get(key) != other.get(key)).cloned().collect()
}

/// The engine's tables, and the same found by looking through everything.
struct Both {
    routes: Routes,
    naive: Naive,
    dirty: BTreeSet<ServiceKey>,
    configured: bool,
    /// As of the last batch.
    origins: BTreeMap<String, Vec<RouteOrigin>>,
    ranges: BTreeSet<String>,
    work: Work,
}

impl Both {
    fn new() -> Self {
        let naive = Naive {
            services: BTreeMap::new(),
            slices: BTreeMap::new(),
            config: configuration(),
            advertising: Advertising::Yes,
        };
        Self {
            routes: Routes::default(),
            naive,
            dirty: BTreeSet::new(),
            configured: false,
            origins: BTreeMap::new(),
            ranges: BTreeSet::new(),
            work: Work::default(),
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Service(key, service) => {
                self.routes.set_service(&key, service.clone().map(Box::new));
                match service {
                    Some(service) => drop(self.naive.services.insert(key.clone(), service)),
                    None => drop(self.naive.services.remove(&key)),
                }
                self.dirty.insert(key);
            }
            Step::Slice(key, slice) => {
                let before = self.naive.facts();
                match slice.clone() {
                    Some(slice) => drop(self.naive.slices.insert(key.clone(), slice)),
                    None => drop(self.naive.slices.remove(&key)),
                }
                let touched: BTreeSet<ServiceKey> = self.routes.set_slice(&key, slice, HERE).collect();
                assert_eq!(touched, differing(&before, &self.naive.facts()));
                self.dirty.extend(touched);
            }
            Step::Configuration { lists, aggregation, advertising } => {
                let config = &mut self.naive.config;
                [config.cluster_ips, config.external_ips, config.load_balancer_ips] = lists;
                config.load_balancer_aggregation = aggregation;
                self.naive.advertising = advertising;
                self.configured = true;
            }
            Step::Settle => self.settle(),
        }
    }

    fn settle(&mut self) {
        let (config, advertising) = (&self.naive.config, self.naive.advertising);
        let mut changed = Changed::default();
        let mut dirty = std::mem::take(&mut self.dirty);
        if std::mem::take(&mut self.configured) {
            let mut rejects = Vec::new();
            self.routes.refresh_configuration(config, advertising, &mut changed, &mut rejects);
            let ranges = self.naive.ranges();
            let rejects: BTreeSet<String> = rejects.iter().map(Prefix::to_string).collect();
            assert_eq!(rejects, self.ranges.symmetric_difference(&ranges).cloned().collect());
            self.ranges = ranges;
            dirty.extend(self.naive.services.keys().cloned());
        }
        for key in &dirty {
            self.routes.refresh_service(key, config, advertising, &mut changed, &mut self.work);
        }
        let origins = self.naive.origins();
        let changed: Vec<String> =
            changed.into_routes().iter().map(|(_, prefix)| prefix.to_string()).collect();
        assert_eq!(changed, Vec::from_iter(differing(&self.origins, &origins)));
        self.origins = origins;
        self.check();
    }

    fn check(&self) {
        let (routes, naive) = (&self.routes, &self.naive);
        let hosts = ADDRESSES.into_iter().map(|ip| Prefix::host(value(ip)));
        for prefix in RANGES.into_iter().map(value).chain(hosts) {
            let origins: Vec<RouteOrigin> = routes.origins(&prefix).collect();
            assert_eq!(origins, self.origins.get(&*prefix.text()).cloned().unwrap_or_default(), "{prefix}");
            let reject = naive.ranges().contains(&*prefix.text()).then_some(RouteOrigin::Configuration);
            assert_eq!(routes.reject(&prefix), reject, "{prefix}");
        }
        let facts = naive.facts();
        for (key, service) in &naive.services {
            let slices = facts.get(key).into_iter().flatten().map(|(name, slice)| SliceFacts {
                name: name.to_string(),
                counts: match slice.family {
                    Some(Family::V4) => service.ipv4,
                    Some(Family::V6) => service.ipv6,
                    None => false,
                },
                ready: slice.ready,
                ready_here: slice.ready_here,
            });
            assert_eq!(routes.slices_of(key), slices.collect::<Vec<_>>(), "{key:?}");
            let kept = routes.service(key).unwrap();
            let advertised = routes.advertised(key, kept, &naive.config, naive.advertising);
            assert_eq!(advertised.is_ok(), naive.is_advertised(key, service), "{key:?} {advertised:?}");
        }
        let services: BTreeSet<&ServiceKey> = routes.services().map(|(key, _)| key).collect();
        assert_eq!(services, naive.services.keys().collect());
        let known: BTreeSet<&ServiceKey> = routes.store.iter().map(|entry| &entry.key).collect();
        assert_eq!(known, naive.services.keys().chain(facts.keys()).collect(), "nothing else is kept");
        assert_eq!(routes.owners.len(), facts.values().map(Vec::len).sum::<usize>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn tables_say_what_looking_through_everything_says(steps in vec(step(), 1..60)) {
        let mut both = Both::new();
        for step in steps {
            both.take(step);
        }
        both.settle();
        for key in both.naive.slices.keys().cloned().collect::<Vec<_>>() {
            both.take(Step::Slice(key, None));
        }
        for key in both.naive.services.keys().cloned().collect::<Vec<_>>() {
            both.take(Step::Service(key, None));
        }
        both.settle();
    }
}

/// A Service that is advertised with these external addresses, if they are in the range of the configuration.
fn external(addresses: Vec<IpAddr>) -> Service {
    Service {
        namespace: value("unused"),
        name: value("unused"),
        routable: true,
        is_load_balancer: false,
        cluster_ips: vec![value("10.96.0.1")],
        ipv4: true,
        ipv6: false,
        external_ips: addresses,
        traffic_policy: TrafficPolicy::Local,
        load_balancer_ip: None,
        ingress_ips: Vec::new(),
        facts: None,
    }
}

fn ready_slice(service: &Name) -> EndpointSlice {
    EndpointSlice {
        namespace: value("unused"),
        name: value("unused"),
        service: Some(service.clone()),
        family: Some(Family::V4),
        endpoints: vec![SliceEndpoint { node: Some(HERE.into()), ready: true }],
    }
}

/// Tables under a configuration that lets all external addresses be routes.
struct External {
    routes: Routes,
    config: Effective,
    work: Work,
}

impl External {
    fn new() -> Self {
        let mut config = configuration();
        config.external_ips = vec![value("0.0.0.0/0")];
        Self { routes: Routes::default(), config, work: Work::default() }
    }

    /// Brings a Service with a slice, or takes it away; returns how many routes may differ.
    fn set(&mut self, name: &Name, addresses: Option<Vec<IpAddr>>) -> usize {
        let key = (value("a"), name.clone());
        let slice = addresses.as_ref().map(|_| ready_slice(name));
        self.routes.set_service(&key, addresses.map(|addresses| Box::new(external(addresses))));
        self.routes.set_slice(&key, slice, HERE).for_each(drop);
        let mut changed = Changed::default();
        self.routes.refresh_service(&key, &self.config, Advertising::Yes, &mut changed, &mut self.work);
        changed.into_routes().len()
    }

    fn winner(&self, address: IpAddr) -> Option<RouteOrigin> {
        self.routes.origins(&Prefix::host(address)).next()
    }
}

#[test]
fn a_service_can_have_very_many_addresses() {
    // A search of a list for each of them would take minutes.
    let addresses =
        || (0..100_000_u32).chain(0..10).map(|n| IpAddr::from(n.to_be_bytes())).collect::<Vec<_>>();
    let mut external = External::new();
    let (one, other): (Name, Name) = (value("s"), value("r"));
    let [seventh, eighth] = [7, 8].map(|n: u32| IpAddr::from(n.to_be_bytes()));
    assert_eq!(external.set(&one, Some(addresses())), 100_000);
    assert_eq!(external.set(&one, Some(addresses())), 0);
    assert_eq!(external.set(&other, Some(vec![seventh])), 1);
    assert_eq!(external.winner(seventh), Some(RouteOrigin::Service(value("a"), other)));
    assert_eq!(external.winner(eighth), Some(RouteOrigin::Service(value("a"), one.clone())));
    assert_eq!(external.set(&one, Some(vec![seventh])), 99_999);
    assert_eq!(external.winner(eighth), None);
}

#[test]
fn an_address_can_be_that_of_very_many_services() {
    const COUNT: usize = 20_000;
    let name = |n: usize| value::<Name>(&format!("s-{n:05}"));
    let address: IpAddr = value("192.0.2.1");
    let mut external = External::new();
    for n in (0..COUNT).rev() {
        assert_eq!(external.set(&name(n), Some(vec![address])), 1);
    }
    for n in 0..COUNT {
        assert_eq!(external.winner(address), Some(RouteOrigin::Service(value("a"), name(n))));
        assert_eq!(external.set(&name(n), None), 1);
    }
    assert_eq!(external.winner(address), None);
    assert_eq!(external.routes.store.iter().count(), 0);
}

#[test]
fn a_service_can_have_very_many_slices() {
    const COUNT: usize = 50_000;
    let name: Name = value("s");
    let key = (value::<Name>("a"), name.clone());
    let slice = |n: usize| (key.0.clone(), value::<Name>(&format!("s-{:05}", n * 7 % COUNT)));
    let mut routes = Routes::default();
    routes.set_service(&key, Some(Box::new(external(Vec::new()))));
    for n in 0..COUNT {
        assert_eq!(routes.set_slice(&slice(n), Some(ready_slice(&name)), HERE).count(), 1);
        assert_eq!(routes.set_slice(&slice(n), Some(ready_slice(&name)), HERE).count(), 0);
    }
    let names: Vec<String> = routes.slices_of(&key).into_iter().map(|slice| slice.name).collect();
    assert_eq!(names, (0..COUNT).map(|n| format!("s-{n:05}")).collect::<Vec<_>>());
    for n in 0..COUNT {
        assert_eq!(routes.set_slice(&slice(n), None, HERE).count(), 1);
    }
    assert_eq!(routes.slices_of(&key), []);
}
