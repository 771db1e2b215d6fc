//! What the operator must know: objects that were left out and values that have no effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::resources::{ObjectError, ObjectKey};

/// How much a report matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// An object, or part of what it asks for, was left out.
    LeftOut,
    /// Something has no effect or is missing, and everything that was asked for and can be had is there.
    Warning,
}

/// A report about an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Report {
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong with which object.
    pub error: ObjectError,
}

/// The reports that hold now. Each belongs to an object and a topic, so what is set right takes its reports along.
#[derive(Debug, Default)]
pub(super) struct Reports {
    current: BTreeMap<ObjectKey, BTreeMap<String, Topic>>,
}

/// The reports on one topic of an object, each once, in the order in which they came.
#[derive(Debug, Default)]
struct Topic {
    list: Vec<Arc<Report>>,
    known: FxHashSet<Arc<Report>>,
}

/// The topic of what was found when the object was parsed.
const PARSED: &str = "";

impl Reports {
    /// Withdraws the reports on a topic of an object.
    pub(super) fn clear(&mut self, object: &ObjectKey, topic: &str) {
        if let Some(topics) = self.current.get_mut(object) {
            topics.remove(topic);
            if topics.is_empty() {
                self.current.remove(object);
            }
        }
    }

    /// Withdraws every report on an object.
    pub(super) fn clear_all(&mut self, object: &ObjectKey) {
        self.current.remove(object);
    }

    /// The object was left out as a whole.
    pub(super) fn left_out(&mut self, error: ObjectError) {
        self.add(PARSED, Severity::LeftOut, error);
    }

    /// Part of what the object asks for was left out.
    pub(super) fn left_out_part(&mut self, topic: &str, error: ObjectError) {
        self.add(topic, Severity::LeftOut, error);
    }

    /// Something has no effect.
    pub(super) fn warn(&mut self, object: &ObjectKey, topic: &str, error: ObjectError) {
        debug_assert_eq!(object, &error.object);
        self.add(topic, Severity::Warning, error);
    }

    /// All reports, by object.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Report> {
        self.current
            .values()
            .flat_map(|topics| topics.values().flat_map(|topic| topic.list.iter().map(|report| &**report)))
    }

    fn add(&mut self, topic: &str, severity: Severity, error: ObjectError) {
        let topics = self.current.entry(error.object.clone()).or_default();
        let topic = topics.entry(topic.to_owned()).or_default();
        let report = Arc::new(Report { severity, error });
        if topic.known.insert(report.clone()) {
            topic.list.push(report);
        }
    }
}
