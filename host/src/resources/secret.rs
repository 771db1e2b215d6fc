use std::collections::BTreeMap;
use std::fmt;

use super::Text;
use crate::types::{Name, Password, ValueError};

/// Secret: values that could be passwords. `Debug` shows keys only.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The namespace.
    pub namespace: Name,
    /// The name.
    pub name: Name,
    /// For each key the password, or why its value cannot be one.
    pub values: BTreeMap<Text, Result<Password, ValueError>>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("keys", &self.values.keys())
            .finish()
    }
}
