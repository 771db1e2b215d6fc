//! The datastore of a running cluster: the Kubernetes API.
//!
//! Each kind is a source of its own and can fail alone. A source lists its objects, page by page, and watches them from
//! there; an object is turned into its domain value as soon as its text is complete, and nothing else of it is kept.
//!
//! What goes wrong:
//! - A watch that ends, is cut or falls silent is continued from the version that it had reached.
//! - When the history from there on is lost (410), everything is listed again, and what is not in the list is gone.
//! - Any other failure is tried again, at growing distances, no sooner than the API server asks for. A source that never
//!   was in sync says at once why; one that was says so after [`Pace::grace`].
//! - A permission that is lost is a problem that is told, and what was read before stands. One that was never there is
//!   the same for Services, EndpointSlices and Secrets, which count as none then; without any other kind nothing can be
//!   rendered that is right.
//! - A kind of Calico's that is not installed has no objects. One that vanishes counts as empty after
//!   [`Pace::vanished`].

mod access;
mod collection;
mod events;
mod failure;
mod groups;
mod list;
mod merge;
mod object;
mod pace;
mod probe;
mod source;
mod stream;

use std::sync::Arc;

use super::Syncer;
use crate::engine::Settings;
use crate::resources::Kind;
use collection::Collection;
use groups::Groups;
use source::{Collections, Secrets};
use stream::Shared;

pub use access::{Access, AccessError, Place};
pub use events::Events;
pub use groups::CalicoGroup;
pub(super) use object::Pruned;
pub use pace::Pace;
pub use probe::probe;

/// The sources of a node, one for each kind that is read, and what brings its notices into the cluster.
///
/// `group` is the group that Calico's objects are in if it is not to be found out (`CALICO_API_GROUP`). The last source
/// reads the Secrets that [`super::Updates::secrets`] names, and no others.
pub fn sources(
    access: Access,
    settings: &Settings,
    group: Option<CalicoGroup>,
    pace: Pace,
) -> (Vec<Box<dyn Syncer>>, Events) {
    of(access, settings, group, pace, true)
}

/// The sources of what is in no other datastore: Services, EndpointSlices, and Secrets as above.
pub fn sources_beside(
    access: Access,
    settings: &Settings,
    group: Option<CalicoGroup>,
    pace: Pace,
) -> (Vec<Box<dyn Syncer>>, Events) {
    of(access, settings, group, pace, false)
}

/// What is listed for a node, a source each; without Calico's kinds and the nodes where another datastore has them.
fn collections(settings: &Settings, with_calico: bool) -> Vec<Vec<Collection>> {
    let mut collections: Vec<Vec<Collection>> = Vec::new();
    if with_calico {
        let whole = [Kind::KubeNode, Kind::BgpConfiguration, Kind::BgpPeer, Kind::BgpFilter, Kind::IpPool];
        collections.extend(whole.map(|kind| vec![Collection::all(kind)]));
        if !settings.use_pod_cidr {
            collections.push(Collection::blocks_of(&settings.node).into());
        }
    }
    collections.extend([Kind::Service, Kind::EndpointSlice].map(|kind| vec![Collection::all(kind)]));
    collections
}

fn of(
    access: Access,
    settings: &Settings,
    group: Option<CalicoGroup>,
    pace: Pace,
    with_calico: bool,
) -> (Vec<Box<dyn Syncer>>, Events) {
    let defaults = settings.defaults();
    let shared = Arc::new(Shared { access, groups: Groups::new(group), defaults, pace });
    let source = |collections: Vec<Collection>| -> Box<dyn Syncer> {
        Box::new(Collections::new(shared.clone(), collections))
    };
    let mut sources: Vec<Box<dyn Syncer>> =
        collections(settings, with_calico).into_iter().map(source).collect();
    sources.push(Box::new(Secrets::new(shared.clone(), settings.secret_namespace.clone())));
    (sources, Events::new(shared, settings.kubernetes_node.parse().unwrap_or_else(|_| settings.node.clone())))
}
