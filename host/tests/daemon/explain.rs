//! A running daemon says why something is there or is not.

use serde_json::Value;

use crate::common::SECRET;
use crate::world::{World, configuration, peer, until};

#[test]
fn the_daemon_explains_what_it_has() {
    let world = World::new();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    let ask = |path: &str| -> Value {
        let (code, body) = daemon.get(path);
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    };
    let answer = ask("/explain/peer/10.0.0.254");
    assert_eq!((answer["present"].as_bool(), &answer["notes"]), (Some(true), &Value::Array(Vec::new())));
    assert_eq!(answer["because"][0]["object"], "BGPPeer switch");
    assert!(!answer.to_string().contains(SECRET), "{answer}");
    assert_eq!(ask("/explain/route/10.64.0.0/24")["subject"], "route 10.64.0.0/24");
    assert_eq!(ask("/explain/peer/fd00::1")["because"][0]["rule"], "own-address");
    assert_eq!(ask("/explain/node/worker-2")["present"], true);
    assert_eq!(ask("/explain/filter/none")["present"], false);
    let (code, head, text) = daemon.ask("GET", "/explain/peer/10.0.0.2?output=text");
    assert!(code == 200 && head.contains("text/plain"), "{head}");
    assert!(text.starts_with("PRESENT: node worker-1 has a session with 10.0.0.2"), "{text}");

    // The command asks it, and shows the same.
    let http = daemon.http;
    let told = world.bench.run(&format!("explain peer 10.0.0.2 --http {http}")).ends(0).silent();
    assert_eq!(told.out, text);
    let json = world.bench.run(&format!("explain route 10.64.0.0/24 --http {http} -o json")).ends(0).json();
    assert_eq!(json["node"], "worker-1");

    // What changes is explained as it is now.
    assert_eq!(ask("/explain/peer/10.0.0.99")["present"], false);
    world.put_peer("more.yaml", "10.0.0.99");
    world.shows("bird.cfg", "Global_10_0_0_99", true);
    let answer = ask("/explain/peer/10.0.0.99");
    assert_eq!(
        (&answer["present"], &answer["because"][0]["object"]),
        (&true.into(), &"BGPPeer p-10-0-0-99".into())
    );
}

#[test]
fn what_is_no_question_is_refused_with_a_reason() {
    let world = World::new();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    for (path, code, words) in [
        ("/explain/peer/worker-2", 400, "not an IP address"),
        ("/explain/route/10.0.0.0/99", 400, "not a prefix"),
        ("/explain/bgppeer/x", 404, "peer, route, filter, node"),
        ("/explain/peer/10.0.0.2?output=xml", 400, "json, text"),
        ("/explain/peer", 404, ""),
        ("/explain/filter/%2e%2e%2f%00", 400, "not an object name"),
    ] {
        let (got, body) = daemon.get(path);
        assert!(got == code && body.contains(words), "{path}: {got} {body}");
    }
    assert_eq!(daemon.ask("POST", "/explain/peer/10.0.0.2").0, 405);
    let refused = world.bench.run(&format!("explain peer x --http {}", daemon.http));
    refused.ends(2).tells("not an IP address");
}

#[test]
fn what_keeps_it_from_being_in_force_is_noted() {
    let world = World::new();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    // The checker refuses the next set.
    world.bench.daemon("bird", "echo no such thing; exit 1");
    world.put_object("more.yaml", &peer("10.0.0.99"));
    let answer = until("the answer notes that the group failed", || {
        let (_, body) = daemon.get("/explain/peer/10.0.0.99");
        let answer: Value = serde_json::from_str(&body).unwrap();
        let notes = answer["notes"].to_string();
        (notes.contains("group bird is failed") && notes.contains("no such thing")).then_some(answer)
    });
    assert_eq!(answer["present"], true, "it is rendered: {answer}");
    world.put_object("configuration.yaml", &configuration("asNumber: many"));
    until("the answer notes what blocks", || {
        let (_, body) = daemon.get("/explain/peer/10.0.0.2?output=text");
        body.contains("note: nothing is rendered").then_some(())
    });
}
