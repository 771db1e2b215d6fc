//! What users write: the objects of Calico and Kubernetes, as small domain values.
//!
//! Each kind has a file that holds its type and turns a parsed document into it. What is not needed is not kept.
//! Nothing here knows where an object came from or what it means for BIRD.

mod bgp_configuration;
mod bgp_filter;
mod bgp_peer;
mod block_affinity;
mod duration;
mod endpoint_slice;
mod field;
mod ip_pool;
mod node;
mod parse;
mod published;
mod secret;
mod service;
mod workload;

use std::fmt;
use std::sync::Arc;

pub use bgp_configuration::{
    Advertisement, BgpConfiguration, CommunityRef, LogSeverity, NamedCommunity, ProgramClusterRoutes,
};
pub use bgp_filter::{
    Action, BgpFilter, CidrMatch, FilterRules, MatchOperator, Operation, PeerType, Rule, RuleSource,
};
pub use bgp_peer::{BgpPeer, NextHopMode, RemoteEnd, Scope};
pub use block_affinity::{BlockAffinity, BlockState};
pub use endpoint_slice::{Endpoint as SliceEndpoint, EndpointSlice};
pub use ip_pool::{EncapMode, IpPool};
pub use node::{CalicoNode, KubeNode, Labels, NodeBgp};
pub use parse::{Defaults, Document, DocumentError, kind_of, parse};
pub(crate) use published::is_plain;
pub use published::{ServiceFacts, node_key, service_key};
pub use secret::Secret;
pub use service::{Service, TrafficPolicy};
pub use workload::{WorkloadStatus, parse_workload};

use crate::types::{Name, ValueError};

/// The kinds of objects that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Calico's Node (`projectcalico.org/v3`).
    CalicoNode,
    /// Kubernetes' Node (`v1`).
    KubeNode,
    /// BGPConfiguration.
    BgpConfiguration,
    /// BGPPeer.
    BgpPeer,
    /// BGPFilter.
    BgpFilter,
    /// IPPool.
    IpPool,
    /// BlockAffinity.
    BlockAffinity,
    /// Service.
    Service,
    /// EndpointSlice.
    EndpointSlice,
    /// Secret.
    Secret,
    /// A status file of a local workload that peers with this node.
    Workload,
}

impl Kind {
    /// The kind as its API writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::CalicoNode | Kind::KubeNode => "Node",
            Kind::BgpConfiguration => "BGPConfiguration",
            Kind::BgpPeer => "BGPPeer",
            Kind::BgpFilter => "BGPFilter",
            Kind::IpPool => "IPPool",
            Kind::BlockAffinity => "BlockAffinity",
            Kind::Service => "Service",
            Kind::EndpointSlice => "EndpointSlice",
            Kind::Secret => "Secret",
            Kind::Workload => "endpoint status",
        }
    }

    /// Whether objects of the kind live in a namespace.
    pub fn is_namespaced(self) -> bool {
        matches!(self, Kind::Service | Kind::EndpointSlice | Kind::Secret)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which object: its kind, its namespace if the kind has one, and its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The kind.
    pub kind: Kind,
    /// The namespace, for a kind that has one.
    pub namespace: Option<Name>,
    /// The name.
    pub name: Name,
}

impl ObjectKey {
    /// The key of an object whose kind has no namespace.
    pub fn global(kind: Kind, name: Name) -> Self {
        Self { kind, namespace: None, name }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// What is wrong with an object: which field, which value, why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub struct ObjectError {
    /// The object.
    pub object: ObjectKey,
    /// The field's path, as `spec.peerIP`; empty when the object as a whole is meant.
    pub field: String,
    /// The value as it was written, shortened; empty when there is none, and never a secret.
    pub value: String,
    /// What is wrong with it and, where that helps, what to write.
    pub reason: String,
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.object)?;
        match (self.field.is_empty(), self.value.is_empty()) {
            (true, _) => {}
            (false, true) => write!(f, "{}: ", self.field)?,
            (false, false) => write!(f, "{} = {:?}: ", self.field, self.value)?,
        }
        f.write_str(&self.reason)
    }
}

impl ObjectError {
    /// An error about a field of an object. The value is cut after 80 characters.
    pub fn new(object: &ObjectKey, field: impl Into<String>, value: &str, error: &ValueError) -> Self {
        let mut short: String = value.chars().take(80).collect();
        if short.len() < value.len() {
            short.push('…');
        }
        Self { object: object.clone(), field: field.into(), value: short, reason: error.reason.clone() }
    }
}

/// An object of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Resource {
    CalicoNode(CalicoNode),
    KubeNode(KubeNode),
    BgpConfiguration(Box<BgpConfiguration>),
    BgpPeer(Box<BgpPeer>),
    BgpFilter(BgpFilter),
    IpPool(IpPool),
    BlockAffinity(BlockAffinity),
    Service(Box<Service>),
    EndpointSlice(EndpointSlice),
    Secret(Secret),
    Workload(WorkloadStatus),
}

/// What a document turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// Which object it is.
    pub key: ObjectKey,
    /// The object, or why it cannot be used at all.
    pub resource: Result<Resource, ObjectError>,
    /// Values that were left out while the object stays (one bad annotation, one bad address of a Service).
    pub warnings: Vec<ObjectError>,
}

/// A short text that many objects share.
pub type Text = Arc<str>;

/// The namespace of an object whose kind has one.
fn namespace_of(key: &ObjectKey) -> Name {
    // The name stands in where there is none, which `parse` rules out.
    key.namespace.clone().unwrap_or_else(|| key.name.clone())
}
