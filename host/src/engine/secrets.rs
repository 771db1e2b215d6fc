//! The Secrets that passwords stand in.

use rustc_hash::FxHashMap;

use crate::resources::Secret;
use crate::types::{Name, Password, SecretKeyRef};

/// What a reference to a password leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lookup {
    /// The password.
    Found(Password),
    /// There is no such Secret or no such key in it: no password, for now.
    Missing(String),
    /// There is a value, and it cannot be a password.
    Unusable(String),
}

/// The Secrets of this component's namespace; others are not kept.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    by_name: FxHashMap<Name, Option<Secret>>,
}

impl Secrets {
    /// Takes a Secret, that it is malformed (`Some(None)`), or that it is gone.
    pub(super) fn set(&mut self, name: &Name, secret: Option<Option<Secret>>) {
        match secret {
            Some(secret) => drop(self.by_name.insert(name.clone(), secret)),
            None => drop(self.by_name.remove(name)),
        }
    }

    /// Looks a password up.
    pub(super) fn lookup(&self, at: &SecretKeyRef) -> Lookup {
        match self.by_name.get(&at.name) {
            None => Lookup::Missing(format!("there is no Secret {}", at.name)),
            Some(None) => Lookup::Unusable(format!("Secret {} is malformed", at.name)),
            Some(Some(secret)) => match secret.values.get(&at.key) {
                None => Lookup::Missing(format!("Secret {} has no key {:?}", at.name, at.key)),
                Some(Ok(password)) => Lookup::Found(password.clone()),
                Some(Err(error)) => {
                    Lookup::Unusable(format!("Secret {}, key {:?}: {error}", at.name, at.key))
                }
            },
        }
    }
}
