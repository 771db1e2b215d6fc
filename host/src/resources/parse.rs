//! From a parsed document to the object that it is.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::field::{Field, Read};
use super::{
    Kind, ObjectError, ObjectKey, Parsed, Resource, bgp_configuration, bgp_filter, bgp_peer, block_affinity,
    endpoint_slice, ip_pool, node, secret, service,
};
use crate::types::{KeyPattern, Name, ValueError};

/// What holds for objects that do not say it themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    /// The namespace of Services and EndpointSlices: `default`.
    pub namespace: Name,
    /// The namespace of Secrets: `kube-system`, unless the environment names another.
    pub secret_namespace: Name,
    /// The keys under `/tailorbird/v1` that somebody may read: annotations and the like that none of these patterns
    /// covers are not kept.
    pub published: Arc<[KeyPattern]>,
}

impl Defaults {
    /// The usual defaults with this namespace for Secrets, and nothing published.
    pub fn new(secret_namespace: Name) -> Self {
        Self { namespace: known_name("default"), secret_namespace, published: Arc::default() }
    }
}

impl Default for Defaults {
    fn default() -> Self {
        Self::new(known_name("kube-system"))
    }
}

fn known_name(text: &'static str) -> Name {
    match text.parse() {
        Ok(name) => name,
        Err(error) => unreachable!("{text}: {error}"),
    }
}

/// A document whose object cannot even be named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DocumentError {
    /// The kind, if the document says one.
    pub kind: String,
    /// The field's path, as `metadata.name`.
    pub field: &'static str,
    /// The value as it was written, shortened; empty when there is none.
    pub value: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.kind.is_empty() {
            write!(f, "{}: ", self.kind)?;
        }
        match (self.field.is_empty(), self.value.is_empty()) {
            (true, _) => {}
            (false, true) => write!(f, "{}: ", self.field)?,
            (false, false) => write!(f, "{} = {:?}: ", self.field, self.value)?,
        }
        f.write_str(&self.reason)
    }
}

/// What a document holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Document {
    /// An object of a kind that is read, whole or malformed.
    Object(Parsed),
    /// An object of another kind.
    Ignored {
        /// Its `apiVersion`.
        api_version: String,
        /// Its `kind`.
        kind: String,
    },
}

/// The kind that an `apiVersion` and a `kind` name, if it is one that is read.
pub fn kind_of(api_version: &str, kind: &str) -> Option<Kind> {
    let calico = matches!(api_version, "crd.projectcalico.org/v1" | "projectcalico.org/v3");
    match kind {
        "Node" if calico => Some(Kind::CalicoNode),
        "BGPConfiguration" if calico => Some(Kind::BgpConfiguration),
        "BGPPeer" if calico => Some(Kind::BgpPeer),
        "BGPFilter" if calico => Some(Kind::BgpFilter),
        "IPPool" if calico => Some(Kind::IpPool),
        "BlockAffinity" if calico => Some(Kind::BlockAffinity),
        "Node" if api_version == "v1" => Some(Kind::KubeNode),
        "Service" if api_version == "v1" => Some(Kind::Service),
        "Secret" if api_version == "v1" => Some(Kind::Secret),
        "EndpointSlice" if matches!(api_version, "discovery.k8s.io/v1" | "discovery.k8s.io/v1beta1") => {
            Some(Kind::EndpointSlice)
        }
        _ => None,
    }
}

/// Reads a document: which object it is, and the object or what is wrong with it.
pub fn parse(document: &Value, defaults: &Defaults) -> Result<Document, DocumentError> {
    let error = |kind: &str, field, value: &str, reason: &str| DocumentError {
        kind: shorten(kind),
        field,
        value: shorten(value),
        reason: reason.to_owned(),
    };
    let Value::Object(map) = document else {
        return Err(error(
            "",
            "",
            "",
            "not an object: a mapping with apiVersion, kind and metadata is expected",
        ));
    };
    let word = |field| map.get(field).and_then(Value::as_str).unwrap_or("");
    let (api_version, kind_word) = (word("apiVersion"), word("kind"));
    if kind_word.is_empty() {
        return Err(error("", "kind", "", "must be set"));
    }
    if api_version.is_empty() {
        return Err(error(kind_word, "apiVersion", "", "must be set"));
    }
    // A slip of the pen in the version must not make an object of Calico vanish without a word.
    let calico = || match api_version.split_once('/') {
        Some(("crd.projectcalico.org" | "projectcalico.org", _)) => {
            kind_of("projectcalico.org/v3", kind_word)
        }
        _ => None,
    };
    let known = kind_of(api_version, kind_word);
    let Some(kind) = known.or_else(calico) else {
        return Ok(Document::Ignored { api_version: shorten(api_version), kind: shorten(kind_word) });
    };
    let metadata = match map.get("metadata") {
        None | Some(Value::Null) => None,
        Some(Value::Object(metadata)) => Some(metadata),
        Some(_) => return nameless(kind, error(kind_word, "metadata", "", "must be a mapping")),
    };
    let name_at = |field: &str, path: &'static str| match metadata.and_then(|map| map.get(field)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => match text.parse::<Name>() {
            Ok(name) => Ok(Some(name)),
            Err(cause) => Err(error(kind_word, path, text, &cause.reason)),
        },
        // A number is as good a name as any once it is text, but a word that YAML took for a boolean is not.
        Some(Value::Number(number)) if !number.is_f64() => {
            let text = number.to_string();
            text.parse::<Name>().map(Some).map_err(|cause| error(kind_word, path, &text, &cause.reason))
        }
        Some(other) => {
            let text = if other.is_boolean() { other.to_string() } else { String::new() };
            Err(error(kind_word, path, &text, "must be text; a word such as `yes` or `on` needs quotes"))
        }
    };
    let name = match name_at("name", "metadata.name") {
        Ok(Some(name)) => name,
        Ok(None) => return nameless(kind, error(kind_word, "metadata.name", "", "must be set")),
        Err(error) => return nameless(kind, error),
    };
    let namespace = match kind {
        Kind::Secret => Some(&defaults.secret_namespace),
        kind if kind.is_namespaced() => Some(&defaults.namespace),
        _ => None,
    };
    let namespace = match namespace {
        Some(default) => Some(name_at("namespace", "metadata.namespace")?.unwrap_or_else(|| default.clone())),
        None => None,
    };
    let key = ObjectKey { kind, namespace, name };
    let mut warnings = Vec::new();
    let resource = match known {
        Some(_) => convert(&key, document, &defaults.published, &mut warnings),
        None => {
            let reason = "not a version that is read: one of crd.projectcalico.org/v1, projectcalico.org/v3";
            Err(ObjectError::new(&key, "apiVersion", api_version, &ValueError::new(reason)))
        }
    };
    if resource.is_err() {
        // The object is not used: what else is odd about it does not matter.
        warnings.clear();
    }
    Ok(Document::Object(Parsed { key, resource, warnings }))
}

/// What becomes of an object that cannot be named. A malformed pool must not be missing, so it is an object all the
/// same, under a name that the API allows to nobody; any other is an error of its document.
fn nameless(kind: Kind, error: DocumentError) -> Result<Document, DocumentError> {
    if kind != Kind::IpPool {
        return Err(error);
    }
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    let name = format!("_{}", error.value.chars().map(allowed).collect::<String>());
    let Ok(name) = name.parse() else { return Err(error) };
    let key = ObjectKey::global(kind, name);
    let fault = ObjectError::new(&key, error.field, &error.value, &ValueError::new(error.reason));
    Ok(Document::Object(Parsed { key, resource: Err(fault), warnings: Vec::new() }))
}

fn convert(
    key: &ObjectKey,
    document: &Value,
    published: &[KeyPattern],
    warnings: &mut Vec<ObjectError>,
) -> Read<Resource> {
    let root = Field::root(key, document);
    Ok(match key.kind {
        Kind::CalicoNode => Resource::CalicoNode(node::read_calico(key, &root, published, warnings)?),
        Kind::KubeNode => Resource::KubeNode(node::read_kube(key, &root, published, warnings)?),
        Kind::BgpConfiguration => {
            Resource::BgpConfiguration(Box::new(bgp_configuration::read(key, &root, warnings)?))
        }
        Kind::BgpPeer => Resource::BgpPeer(Box::new(bgp_peer::read(key, &root)?)),
        Kind::BgpFilter => Resource::BgpFilter(bgp_filter::read(key, &root)?),
        Kind::IpPool => Resource::IpPool(ip_pool::read(key, &root)?),
        Kind::BlockAffinity => Resource::BlockAffinity(block_affinity::read(key, &root)?),
        Kind::Service => Resource::Service(Box::new(service::read(key, &root, published, warnings)?)),
        Kind::EndpointSlice => Resource::EndpointSlice(endpoint_slice::read(key, &root, warnings)?),
        Kind::Secret => Resource::Secret(secret::read(key, &root)?),
        Kind::Workload => {
            let reason = ValueError::new("a status file is no API object");
            return Err(ObjectError::new(key, "", "", &reason));
        }
    })
}

/// A foreign word for a message: at most 80 characters.
pub(super) fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}
