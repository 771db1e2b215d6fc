//! Over every conformance case, on every node of it: all that is rendered is explained, and what is absent has a reason.

use tailorbird::engine::model::Item;
use tailorbird::engine::{CollectionId, Engine};
use tailorbird::explain::{Explanation, Rule, Topic};
use tailorbird::types::{Family, Name};

use crate::asked::ask;
use crate::support::cases::cases;

/// The rules that keep a session from being there.
const OBSTACLES: [Rule; 8] = [
    Rule::OwnAddress,
    Rule::NoOwnAddress,
    Rule::MeshOff,
    Rule::Reflector,
    Rule::NodeSelector,
    Rule::NotPeerSelected,
    Rule::NoReversePeering,
    Rule::Password,
];

/// What must hold of everything that is there.
#[track_caller]
fn explained(answer: &Explanation, case: &str) {
    assert!(answer.present, "{case}: {answer}");
    let named = answer.because.iter().any(|reason| reason.object.is_some());
    assert!(named, "{case}: no object is named in {answer}");
}

/// The number of questions that were asked.
fn walk(engine: &Engine, case: &str) -> usize {
    let mut asked = 0;
    let snapshot = engine.snapshot();
    for family in Family::ALL {
        let model = snapshot.model(family);
        for item in model.collection(CollectionId::Peers).items.values() {
            let Item::Peer(peer) = &**item else { panic!("{case}: a peer is something else") };
            let answer = ask(engine, &[], Topic::Peer, &peer.ip.to_string());
            explained(&answer, case);
            assert!(answer.places.iter().any(|place| *place.name == *peer.name), "{case}: {answer}");
            asked += 1;
        }
        for name in model.collection(CollectionId::Filters).items.keys() {
            explained(&ask(engine, &[], Topic::Filter, name), case);
            asked += 1;
        }
    }
    let view = &snapshot.view;
    let blocks = view.list("/calico/ipam/v2/host").filter_map(|(key, _)| {
        let (address, length) = key.rsplit_once('/')?.1.rsplit_once('-')?;
        Some(format!("{address}/{length}"))
    });
    let routes = ["/calico/staticroutes", "/calico/staticroutesv6"].into_iter().flat_map(|at| view.list(at));
    for prefix in routes.map(|(_, value)| value.into_owned()).chain(blocks) {
        explained(&ask(engine, &[], Topic::Route, &prefix), case);
        asked += 1;
    }
    let nodes: Vec<Name> = engine.node_names().cloned().collect();
    for node in &nodes {
        explained(&ask(engine, &[], Topic::Node, node.as_str()), case);
        let at = |file| view.get(&format!("/calico/bgp/v1/host/{node}/{file}")).filter(|ip| !ip.is_empty());
        for ip in ["ip_addr_v4", "ip_addr_v6"].into_iter().filter_map(at) {
            let answer = ask(engine, &[], Topic::Peer, &ip);
            let known = answer.because.iter().all(|reason| reason.rule != Rule::Unknown);
            assert!(!answer.because.is_empty() && known, "{case}: {answer}");
            let obstacle = answer.because.iter().any(|reason| OBSTACLES.contains(&reason.rule));
            assert!(answer.present || obstacle, "{case}: nothing is in the way in {answer}");
            asked += 1;
        }
    }
    asked
}

#[test]
fn every_case_is_explained_on_every_node() {
    let (mut asked, mut views) = (0, 0);
    for case in cases() {
        let name = case.folder.file_name().unwrap().to_str().unwrap().to_owned();
        case.on_every_node(|node| {
            let mut engine = Engine::new(case.settings(node));
            for step in &case.file.step {
                case.apply(&mut engine, step);
                asked += walk(&engine, &format!("{name} on {node}"));
                views += 1;
            }
            engine
        });
    }
    println!("{asked} questions about {views} states of clusters");
}
