use std::net::IpAddr;

use crate::bindings::filter::exports::tailorbird::policy::filter as wire;
use crate::text::{piece, some_piece};
use crate::{Community, Prefix, Priority, RouteKind};

/// A route that this node is about to originate.
#[derive(Debug, Clone, Copy)]
pub struct Route<'a> {
    text: &'a str,
    wire: &'a wire::Route,
}

/// A Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Service<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

impl<'a> Route<'a> {
    pub(crate) fn new(text: &'a str, wire: &'a wire::Route) -> Self {
        Self { text, wire }
    }

    /// The prefix.
    pub fn prefix(&self) -> Prefix {
        Prefix::from_wire(self.wire.prefix)
    }

    /// What it stands for.
    pub fn kind(&self) -> RouteKind {
        self.wire.kind
    }

    /// The Service that it is of, for routes of Services.
    pub fn service(&self) -> Option<Service<'a>> {
        let name = some_piece(self.text, self.wire.service)?;
        Some(Service { namespace: piece(self.text, self.wire.namespace), name })
    }
}

/// A remote end that a route may go to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// The peerings of the BGPPeer with this name.
    BgpPeer(String),
    /// The peering with this address.
    Address(IpAddr),
}

/// What becomes of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub(super) accept: bool,
    pub(super) communities: Vec<Community>,
    pub(super) priority: Option<Priority>,
    pub(super) to: Option<Vec<Destination>>,
}

impl Decision {
    /// The route goes out; to all peerings, and as it is, unless more is said.
    pub fn accept() -> Self {
        Self { accept: true, communities: Vec::new(), priority: None, to: None }
    }

    /// The route is not originated; nothing else matters then.
    pub fn reject() -> Self {
        Self { accept: false, ..Self::accept() }
    }

    /// It gets a community.
    pub fn community(mut self, community: Community) -> Self {
        self.communities.push(community);
        self
    }

    /// It gets communities.
    pub fn communities(mut self, communities: impl IntoIterator<Item = Community>) -> Self {
        self.communities.extend(communities);
        self
    }

    /// It gets a priority.
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// It goes to these alone; to nobody if there are none.
    pub fn only_to(self, destinations: impl IntoIterator<Item = Destination>) -> Self {
        Self { to: Some(destinations.into_iter().collect()), ..self }
    }
}
