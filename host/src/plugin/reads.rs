//! What a guest reads during a call, as it comes.

use std::sync::Arc;

use crate::policy::Reads;

/// So many more notes than can be kept are taken before those that stand twice are thrown out.
const ROOM: usize = 8_192;

/// Notes of what was read. To take one costs little; they are put in order at the end.
#[derive(Debug, Default)]
pub(super) struct ReadLog {
    keys: Vec<Arc<str>>,
    paths: Vec<Arc<str>>,
    revision: bool,
}

impl ReadLog {
    /// Adds a key.
    pub(super) fn key(&mut self, key: &str) {
        if !self.revision {
            note(&mut self.keys, key);
            self.bound();
        }
    }

    /// Adds a path that was listed.
    pub(super) fn path(&mut self, path: &str) {
        if !self.revision {
            note(&mut self.paths, path);
            self.bound();
        }
    }

    /// Adds the revision.
    pub(super) fn revision(&mut self) {
        self.revision = true;
    }

    /// What was read since this was asked last.
    pub(super) fn take(&mut self) -> Reads {
        let Self { keys, paths, revision } = std::mem::take(self);
        Reads::of(keys, paths, revision)
    }

    fn bound(&mut self) {
        if self.keys.len() + self.paths.len() < Reads::MOST + ROOM {
            return;
        }
        let Reads { keys, paths, revision } = self.take();
        *self = Self { keys: keys.into_iter().collect(), paths: paths.into_iter().collect(), revision };
    }
}

fn note(list: &mut Vec<Arc<str>>, text: &str) {
    if list.last().is_none_or(|last| **last != *text) {
        list.push(text.into());
    }
}
