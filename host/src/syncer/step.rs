//! What is tried on the way to a datastore.

use std::time::Duration;

use tokio::net::lookup_host;

use crate::types::tame;

/// The most that is shown of a text in which a server names itself or others, in bytes.
pub(super) const MAX_SHOWN: usize = 200;

/// The longest reason for a failure that is kept, in bytes.
pub(super) const MAX_REASON: usize = 1024;

/// One step on the way to a datastore: what was tried, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was tried, as `kubernetes: list nodes`.
    pub what: String,
    /// What was found, or what is wrong and what to do about it.
    pub found: Result<String, String>,
}

impl Step {
    /// A step of this name.
    pub fn new(what: impl Into<String>, found: Result<String, String>) -> Self {
        Self { what: what.into(), found }
    }
}

/// Adds a step of which a server may have worded what was found; returns whether it went well.
pub(super) fn tell(steps: &mut Vec<Step>, what: impl Into<String>, found: Result<String, String>) -> bool {
    let is_ok = found.is_ok();
    let tamed = |text: String| tame(&text, MAX_REASON);
    steps.push(Step::new(what, found.map(tamed).map_err(tamed)));
    is_ok
}

/// The addresses of a host, within a time; else what is wrong, and what to do.
pub(super) async fn look_up(host: &str, port: u16, within: Duration) -> Result<String, String> {
    match tokio::time::timeout(within, lookup_host((host, port))).await {
        Ok(Ok(addresses)) => {
            let shown: Vec<String> = addresses.map(|address| address.ip().to_string()).collect();
            Ok(shown.join(", "))
        }
        Ok(Err(error)) => {
            Err(format!("{error}; is the name right, and does this node ask the right servers?"))
        }
        Err(_) => Err("there is no answer from DNS".to_owned()),
    }
}

/// Why there is no connection to a server of this name, and what to do.
pub(super) fn unconnected(server: &str, reason: &str) -> String {
    let todo = match reason.starts_with("TLS") {
        true => {
            "does it speak TLS there? compare the names, dates and authorities of the certificates on both sides"
                .to_owned()
        }
        false => {
            format!("is {server} running there, and does a network policy or firewall let this node in?")
        }
    };
    format!("{reason}; {todo}")
}
