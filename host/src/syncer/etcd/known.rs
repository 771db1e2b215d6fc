//! What is known of the folders, and what an answer of their watches changes. No I/O.

use bytes::Bytes;

use super::failure::Failure;
use super::history::History;
use super::message::{KeyValue, RangeRequest, WatchCreate, WatchResponse};
use crate::syncer::mirror::Board;

/// A folder of keys: all that begin with its name, which ends in a slash.
pub(super) fn range(folder: &str) -> RangeRequest {
    let mut end = folder.as_bytes().to_vec();
    // The first key behind all that begin with a slash at this place.
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    RangeRequest {
        key: Bytes::copy_from_slice(folder.as_bytes()),
        range_end: end.into(),
        ..RangeRequest::default()
    }
}

/// The folders that are followed.
pub(super) struct Known<'a> {
    pub(super) folders: &'a [String],
    pub(super) history: &'a mut History,
    pub(super) board: &'a Board,
}

impl Known<'_> {
    /// A watch for each folder, from where it is known.
    pub(super) fn watches(&self) -> impl Iterator<Item = WatchCreate> {
        self.folders.iter().enumerate().map(|(at, folder)| {
            let RangeRequest { key, range_end, .. } = range(folder);
            WatchCreate {
                key,
                range_end,
                start_revision: self.history.from(at),
                progress_notify: true,
                watch_id: id(at),
                fragment: true,
            }
        })
    }

    /// Takes an answer; the revision that all watches have reached, if it says so.
    pub(super) fn take(&mut self, answer: WatchResponse) -> Result<Option<i64>, Failure> {
        if answer.canceled {
            return Err(match answer.compact_revision > 0 {
                true => Failure::Compacted,
                false => Failure::told(&answer.cancel_reason).at("a watch was ended"),
            });
        }
        let Some(header) = answer.header else {
            return Err(Failure::Other("an answer of a watch does not say of when it is".to_owned()));
        };
        self.history.saw(&header);
        if answer.created {
            return Ok(None);
        }
        let folder = (0..self.folders.len()).find(|at| id(*at) == answer.watch_id);
        let Some(at) = folder else {
            let all = answer.watch_id == -1 && answer.events.is_empty();
            return match all {
                true => Ok(Some(header.revision)),
                false => Err(Failure::Other("an answer of a watch that was not asked for".to_owned())),
            };
        };
        let reached = match answer.events.last() {
            None => Some(header.revision),
            Some(event) => event.kv.as_ref().map(|pair| pair.mod_revision),
        };
        if !answer.events.is_empty() {
            let mut state = self.board.state();
            for event in &answer.events {
                let Some(pair) = event.kv.as_ref().filter(|pair| within(&self.folders[at], pair)) else {
                    continue;
                };
                match event.r#type {
                    0 => state.mirror.set(&pair.key, &pair.value),
                    1 => state.mirror.unset(&pair.key),
                    other => return Err(Failure::Other(format!("an event of the unknown type {other}"))),
                }
            }
            drop(state);
            self.board.changed();
        }
        // What comes in parts is known with the last of them.
        if let Some(reached) = reached.filter(|_| !answer.fragment) {
            self.history.knows(at, reached);
        }
        Ok(None)
    }
}

/// The number of a folder's watch: none has 0, by which servers choose one themselves.
fn id(folder: usize) -> i64 {
    i64::try_from(folder).unwrap_or(i64::MAX - 1) + 1
}

/// Whether a key is of the folder that was asked for.
pub(super) fn within(folder: &str, pair: &KeyValue) -> bool {
    pair.key.starts_with(folder.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::message::{Event, Header};
    use super::*;
    use crate::engine::Settings;
    use crate::syncer::mirror::{Mirror, folders};

    const HEADER: Header = Header { cluster_id: 1, revision: 20, raft_term: 2 };

    /// The folder of the peers, and a peer in it.
    const PEERS: usize = 1;
    const PEER: &str = "/calico/resources/v3/projectcalico.org/bgppeers/tor";
    const VALUE: &str = r#"{"spec":{"peerIP":"10.0.0.1","asNumber":65000}}"#;

    fn event(r#type: i32, key: &'static str, mod_revision: i64) -> Event {
        let (key, value) = (Bytes::from(key), Bytes::from(VALUE));
        Event { r#type, kv: Some(KeyValue { key, mod_revision, value }) }
    }

    fn answer(events: Vec<Event>) -> WatchResponse {
        WatchResponse { header: Some(HEADER), watch_id: id(PEERS), events, ..WatchResponse::default() }
    }

    /// What an answer brings to folders that are known at revision 10: the revision that all have reached, the one from
    /// which the peers' folder is followed, and how many updates there are to tell.
    fn taken(answer: WatchResponse) -> Result<(Option<i64>, i64, usize), Failure> {
        let settings = Settings::new("one".parse().expect("a name"));
        let folders = folders(&settings);
        let mut history = History::new(folders.len());
        history.read_at(Header { revision: 10, ..HEADER });
        let board = Board::new(Mirror::new("etcd", &settings), Duration::ZERO);
        let mut known = Known { folders: &folders, history: &mut history, board: &board };
        assert!(known.watches().all(|watch| watch.start_revision == 10 && watch.key.ends_with(b"/")));
        let all = known.take(answer)?;
        Ok((all, history.from(PEERS), board.state().mirror.take().len()))
    }

    #[test]
    fn an_answer_is_known_when_all_of_it_is() {
        let peer = || vec![event(0, PEER, 12)];
        assert_eq!(taken(answer(peer())), Ok((None, 12, 1)));
        assert_eq!(taken(WatchResponse { fragment: true, ..answer(peer()) }), Ok((None, 10, 1)));
        assert_eq!(taken(answer(vec![event(0, PEER, 12), event(1, PEER, 13)])), Ok((None, 13, 0)));
        // A folder where nothing happens.
        assert_eq!(taken(answer(Vec::new())), Ok((None, 20, 0)));
        assert_eq!(taken(WatchResponse { created: true, ..answer(Vec::new()) }), Ok((None, 10, 0)));
        assert_eq!(taken(WatchResponse { watch_id: -1, ..answer(Vec::new()) }), Ok((Some(20), 10, 0)));
        // A key of another folder.
        let other = "/calico/resources/v3/projectcalico.org/nodes/tor";
        assert_eq!(taken(answer(vec![event(0, other, 12)])), Ok((None, 12, 0)));
    }

    #[test]
    fn what_makes_no_sense_ends_the_connection() {
        let of = |watch_id, events| WatchResponse { watch_id, ..answer(events) };
        for (answer, told) in [
            (of(0, Vec::new()), "not asked for"),
            (of(99, Vec::new()), "not asked for"),
            (of(-1, vec![event(0, PEER, 12)]), "not asked for"),
            (of(id(PEERS), vec![event(7, PEER, 12)]), "unknown type 7"),
            (WatchResponse { header: None, ..answer(Vec::new()) }, "of when it is"),
            (
                WatchResponse {
                    canceled: true,
                    cancel_reason: "etcdserver: permission denied".to_owned(),
                    ..answer(Vec::new())
                },
                "a watch was ended: etcdserver: permission denied; grant",
            ),
        ] {
            let failure = taken(answer).expect_err(told).to_string();
            assert!(failure.contains(told), "{failure}");
        }
        let compacted = WatchResponse { canceled: true, compact_revision: 15, ..answer(Vec::new()) };
        assert_eq!(taken(compacted), Err(Failure::Compacted));
    }

    #[test]
    fn a_folder_ends_where_its_name_does() {
        let asked = range("/calico/ipam/v2/host/node-a/");
        assert_eq!(asked.range_end, "/calico/ipam/v2/host/node-a0");
        let inside = |key: &str| asked.key <= key && asked.range_end > key;
        assert!(inside("/calico/ipam/v2/host/node-a/ipv4/block/10.0.0.0-26"));
        assert!(!inside("/calico/ipam/v2/host/node-a-longer/ipv4/block/10.0.0.0-26"));
    }
}
