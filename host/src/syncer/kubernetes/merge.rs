//! Several streams as one source: an object is there while any of them has it.

use std::collections::{BTreeMap, BTreeSet};

use super::object::{Change, Version};
use super::stream::Note;
use crate::engine::Event;
use crate::resources::ObjectKey;
use crate::syncer::Update;
use crate::types::Pool;

/// What the streams of a source have told, and what of it was passed on.
#[derive(Debug)]
pub(super) struct Merge<I> {
    streams: BTreeMap<I, State>,
    /// What was told last: in sync, or why not.
    standing: Option<Result<(), String>>,
    problems: Vec<String>,
    /// Namespaces.
    texts: Pool,
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<ObjectKey, Option<Version>>,
    /// While a list goes on: the objects that it has not named yet.
    unseen: Option<BTreeSet<ObjectKey>>,
    /// There was a complete list.
    complete: bool,
    lost: Option<String>,
    problem: Option<String>,
    nameless: BTreeMap<String, String>,
}

impl State {
    fn standing(&self) -> Result<(), Option<&str>> {
        match (&self.lost, &self.unseen, self.complete) {
            (Some(reason), ..) => Err(Some(reason)),
            (None, None, true) => Ok(()),
            (None, Some(_), true) => Err(Some("the objects are listed again")),
            (None, _, false) => Err(None),
        }
    }
}

impl<I: Ord + Clone> Merge<I> {
    /// A source with these streams.
    pub(super) fn new(streams: impl IntoIterator<Item = I>) -> Self {
        let streams = streams.into_iter().map(|id| (id, State::default())).collect();
        Self { streams, standing: None, problems: Vec::new(), texts: Pool::default() }
    }

    /// The streams.
    pub(super) fn streams(&self) -> impl Iterator<Item = &I> {
        self.streams.keys()
    }

    /// Whether every stream has told all that there is, once at least.
    pub(super) fn is_complete(&self) -> bool {
        self.streams.values().all(|state| state.complete)
    }

    /// A stream is added; the source is as in sync as before.
    pub(super) fn add(&mut self, id: I) {
        self.streams.insert(id, State::default());
    }

    /// A stream is taken out, and what only it had is gone.
    pub(super) fn remove(&mut self, id: &I) -> Vec<Update> {
        let state = self.streams.remove(id).unwrap_or_default();
        let keys: Vec<ObjectKey> = state.objects.into_keys().collect();
        self.gone(keys)
    }

    /// Takes what a stream tells; what follows is to be passed on.
    pub(super) fn take(&mut self, id: &I, note: Note) -> Vec<Update> {
        // A stream that was taken out may have told something on its way out.
        let Some(state) = self.streams.get_mut(id) else { return Vec::new() };
        match note {
            Note::Begin => {
                state.unseen = Some(state.objects.keys().cloned().collect());
                state.nameless.clear();
            }
            Note::Changes(changes) => {
                return changes.into_iter().flat_map(|change| self.change(id, change)).collect();
            }
            Note::Complete => {
                state.lost = None;
                state.complete = true;
                let unseen = state.unseen.take().unwrap_or_default();
                for key in &unseen {
                    state.objects.remove(key);
                }
                return self.gone(unseen);
            }
            // A list that was begun and cannot be ended is given up.
            Note::InSync => (state.lost, state.unseen) = (None, None),
            Note::Lost(reason) => state.lost = Some(reason),
            Note::Problem(problem) => state.problem = problem,
        }
        Vec::new()
    }

    fn change(&mut self, id: &I, change: Change) -> Vec<Update> {
        match change {
            Change::There(mut parsed, version) => {
                parsed.key.namespace =
                    parsed.key.namespace.take().map(|namespace| namespace.pooled(&mut self.texts));
                // While an object moves from one stream to another, the former one may still be behind.
                let newest = self.streams.iter().filter(|(other, _)| *other != id);
                let newest =
                    newest.filter_map(|(_, state)| state.objects.get(&parsed.key).copied().flatten()).max();
                let is_old = version.is_some() && newest > version;
                let Some(state) = self.streams.get_mut(id) else { return Vec::new() };
                if let Some(unseen) = &mut state.unseen {
                    unseen.remove(&parsed.key);
                }
                let before = state.objects.insert(parsed.key.clone(), version);
                let is_known = version.is_some() && before == Some(version);
                if is_known || is_old { Vec::new() } else { vec![Update::Event(Event::Upsert(parsed))] }
            }
            Change::Gone(key) => {
                let Some(state) = self.streams.get_mut(id) else { return Vec::new() };
                if let Some(unseen) = &mut state.unseen {
                    unseen.remove(&key);
                }
                if state.objects.remove(&key).is_none() {
                    return Vec::new();
                }
                self.gone([key])
            }
            Change::Nameless(name, reason) => {
                if let Some(state) = self.streams.get_mut(id) {
                    state.nameless.insert(name, reason);
                }
                Vec::new()
            }
        }
    }

    /// Deletions of the objects that no stream has.
    fn gone(&self, keys: impl IntoIterator<Item = ObjectKey>) -> Vec<Update> {
        let is_gone = |key: &ObjectKey| !self.streams.values().any(|state| state.objects.contains_key(key));
        keys.into_iter().filter(is_gone).map(|key| Update::Event(Event::Delete(key))).collect()
    }

    /// What has changed about the source as a whole.
    pub(super) fn settle(&mut self) -> Vec<Update> {
        let mut updates = Vec::new();
        let problems: Vec<String> = self
            .streams
            .values()
            .flat_map(|state| {
                let nameless = state.nameless.iter();
                let nameless =
                    nameless.map(|(name, reason)| format!("object {name:?} cannot be read: {reason}"));
                state.problem.clone().into_iter().chain(nameless)
            })
            .collect();
        if problems != self.problems {
            self.problems.clone_from(&problems);
            updates.push(Update::Problems(problems));
        }
        let standings: Vec<Result<(), Option<&str>>> = self.streams.values().map(State::standing).collect();
        if standings.iter().all(Result::is_ok) {
            if self.standing != Some(Ok(())) {
                self.standing = Some(Ok(()));
                updates.push(Update::InSync);
            }
            return updates;
        }
        let reasons: BTreeSet<&str> =
            standings.into_iter().filter_map(|standing| standing.err().flatten()).collect();
        // A stream that has just begun has nothing to say yet.
        if reasons.is_empty() {
            return updates;
        }
        let reason = reasons.into_iter().collect::<Vec<_>>().join("; ");
        if self.standing.as_ref() != Some(&Err(reason.clone())) {
            self.standing = Some(Err(reason.clone()));
            updates.push(Update::Lost(reason));
        }
        updates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{Kind, Parsed};
    use crate::syncer::kubernetes::collection::Collection;
    use crate::syncer::kubernetes::object::read_item;

    fn pool(name: &str, version: u64) -> Change {
        let text = format!(
            r#"{{"metadata":{{"name":"{name}","resourceVersion":"{version}"}},"spec":{{"cidr":"10.{}.0.0/16"}}}}"#,
            version % 256
        );
        read_item(text.as_bytes(), &Collection::all(Kind::IpPool), &Default::default()).expect("an object")
    }

    fn parsed(change: &Change) -> Parsed {
        match change {
            Change::There(parsed, _) => parsed.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn upsert(change: &Change) -> Update {
        Update::Event(Event::Upsert(parsed(change)))
    }

    fn delete(change: &Change) -> Update {
        Update::Event(Event::Delete(parsed(change).key))
    }

    fn gone(change: &Change) -> Note {
        Note::Changes(vec![Change::Gone(parsed(change).key)])
    }

    fn there(change: &Change) -> Note {
        Note::Changes(vec![change.clone()])
    }

    /// Lists these objects in a stream.
    fn list(merge: &mut Merge<u8>, id: u8, changes: &[Change]) -> Vec<Update> {
        let notes = [Note::Begin, Note::Changes(changes.to_vec()), Note::Complete];
        notes.into_iter().flat_map(|note| merge.take(&id, note)).collect()
    }

    #[test]
    fn a_new_list_tells_what_differs() {
        let mut merge = Merge::new([0]);
        let (a, b, newer) = (pool("a", 1), pool("b", 2), pool("b", 3));
        assert_eq!(merge.settle(), []);
        assert_eq!(list(&mut merge, 0, &[a.clone(), b.clone()]), [upsert(&a), upsert(&b)]);
        assert_eq!(merge.settle(), [Update::InSync]);
        assert_eq!(merge.settle(), []);

        assert_eq!(merge.take(&0, Note::Begin), []);
        assert!(matches!(merge.settle()[..], [Update::Lost(_)]));
        assert_eq!(merge.take(&0, there(&newer)), [upsert(&newer)]);
        // A list that is begun again deletes nothing.
        assert_eq!(merge.take(&0, Note::Begin), []);
        assert_eq!(merge.take(&0, there(&newer)), []);
        assert_eq!(merge.settle(), []);
        assert_eq!(merge.take(&0, Note::Complete), [delete(&a)]);
        assert_eq!(merge.settle(), [Update::InSync]);

        // A list that cannot be ended: what was known stands.
        merge.take(&0, Note::Begin);
        merge.settle();
        assert_eq!(merge.take(&0, Note::InSync), []);
        assert_eq!(merge.settle(), [Update::InSync]);
    }

    #[test]
    fn an_object_that_moves_between_streams_stays_and_does_not_grow_old() {
        let (old, new) = (pool("a", 1), pool("a", 2));
        for order in [[0, 1], [1, 0]] {
            let mut merge = Merge::new([0, 1]);
            list(&mut merge, 0, &[]);
            list(&mut merge, 1, &[]);
            let told = [(0, &old), (1, &new)];
            let told: Vec<Update> =
                order.into_iter().flat_map(|at| merge.take(&told[at].0, there(told[at].1))).collect();
            assert_eq!(told.last(), Some(&upsert(&new)), "{order:?}");
            assert_eq!(merge.take(&0, gone(&old)), []);
            assert_eq!(merge.take(&1, gone(&new)), [delete(&new)]);
        }
    }

    #[test]
    fn a_source_is_in_sync_when_all_its_streams_are() {
        let mut merge = Merge::new([0, 1]);
        list(&mut merge, 0, &[]);
        assert_eq!(merge.settle(), []);
        list(&mut merge, 1, &[]);
        assert_eq!(merge.settle(), [Update::InSync]);
        merge.take(&1, Note::Lost("gone fishing".to_owned()));
        assert_eq!(merge.settle(), [Update::Lost("gone fishing".to_owned())]);
        merge.take(&0, Note::Lost("asleep".to_owned()));
        assert_eq!(merge.settle(), [Update::Lost("asleep; gone fishing".to_owned())]);
        merge.take(&0, Note::InSync);
        merge.take(&1, Note::InSync);
        assert_eq!(merge.settle(), [Update::InSync]);

        assert!(merge.is_complete());
        merge.add(2);
        assert_eq!((merge.settle(), merge.is_complete()), (Vec::new(), false));
        let a = pool("a", 1);
        assert_eq!(list(&mut merge, 2, std::slice::from_ref(&a)), [upsert(&a)]);
        assert_eq!((merge.settle(), merge.is_complete()), (Vec::new(), true));
        assert_eq!(merge.remove(&2), [delete(&a)]);
        assert_eq!(merge.take(&2, there(&a)), []);
        assert_eq!(merge.settle(), []);
    }

    #[test]
    fn problems_are_told_as_a_whole_whenever_they_change() {
        let mut merge = Merge::new([0]);
        let odd = Note::Changes(vec![Change::Nameless("a b".to_owned(), "no name".to_owned())]);
        list(&mut merge, 0, &[]);
        merge.take(&0, odd);
        merge.take(&0, Note::Problem(Some("no permission".to_owned())));
        let both = vec!["no permission".to_owned(), "object \"a b\" cannot be read: no name".to_owned()];
        assert_eq!(merge.settle(), [Update::Problems(both), Update::InSync]);
        merge.take(&0, Note::Problem(None));
        list(&mut merge, 0, &[]);
        assert_eq!(merge.settle(), [Update::Problems(Vec::new())]);
    }
}
