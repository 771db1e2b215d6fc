//! What is configured: the cluster's BGPConfiguration, this node's, and what the environment overrides.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::json;

use super::view::ViewWriter;
use super::{Reports, Settings, View, keys};
use crate::bird::Literal;
use crate::engine::model::{CommunityValue, PrefixCommunities};
use crate::resources::{
    BgpConfiguration, CommunityRef, Kind, LogSeverity, ObjectError, ObjectKey, ProgramClusterRoutes,
};
use crate::types::{
    AsNumber, Community, Family, Name, Port, Prefix, Priority, Seconds, SecretKeyRef, ValueError,
};

const DEFAULT: &str = "default";
const NODE_PREFIX: &str = "node.";

/// The BGPConfigurations, as far as they count.
#[derive(Debug, Default)]
pub(super) struct Configurations {
    global: Option<Arc<BgpConfiguration>>,
    /// By node.
    nodes: BTreeMap<Name, Arc<BgpConfiguration>>,
    malformed: BTreeMap<ObjectKey, ObjectError>,
}

/// Whose configuration an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    Cluster,
    Node(Name),
    Nobody,
}

/// Whose configuration an object of this name is.
pub(super) fn owner(name: &Name) -> Owner {
    match name.as_str().strip_prefix(NODE_PREFIX) {
        _ if name.as_str() == DEFAULT => Owner::Cluster,
        Some(node) => node.parse().map_or(Owner::Nobody, Owner::Node),
        None => Owner::Nobody,
    }
}

impl Configurations {
    /// Takes an object, that it is malformed, or that it is gone; returns whose configuration is another now.
    pub(super) fn set(
        &mut self,
        key: &ObjectKey,
        object: Option<Result<BgpConfiguration, ObjectError>>,
        reports: &mut Reports,
    ) -> Owner {
        let owner = owner(&key.name);
        let was_malformed = self.malformed.remove(key);
        reports.clear(key, "");
        let object = match object {
            Some(Ok(object)) => Some(Arc::new(object)),
            Some(Err(error)) => {
                reports.left_out(error.clone());
                self.malformed.insert(key.clone(), error);
                None
            }
            None => None,
        };
        let same = was_malformed.as_ref() == self.malformed.get(key);
        match &owner {
            Owner::Cluster if same && self.global == object => return Owner::Nobody,
            Owner::Node(node) if same && self.nodes.get(node) == object.as_ref() => return Owner::Nobody,
            // The names of communities are looked up again when the keys are written.
            Owner::Cluster | Owner::Node(_) => reports.clear(key, "communities"),
            Owner::Nobody => {}
        }
        match &owner {
            Owner::Cluster => self.global = object,
            Owner::Node(node) => match object {
                Some(object) => drop(self.nodes.insert(node.clone(), object)),
                None => drop(self.nodes.remove(node)),
            },
            Owner::Nobody if object.is_some() => {
                let reason = "only `default` and `node.<node>` are read, so this object has no effect";
                reports.warn(
                    key,
                    "",
                    ObjectError::new(key, "metadata.name", key.name.as_str(), &ValueError::new(reason)),
                );
            }
            Owner::Nobody => {}
        }
        owner
    }

    /// Why nothing may be rendered: the cluster's or this node's object is malformed.
    pub(super) fn blocking(&self, node: &Name) -> impl Iterator<Item = &ObjectError> {
        self.malformed.values().filter(move |error| match owner(&error.object.name) {
            Owner::Cluster => true,
            Owner::Node(other) => other == *node,
            Owner::Nobody => false,
        })
    }

    /// The port that a node listens on, if it is configured: its own, else the cluster's.
    pub(super) fn listen_port(&self, node: &str) -> Option<Port> {
        self.own_listen_port(node).or(self.global.as_ref().and_then(|object| object.listen_port))
    }

    /// The port that a node's own configuration says.
    pub(super) fn own_listen_port(&self, node: &str) -> Option<Port> {
        self.nodes.get(node).and_then(|object| object.listen_port)
    }

    /// The cluster's configuration.
    pub(super) fn global(&self) -> Option<&BgpConfiguration> {
        self.global.as_deref()
    }

    /// Whether a node has a configuration of its own.
    pub(super) fn has_own(&self, node: &Name) -> bool {
        self.nodes.contains_key(node)
    }

    /// A node's own configuration.
    fn node(&self, node: &str) -> Option<&Arc<BgpConfiguration>> {
        self.nodes.get(node)
    }

    /// The severity that a node's own configuration or the cluster's sets, if there is either.
    pub(super) fn log(&self, node: &Name) -> Option<LogSeverity> {
        let own = self.node(node.as_str()).map(|object| &**object);
        own.or(self.global.as_deref()).map(|object| object.log_severity)
    }

    /// What holds for this node.
    pub(super) fn effective(&self, settings: &Settings, reports: &mut Reports) -> Effective {
        let global = self.global.as_deref();
        let own = self.node(settings.node.as_str()).map(|object| &**object);
        let advertising =
            [own, global].into_iter().flatten().find(|object| !object.advertisements.is_empty());
        let advertisements = advertising.map(|object| resolve(object, reports)).unwrap_or_default();
        let cluster_ips = match &settings.advertise_cluster_ips {
            Some(cidr) => vec![cidr.clone()],
            None => global.map(|g| g.cluster_ips.clone()).unwrap_or_default(),
        };
        Effective {
            as_number: global.and_then(|g| g.as_number).unwrap_or(AsNumber::DEFAULT),
            bind_node_ip: global.is_some_and(|g| g.bind_node_ip),
            ignored_interfaces: global
                .map(|g| g.ignored_interfaces.iter().map(Literal::interface).collect())
                .unwrap_or_default(),
            priorities: [
                global.and_then(|g| g.ipv4_priority).unwrap_or(Priority::NORMAL),
                global.and_then(|g| g.ipv6_priority).unwrap_or(Priority::NORMAL),
            ],
            listen_port: self.listen_port(settings.node.as_str()),
            cluster_port: global.and_then(|g| g.listen_port),
            log: self.log(&settings.node).unwrap_or_default(),
            mesh: global.is_none_or(|g| g.mesh_enabled),
            mesh_restart_time: global.and_then(|g| g.mesh_restart_time),
            mesh_password: global.and_then(|g| g.mesh_password.clone()),
            advertisements,
            program_cluster_routes: global.map(|g| g.program_cluster_routes).unwrap_or_default(),
            cluster_ips,
            external_ips: global.map(|g| g.external_ips.clone()).unwrap_or_default(),
            load_balancer_ips: global.map(|g| g.load_balancer_ips.clone()).unwrap_or_default(),
            load_balancer_aggregation: global.is_none_or(|g| g.load_balancer_aggregation),
        }
    }

    /// Writes the cluster's keys.
    pub(super) fn write_global(&self, view: &mut View, writer: &mut ViewWriter, reports: &mut Reports) {
        let global = self.global.as_deref();
        let as_number = global.and_then(|g| g.as_number).unwrap_or(AsNumber::DEFAULT);
        let mesh = json!({ "enabled": global.is_none_or(|g| g.mesh_enabled) }).to_string();
        let log = global.map_or(LogSeverity::default(), |g| g.log_severity).as_str();
        let mut put = |key: &str, value: Option<String>| {
            writer.put(view, &keys::global(key), value.as_deref());
        };
        put("as_num", Some(as_number.to_string()));
        put("node_mesh", Some(mesh));
        put("loglevel", Some(log.to_owned()));
        put("listen_port", global.and_then(|g| g.listen_port).map(|port| port.to_string()));
        let advertisements = global.map(|g| resolve(g, reports)).unwrap_or_default();
        for family in Family::ALL {
            put(&format!("prefix_advertisements/ip_{family}"), advertisements_json(&advertisements, family));
        }
    }

    /// Writes the keys of one node's configuration.
    pub(super) fn write_node(
        &self,
        node: &Name,
        view: &mut View,
        writer: &mut ViewWriter,
        reports: &mut Reports,
    ) {
        let own = self.node(node.as_str()).map(|object| &**object);
        let mut put = |key: &str, value: Option<String>| {
            writer.put(view, &keys::host(node, key), value.as_deref());
        };
        put("listen_port", own.and_then(|o| o.listen_port).map(|port| port.to_string()));
        put("loglevel", own.map(|o| o.log_severity.as_str().to_owned()));
        let advertisements = own.map(|o| resolve(o, reports)).unwrap_or_default();
        for family in Family::ALL {
            put(&format!("prefix_advertisements/ip_{family}"), advertisements_json(&advertisements, family));
        }
    }
}

/// A prefix with the communities that its routes get, sorted as text, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedAdvertisement {
    cidr: Prefix,
    communities: Vec<Community>,
}

/// Looks up the names of communities, in the same object.
fn resolve(object: &BgpConfiguration, reports: &mut Reports) -> Vec<ResolvedAdvertisement> {
    let key = ObjectKey::global(Kind::BgpConfiguration, object.name.clone());
    reports.clear(&key, "communities");
    let mut defined: FxHashMap<&str, Community> = FxHashMap::default();
    for named in &object.communities {
        // Of two with one name the first counts.
        defined.entry(&named.name).or_insert(named.value);
    }
    let mut resolved = Vec::with_capacity(object.advertisements.len());
    for (index, advertisement) in object.advertisements.iter().enumerate() {
        let mut communities = BTreeMap::new();
        for community in &advertisement.communities {
            let value = match community {
                CommunityRef::Value(value) => Some(*value),
                CommunityRef::Named(name) => {
                    let found = defined.get(&**name).copied();
                    if found.is_none() {
                        let field = format!("spec.prefixAdvertisements[{index}].communities");
                        let reason = ValueError::new(
                            "no community of this name is defined in the same object; it is left out",
                        );
                        reports.warn(&key, "communities", ObjectError::new(&key, field, name, &reason));
                    }
                    found
                }
            };
            if let Some(value) = value {
                communities.insert(value.to_api(), value);
            }
        }
        let communities = communities.into_values().collect();
        resolved.push(ResolvedAdvertisement { cidr: advertisement.cidr.clone(), communities });
    }
    resolved
}

/// The value of a `prefix_advertisements` key; none when the object advertises nothing of either family.
fn advertisements_json(advertisements: &[ResolvedAdvertisement], family: Family) -> Option<String> {
    if advertisements.is_empty() {
        return None;
    }
    let of_family = advertisements.iter().filter(|a| a.cidr.family() == family);
    let list: Vec<_> = of_family
        .map(|a| {
            let communities: Vec<_> = a.communities.iter().map(|c| c.to_api()).collect();
            json!({ "cidr": a.cidr, "communities": communities })
        })
        .collect();
    Some(serde_json::Value::from(list).to_string())
}

/// What is configured for this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Effective {
    pub(super) as_number: AsNumber,
    pub(super) bind_node_ip: bool,
    pub(super) ignored_interfaces: Vec<Literal>,
    priorities: [Priority; 2],
    pub(super) listen_port: Option<Port>,
    /// The port of nodes that have none of their own.
    pub(super) cluster_port: Option<Port>,
    pub(super) log: LogSeverity,
    pub(super) mesh: bool,
    pub(super) mesh_restart_time: Option<Seconds>,
    pub(super) mesh_password: Option<SecretKeyRef>,
    advertisements: Vec<ResolvedAdvertisement>,
    pub(super) program_cluster_routes: ProgramClusterRoutes,
    pub(super) cluster_ips: Vec<Prefix>,
    pub(super) external_ips: Vec<Prefix>,
    pub(super) load_balancer_ips: Vec<Prefix>,
    pub(super) load_balancer_aggregation: bool,
}

impl Effective {
    /// The normal priority of a family's routes.
    pub(super) fn priority(&self, family: Family) -> Priority {
        self.priorities[family.index()]
    }

    /// Whether BIRD programs the routes of IPIP pools.
    pub(super) fn bird_programs_ipip(&self) -> bool {
        use ProgramClusterRoutes::{Enabled, EnabledIpipOnly};
        matches!(self.program_cluster_routes, Enabled | EnabledIpipOnly)
    }

    /// Whether BIRD programs the routes of pools without encapsulation.
    pub(super) fn bird_programs_plain(&self) -> bool {
        use ProgramClusterRoutes::{Enabled, EnabledNoEncapOnly};
        matches!(self.program_cluster_routes, Enabled | EnabledNoEncapOnly)
    }

    /// The communities of a family's prefixes.
    pub(super) fn communities(&self, family: Family) -> Vec<PrefixCommunities> {
        let of_family = self.advertisements.iter().filter(|a| a.cidr.family() == family);
        of_family
            .map(|a| PrefixCommunities {
                prefix: a.cidr.clone(),
                communities: a
                    .communities
                    .iter()
                    .map(|c| CommunityValue { attribute: c.attribute(), value: Literal::community(*c) })
                    .collect(),
            })
            .collect()
    }

    /// The prefixes of a family that a route reflector passes on.
    pub(super) fn reflectable(&self, family: Family) -> impl Iterator<Item = &Prefix> {
        self.load_balancer_ips.iter().chain(&self.external_ips).filter(move |cidr| cidr.family() == family)
    }

    /// Whether what a session says of this node may differ from what it was under `old`.
    pub(super) fn changes_own(&self, old: &Effective) -> bool {
        (self.as_number, self.priorities) != (old.as_number, old.priorities)
    }

    /// Whether what is said of other nodes, where they say nothing of their own, differs.
    pub(super) fn changes_peers(&self, old: &Effective) -> bool {
        (self.as_number, self.cluster_port) != (old.as_number, old.cluster_port)
    }

    /// Whether the mesh must be computed again.
    pub(super) fn changes_mesh(&self, old: &Effective) -> bool {
        (self.mesh, self.mesh_restart_time, &self.mesh_password)
            != (old.mesh, old.mesh_restart_time, &old.mesh_password)
            || self.changes_peers(old)
    }

    /// Whether the routes of Services must be computed again.
    pub(super) fn changes_routes(&self, old: &Effective) -> bool {
        self.cluster_ips != old.cluster_ips
            || self.external_ips != old.external_ips
            || self.load_balancer_ips != old.load_balancer_ips
            || self.load_balancer_aggregation != old.load_balancer_aggregation
    }
}
