//! Rules: functions that sessions call.

use tailorbird::plugin::contract::filter::{
    Action, Direction, LengthRange, Operation, PeerType, PrefixCondition, PrefixRange, Rule,
};
use tailorbird::plugin::contract::types::{Address, Community, PeeringKind, PeeringTraits, Prefix};
use tailorbird::policy::{OnError, Placement};
use tailorbird::resources::Kind;

use crate::cluster::{Look, calico, configuration, peer, three_nodes};
use crate::native::{Native, Rules, rule, rules_answer, text, texts};
use crate::world::World;

fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Prefix {
    Prefix { address: Address::V4(u32::from_be_bytes([a, b, c, d])), length }
}

fn v6(high: u64, length: u8) -> Prefix {
    Prefix { address: Address::V6((high, 0)), length }
}

/// A plugin that gives every session the same rules in a direction.
fn everywhere(name: &str, direction: Direction, make: impl Fn(&mut Rules) -> Vec<Rule> + 'static) -> Native {
    Native::new(name).rules(move |_, request| {
        let mut rules = Rules::default();
        let set = make(&mut rules);
        for session in 0..request.sessions.len() {
            rules.assign(session, direction, &set);
        }
        Ok(rules.done())
    })
}

fn reject_all(name: &str, direction: Direction) -> Native {
    everywhere(name, direction, |_| vec![rule(Action::Reject)])
}

/// The functions of plugins in a file, each as its name and its body.
fn functions(world: &mut World, file: &str) -> Vec<(String, String)> {
    let text = world.file(file);
    let parts = text.split("function 'plugin_").skip(1).map(|part| {
        let (name, rest) = part.split_once("' (").unwrap();
        let body = rest.split_once("{ ").unwrap().1;
        let end = body.find(" function ").or_else(|| body.find(" protocol ")).unwrap_or(body.len());
        (name.to_owned(), body[..end].trim_end_matches(" }").to_owned())
    });
    parts.collect()
}

/// Every kind of condition, operation and action.
fn all_kinds(rules: &mut Rules) -> Vec<Rule> {
    let both = rules.prefixes(&[
        PrefixRange { prefix: v4(10, 0, 0, 0, 8), min: 16, max: 24 },
        PrefixRange { prefix: v6(0xfd00_0000_0000_0000, 8), min: 8, max: 128 },
        // Host bits are cleared.
        PrefixRange { prefix: v4(192, 0, 2, 1, 24), min: 24, max: 32 },
    ]);
    let only_v6 = rules.prefixes(&[PrefixRange { prefix: v6(0x2001_0db8_0000_0000, 32), min: 32, max: 48 }]);
    let path = rules.numbers(&[65001, 4_200_000_000]);
    let operations = rules.operations(&[
        Operation::AddCommunity(Community::Standard((65535, 0))),
        Operation::AddCommunity(Community::Large((1, 2, 3))),
        Operation::RemoveCommunity(Community::Standard((64512, 7))),
        Operation::RemoveCommunity(Community::Large((4_294_967_295, 0, 1))),
        Operation::PrependAs(65001),
        Operation::SetPriority(100),
        Operation::SetLocalPreference(4_294_967_295),
    ]);
    vec![
        Rule {
            prefixes: Some(PrefixCondition { any_of: both, negate: false }),
            from_peers: true,
            community: Some(Community::Standard((64512, 1))),
            as_path_prefix: path,
            as_path_length: Some(LengthRange { min: 1, max: 5 }),
            priority: Some(512),
            peer_type: Some(PeerType::External),
            operations,
            action: Action::Continue,
        },
        Rule {
            prefixes: Some(PrefixCondition { any_of: both, negate: true }),
            operations,
            ..rule(Action::Accept)
        },
        Rule { prefixes: Some(PrefixCondition { any_of: only_v6, negate: false }), ..rule(Action::Reject) },
        // Outside of a set of which nothing is of the family is everywhere.
        Rule { prefixes: Some(PrefixCondition { any_of: only_v6, negate: true }), ..rule(Action::Accept) },
        // Goes on without having done anything.
        rule(Action::Continue),
        Rule { peer_type: Some(PeerType::Internal), ..rule(Action::Reject) },
    ]
}

#[test]
fn every_kind_of_rule_becomes_a_function_that_bird_takes() {
    let mut world = World::new([
        everywhere("p", Direction::Import, all_kinds),
        everywhere("q", Direction::Export, all_kinds),
    ])
    .having(&three_nodes());
    world.bird_accepts();
    let operations = "bgp_community.add((65535, 0)); bgp_large_community.add((1, 2, 3)); \
        bgp_community.delete((64512, 7)); bgp_large_community.delete((4294967295, 0, 1)); \
        bgp_path.prepend(65001); bgp_local_pref = 2147483547; bgp_local_pref = 4294967295;";
    let conditions = |set: &str| {
        format!(
            "if (!is_same_as) then {{ if ((net ~ {set})&&((defined(source))&&(source ~ [ RTS_BGP ]))&&\
            ((64512, 1) ~ bgp_community)&&(bgp_path ~ [= 65001 4200000000 * =])&&\
            ((bgp_path.len >= 1)&&(bgp_path.len <= 5))&&\
            (defined(bgp_local_pref)&&(bgp_local_pref = 2147483135))) then {{ {operations} }} }}"
        )
    };
    let v4 = "[ 10.0.0.0/8{16,24}, 192.0.2.0/24{24,32} ]";
    world.has("bird.cfg", &conditions(v4));
    world.has("bird.cfg", &format!("if ((net !~ {v4})) then {{ {operations} return true; }} return true; if (is_same_as) then {{ reject; }}"));
    world.lacks("bird.cfg", "2001:db8");
    world.has("bird6.cfg", &conditions("[ fd00::/8{8,128} ]"));
    world.has("bird6.cfg", "if ((net ~ [ 2001:db8::/32{32,48} ])) then { reject; }");
    world.has("bird6.cfg", "if ((net !~ [ 2001:db8::/32{32,48} ])) then { return true; }");
    let names: Vec<String> = functions(&mut world, "bird.cfg").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 2, "the sessions share a function for each direction: {names:?}");
    for (suffix, statement) in [("_importFilterV4", "import"), ("_exportFilterV4", "export")] {
        let name = names.iter().find(|name| name.ends_with(suffix)).unwrap();
        for session in ["Mesh_10_0_0_2", "Mesh_10_0_0_10"] {
            let text = world.session(session).unwrap();
            let block = text.split_once(&format!("{statement} filter {{ ")).unwrap().1;
            assert!(
                block.contains(&format!("'plugin_{name}' ( true ) ;")),
                "{session} does not call {name}: {block}"
            );
        }
    }
}

#[test]
fn rules_stand_where_the_operator_places_them() {
    let operation = |value: u16| {
        move |rules: &mut Rules| {
            let operations = rules.operations(&[Operation::AddCommunity(Community::Standard((1, value)))]);
            vec![Rule { operations, ..rule(Action::Continue) }]
        }
    };
    let mut world = World::new([
        everywhere("third", Direction::Export, operation(3)).placed(Placement::After),
        everywhere("first", Direction::Export, operation(1)),
        everywhere("second", Direction::Export, operation(2)),
        everywhere("fourth", Direction::Export, operation(4)).placed(Placement::After),
    ])
    .having(&three_nodes())
    .having(&calico("BGPFilter", "f", "{exportV4: [{action: Accept}]}"))
    .having(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001, filters: [f]}"));
    let bodies = functions(&mut world, "bird.cfg");
    let name = |value: u16| {
        let found = bodies.iter().find(|(_, body)| body.contains(&format!("1 , {value}"))).unwrap();
        format!("'plugin_{}' ( ) ;", found.0)
    };
    let order = [name(1), name(2), "'bgp_f_exportFilterV4' ( ) ;".to_owned(), name(3), name(4)].join(" ");
    world.session_has("Global_192_0_2_1", &[&order]);
    world.session_has("Mesh_10_0_0_2", &[&[name(1), name(2), name(3), name(4)].join(" ")]);
    world.bird_accepts();
}

#[test]
fn a_filter_of_a_user_is_never_taken_for_a_function_of_a_plugin() {
    let mut world = World::new([reject_all("p", Direction::Export)]).having(&three_nodes());
    let name = functions(&mut world, "bird.cfg")[0].0.replace("_exportFilterV4", "");
    world.apply(&calico("BGPFilter", &format!("plugin_{name}"), "{exportV4: [{action: Accept}]}"));
    world.apply(&peer("p", &format!("{{peerIP: 192.0.2.1, asNumber: 65001, filters: [plugin_{name}]}}")));
    world.session_has(
        "Global_192_0_2_1",
        &[&format!("'plugin_{name}_exportFilterV4' ( ) ; 'bgp_plugin_{name}_exportFilterV4' ( ) ;")],
    );
    world.bird_accepts();
}

#[test]
fn a_function_goes_with_the_last_session_that_calls_it() {
    let plugin = Native::new("p").rules(|_, request| {
        let mut rules = Rules::default();
        for (at, session) in request.sessions.iter().enumerate() {
            if session.kind == PeeringKind::Global {
                rules.assign(at, Direction::Import, &[rule(Action::Reject)]);
            }
        }
        Ok(rules.done())
    });
    let mut world = World::new([plugin]).having(&three_nodes());
    assert_eq!(functions(&mut world, "bird.cfg"), []);
    world.apply(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001}"));
    world.apply(&peer("q", "{peerIP: 192.0.2.2, asNumber: 65001}"));
    assert_eq!(functions(&mut world, "bird.cfg").len(), 1);
    world.session_lacks("Mesh_10_0_0_2", &["plugin_"]);
    world.delete(Kind::BgpPeer, "p");
    assert_eq!(functions(&mut world, "bird.cfg").len(), 1);
    world.delete(Kind::BgpPeer, "q");
    assert_eq!(functions(&mut world, "bird.cfg"), []);
}

#[test]
fn an_empty_set_and_one_that_does_nothing_are_not_called() {
    let plugin = everywhere("p", Direction::Import, |_| Vec::new());
    let idle = everywhere("q", Direction::Export, |rules| {
        let any_of = rules.prefixes(&[]);
        let never = PrefixCondition { any_of, negate: false };
        vec![rule(Action::Continue), Rule { prefixes: Some(never), ..rule(Action::Reject) }]
    });
    let mut with = World::new([plugin, idle]).having(&three_nodes());
    let mut without = World::new([]).having(&three_nodes());
    assert_eq!(with.files(), without.files());
}

#[test]
fn a_plugin_is_told_of_a_session_what_there_is() {
    let plugin = Native::new("p").rules(|_, request| {
        for session in request.sessions.iter() {
            let names = texts(&request.text, &request.names, session.filters);
            match text(&request.text, session.name) {
                "Global_192_0_2_1_port_1790" => {
                    assert_eq!(names, ["f", "missing"]);
                    assert_eq!(text(&request.text, session.bgp_peer), "p");
                    assert_eq!(text(&request.text, session.remote_node), "");
                    assert_eq!(session.ip, Address::V4(0xc000_0201));
                    assert_eq!(
                        (session.port, session.as_number, session.local_as),
                        (Some(1790), 65001, 64512)
                    );
                    assert_eq!(session.traits, PeeringTraits::PASSWORD);
                    assert_eq!((session.ttl_security, session.keepalive_time), (Some(3), Some(7)));
                }
                "Mesh_10_0_0_2" => {
                    assert_eq!(session.kind, PeeringKind::Mesh);
                    assert_eq!(text(&request.text, session.remote_node), "b");
                    assert_eq!(session.traits, PeeringTraits::INTERNAL | PeeringTraits::PASSIVE);
                }
                _ => {}
            }
        }
        Ok(rules_answer())
    });
    let mut world = World::new([plugin])
        .having(&three_nodes())
        .having(&crate::cluster::secret("s", "{k: hush}"))
        .having(&calico("BGPFilter", "f", "{exportV4: [{action: Accept}]}"))
        .having(&peer(
            "p",
            "{peerIP: '192.0.2.1:1790', asNumber: 65001, filters: [f, missing], ttlSecurity: 3, \
             keepaliveTime: 7s, password: {secretKeyRef: {name: s, key: k}}}",
        ));
    assert_eq!(world.errors(), []);
    assert_eq!(world.count.sessions, 5);
}

#[test]
fn a_session_is_asked_about_again_when_it_or_what_was_read_is_another() {
    let plugin = Native::new("p").may_read(&["/calico/bgp/v1/global/loglevel"]).rules(|kv, request| {
        let mut rules = Rules::default();
        if kv.get("/calico/bgp/v1/global/loglevel").as_deref() == Some("debug") {
            for session in 0..request.sessions.len() {
                rules.assign(session, Direction::Import, &[rule(Action::Reject)]);
            }
        }
        Ok(rules.done())
    });
    let mut world = World::new([plugin]).having(&three_nodes());
    world.files();
    assert_eq!(world.count.sessions, 4);
    world.apply(&peer("p", "{peerIP: 192.0.2.1, asNumber: 65001}"));
    world.files();
    assert_eq!(world.count.sessions, 1);
    world.apply(&calico("BGPFilter", "f", "{exportV4: [{action: Accept}]}"));
    world.files();
    assert_eq!(world.count.sessions, 0);
    assert_eq!(functions(&mut world, "bird.cfg"), []);
    world.apply(&configuration("{logSeverityScreen: Debug}"));
    assert_eq!(functions(&mut world, "bird.cfg").len(), 1);
    world.apply(&configuration("{logSeverityScreen: Debug, asNumber: 64999}"));
    world.files();
    assert_eq!(world.count.sessions, 5, "the local AS number is part of what is asked");
}

#[test]
fn sessions_of_a_plugin_that_failed_refuse_every_route_or_are_as_they_were() {
    let failing = |on_error| Native::new("my plugin").on_error(on_error).rules(|_, _| Err("no".to_owned()));
    let mut world = World::new([
        failing(OnError::Reject).placed(Placement::After),
        reject_all("other", Direction::Export),
    ])
    .having(&three_nodes());
    let files = world.files();
    assert!(
        files["bird.cfg"].contains("reject; # plugin _my_plugin cannot be used"),
        "{}",
        files["bird.cfg"]
    );
    world.session_has("Mesh_10_0_0_2", &["import filter { reject;", "2147483647 - krt_metric; } reject;"]);
    let errors = world.errors();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].to_string(), "plugin my plugin: filter.rules: no");
    world.bird_accepts();

    let mut skipped = World::new([failing(OnError::Skip)]).having(&three_nodes());
    let mut without = World::new([]).having(&three_nodes());
    assert_eq!(skipped.files(), without.files());
    assert_eq!(skipped.errors().len(), 1);

    let mut kept = World::new([failing(OnError::Keep)]).having(&three_nodes());
    assert_eq!(kept.derive().unwrap_err().to_string(), "plugin my plugin: filter.rules: no");
}
