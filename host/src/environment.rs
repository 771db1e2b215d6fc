//! What the environment of an existing deployment says. Each variable keeps the meaning that it has there.

mod etcd;
mod file;

use std::path::PathBuf;
use std::time::Duration;

use crate::bird::check::Daemon;
use crate::engine::{RouterId, Settings};
use crate::syncer::kubernetes::CalicoGroup;
use crate::syncer::typha;
use crate::types::{Name, ValueError};

pub use etcd::etcd;
pub use file::{CalicoConfig, CalicoConfigError};

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
    text(lookup, "TAILORBIRD_CONFIG").map(PathBuf::from)
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

/// What Calico keeps its objects in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// The API of Kubernetes.
    Kubernetes,
    /// etcd.
    Etcd,
}

/// Whether there is a Kubernetes API: one that is named and cannot be used is no reason to do without.
pub fn names_kubernetes(lookup: Lookup<'_>) -> bool {
    let named = |variable| text(lookup, variable).is_some();
    named("KUBECONFIG") || named("KUBERNETES_SERVICE_HOST")
}

/// A variable about etcd, with its prefix and without.
macro_rules! etcds {
    ($field:literal) => {
        [concat!("CALICO_ETCD_", $field), concat!("ETCD_", $field)]
    };
}
use etcds;

/// Where Calico's objects are: as `DATASTORE_TYPE` says; else in etcd if `ETCD_ENDPOINTS` names any, else in Kubernetes.
/// Each variable counts first with the prefix `CALICO_`.
///
/// # Errors
/// The type is neither `kubernetes` nor `etcdv3`.
pub fn store(lookup: Lookup<'_>) -> Result<Store, EnvironmentError> {
    let parse = |text: &str| match text {
        "kubernetes" => Ok(Store::Kubernetes),
        "etcdv3" => Ok(Store::Etcd),
        _ => Err(ValueError::new("neither `kubernetes` nor `etcdv3`; Kubernetes is meant if it is unset")),
    };
    if let Some(found) = first(lookup, ["CALICO_DATASTORE_TYPE", "DATASTORE_TYPE"]) {
        return parsed(found, parse);
    }
    match first(lookup, etcds!("ENDPOINTS")) {
        Some(_) => Ok(Store::Etcd),
        None => Ok(Store::Kubernetes),
    }
}

/// A variable about Typha, as each of its prefixes has it.
macro_rules! typhas {
    ($field:literal) => {
        [concat!("CONFD_TYPHA", $field), concat!("FELIX_TYPHA", $field), concat!("CALICO_TYPHA", $field)]
    };
}

/// How Typha is spoken to, if the environment says that there is one: by its address or by its Service in Kubernetes.
/// Each variable is looked for with the prefixes `CONFD_`, `FELIX_` and `CALICO_`, in this order; `none` says nothing, as an
/// empty text does.
///
/// # Errors
/// The first variable whose value cannot be used, or that is missing beside the others.
pub fn typha(lookup: Lookup<'_>) -> Result<Option<typha::Config>, EnvironmentError> {
    let lookup: Lookup<'_> = &|variable| lookup(variable).filter(|text| text != "none");
    let address = |text: &str| match text.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()) {
        Some(_) => Ok(typha::At::Address(text.to_owned())),
        None => Err(ValueError::new("not a host and a port as `10.0.0.1:5473`")),
    };
    let at = match first(lookup, typhas!("ADDR")) {
        Some(found) => parsed(found, address)?,
        None => match first(lookup, typhas!("K8SSERVICENAME")) {
            Some(service) => {
                let namespace = first(lookup, typhas!("K8SNAMESPACE"));
                let namespace = namespace.unwrap_or(("FELIX_TYPHAK8SNAMESPACE", "kube-system".to_owned()));
                typha::At::Service {
                    namespace: parsed(namespace, str::parse)?,
                    name: parsed(service, str::parse)?,
                }
            }
            None => return Ok(None),
        },
    };
    let duration = |text: &str| {
        let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0);
        seconds
            .map(Duration::from_secs_f64)
            .ok_or_else(|| ValueError::new("not a number of seconds, greater than 0 and of a day at most"))
    };
    let seconds =
        |variables, usual| first(lookup, variables).map_or(Ok(usual), |found| parsed(found, duration));
    let usual = typha::Config::new(at);
    Ok(Some(typha::Config {
        tls: typha_tls(lookup)?,
        read: seconds(typhas!("READTIMEOUT"), usual.read)?,
        write: seconds(typhas!("WRITETIMEOUT"), usual.write)?,
        ..usual
    }))
}

/// TLS as soon as anything of it is said; then all of it must be.
fn typha_tls(lookup: Lookup<'_>) -> Result<Option<typha::Tls>, EnvironmentError> {
    let files = [typhas!("CAFILE"), typhas!("CERTFILE"), typhas!("KEYFILE")];
    let found = files.map(|variables| first(lookup, variables));
    let common = first(lookup, typhas!("CN"));
    let uri = first(lookup, typhas!("URISAN"));
    let set: Vec<&'static str> =
        found.iter().chain([&common, &uri]).flatten().map(|(variable, _)| *variable).collect();
    let Some(cause) = set.first() else { return Ok(None) };
    let missing = |variable, what: &str| EnvironmentError {
        variable,
        value: String::new(),
        reason: format!("{what} is needed for TLS with Typha, which {cause} asks for"),
    };
    let [authority, certificate, key] = found.map(|found| found.map(|(_, text)| PathBuf::from(text)));
    Ok(Some(typha::Tls {
        authority: authority.ok_or_else(|| missing("FELIX_TYPHACAFILE", "the authority's certificate"))?,
        certificate: certificate.ok_or_else(|| missing("FELIX_TYPHACERTFILE", "the client's certificate"))?,
        key: key.ok_or_else(|| missing("FELIX_TYPHAKEYFILE", "the client's key"))?,
        server: match (common, uri) {
            (Some((_, common)), Some((_, uri))) => typha::ServerIdentity::Either(common, uri),
            (Some((_, common)), None) => typha::ServerIdentity::CommonName(common),
            (None, Some((_, uri))) => typha::ServerIdentity::Uri(uri),
            (None, None) => {
                return Err(missing("FELIX_TYPHACN", "the server's name (or FELIX_TYPHAURISAN, its URI)"));
            }
        },
    }))
}

/// The folder of the status files of local workloads (`CALICO_ENDPOINT_STATUS_PATH_PREFIX`, else `/var/run/calico`).
pub fn endpoint_status_folder(lookup: Lookup<'_>) -> PathBuf {
    let prefix = text(lookup, "CALICO_ENDPOINT_STATUS_PATH_PREFIX");
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
    text(lookup, "TAILORBIRD_BIRD_SOCKETS").map(PathBuf::from)
}

/// A variable, and the text that it has.
type Found = (&'static str, String);

/// A variable's text; an empty one is none.
fn text(lookup: Lookup<'_>, variable: &str) -> Option<String> {
    lookup(variable).filter(|text| !text.is_empty())
}

/// The first of some variables that has a text.
fn first<const N: usize>(lookup: Lookup<'_>, variables: [&'static str; N]) -> Option<Found> {
    variables.into_iter().find_map(|variable| Some((variable, text(lookup, variable)?)))
}

/// What the text of a variable means.
fn parsed<T>(
    (variable, value): Found,
    parse: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<T, EnvironmentError> {
    parse(&value).map_err(|ValueError { reason }| EnvironmentError { variable, value, reason })
}

/// A variable's value; an empty one is none.
pub(crate) fn value<T>(
    lookup: Lookup<'_>,
    variable: &'static str,
    parse: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<Option<T>, EnvironmentError> {
    text(lookup, variable).map(|text| parsed((variable, text), parse)).transpose()
}

/// A boolean as Go reads one.
fn boolean(text: &str) -> Result<bool, ValueError> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(ValueError::new("neither `true` nor `false`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn with<T>(set: &[(&str, &str)], read: impl FnOnce(Lookup<'_>) -> T) -> T {
        let set: Vec<(String, String)> =
            set.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        read(&|name| set.iter().find(|(own, _)| own == name).map(|(_, text)| text.clone()))
    }

    #[test]
    fn the_datastore_is_chosen_as_in_existing_deployments() {
        for (set, store) in [
            (&[][..], Ok(Store::Kubernetes)),
            (&[("DATASTORE_TYPE", "kubernetes"), ("ETCD_ENDPOINTS", "http://e:2379")], Ok(Store::Kubernetes)),
            (&[("DATASTORE_TYPE", "etcdv3")], Ok(Store::Etcd)),
            (&[("ETCD_ENDPOINTS", "http://e:2379")], Ok(Store::Etcd)),
            (&[("CALICO_ETCD_ENDPOINTS", "http://e:2379"), ("DATASTORE_TYPE", "")], Ok(Store::Etcd)),
            (&[("CALICO_DATASTORE_TYPE", "kubernetes"), ("DATASTORE_TYPE", "etcdv3")], Ok(Store::Kubernetes)),
            (&[("DATASTORE_TYPE", "etcd")], Err("DATASTORE_TYPE=\"etcd\"")),
        ] {
            let found = with(set, |lookup| self::store(lookup)).map_err(|error| error.to_string());
            match (found, store) {
                (Ok(found), Ok(store)) => assert_eq!(found, store, "{set:?}"),
                (Err(error), Err(told)) => assert!(error.starts_with(told), "{set:?}: {error}"),
                (found, store) => panic!("{set:?}: {found:?} in place of {store:?}"),
            }
        }
    }

    #[test]
    fn typha_is_in_use_when_an_address_or_a_service_is_named() {
        use typha::At;
        let at = |set: &[(&str, &str)]| {
            let found = with(set, |lookup| self::typha(lookup));
            found.map(|typha| typha.map(|typha| typha.at)).map_err(|error| error.to_string())
        };
        let address = |text: &str| Ok(Some(At::Address(text.to_owned())));
        let service = |namespace: &str, name: &str| {
            let [namespace, name] = [namespace, name].map(|text| text.parse().expect("a name"));
            Ok(Some(At::Service { namespace, name }))
        };
        assert_eq!(at(&[]), Ok(None));
        assert_eq!(at(&[("FELIX_TYPHAADDR", "none"), ("CALICO_TYPHAK8SSERVICENAME", "none")]), Ok(None));
        // Timeouts alone, and TLS alone, ask for no Typha.
        assert_eq!(at(&[("FELIX_TYPHAREADTIMEOUT", "x"), ("FELIX_TYPHACAFILE", "/ca")]), Ok(None));
        let all = [("CALICO_TYPHAADDR", "c:1"), ("FELIX_TYPHAADDR", "f:1"), ("CONFD_TYPHAADDR", "none")];
        assert_eq!(at(&all), address("f:1"));
        let named = ("FELIX_TYPHAK8SSERVICENAME", "calico-typha");
        assert_eq!(at(&[named, ("CALICO_TYPHAADDR", "[fd00::1]:5473")]), address("[fd00::1]:5473"));
        assert_eq!(at(&[named]), service("kube-system", "calico-typha"));
        assert_eq!(
            at(&[named, ("CONFD_TYPHAK8SNAMESPACE", "calico-system")]),
            service("calico-system", "calico-typha")
        );
        for set in [
            ("FELIX_TYPHAADDR", "typha"),
            ("FELIX_TYPHAADDR", "typha:x"),
            ("CALICO_TYPHAK8SSERVICENAME", "a b"),
        ] {
            let error = at(&[set]).expect_err(set.1);
            assert!(error.starts_with(set.0), "{error}");
        }
    }

    #[test]
    fn typha_is_spoken_to_as_the_environment_says() {
        use typha::ServerIdentity;
        let read = |more: &[(&str, &str)]| {
            let set = [&[("FELIX_TYPHAADDR", "typha:5473")], more].concat();
            let found = with(&set, |lookup| self::typha(lookup)).map_err(|error| error.to_string());
            found.map(|typha| typha.expect("a Typha"))
        };
        let usual = read(&[]).expect("the usual");
        assert_eq!((usual.read.as_secs(), usual.write.as_secs(), usual.tls), (30, 10, None));
        let times =
            read(&[("CONFD_TYPHAREADTIMEOUT", "1.5"), ("FELIX_TYPHAREADTIMEOUT", "9")]).expect("times");
        assert_eq!(times.read, Duration::from_millis(1500));
        let files =
            [("FELIX_TYPHACAFILE", "/ca"), ("FELIX_TYPHACERTFILE", "/cert"), ("FELIX_TYPHAKEYFILE", "/key")];
        let server = |names: &[(&str, &str)]| {
            read(&[&files, names].concat()).map(|typha| typha.tls.expect("TLS").server)
        };
        let (common, uri) = (("FELIX_TYPHACN", "typha"), ("CALICO_TYPHAURISAN", "spiffe://t"));
        assert_eq!(server(&[common]), Ok(ServerIdentity::CommonName("typha".into())));
        assert_eq!(server(&[uri]), Ok(ServerIdentity::Uri("spiffe://t".into())));
        assert_eq!(server(&[uri, common]), Ok(ServerIdentity::Either("typha".into(), "spiffe://t".into())));
        for (set, missing) in [
            (&files[..], "FELIX_TYPHACN"),
            (&files[..2], "FELIX_TYPHAKEYFILE"),
            (&files[1..], "FELIX_TYPHACAFILE"),
            (&[common], "FELIX_TYPHACAFILE"),
            (&[("FELIX_TYPHAWRITETIMEOUT", "-1")], "FELIX_TYPHAWRITETIMEOUT"),
            (&[("CONFD_TYPHAREADTIMEOUT", "soon")], "CONFD_TYPHAREADTIMEOUT"),
        ] {
            let error = read(set).expect_err(missing);
            assert!(error.starts_with(missing), "{error}");
        }
    }
}
