//! Plugins that fail, and what follows; sets of plugins that change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tailorbird::engine::Changes;
use tailorbird::plugin::contract::filter::{Action, Direction};
use tailorbird::plugin::contract::peers::Answer;
use tailorbird::policy::{OnError, Overlay};

use crate::cluster::{Look, peer, three_nodes};
use crate::native::{Native, Natives, Rules, answer, rule, rules_answer};
use crate::world::World;

/// A plugin that rejects all imports, unless it is broken.
fn rejecting(name: &str, broken: &Arc<AtomicBool>) -> Native {
    let broken = broken.clone();
    Native::new(name).rules(move |_, request| {
        if broken.load(Ordering::Relaxed) {
            return Err("broken".to_owned());
        }
        let mut rules = Rules::default();
        for session in 0..request.sessions.len() {
            rules.assign(session, Direction::Import, &[rule(Action::Reject)]);
        }
        Ok(rules.done())
    })
}

#[test]
fn without_plugins_the_snapshot_and_the_changes_are_those_of_the_engine() {
    let mut world = World::new([]).having(&three_nodes());
    let derived = world.derive().unwrap();
    let engine = world.engine.snapshot();
    assert_eq!(derived.snapshot.revision, engine.revision);
    for (derived, engine) in derived.snapshot.models.iter().zip(&engine.models) {
        assert!(Arc::ptr_eq(&derived.base, &engine.base));
        for (derived, engine) in derived.collections.iter().zip(&engine.collections) {
            assert!(derived.items.ptr_eq(&engine.items) && derived.revision == engine.revision);
        }
    }
    assert!(!derived.changes.items.is_empty());
    assert_eq!(derived.changes.to, engine.revision);
}

#[test]
fn what_was_derived_last_holds_until_a_plugin_is_well_again() {
    let broken = Arc::new(AtomicBool::new(false));
    let mut world = World::new([rejecting("p", &broken)]).having(&three_nodes());
    let before = world.derive().unwrap();
    broken.store(true, Ordering::Relaxed);
    world.apply(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001}"));
    let abandoned = world.derive().unwrap_err();
    assert_eq!(abandoned.to_string(), "plugin p: filter.rules: broken");
    // The same revision again: nothing of the error is kept, and nothing of what was half done.
    assert!(world.derive().is_err());
    world.apply(&peer("q", "{peerIP: 192.0.2.2, asNumber: 65001}"));
    assert!(world.derive().is_err());
    broken.store(false, Ordering::Relaxed);
    let after = world.derive().unwrap();
    assert_eq!(after.changes.from, before.snapshot.revision);
    assert_eq!(world.count.sessions, 2, "only of the new sessions nothing is known");
    let mut scratch = World::new([rejecting("p", &broken)])
        .having(&three_nodes())
        .having(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001}"))
        .having(&peer("q", "{peerIP: 192.0.2.2, asNumber: 65001}"));
    assert_eq!(world.files(), scratch.files());
}

#[test]
fn a_failure_that_stops_nothing_is_not_kept_either() {
    for on_error in [OnError::Skip, OnError::Reject] {
        let broken = Arc::new(AtomicBool::new(true));
        let mut world = World::new([rejecting("p", &broken).on_error(on_error)]).having(&three_nodes());
        assert_eq!(world.errors().len(), 1);
        broken.store(false, Ordering::Relaxed);
        let derived = world.derive().unwrap();
        assert_eq!(derived.errors, []);
        assert_ne!(derived.changes.from, derived.changes.to);
        let mut scratch = World::new([rejecting("p", &broken)]).having(&three_nodes());
        assert_eq!(world.files(), scratch.files());
    }
}

#[test]
fn every_plugin_that_failed_is_named() {
    let failing = |name: &str| Native::new(name).rules(|_, _| Err("no".to_owned()));
    let mut world = World::new([failing("one"), failing("two").on_error(OnError::Skip), failing("three")])
        .having(&three_nodes());
    let names: Vec<Arc<str>> =
        world.derive().unwrap_err().errors.iter().map(|error| error.plugin.clone()).collect();
    assert_eq!(names, ["one".into(), "two".into(), "three".into()]);

    // What comes after the plugin that failed to choose peers would be asked about peerings that are not to be.
    let choosing = Native::new("chooser").select(|_, _| Err("no".to_owned()));
    let next = Native::new("next").select(|_, _| Err("not asked".to_owned()));
    let mut world = World::new([choosing, next, failing("rules")]).having(&three_nodes());
    assert_eq!(world.derive().unwrap_err().to_string(), "plugin chooser: peers.select: no");
}

#[test]
fn another_set_of_plugins_is_asked_from_the_beginning() {
    let dropping = || {
        Native::new("p").select(|_, request| {
            Ok(Answer { drop: (0..request.candidates.len() as u32).collect(), ..answer() })
        })
    };
    let mut world = World::new([dropping()]).having(&three_nodes());
    assert!(world.sessions().is_empty());
    let revision = world.derive().unwrap().snapshot.revision;
    // The same plugin with other settings.
    world.plugins = vec![Native::new("p").select(|_, _| Ok(answer()))];
    world.plugins[0].facts.identity = 1;
    assert_eq!(world.sessions().len(), 4);
    assert!(world.derive().unwrap().snapshot.revision > revision);
    world.plugins.clear();
    assert_eq!(world.files(), World::new([]).having(&three_nodes()).files());
    world.plugins = vec![dropping()];
    assert!(world.sessions().is_empty());
}

#[test]
fn a_set_that_fails_at_once_does_not_pass_for_the_one_before_it() {
    let mut world = World::new([Native::new("p").rules(|_, _| Ok(rules_answer()))]).having(&three_nodes());
    world.files();
    world.plugins = vec![Native::new("p").rules(|_, _| Err("no".to_owned()))];
    world.plugins[0].facts.identity = 1;
    assert!(world.derive().is_err());
    assert!(world.derive().is_err(), "nothing changed since, and it is an error still");
}

#[test]
fn a_clone_tries_other_plugins_and_leaves_the_original_alone() {
    let broken = Arc::new(AtomicBool::new(false));
    let mut world = World::new([rejecting("p", &broken)]).having(&three_nodes());
    let before = world.files();
    let mut trial = world.overlay.clone();
    let snapshot = world.engine.snapshot().clone();
    let others = [Native::new("q").select(|_, _| Err("no".to_owned()))];
    let mut plugins = Natives::new(&others, &snapshot.view, snapshot.revision);
    assert!(trial.derive(&snapshot, Changes::default(), &mut plugins).is_err());
    assert_eq!(world.files(), before);
    assert_eq!(world.count.sessions, 0);
}

#[test]
fn the_changes_are_what_differs_and_nothing_else() {
    let broken = Arc::new(AtomicBool::new(false));
    let mut world = World::new([rejecting("p", &broken)]).having(&three_nodes());
    let first = world.derive().unwrap();
    assert_eq!(first.changes.from, 0);
    let again = world.derive().unwrap();
    assert_eq!((again.changes.from, again.changes.to), (first.changes.to, first.changes.to));
    world.apply(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001}"));
    let next = world.derive().unwrap();
    let keys: Vec<&str> = next.changes.items.values().flatten().map(|key| &**key).collect();
    assert_eq!(keys, ["Global_192_0_2_1"]);
    // The snapshots of a fresh overlay say the same.
    let snapshot = world.engine.snapshot().clone();
    let mut plugins = Natives::new(&world.plugins, &snapshot.view, snapshot.revision);
    let fresh = Overlay::new().derive(&snapshot, Changes::default(), &mut plugins).unwrap();
    for (a, b) in fresh.snapshot.models.iter().zip(&next.snapshot.models) {
        for (a, b) in a.collections.iter().zip(&b.collections) {
            assert_eq!(a.items, b.items);
        }
    }
}
