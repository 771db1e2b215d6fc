//! What a guest can do in a call: read, log, answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tailorbird::plugin::ActiveSet;
use tailorbird::plugin::contract::log::Level;
use tailorbird::plugin::contract::{filter, peers, types};
use tailorbird::policy::Plugins as _;

use crate::common::*;

fn keys(keys: &[&str]) -> BTreeSet<Arc<str>> {
    keys.iter().map(|&key| key.into()).collect()
}

#[test]
fn a_guest_reads_what_it_may_and_the_host_knows_what_it_read() {
    let set = Plugins::of(&[Guest::function("reads", READS).wants(&["/a", "/n/*/x"])]).load();
    let view = [("/a/b", "B"), ("/n/1/x", "X"), ("/n/1/y", "Y"), ("/secret", "S")];
    let mut session = set.begin(&snapshot(7, &view), Instant::now());
    for (key, value) in
        [("/a/b", json!("B")), ("/n/1/x", json!("X")), ("/n/1/y", Value::Null), ("/secret", Value::Null)]
    {
        let asked = session.call_function(0, 0, &[&json!(key)]).unwrap();
        assert_eq!(asked.answer, value, "{key}");
        // What it may not see is no dependency.
        let read = if value.is_null() { keys(&[]) } else { keys(&[key]) };
        assert_eq!(asked.reads.keys, read, "{key}");
    }
    // A key that is not there is a dependency, for it could come.
    let asked = session.call_function(0, 0, &[&json!("/a/none")]).unwrap();
    assert_eq!((asked.answer, asked.reads.keys), (Value::Null, keys(&["/a/none"])));
}

#[test]
fn a_password_is_hidden_from_guests() {
    let snapshot = snapshot_with_password();
    let key = "/calico/bgp/v1/global/peer_v4/10.9.9.9";
    assert!(snapshot.view.reveal(key).unwrap().text.contains("swordfish"));
    let set = Plugins::of(&[Guest::function("reads", READS).wants(&["/"])]).load();
    let mut session = set.begin(&snapshot, Instant::now());
    let seen = session.call_function(0, 0, &[&json!(key)]).unwrap().answer;
    let seen = seen.as_str().unwrap();
    assert!(seen.contains("(hidden)") && !seen.contains("swordfish"), "{seen}");
}

/// A body that lists `/a` page by page and returns the number of rows.
const LISTS: &str = r#"
  (local $rows i32) (local $after i32) (local $n i32) (local $last i32)
  (loop $pages
    (call $list (i32.const 3000) (i32.const 2) (i32.ne (local.get $after) (i32.const 0)) (local.get $after)
      (local.get $n) (i32.const 5000) (i32.const 2100))
    (local.set $rows (i32.add (local.get $rows) (i32.load (i32.const 2104))))
    (if (i32.load8_u (i32.const 2108))
      (then
        (local.set $last (i32.add (i32.load (i32.const 2100))
          (i32.mul (i32.const 16) (i32.sub (i32.load (i32.const 2104)) (i32.const 1)))))
        (local.set $after (i32.load (local.get $last)))
        (local.set $n (i32.load offset=4 (local.get $last)))
        (br $pages))))
  (i32.store8 (i32.const 2008) (i32.const 2))
  (i64.store (i32.const 2016) (i64.extend_i32_u (local.get $rows)))
  (i32.const 2000)"#;

#[test]
fn a_listing_comes_in_pages_and_holds_only_what_may_be_read() {
    let owned: Vec<(String, &str)> = (0..2500).map(|n| (format!("/a/{n:04}/x"), "v")).collect();
    let mut view: Vec<(&str, &str)> = owned.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    view.extend([("/a/0000/y", "no"), ("/ab", "no"), ("/a-b", "no")]);
    for (wants, rows) in [("/a", 2501), ("/a/*/x", 2500), ("/a/0001", 1), ("/b", 0)] {
        let guest = Guest::function("lists", LISTS).more("(data (i32.const 3000) \"/a\")").wants(&[wants]);
        let set = Plugins::of(&[guest]).load();
        let mut session = set.begin(&snapshot(1, &view), Instant::now());
        let asked = session.call_function(0, 0, &[]).unwrap();
        assert_eq!(asked.answer, json!(rows), "{wants}");
        assert_eq!(asked.reads.paths, if wants == "/b" { keys(&[]) } else { keys(&["/a"]) }, "{wants}");
    }
}

#[test]
fn what_configure_read_is_part_of_every_answer() {
    let configure = "(call $get (i32.const 3000) (i32.const 2) (i32.const 2100)) (i32.const 1024)";
    let guest = Guest::function("early", NOTHING)
        .configure(configure)
        .more("(data (i32.const 3000) \"/a\")")
        .wants(&["/a"]);
    let set = Plugins::of(&[guest]).load();
    let mut session = session(&set);
    for _ in 0..2 {
        assert_eq!(call(&mut session, 0).unwrap().reads.keys, keys(&["/a"]));
    }
}

#[test]
fn asking_for_the_revision_is_recorded() {
    let body = "(i64.store (i32.const 2016) (call $revision)) (i32.store8 (i32.const 2008) (i32.const 2)) (i32.const 2000)";
    let set = Plugins::of(&[Guest::function("revision", body)]).load();
    let asked = set.begin(&snapshot(42, &[]), Instant::now()).call_function(0, 0, &[]).unwrap();
    assert_eq!((asked.answer, asked.reads.revision), (json!(42), true));
}

#[test]
fn values_of_every_kind_come_and_go() {
    // Returns its first argument, or its second one if there are two.
    let body = r#"
      (local $from i32)
      (local.set $from (i32.add (local.get $ptr) (i32.mul (i32.const 16) (i32.sub (local.get $len) (i32.const 1)))))
      (i64.store (i32.const 2008) (i64.load (local.get $from)))
      (i64.store (i32.const 2016) (i64.load offset=8 (local.get $from)))
      (i32.const 2000)"#;
    let set = Plugins::of(&[Guest::function("echo", body)]).load();
    let mut session = session(&set);
    let values = [
        Value::Null,
        json!(true),
        json!(-5),
        json!(i64::MAX),
        json!(""),
        json!("zwölf \"quoted\" {}"),
        json!(["a", 1, null]),
        json!({ "a": { "b": [] } }),
    ];
    for value in &values {
        assert_eq!(session.call_function(0, 0, &[value]).unwrap().answer, *value);
        assert_eq!(session.call_function(0, 0, &[&json!(1), value]).unwrap().answer, *value);
    }
    let many = [&values[0]; 3];
    assert!(session.call_function(0, 0, &many).unwrap_err().to_string().ends_with("takes: [a] [b]"));
    assert!(session.call_function(0, 1, &[]).is_err());
}

#[test]
fn lists_are_handed_over_and_answered() {
    let request = peers::Request {
        text: "abc".to_owned(),
        nodes: peers::Nodes::default(),
        labels: peers::Labels::default(),
        this_node: None,
        candidates: peers::Candidates::default(),
        names: Vec::new(),
        mesh: true,
    };
    // Drops the candidate whose number is the length of the text.
    let drops = "(i32.store (i32.const 3000) (i32.load offset=4 (local.get 0))) (i32.store (i32.const 2028) (i32.const 3000)) \
                 (i32.store (i32.const 2032) (i32.const 1)) (i32.const 2000)";
    let guest = Guest::new("all", "plugin").body("peers#select", drops);
    let set = Plugins::of(&[guest]).load();
    let mut session = session(&set);
    let answer = session.select(0, &request).unwrap().answer;
    assert_eq!((answer.drop, answer.cluster_id), (vec![3], peers::ClusterIdChoice::Unchanged));
    let rules =
        filter::RulesRequest { text: String::new(), sessions: types::Peerings::default(), names: Vec::new() };
    assert!(session.rules(0, &rules).unwrap().answer.assignments.is_empty());
    let routes = filter::AdvertiseRequest { text: String::new(), routes: filter::Routes::default() };
    assert!(session.advertise(0, &routes).unwrap().answer.decisions.is_empty());
    let usage = session.usage().next().unwrap();
    assert!(usage.calls == 4 && usage.fuel > 0 && usage.memory == 65536, "{usage:?}");
}

#[test]
fn the_same_call_uses_the_same_fuel() {
    let set = Plugins::of(&[Guest::function("reads", READS).wants(&["/a"])]).load();
    let used: Vec<u64> = (0..3)
        .map(|_| {
            let mut session = set.begin(&snapshot(1, &[("/a/b", "value")]), Instant::now());
            session.call_function(0, 0, &[&json!("/a/b")]).unwrap();
            session.usage().next().unwrap().fuel
        })
        .collect();
    assert!(used[0] > 0 && used.iter().all(|fuel| *fuel == used[0]), "{used:?}");
}

#[test]
fn log_lines_have_a_level_and_no_control_characters() {
    let (data, body) = text("a\nb\u{1b}[31m\u{202e}c");
    let body =
        format!("(call $log (i32.const 2) (i32.const 3000) (i32.const 12)) {}", body.replace("3000", "1200"));
    let set = Plugins::of(&[Guest::function("logs", &body).more(&data)]).load();
    let mut session = session(&set);
    let _ = call(&mut session, 0);
    let logs = &session.usage().next().unwrap().logs;
    assert_eq!(logs.len(), 1);
    assert_eq!((logs[0].level, logs[0].text.as_str()), (Level::Warn, "a\\nb\\u{1b}[31m\\u{202e}c"));
}

#[test]
fn a_new_set_takes_over_only_when_it_renders() {
    let set = |name: &str| Plugins::of(&[Guest::function(name, NOTHING)]).load();
    let mut active = ActiveSet::new(set("old"));
    let name = |active: &ActiveSet| active.current().facts()[0].name.to_string();
    assert_eq!(active.replace(set("new"), |_| Err::<(), _>("no")), Err("no"));
    assert_eq!(name(&active), "old");
    let rendered = active.replace(set("new"), |new| Ok::<_, ()>(call(&mut session(new), 0).unwrap().answer));
    assert_eq!((rendered, name(&active).as_str()), (Ok(Value::Null), "new"));
}
