use std::net::IpAddr;

use crate::bindings::filter::exports::tailorbird::policy::filter as wire;
use crate::text::{piece, some_piece};
use crate::values::address_in;
use crate::{Community, Prefix, Priority, RouteKind};

/// A route that this node is about to originate.
#[derive(Debug, Clone, Copy)]
pub struct Route<'a> {
    text: &'a str,
    columns: &'a wire::Routes,
    row: usize,
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
    pub(crate) fn new(text: &'a str, columns: &'a wire::Routes, row: usize) -> Self {
        Self { text, columns, row }
    }

    /// The prefix.
    pub fn prefix(&self) -> Prefix {
        let address = address_in(&self.columns.families, &self.columns.addresses, self.row);
        let length = self.columns.lengths.get(self.row).copied().unwrap_or_default();
        // The host gives no length that is too great.
        Prefix::new(address, length).unwrap_or(Prefix::host(address))
    }

    /// What it stands for.
    pub fn kind(&self) -> RouteKind {
        self.columns.kinds.get(self.row).copied().unwrap_or(RouteKind::Cidr)
    }

    /// The Service that it is of, for routes of Services.
    pub fn service(&self) -> Option<Service<'a>> {
        let name = some_piece(self.text, *self.columns.services.get(self.row)?)?;
        Some(Service { namespace: piece(self.text, *self.columns.namespaces.get(self.row)?), name })
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
