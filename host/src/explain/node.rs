//! What a node is to this one.

use std::collections::{BTreeMap, BTreeSet};

use super::peer::{in_words, sessions_of};
use super::route::excluded;
use super::{
    Found, MAX_ALIKE, Rule, State, family_name, label_in_words, nearest, node_object, object, peer, place,
    plugin_object,
};
use crate::engine::selector::Selector;
use crate::engine::{Node, Presence};
use crate::resources::{Kind, RemoteEnd, Scope};
use crate::types::{Family, Name};

pub(super) fn explain(state: &State<'_>, name: &Name) -> Found {
    let mut found = Found::default();
    let of = node_object(name);
    let reports: Vec<_> = state
        .engine
        .reports_on(name.as_str())
        .filter(|report| matches!(report.error.object.kind, Kind::CalicoNode | Kind::KubeNode))
        .collect();
    let Some(node) = state.engine.node(name.as_str()) else {
        let malformed = state.engine.node_objects(name.as_str()).contains(&Presence::Malformed);
        if malformed {
            found.summary = format!("node {name} is left out, for an object that describes it is malformed");
        } else {
            found.summary = format!("there is no node {name}");
            found.push(Rule::Missing, None, "there is no Node of v1 or projectcalico.org/v3 of this name");
            for near in nearest(name.as_str(), state.engine.node_names().map(Name::as_str)) {
                found.push(Rule::NearName, None, format!("there is node {near}"));
            }
        }
        found.reports(reports.into_iter());
        return found;
    };
    found.present = true;
    found.summary = if state.is_this(name) {
        format!("node {name} is this node")
    } else {
        let sessions: Vec<String> = Family::ALL
            .into_iter()
            .filter_map(|family| Some((family, node.address(family)?)))
            .flat_map(|(family, ip)| {
                let sessions = sessions_of(state.snapshot(), family).filter(move |peer| peer.ip == ip);
                sessions.map(in_words).collect::<Vec<_>>()
            })
            .collect();
        match &sessions[..] {
            [] => format!("node {} has no session with node {name}", state.this()),
            all => format!("node {} has sessions with node {name}: {}", state.this(), all.join("; ")),
        }
    };
    facts(state, name, node, &mut found);
    labels(state, name, node, &mut found);
    if state.is_this(name) {
        own(state, node, &mut found);
    } else {
        for family in Family::ALL {
            match node.address(family) {
                Some(ip) => {
                    let with = peer::explain(state, ip);
                    found.places.extend(with.places);
                    for reason in with.because {
                        found.push(reason.rule, reason.object, format!("{ip}: {}", reason.text));
                    }
                }
                None => {
                    let text = format!(
                        "it has no {0} address for BGP, so nobody has an {0} session with it",
                        family_name(family)
                    );
                    found.push(Rule::NodeWithoutAddress, of.clone(), text);
                }
            }
        }
    }
    found.reports(reports.into_iter());
    found
}

fn facts(state: &State<'_>, name: &Name, node: &Node, found: &mut Found) {
    let of = node_object(name);
    for (family, ip) in Family::ALL.into_iter().filter_map(|family| Some((family, node.address(family)?))) {
        let mut text = format!("its {} address is {ip}", family_name(family));
        let others: Vec<&Name> = state.engine.nodes_at(ip).filter(|other| *other != name).collect();
        if !others.is_empty() {
            text += &format!(", which node {} has too", super::list(others, 5));
        }
        found.push(Rule::NodeAddress, of.clone(), text);
    }
    let as_number = match node.as_number() {
        Some(own) => format!("its AS number is {own}, its own"),
        None => format!("its AS number is {}, the cluster's", state.engine.as_number()),
    };
    let port = match state.engine.listen_port(name) {
        Some(port) => format!("it listens on port {port}"),
        None => "it listens on BGP's own port".to_owned(),
    };
    let own = if state.engine.has_configuration(name) {
        format!("; it has a BGPConfiguration of its own, node.{name}")
    } else {
        String::new()
    };
    found.push(Rule::NodeAs, of.clone(), format!("{as_number}; {port}{own}"));
    if let Some(id) = node.cluster_id() {
        let text = format!("it is a route reflector with the cluster id {id}, and so not in the mesh");
        found.push(Rule::Reflector, of, text);
    }
    if let Some((plugin, id)) = state.told.and_then(|told| told.cluster_id()).filter(|_| state.is_this(name))
    {
        let text = match id {
            Some(id) => format!("peers.select makes it a route reflector with the cluster id {id}"),
            None => "peers.select makes it no route reflector".to_owned(),
        };
        found.push(Rule::PluginChanged, plugin_object(plugin), text);
    }
    if state.is_this(name) && state.engine.is_excluded() {
        excluded(state, found);
    }
}

/// The labels that selectors mention, with the node's values.
fn labels(state: &State<'_>, name: &Name, node: &Node, found: &mut Found) {
    let mut mentioned: BTreeMap<String, BTreeSet<&Name>> = BTreeMap::new();
    for (peer, spec) in state.engine.bgp_peers() {
        let scope = match &spec.scope {
            Scope::Selector(text) => Some(text),
            _ => None,
        };
        let remote = match &spec.remote {
            Some(RemoteEnd::Nodes(text)) => Some(text),
            _ => None,
        };
        for selector in scope.into_iter().chain(remote).filter_map(|text| Selector::parse(text).ok()) {
            for label in selector.mentions() {
                mentioned.entry(label.to_owned()).or_default().insert(peer);
            }
        }
    }
    for (label, peers) in mentioned {
        let value = label_in_words(&label, node.labels());
        let of = super::list(peers, 5);
        found.push(Rule::NodeLabels, node_object(name), format!("{value}; mentioned by BGPPeer {of}"));
    }
}

/// The sessions of this node, by what they come from.
fn own(state: &State<'_>, node: &Node, found: &mut Found) {
    for family in Family::ALL {
        if node.address(family).is_none() {
            let text = format!(
                "it has no {} address for BGP, so it has no session of that family",
                family_name(family)
            );
            found.push(Rule::NoOwnAddress, node_object(state.this()), text);
            continue;
        }
        let mut by_origin: BTreeMap<Option<&Name>, Vec<&str>> = BTreeMap::new();
        let mut mesh = 0_usize;
        for session in sessions_of(state.snapshot(), family) {
            if session.kind == "mesh" {
                mesh += 1;
            } else {
                by_origin.entry(session.bgp_peer.as_ref()).or_default().push(&session.name);
                if found.places.len() < MAX_ALIKE {
                    found.places.push(place(family, "", &*session.name));
                }
            }
        }
        if mesh > 0 {
            let text = format!("{} sessions of the mesh: {mesh}", family_name(family));
            found.push(Rule::Mesh, "BGPConfiguration default".to_owned(), text);
        }
        for (peer, sessions) in by_origin {
            let (rule, of) = match peer {
                Some(peer) => (Rule::NodeSession, Some(object(Kind::BgpPeer, peer))),
                None => (Rule::PluginAdded, None),
            };
            let text = format!("{} sessions: {}", family_name(family), super::list(sessions, 5));
            found.push(rule, of, text);
        }
    }
}
