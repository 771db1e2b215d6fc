use super::Text;
use crate::types::{
    AsNumber, Community, InterfacePattern, Name, Port, Prefix, Priority, Seconds, SecretKeyRef,
};

/// `logSeverityScreen`, as far as BIRD tells severities apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogSeverity {
    /// `Debug`.
    Debug,
    /// `Info`, the default.
    #[default]
    Info,
    /// Any other: BIRD logs nothing of its protocols.
    None,
}

impl LogSeverity {
    /// The value in the view: `debug`, `info` or `none`.
    pub fn as_str(self) -> &'static str {
        match self {
            LogSeverity::Debug => "debug",
            LogSeverity::Info => "info",
            LogSeverity::None => "none",
        }
    }
}

/// `programClusterRoutes`: which pools' routes BIRD programs into the kernel; the rest is Felix's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProgramClusterRoutes {
    /// IPIP and unencapsulated pools.
    Enabled,
    /// None.
    Disabled,
    /// IPIP pools only.
    EnabledIpipOnly,
    /// Unencapsulated pools only; the default.
    #[default]
    EnabledNoEncapOnly,
}

/// A community with a name, for `prefixAdvertisements` to refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCommunity {
    /// The name.
    pub name: Text,
    /// The value.
    pub value: Community,
}

/// A community in `prefixAdvertisements`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommunityRef {
    /// A value written in place.
    Value(Community),
    /// The name of one of the same object's `communities`.
    Named(Text),
}

/// One of `prefixAdvertisements`: communities that routes inside a prefix get on export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertisement {
    /// The prefix.
    pub cidr: Prefix,
    /// The communities, in the order written.
    pub communities: Vec<CommunityRef>,
}

/// BGPConfiguration: `default` is the cluster's, `node.<name>` one node's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BgpConfiguration {
    /// The name.
    pub name: Name,
    /// `asNumber`.
    pub as_number: Option<AsNumber>,
    /// `bindMode: NodeIP`: listen on the node's address only.
    pub bind_node_ip: bool,
    /// `communities`.
    pub communities: Vec<NamedCommunity>,
    /// `ignoredInterfaces`.
    pub ignored_interfaces: Vec<InterfacePattern>,
    /// `ipv4NormalRoutePriority`.
    pub ipv4_priority: Option<Priority>,
    /// `ipv6NormalRoutePriority`.
    pub ipv6_priority: Option<Priority>,
    /// `listenPort`.
    pub listen_port: Option<Port>,
    /// `logSeverityScreen`; the CRD's default is `Info`, in every object.
    pub log_severity: LogSeverity,
    /// `nodeMeshMaxRestartTime`, rounded to whole seconds.
    pub mesh_restart_time: Option<Seconds>,
    /// `nodeMeshPassword`.
    pub mesh_password: Option<SecretKeyRef>,
    /// `nodeToNodeMeshEnabled`; the default is true.
    pub mesh_enabled: bool,
    /// `prefixAdvertisements`.
    pub advertisements: Vec<Advertisement>,
    /// `programClusterRoutes`.
    pub program_cluster_routes: ProgramClusterRoutes,
    /// `serviceClusterIPs`; entries without a CIDR are not there.
    pub cluster_ips: Vec<Prefix>,
    /// `serviceExternalIPs`.
    pub external_ips: Vec<Prefix>,
    /// `serviceLoadBalancerIPs`.
    pub load_balancer_ips: Vec<Prefix>,
    /// `serviceLoadBalancerAggregation: Enabled`, the default.
    pub load_balancer_aggregation: bool,
}
