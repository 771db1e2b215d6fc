use super::field::{Field, Read};
use super::{ObjectError, ObjectKey, Text, namespace_of};
use crate::types::{Family, Name};

/// An endpoint of a slice: where it runs and whether it is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The node that it runs on.
    pub node: Option<Text>,
    /// `conditions.ready`; an absent condition means ready.
    pub ready: bool,
}

/// EndpointSlice, as far as routes to its Service are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSlice {
    /// The namespace.
    pub namespace: Name,
    /// The name.
    pub name: Name,
    /// The label `kubernetes.io/service-name`; a slice without it belongs to no Service.
    pub service: Option<Name>,
    /// `addressType`; none for FQDN.
    pub family: Option<Family>,
    /// The endpoints.
    pub endpoints: Vec<Endpoint>,
}

/// Reads an EndpointSlice.
pub(super) fn read(
    key: &ObjectKey,
    root: &Field<'_>,
    warnings: &mut Vec<ObjectError>,
) -> Read<EndpointSlice> {
    let metadata = root.get("metadata")?;
    let labels = metadata.get("labels")?;
    let address_type = root.get("addressType")?;
    let family = match address_type.text()?.as_deref() {
        Some("IPv4") => Some(Family::V4),
        Some("IPv6") => Some(Family::V6),
        Some("FQDN") => None,
        Some(_) => {
            warnings.push(address_type.error("not an address type that is known: one of IPv4, IPv6, FQDN"));
            None
        }
        None => {
            warnings.push(address_type.error("must be set to one of IPv4, IPv6, FQDN"));
            None
        }
    };
    let mut endpoints = Vec::new();
    for item in root.get("endpoints")?.items()? {
        let conditions = item.get("conditions")?;
        let mut node = item.get("nodeName")?.text()?.map(|text| Text::from(&*text));
        if node.is_none() {
            // Where discovery.k8s.io/v1beta1 has it.
            let topology = item.get("topology")?;
            node = topology.get("kubernetes.io/hostname")?.text()?.map(|text| Text::from(&*text));
        }
        endpoints.push(Endpoint { node, ready: conditions.get("ready")?.boolean()?.unwrap_or(true) });
    }
    Ok(EndpointSlice {
        namespace: namespace_of(key),
        name: key.name.clone(),
        service: labels.get("kubernetes.io/service-name")?.parse()?,
        family,
        endpoints,
    })
}
