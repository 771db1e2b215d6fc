use crate::bindings::peers::exports::tailorbird::policy::peers as wire;
use crate::peers::{Candidate, Node, Request};
use crate::text::{Text, add_all};
use crate::{ClusterId, Family, NextHop};

/// What becomes of a cluster id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClusterIdChoice {
    /// It stays.
    #[default]
    Unchanged,
    /// There is none.
    None,
    /// It is this one.
    Set(ClusterId),
}

impl ClusterIdChoice {
    fn to_wire(self) -> wire::ClusterIdChoice {
        match self {
            Self::Unchanged => wire::ClusterIdChoice::Unchanged,
            Self::None => wire::ClusterIdChoice::None,
            Self::Set(id) => wire::ClusterIdChoice::Set(id.get()),
        }
    }
}

impl From<Option<ClusterId>> for ClusterIdChoice {
    /// The choice after which the cluster id is this one, or none.
    fn from(id: Option<ClusterId>) -> Self {
        id.map_or(Self::None, Self::Set)
    }
}

/// What becomes of the candidates. One that is neither dropped nor changed is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    cluster_id: ClusterIdChoice,
    dropped: Vec<u32>,
    changed: Vec<(u32, Change)>,
    added: Vec<Addition>,
}

impl Selection {
    /// All candidates are kept.
    pub fn unchanged() -> Self {
        Self::default()
    }

    /// Says what this node's route reflector cluster id is to be.
    pub fn set_cluster_id(&mut self, choice: impl Into<ClusterIdChoice>) {
        self.cluster_id = choice.into();
    }

    /// What this node's route reflector cluster id is to be.
    pub fn cluster_id(&self) -> ClusterIdChoice {
        self.cluster_id
    }

    /// Drops a candidate. Once is enough: the host refuses an answer that drops one twice, or drops and changes one.
    pub fn drop(&mut self, candidate: Candidate<'_>) {
        self.dropped.push(candidate.place());
    }

    /// Changes a candidate; one that would change nothing is left alone.
    pub fn change(&mut self, candidate: Candidate<'_>, change: Change) {
        if change != Change::default() {
            self.changed.push((candidate.place(), change));
        }
    }

    /// Adds a peering.
    pub fn add(&mut self, addition: Addition) {
        self.added.push(addition);
    }

    /// The places of the dropped candidates, in the order in which they were dropped.
    pub fn dropped(&self) -> impl ExactSizeIterator<Item = usize> {
        self.dropped.iter().map(|place| *place as usize)
    }

    /// The places of the changed candidates, and how they are changed.
    pub fn changed(&self) -> impl ExactSizeIterator<Item = (usize, &Change)> {
        self.changed.iter().map(|(place, change)| (*place as usize, change))
    }

    /// What is added.
    pub fn added(&self) -> &[Addition] {
        &self.added
    }

    /// The names of the candidates that are kept, changed or not, in order: for tests.
    pub fn kept<'a>(&self, request: &Request<'a>) -> Vec<&'a str> {
        let dropped: std::collections::BTreeSet<usize> = self.dropped().collect();
        let kept = request.candidates().filter(|candidate| !dropped.contains(&candidate.index()));
        kept.map(|candidate| candidate.peering().name()).collect()
    }

    pub(crate) fn into_wire(self) -> wire::Answer {
        let mut names = Names::default();
        let change = self.changed.into_iter().map(|(candidate, change)| wire::Change {
            candidate,
            passive: change.passive,
            next_hop: change.next_hop,
            port: change.port,
            restart_time: change.restart_time,
            keepalive_time: change.keepalive_time,
            ttl_security: change.ttl_security,
            remote_cluster_id: change.remote_cluster_id.to_wire(),
            filters: change.filters.map(|filters| names.add(&filters)),
        });
        let change = change.collect();
        let add = self.added.into_iter().map(|addition| wire::Addition {
            node: addition.node,
            family: addition.family,
            mesh_password: addition.mesh_password,
            next_hop: addition.next_hop,
            restart_time: addition.restart_time,
            keepalive_time: addition.keepalive_time,
            remote_cluster_id: addition.remote_cluster_id.to_wire(),
            filters: names.add(&addition.filters),
        });
        let add = add.collect();
        let Names { text: Text(text), names } = names;
        wire::Answer { text, names, cluster_id: self.cluster_id.to_wire(), drop: self.dropped, change, add }
    }
}

#[derive(Default)]
struct Names {
    text: Text,
    names: Vec<wire::Span>,
}

impl Names {
    fn add(&mut self, filters: &[String]) -> wire::Range {
        let Self { text, names } = self;
        add_all(names, filters.iter().map(|filter| text.add(filter)))
    }
}

/// Changed fields of a peering; what is not named stays.
///
/// ```
/// use tailorbird_guest::{Change, NextHop};
///
/// let change = Change::new().next_hop(NextHop::Own).keepalive_time(20);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    passive: Option<bool>,
    next_hop: Option<NextHop>,
    port: Option<u16>,
    restart_time: Option<u32>,
    keepalive_time: Option<u32>,
    ttl_security: Option<u8>,
    remote_cluster_id: ClusterIdChoice,
    filters: Option<Vec<String>>,
}

impl Change {
    /// No change yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether this end waits for the other to connect.
    pub fn passive(self, passive: bool) -> Self {
        Self { passive: Some(passive), ..self }
    }

    /// What next hop this node announces.
    pub fn next_hop(self, next_hop: NextHop) -> Self {
        Self { next_hop: Some(next_hop), ..self }
    }

    /// The remote port, 1 to 65535.
    pub fn port(self, port: u16) -> Self {
        Self { port: Some(port), ..self }
    }

    /// The graceful restart time in seconds.
    pub fn restart_time(self, seconds: u32) -> Self {
        Self { restart_time: Some(seconds), ..self }
    }

    /// The keepalive time in seconds, 1 to 21845.
    pub fn keepalive_time(self, seconds: u32) -> Self {
        Self { keepalive_time: Some(seconds), ..self }
    }

    /// TTL security (RFC 5082) for so many hops, 1 to 255; 0 switches it off.
    pub fn ttl_security(self, hops: u8) -> Self {
        Self { ttl_security: Some(hops), ..self }
    }

    /// The remote end's cluster id. In a reflector's own AS, a peer with another cluster id than the reflector's, or
    /// with none, is its client.
    pub fn remote_cluster_id(self, choice: impl Into<ClusterIdChoice>) -> Self {
        Self { remote_cluster_id: choice.into(), ..self }
    }

    /// The BGPFilters, in order.
    pub fn filters<T: Into<String>>(self, filters: impl IntoIterator<Item = T>) -> Self {
        Self { filters: Some(filters.into_iter().map(Into::into).collect()), ..self }
    }
}

/// One more peering, with another node of the cluster. It is called `Plugin_<address>`, and the end with the lower address
/// (as text) waits, as in the mesh.
///
/// It has no password unless [`Addition::mesh_password`] asks for the mesh's, BIRD's own next hop and times, the node's
/// cluster id, and no filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    node: u32,
    family: Family,
    mesh_password: bool,
    next_hop: NextHop,
    restart_time: Option<u32>,
    keepalive_time: Option<u32>,
    remote_cluster_id: ClusterIdChoice,
    filters: Vec<String>,
}

impl Addition {
    /// A peering with a node, which must not be this one and must have an address of the family.
    pub fn new(node: Node<'_>, family: Family) -> Self {
        Self {
            node: node.place(),
            family,
            mesh_password: false,
            next_hop: NextHop::Automatic,
            restart_time: None,
            keepalive_time: None,
            remote_cluster_id: ClusterIdChoice::Unchanged,
            filters: Vec::new(),
        }
    }

    /// The place of the remote node in [`Request::nodes`].
    pub fn node_index(&self) -> usize {
        self.node as usize
    }

    /// The family of the session.
    pub fn family(&self) -> Family {
        self.family
    }

    /// It has the mesh's password, if the mesh has one.
    pub fn mesh_password(self) -> Self {
        Self { mesh_password: true, ..self }
    }

    /// What next hop this node announces.
    pub fn next_hop(self, next_hop: NextHop) -> Self {
        Self { next_hop, ..self }
    }

    /// The graceful restart time in seconds.
    pub fn restart_time(self, seconds: u32) -> Self {
        Self { restart_time: Some(seconds), ..self }
    }

    /// The keepalive time in seconds, 1 to 21845.
    pub fn keepalive_time(self, seconds: u32) -> Self {
        Self { keepalive_time: Some(seconds), ..self }
    }

    /// The remote end's cluster id; that of the node unless this says another.
    pub fn remote_cluster_id(self, choice: impl Into<ClusterIdChoice>) -> Self {
        Self { remote_cluster_id: choice.into(), ..self }
    }

    /// The BGPFilters, in order.
    pub fn filters<T: Into<String>>(self, filters: impl IntoIterator<Item = T>) -> Self {
        Self { filters: filters.into_iter().map(Into::into).collect(), ..self }
    }
}
