//! What routes go out and come in.

mod advertise;
mod pack;
mod rule;

pub use advertise::{Decision, Destination, Route, Service};
pub(crate) use pack::{DecisionPacker, RulePacker};
pub(crate) use rule::{Action, PrefixCondition};
pub use rule::{Operation, PrefixRange, Rule, RuleSet};

use crate::{Direction, Kv, Peering, Policy};

/// Filters routes.
///
/// Each route and each session is decided on its own: an answer may depend on it, on the settings and on what was read from
/// `kv`, and on nothing else. The host asks only about those that changed.
///
/// ```
/// use tailorbird_guest::{
///     Community, Decision, Direction, Filter, Kv, Operation, Peering, Policy, Priority, Route, Rule, RuleSet,
/// };
///
/// /// Marks the routes of some namespaces, and trusts what carries the mark less.
/// struct Mark {
///     settings: Settings,
///     rules: RuleSet,
/// }
///
/// #[derive(serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Settings {
///     namespaces: Vec<String>,
///     mark: Community,
/// }
///
/// impl Policy for Mark {
///     type Settings = Settings;
///
///     fn configure(settings: Settings) -> Result<Self, String> {
///         // Made once: sessions share it.
///         let rules = RuleSet::from([
///             Rule::apply([Operation::SetPriority(Priority::WORST)]).community(settings.mark),
///         ]);
///         Ok(Self { settings, rules })
///     }
/// }
///
/// impl Filter for Mark {
///     fn advertise(&self, route: &Route<'_>, _: &dyn Kv) -> Result<Decision, String> {
///         let namespace = route.service().map(|service| service.namespace);
///         let marked = namespace.is_some_and(|name| self.settings.namespaces.iter().any(|own| own == name));
///         Ok(if marked { Decision::accept().community(self.settings.mark) } else { Decision::accept() })
///     }
///
///     fn rules(&self, peering: &Peering<'_>, direction: Direction, _: &dyn Kv) -> Result<RuleSet, String> {
///         Ok(match direction {
///             Direction::Import if !peering.is_internal() => self.rules.clone(),
///             _ => RuleSet::default(),
///         })
///     }
/// }
///
/// // In a test:
/// use tailorbird_guest::testing::{MockKv, OneRoute, configure};
///
/// let mark: Mark = configure(r#"{"namespaces": ["shop"], "mark": "65000:7"}"#)?;
/// let route = OneRoute::service("10.96.0.1/32", "shop", "web");
/// let decision = mark.advertise(&route.view(), &MockKv::new())?;
/// assert_eq!(decision, Decision::accept().community(Community::Standard(65000, 7)));
/// # Ok::<(), String>(())
/// ```
pub trait Filter: Policy {
    /// Decides on a route that this node is about to originate. By itself it accepts.
    ///
    /// # Errors
    /// A text for the operator; what happens then is the operator's choice (`on_error`).
    fn advertise(&self, route: &Route<'_>, kv: &dyn Kv) -> Result<Decision, String> {
        let _ = (route, kv);
        Ok(Decision::accept())
    }

    /// Makes the rules of a session in a direction, as this node sees it. By itself it makes none.
    ///
    /// # Errors
    /// As [`Filter::advertise`].
    fn rules(&self, peering: &Peering<'_>, direction: Direction, kv: &dyn Kv) -> Result<RuleSet, String> {
        let _ = (peering, direction, kv);
        Ok(RuleSet::default())
    }
}
