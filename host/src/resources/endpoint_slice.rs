use super::Text;
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
