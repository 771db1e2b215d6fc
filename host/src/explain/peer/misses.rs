//! Why BGPPeers that have to do with an address lead to no peering with it.

use std::net::IpAddr;

use super::super::{Found, Rule, State, labels_of};
use super::{leads_here, password, peer_object, scope_of};
use crate::engine::{NoPeering, NotSelected};
use crate::resources::{BgpPeer, RemoteEnd, Scope};
use crate::types::Name;

/// Why BGPPeers that have to do with the address lead to no peering with it here.
///
/// What is merely selected otherwise is told only if there is no session, or, of those that name the address, if no
/// other BGPPeer has it.
pub(super) fn near_misses(state: &State<'_>, ip: IpAddr, found: &mut Found) {
    let engine = state.engine;
    let nodes: Vec<&Name> = engine.nodes_at(ip).filter(|node| !state.is_this(node)).collect();
    let absent = !found.present;
    let unclaimed = engine.claims_to(ip).is_empty();
    let broken = |why: NoPeering| matches!(why, NoPeering::Password | NoPeering::Gateway);
    for (name, peer) in engine.bgp_peers() {
        let here = engine.in_scope(name, state.this());
        match &peer.remote {
            Some(RemoteEnd::Address(endpoint)) if endpoint.ip == ip => {
                if let Err(why) = engine.forward(name, "")
                    && (absent || unclaimed || broken(why))
                {
                    missed(state, name, peer, None, why, found);
                }
            }
            Some(RemoteEnd::Nodes(_)) => {
                for node in &nodes {
                    // What means neither end has nothing to do with it.
                    if let Err(why) = engine.forward(name, node.as_str())
                        && forward_is_near(here, engine.is_remote(name, node), why)
                        && (absent || broken(why))
                    {
                        missed(state, name, peer, Some(node), why, found);
                    }
                }
            }
            Some(RemoteEnd::Workloads) => {
                let own = engine.workloads_at(ip).filter(|(_, of)| *of == Some(name));
                for (workload, _) in own {
                    if let Err(why) = engine.forward(name, workload.as_str()) {
                        missed(state, name, peer, None, why, found);
                    }
                }
            }
            Some(RemoteEnd::Address(_)) | None => {}
        }
        for node in nodes.iter().filter(|_| absent) {
            missed_reverse(state, name, peer, node, ip, found);
        }
    }
}

fn forward_is_near(here: Result<(), NotSelected>, remote: Result<(), NotSelected>, why: NoPeering) -> bool {
    match why {
        NoPeering::Scope(_) => remote.is_ok(),
        NoPeering::Remote(_) => here.is_ok(),
        _ => here.is_ok() && remote.is_ok(),
    }
}

/// Why a BGPPeer leads to no peering from here to its remote end, which is a node or else what it names itself.
fn missed(
    state: &State<'_>,
    name: &Name,
    peer: &BgpPeer,
    node: Option<&Name>,
    why: NoPeering,
    found: &mut Found,
) {
    let what = match node {
        Some(node) => format!("it leads to node {node}, and "),
        None => String::new(),
    };
    match why {
        NoPeering::Scope(why) => {
            let text = format!("{what}{}", not_in_scope(state, peer, state.this(), why));
            found.push(Rule::NodeSelector, peer_object(name), text);
        }
        NoPeering::Remote(why) => {
            let Some(node) = node else { return };
            let text = format!(
                "{}, and {}",
                scope_of(state, peer, state.this().as_str()),
                not_peer_selected(state, peer, node, why)
            );
            found.push(Rule::NotPeerSelected, peer_object(name), text);
        }
        NoPeering::Password => password(state, name, found),
        NoPeering::Gateway => {
            let gateway = peer.reachable_by.map(|ip| ip.to_string()).unwrap_or_default();
            let text = format!(
                "its gateway, reachableBy {gateway}, is not of the peer's family: the peer is left out"
            );
            found.push(Rule::GatewayFamily, peer_object(name), text);
        }
        NoPeering::NoRemoteEnd => {
            found.push(Rule::NoRemoteEnd, peer_object(name), "it names no remote end");
        }
        // They are about another remote end than the one that was asked about.
        NoPeering::OtherAddress
        | NoPeering::OtherAs
        | NoPeering::OtherPort
        | NoPeering::OtherWorkload
        | NoPeering::NoReverse
        | NoPeering::NoAddress => {}
    }
}

/// Why a BGPPeer of another node gives this one no way back to it.
fn missed_reverse(
    state: &State<'_>,
    name: &Name,
    peer: &BgpPeer,
    node: &Name,
    ip: IpAddr,
    found: &mut Found,
) {
    let engine = state.engine;
    let own = |name: &Name, ip| engine.nodes_at(ip).any(|other| other == name);
    let in_scope = engine.in_scope(name, node).is_ok();
    let leads_here_by_now = match &peer.remote {
        Some(RemoteEnd::Nodes(_)) => engine.is_remote(name, state.this()).is_ok(),
        Some(RemoteEnd::Address(endpoint)) => own(state.this(), endpoint.ip),
        Some(RemoteEnd::Workloads) | None => false,
    };
    let both = in_scope && leads_here_by_now;
    let (rule, text) = match engine.reverse(name, node) {
        Ok(keys) if keys.iter().any(|key| key.0 == ip) => return,
        Ok(_) => (
            Rule::NoReversePeering,
            "its peerIP is of the other family, and a way back by address is of the same family only"
                .to_owned(),
        ),
        Err(NoPeering::Scope(why)) => (
            Rule::NodeSelector,
            format!("{}, and {}", leads_here(state, peer), not_in_scope(state, peer, node, why)),
        ),
        Err(NoPeering::Remote(why)) if in_scope => (
            Rule::NotPeerSelected,
            format!(
                "{}, and {}",
                scope_of(state, peer, node.as_str()),
                not_peer_selected(state, peer, state.this(), why)
            ),
        ),
        Err(NoPeering::NoReverse) if both => (
            Rule::NoReversePeering,
            format!(
                "it leads from node {node} to this one, and its reversePeering is Manual: the way back needs a BGPPeer of its own"
            ),
        ),
        Err(NoPeering::OtherAs) if in_scope => {
            let as_number = engine.node(state.this().as_str()).and_then(|node| node.as_number());
            let own = as_number.unwrap_or(engine.as_number());
            let named = peer.as_number.unwrap_or(engine.as_number());
            let text = format!(
                "{}, but with AS {named}, and this node has AS {own}: it is taken for another router",
                leads_here(state, peer)
            );
            (Rule::NoReversePeering, text)
        }
        Err(NoPeering::OtherPort) if in_scope => {
            let port = engine.listen_port(state.this());
            let own = port.map_or("no port that is configured".to_owned(), |port| format!("port {port}"));
            let text = format!(
                "{}, but with a port, and this node listens on {own}: it is taken for another router",
                leads_here(state, peer)
            );
            (Rule::NoReversePeering, text)
        }
        Err(NoPeering::Password) if both && !peer.manual_reverse => return password(state, name, found),
        Err(_) => return,
    };
    found.push(rule, peer_object(name), text);
}

fn not_in_scope(state: &State<'_>, peer: &BgpPeer, node: &Name, why: NotSelected) -> String {
    match (&peer.scope, why) {
        (Scope::Node(other), _) => format!("it is for node {other} alone"),
        (Scope::Selector(selector), why) => unmatched(state, "nodeSelector", selector, node, why),
        (Scope::Global, _) => "it is for every node".to_owned(),
    }
}

fn not_peer_selected(state: &State<'_>, peer: &BgpPeer, node: &Name, why: NotSelected) -> String {
    match &peer.remote {
        Some(RemoteEnd::Nodes(selector)) => unmatched(state, "peerSelector", selector, node, why),
        _ => "it names no nodes".to_owned(),
    }
}

/// Why a selector does not match a node: the labels that it mentions, as the node has them.
fn unmatched(state: &State<'_>, field: &str, selector: &str, node: &Name, why: NotSelected) -> String {
    if why == NotSelected::Malformed {
        return format!("{field} {selector:?} is malformed, and matches nothing");
    }
    let who = if state.is_this(node) { format!("this node, {node}") } else { format!("node {node}") };
    let labels = state.engine.node(node.as_str()).map(|node| labels_of(selector, node.labels()));
    match labels.filter(|labels| !labels.is_empty()) {
        Some(labels) => format!("{field} {selector:?} does not match {who}: {labels}"),
        None => format!("{field} {selector:?} does not match {who}"),
    }
}
