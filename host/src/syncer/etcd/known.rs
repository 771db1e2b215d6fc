//! What is known of the folders, and what an answer of their watches changes. No I/O.

use bytes::Bytes;

use super::failure::Failure;
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
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) folders: &'a [String],
    pub(super) board: &'a Board,
}

impl Known<'_> {
    /// A watch for each folder, of which all is known up to this revision. It begins there once more: a server says
    /// nothing of a watch that would begin in the future.
    pub(super) fn watches(&self, reached: i64) -> impl Iterator<Item = WatchCreate> {
        self.folders.iter().enumerate().map(move |(at, folder)| {
            let RangeRequest { key, range_end, .. } = range(folder);
            WatchCreate {
                key,
                range_end,
                start_revision: reached,
                progress_notify: true,
                watch_id: id(at),
                fragment: true,
            }
        })
    }

    /// Takes an answer.
    ///
    /// # Errors
    /// The watch cannot go on, or the answer is none to what was asked.
    pub(super) fn take(&self, answer: WatchResponse) -> Result<(), Failure> {
        if answer.canceled {
            return Err(match answer.compact_revision > 0 {
                true => Failure::Compacted,
                false => Failure::told(&answer.cancel_reason).at("a watch was ended"),
            });
        }
        let Some(at) = (0..self.folders.len()).find(|at| id(*at) == answer.watch_id) else {
            // So it says how far all of them are.
            if answer.watch_id == -1 && answer.events.is_empty() && !answer.created {
                return Ok(());
            }
            return Err(strange());
        };
        if !answer.events.is_empty() {
            let mut state = self.board.state();
            for event in &answer.events {
                let Some(pair) = event.kv.as_ref().filter(|pair| within(&self.folders[at], pair)) else {
                    return Err(strange());
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
        Ok(())
    }
}

/// Whoever numbers watches in another way than it is asked to would have changes taken for others.
fn strange() -> Failure {
    Failure::Other(
        "an answer of a watch that was not asked for: an endpoint must be a member of etcd, and no proxy of its own".to_owned(),
    )
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

    use super::super::message::Event;
    use super::*;
    use crate::engine::Settings;
    use crate::syncer::mirror::{Mirror, folders};

    /// The folder of the peers, and a peer in it.
    const PEERS: usize = 1;
    const PEER: &str = "/calico/resources/v3/projectcalico.org/bgppeers/tor";
    const NODE: &str = "/calico/resources/v3/projectcalico.org/nodes/tor";
    const VALUE: &str = r#"{"spec":{"peerIP":"10.0.0.1","asNumber":65000}}"#;

    fn event(r#type: i32, key: &'static str) -> Event {
        let (key, value) = (Bytes::from(key), Bytes::from(VALUE));
        Event { r#type, kv: Some(KeyValue { key, value }) }
    }

    fn answer(events: Vec<Event>) -> WatchResponse {
        WatchResponse { watch_id: id(PEERS), events, ..WatchResponse::default() }
    }

    /// How many updates there are to tell after an answer.
    fn taken(answer: WatchResponse) -> Result<usize, Failure> {
        let settings = Settings::new("one".parse().expect("a name"));
        let folders = folders(&settings);
        let board = Board::new(Mirror::new("etcd", &settings), Duration::ZERO);
        let known = Known { folders: &folders, board: &board };
        assert!(known.watches(10).all(|watch| watch.start_revision == 10 && watch.key.ends_with(b"/")));
        known.take(answer)?;
        Ok(board.state().mirror.take().len())
    }

    #[test]
    fn an_answer_brings_what_happened() {
        assert_eq!(taken(answer(vec![event(0, PEER)])), Ok(1));
        assert_eq!(taken(answer(vec![event(0, PEER), event(1, PEER)])), Ok(0));
        // A folder where nothing happens, a watch that has begun, and how far all are.
        assert_eq!(taken(answer(Vec::new())), Ok(0));
        assert_eq!(taken(WatchResponse { created: true, ..answer(Vec::new()) }), Ok(0));
        assert_eq!(taken(WatchResponse { watch_id: -1, ..answer(Vec::new()) }), Ok(0));
    }

    #[test]
    fn what_makes_no_sense_ends_the_connection() {
        let of = |watch_id, events| WatchResponse { watch_id, ..answer(events) };
        for (answer, told) in [
            (of(0, Vec::new()), "not asked for"),
            (of(99, Vec::new()), "not asked for"),
            (of(-1, vec![event(0, PEER)]), "not asked for"),
            (WatchResponse { created: true, ..of(0, Vec::new()) }, "not asked for"),
            // A key of another folder.
            (of(id(PEERS), vec![event(0, NODE)]), "no proxy"),
            (of(id(PEERS), vec![event(7, PEER)]), "unknown type 7"),
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
