//! What native unit tests of a policy need: requests, a view of the cluster, and the log.

mod bgp_route;
mod mock_kv;
mod requests;
mod schema;

use std::cell::RefCell;

pub use bgp_route::BgpRoute;
pub use mock_kv::{MockKv, Reads};
pub use requests::{ClusterNode, OnePeering, OneRoute, PeersRequest};
pub use schema::schema_faults;

use crate::log::Level;
use crate::{Functions, Kv, Policy, Value};

/// Makes a policy from settings in JSON, as the host does.
///
/// # Errors
/// What the operator would see.
pub fn configure<P: Policy>(settings: &str) -> Result<P, String> {
    crate::policy::configure(settings)
}

/// Calls a function of a policy by its name.
///
/// # Errors
/// There is no such function, or what the template's author would see.
pub fn call<P: Functions>(
    policy: &P,
    kv: &dyn Kv,
    name: &str,
    arguments: impl IntoIterator<Item = Value>,
) -> Result<Value, String> {
    let functions = P::functions();
    let function = functions.iter().find(|function| function.name() == name);
    let function = function.ok_or_else(|| format!("there is no function `{name}`"))?;
    function.call(policy, kv, arguments.into_iter().collect())
}

thread_local! {
    static LOG: RefCell<Vec<(Level, String)>> = const { RefCell::new(Vec::new()) };
}

#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn keep_log(level: Level, message: &str) {
    LOG.with_borrow_mut(|log| log.push((level, message.to_owned())));
}

/// The lines that this thread logged since the last time.
pub fn take_log() -> Vec<(Level, String)> {
    LOG.take()
}
