//! One batch: first every event is taken into its table, then what they can have touched is computed, once, each part
//! before those that read it.

mod cluster;
mod mesh;
mod peers;
mod routes;
mod take;

use std::collections::BTreeSet;
use std::net::IpAddr;

pub(crate) use cluster::EXCLUDE_LABEL;
pub(crate) use mesh::NoMesh;

use super::model::Changes;
use super::routes::ServiceKey;
use super::writer::Writer;
use super::{Engine, Texts, peerings};
use crate::resources::{BgpFilter, BgpPeer, ObjectKey};
use crate::types::Name;

/// What the events of a batch can have touched.
#[derive(Debug, Default)]
pub(in crate::engine) struct Dirty {
    /// Nothing was computed yet.
    start: bool,
    nodes: BTreeSet<Name>,
    configuration: bool,
    /// Nodes whose own BGPConfiguration changed.
    node_configurations: BTreeSet<Name>,
    peers: BTreeSet<ObjectKey>,
    specs: Vec<(Name, Option<Box<BgpPeer>>)>,
    filters: Vec<(Name, Option<Option<BgpFilter>>)>,
    secrets: BTreeSet<Name>,
    peerings: peerings::Dirty,
    pools: Texts,
    pools_any: bool,
    blocks: Texts,
    services: BTreeSet<ServiceKey>,
}

/// What follows from the parts that are computed first.
#[derive(Debug, Default)]
struct Rest {
    base: bool,
    own_node: bool,
    priority: bool,
    sessions: bool,
    all_mesh: bool,
    /// Addresses whose session of the mesh can be another.
    mesh: BTreeSet<IpAddr>,
    routes: bool,
    wireguard: BTreeSet<IpAddr>,
    all_wireguard: bool,
}

impl Engine {
    /// The first computation, of a cluster without objects.
    pub(in crate::engine) fn start(&mut self) {
        self.settle(Dirty { start: true, configuration: true, ..Dirty::default() });
    }

    /// Computes what is dirty.
    pub(in crate::engine) fn settle(&mut self, mut dirty: Dirty) -> Changes {
        let mut writer = Writer::new(&self.snapshot);
        let mut rest = Rest::default();
        if dirty.start {
            let node = self.settings.node.clone();
            self.publisher(&mut writer).this_node(&node);
        }
        self.settle_configuration(&mut dirty, &mut writer, &mut rest);
        self.settle_nodes(&mut dirty, &mut writer, &mut rest);
        self.settle_own(&mut dirty, &mut rest);
        self.settle_filters(&mut dirty, &mut writer);
        self.settle_peerings(&mut dirty, &mut writer, rest.sessions);
        self.settle_mesh(&dirty, &mut writer, &rest);
        self.settle_pools(&dirty, &mut writer, &rest);
        self.settle_blocks(&dirty, &mut writer, &rest);
        self.settle_routes(&dirty, &mut writer, &rest);
        self.publish_services(&dirty, &mut writer);
        self.settle_cluster(&dirty, &mut writer);
        let (changes, keys) = writer.commit(&mut self.snapshot);
        self.work.keys_touched += keys;
        changes
    }
}
