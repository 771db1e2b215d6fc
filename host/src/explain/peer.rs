//! Has this node a session with an address?

mod misses;

use std::net::IpAddr;

use super::{Found, Rule, State, family_name, list, node_object, object, place, plugin_object};
use crate::engine::model::{CollectionId, Item, Peer};
use crate::engine::{Claimant, NoMesh, NoSession, Node, Pass, PasswordState, Snapshot};
use crate::policy::SessionSaid;
use crate::resources::{BgpPeer, Kind, ObjectKey, RemoteEnd, Scope};
use crate::types::{Family, Name, SecretKeyRef};

pub(super) fn explain(state: &State<'_>, ip: IpAddr) -> Found {
    let mut found = Found::default();
    let family = Family::of(ip);
    let sessions: Vec<&Peer> = sessions_of(state.snapshot(), family).filter(|peer| peer.ip == ip).collect();
    found.present = !sessions.is_empty();
    found.places = sessions.iter().map(|peer| place(family, "", &*peer.name)).collect();
    let with = state.engine.nodes_at(ip).find(|node| !state.is_this(node));
    let whose = with.map(|node| format!(", an address of node {node}")).unwrap_or_default();
    found.summary = match &sessions[..] {
        [] => format!("node {} has no session with {ip}{whose}", state.this()),
        all => {
            let all: Vec<String> = all.iter().map(|peer| in_words(peer)).collect();
            format!("node {} has a session with {ip}{whose}: {}", state.this(), all.join("; "))
        }
    };
    if found.present {
        claims(state, ip, &mut found);
        misses::near_misses(state, ip, &mut found);
        mesh(state, ip, &mut found);
        plugins(state, ip, &mut found);
    } else {
        plugins(state, ip, &mut found);
        own_address(state, ip, &mut found);
        claims(state, ip, &mut found);
        misses::near_misses(state, ip, &mut found);
        mesh(state, ip, &mut found);
        unknown(state, ip, &mut found);
    }
    for session in sessions {
        filters(state, family, &session.filters, &mut found);
    }
    found.reports_of(state, &[Kind::BgpPeer, Kind::CalicoNode, Kind::KubeNode, Kind::Workload]);
    found
}

/// The sessions of a family.
pub(super) fn sessions_of(snapshot: &Snapshot, family: Family) -> impl Iterator<Item = &Peer> {
    let peers = &snapshot.model(family).collection(CollectionId::Peers).items;
    peers.values().filter_map(|item| match &**item {
        Item::Peer(peer) => Some(peer),
        _ => None,
    })
}

/// A session in a few words.
pub(super) fn in_words(peer: &Peer) -> String {
    let mut words = format!("{}, AS {}", peer.name, peer.as_number);
    if let Some(port) = peer.port {
        words += &format!(", port {port}");
    }
    if peer.passive {
        words += ", waits for the other end to connect";
    }
    if let Some(id) = peer.rr_cluster_id {
        words += &format!(", a client of this reflector (cluster id {id})");
    }
    if peer.password.is_some() {
        words += ", with a password";
    }
    words
}

/// What plugins made of the sessions.
fn plugins(state: &State<'_>, ip: IpAddr, found: &mut Found) {
    for (session, plugin, said) in state.told.iter().flat_map(|told| told.of_address(ip)) {
        let (rule, text) = match said {
            SessionSaid::Dropped => {
                (Rule::PluginDropped, format!("peers.select drops the session {session}"))
            }
            SessionSaid::DroppedByFailure => (
                Rule::PluginFailed,
                format!(
                    "peers.select failed, and with `on_error = \"reject\"` the session {session} is dropped"
                ),
            ),
            SessionSaid::Changed(fields) => {
                (Rule::PluginChanged, format!("peers.select changes {session}: {}", fields.join(", ")))
            }
            SessionSaid::Added => (Rule::PluginAdded, format!("peers.select adds the session {session}")),
            SessionSaid::Rules { import, export } => {
                let call =
                    |way: &str, symbol: Option<String>| symbol.map(|symbol| format!("{way} calls {symbol}"));
                let calls: Vec<String> =
                    call("import", import).into_iter().chain(call("export", export)).collect();
                (Rule::PluginChanged, format!("filter.rules: {session}: {}", calls.join(", ")))
            }
            SessionSaid::ClosedByFailure => (
                Rule::PluginFailed,
                format!(
                    "filter.rules failed, and with `on_error = \"reject\"` {session} takes and sends no route"
                ),
            ),
        };
        found.push(rule, plugin_object(plugin), text);
    }
}

fn own_address(state: &State<'_>, ip: IpAddr, found: &mut Found) {
    if state.engine.nodes_at(ip).any(|node| state.is_this(node)) {
        let text = format!("{ip} is this node's own address, and a node has no session with itself");
        found.push(Rule::OwnAddress, node_object(state.this()), text);
    }
}

fn no_own_address(state: &State<'_>, family: Family, found: &mut Found) {
    let text =
        format!("this node has no {} address, so it has no session of that family", family_name(family));
    found.push(Rule::NoOwnAddress, node_object(state.this()), text);
}

/// Who claims the address: the winner, what it comes to, and who lost against it.
fn claims(state: &State<'_>, ip: IpAddr, found: &mut Found) {
    for (key, claimants) in state.engine.claims_to(ip) {
        let Some((winner, losers)) = claimants.split_first() else { continue };
        let at = key.1.map(|port| format!("{ip} port {port}")).unwrap_or_else(|| ip.to_string());
        claimed(state, &at, winner, found);
        password(state, winner.peer, found);
        match state.engine.session_at(&key) {
            Some(Err(NoSession::NoOwnAddress)) => no_own_address(state, Family::of(ip), found),
            Some(Err(NoSession::OwnAddress)) => own_address(state, ip, found),
            Some(Ok(_)) | None => {}
        }
        for loser in losers {
            let text = format!("leads to {at} too, and {}", why_it_lost(winner, loser));
            found.push(Rule::FirstWins, peer_object(loser.peer), text);
        }
    }
}

fn claimed(state: &State<'_>, at: &str, claim: &Claimant<'_>, found: &mut Found) {
    let Some(peer) = state.engine.bgp_peer(claim.peer) else { return };
    let remote = claim.remote;
    let (rule, text) = match (&peer.remote, claim.pass) {
        (_, Pass::Reverse) => (
            Rule::ReversePeering,
            format!(
                "it leads here from node {remote} ({}; {}), so this is the way back to {at}",
                scope_of(state, peer, remote),
                leads_here(state, peer)
            ),
        ),
        (Some(RemoteEnd::Nodes(selector)), _) => (
            Rule::PeerSelector,
            format!(
                "peerSelector {selector:?} matches node {remote}, which has {at}; {}",
                scope_of(state, peer, state.this().as_str())
            ),
        ),
        (Some(RemoteEnd::Workloads), _) => (
            Rule::LocalWorkload,
            format!(
                "the local workload {remote}, which has {at}, belongs to it; {}",
                scope_of(state, peer, state.this().as_str())
            ),
        ),
        (Some(RemoteEnd::Address(_)) | None, _) => (
            Rule::PeerAddress,
            format!("its peerIP leads to {at}; {}", scope_of(state, peer, state.this().as_str())),
        ),
    };
    found.push(rule, peer_object(claim.peer), text);
}

/// Why a node is one of those that have a BGPPeer's peerings.
fn scope_of(state: &State<'_>, peer: &BgpPeer, node: &str) -> String {
    let who = if node == state.this().as_str() { "this node".to_owned() } else { format!("node {node}") };
    match &peer.scope {
        Scope::Global => "it is for every node".to_owned(),
        Scope::Node(_) => format!("it is for {who} by name"),
        Scope::Selector(selector) => format!("nodeSelector {selector:?} matches {who}"),
    }
}

/// How a BGPPeer leads to this node.
fn leads_here(state: &State<'_>, peer: &BgpPeer) -> String {
    match &peer.remote {
        Some(RemoteEnd::Nodes(selector)) => format!("peerSelector {selector:?} matches this node"),
        Some(RemoteEnd::Address(endpoint)) => {
            format!("its peerIP {} is an address of this node, {}", endpoint.ip, state.this())
        }
        Some(RemoteEnd::Workloads) | None => "it leads to no node".to_owned(),
    }
}

/// The rule by which one claim stands before another.
fn why_it_lost(winner: &Claimant<'_>, loser: &Claimant<'_>) -> String {
    let first = peer_object(winner.peer);
    match (winner.pass, loser.pass) {
        (Pass::Global, Pass::Node | Pass::Reverse) => {
            format!("{first}, which is for every node, comes before those of single nodes")
        }
        (Pass::Node, Pass::Reverse) => format!("{first}, which leads there itself, comes before a way back"),
        _ if winner.peer != loser.peer => {
            format!("{first} comes first, for its name sorts before this one's")
        }
        _ => format!("{:?}, whose name sorts before {:?}, comes first", winner.remote, loser.remote),
    }
}

fn password(state: &State<'_>, name: &Name, found: &mut Found) {
    if let Some(at) = state.engine.bgp_peer(name).and_then(|peer| peer.password.as_ref()) {
        password_at(state, at, &peer_object(name), found);
    }
}

/// A password of an object: where it stands, and whether it can be used.
fn password_at(state: &State<'_>, at: &SecretKeyRef, of: &str, found: &mut Found) {
    let secret = ObjectKey {
        kind: Kind::Secret,
        namespace: Some(state.engine.settings().secret_namespace.clone()),
        name: at.name.clone(),
    };
    let text = match state.engine.password(at) {
        PasswordState::Found => format!("{of} has its password in key {:?}", &*at.key),
        PasswordState::Missing(reason) => format!("{of} has no password for now: {reason}"),
        PasswordState::Unusable(reason) => {
            format!("{of} cannot have its password, and nothing goes without: {reason}")
        }
    };
    found.push(Rule::Password, secret.to_string(), text);
}

/// The mesh with the nodes that have the address. Why it is not there is told only when nothing else is.
fn mesh(state: &State<'_>, ip: IpAddr, found: &mut Found) {
    let engine = state.engine;
    let family = Family::of(ip);
    let winner = engine.mesh_winner(ip).map(|(name, _)| name);
    for name in engine.nodes_at(ip).filter(|name| !state.is_this(name)) {
        let default = || Some("BGPConfiguration default".to_owned());
        let why = match engine.mesh_with(name, family) {
            Some(Ok(_)) if winner == Some(name) => {
                let on = match engine.cluster_configuration() {
                    Some(_) => "the mesh is on in it",
                    None => "there is none, so the mesh is on",
                };
                let text = format!("{on}; node {name} has {ip}, and neither end is a route reflector");
                found.push(Rule::Mesh, default(), text);
                let password =
                    engine.cluster_configuration().and_then(|config| config.mesh_password.as_ref());
                if let Some(at) = password {
                    password_at(state, at, "the mesh", found);
                }
                continue;
            }
            Some(Ok(_)) => {
                let first = winner.map(ToString::to_string).unwrap_or_default();
                let text = format!(
                    "has {ip} too, and the session of the mesh is with node {first}, whose name sorts first"
                );
                found.push(Rule::FirstWins, node_object(name), text);
                continue;
            }
            Some(Err(why)) => why,
            None => continue,
        };
        if found.present {
            continue;
        }
        let reflector = |node: Option<&std::sync::Arc<Node>>| {
            let id = node.and_then(|node| node.cluster_id()).map(|id| id.to_string()).unwrap_or_default();
            format!("is a route reflector (cluster id {id}), and those are not in the mesh")
        };
        match why {
            NoMesh::Off => found.push(
                Rule::MeshOff,
                default(),
                format!("spec.nodeToNodeMeshEnabled is false, so the mesh has no session with node {name}, which has {ip}"),
            ),
            NoMesh::Reflector => {
                found.push(Rule::Reflector, node_object(name), reflector(engine.node(name.as_str())));
            }
            NoMesh::ThisReflector => {
                let this = state.this();
                found.push(Rule::Reflector, node_object(this), reflector(engine.node(this.as_str())));
            }
            NoMesh::NoOwnAddress => no_own_address(state, family, found),
            NoMesh::OwnAddress => own_address(state, ip, found),
            // The node was found by its address.
            NoMesh::ThisNode | NoMesh::NoAddress => {}
        }
    }
}

/// What is left to say of an address that nothing has to do with.
fn unknown(state: &State<'_>, ip: IpAddr, found: &mut Found) {
    let engine = state.engine;
    let family = Family::of(ip);
    for (workload, peer) in engine.workloads_at(ip) {
        let of = peer.map_or("no BGPPeer".to_owned(), peer_object);
        if peer.is_none_or(|peer| engine.bgp_peer(peer).is_none()) {
            let text = format!("the local workload has {ip}, and belongs to {of}, which is not there");
            found.push(Rule::LocalWorkload, object(Kind::Workload, workload), text);
        }
    }
    if found.because.is_empty() {
        let text = format!("no node has the address {ip}, no BGPPeer names it, and no local workload has it");
        found.push(Rule::Unknown, None, text);
    }
    if engine.nodes_at(ip).next().is_none() {
        let without = engine.nodes().filter(|(_, node)| node.address(family).is_none());
        let names: Vec<&Name> = without.map(|(name, _)| name).collect();
        if !names.is_empty() {
            let text = format!("nodes without an {} address: {}", family_name(family), list(names, 5));
            found.push(Rule::NodeWithoutAddress, None, text);
        }
        for (name, _) in engine.bgp_peers().filter(|(_, peer)| peer.remote.is_none()) {
            found.push(
                Rule::NoRemoteEnd,
                peer_object(name),
                "it names no remote end: no peerIP and no selector",
            );
        }
    }
}

/// The BGPFilters of a session, in order.
fn filters(state: &State<'_>, family: Family, names: &[Name], found: &mut Found) {
    let filters = &state.engine.snapshot().cluster.filters;
    for name in names {
        let (import, export) = filters.calls(std::slice::from_ref(name), family);
        let closed = import.iter().chain(&export).any(|call| call.reject);
        let text = if !filters.exists(name.as_str()) {
            "there is no such BGPFilter, so it is skipped".to_owned()
        } else if closed {
            "it is malformed, so the session takes and sends no route".to_owned()
        } else {
            let call = |way: &str, calls: &[crate::engine::model::FilterCall]| {
                let function = calls.first().and_then(|call| call.function.as_ref());
                function.map_or(format!("no rules on {way}"), |symbol| format!("{way} calls {symbol}"))
            };
            format!("{}, {}", call("import", &import), call("export", &export))
        };
        found.push(Rule::Filter, object(Kind::BgpFilter, name), text);
    }
}

fn peer_object(name: &Name) -> String {
    object(Kind::BgpPeer, name)
}
