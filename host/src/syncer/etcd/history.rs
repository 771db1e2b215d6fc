//! How far a cluster's history has been followed. No I/O.

use super::message::Header;

/// The history of a cluster as this node knows it.
#[derive(Debug, Clone)]
pub(super) struct History {
    /// Who told it last, and the newest revision that is known to be there; none before all has been read.
    newest: Option<Header>,
    /// For each folder the revision up to which all is known.
    known: Vec<i64>,
}

impl History {
    /// Nothing is known of so many folders.
    pub(super) fn new(folders: usize) -> Self {
        Self { newest: None, known: vec![0; folders] }
    }

    /// Why all must be read anew from a server that says this of itself now; none if it can be followed from where it was.
    pub(super) fn objection(&self, now: &Header) -> Option<&'static str> {
        let Some(newest) = &self.newest else { return Some("nothing is known yet") };
        if now.cluster_id != newest.cluster_id {
            Some("this is another cluster")
        } else if now.revision < newest.revision || now.raft_term < newest.raft_term {
            Some("its data is older than what was read before")
        } else {
            None
        }
    }

    /// What is known is of no use any more.
    pub(super) fn forget(&mut self) {
        self.newest = None;
    }

    /// Everything has been read as it was at this revision.
    pub(super) fn read_at(&mut self, now: Header) {
        self.newest = Some(now);
        self.known.fill(now.revision);
    }

    /// A server has said this of itself.
    pub(super) fn saw(&mut self, now: &Header) {
        if let Some(newest) = &mut self.newest {
            newest.revision = newest.revision.max(now.revision);
            newest.raft_term = newest.raft_term.max(now.raft_term);
        }
    }

    /// All that happened in a folder up to a revision is known.
    pub(super) fn knows(&mut self, folder: usize, revision: i64) {
        if let Some(known) = self.known.get_mut(folder) {
            *known = revision.max(*known);
        }
    }

    /// The revision from which a folder is followed: the one that is known, once more. A server says nothing of a watch
    /// that would begin in the future.
    pub(super) fn from(&self, folder: usize) -> i64 {
        self.known.get(folder).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn header(cluster_id: u64, raft_term: u64, revision: i64) -> Header {
        Header { cluster_id, revision, raft_term }
    }

    #[test]
    fn a_history_goes_on_unless_it_is_another_one() {
        let mut history = History::new(2);
        assert!(history.objection(&header(1, 1, 1)).is_some(), "nothing was read");
        history.read_at(header(1, 5, 10));
        history.knows(1, 14);
        history.knows(1, 12);
        history.saw(&header(1, 5, 15));
        assert_eq!((history.from(0), history.from(1)), (10, 14));
        for (now, goes_on) in [
            (header(1, 5, 15), true),
            (header(1, 6, 20), true),
            (header(1, 5, 14), false),
            (header(1, 4, 20), false),
            (header(2, 5, 20), false),
        ] {
            assert_eq!(history.objection(&now).is_none(), goes_on, "{now:?}");
        }
        history.forget();
        assert!(history.objection(&header(1, 6, 20)).is_some());
    }
}
