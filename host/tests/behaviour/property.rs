//! The same objects give the same result, whatever came before and in whatever batches they came.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use tailorbird::engine::{Engine, Settings};
use tailorbird::resources::ObjectKey;

use crate::cluster::birds;
use crate::support::rendered::{Files, files, renderer};
use crate::universe::{Happening, happening, settings};

/// What happens, and whether the batch ends with it.
type History = Vec<(Happening, bool)>;

fn history(longest: usize) -> impl Strategy<Value = History> {
    prop::collection::vec((happening(), prop::bool::weighted(0.4)), 1..longest)
}

/// `PROPTEST_CASES` sets another number of cases.
fn config(cases: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    Config {
        cases: asked.unwrap_or(cases),
        max_shrink_iters: 20_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..Config::default()
    }
}

/// All that anyone can see of an engine, revisions aside.
#[derive(Debug, PartialEq)]
struct Picture {
    view: Vec<(String, String)>,
    revealed: Vec<(String, String)>,
    models: Vec<String>,
    reports: Vec<String>,
    blocking: Vec<String>,
}

impl Picture {
    fn of(engine: &Engine) -> Self {
        let snapshot = engine.snapshot();
        let text = |(key, value): (Cow<'_, str>, Cow<'_, str>)| (key.into_owned(), value.into_owned());
        let models = snapshot.models.iter().flat_map(|model| {
            // Debug hides passwords; the serialized form, which templates see, does not.
            let base = [format!("{} {}", model.base.family, serde_json::to_string(&model.base).unwrap())];
            let items = model.collections.iter().enumerate().flat_map(move |(at, collection)| {
                let item = move |(key, item)| format!("{at} {key}: {}", serde_json::to_string(item).unwrap());
                collection.items.iter().map(item).collect::<Vec<_>>()
            });
            base.into_iter().chain(items)
        });
        Self {
            view: snapshot.view.list("/").map(text).collect(),
            revealed: snapshot.view.reveal_list("/").map(|(key, value)| text((key, value.text))).collect(),
            models: models.collect(),
            reports: engine
                .reports()
                .map(|report| format!("{:?} {}", report.severity, report.error))
                .collect(),
            blocking: engine.blocking().iter().map(ToString::to_string).collect(),
        }
    }
}

/// The models as values, which know equality of their own.
fn same_models(a: &Engine, b: &Engine) -> bool {
    let (a, b) = (&a.snapshot().models, &b.snapshot().models);
    a.iter().zip(b).all(|(a, b)| {
        let mut collections = a.collections.iter().zip(&b.collections);
        a.base == b.base && collections.all(|(a, b)| a.items == b.items)
    })
}

/// The engine of objects that came all at once.
fn from_scratch<'a>(settings: &Settings, objects: impl IntoIterator<Item = &'a Happening>) -> Engine {
    let mut engine = Engine::new(settings.clone());
    engine.apply(objects.into_iter().filter(|o| !matches!(o, Happening::Gone(_))).map(Happening::event));
    engine
}

fn batches(history: &History) -> Vec<Vec<&Happening>> {
    let mut batches = vec![Vec::new()];
    for (happening, ends) in history {
        batches.last_mut().unwrap().push(happening);
        if *ends {
            batches.push(Vec::new());
        }
    }
    batches
}

/// The last thing that happened to each object.
fn last<'a>(history: impl IntoIterator<Item = &'a Happening>) -> BTreeMap<ObjectKey, &'a Happening> {
    history.into_iter().map(|happening| (happening.key(), happening)).collect()
}

/// The same history in another order, in which the last event of each object is still its last.
fn shuffled(history: &History, seed: u64) -> Vec<&Happening> {
    let mut state = seed | 1;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut order: Vec<usize> = (0..history.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random(at + 1));
    }
    let mut places: BTreeMap<ObjectKey, Vec<usize>> = BTreeMap::new();
    for (place, index) in order.iter().enumerate() {
        places.entry(history[*index].0.key()).or_default().push(place);
    }
    for places in places.values() {
        let newest = *places.iter().max_by_key(|place| order[**place]).unwrap();
        order.swap(newest, *places.last().unwrap());
    }
    order.into_iter().map(|index| &history[index].0).collect()
}

/// One difference, so that a failure can be read.
fn difference(what: &str, a: &[String], b: &[String]) -> Result<(), TestCaseError> {
    let (left, right): (BTreeSet<_>, BTreeSet<_>) = (a.iter().collect(), b.iter().collect());
    let only = |one: &BTreeSet<_>, other: &BTreeSet<_>| -> Vec<String> {
        one.difference(other).map(|text: &&String| (*text).clone()).collect()
    };
    prop_assert!(
        a == b,
        "{what}: only here {:#?}, only there {:#?}, or the order differs",
        only(&left, &right),
        only(&right, &left)
    );
    Ok(())
}

fn compare(what: &str, a: &Engine, b: &Engine) -> Result<(), TestCaseError> {
    let (one, other) = (Picture::of(a), Picture::of(b));
    let lines = |pairs: &[(String, String)]| -> Vec<String> {
        pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect()
    };
    difference(&format!("{what}, view"), &lines(&one.view), &lines(&other.view))?;
    difference(&format!("{what}, revealed view"), &lines(&one.revealed), &lines(&other.revealed))?;
    difference(&format!("{what}, models"), &one.models, &other.models)?;
    difference(&format!("{what}, reports"), &one.reports, &other.reports)?;
    difference(&format!("{what}, blocking"), &one.blocking, &other.blocking)?;
    prop_assert!(same_models(a, b), "{}: the models differ where their text does not", what);
    Ok(())
}

fn compare_files(what: &str, a: &Files, b: &Files) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, text) in a {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        difference(&format!("{what}, {name}"), &lines(text), &lines(&b[name]))?;
        prop_assert!(*text == b[name], "{what}, {name}: only white space differs");
    }
    Ok(())
}

/// After each batch: the engine is equal to one that was never fed anything but the objects that are there now,
/// the files are equal to those of a renderer that knows nothing yet, and what is there already changes nothing.
fn check_increments(settings: &Settings, history: &History) -> Result<(), TestCaseError> {
    let mut engine = Engine::new(settings.clone());
    let mut incremental = renderer(&settings.node);
    let mut seen: Vec<&Happening> = Vec::new();
    let all = batches(history);
    for (index, batch) in all.iter().enumerate() {
        let what = format!("after batch {index}");
        let changes = engine.apply(batch.iter().map(|happening| happening.event()));
        incremental.note(&changes);
        seen.extend(batch);
        let now = last(seen.iter().copied());
        let scratch = from_scratch(settings, now.values().copied());
        compare(&what, &engine, &scratch)?;

        let rendered = files(&mut incremental, engine.snapshot());
        // A fresh renderer compiles every template, so not every batch gets one.
        if index + 1 == all.len() {
            let fresh = files(&mut renderer(&settings.node), scratch.snapshot());
            compare_files(&format!("{what}, a fresh renderer"), &rendered, &fresh)?;
        }

        let revision = engine.snapshot().revision;
        let again = engine.apply(last(batch.iter().copied()).values().map(|happening| happening.event()));
        prop_assert_eq!(again.to, revision, "{}: the same again is a new revision", what);
        prop_assert!(again.items.is_empty());
        let everything = engine.apply(now.values().map(|happening| happening.event()));
        prop_assert_eq!(everything.to, revision, "{}: all objects again are a new revision", what);
        compare(&format!("{what}, and all again"), &engine, &scratch)?;
    }
    Ok(())
}

/// Any order and any batching give the same, and it does not matter when files are rendered on the way.
fn check_order(settings: &Settings, history: &History, seed: u64) -> Result<(), TestCaseError> {
    let mut one = Engine::new(settings.clone());
    one.apply(history.iter().map(|(happening, _)| happening.event()));
    let mut each = Engine::new(settings.clone());
    let mut incremental = renderer(&settings.node);
    for (at, (happening, _)) in history.iter().enumerate() {
        let changes = each.apply([happening.event()]);
        // To leave a change out costs time and nothing else.
        if !seed.rotate_left(at as u32).is_multiple_of(7) {
            incremental.note(&changes);
        }
        if seed.rotate_left(at as u32).is_multiple_of(3) {
            files(&mut incremental, each.snapshot());
        }
    }
    compare("all at once and one by one", &one, &each)?;
    let mut other = Engine::new(settings.clone());
    for batch in shuffled(history, seed).chunks(1 + (seed % 5) as usize) {
        other.apply(batch.iter().map(|happening| happening.event()));
    }
    compare("another order", &one, &other)?;
    let fresh = files(&mut renderer(&settings.node), one.snapshot());
    compare_files("another order", &fresh, &files(&mut incremental, each.snapshot()))
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn what_came_before_does_not_matter(settings in settings(), history in history(24)) {
        check_increments(&settings, &history)?;
    }

    #[test]
    fn order_and_batching_do_not_matter(settings in settings(), history in history(40), seed in any::<u64>()) {
        check_order(&settings, &history, seed)?;
    }
}

proptest! {
    #![proptest_config(config(60))]

    /// Of whatever objects there are, the files are such that BIRD takes them.
    #[test]
    fn bird_accepts_every_history(settings in settings(), history in history(60)) {
        if let Some(birds) = birds() {
            let engine = from_scratch(&settings, last(history.iter().map(|(h, _)| h)).values().copied());
            let files = files(&mut renderer(&settings.node), engine.snapshot());
            if let Err(words) = birds.check(&files) {
                let numbered = |name: &str| -> String {
                    files[name].lines().enumerate().map(|(at, line)| format!("{:4} {line}\n", at + 1)).collect()
                };
                let sets: Vec<String> = files.keys().map(|name| format!("--- {name}\n{}", numbered(name))).collect();
                return Err(TestCaseError::fail(format!("{words}\n{}", sets.concat())));
            }
        }
    }
}
