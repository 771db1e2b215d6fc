use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A plugin's type: what it makes of the operator's settings.
///
/// ```
/// use tailorbird_guest::{Policy, Prefix};
///
/// struct Guard {
///     refused: Vec<Prefix>,
/// }
///
/// #[derive(serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Settings {
///     #[serde(default)]
///     refused: Vec<Prefix>,
/// }
///
/// impl Policy for Guard {
///     type Settings = Settings;
///
///     fn configure(settings: Settings) -> Result<Self, String> {
///         if settings.refused.is_empty() {
///             return Err("`refused` is empty: name at least one prefix".into());
///         }
///         Ok(Self { refused: settings.refused })
///     }
/// }
///
/// // In a test:
/// use tailorbird_guest::testing::configure;
///
/// assert_eq!(configure::<Guard>(r#"{"refused": ["10.0.0.0/8"]}"#)?.refused.len(), 1);
/// assert!(configure::<Guard>("{}").is_err());
/// # Ok::<(), String>(())
/// ```
pub trait Policy: Sized + 'static {
    /// The settings, as serde reads them from a JSON object. With `deny_unknown_fields` a typing error is told, too.
    type Settings: DeserializeOwned;

    /// Makes the policy. Called once, before anything else.
    ///
    /// # Errors
    /// A text for the operator: what is wrong with the settings, and what to do. The plugin is not used then.
    fn configure(settings: Self::Settings) -> Result<Self, String>;
}

/// The settings of a policy that has none: any is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

pub(crate) fn configure<P: Policy>(settings: &str) -> Result<P, String> {
    let settings = serde_json::from_str(settings).map_err(|error| format!("settings: {error}"))?;
    P::configure(settings)
}
