//! `filter.advertise`: what becomes of the routes that start here.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::answer::{self, Fault, MAX_ROUTE_ITEMS, Once, at, bounded, piece, place};
use super::ledger::Ledger;
use super::{Asked, CallError, Facts, ItemKey, Items, Plugins, differences, request};
use crate::engine::model::RouteOrigin;
use crate::engine::{CollectionId, Item, Snapshot};
use crate::plugin::columns::Route;
use crate::plugin::contract::filter::{
    AdvertiseAnswer, AdvertiseRequest, Destination as ContractDestination, RouteKind, Routes,
};
use crate::types::{Community, Family, Name, Prefix, Priority};

/// The collections whose items are asked about.
pub(super) const COLLECTIONS: [CollectionId; 2] = [CollectionId::Routes, CollectionId::Blocks];

/// The items that are asked about: by family, and there by [`COLLECTIONS`].
pub(super) type Origins = [[Items; 2]; 2];

/// What one plugin said of a route.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) reject: bool,
    pub(super) communities: Vec<Community>,
    pub(super) priority: Option<Priority>,
    pub(super) to: Option<BTreeSet<Destination>>,
}

/// A remote end that a route may go to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Destination {
    BgpPeer(Name),
    Address(IpAddr),
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BgpPeer(name) => write!(f, "BGPPeer {name}"),
            Self::Address(ip) => write!(f, "{ip}"),
        }
    }
}

/// What one plugin said of all routes.
#[derive(Debug, Clone, Default)]
pub(super) struct Advertising {
    pub(super) ledger: Ledger<Decision>,
    origins: Origins,
}

/// The collections of a snapshot that are asked about.
pub(super) fn origins(snapshot: &Snapshot) -> Origins {
    Family::ALL.map(|family| COLLECTIONS.map(|id| snapshot.model(family).collection(id).items.clone()))
}

/// The items that differ, each with what a plugin is told of it before and after.
fn changed_origins<'a>(
    old: &'a Origins,
    new: &'a Origins,
) -> impl Iterator<Item = (ItemKey, Option<&'a Item>, Option<&'a Item>)> {
    Family::ALL.into_iter().flat_map(move |family| {
        COLLECTIONS.into_iter().enumerate().flat_map(move |(at, id)| {
            differences(&old[family.index()][at], &new[family.index()][at])
                .map(move |(key, old, new)| ((family, id, key.clone()), old.map(|i| &**i), new.map(|i| &**i)))
        })
    })
}

/// The item of a key.
pub(super) fn origin<'a>(origins: &'a Origins, (family, id, key): &ItemKey) -> Option<&'a Arc<Item>> {
    let at = COLLECTIONS.iter().position(|other| other == id)?;
    origins[family.index()][at].get(key)
}

/// A Service's namespace and name.
type ServiceName<'a> = (&'a Name, &'a Name);

/// What a plugin is told of an item.
pub(super) fn facts(item: &Item) -> Option<(&Prefix, RouteKind, Option<ServiceName<'_>>)> {
    match item {
        Item::Block(block) => Some((&block.prefix, RouteKind::Block, None)),
        Item::Route(route) => Some(match &route.origin {
            RouteOrigin::Configuration => (&route.prefix, RouteKind::Cidr, None),
            RouteOrigin::Service(namespace, name) => {
                (&route.prefix, RouteKind::Service, Some((namespace, name)))
            }
        }),
        _ => None,
    }
}

impl Advertising {
    /// Asks a plugin about the routes that it must be asked about.
    ///
    /// # Errors
    /// As [`Ledger::update`].
    pub(super) fn update(
        &mut self,
        plugin: usize,
        about: &Facts,
        snapshot: &Snapshot,
        new: &Origins,
        plugins: &mut dyn Plugins,
        changed: &mut BTreeSet<ItemKey>,
    ) -> Result<(), CallError> {
        let mut differ = Vec::new();
        for (key, old, new) in changed_origins(&self.origins, new) {
            match (old.and_then(facts), new.and_then(facts)) {
                (_, None) => self.ledger.gone(&key),
                (Some(old), Some(new)) if old == new => {}
                (_, Some(_)) => differ.push(key),
            }
        }
        self.ledger.changed(differ);
        self.origins = new.clone();
        let ask = |keys: &[ItemKey]| {
            let Asked { answer, reads } = plugins.advertise(plugin, &request(keys, new))?;
            let decisions = validate(&answer, keys.len()).map_err(|cause| CallError {
                plugin: about.name.clone(),
                call: "filter.advertise",
                cause,
            })?;
            let answer =
                decisions.into_iter().map(|(place, decision)| (keys[place].clone(), Arc::new(decision)));
            Ok(Asked { answer: answer.collect(), reads })
        };
        self.ledger.update(about, snapshot, ask, changed)
    }
}

fn request(keys: &[ItemKey], origins: &Origins) -> AdvertiseRequest {
    let (mut text, mut routes) = (String::new(), Routes::default());
    for (prefix, kind, service) in keys.iter().filter_map(|key| facts(origin(origins, key)?)) {
        let (namespace, name) =
            service.map_or(("", ""), |(namespace, name)| (namespace.as_str(), name.as_str()));
        routes.push(&Route {
            prefix: request::prefix(prefix),
            kind,
            namespace: request::span(&mut text, namespace),
            service: request::span(&mut text, name),
        });
    }
    AdvertiseRequest { text, routes }
}

/// Checks an answer about that many routes: the decisions, by place.
fn validate(answer: &AdvertiseAnswer, routes: usize) -> Result<Vec<(usize, Decision)>, Fault> {
    bounded("decisions", &answer.decisions, routes)?;
    bounded("communities", &answer.communities, routes.saturating_mul(MAX_ROUTE_ITEMS))?;
    bounded("destinations", &answer.destinations, routes.saturating_mul(MAX_ROUTE_ITEMS))?;
    let mut once = Once::new(routes);
    let mut decisions = Vec::with_capacity(answer.decisions.len());
    for (index, decision) in answer.decisions.iter().enumerate() {
        let fault = |fault: Fault| at("decisions", index, fault);
        let route = place("routes", decision.route, routes).map_err(fault)?;
        once.take(route).map_err(fault)?;
        let communities = piece("communities", &answer.communities, decision.communities).map_err(fault)?;
        bounded("communities", communities, MAX_ROUTE_ITEMS).map_err(fault)?;
        let priority = decision.priority.map(answer::priority).transpose().map_err(fault)?;
        let to = match decision.to {
            None => None,
            Some(range) => {
                let to = piece("destinations", &answer.destinations, range).map_err(fault)?;
                bounded("destinations", to, MAX_ROUTE_ITEMS).map_err(fault)?;
                let to = to.iter().map(|to| destination(&answer.text, to)).collect::<Result<_, _>>();
                Some(to.map_err(fault)?)
            }
        };
        let decision = if decision.accept {
            let communities = communities.iter().copied().map(answer::community).collect();
            Decision { reject: false, communities, priority, to }
        } else {
            Decision { reject: true, ..Decision::default() }
        };
        if decision != Decision::default() {
            decisions.push((route, decision));
        }
    }
    Ok(decisions)
}

fn destination(text: &str, destination: &ContractDestination) -> Result<Destination, Fault> {
    Ok(match destination {
        ContractDestination::Address(address) => Destination::Address(answer::address(*address)),
        ContractDestination::BgpPeer(span) => {
            let text = answer::text(text, *span)?;
            let shown: String = text.chars().take(80).collect();
            Destination::BgpPeer(text.parse().map_err(|error| format!("BGPPeer {shown:?}: {error}"))?)
        }
    })
}
