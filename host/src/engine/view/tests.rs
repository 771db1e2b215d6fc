use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::writer::REMOVED;
use super::*;
use crate::engine::nodes::Node;
use crate::resources::NodeBgp;
use crate::types::Name;

fn keys<'a>(entries: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>) -> Vec<Cow<'a, str>> {
    entries.map(|(key, _)| key).collect()
}

#[test]
fn a_listing_has_the_path_and_what_is_below_it_from_where_it_is_asked_on() {
    let all = ["/a", "/a-b", "/a/b", "/a/b/c", "/a/c", "/ab/c"];
    let view = View::from_entries(1, all.map(|key| (key, "")));
    let below = ["/a", "/a/b", "/a/b/c", "/a/c"];
    assert_eq!(keys(view.list("/a")), below);
    assert_eq!(keys(view.list("/a/")), below);
    assert_eq!(keys(view.list("/")), all);
    assert_eq!(keys(view.list("")), all);
    assert_eq!(keys(view.list("/a/b/c")), ["/a/b/c"]);
    assert_eq!(keys(view.list("/none")), [] as [&str; 0]);
    for after in ["", "/a", "/a-b", "/a/b", "/a/b/z", "/a/c", "/z"] {
        let rest: Vec<_> = below.into_iter().filter(|key| *key > after).collect();
        assert_eq!(keys(view.list_after("/a", Some(after))), rest, "{after}");
    }
}

/// What is brought into a view, or out of it.
#[derive(Debug, Clone)]
enum Step {
    Key(&'static str, Option<&'static str>),
    Touched(&'static str),
    Node(&'static str, Option<NodeBgp>),
    Prefix(PrefixList, Family, &'static str, bool),
}

impl Step {
    fn take(&self, view: &mut View, writer: &mut ViewWriter) {
        match self {
            Self::Key(key, value) => drop(writer.put(view, key, *value)),
            Self::Touched(key) => writer.touch(key),
            Self::Node(name, bgp) => {
                let name = name.parse().unwrap();
                writer.set_node(view, &name, bgp.clone().map(|bgp| Node::of(&name, bgp)));
            }
            Self::Prefix(list, family, prefix, there) => {
                let key = prefix.replace('/', "-").into();
                writer.set_prefix(view, *list, *family, &key, *there);
            }
        }
    }
}

#[test]
fn paths_that_came_and_went_take_no_room_and_a_change_of_one_is_still_seen() {
    let (mut view, mut writer) = (View::default(), ViewWriter::new(1));
    let stays = [
        Step::Key("/stays/x", Some("")),
        Step::Node("stays", Some(NodeBgp::default())),
        Step::Prefix(PrefixList::Routes, Family::V4, "10.0.0.1/32", true),
    ];
    stays.iter().for_each(|step| step.take(&mut view, &mut writer));
    writer.commit(&mut view);
    let names: [Name; 2] = ["node", "stays-too"].map(|name| name.parse().unwrap());
    let goes = [
        ("/calico/bgp/v1/host/node", "/calico/bgp/v1/host/node/ip_addr_v4"),
        ("/calico/staticroutesv6", "/calico/staticroutesv6/fd00::-64"),
    ];
    let (mut revision, mut most) = (1, 0);
    for number in 0..10 * REMOVED {
        let key = format!("/node/{number}/address");
        for there in [true, false] {
            let before = view.revision_of(&key);
            let before_those = goes.map(|(folder, key)| [folder, key].map(|path| view.revision_of(path)));
            revision += 1;
            let mut writer = ViewWriter::new(revision);
            writer.put(&mut view, &key, there.then_some("v"));
            writer.set_node(&mut view, &names[0], there.then(|| Node::of(&names[0], NodeBgp::default())));
            writer.set_prefix(&mut view, PrefixList::Routes, Family::V6, &"fd00::-64".into(), there);
            writer.commit(&mut view);
            assert!(view.revision_of(&key) > before, "{key}");
            for ((folder, key), [before_folder, before_key]) in goes.into_iter().zip(before_those) {
                assert!(view.revision_of(folder) > before_folder, "{folder}");
                assert!(view.revision_of(key) > before_key, "{key}");
            }
        }
        most = most.max(view.revisions.len());
    }
    assert!(most <= 3 * REMOVED, "{most}");
    let stayed = [
        "/stays",
        "/stays/x",
        "/calico/bgp/v1/host/stays",
        "/calico/bgp/v1/host/stays/rr_cluster_id",
        "/calico/staticroutes",
        "/calico/staticroutes/10.0.0.1-32",
    ];
    for path in stayed {
        assert_eq!(view.revision_of(path), 1, "{path}");
    }
    for path in ["/", "/calico", "/calico/bgp/v1/host"] {
        assert_eq!(view.revision_of(path), revision, "{path}");
    }
}

#[test]
fn a_password_is_there_for_templates_alone_and_as_long_as_its_value() {
    const KEY: &str = "/peer";
    enum Step {
        Secret(&'static str),
        Plain,
        Gone,
        Touched,
    }
    let steps = [
        (Step::Secret("one"), true, Some("one")),
        (Step::Secret("one"), false, Some("one")),
        // Only the password is another.
        (Step::Secret("two"), true, Some("two")),
        (Step::Touched, true, Some("two")),
        (Step::Plain, true, None),
        (Step::Plain, false, None),
        (Step::Secret("two"), true, Some("two")),
        (Step::Gone, true, None),
        (Step::Gone, false, None),
        // What was there before does not come back.
        (Step::Plain, true, None),
    ];
    let mut view = View::default();
    for (revision, (step, changes, expected)) in (1..).zip(steps) {
        let before = view.revision();
        let mut writer = ViewWriter::new(revision);
        match step {
            Step::Secret(password) => {
                let full = format!("with {password}").into();
                let password = password.parse().expect("a password");
                writer.put_secret(&mut view, KEY, "shown", full, password);
            }
            Step::Plain => drop(writer.put(&mut view, KEY, Some("shown"))),
            Step::Gone => drop(writer.put(&mut view, KEY, None)),
            Step::Touched => writer.touch(KEY),
        }
        assert_eq!(writer.is_dirty(), changes, "{revision}");
        writer.commit(&mut view);
        assert_eq!(view.revision(), if changes { revision } else { before }, "{revision}");
        let revealed = view.reveal(KEY);
        let password = revealed.as_ref().and_then(|value| value.password);
        let password = password.map(|password| password.reveal().to_owned());
        assert_eq!(password.as_deref(), expected, "{revision}");
        let text = expected.map_or("shown".to_owned(), |password| format!("with {password}"));
        assert!(revealed.is_none_or(|value| value.text == text), "{revision}");
        assert!(view.get(KEY).is_none_or(|value| value == "shown"), "{revision}");
        assert!(!format!("{view:?}").contains("with "), "{revision}");
    }
}

/// What a view has to say, told in the plainest way.
#[derive(Debug, Clone, Default)]
struct Told {
    there: BTreeMap<String, String>,
    /// The revision of the last change of each key that ever was.
    changed: BTreeMap<String, u64>,
}

impl Told {
    /// Takes a step; adds the keys that it changed to others.
    fn take(&mut self, step: &Step, revision: u64, touched: &mut BTreeSet<String>) {
        let mut change = |key: String, value: Option<String>| {
            let differs = match value {
                Some(value) => self.there.insert(key.clone(), value.clone()) != Some(value),
                None => self.there.remove(&key).is_some(),
            };
            if differs {
                self.changed.insert(key.clone(), revision);
                touched.insert(key);
            }
        };
        match step {
            Step::Key(key, value) => change((*key).to_owned(), value.map(str::to_owned)),
            Step::Touched(key) => {
                self.changed.insert((*key).to_owned(), revision);
                touched.insert((*key).to_owned());
            }
            Step::Node(name, bgp) => {
                for (fact, value) in facts(bgp.as_ref()) {
                    change(format!("/calico/bgp/v1/host/{name}/{fact}"), value);
                }
            }
            Step::Prefix(list, family, prefix, there) => {
                let list = if *list == PrefixList::Routes { "staticroutes" } else { "rejectcidrs" };
                let family = if *family == Family::V4 { "" } else { "v6" };
                let key = format!("/calico/{list}{family}/{}", prefix.replace('/', "-"));
                change(key, there.then(|| (*prefix).to_owned()));
            }
        }
    }

    fn list(&self, path: &str, after: Option<&str>) -> Vec<(&str, &str)> {
        let there = self.there.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        there.filter(|(key, _)| covers(path, key) && after.is_none_or(|after| *key > after)).collect()
    }

    fn revision_of(&self, path: &str) -> u64 {
        let below = self.changed.iter().filter(|(key, _)| covers(path, key));
        below.map(|(_, revision)| *revision).max().unwrap_or(0)
    }
}

fn covers(path: &str, key: &str) -> bool {
    key.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The keys that a node can have, with the values that it has.
fn facts(bgp: Option<&NodeBgp>) -> [(&'static str, Option<String>); 8] {
    let always = |value: Option<String>| bgp.map(|_| value.unwrap_or_default());
    let (v4, v6) = (bgp.and_then(|bgp| bgp.ipv4.as_ref()), bgp.and_then(|bgp| bgp.ipv6.as_ref()));
    [
        ("ip_addr_v4", always(v4.map(|address| address.ip().to_string()))),
        ("ip_addr_v6", always(v6.map(|address| address.ip().to_string()))),
        ("network_v4", v4.map(|address| address.network().to_string())),
        ("network_v6", v6.map(|address| address.network().to_string())),
        ("wireguard_addr_v4", always(bgp.and_then(|bgp| bgp.wireguard_ipv4).map(|ip| ip.to_string()))),
        ("wireguard_addr_v6", always(bgp.and_then(|bgp| bgp.wireguard_ipv6).map(|ip| ip.to_string()))),
        ("rr_cluster_id", always(bgp.and_then(|bgp| bgp.cluster_id).map(|id| id.to_string()))),
        ("as_num", bgp.and_then(|bgp| bgp.as_number).map(|number| number.to_string())),
    ]
}

/// Keys that are stored. Some are folders of others, some lie among what is made or right beside it.
const KEYS: [&str; 14] = [
    "/a",
    "/a/b",
    "/a/b/c",
    "/a-b",
    "/calico",
    "/calico/bgp/v1/host",
    "/calico/bgp/v1/host/a",
    "/calico/bgp/v1/host/a/listen_port",
    "/calico/bgp/v1/host/a/peer_v4/10.0.0.9",
    "/calico/bgp/v1/host/a-b/as_num/below",
    "/calico/bgp/v1/host-x",
    "/calico/staticroutes",
    "/calico/staticroutes/all",
    "/z",
];

/// The second continues the first, with what is less than a slash and with what is greater.
const NODES: [&str; 5] = ["a", "a-b", "a.b", "a0", "b"];

const PREFIXES: [(Family, &str); 5] = [
    (Family::V4, "10.0.0.0/8"),
    (Family::V4, "10.0.0.0/16"),
    (Family::V4, "10.0.0.1/32"),
    (Family::V6, "fd00::/8"),
    (Family::V6, "fd00::0/64"),
];

/// Paths that may hold something, or begin as what does.
fn paths() -> Vec<String> {
    let hosts = NODES.into_iter().flat_map(|name| {
        let folder = format!("/calico/bgp/v1/host/{name}");
        facts(None).map(|(fact, _)| format!("{folder}/{fact}")).into_iter().chain([folder])
    });
    let prefixes = ["staticroutes", "staticroutesv6", "rejectcidrs", "rejectcidrsv6"].into_iter();
    let prefixes = prefixes.flat_map(|list| {
        let keys = PREFIXES.map(|(_, prefix)| format!("/calico/{list}/{}", prefix.replace('/', "-")));
        keys.into_iter().chain([format!("/calico/{list}")])
    });
    let others = [
        "",
        "/calico/bgp",
        "/calico/bgp/v1",
        "/calico/bgp/v1/host/a-",
        "/calico/bgp/v1/host/a/peer_v4",
        "/calico/bgp/v1/host/a/ip_addr",
        "/calico/bgp/v1/host/a/ip_addr_v4/below",
        "/calico/bgp/v1/host/a-b/as_num/a",
        "/calico/bgp/v1/host/~",
        "/calico/staticroutes/10.0.0.0",
        "/calico/staticroutes/10.0.0.0-8/below",
        "/calico/staticroutes-x",
        "/zz",
    ];
    hosts.chain(prefixes).chain(KEYS.into_iter().chain(others).map(str::to_owned)).collect()
}

prop_compose! {
    fn bgp()(
        address in 0_usize..3,
        both in any::<bool>(),
        as_number in proptest::option::of(1_u32..3),
        id in proptest::option::of(1_u8..3),
    ) -> NodeBgp {
        NodeBgp {
            ipv4: [None, Some("10.0.0.1/24"), Some("10.0.0.2/24")][address].map(|ip| ip.parse().unwrap()),
            ipv6: both.then(|| "fd00::1".parse().unwrap()),
            as_number: as_number.map(|number| number.to_string().parse().unwrap()),
            cluster_id: id.map(|id| format!("10.9.9.{id}").parse().unwrap()),
            wireguard_ipv4: both.then(|| [10, 1, 0, 1].into()),
            ..NodeBgp::default()
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..KEYS.len(), proptest::option::of(0_usize..2))
            .prop_map(|(key, value)| Step::Key(KEYS[key], value.map(|value| ["x", "y"][value]))),
        1 => (0..KEYS.len()).prop_map(|key| Step::Touched(KEYS[key])),
        5 => (0..NODES.len(), proptest::option::weighted(0.7, bgp()))
            .prop_map(|(name, bgp)| Step::Node(NODES[name], bgp)),
        4 => (0..PrefixList::ALL.len(), 0..PREFIXES.len(), any::<bool>()).prop_map(|(list, prefix, there)| {
            let (family, prefix) = PREFIXES[prefix];
            Step::Prefix(PrefixList::ALL[list], family, prefix, there)
        }),
    ]
}

fn texts<'a>(entries: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>) -> Vec<(String, String)> {
    entries.map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
}

fn owned(entries: Vec<(&str, &str)>) -> Vec<(String, String)> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

proptest! {
    /// A batch is its steps, and what is listed after it: a path, from behind another.
    #[test]
    fn a_view_tells_what_was_done_to_it_however_its_keys_are_kept(
        batches in proptest::collection::vec(
            (
                proptest::collection::vec(step(), 1..10),
                proptest::collection::vec(any::<[prop::sample::Index; 2]>(), 12),
            ),
            1..10,
        ),
    ) {
        let paths = paths();
        let (mut view, mut told) = (View::default(), Told::default());
        let mut earlier = Vec::new();
        for (at, (steps, listings)) in batches.into_iter().enumerate() {
            let revision = at as u64 + 1;
            let (mut writer, mut touched) = (ViewWriter::new(revision), BTreeSet::new());
            for step in &steps {
                step.take(&mut view, &mut writer);
                told.take(step, revision, &mut touched);
            }
            prop_assert_eq!(writer.is_dirty(), !touched.is_empty());
            prop_assert_eq!(writer.commit(&mut view), touched.len(), "{:?} {:?}", touched, steps);
            prop_assert_eq!(view.len(), told.there.len());
            prop_assert_eq!(view.is_empty(), told.there.is_empty());
            for path in &paths {
                let value = view.get(path);
                prop_assert_eq!(value.as_deref(), told.there.get(path).map(String::as_str), "{}", path);
                prop_assert_eq!(view.revision_of(path), told.revision_of(path), "{}", path);
                prop_assert_eq!(texts(view.list(path)), owned(told.list(path, None)), "{}", path);
            }
            for [path, after] in listings {
                let (path, after) = (path.get(&paths), after.get(&paths));
                let listed = texts(view.list_after(path, Some(after)));
                prop_assert_eq!(listed, owned(told.list(path, Some(after))), "{} after {}", path, after);
            }
            earlier.push((view.clone(), told.clone()));
        }
        for (view, told) in earlier {
            prop_assert_eq!(texts(view.list("/")), owned(told.list("", None)));
            for path in &paths {
                prop_assert_eq!(view.revision_of(path), told.revision_of(path), "{}", path);
            }
        }
    }
}
