use std::collections::BTreeSet;
use std::net::IpAddr;

use tailorbird_guest::{Community, Decision, Destination};

/// The most communities, or peers, that one source may name. What a route gets at all is bounded by the host, and an
/// answer beyond that would stop everybody's routes.
pub(crate) const MOST: usize = 32;

/// What somebody wants of a Service's routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) advertise: bool,
    pub(crate) communities: BTreeSet<Community>,
    /// Where they may go; everywhere when absent.
    pub(crate) peers: Option<BTreeSet<Destination>>,
}

impl Default for Wish {
    fn default() -> Self {
        Self { advertise: true, communities: BTreeSet::new(), peers: None }
    }
}

impl Wish {
    /// What meets both: nobody opens what another one closes.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.advertise &= other.advertise;
        self.communities.extend(&other.communities);
        self.peers = match (self.peers, &other.peers) {
            (Some(own), Some(peers)) => Some(own.intersection(peers).cloned().collect()),
            (own, peers) => own.or_else(|| peers.clone()),
        };
        self
    }

    pub(crate) fn decision(self) -> Decision {
        if !self.advertise {
            return Decision::reject();
        }
        let decision = Decision::accept().communities(self.communities);
        match self.peers {
            Some(peers) => decision.only_to(peers),
            None => decision,
        }
    }
}

/// Reads an address of a peer, or the name of a BGPPeer. The error reads well behind "`x` is".
pub(crate) fn destination(text: &str) -> Result<Destination, &'static str> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(Destination::Address(address));
    }
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let ends = text.bytes().next().is_some_and(inner) && text.bytes().last().is_some_and(inner);
    if ends && text.len() <= 253 && text.bytes().all(|b| inner(b) || b == b'-' || b == b'.') {
        Ok(Destination::BgpPeer(text.to_owned()))
    } else {
        Err("neither an address nor the name of a BGPPeer")
    }
}
