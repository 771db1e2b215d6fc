use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::{is_odd, text_of};
use crate::engine::{Revealed, View};
use crate::types::Password;

/// What a resource may read: paths in the view.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    /// What the keys of the template are relative to.
    pub(crate) prefix: Arc<str>,
    /// The paths, absolute.
    pub(crate) keys: Vec<Arc<str>>,
}

/// Reads from the view of the rendering that goes on.
#[derive(Debug)]
pub(crate) struct Reader {
    scope: Scope,
    view: Mutex<Option<View>>,
    revealed: Mutex<Vec<Password>>,
}

impl Reader {
    pub(crate) fn new(scope: Scope) -> Self {
        Self { scope, view: Mutex::new(None), revealed: Mutex::default() }
    }

    /// Calls a function while reads go to this view.
    pub(crate) fn with<T>(&self, view: &View, run: impl FnOnce() -> T) -> T {
        self.set(Some(view.clone()));
        let result = run();
        self.set(None);
        result
    }

    /// Whether a text holds a password that a template was given in this rendering.
    pub(crate) fn holds_password(&self, text: &str) -> bool {
        let revealed = self.revealed.lock().unwrap_or_else(PoisonError::into_inner);
        revealed.iter().any(|password| text.contains(password.reveal()))
    }

    /// A text without the passwords that a template was given in this rendering.
    pub(crate) fn mask(&self, text: String) -> String {
        let revealed = self.revealed.lock().unwrap_or_else(PoisonError::into_inner);
        revealed.iter().fold(text, |text, password| text.replace(password.reveal(), Password::HIDDEN))
    }

    /// The text of a value, for a template.
    fn reveal<'a>(&self, value: Revealed<'a>) -> Cow<'a, str> {
        if let Some(password) = value.password {
            let mut revealed = self.revealed.lock().unwrap_or_else(PoisonError::into_inner);
            if !revealed.contains(password) {
                revealed.push(password.clone());
            }
        }
        value.text
    }

    fn set(&self, view: Option<View>) {
        if view.is_some() {
            self.revealed.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = view;
    }

    fn view(&self) -> Result<View, String> {
        let view = self.view.lock().unwrap_or_else(PoisonError::into_inner).clone();
        view.ok_or_else(|| "the view cannot be read here".to_owned())
    }

    /// The absolute path of a key, if it may be read.
    fn path(&self, key: &Value) -> Result<String, String> {
        let key = text_of(key)?;
        let parts = key.split('/').filter(|part| !part.is_empty()).flat_map(|part| ["/", part]);
        let path = std::iter::once(&*self.scope.prefix).chain(parts).collect::<String>();
        let covered = |prefix: &Arc<str>| {
            path.strip_prefix(&**prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.scope.keys.iter().any(covered) {
            return Ok(path);
        }
        let relative = path.strip_prefix(&*self.scope.prefix).filter(|rest| !rest.is_empty()).unwrap_or("/");
        Err(format!(
            "`{relative}` is outside of what the resource reads; add the prefix \"{relative}\" to its `keys`"
        ))
    }

    fn relative<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(&*self.scope.prefix).unwrap_or(key)
    }
}

fn clean(key: &str, value: &str) -> Result<Value, String> {
    if is_odd(value) { Err(format!("the value of `{key}` has control characters")) } else { Ok(value.into()) }
}

pub(super) fn exists(arguments: &[&Value], reader: &Reader) -> Result<Value, String> {
    let path = reader.path(arguments[0])?;
    Ok(reader.view()?.get(&path).is_some().into())
}

pub(super) fn get(arguments: &[&Value], reader: &Reader) -> Result<Value, String> {
    let path = reader.path(arguments[0])?;
    match (reader.view()?.reveal(&path), arguments.get(1)) {
        (Some(value), _) => clean(&path, &reader.reveal(value)),
        (None, Some(fallback)) => Ok((*fallback).clone()),
        (None, None) => Err(format!("there is no key `{}`", reader.relative(&path))),
    }
}

pub(super) fn list(arguments: &[&Value], reader: &Reader) -> Result<Value, String> {
    let path = reader.path(arguments[0])?;
    let view = reader.view()?;
    let pairs = view.reveal_list(&path).map(|(key, value)| {
        let value = clean(&key, &reader.reveal(value))?;
        Ok(json!({ "key": clean(&key, reader.relative(&key))?, "value": value }))
    });
    pairs.collect()
}

/// The names of the children of a path, each with whether it has children of its own.
fn children(arguments: &[&Value], reader: &Reader) -> Result<BTreeMap<String, bool>, String> {
    let path = reader.path(arguments[0])?;
    let view = reader.view()?;
    let mut found = BTreeMap::new();
    for (key, _) in view.list(&path) {
        let Some(rest) = key.strip_prefix(path.as_str()).and_then(|rest| rest.strip_prefix('/')) else {
            continue;
        };
        let (name, deeper) = rest.split_once('/').map_or((rest, false), |(name, _)| (name, true));
        clean(&key, name)?;
        *found.entry(name.to_owned()).or_insert(false) |= deeper;
    }
    Ok(found)
}

pub(super) fn ls(arguments: &[&Value], reader: &Reader) -> Result<Value, String> {
    Ok(children(arguments, reader)?.into_keys().collect())
}

pub(super) fn lsdir(arguments: &[&Value], reader: &Reader) -> Result<Value, String> {
    Ok(children(arguments, reader)?.into_iter().filter(|(_, deeper)| *deeper).map(|(name, _)| name).collect())
}
