//! Lists as sets. Each item is there once, in the order of the first list and then of the second.

use std::collections::BTreeSet;

pub(crate) fn union(one: Vec<String>, other: Vec<String>) -> Vec<String> {
    once(one.into_iter().chain(other), |_| true)
}

pub(crate) fn intersection(one: Vec<String>, other: &[String]) -> Vec<String> {
    let other: BTreeSet<&String> = other.iter().collect();
    once(one.into_iter(), |item| other.contains(item))
}

pub(crate) fn difference(one: Vec<String>, other: &[String]) -> Vec<String> {
    let other: BTreeSet<&String> = other.iter().collect();
    once(one.into_iter(), |item| !other.contains(item))
}

fn once(items: impl Iterator<Item = String>, wanted: impl Fn(&String) -> bool) -> Vec<String> {
    let mut seen = BTreeSet::new();
    items.filter(|item| wanted(item) && seen.insert(item.clone())).collect()
}
