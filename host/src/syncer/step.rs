/// The most that is shown of a text in which a server names itself or others, in bytes.
pub(super) const MAX_SHOWN: usize = 200;

/// The longest reason for a failure that is kept, in bytes.
pub(super) const MAX_REASON: usize = 1024;

/// One step on the way to a datastore: what was tried, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was tried, as `kubernetes: list nodes`.
    pub what: String,
    /// What was found, or what is wrong and what to do about it.
    pub found: Result<String, String>,
}

impl Step {
    /// A step of this name.
    pub fn new(what: impl Into<String>, found: Result<String, String>) -> Self {
        Self { what: what.into(), found }
    }
}
