//! What goes wrong between this program and the API server.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;

/// Why a request or a stream gave no answer that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::syncer) enum Failure {
    /// There was no answer, or it ended before it was whole.
    Broken(String),
    /// The API server answered with an error.
    Refused {
        /// The HTTP status.
        code: u16,
        /// The API server's words.
        message: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
}

/// The longest wait that an API server can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How much of an answer that is no API status is repeated.
const SHOWN: usize = 200;

#[derive(Deserialize, Default)]
struct Status {
    #[serde(default)]
    message: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    code: u16,
}

impl Failure {
    /// The failure that an error with its causes is.
    pub(super) fn from_error(error: &dyn Error) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let words = error.to_string();
            // Many errors repeat their cause.
            if !text.contains(&words) {
                text = format!("{text}: {words}");
            }
            cause = error.source();
        }
        Failure::Broken(text)
    }

    /// The failure that an answer with an HTTP status of 400 and more is.
    pub(super) fn from_answer(code: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let status: Status = serde_json::from_slice(body).unwrap_or_default();
        let mut message = match (status.message, status.reason) {
            (message, reason) if message.is_empty() => reason,
            (message, _) => message,
        };
        if message.is_empty() {
            message = String::from_utf8_lossy(body).trim().chars().take(SHOWN).collect();
        }
        let seconds = retry_after.and_then(|text| text.trim().parse().ok());
        let retry_after = seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST_WAIT));
        Failure::Refused { code, message, retry_after }
    }

    /// The failure that an `ERROR` event of a watch is.
    pub(super) fn from_event(status: &serde_json::Value) -> Self {
        let status = Status::deserialize(status).unwrap_or_default();
        let message = if status.message.is_empty() { status.reason } else { status.message };
        let code = if status.code == 0 { 500 } else { status.code };
        Failure::Refused { code, message, retry_after: None }
    }

    fn code(&self) -> u16 {
        match self {
            Failure::Broken(_) => 0,
            Failure::Refused { code, .. } => *code,
        }
    }

    /// What was asked for is too old, or newer than all there is, as after a database was put back: only a new list helps.
    pub(super) fn is_expired(&self) -> bool {
        match self {
            Failure::Refused { code: 410, .. } => true,
            Failure::Refused { message, .. } => message.contains("Too large resource version"),
            Failure::Broken(_) => false,
        }
    }

    /// There is no such resource.
    pub(super) fn is_not_found(&self) -> bool {
        self.code() == 404
    }

    /// The object is there already, or is another than it was thought to be.
    pub(super) fn is_conflict(&self) -> bool {
        self.code() == 409
    }

    /// The permission is missing.
    pub(super) fn is_forbidden(&self) -> bool {
        self.code() == 403
    }

    /// The same request can succeed later.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self.code(), 0 | 401 | 408 | 429 | 500..)
    }

    /// How long the API server wants to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Failure::Broken(_) => None,
            Failure::Refused { retry_after, .. } => *retry_after,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Broken(text) => f.write_str(text),
            Failure::Refused { code, message, .. } => write!(f, "{code}: {message}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_keeps_the_servers_words_and_its_wish() {
        let body = br#"{"kind":"Status","message":"too many","code":429}"#;
        let failure = Failure::from_answer(429, Some("7"), body);
        assert_eq!(failure.to_string(), "429: too many");
        assert_eq!(failure.retry_after(), Some(Duration::from_secs(7)));
        assert!(failure.is_passing() && !failure.is_expired());
        // A date, which no API server sends, is no number of seconds; a day is too long to be meant.
        assert_eq!(Failure::from_answer(503, Some("Wed, 21 Oct"), b"").retry_after(), None);
        assert_eq!(Failure::from_answer(503, Some("86400"), b"").retry_after(), Some(LONGEST_WAIT));
        assert_eq!(
            Failure::from_answer(502, None, b"<html>bad gateway\n").to_string(),
            "502: <html>bad gateway"
        );
    }

    #[test]
    fn an_event_without_a_code_is_an_error_of_the_server() {
        let event = serde_json::json!({"code": 410, "message": "too old resource version"});
        assert!(Failure::from_event(&event).is_expired());
        let future =
            serde_json::json!({"code": 504, "message": "Timeout: Too large resource version: 9, current: 7"});
        assert!(Failure::from_event(&future).is_expired());
        assert!(Failure::from_event(&serde_json::json!("nonsense")).is_passing());
    }
}
