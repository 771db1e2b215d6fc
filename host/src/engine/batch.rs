//! One batch: first every event is taken into its table, then what they can have touched is computed, once.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use super::config::Owner as ConfigurationOwner;
use super::model::{Block, Changes, CollectionId, Item, NextHop, Route};
use super::nodes::{self, Node, NodeChange, NodeSource, Said, Source};
use super::peerings::{self, Context, Pass, PeeringKey};
use super::pools::{self, BlockOwner, OwnBlock};
use super::routes::{Advertising, ServiceKey};
use super::secrets::Lookup;
use super::sessions::{self, Mesh, Own};
use super::writer::Writer;
use super::{Engine, Event, Placed, Texts, base, keys};
use crate::resources::{BgpFilter, BlockState, Kind, ObjectError, ObjectKey, Parsed, Resource, Text};
use crate::types::{Family, Name, Prefix, ValueError};

/// The label that takes a node out of advertising.
const EXCLUDE_LABEL: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// What the events of a batch can have touched.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    /// Nothing was computed yet.
    start: bool,
    nodes: BTreeSet<Name>,
    configuration: bool,
    /// Nodes whose own BGPConfiguration changed.
    node_configurations: BTreeSet<Name>,
    peers: BTreeSet<ObjectKey>,
    specs: Vec<(Name, Option<Box<crate::resources::BgpPeer>>)>,
    filters: Vec<(Name, Option<Option<BgpFilter>>)>,
    secrets: BTreeSet<Name>,
    peerings: peerings::Dirty,
    pools: Texts,
    pools_any: bool,
    blocks: Texts,
    services: BTreeSet<ServiceKey>,
}

impl Engine {
    /// Takes an event into its table.
    pub(super) fn take(&mut self, event: Event, dirty: &mut Dirty) {
        let (key, object) = match event {
            Event::Delete(key) => {
                self.reports.clear_all(&key);
                (key, None)
            }
            Event::Upsert(Parsed { key, resource, warnings }) => {
                self.reports.clear(&key, "parsed");
                self.reports.clear(&key, "");
                for warning in warnings {
                    self.reports.warn(&key, "parsed", warning);
                }
                if let Err(error) = &resource {
                    self.reports.left_out(error.clone());
                }
                (key, Some(resource))
            }
        };
        self.take_object(&key, object, dirty);
    }

    fn take_object(
        &mut self,
        key: &ObjectKey,
        object: Option<Result<Resource, ObjectError>>,
        dirty: &mut Dirty,
    ) {
        let name = &key.name;
        match key.kind {
            Kind::CalicoNode | Kind::KubeNode => {
                let source = if key.kind == Kind::CalicoNode { Source::Calico } else { Source::Kubernetes };
                let said = match object {
                    None => Said::Nothing,
                    Some(Ok(Resource::CalicoNode(node))) => Said::Node(NodeSource::from(node)),
                    Some(Ok(Resource::KubeNode(node))) => Said::Node(NodeSource::from(node)),
                    Some(_) => Said::Malformed,
                };
                self.nodes.say(name, source, said);
                dirty.nodes.insert(name.clone());
            }
            Kind::BgpConfiguration => {
                let object = object.map(|object| match object {
                    Ok(Resource::BgpConfiguration(configuration)) => Ok(*configuration),
                    other => Err(error_of(key, other)),
                });
                match self.configurations.set(key, object, &mut self.reports) {
                    ConfigurationOwner::Cluster => dirty.configuration = true,
                    ConfigurationOwner::Node(node) => drop(dirty.node_configurations.insert(node)),
                    ConfigurationOwner::Nobody => {}
                }
            }
            Kind::BgpPeer => {
                let spec = object.and_then(|object| match object {
                    Ok(Resource::BgpPeer(peer)) => Some(peer),
                    _ => None,
                });
                dirty.specs.push((name.clone(), spec));
                dirty.peers.insert(key.clone());
            }
            Kind::BgpFilter => {
                let filter = object.map(|object| match object {
                    Ok(Resource::BgpFilter(filter)) => Some(filter),
                    _ => None,
                });
                dirty.filters.push((name.clone(), filter));
            }
            Kind::IpPool => {
                let pool = object.map(|object| match object {
                    Ok(Resource::IpPool(pool)) => Ok(pool),
                    other => Err(error_of(key, other)),
                });
                dirty.pools.extend(self.pools.set(key, pool));
                dirty.pools_any = true;
            }
            Kind::BlockAffinity => self.take_block(key, object, dirty),
            Kind::Service | Kind::EndpointSlice => self.take_service_part(key, object, dirty),
            Kind::Secret => {
                if key.namespace.as_ref() == Some(&self.settings.secret_namespace) {
                    let secret = object.map(|object| match object {
                        Ok(Resource::Secret(secret)) => Some(secret),
                        _ => None,
                    });
                    self.secrets.set(name, secret);
                    dirty.secrets.insert(name.clone());
                }
            }
            Kind::Workload => {
                let status = object.and_then(|object| match object {
                    Ok(Resource::Workload(status)) => Some(status),
                    _ => None,
                });
                self.peerings.set_workload(name, status, &mut dirty.peerings);
            }
        }
    }

    fn take_block(
        &mut self,
        key: &ObjectKey,
        object: Option<Result<Resource, ObjectError>>,
        dirty: &mut Dirty,
    ) {
        if self.settings.use_pod_cidr {
            return;
        }
        let block = match object {
            Some(Ok(Resource::BlockAffinity(block))) => Some(block),
            _ => None,
        };
        let own = block.filter(|block| {
            block.node == self.settings.node
                && !block.deleted
                && !block.is_virtual
                && block.state != BlockState::Pending
        });
        let blocks = own.map(|block| OwnBlock { cidr: block.cidr, state: block.state }).into_iter().collect();
        dirty.blocks.extend(self.blocks.set(&BlockOwner::Affinity(key.name.clone()), blocks));
    }

    fn take_service_part(
        &mut self,
        key: &ObjectKey,
        object: Option<Result<Resource, ObjectError>>,
        dirty: &mut Dirty,
    ) {
        let Some(namespace) = key.namespace.clone() else { return };
        let at = (namespace, key.name.clone());
        if key.kind == Kind::Service {
            let service = object.and_then(|object| match object {
                Ok(Resource::Service(service)) => Some(service),
                _ => None,
            });
            self.routes.set_service(&at, service);
            dirty.services.insert(at);
        } else {
            let slice = object.and_then(|object| match object {
                Ok(Resource::EndpointSlice(slice)) => Some(slice),
                _ => None,
            });
            dirty.services.extend(self.routes.set_slice(&at, slice.as_ref(), &self.settings.kubernetes_node));
        }
    }

    /// The first computation, of a cluster without objects.
    pub(super) fn start(&mut self) {
        self.settle(Dirty { start: true, configuration: true, ..Dirty::default() });
    }

    /// Computes what is dirty.
    pub(super) fn settle(&mut self, mut dirty: Dirty) -> Changes {
        let mut writer = Writer::default();
        let mut rest = Rest::default();
        self.settle_configuration(&mut dirty, &mut writer, &mut rest);
        self.settle_nodes(&mut dirty, &mut writer, &mut rest);
        self.settle_own(&mut dirty, &mut rest);
        self.settle_filters(&mut dirty, &mut writer);
        self.settle_peerings(&mut dirty, &mut writer, rest.sessions);
        self.settle_mesh(&dirty, &mut writer, &rest);
        self.settle_pools(&dirty, &mut writer, &rest);
        self.settle_blocks(&dirty, &mut writer, &rest);
        self.settle_routes(&dirty, &mut writer, &rest);
        let (changes, keys) = writer.commit(&mut self.snapshot);
        self.work.keys_touched += keys;
        changes
    }

    fn settle_configuration(&mut self, dirty: &mut Dirty, writer: &mut Writer, rest: &mut Rest) {
        if !dirty.configuration && dirty.node_configurations.is_empty() {
            return;
        }
        if dirty.configuration {
            self.configurations.write_global(&mut self.snapshot.view, &mut writer.view, &mut self.reports);
        }
        for node in &dirty.node_configurations {
            self.configurations.write_node(
                node,
                &mut self.snapshot.view,
                &mut writer.view,
                &mut self.reports,
            );
        }
        writer.view.put(&mut self.snapshot.view, keys::CONFIGURATION_MARK.into(), Some("".into()));
        writer.view.touch(keys::CONFIGURATION_MARK.into());
        let new = self.configurations.effective(&self.settings, &mut self.reports);
        let old = std::mem::replace(&mut self.effective, new);
        rest.base |= old != self.effective;
        rest.all_mesh |= dirty.start || self.effective.changes_mesh(&old);
        rest.routes |= dirty.start || self.effective.changes_routes(&old);
        rest.priority |= self.effective.changes_own(&old);
        if self.effective.changes_peers(&old) {
            self.peerings.names().for_each(|name| dirty.peerings.peer(name.clone()));
        }
        for node in &dirty.node_configurations {
            self.peerings.port_changed(
                node,
                &self.nodes,
                &self.selectors,
                &self.settings.node,
                &mut dirty.peerings,
            );
            rest.mesh_nodes.insert(node.clone());
        }
    }

    fn settle_nodes(&mut self, dirty: &mut Dirty, writer: &mut Writer, rest: &mut Rest) {
        for name in std::mem::take(&mut dirty.nodes) {
            let Some(change) = self.nodes.refresh(&name, self.settings.use_pod_cidr) else { continue };
            if change.facts() {
                nodes::write_view(&mut self.snapshot.view, &mut writer.view, &name, change.new.as_deref());
            }
            let before: Vec<_> = self.selectors.of_node(name.as_str()).collect();
            let flipped =
                self.selectors.node_changed(&name, change.old.as_ref(), change.new.as_ref(), &mut self.work);
            let this = &self.settings.node;
            self.peerings.node_changed(
                &change,
                &before,
                &flipped,
                &self.selectors,
                this,
                &mut dirty.peerings,
            );
            if name == *this {
                rest.own_node = true;
                let wireguard = |node: &Option<Arc<Node>>| {
                    Family::ALL.map(|family| node.as_ref().and_then(|node| node.wireguard(family)).is_some())
                };
                rest.all_wireguard |= wireguard(&change.old) != wireguard(&change.new);
            } else if change.facts() {
                rest.wireguard.extend(wireguard_addresses(&change));
                rest.mesh_nodes.insert(name);
            }
        }
    }

    /// This node's own facts: what they are now, and what follows if they are others than before.
    fn settle_own(&mut self, dirty: &mut Dirty, rest: &mut Rest) {
        if !(rest.own_node || rest.priority) {
            return;
        }
        let node = self.nodes.get(self.settings.node.as_str()).cloned();
        let own = Family::ALL.map(|family| {
            let node = node.as_ref()?;
            Some(Own {
                family,
                address: node.address(family)?,
                as_number: node.bgp.as_number.unwrap_or(self.effective.as_number),
                cluster_id: node.bgp.cluster_id,
                priority: self.effective.priority(family),
            })
        });
        rest.base = true;
        if own != self.own {
            self.own = own;
            rest.sessions = true;
            rest.all_mesh = true;
        }
        let excluded =
            node.as_ref().is_some_and(|n| n.labels.get(EXCLUDE_LABEL).is_some_and(|v| &**v == "true"));
        let advertising = if excluded { Advertising::Excluded } else { Advertising::Yes };
        if advertising != self.advertising {
            self.advertising = advertising;
            rest.routes = true;
        }
        if rest.own_node && self.settings.use_pod_cidr {
            let cidrs = node.map(|n| n.pod_cidrs.clone()).unwrap_or_default();
            let blocks =
                cidrs.into_iter().map(|cidr| OwnBlock { cidr, state: BlockState::Confirmed }).collect();
            dirty.blocks.extend(self.blocks.set(&BlockOwner::PodCidrs, blocks));
        }
    }

    fn settle_filters(&mut self, dirty: &mut Dirty, writer: &mut Writer) {
        for (name, filter) in std::mem::take(&mut dirty.filters) {
            let key = ObjectKey::global(Kind::BgpFilter, name.clone());
            let json = filter.as_ref().and_then(Option::as_ref).map(|filter| filter.json.clone());
            writer.view.put(&mut self.snapshot.view, keys::filter(&name).into(), json);
            let change = self.filters.set(&name, filter.as_ref().map(Option::as_ref));
            self.reports.clear(&key, "rules");
            for warning in change.warnings {
                self.reports.warn(
                    &key,
                    "rules",
                    ObjectError::new(&key, "spec", "", &ValueError::new(warning)),
                );
            }
            for (family, functions) in Family::ALL.into_iter().zip(change.functions) {
                let item = functions.map(Item::Filter);
                writer.put(&mut self.snapshot.models, family, CollectionId::Filters, name.shared(), item);
            }
            if change.calls {
                let peers: Vec<Name> = self.peerings.with_filter(name.as_str()).cloned().collect();
                for peer in peers {
                    dirty.peers.insert(ObjectKey::global(Kind::BgpPeer, peer));
                }
            }
        }
    }

    fn settle_peerings(&mut self, dirty: &mut Dirty, writer: &mut Writer, all_sessions: bool) {
        for (name, spec) in std::mem::take(&mut dirty.specs) {
            let (nodes, selectors) = (&self.nodes, &mut self.selectors);
            self.peerings.set(&name, spec, nodes, selectors, &mut self.reports, &mut self.work);
            dirty.peerings.peer(name);
        }
        for secret in &dirty.secrets {
            for name in self.peerings.with_secret(secret.as_str()) {
                dirty.peerings.peer(name.clone());
            }
        }
        self.report_filters(&dirty.peers);
        let context = Context {
            settings: &self.settings,
            nodes: &self.nodes,
            configurations: &self.configurations,
            as_number: self.effective.as_number,
            secrets: &self.secrets,
        };
        let peerings = std::mem::take(&mut dirty.peerings);
        let mut changed =
            self.peerings.refresh(peerings, &context, &self.selectors, &mut self.reports, &mut self.work);
        if all_sessions {
            changed.extend(self.peerings.keys().copied());
        }
        for key in &dirty.peers {
            changed.extend(self.peerings.keys_of(key.name.as_str()).copied());
        }
        for key in changed {
            self.place(key, writer);
        }
    }

    /// Warns of filters that BGPPeers name and that do not exist.
    fn report_filters(&mut self, peers: &BTreeSet<ObjectKey>) {
        for key in peers {
            self.reports.clear(key, "filters");
            for filter in self.peerings.filters_of(key.name.as_str()) {
                if !self.filters.exists(filter.as_str()) {
                    let reason = ValueError::new("there is no BGPFilter of this name; it is skipped");
                    let error = ObjectError::new(key, "spec.filters", filter.as_str(), &reason);
                    self.reports.warn(key, "filters", error);
                }
            }
        }
    }

    /// Brings a peering, as it is now, into the view and the model.
    fn place(&mut self, key: PeeringKey, writer: &mut Writer) {
        self.work.peers_computed += 1;
        let family = Family::of(key.0);
        let mut placed = Placed::default();
        let mut session = None;
        let mut gateway = None;
        let mut value = None;
        if let Some((owner, peering)) = self.peerings.winner(&key) {
            let global = owner.pass == Pass::Global;
            let view_key = match owner.pass {
                Pass::Global => keys::global_peer(key.0, key.1),
                Pass::Node | Pass::Reverse => keys::node_peer(&self.settings.node, key.0, key.1),
            };
            placed.view_key = Some(view_key.into());
            value = Some(peering);
            if let Some(own) = &self.own[family.index()] {
                session = sessions::explicit(owner.pass, peering, own, &self.filters);
                placed.session = session.as_ref().map(|peer| peer.name.as_str().into());
            }
            gateway = sessions::gateway(peering);
            if gateway.is_some() {
                placed.gateway =
                    Some(if global { CollectionId::GlobalGateways } else { CollectionId::NodeGateways });
            }
        }
        let view = &mut self.snapshot.view;
        let models = &mut self.snapshot.models;
        let gateway_key = || -> Arc<str> {
            match key.1 {
                Some(port) => format!("{}-{port}", key.0).into(),
                None => key.0.to_string().into(),
            }
        };
        if let Some(old) = self.placed.get(&key) {
            if let Some(view_key) = old.view_key.as_ref().filter(|_| old.view_key != placed.view_key) {
                writer.view.put(view, view_key.clone(), None);
            }
            if let Some(name) = old.session.as_ref().filter(|_| old.session != placed.session) {
                writer.put(models, family, CollectionId::Peers, name.clone(), None);
            }
            if let Some(id) = old.gateway.filter(|_| old.gateway != placed.gateway) {
                writer.put(models, family, id, gateway_key(), None);
            }
        }
        if let (Some(peering), Some(view_key)) = (value, &placed.view_key) {
            let hidden: Arc<str> = sessions::json(peering, false).into();
            if peering.password.is_some() {
                writer.view.put_secret(view, view_key.clone(), hidden, sessions::json(peering, true).into());
            } else {
                writer.view.put(view, view_key.clone(), Some(hidden));
            }
        }
        if let (Some(peer), Some(name)) = (session, &placed.session) {
            writer.put(models, family, CollectionId::Peers, name.clone(), Some(Item::Peer(peer)));
        }
        if let (Some(gateway), Some(id)) = (gateway, placed.gateway) {
            writer.put(models, family, id, gateway_key(), Some(Item::Gateway(gateway)));
        }
        if placed == Placed::default() {
            self.placed.remove(&key);
        } else {
            self.placed.insert(key, placed);
        }
    }

    /// What is wrong with the mesh's password, if it is there and cannot be used.
    pub(super) fn mesh_password_error(&self) -> Option<ObjectError> {
        let at = self.effective.mesh_password.as_ref()?;
        let Lookup::Unusable(reason) = self.secrets.lookup(at) else { return None };
        let key = ObjectKey::global(Kind::BgpConfiguration, default_name()?);
        let reason = ValueError::new(reason);
        Some(ObjectError::new(&key, "spec.nodeMeshPassword", &format!("{}/{}", at.name, at.key), &reason))
    }

    fn settle_mesh(&mut self, dirty: &Dirty, writer: &mut Writer, rest: &Rest) {
        let named = self.effective.mesh_password.as_ref().is_some_and(|at| dirty.secrets.contains(&at.name));
        let mut nodes = rest.mesh_nodes.clone();
        if rest.all_mesh || named {
            self.mesh = self.mesh_now();
            nodes.extend(self.nodes.iter().map(|(name, _)| name.clone()));
        }
        let mut changed: BTreeSet<IpAddr> = BTreeSet::new();
        for name in &nodes {
            let sessions = self.mesh_sessions(name);
            self.work.peers_computed += sessions.len();
            self.mesh_peers.replace(name, sessions, |ip| {
                changed.insert(*ip);
            });
        }
        for ip in changed {
            let name: Arc<str> = sessions::session_name("Mesh", ip, None).into();
            let item = self.mesh_peers.winner(&ip).map(|(_, peer)| Item::Peer(peer.clone()));
            writer.put(&mut self.snapshot.models, Family::of(ip), CollectionId::Peers, name, item);
        }
        for ip in &rest.wireguard {
            self.place_wireguard(*ip, writer);
        }
        if rest.all_wireguard {
            let mut all: BTreeSet<IpAddr> = BTreeSet::new();
            for (_, node) in self.nodes.iter() {
                all.extend(
                    Family::ALL
                        .into_iter()
                        .filter_map(|family| node.wireguard(family).and(node.address(family))),
                );
            }
            for family in Family::ALL {
                let placed = &self.snapshot.models[family.index()].collection(CollectionId::Wireguard).items;
                all.extend(placed.values().filter_map(|item| match &**item {
                    Item::NextHop(next_hop) => Some(next_hop.ip),
                    _ => None,
                }));
            }
            for ip in all {
                self.place_wireguard(ip, writer);
            }
        }
    }

    /// What the mesh's sessions have in common, if this node takes part in the mesh.
    fn mesh_now(&mut self) -> Option<Mesh> {
        let key = ObjectKey::global(Kind::BgpConfiguration, default_name()?);
        self.reports.clear(&key, "mesh");
        if !self.effective.mesh {
            return None;
        }
        let password = match self.effective.mesh_password.as_ref().map(|at| (at, self.secrets.lookup(at))) {
            Some((_, Lookup::Found(password))) => Some(password),
            Some((at, Lookup::Missing(reason))) => {
                let reason =
                    ValueError::new(format!("{reason}: the mesh has no password until there is one"));
                let at = format!("{}/{}", at.name, at.key);
                self.reports.warn(
                    &key,
                    "mesh",
                    ObjectError::new(&key, "spec.nodeMeshPassword", &at, &reason),
                );
                None
            }
            // An unusable one blocks rendering.
            Some((_, Lookup::Unusable(_))) | None => None,
        };
        Some(Mesh { restart_time: self.effective.mesh_restart_time, password })
    }

    fn mesh_sessions(&self, name: &Name) -> Vec<(IpAddr, super::model::Peer)> {
        let (Some(mesh), Some(node)) = (&self.mesh, self.nodes.get(name.as_str())) else { return Vec::new() };
        if *name == self.settings.node || node.bgp.cluster_id.is_some() {
            return Vec::new();
        }
        let port = self.configurations.listen_port(name.as_str());
        let own = self.own.iter().flatten().filter(|own| own.cluster_id.is_none());
        own.filter_map(|own| {
            let ip = node.address(own.family).filter(|ip| *ip != own.address)?;
            Some((ip, sessions::mesh(ip, port, node.bgp.as_number, own, mesh)))
        })
        .collect()
    }

    /// Brings a next hop into the model if WireGuard owns it, and out if not.
    fn place_wireguard(&mut self, ip: IpAddr, writer: &mut Writer) {
        let family = Family::of(ip);
        let this = &self.settings.node;
        let own = self.nodes.get(this.as_str()).is_some_and(|node| node.wireguard(family).is_some());
        let owned = own
            && self.nodes.with_address(ip).any(|name| {
                name != this
                    && self.nodes.get(name.as_str()).is_some_and(|node| node.wireguard(family).is_some())
            });
        let item = owned.then_some(Item::NextHop(NextHop { ip }));
        writer.put(&mut self.snapshot.models, family, CollectionId::Wireguard, ip.to_string().into(), item);
    }

    fn settle_pools(&mut self, dirty: &Dirty, writer: &mut Writer, rest: &Rest) {
        for text in &dirty.pools {
            let Some(key) = text.parse::<Prefix>().ok().map(|cidr| keys::pool(&cidr)) else { continue };
            let json = self.pools.get(text).map(|pool| pools::json(pool).into());
            writer.view.put(&mut self.snapshot.view, key.into(), json);
        }
        if rest.base || dirty.pools_any {
            let node = self.nodes.get(self.settings.node.as_str()).map(|node| &**node);
            for family in Family::ALL {
                let base = base::compute(family, &self.settings, node, &self.effective, self.pools.iter());
                writer.put_base(&mut self.snapshot.models, base);
            }
        }
    }

    fn settle_blocks(&mut self, dirty: &Dirty, writer: &mut Writer, rest: &Rest) {
        let mut texts = dirty.blocks.clone();
        if rest.priority {
            for model in &self.snapshot.models {
                texts.extend(model.collection(CollectionId::Blocks).items.values().filter_map(|item| {
                    match &**item {
                        Item::Block(block) => Some(block.prefix.text().clone()),
                        _ => None,
                    }
                }));
            }
        }
        for text in texts {
            let block = self.blocks.get(&text);
            let Some(cidr) = block.map(|b| b.cidr.clone()).or_else(|| text.parse().ok()) else { continue };
            let json = block.map(|block| pools::block_json(block).into());
            writer.view.put(&mut self.snapshot.view, keys::block(&self.settings.node, &cidr).into(), json);
            let item = block.map(|block| {
                Item::Block(Block {
                    prefix: block.cidr.clone(),
                    blackhole: !block.cidr.is_host(),
                    exported: block.state != BlockState::PendingDeletion,
                    confirmed: block.state == BlockState::Confirmed,
                    normal_priority: self.effective.priority(block.cidr.family()),
                })
            });
            let key = cidr.key().into();
            writer.put(&mut self.snapshot.models, cidr.family(), CollectionId::Blocks, key, item);
        }
    }

    fn settle_routes(&mut self, dirty: &Dirty, writer: &mut Writer, rest: &Rest) {
        let (mut routes, mut rejects) = (Texts::new(), Texts::new());
        let (config, advertising) = (&self.effective, self.advertising);
        let services: Vec<ServiceKey> = if rest.routes {
            self.routes.refresh_configuration(config, advertising, &mut routes, &mut rejects);
            // All that there are, and of the dirty ones those that are gone.
            let gone = dirty.services.iter().filter(|key| !self.routes.has_service(key));
            self.routes.services().chain(gone).cloned().collect()
        } else {
            dirty.services.iter().cloned().collect()
        };
        for key in &services {
            self.routes.refresh_service(key, config, advertising, &mut routes, &mut self.work);
        }
        for text in &routes {
            let route = self.routes.route(text);
            place_route(&mut self.snapshot, writer, text, route, CollectionId::Routes, keys::route);
        }
        for text in &rejects {
            let reject = self.routes.reject(text);
            place_route(&mut self.snapshot, writer, text, reject, CollectionId::Rejects, keys::reject);
        }
    }
}

/// Brings a prefix into a list of the view and of the model, or out of it.
fn place_route(
    snapshot: &mut super::Snapshot,
    writer: &mut Writer,
    text: &Text,
    prefix: Option<&Prefix>,
    id: CollectionId,
    view_key: fn(&Prefix) -> String,
) {
    let Some(cidr) = prefix.cloned().or_else(|| text.parse().ok()) else { return };
    writer.view.put(&mut snapshot.view, view_key(&cidr).into(), prefix.map(|cidr| cidr.text().clone()));
    let item = prefix.map(|cidr| Item::Route(Route { prefix: cidr.clone() }));
    writer.put(&mut snapshot.models, cidr.family(), id, cidr.key().into(), item);
}

/// What follows from the parts that are computed first.
#[derive(Debug, Default)]
struct Rest {
    base: bool,
    own_node: bool,
    priority: bool,
    sessions: bool,
    all_mesh: bool,
    mesh_nodes: BTreeSet<Name>,
    routes: bool,
    wireguard: BTreeSet<IpAddr>,
    all_wireguard: bool,
}

fn wireguard_addresses(change: &NodeChange) -> impl Iterator<Item = IpAddr> {
    change.addresses().into_iter()
}

fn default_name() -> Option<Name> {
    "default".parse().ok()
}

/// The error of an object that is not what its key says.
fn error_of(key: &ObjectKey, object: Result<Resource, ObjectError>) -> ObjectError {
    match object {
        Err(error) => error,
        Ok(_) => {
            ObjectError::new(key, "kind", "", &ValueError::new("the object is of another kind than its key"))
        }
    }
}
