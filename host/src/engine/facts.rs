use std::sync::Arc;

use imbl::OrdMap;

use super::filters::Filters;
use super::nodes::Node;
use super::sessions::Own;
use crate::types::{AsNumber, Family, Name, Password, Port, Prefix, Seconds};

/// What policies must know of the cluster besides the models. A clone is cheap.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// The nodes, by name.
    pub nodes: OrdMap<Name, Arc<Node>>,
    /// The AS number of nodes that have none of their own.
    pub(crate) as_number: AsNumber,
    /// The ports of nodes that listen on one of their own.
    pub(crate) ports: OrdMap<Name, Port>,
    /// The port of all other nodes, if it is configured.
    pub(crate) port: Option<Port>,
    /// The BGPFilters.
    pub(crate) filters: Filters,
    /// This node's own facts, for each family that it has an address of.
    pub(crate) own: [Option<Own>; 2],
    /// The mesh between all nodes.
    pub(crate) mesh: MeshFacts,
    /// The prefixes that this node passes on if it is a reflector, by family.
    pub(crate) reflectable: [Arc<[Prefix]>; 2],
}

/// What the mesh is like, whether or not this node takes part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MeshFacts {
    /// Whether it is on.
    pub(crate) on: bool,
    pub(crate) restart_time: Option<Seconds>,
    pub(crate) password: Option<Password>,
}

/// A cluster without objects.
impl Default for Cluster {
    fn default() -> Self {
        Self {
            nodes: OrdMap::new(),
            as_number: AsNumber::DEFAULT,
            ports: OrdMap::new(),
            port: None,
            filters: Filters::default(),
            own: [None, None],
            mesh: MeshFacts::default(),
            reflectable: Default::default(),
        }
    }
}

impl Cluster {
    /// A node's AS number: its own, else the cluster's.
    pub fn as_number_of(&self, node: &Node) -> AsNumber {
        node.bgp.as_number.unwrap_or(self.as_number)
    }

    /// The port that a node listens on, if it is configured.
    pub(crate) fn port_of(&self, node: &str) -> Option<Port> {
        self.ports.get(node).copied().or(self.port)
    }

    /// This node's own facts of a family.
    pub(crate) fn own(&self, family: Family) -> Option<&Own> {
        self.own[family.index()].as_ref()
    }

    /// Whether all is the same but the nodes, which are in the view too.
    pub(crate) fn same_beside_nodes(&self, other: &Self) -> bool {
        self.as_number == other.as_number
            && self.ports.ptr_eq(&other.ports)
            && self.port == other.port
            && self.filters.ptr_eq(&other.filters)
            && self.own == other.own
            && self.mesh == other.mesh
            && self.reflectable == other.reflectable
    }
}
