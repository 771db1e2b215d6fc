//! Functions for templates.

mod call;
mod value;

pub use call::{Callable, Function, WithKv};
pub use value::{FromValue, IntoAnswer, IntoValue, Json, Value};

pub use crate::bindings::functions::exports::tailorbird::policy::functions::ParameterKind;

use crate::Policy;

/// Has functions for templates. Each is a Handlebars helper, and can stand in a sub-expression.
///
/// A function is a method of the policy. Its arguments and its result are converted: see [`FromValue`] and [`IntoValue`];
/// the last parameters may be `Option`s, and can then be left out. A method that reads the cluster has `kv: &dyn Kv` before
/// its other parameters.
///
/// ```
/// use tailorbird_guest::{AsNumber, Function, Functions, Kv, NoSettings, Policy, Prefix};
///
/// struct Site;
///
/// impl Policy for Site {
///     type Settings = NoSettings;
///
///     fn configure(_: NoSettings) -> Result<Self, String> {
///         Ok(Self)
///     }
/// }
///
/// impl Site {
///     fn half(&self, prefix: Prefix, upper: Option<bool>) -> Result<Prefix, String> {
///         let address = if upper.unwrap_or(false) { prefix.last() } else { prefix.address() };
///         Prefix::new(address, prefix.length() + 1).ok_or_else(|| format!("{prefix} has no halves"))
///     }
///
///     fn site_as(&self, kv: &dyn Kv) -> Option<String> {
///         kv.get("/calico/bgp/v1/global/as_num")
///     }
/// }
///
/// impl Functions for Site {
///     fn functions() -> Vec<Function<Self>> {
///         vec![
///             Function::new("half", "The lower or the upper half of a prefix.", ["prefix", "upper"], Self::half),
///             Function::new("site_as", "The cluster's AS number.", [], Self::site_as),
///         ]
///     }
/// }
///
/// // In a test:
/// use tailorbird_guest::Value;
/// use tailorbird_guest::testing::{MockKv, call};
///
/// let half = call(&Site, &MockKv::new(), "half", [Value::from("10.0.0.0/8"), Value::from(true)]);
/// assert_eq!(half, Ok(Value::from("10.128.0.0/9")));
/// ```
pub trait Functions: Policy {
    /// The functions. Asked once.
    fn functions() -> Vec<Function<Self>>;
}
