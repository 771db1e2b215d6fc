//! The BGPFilters: what each can be called by, and which cannot be used.

use std::sync::Arc;

use imbl::OrdMap;

use crate::bird::{Compiled, Warning, compile};
use crate::engine::model::{Filter, FilterCall};
use crate::resources::BgpFilter;
use crate::types::{Family, Name};

/// A filter, for both families.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Compiled(Box<[Option<Filter>; 2]>),
    Malformed,
}

/// All filters. A clone is cheap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filters {
    by_name: OrdMap<Name, Arc<State>>,
}

/// What changed with a filter.
#[derive(Debug)]
pub(super) struct FilterChange {
    /// The functions, for each family.
    pub(super) functions: [Option<Filter>; 2],
    /// What could be said of the rules.
    pub(super) warnings: Vec<Warning>,
    /// Whether the calls of it may read differently: it came, went, or its signature changed.
    pub(super) calls: bool,
}

impl Filters {
    /// Takes a filter, that it is malformed (`Some(None)`), or that it is gone.
    pub(super) fn set(&mut self, name: &Name, filter: Option<Option<&BgpFilter>>) -> FilterChange {
        let mut warnings = Vec::new();
        let state = filter.map(|filter| match filter {
            None => State::Malformed,
            Some(filter) => State::Compiled(Box::new(Family::ALL.map(|family| {
                let Compiled { filter, warnings: said } = compile(filter, family);
                warnings.extend(said);
                filter
            }))),
        });
        let signature = state.as_ref().map(signature);
        let functions = match &state {
            Some(State::Compiled(filters)) => (**filters).clone(),
            _ => [None, None],
        };
        let old = self.by_name.get(name).cloned();
        match state {
            state if state.as_ref() == old.as_deref() => {}
            Some(state) => drop(self.by_name.insert(name.clone(), Arc::new(state))),
            None => drop(self.by_name.remove(name)),
        }
        FilterChange { functions, warnings, calls: old.as_deref().map(self::signature) != signature }
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.by_name.keys()
    }

    /// Whether there is a filter of this name that cannot be used.
    pub(crate) fn is_malformed(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|state| **state == State::Malformed)
    }

    /// Whether both are the same map, not only equal ones.
    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        self.by_name.ptr_eq(&other.by_name)
    }

    /// Whether there is a filter of this name, usable or not.
    pub(crate) fn exists(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The calls of a peer's filters, in order: those on import and those on export.
    pub(crate) fn calls(&self, names: &[Name], family: Family) -> (Vec<FilterCall>, Vec<FilterCall>) {
        let (mut import, mut export) = (Vec::new(), Vec::new());
        for name in names {
            match self.by_name.get(name).map(|state| &**state) {
                None => {}
                Some(State::Malformed) => {
                    let closed =
                        FilterCall { reject: true, reason: Some(name.clone()), ..FilterCall::default() };
                    import.push(closed.clone());
                    export.push(closed);
                }
                Some(State::Compiled(filters)) => {
                    let Some(filter) = &filters[family.index()] else { continue };
                    for (function, calls) in [(&filter.import, &mut import), (&filter.export, &mut export)] {
                        calls.extend(function.iter().map(|function| FilterCall {
                            function: Some(function.symbol.clone()),
                            takes_same_as: function.takes_same_as,
                            ..FilterCall::default()
                        }));
                    }
                }
            }
        }
        (import, export)
    }
}

/// All that a call can depend on: for each family and direction whether there is a function, and its parameter.
fn signature(state: &State) -> Option<[[Option<bool>; 2]; 2]> {
    match state {
        State::Malformed => None,
        State::Compiled(filters) => Some([0, 1].map(|family| {
            let filter = filters[family].as_ref();
            [
                filter.and_then(|f| f.import.as_ref()).map(|f| f.takes_same_as),
                filter.and_then(|f| f.export.as_ref()).map(|f| f.takes_same_as),
            ]
        })),
    }
}
