//! Which peerings a node has.

mod request;
mod selection;

pub use request::{Candidate, Node, Request};
pub use selection::{Addition, Change, ClusterIdChoice, Selection};

use crate::{Kv, Policy};

/// Chooses a node's peerings.
///
/// ```
/// use tailorbird_guest::{
///     Kv, NoSettings, PeeringKind, Peers, Policy, Request, Selection,
/// };
///
/// /// Keeps the mesh inside a zone.
/// struct ZoneMesh;
///
/// const ZONE: &str = "topology.kubernetes.io/zone";
///
/// impl Policy for ZoneMesh {
///     type Settings = NoSettings;
///
///     fn configure(_: NoSettings) -> Result<Self, String> {
///         Ok(Self)
///     }
/// }
///
/// impl Peers for ZoneMesh {
///     fn select(&self, request: &Request<'_>, _: &dyn Kv) -> Result<Selection, String> {
///         let mut selection = Selection::unchanged();
///         let Some(own_zone) = request.this_node().and_then(|node| node.label(ZONE)) else {
///             return Ok(selection);
///         };
///         for candidate in request.candidates() {
///             let zone = candidate.node().and_then(|node| node.label(ZONE));
///             if candidate.peering().kind() == PeeringKind::Mesh && zone != Some(own_zone) {
///                 selection.drop(candidate);
///             }
///         }
///         Ok(selection)
///     }
/// }
///
/// // In a test:
/// use tailorbird_guest::testing::{ClusterNode, MockKv, PeersRequest};
///
/// let request = PeersRequest::mesh(
///     "a",
///     [
///         ClusterNode::new("a", "10.0.0.1").label(ZONE, "east"),
///         ClusterNode::new("b", "10.0.0.2").label(ZONE, "east"),
///         ClusterNode::new("c", "10.0.0.3").label(ZONE, "west"),
///     ],
/// );
/// let selection = ZoneMesh.select(&request.view(), &MockKv::new())?;
/// assert_eq!(selection.kept(&request.view()), ["Mesh_10_0_0_2"]);
/// # Ok::<(), String>(())
/// ```
pub trait Peers: Policy {
    /// Decides on all peerings of this node at once.
    ///
    /// # Errors
    /// A text for the operator; nothing else of the answer counts, and what happens then is the operator's choice
    /// (`on_error`).
    fn select(&self, request: &Request<'_>, kv: &dyn Kv) -> Result<Selection, String>;
}
