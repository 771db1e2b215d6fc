//! Generated clusters: as domain values to feed the engine with, and as manifests to read back.
//!
//! A [`ClusterSpec`] says how large a cluster is and how its nodes peer. [`ClusterSpec::objects`] gives its objects,
//! [`ClusterSpec::change`] one object with a changed field, [`write_yaml`], [`write_json`] and [`write_json_lines`] write
//! what `kubectl get -o yaml` would print of it, and [`write_folder`] what `kubectl apply -f` takes. Each object follows
//! from the seed, its kind and its index alone: the same specification gives the same bytes for ever, and a larger cluster
//! of the same shape begins with the same Services, filters and Secrets.

mod change;
mod folder;
mod manifest;
mod objects;
mod random;
mod write;
mod yaml;

#[cfg(test)]
mod tests;

use crate::engine::Event;
use crate::resources::{ObjectKey, Parsed, Resource};

pub use change::Change;
pub use folder::{FolderError, write_folder};
pub(crate) use objects::filter_of;
pub use write::{write_json, write_json_lines, write_yaml};

use manifest::manifest;

/// How the nodes of a cluster peer with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// Every node with every other.
    Mesh,
    /// Each zone has route reflectors; all other nodes of the zone peer with them, and the reflectors with each other.
    Reflectors {
        /// Reflectors in each zone.
        per_zone: u32,
    },
    /// Each node peers with the switch on top of its rack, with a filter, and each rack is an AS of its own.
    TopOfRack,
}

/// The size and shape of a generated cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSpec {
    /// Nodes, `node-00000` and on. Zones and racks take turns.
    pub nodes: u32,
    /// Zones, `zone-0` and on; the label `topology.kubernetes.io/zone`.
    pub zones: u32,
    /// Racks of each zone, `zone-0-rack-00` and on; the label `rack`.
    pub racks_per_zone: u32,
    /// How the nodes peer.
    pub topology: Topology,
    /// Every how many nodes one has an AS number of its own; 0 for none. Racks that are an AS of their own win.
    pub own_as_every: u32,
    /// Services.
    pub services: u32,
    /// EndpointSlices of each Service.
    pub slices_per_service: u32,
    /// IPPools of each family.
    pub pools: u32,
    /// BlockAffinities of each node, in each family.
    pub blocks_per_node: u32,
    /// BGPFilters.
    pub filters: u32,
    /// BGPPeers to routers outside the cluster, besides those that the topology needs.
    pub peers: u32,
    /// Secrets with the passwords of those peers, and of the mesh.
    pub secrets: u32,
    /// Whether nodes, pools and Services have IPv6 addresses too.
    pub dual_stack: bool,
    /// Another seed gives another cluster of the same shape.
    pub seed: u64,
}

/// Why a cluster cannot be generated: its addresses or names would not be unique.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}, but it must be {allowed}")]
pub struct SpecError {
    /// The field.
    pub field: &'static str,
    /// What it is.
    pub value: u64,
    /// What it may be.
    pub allowed: String,
}

impl ClusterSpec {
    /// A cluster of `nodes` in a full mesh, about 40 of them in a rack, with two Services to a node.
    pub fn mesh(nodes: u32) -> Self {
        const ZONES: u32 = 3;
        Self {
            nodes,
            zones: ZONES,
            racks_per_zone: nodes.div_ceil(ZONES * 40).max(1),
            topology: Topology::Mesh,
            own_as_every: 0,
            services: nodes.saturating_mul(2),
            slices_per_service: 3,
            pools: 2,
            blocks_per_node: 2,
            filters: 10,
            peers: 10,
            secrets: 4,
            dual_stack: true,
            seed: 1,
        }
    }

    /// A cluster of `nodes` with two route reflectors in each zone.
    pub fn reflectors(nodes: u32) -> Self {
        Self { topology: Topology::Reflectors { per_zone: 2 }, ..Self::mesh(nodes) }
    }

    /// A cluster of `nodes` that peer with the switches of their racks.
    pub fn top_of_rack(nodes: u32) -> Self {
        Self { topology: Topology::TopOfRack, ..Self::mesh(nodes) }
    }

    /// The largest cluster that is measured: 5,000 nodes in a full mesh, 10,000 Services, 30,000 EndpointSlices.
    pub fn large() -> Self {
        Self { filters: 50, peers: 100, secrets: 20, pools: 4, ..Self::mesh(5_000) }
    }

    /// Checks that all names and addresses of the cluster are unique.
    ///
    /// # Errors
    ///
    /// The first field that is out of range.
    pub fn check(&self) -> Result<(), SpecError> {
        let within = |field, value: u64, min: u64, max: u64| {
            let allowed = || format!("{min} to {max}");
            if (min..=max).contains(&value) {
                Ok(())
            } else {
                Err(SpecError { field, value, allowed: allowed() })
            }
        };
        within("nodes", self.nodes.into(), 1, 24_000)?;
        within("zones", self.zones.into(), 1, 200)?;
        // A rack is a /22 of 172.16.0.0/12, and half of it is for addresses that change.
        within("racks_per_zone", self.racks_per_zone.into(), 1, u64::from(1024 / self.zones))?;
        within("nodes per rack", self.nodes.div_ceil(self.racks()).into(), 1, 500)?;
        if let Topology::Reflectors { per_zone } = self.topology {
            within("reflectors per zone", per_zone.into(), 1, self.nodes.div_ceil(self.zones).into())?;
        }
        within("services", self.services.into(), 0, 100_000)?;
        within("slices_per_service", self.slices_per_service.into(), 0, 100)?;
        let blocks = u64::from(self.nodes) * u64::from(self.blocks_per_node);
        within("pools", self.pools.into(), u64::from(blocks > 0), 64)?;
        let room = u64::from(self.blocks_per_pool()) * u64::from(self.pools);
        within("blocks of all nodes, rounded up", room.max(blocks), 0, 1 << 17)?;
        within("filters", self.filters.into(), 0, 10_000)?;
        within("peers", self.peers.into(), 0, 60_000)?;
        within("secrets", self.secrets.into(), 0, 10_000)
    }

    /// The racks of all zones.
    pub(super) fn racks(&self) -> u32 {
        self.zones * self.racks_per_zone
    }

    /// How many blocks of 64 addresses a pool has: a power of two.
    pub(super) fn blocks_per_pool(&self) -> u32 {
        let blocks = u64::from(self.nodes) * u64::from(self.blocks_per_node);
        let pools = u64::from(self.pools.max(1));
        u32::try_from(blocks.div_ceil(pools).max(1024).next_power_of_two()).unwrap_or(u32::MAX)
    }
}

/// The event that an object is there as it is now.
pub fn event((key, resource): (ObjectKey, Resource)) -> Event {
    Event::Upsert(Parsed { key, resource: Ok(resource), warnings: Vec::new() })
}
