//! The configuration file of Calico's clients, which is read in place of the environment.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::etcd::Said;
use super::{EnvironmentError, Store};
use crate::manifest;
use crate::regular;
use crate::syncer::etcd;

/// Where Calico's objects are, as a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CalicoConfig {
    /// In the API of Kubernetes, to which this kubeconfig leads; without one the environment says how it is found.
    Kubernetes(Option<PathBuf>),
    /// In etcd.
    Etcd(etcd::Config),
}

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", .file.display())]
pub struct CalicoConfigError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it and what to write.
    pub reason: String,
}

/// The largest file that is read, in bytes.
const MAX_FILE: usize = 1 << 20;

/// What a file may say of Kubernetes that is said in a kubeconfig instead.
const KUBERNETES: [&str; 12] = [
    "k8sAPIEndpoint",
    "k8sKeyFile",
    "k8sCertFile",
    "k8sCAFile",
    "k8sAPIToken",
    "k8sInsecureSkipTLSVerify",
    "k8sDisableNodePoll",
    "k8sUsePodCIDR",
    "k8sClientQPS",
    "k8sCurrentContext",
    "kubeconfigInline",
    "calicoAPIGroup",
];

impl CalicoConfig {
    /// Reads a file in YAML or JSON.
    ///
    /// # Errors
    /// It cannot be read, has a key that nobody knows, or something in it cannot be used.
    pub fn read(file: &Path) -> Result<Self, CalicoConfigError> {
        let text = regular::read_text(file, MAX_FILE).map_err(|error| format!("cannot be read: {error}"));
        text.and_then(|text| parse(&text))
            .map_err(|reason| CalicoConfigError { file: file.to_owned(), reason })
    }

    /// What Calico keeps its objects in.
    pub fn store(&self) -> Store {
        match self {
            Self::Kubernetes(_) => Store::Kubernetes,
            Self::Etcd(_) => Store::Etcd,
        }
    }
}

fn parse(text: &str) -> Result<CalicoConfig, String> {
    let (mut spec, mut is_versioned, mut is_named) = (None, false, false);
    for (key, value) in manifest::read_mapping(text)? {
        match (key.as_str(), value) {
            ("apiVersion", Value::String(version)) if version == "projectcalico.org/v3" => {
                is_versioned = true;
            }
            ("apiVersion", _) => return Err("apiVersion: not `projectcalico.org/v3`".to_owned()),
            ("kind", Value::String(kind)) if kind == "CalicoAPIConfig" => is_named = true,
            ("kind", _) => return Err("kind: not `CalicoAPIConfig`".to_owned()),
            ("metadata", _) => {}
            ("spec", Value::Object(map)) => spec = Some(map),
            ("spec", Value::Null) => {}
            ("spec", _) => return Err("spec: no mapping".to_owned()),
            (other, _) => return Err(unknown(other)),
        }
    }
    // A file that lost its content says nothing, and must not be taken to mean something.
    if !is_versioned || !is_named {
        return Err(
            "it must begin with `apiVersion: projectcalico.org/v3` and `kind: CalicoAPIConfig`".to_owned()
        );
    }
    of_spec(spec.unwrap_or_default())
}

fn unknown(key: &str) -> String {
    format!("{key:?} is no key of this file; is it misspelt, or does it belong under `spec`?")
}

fn of_spec(spec: Map<String, Value>) -> Result<CalicoConfig, String> {
    let (mut said, mut store, mut kubeconfig) = (Said::default(), None, None);
    let mut of_kubernetes = None;
    for (key, value) in spec {
        if let Some(known) = KUBERNETES.into_iter().find(|known| *known == key) {
            of_kubernetes = Some(known);
            continue;
        }
        let text = match value {
            Value::String(text) => Some(text).filter(|text| !text.is_empty()),
            Value::Null => None,
            // What stands there may be a password.
            _ => return Err(format!("spec.{key}: no text; put it in quotes")),
        };
        let (field, name) = match key.as_str() {
            "etcdEndpoints" => (&mut said.endpoints, "etcdEndpoints"),
            "etcdDiscoverySrv" => (&mut said.discovery, "etcdDiscoverySrv"),
            "etcdUsername" => (&mut said.username, "etcdUsername"),
            "etcdPassword" => (&mut said.password, "etcdPassword"),
            "etcdCACertFile" => (&mut said.files[0], "etcdCACertFile"),
            "etcdCertFile" => (&mut said.files[1], "etcdCertFile"),
            "etcdKeyFile" => (&mut said.files[2], "etcdKeyFile"),
            "etcdCACert" => (&mut said.texts[0], "etcdCACert"),
            "etcdCert" => (&mut said.texts[1], "etcdCert"),
            "etcdKey" => (&mut said.texts[2], "etcdKey"),
            "datastoreType" => (&mut store, "datastoreType"),
            "kubeconfig" => (&mut kubeconfig, "kubeconfig"),
            other => return Err(unknown(other)),
        };
        *field = text.map(|text| (name, text));
    }
    let is_etcd = match store.as_ref().map(|(_, text)| text.as_str()) {
        Some("etcdv3") => true,
        Some("kubernetes") => false,
        Some(other) => {
            return Err(format!("spec.datastoreType: {other:?} is neither `kubernetes` nor `etcdv3`"));
        }
        None => said.endpoints.is_some(),
    };
    if is_etcd {
        let config = said.config("etcdEndpoints");
        return config
            .map(CalicoConfig::Etcd)
            .map_err(|EnvironmentError { variable, reason, .. }| format!("spec.{variable}: {reason}"));
    }
    match of_kubernetes {
        Some(key) => Err(format!("spec.{key} is not read here: name a kubeconfig file by `kubeconfig`")),
        None => Ok(CalicoConfig::Kubernetes(kubeconfig.map(|(_, path)| path.into()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syncer::Pem;

    const HEAD: &str = "apiVersion: projectcalico.org/v3\nkind: CalicoAPIConfig\nmetadata:\nspec:\n";

    #[test]
    fn a_file_says_what_the_environment_would() {
        let CalicoConfig::Etcd(config) = parse(&format!(
            "{HEAD}  datastoreType: etcdv3\n  etcdEndpoints: https://a:2379\n  etcdUsername: calico\n  \
             etcdPassword: sesame\n  etcdCACert: |\n    authority\n  etcdCert: certificate\n  etcdKey: key\n"
        ))
        .expect("YAML") else {
            panic!("etcd")
        };
        let named = "https://a:2379".parse().expect("an endpoint");
        assert_eq!(config.members, etcd::Members::Named(named));
        assert_eq!(config.tls.authority, Some(Pem::Text { name: "etcdCACert", text: "authority\n".into() }));
        assert!(config.user.is_some() && config.tls.identity.is_some());
        let discovered = format!("{HEAD}  datastoreType: etcdv3\n  etcdDiscoverySrv: example.org\n");
        let Ok(CalicoConfig::Etcd(config)) = parse(&discovered) else { panic!("etcd") };
        assert!(matches!(config.members, etcd::Members::Discovered(_)), "{config:?}");
        let json = r#"{"apiVersion":"projectcalico.org/v3","kind":"CalicoAPIConfig","spec":{"etcdEndpoints":"http://a:1"}}"#;
        assert_eq!(parse(json).expect("JSON").store(), Store::Etcd);
        let kubernetes = format!("{HEAD}  datastoreType: kubernetes\n  kubeconfig: /k\n");
        assert_eq!(parse(&kubernetes), Ok(CalicoConfig::Kubernetes(Some("/k".into()))));
        assert_eq!(parse(HEAD), Ok(CalicoConfig::Kubernetes(None)));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_key_and_never_shows_a_secret() {
        let at = "  etcdEndpoints: http://a:1\n";
        for (spec, told) in [
            (format!("{at}  etcdDiscoverySrv: x\n"), "spec.etcdDiscoverySrv: etcdEndpoints says"),
            (format!("{at}  etcdEndpoint: x\n"), "\"etcdEndpoint\" is no key"),
            (format!("{at}  etcdPassword: 4711\n"), "spec.etcdPassword: no text"),
            (format!("{at}  etcdCertFile: /c\n"), "spec.etcdCertFile: the key"),
            (format!("{at}  etcdCACert: 4711x\n"), "spec.etcdCACert: the client's certificate and key"),
            (
                format!("{at}  etcdKey: 4711x\n  etcdCertFile: /c\n"),
                "spec.etcdKey: etcdCertFile names a file",
            ),
            ("  datastoreType: etcdv3\n".to_owned(), "spec.etcdEndpoints: nothing says where"),
            ("  datastoreType: etcd\n".to_owned(), "spec.datastoreType: \"etcd\""),
            ("  k8sAPIEndpoint: http://k\n".to_owned(), "spec.k8sAPIEndpoint is not read"),
        ] {
            let error = parse(&format!("{HEAD}{spec}")).expect_err(told);
            assert!(error.contains(told) && !error.contains("4711"), "{error}");
        }
        for (text, told) in [
            ("[1]", "mapping"),
            ("kind: Other", "CalicoAPIConfig"),
            ("apiVersion: v1", "projectcalico.org/v3"),
            ("etcdEndpoints: x", "under `spec`"),
            ("spec: [", "YAML"),
            ("{}", "must begin with"),
            ("kind: CalicoAPIConfig", "must begin with"),
        ] {
            let error = parse(text).expect_err(told);
            assert!(error.contains(told), "{error}");
        }
    }
}
