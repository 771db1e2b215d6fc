use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::resources::Defaults;
use crate::types::{KeyPattern, Name, Prefix};

/// How the router id is found (`CALICO_ROUTER_ID`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RouterId {
    /// The node's IPv4 address; the hash of its name if it has none.
    #[default]
    NodeAddress,
    /// The hash of the node's name.
    Hash,
    /// This one.
    Literal(Ipv4Addr),
}

/// What the engine must know besides the objects. It is read from the environment at the edge.
#[derive(Debug, Clone)]
pub struct Settings {
    /// This node.
    pub node: Name,
    /// This node's name in Kubernetes, as endpoints carry it.
    pub kubernetes_node: Arc<str>,
    /// The router id.
    pub router_id: RouterId,
    /// The one prefix that replaces `serviceClusterIPs`.
    pub advertise_cluster_ips: Option<Prefix>,
    /// The namespace of the Secrets with passwords.
    pub secret_namespace: Name,
    /// Blocks come from the node's pod CIDRs, not from BlockAffinities.
    pub use_pod_cidr: bool,
    /// The keys under `/tailorbird/v1` that are in the view: those that one of these patterns covers. What none covers
    /// is not kept.
    pub published: Arc<[KeyPattern]>,
}

impl Settings {
    /// Settings for a node where the environment says nothing.
    pub fn new(node: Name) -> Self {
        Self {
            kubernetes_node: node.shared(),
            node,
            router_id: RouterId::default(),
            advertise_cluster_ips: None,
            secret_namespace: default_secret_namespace(),
            use_pod_cidr: false,
            published: Arc::default(),
        }
    }

    /// What objects are read with.
    pub fn defaults(&self) -> Defaults {
        Defaults { published: self.published.clone(), ..Defaults::new(self.secret_namespace.clone()) }
    }
}

/// `kube-system`.
#[allow(clippy::missing_panics_doc, clippy::expect_used)]
fn default_secret_namespace() -> Name {
    "kube-system".parse().expect("a valid name")
}
