//! The mesh, and the next hops that WireGuard owns.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use super::{Dirty, Rest};
use crate::engine::model::{CollectionId, Item, NextHop, Peer, Terms};
use crate::engine::nodes::Node;
use crate::engine::secrets::Lookup;
use crate::engine::sessions::{self, Own};
use crate::engine::writer::Writer;
use crate::engine::{Engine, MeshFacts, order};
use crate::resources::{Kind, ObjectError, ObjectKey};
use crate::types::{Family, Name, ValueError};

/// Why there is no session of the mesh with a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoMesh {
    /// The mesh is off.
    Off,
    /// It is this node.
    ThisNode,
    /// The node is a route reflector.
    Reflector,
    /// This node is a route reflector.
    ThisReflector,
    /// This node has no address of the family.
    NoOwnAddress,
    /// The node has no address of the family.
    NoAddress,
    /// The node has this node's address.
    OwnAddress,
}

impl Engine {
    /// What is wrong with the mesh's password, if it is there and cannot be used.
    pub(in crate::engine) fn mesh_password_error(&self) -> Option<ObjectError> {
        let at = self.effective.mesh_password.as_ref()?;
        let Lookup::Unusable(reason) = self.secrets.lookup(at) else { return None };
        let key = ObjectKey::global(Kind::BgpConfiguration, default_name()?);
        let reason = ValueError::new(reason);
        Some(ObjectError::new(&key, "spec.nodeMeshPassword", &format!("{}/{}", at.name, at.key), &reason))
    }

    pub(super) fn settle_mesh(&mut self, dirty: &Dirty, writer: &mut Writer, rest: &Rest) {
        let named = self.effective.mesh_password.as_ref().is_some_and(|at| dirty.secrets.contains(&at.name));
        if rest.all_mesh || named || dirty.configuration {
            let mut mesh = self.mesh_now();
            // What is the same stays shared with the sessions that there are.
            for (new, old) in mesh.iter_mut().flatten().zip(self.mesh.iter().flatten()) {
                if new == old {
                    new.clone_from(old);
                }
            }
            self.mesh = mesh;
        }
        let mut addresses = rest.mesh.clone();
        if rest.all_mesh || named {
            addresses.extend(self.nodes.iter().flat_map(|(_, node)| node.addresses()));
        }
        for ip in order::filling(addresses) {
            let session = self.mesh_winner(ip).map(|(_, peer)| peer);
            let name = session.as_ref().map_or_else(|| sessions::mesh_name(ip), |peer| peer.name.clone());
            self.work.peers_computed += usize::from(session.is_some());
            let item = session.map(Item::from);
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

    /// What the mesh's sessions have in common, by family, if the mesh is on.
    fn mesh_now(&mut self) -> Option<[Option<Arc<Terms>>; 2]> {
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
        let restart_time = self.effective.mesh_restart_time;
        let terms = |own: &Own| sessions::mesh_terms(own, restart_time, password.as_ref()).into();
        Some(Family::ALL.map(|family| self.own[family.index()].as_ref().map(terms)))
    }

    /// What the mesh is like, whether or not this node takes part in it.
    pub(super) fn mesh_facts(&self) -> MeshFacts {
        let lookup = self.effective.mesh_password.as_ref().map(|at| self.secrets.lookup(at));
        MeshFacts {
            on: self.effective.mesh,
            restart_time: self.effective.mesh_restart_time,
            password: match lookup {
                Some(Lookup::Found(password)) => Some(password),
                // An unusable one blocks rendering.
                Some(Lookup::Missing(_) | Lookup::Unusable(_)) | None => None,
            },
        }
    }

    /// The node whose session of the mesh an address has, and the session: of several the first by name.
    pub(crate) fn mesh_winner(&self, ip: IpAddr) -> Option<(&Name, Peer)> {
        self.nodes.with_address(ip).find_map(|name| {
            let node = self.nodes.get(name.as_str())?;
            Some((name, self.mesh_session(name, node, Family::of(ip)).ok()?))
        })
    }

    /// The session of the mesh with a node.
    ///
    /// # Errors
    /// [`NoMesh`].
    pub(in crate::engine) fn mesh_session(
        &self,
        name: &Name,
        node: &Node,
        family: Family,
    ) -> Result<Peer, NoMesh> {
        let mesh = self.mesh.as_ref().ok_or(NoMesh::Off)?;
        if *name == self.settings.node {
            return Err(NoMesh::ThisNode);
        }
        if node.bgp.cluster_id.is_some() {
            return Err(NoMesh::Reflector);
        }
        let own = self.own[family.index()].as_ref().ok_or(NoMesh::NoOwnAddress)?;
        let terms = mesh[family.index()].as_ref().ok_or(NoMesh::NoOwnAddress)?;
        if own.cluster_id.is_some() {
            return Err(NoMesh::ThisReflector);
        }
        let ip = node.address(family).ok_or(NoMesh::NoAddress)?;
        if ip == own.address {
            return Err(NoMesh::OwnAddress);
        }
        let port = self.configurations.listen_port(name.as_str());
        Ok(sessions::mesh(name, ip, port, node.bgp.as_number, own, terms))
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
}

fn default_name() -> Option<Name> {
    "default".parse().ok()
}
