//! Answers of plugins as JSON for people: texts in place of spans, lists in place of ranges, names in place of numbers.
//!
//! An answer comes here before anybody checked it, so every place in it can be wrong: such a one is shown as what it is.
//! And many places can stand for one long piece, so there is a bound on what is shown.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};

use crate::plugin::contract::{filter, peers, types};
use crate::types::Community;

/// The answer of `peers.select`.
pub(super) fn select(request: &peers::Request, answer: &peers::Answer) -> Value {
    let show = Budget::new();
    let (peerings, nodes) = (&request.candidates.peerings, &request.nodes);
    let candidate = |at: u32| {
        item(peerings.get(at as usize), at, "candidate", peerings.len(), |it| {
            show.text(&request.text, it.name)
        })
    };
    let filters =
        |names: types::Range| show.list(&answer.names, names, |&name| show.text(&answer.text, name));
    let change = |change: &peers::Change| {
        let mut map = Map::new();
        map.insert("peering".to_owned(), candidate(change.candidate));
        put(&mut map, "passive", change.passive);
        put(&mut map, "next_hop", change.next_hop.map(next_hop));
        put(&mut map, "port", change.port);
        put(&mut map, "restart_time", change.restart_time);
        put(&mut map, "keepalive_time", change.keepalive_time);
        put(&mut map, "ttl_security", change.ttl_security);
        put_cluster_id(&mut map, "remote_cluster_id", change.remote_cluster_id);
        put(&mut map, "filters", change.filters.map(filters));
        Value::Object(map)
    };
    let addition = |add: &peers::Addition| {
        let mut map = Map::new();
        map.insert(
            "node".to_owned(),
            item(nodes.get(add.node as usize), add.node, "node", nodes.len(), |it| {
                show.text(&request.text, it.name)
            }),
        );
        map.insert("family".to_owned(), family(add.family).into());
        map.insert("mesh_password".to_owned(), add.mesh_password.into());
        map.insert("next_hop".to_owned(), next_hop(add.next_hop).into());
        put(&mut map, "restart_time", add.restart_time);
        put(&mut map, "keepalive_time", add.keepalive_time);
        put_cluster_id(&mut map, "remote_cluster_id", add.remote_cluster_id);
        map.insert("filters".to_owned(), filters(add.filters));
        Value::Object(map)
    };
    let mut map = Map::new();
    put_cluster_id(&mut map, "cluster_id", answer.cluster_id);
    map.insert("drop".to_owned(), answer.drop.iter().map(|&at| candidate(at)).collect());
    map.insert("change".to_owned(), answer.change.iter().map(change).collect());
    map.insert("add".to_owned(), answer.add.iter().map(addition).collect());
    Value::Object(map)
}

/// The answer of `filter.advertise`.
pub(super) fn advertise(request: &filter::AdvertiseRequest, answer: &filter::AdvertiseAnswer) -> Value {
    let show = Budget::new();
    let routes = &request.routes;
    let decision = |decision: &filter::RouteDecision| {
        let mut map = Map::new();
        let route = routes.get(decision.route as usize);
        map.insert(
            "route".to_owned(),
            item(route, decision.route, "route", routes.len(), |it| prefix(it.prefix).into()),
        );
        if let Some(route) = route.filter(|route| route.service.length > 0) {
            let (namespace, name) =
                (show.text(&request.text, route.namespace), show.text(&request.text, route.service));
            let words = [namespace, name].map(|word| word.as_str().unwrap_or_default().to_owned());
            map.insert("service".to_owned(), words.join("/").into());
        }
        map.insert("accept".to_owned(), decision.accept.into());
        let communities = show.list(&answer.communities, decision.communities, |&it| community(it).into());
        map.insert("communities".to_owned(), communities);
        put(&mut map, "priority", decision.priority);
        put(
            &mut map,
            "to",
            decision.to.map(|to| {
                show.list(&answer.destinations, to, |it| match *it {
                    filter::Destination::BgpPeer(name) => {
                        json!({ "bgp_peer": show.text(&answer.text, name) })
                    }
                    filter::Destination::Address(ip) => json!({ "address": address(ip) }),
                })
            }),
        );
        Value::Object(map)
    };
    json!({ "decisions": answer.decisions.iter().map(decision).collect::<Value>() })
}

/// The answer of `filter.rules`: each set with the sessions that get it.
pub(super) fn rules(request: &filter::RulesRequest, answer: &filter::RulesAnswer) -> Value {
    let show = Budget::new();
    let mut sessions = vec![[Vec::new(), Vec::new()]; answer.sets.len()];
    let mut strays = Vec::new();
    let known = &request.sessions;
    for assignment in &answer.assignments {
        let at = assignment.session;
        let session = known.get(at as usize);
        let name = item(session, at, "session", known.len(), |it| show.text(&request.text, it.name));
        match sessions.get_mut(assignment.set as usize) {
            Some(directions) => directions[assignment.direction as usize].push(name),
            None => strays.push(
                json!({ "session": name, "set": out_of_range("set", assignment.set, answer.sets.len()) }),
            ),
        }
    }
    let sets = answer.sets.iter().zip(sessions).map(|(&range, [import, export])| {
        json!({ "import": import, "export": export, "rules": show.list(&answer.rules, range, |it| rule(&show, answer, it)) })
    });
    let mut map = Map::new();
    map.insert("sets".to_owned(), sets.collect());
    if !strays.is_empty() {
        map.insert("without_set".to_owned(), strays.into());
    }
    Value::Object(map)
}

fn rule(show: &Budget, answer: &filter::RulesAnswer, rule: &filter::Rule) -> Value {
    let mut map = Map::new();
    if let Some(condition) = rule.prefixes {
        let name = if condition.negate { "prefixes_none_of" } else { "prefixes_any_of" };
        let prefixes = show.list(&answer.prefixes, condition.any_of, |it| {
            format!("{}{{{},{}}}", prefix(it.prefix), it.min, it.max).into()
        });
        map.insert(name.to_owned(), prefixes);
    }
    put(&mut map, "from_peers", rule.from_peers.then_some(true));
    put(&mut map, "community", rule.community.map(community));
    if rule.as_path_prefix.count > 0 {
        let path = show.list(&answer.numbers, rule.as_path_prefix, |&number| number.into());
        map.insert("as_path_prefix".to_owned(), path);
    }
    put(&mut map, "as_path_length", rule.as_path_length.map(|it| json!({ "min": it.min, "max": it.max })));
    put(&mut map, "priority", rule.priority);
    put(
        &mut map,
        "peer_type",
        rule.peer_type.map(|it| match it {
            filter::PeerType::External => "external",
            filter::PeerType::Internal => "internal",
        }),
    );
    if rule.operations.count > 0 {
        let operations = show.list(&answer.operations, rule.operations, |&it| match it {
            filter::Operation::AddCommunity(it) => json!({ "add_community": community(it) }),
            filter::Operation::RemoveCommunity(it) => json!({ "remove_community": community(it) }),
            filter::Operation::PrependAs(it) => json!({ "prepend_as": it }),
            filter::Operation::SetPriority(it) => json!({ "set_priority": it }),
            filter::Operation::SetLocalPreference(it) => json!({ "set_local_preference": it }),
        });
        map.insert("operations".to_owned(), operations);
    }
    let action = match rule.action {
        filter::Action::Accept => "accept",
        filter::Action::Reject => "reject",
        filter::Action::Continue => "continue",
    };
    map.insert("action".to_owned(), action.into());
    Value::Object(map)
}

/// Puts a field that is there.
fn put(map: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(name.to_owned(), value.into());
    }
}

/// Puts what becomes of a cluster id: nothing when it stays, null when there is none.
fn put_cluster_id(map: &mut Map<String, Value>, name: &str, choice: peers::ClusterIdChoice) {
    let value = match choice {
        peers::ClusterIdChoice::Unchanged => return,
        peers::ClusterIdChoice::None => Value::Null,
        peers::ClusterIdChoice::Set(id) => Ipv4Addr::from(id).to_string().into(),
    };
    map.insert(name.to_owned(), value);
}

fn next_hop(next_hop: types::NextHop) -> &'static str {
    match next_hop {
        types::NextHop::Automatic => "automatic",
        types::NextHop::Own => "self",
        types::NextHop::Keep => "keep",
    }
}

fn family(family: types::Family) -> &'static str {
    match family {
        types::Family::V4 => "v4",
        types::Family::V6 => "v6",
    }
}

fn address(address: types::Address) -> String {
    let ip: IpAddr = match address {
        types::Address::V4(bits) => Ipv4Addr::from(bits).into(),
        types::Address::V6((high, low)) => Ipv6Addr::from(u128::from(high) << 64 | u128::from(low)).into(),
    };
    ip.to_string()
}

fn prefix(prefix: types::Prefix) -> String {
    format!("{}/{}", address(prefix.address), prefix.length)
}

fn community(value: types::Community) -> String {
    match value {
        types::Community::Standard((a, b)) => Community::Standard(a, b).to_api(),
        types::Community::Large((a, b, c)) => Community::Large(a, b, c).to_api(),
    }
}

fn out_of_range(what: &str, at: u32, count: usize) -> Value {
    format!("({what} {at} of {count}: out of range)").into()
}

/// What stands at a place of a list.
fn item<T>(item: Option<T>, at: u32, what: &str, length: usize, show: impl Fn(T) -> Value) -> Value {
    item.map_or_else(|| out_of_range(what, at, length), show)
}

/// What may still be shown of an answer, in bytes.
struct Budget(Cell<usize>);

impl Budget {
    fn new() -> Self {
        Self(Cell::new(8 << 20))
    }

    fn pay(&self, bytes: usize) -> bool {
        let left = self.0.get().checked_sub(bytes);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }

    /// A piece of a text.
    fn text(&self, all: &str, span: types::Span) -> Value {
        let types::Span { start, length } = span;
        let end = start.checked_add(length);
        match end.and_then(|end| all.get(start as usize..end as usize)) {
            Some(piece) if self.pay(piece.len()) => piece.into(),
            Some(_) => TOO_MUCH.into(),
            None => format!("({length} bytes from {start} of a text of {}: out of range)", all.len()).into(),
        }
    }

    /// A piece of a list.
    fn list<T>(&self, list: &[T], range: types::Range, show: impl Fn(&T) -> Value) -> Value {
        let types::Range { start, count } = range;
        let end = start.checked_add(count);
        match end.and_then(|end| list.get(start as usize..end as usize)) {
            Some(piece) if self.pay(piece.len().saturating_mul(64)) => piece.iter().map(show).collect(),
            Some(_) => TOO_MUCH.into(),
            None => format!("({count} items from {start} of {}: out of range)", list.len()).into(),
        }
    }
}

/// What stands for a piece when too much has been shown.
const TOO_MUCH: &str = "(too much to show)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_pieces_of_one_list_are_not_all_shown() {
        let nothing = types::Range { start: 0, count: 0 };
        let rule = filter::Rule {
            prefixes: None,
            from_peers: false,
            community: None,
            as_path_prefix: nothing,
            as_path_length: None,
            priority: None,
            peer_type: None,
            operations: nothing,
            action: filter::Action::Accept,
        };
        let all = types::Range { start: 0, count: 10_000 };
        let answer = filter::RulesAnswer {
            rules: vec![rule; 10_000],
            prefixes: Vec::new(),
            numbers: Vec::new(),
            operations: Vec::new(),
            sets: vec![all; 10_000],
            assignments: Vec::new(),
        };
        let request = filter::RulesRequest {
            text: String::new(),
            sessions: types::Peerings::default(),
            names: Vec::new(),
        };
        let shown = rules(&request, &answer);
        assert_eq!(shown["sets"][0]["rules"].as_array().map(Vec::len), Some(10_000));
        assert_eq!(shown["sets"][9_999]["rules"], TOO_MUCH);
        assert!(shown.to_string().len() < 8 << 20);
    }
}
