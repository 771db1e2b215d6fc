//! Who uses a BGPFilter, how it is called, and what follows when it cannot be used.

use std::collections::BTreeSet;

use super::peer::sessions_of;
use super::{Found, Rule, State, family_name, nearest, object, place};
use crate::engine::model::{CollectionId, Filter, FilterCall, FilterFunction, Item, Peer};
use crate::resources::Kind;
use crate::types::{Family, Name};

pub(super) fn explain(state: &State<'_>, name: &Name) -> Found {
    let mut found = Found::default();
    let filters = &state.engine.snapshot().cluster.filters;
    let of = object(Kind::BgpFilter, name);
    if !filters.exists(name.as_str()) {
        found.summary = format!("there is no BGPFilter {name}");
        missing(state, name, &mut found);
        return found;
    }
    found.present = true;
    let malformed = filters.is_malformed(name.as_str());
    if malformed {
        let text =
            "it is malformed: sessions that name it take and send no route, for nobody knows what it meant";
        found.push(Rule::FilterClosed, of.clone(), text);
    } else {
        Family::ALL.into_iter().for_each(|family| functions(state, family, name, &mut found));
    }
    let sessions = uses(state, name, &mut found);
    let all = Family::ALL.into_iter().flat_map(|family| sessions_of(state.snapshot(), family));
    let used: BTreeSet<&Name> = all.filter_map(|session| session.bgp_peer.as_ref()).collect();
    for peer in state.engine.peers_with_filter(name.as_str()).filter(|peer| !used.contains(*peer)) {
        let text = "names it, and leads to no session on this node";
        found.push(Rule::FilterUnused, object(Kind::BgpPeer, peer), text);
    }
    if sessions == 0 {
        let text =
            "no session of this node uses it; the functions of every BGPFilter are written, used or not";
        found.push(Rule::FilterUnused, of, text);
    }
    let reports = state.engine.reports_on(name.as_str());
    found.reports(reports.filter(|report| report.error.object.kind == Kind::BgpFilter));
    let whole = if malformed { ", and cannot be used" } else { "" };
    found.summary = format!(
        "there is a BGPFilter {name}{whole}; {sessions} session{} of node {} use{} it",
        if sessions == 1 { "" } else { "s" },
        state.this(),
        if sessions == 1 { "s" } else { "" },
    );
    found
}

fn missing(state: &State<'_>, name: &Name, found: &mut Found) {
    let peers: Vec<&Name> = state.engine.peers_with_filter(name.as_str()).collect();
    for peer in &peers {
        let text = format!("names BGPFilter {name}, which is skipped");
        found.push(Rule::Missing, object(Kind::BgpPeer, peer), text);
    }
    if peers.is_empty() {
        found.push(Rule::Missing, None, "no BGPPeer names it either");
    }
    let filters = &state.engine.snapshot().cluster.filters;
    for near in nearest(name.as_str(), filters.names().map(Name::as_str)) {
        found.push(Rule::NearName, None, format!("there is BGPFilter {near}"));
    }
}

/// The functions that a filter became in a family, if it has any there.
fn rendered<'a>(state: &State<'a>, family: Family, name: &Name) -> Option<&'a Filter> {
    let filters = &state.snapshot().model(family).collection(CollectionId::Filters).items;
    match &**filters.get(name.as_str())? {
        Item::Filter(filter) => Some(&**filter),
        _ => None,
    }
}

/// The functions of a family.
fn functions(state: &State<'_>, family: Family, name: &Name, found: &mut Found) {
    let filter = rendered(state, family, name);
    let of = || object(Kind::BgpFilter, name);
    let Some(filter) = filter else {
        found.push(Rule::FilterUnused, of(), format!("it has no rules for {}", family_name(family)));
        return;
    };
    // A family in which this node has no address has no functions in its file.
    let written = state.engine.own_address(family).is_some();
    for (way, function) in [("import", &filter.import), ("export", &filter.export)] {
        let Some(function) = function else {
            let text = format!("it has no rules for {} on {way}", family_name(family));
            found.push(Rule::FilterUnused, of(), text);
            continue;
        };
        if written {
            found.places.push(place(family, "", function.symbol.as_str()));
        }
        found.push(Rule::FilterFunction, of(), function_in_words(family, way, function, written));
    }
}

fn function_in_words(family: Family, way: &str, function: &FilterFunction, written: bool) -> String {
    let count = function.lines.len();
    let takes =
        if function.takes_same_as { ", and depends on whether the peer is in the same AS" } else { "" };
    let not = if written { "" } else { "; this node has no address of the family, so it is not written" };
    format!(
        "{} on {way} is {}: {count} statement{}{takes}{not}",
        family_name(family),
        function.symbol,
        if count == 1 { "" } else { "s" }
    )
}

/// The sessions that use it; how many there are.
fn uses(state: &State<'_>, name: &Name, found: &mut Found) -> usize {
    let mut count = 0;
    for family in Family::ALL {
        let filter = rendered(state, family, name);
        for session in sessions_of(state.snapshot(), family) {
            if !session.filters.contains(name) {
                continue;
            }
            count += 1;
            let of = session.bgp_peer.as_ref().map(|peer| object(Kind::BgpPeer, peer));
            found.push(Rule::FilterUse, of, use_in_words(session, name, filter));
        }
    }
    count
}

fn use_in_words(session: &Peer, name: &Name, filter: Option<&Filter>) -> String {
    let way = |way: &str, calls: &[FilterCall], function: Option<&FilterFunction>| {
        let here = |call: &FilterCall| match function {
            Some(function) => call.function.as_ref() == Some(&function.symbol),
            None => call.reject && !call.plugin && call.reason.as_ref() == Some(name),
        };
        match calls.iter().position(here) {
            Some(at) if calls[at].reject => format!("on {way} every route is refused because of it"),
            Some(at) => format!("on {way} it is call {} of {}", at + 1, calls.len()),
            None => format!("on {way} it has nothing to say"),
        }
    };
    let import = way("import", &session.import, filter.and_then(|filter| filter.import.as_ref()));
    let export = way("export", &session.export, filter.and_then(|filter| filter.export.as_ref()));
    format!("session {}: {import}, {export}", session.name)
}
