//! A question to a cluster, and what the answer must hold.

use tailorbird::engine::{Changes, Engine};
use tailorbird::explain::{Explanation, Query, Rule, State, Topic, explain};
use tailorbird::policy::Overlay;

use crate::cluster::Cluster;
use crate::native::{Native, Natives};

/// Asks an engine, with these plugins.
pub(crate) fn ask(engine: &Engine, plugins: &[Native], topic: Topic, subject: &str) -> Explanation {
    let snapshot = engine.snapshot();
    let mut overlay = Overlay::new();
    let all = Changes { from: snapshot.revision, to: snapshot.revision, ..Changes::default() };
    // A plugin that must not fail may have failed: the answer says so.
    drop(overlay.derive(snapshot, all, &mut Natives::new(plugins, &snapshot.view, snapshot.revision)));
    let query = Query::new(topic, subject).unwrap();
    explain(&State::new(engine, &overlay, !plugins.is_empty()), &query)
}

pub(crate) fn peer(cluster: &Cluster, ip: &str) -> Explanation {
    ask(&cluster.engine, &[], Topic::Peer, ip)
}

pub(crate) fn route(cluster: &Cluster, prefix: &str) -> Explanation {
    ask(&cluster.engine, &[], Topic::Route, prefix)
}

/// What tests look for in an answer.
pub(crate) trait Answer: Sized {
    /// It is there.
    fn there(self) -> Self;
    /// It is not there.
    fn absent(self) -> Self;
    /// A reason of this rule about this object has all these words; no object is an empty text.
    fn because(self, rule: Rule, object: &str, words: &[&str]) -> Self;
    /// No reason names this rule.
    fn not_because(self, rule: Rule) -> Self;
    /// It stands there in BIRD's files.
    fn stands(self, file: &str, name: &str) -> Self;
    /// A note has these words.
    fn noted(self, words: &str) -> Self;
}

impl Answer for Explanation {
    #[track_caller]
    fn there(self) -> Self {
        assert!(self.present, "{self}");
        self
    }

    #[track_caller]
    fn absent(self) -> Self {
        assert!(!self.present, "{self}");
        assert_eq!(self.places, [], "{self}");
        self
    }

    #[track_caller]
    fn because(self, rule: Rule, object: &str, words: &[&str]) -> Self {
        let found = self.because.iter().any(|reason| {
            reason.rule == rule
                && reason.object.as_deref().unwrap_or_default() == object
                && words.iter().all(|word| reason.text.contains(word))
        });
        assert!(found, "no {rule} about {object:?} with {words:?} in\n{self}");
        // What is told to people is what is told to programs.
        for word in words.iter().chain([&object, &rule.as_str()]) {
            assert!(self.to_string().contains(word), "{self}");
        }
        self
    }

    #[track_caller]
    fn not_because(self, rule: Rule) -> Self {
        assert!(self.because.iter().all(|reason| reason.rule != rule), "{rule} in\n{self}");
        self
    }

    #[track_caller]
    fn stands(self, file: &str, name: &str) -> Self {
        let found = self.places.iter().any(|place| place.file == file && place.name == name);
        assert!(found, "{name} is not in {file} by\n{self}");
        self
    }

    #[track_caller]
    fn noted(self, words: &str) -> Self {
        assert!(self.notes.iter().any(|note| note.contains(words)), "no note with {words:?} in\n{self}");
        self
    }
}
