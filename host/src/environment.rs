//! What the environment of an existing deployment says. Each variable keeps the meaning that it has there.

use std::path::PathBuf;

use crate::bird::check::Daemon;
use crate::engine::{RouterId, Settings};
use crate::syncer::kubernetes::CalicoGroup;
use crate::types::{Name, ValueError};

/// A variable whose value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value:?}: {reason}")]
pub struct EnvironmentError {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// What is wrong with it and what to write.
    pub reason: String,
}

/// Looks a variable up.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The node that `NODENAME` names.
///
/// # Errors
/// The value is no node name.
pub fn node(lookup: Lookup<'_>) -> Result<Option<Name>, EnvironmentError> {
    value(lookup, "NODENAME", |text| text.parse())
}

/// The configuration file (`TAILORBIRD_CONFIG`).
pub fn configuration(lookup: Lookup<'_>) -> Option<PathBuf> {
    lookup("TAILORBIRD_CONFIG").filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// The engine's settings for a node: `CALICO_K8S_NODE_REF`, `CALICO_ROUTER_ID`, `CALICO_ADVERTISE_CLUSTER_IPS`,
/// `NAMESPACE`, `USE_POD_CIDR`.
///
/// # Errors
/// The first variable whose value cannot be used.
pub fn settings(node: Name, lookup: Lookup<'_>) -> Result<Settings, EnvironmentError> {
    let mut settings = Settings::new(node);
    if let Some(name) = value(lookup, "CALICO_K8S_NODE_REF", |text| Ok(text.into()))? {
        settings.kubernetes_node = name;
    }
    let router_id = |text: &str| match text {
        "hash" => Ok(RouterId::Hash),
        _ => text.parse().map(RouterId::Literal).map_err(|_| {
            ValueError::new("not a router id; write `hash` or an IPv4 address, or leave it unset")
        }),
    };
    settings.router_id = value(lookup, "CALICO_ROUTER_ID", router_id)?.unwrap_or_default();
    settings.advertise_cluster_ips = value(lookup, "CALICO_ADVERTISE_CLUSTER_IPS", |text| text.parse())?;
    if let Some(namespace) = value(lookup, "NAMESPACE", |text| text.parse())? {
        settings.secret_namespace = namespace;
    }
    settings.use_pod_cidr = value(lookup, "USE_POD_CIDR", boolean)?.unwrap_or(false);
    Ok(settings)
}

/// The group that Calico's objects are in, if `CALICO_API_GROUP` says so: a group with or without its version.
///
/// # Errors
/// It is neither of the two that there are.
pub fn calico_group(lookup: Lookup<'_>) -> Result<Option<CalicoGroup>, EnvironmentError> {
    value(lookup, "CALICO_API_GROUP", |text| {
        let group = [CalicoGroup::Crd, CalicoGroup::V3].into_iter().find(|group| {
            let whole = group.as_str();
            whole == text || whole.split_once('/').is_some_and(|(name, _)| name == text)
        });
        group.ok_or_else(|| ValueError::new("neither `crd.projectcalico.org/v1` nor `projectcalico.org/v3`"))
    })
}

/// The folder of the status files of local workloads (`CALICO_ENDPOINT_STATUS_PATH_PREFIX`, else `/var/run/calico`).
pub fn endpoint_status_folder(lookup: Lookup<'_>) -> PathBuf {
    let prefix = lookup("CALICO_ENDPOINT_STATUS_PATH_PREFIX").filter(|text| !text.is_empty());
    PathBuf::from(prefix.unwrap_or_else(|| "/var/run/calico".to_owned())).join("endpoint-status")
}

/// The control sockets of `bird` and `bird6`: `bird.ctl` and `bird6.ctl` in the folder `TAILORBIRD_BIRD_SOCKETS`, else in
/// `/var/run/calico`.
pub fn bird_sockets(lookup: Lookup<'_>) -> [PathBuf; 2] {
    let folder = bird_socket_folder(lookup).unwrap_or_else(|| PathBuf::from("/var/run/calico"));
    [Daemon::Bird, Daemon::Bird6].map(|daemon| folder.join(daemon.socket()))
}

/// The folder of BIRD's control sockets that `TAILORBIRD_BIRD_SOCKETS` names.
pub fn bird_socket_folder(lookup: Lookup<'_>) -> Option<PathBuf> {
    lookup("TAILORBIRD_BIRD_SOCKETS").filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// A variable's value; an empty one is none.
pub(crate) fn value<T>(
    lookup: Lookup<'_>,
    variable: &'static str,
    parse: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<Option<T>, EnvironmentError> {
    let Some(text) = lookup(variable).filter(|text| !text.is_empty()) else { return Ok(None) };
    match parse(&text) {
        Ok(value) => Ok(Some(value)),
        Err(ValueError { reason }) => Err(EnvironmentError { variable, value: text, reason }),
    }
}

/// A boolean as Go reads one.
fn boolean(text: &str) -> Result<bool, ValueError> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(ValueError::new("neither `true` nor `false`")),
    }
}
