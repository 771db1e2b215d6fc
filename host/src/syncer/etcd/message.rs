//! The few messages of etcd that are spoken, as its public protocol numbers their fields.

use bytes::Bytes;

/// Of when an answer is.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(super) struct Header {
    #[prost(int64, tag = "3")]
    pub(super) revision: i64,
}

/// A key and its value.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct KeyValue {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "5")]
    pub(super) value: Bytes,
}

/// Asks for keys.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct RangeRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    /// The first key that is too far.
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) range_end: Bytes,
    #[prost(int64, tag = "3")]
    pub(super) limit: i64,
    /// The revision; 0 for the newest.
    #[prost(int64, tag = "4")]
    pub(super) revision: i64,
    #[prost(bool, tag = "8")]
    pub(super) keys_only: bool,
}

/// Keys, in their order.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    #[prost(message, repeated, tag = "2")]
    pub(super) kvs: Vec<KeyValue>,
    /// Whether there are more in the range.
    #[prost(bool, tag = "3")]
    pub(super) more: bool,
}

/// Something that is asked of a stream of watches.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct WatchRequest {
    #[prost(oneof = "Asked", tags = "1, 3")]
    pub(super) asked: Option<Asked>,
}

/// What is asked.
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub(super) enum Asked {
    /// One more watch.
    #[prost(message, tag = "1")]
    Create(WatchCreate),
    /// How far the watches are.
    #[prost(message, tag = "3")]
    Progress(WatchProgress),
}

/// A watch.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct WatchCreate {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    /// The first key that is too far.
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) range_end: Bytes,
    #[prost(int64, tag = "3")]
    pub(super) start_revision: i64,
    /// Whether the server says now and then how far a quiet watch is.
    #[prost(bool, tag = "4")]
    pub(super) progress_notify: bool,
    #[prost(int64, tag = "7")]
    pub(super) watch_id: i64,
    /// Whether a large answer may come in parts.
    #[prost(bool, tag = "8")]
    pub(super) fragment: bool,
}

/// Asks how far the watches are.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(super) struct WatchProgress {}

/// What a watch says. One that is large comes in parts, each of which counts for itself.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct WatchResponse {
    /// Which one; -1 for all.
    #[prost(int64, tag = "2")]
    pub(super) watch_id: i64,
    #[prost(bool, tag = "3")]
    pub(super) created: bool,
    #[prost(bool, tag = "4")]
    pub(super) canceled: bool,
    /// Set when the watch would begin in what has been compacted.
    #[prost(int64, tag = "5")]
    pub(super) compact_revision: i64,
    #[prost(string, tag = "6")]
    pub(super) cancel_reason: String,
    #[prost(message, repeated, tag = "11")]
    pub(super) events: Vec<Event>,
}

/// What happened to a key.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Event {
    /// 0: it has a value; 1: it has none any more.
    #[prost(int32, tag = "1")]
    pub(super) r#type: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) kv: Option<KeyValue>,
}

/// Asks for a token. It has a password in it, and so is never shown.
#[derive(Clone, PartialEq, Eq, prost::Message)]
#[prost(skip_debug)]
pub(super) struct AuthenticateRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) password: String,
}

impl std::fmt::Debug for AuthenticateRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthenticateRequest").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A token.
#[derive(Clone, PartialEq, Eq, prost::Message)]
#[prost(skip_debug)]
pub(super) struct AuthenticateResponse {
    #[prost(string, tag = "2")]
    pub(super) token: String,
}

impl std::fmt::Debug for AuthenticateResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthenticateResponse").finish_non_exhaustive()
    }
}

/// Asks a member how it is.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(super) struct StatusRequest {}

/// How a member is.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct StatusResponse {
    #[prost(string, tag = "2")]
    pub(super) version: String,
    /// 0 for none.
    #[prost(uint64, tag = "4")]
    pub(super) leader: u64,
}
