//! How a Typha is found and spoken to.

use std::path::PathBuf;
use std::time::Duration;

use crate::syncer::certificates::Names;
use crate::types::Name;

/// Where Typha is, and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where.
    pub at: At,
    /// TLS, if it is spoken.
    pub tls: Option<Tls>,
    /// How long a message may take to come; 30 s.
    pub read: Duration,
    /// How long a message may take to be sent; 10 s.
    pub write: Duration,
}

impl Config {
    /// Without TLS, and with the usual times.
    pub fn new(at: At) -> Self {
        Self { at, tls: None, read: Duration::from_secs(30), write: Duration::from_secs(10) }
    }
}

/// Where Typha is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// A host and port, `typha.example:5473`. All addresses of the host are instances.
    Address(String),
    /// A Service of Kubernetes: its ready endpoints are the instances.
    Service {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
    },
}

/// What both sides show each other. The files are read anew for each connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The authorities that may have signed the server's certificate, in PEM.
    pub authority: PathBuf,
    /// The client's certificate and those that lead to its authority, in PEM.
    pub certificate: PathBuf,
    /// The client's key, in PEM.
    pub key: PathBuf,
    /// Who the server must be.
    pub server: ServerIdentity,
}

/// The name that a server's certificate must have. Where both are known, either is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerIdentity {
    /// This common name.
    CommonName(String),
    /// This URI among the alternative names.
    Uri(String),
    /// One of the two: the common name, or the URI.
    Either(String, String),
}

impl ServerIdentity {
    /// Whether a certificate with these names is the server's.
    pub(super) fn is_met(&self, names: &Names) -> bool {
        let is_common = |wanted: &String| names.common.as_ref() == Some(wanted);
        let has_uri = |wanted: &String| names.uris.contains(wanted);
        match self {
            Self::CommonName(common) => is_common(common),
            Self::Uri(uri) => has_uri(uri),
            Self::Either(common, uri) => is_common(common) || has_uri(uri),
        }
    }
}

/// Waits between connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The wait after a first failure; it doubles with each further one. 500 ms.
    pub first_wait: Duration,
    /// The longest wait between attempts; 30 s.
    pub longest_wait: Duration,
    /// How long a connection may take to be made, TLS included; 10 s.
    pub dial: Duration,
    /// How long a source that was in sync may be without a connection before it says so; 5 s.
    pub grace: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
            dial: Duration::from_secs(10),
            grace: Duration::from_secs(5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_either_name() {
        let names = |common: &str, uri: &str| Names {
            common: Some(common.to_owned()),
            uris: vec!["spiffe://other".to_owned(), uri.to_owned()],
            ..Names::default()
        };
        let common = ServerIdentity::CommonName("typha".into());
        let uri = ServerIdentity::Uri("spiffe://typha".into());
        let either = ServerIdentity::Either("typha".into(), "spiffe://typha".into());
        for (names, met) in [
            (names("typha", "spiffe://typha"), [true, true, true]),
            (names("typha", "spiffe://x"), [true, false, true]),
            (names("x", "spiffe://typha"), [false, true, true]),
            (names("x", "spiffe://typha/x"), [false, false, false]),
            (Names::default(), [false, false, false]),
        ] {
            assert_eq!([&common, &uri, &either].map(|wanted| wanted.is_met(&names)), met, "{names:?}");
        }
    }
}
