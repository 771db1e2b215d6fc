use std::str::FromStr;

use super::field::{Field, Read};
use super::{ObjectError, ObjectKey, Text};
use crate::types::{
    AsNumber, Community, InterfacePattern, Name, Port, Prefix, Priority, Seconds, SecretKeyRef, ValueError,
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

/// Reads a BGPConfiguration. Any bad field makes it malformed.
pub(super) fn read(
    key: &ObjectKey,
    root: &Field<'_>,
    warnings: &mut Vec<ObjectError>,
) -> Read<BgpConfiguration> {
    let spec = root.get("spec")?;
    let mesh_enabled = spec.get("nodeToNodeMeshEnabled")?;
    let mesh_restart_time = spec.get("nodeMeshMaxRestartTime")?;
    let mesh_password = spec.get("nodeMeshPassword")?;
    let communities = spec.get("communities")?;
    let advertisements = spec.get("prefixAdvertisements")?;
    let config = BgpConfiguration {
        name: key.name.clone(),
        as_number: spec.get("asNumber")?.as_number()?,
        bind_node_ip: spec.get("bindMode")?.one_of(&[("None", false), ("NodeIP", true)])?.unwrap_or(false),
        communities: read_communities(&communities, warnings)?,
        ignored_interfaces: read_values(&spec.get("ignoredInterfaces")?)?,
        ipv4_priority: spec.get("ipv4NormalRoutePriority")?.priority()?,
        ipv6_priority: spec.get("ipv6NormalRoutePriority")?.priority()?,
        listen_port: spec.get("listenPort")?.parse()?,
        log_severity: read_severity(&spec.get("logSeverityScreen")?)?,
        mesh_restart_time: mesh_restart_time.seconds()?,
        mesh_password: mesh_password.secret_key_ref()?,
        mesh_enabled: mesh_enabled.boolean()?.unwrap_or(true),
        advertisements: read_advertisements(&advertisements)?,
        program_cluster_routes: spec
            .get("programClusterRoutes")?
            .one_of(&[
                ("Enabled", ProgramClusterRoutes::Enabled),
                ("Disabled", ProgramClusterRoutes::Disabled),
                ("EnabledIPIPOnly", ProgramClusterRoutes::EnabledIpipOnly),
                ("EnabledNoEncapOnly", ProgramClusterRoutes::EnabledNoEncapOnly),
            ])?
            .unwrap_or_default(),
        cluster_ips: read_cidrs(&spec.get("serviceClusterIPs")?)?,
        external_ips: read_cidrs(&spec.get("serviceExternalIPs")?)?,
        load_balancer_ips: read_cidrs(&spec.get("serviceLoadBalancerIPs")?)?,
        load_balancer_aggregation: spec
            .get("serviceLoadBalancerAggregation")?
            .one_of(&[("Enabled", true), ("Disabled", false)])?
            .unwrap_or(true),
    };
    // Newer API servers refuse these three, older ones keep them; they change nothing, so they do not block.
    if !config.mesh_enabled {
        if config.mesh_password.is_some() {
            warnings.push(mesh_password.error("has no effect while nodeToNodeMeshEnabled is false"));
        }
        if config.mesh_restart_time.is_some() {
            warnings.push(mesh_restart_time.error("has no effect while nodeToNodeMeshEnabled is false"));
        }
    }
    if !config.communities.is_empty() && config.advertisements.is_empty() {
        warnings.push(communities.error("communities are defined but there are no prefixAdvertisements"));
    }
    Ok(config)
}

fn read_severity(field: &Field<'_>) -> Read<LogSeverity> {
    let Some(text) = field.text()? else { return Ok(LogSeverity::default()) };
    match text.to_ascii_lowercase().as_str() {
        "debug" => Ok(LogSeverity::Debug),
        "info" => Ok(LogSeverity::Info),
        "trace" | "warning" | "error" | "fatal" => Ok(LogSeverity::None),
        _ => Err(field.error("must be one of Trace, Debug, Info, Warning, Error, Fatal")),
    }
}

fn read_communities(list: &Field<'_>, warnings: &mut Vec<ObjectError>) -> Read<Vec<NamedCommunity>> {
    let mut found = Vec::new();
    for item in list.items()? {
        let name = item.get("name")?.text()?;
        let value = item.get("value")?.parse()?;
        match (name, value) {
            (Some(name), Some(value)) => found.push(NamedCommunity { name: (&*name).into(), value }),
            (None, None) => {}
            (None, Some(_)) => warnings.push(item.error("a community without a name is never used")),
            (Some(_), None) => warnings.push(item.error("a community without a value is never used")),
        }
    }
    Ok(found)
}

fn read_advertisements(list: &Field<'_>) -> Read<Vec<Advertisement>> {
    let mut found = Vec::new();
    for item in list.items()? {
        let communities = read_values(&item.get("communities")?)?;
        if let Some(cidr) = item.get("cidr")?.parse()? {
            found.push(Advertisement { cidr, communities });
        }
    }
    Ok(found)
}

impl FromStr for CommunityRef {
    type Err = ValueError;

    /// Digits and colons are a value, anything else a name.
    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text.contains(':') && text.bytes().all(|b| b.is_ascii_digit() || b == b':') {
            text.parse().map(Self::Value)
        } else {
            Ok(Self::Named(text.into()))
        }
    }
}

fn read_cidrs(list: &Field<'_>) -> Read<Vec<Prefix>> {
    let mut found = Vec::new();
    for item in list.items()? {
        found.extend(item.get("cidr")?.parse::<Prefix>()?);
    }
    Ok(found)
}

/// A list of values; entries that are empty do not count.
fn read_values<T: FromStr<Err = ValueError>>(list: &Field<'_>) -> Read<Vec<T>> {
    let mut found = Vec::new();
    for item in list.items()? {
        found.extend(item.parse::<T>()?);
    }
    Ok(found)
}
