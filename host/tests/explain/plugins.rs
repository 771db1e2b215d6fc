//! What is said of what plugins change.

use tailorbird::explain::{Explanation, Rule, Topic};
use tailorbird::plugin::contract::filter::{Action, AdvertiseAnswer, Direction, RouteDecision};
use tailorbird::plugin::contract::peers::{Answer as PeersAnswer, Change, ClusterIdChoice};
use tailorbird::plugin::contract::types::{Community, Family, NextHop};
use tailorbird::policy::OnError;

use crate::asked::{Answer, ask};
use crate::cluster::{Cluster, configuration, three_nodes};
use crate::native::{
    NONE, Native, Rules, addition, advertise_answer, answer, change, dropping, node_place, rule,
};

fn cluster() -> Cluster {
    Cluster::on("a")
        .having(&three_nodes())
        .having(&configuration("{serviceClusterIPs: [{cidr: 10.96.0.0/16}]}"))
}

fn about_b(plugins: &[Native]) -> Explanation {
    ask(&cluster().engine, plugins, Topic::Peer, "10.0.0.2")
}

fn about_range(plugins: &[Native]) -> Explanation {
    ask(&cluster().engine, plugins, Topic::Route, "10.96.0.0/16")
}

/// A plugin that drops all sessions with node `b`.
fn dropper(name: &str) -> Native {
    dropping(name, "_2")
}

fn failing(name: &str, on_error: OnError) -> Native {
    Native::new(name)
        .select(|_, _| Err("out of order".to_owned()))
        .advertise(|_, _| Err("out of order".to_owned()))
        .rules(|_, _| Err("out of order".to_owned()))
        .on_error(on_error)
}

#[test]
fn a_session_that_a_plugin_dropped() {
    let answer = about_b(&[Native::new("first"), dropper("drain")]).absent();
    assert_eq!(answer.because[0].rule, Rule::PluginDropped, "what decides comes first: {answer}");
    answer.because(Rule::PluginDropped, "plugin drain", &["peers.select", "Mesh_10_0_0_2"]).because(
        Rule::Mesh,
        "BGPConfiguration default",
        &["node b"],
    );
}

#[test]
fn a_session_that_a_plugin_changed() {
    let changer = Native::new("tune").select(|_, request| {
        let tuned = |candidate| Change {
            passive: Some(true),
            next_hop: Some(NextHop::Own),
            port: Some(1790),
            restart_time: Some(90),
            ttl_security: Some(3),
            filters: Some(NONE),
            ..change(candidate)
        };
        let change = (0..request.candidates.len() as u32).map(tuned).collect();
        Ok(PeersAnswer { change, ..answer() })
    });
    about_b(&[changer]).there().because(
        Rule::PluginChanged,
        "plugin tune",
        &[
            "Mesh_10_0_0_2",
            "passive",
            "next hop self",
            "port 1790",
            "restart time 90 s",
            "TTL security 3",
            "no filters",
        ],
    );
}

#[test]
fn a_session_that_a_plugin_added_and_another_dropped() {
    let adder = || {
        Native::new("racks").select(|_, request| {
            let drop = (0..request.candidates.len() as u32).collect();
            let add = addition(node_place(request, "b"), Family::V4);
            Ok(PeersAnswer {
                drop,
                add: vec![add],
                cluster_id: ClusterIdChoice::Set(0x0101_0101),
                ..answer()
            })
        })
    };
    about_b(&[adder()])
        .there()
        .stands("bird.cfg", "Plugin_10_0_0_2")
        .because(Rule::PluginAdded, "plugin racks", &["Plugin_10_0_0_2"])
        .because(Rule::PluginDropped, "plugin racks", &["Mesh_10_0_0_2"]);
    about_b(&[adder(), dropper("drain")])
        .absent()
        .because(Rule::PluginAdded, "plugin racks", &["Plugin_10_0_0_2"])
        .because(Rule::PluginDropped, "plugin drain", &["Plugin_10_0_0_2"]);
    ask(&cluster().engine, &[adder()], Topic::Node, "a").there().because(
        Rule::PluginChanged,
        "plugin racks",
        &["peers.select", "cluster id 1.1.1.1"],
    );
}

#[test]
fn rules_of_a_plugin() {
    let ruler = Native::new("martians").rules(|_, request| {
        let mut rules = Rules::default();
        for at in 0..request.sessions.len() {
            rules.assign(at, Direction::Import, &[rule(Action::Reject)]);
        }
        Ok(rules.done())
    });
    about_b(&[ruler]).there().because(
        Rule::PluginChanged,
        "plugin martians",
        &["filter.rules", "Mesh_10_0_0_2", "import calls 'plugin_"],
    );
}

#[test]
fn plugins_that_fail() {
    let closed = about_b(&[failing("p", OnError::Reject)]).absent();
    closed.because(Rule::PluginFailed, "plugin p", &["peers.select failed", "Mesh_10_0_0_2"]);
    about_range(&[failing("p", OnError::Reject)]).absent().because(
        Rule::PluginFailed,
        "plugin p",
        &["filter.advertise failed", "not originated"],
    );
    let rules_only = Native::new("p").rules(|_, _| Err("out of order".to_owned())).on_error(OnError::Reject);
    about_b(&[rules_only]).there().because(Rule::PluginFailed, "plugin p", &["takes and sends no route"]);
    // As if it had not been asked.
    about_b(&[failing("p", OnError::Skip)]).there().not_because(Rule::PluginFailed);
    // Nothing may be rendered without it, so what it would say is not known.
    about_b(&[failing("p", OnError::Keep)]).noted("plugins have not been asked");
}

fn advertising(decide: impl Fn(RouteDecision) -> RouteDecision + 'static) -> Native {
    Native::new("policy").advertise(move |_, request| {
        let plain =
            |route| RouteDecision { route, accept: true, communities: NONE, priority: None, to: None };
        let decisions = (0..request.routes.len() as u32).map(|route| decide(plain(route))).collect();
        let communities = vec![Community::Standard((64512, 7))];
        Ok(AdvertiseAnswer { decisions, communities, ..advertise_answer() })
    })
}

#[test]
fn what_a_plugin_says_of_a_route() {
    let no = advertising(|decision| RouteDecision { accept: false, ..decision });
    let rejected = about_range(&[no]).absent();
    assert_eq!(rejected.because[0].rule, Rule::PluginDropped, "what decides comes first: {rejected}");
    rejected.because(Rule::PluginDropped, "plugin policy", &["filter.advertise says no"]).because(
        Rule::ConfiguredRange,
        "BGPConfiguration default",
        &["serviceClusterIPs"],
    );
    let nowhere = advertising(|decision| RouteDecision { priority: Some(100), to: Some(NONE), ..decision });
    about_range(&[nowhere]).there().because(
        Rule::PluginChanged,
        "plugin policy",
        &["priority 100", "goes to nobody"],
    );
}
