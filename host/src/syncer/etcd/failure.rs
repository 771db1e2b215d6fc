//! Why etcd does not do what it is asked for.

use std::error::Error;
use std::fmt;

use tonic::{Code, Status};

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// What happened since the revision that is asked for is no longer known.
    Compacted,
    /// An answer is larger than is taken.
    TooLarge(String),
    /// The connection is of no more use: why, and what to do.
    Other(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compacted => f.write_str("what was read has been compacted meanwhile"),
            Self::TooLarge(reason) | Self::Other(reason) => f.write_str(reason),
        }
    }
}

impl Failure {
    /// The same, with what was tried in front.
    pub(super) fn at(self, what: &str) -> Self {
        match self {
            Self::Compacted => Self::Compacted,
            Self::TooLarge(reason) => Self::TooLarge(format!("{what}: {reason}")),
            Self::Other(reason) => Self::Other(format!("{what}: {reason}")),
        }
    }

    /// A reason that the server gives, with what to do about it.
    pub(super) fn told(reason: &str) -> Self {
        let remedy = if reason.contains("permission denied") {
            "; grant the user's role READ from /calico/ to /calico0"
        } else if reason.contains("authentication failed") {
            "; compare ETCD_USERNAME and ETCD_PASSWORD with etcd's users"
        } else if reason.contains("user name is empty") || reason.contains("user name not found") {
            "; etcd asks for a user: set ETCD_USERNAME and ETCD_PASSWORD, or show a certificate that names one"
        } else if reason.contains("no leader") {
            "; most of the cluster's members must be up and reach each other"
        } else {
            ""
        };
        Self::Other(format!("{reason}{remedy}"))
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        let message = status.message();
        match status.code() {
            // A revision that is not there yet is of a history that is not this one.
            Code::OutOfRange if message.contains("required revision") => Self::Compacted,
            Code::OutOfRange | Code::ResourceExhausted
                if message.contains("too large") || message.contains("larger than max") =>
            {
                Self::TooLarge(message.to_owned())
            }
            code => {
                let mut reason = match message.is_empty() {
                    true => code.description().to_owned(),
                    false => message.to_owned(),
                };
                let mut cause = status.source();
                while let Some(error) = cause {
                    let text = error.to_string();
                    if !reason.contains(&text) {
                        reason = format!("{reason}: {text}");
                    }
                    cause = error.source();
                }
                Self::told(&reason)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_told_with_what_to_do() {
        let compacted = Status::out_of_range("etcdserver: mvcc: required revision has been compacted");
        assert_eq!(Failure::from(compacted), Failure::Compacted);
        let large = Status::out_of_range("Error, decoded message length too large: found 9 bytes");
        assert!(matches!(Failure::from(large), Failure::TooLarge(_)));
        for (status, told) in [
            (Status::permission_denied("etcdserver: permission denied"), "READ from /calico/"),
            (Status::invalid_argument("etcdserver: user name is empty"), "ETCD_USERNAME"),
            (Status::unavailable("etcdserver: no leader"), "members"),
            (Status::new(Code::Internal, ""), "Internal error"),
        ] {
            let reason = Failure::from(status).at("reading /calico/x/").to_string();
            assert!(reason.starts_with("reading /calico/x/: ") && reason.contains(told), "{reason}");
        }
    }
}
