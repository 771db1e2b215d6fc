use super::{Found, State};
pub(super) fn explain<T>(_: &State<'_>, _: &T) -> Found { Found::default() }
