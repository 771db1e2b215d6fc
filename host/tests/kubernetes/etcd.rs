//! By way of a real etcd everything is rendered as from files.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::process::Command;
use std::time::Duration;

use rcgen::ExtendedKeyUsagePurpose;
use serde_json::{Value, json};
use tailorbird::syncer::Pem;
use tailorbird::syncer::etcd::{Config, Identity, Pace, Tls, User};

use crate::cluster::Cluster;
use crate::common::{Bench, Ran};
use crate::etcds::{Etcd, config};
use crate::follow::{Followed, Store, from_files};
use crate::objects::{calico, cluster, peer, settings};
use crate::papers::{Name, Papers};
use crate::program::{Daemon, ended, set};
use crate::server::{AT_MOST, free_ports};
use crate::stored::{Beside, OBJECTS, etcd_pace, follow_alone, follow_beside, stored};
use crate::wire::{Harm, Wire, each_harm_changes_nothing_in_the_end};

/// What of the cluster is Calico's.
fn calicos() -> Vec<Value> {
    cluster().into_iter().filter(|object| stored(object).is_some()).collect()
}

/// An etcd with Calico's part of the cluster in it, and its objects.
pub(crate) async fn taken(more: &[&str]) -> Option<(Etcd, Vec<Value>)> {
    let etcd = Etcd::start(more).await?;
    let objects = calicos();
    etcd.apply_all(&objects).await;
    Some((etcd, objects))
}

fn follow(config: Config) -> Followed {
    follow_alone(config, settings(), etcd_pace())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_followed_with_kubernetes_beside_it() {
    let Some(api) = Cluster::take().await else { return };
    let Some(etcd) = Etcd::start(&[]).await else { return };
    let objects = cluster();
    let both = Beside(&etcd, &api);
    for object in &objects {
        both.apply(object).await;
    }
    let kubeconfig = api.deployed(&["bgp"]).await;
    let mut followed = follow_beside(etcd.config(), kubeconfig, settings()).await;
    followed.until_rendered("the start", &objects).await;
    let instance = format!("http://{}", etcd.address());
    followed.until("it is named", |followed| followed.states[0].instance == Some(instance.clone())).await;
    followed.until_more_came_and_went(&both, &objects).await;
    followed.stop().await;

    let bench = Bench::new();
    let mut command = with_etcd(&bench, &etcd, "render --no-check --datastore etcd --out OUT");
    command.env("KUBECONFIG", api.files.path().join("kubeconfig"));
    ended(command).await.ends(0);
    assert_eq!(set(&bench.out()), from_files(&settings(), &objects));
}

#[tokio::test]
async fn an_etcd_that_is_killed_is_followed_on() {
    let Some((mut etcd, mut objects)) = taken(&[]).await else { return };
    let mut followed = follow(etcd.config());
    followed.until_rendered("the start", &objects).await;
    followed.first_told();
    for number in 5..9 {
        etcd.end();
        etcd.begin().await;
        objects.push(peer(number));
        etcd.apply(&peer(number)).await;
        followed.until_rendered("a peer after a restart", &objects).await;
        assert_eq!(followed.first_told().len(), 1, "nothing else is told");
    }
    etcd.delete(&objects.pop().unwrap()).await;
    followed.until_rendered("a peer goes", &objects).await;
    assert_eq!(followed.states[0].losses, 0, "an absence within the time that is given is no loss");
    followed.stop().await;
}

#[tokio::test]
async fn an_absence_is_told_and_its_end_too() {
    let Some((mut etcd, objects)) = taken(&[]).await else { return };
    let mut followed = follow_alone(etcd.config(), settings(), Pace { grace: Duration::ZERO, ..etcd_pace() });
    followed.until_rendered("the start", &objects).await;
    followed.first_told();
    etcd.end();
    followed.until("it is told", |followed| followed.first_lost().contains("no connection")).await;
    etcd.begin().await;
    // Nothing has happened, and so there is nothing to tell but that.
    followed.until("it is there again", Followed::in_sync).await;
    assert_eq!(followed.first_told(), Vec::<String>::new());
    followed.stop().await;
}

#[tokio::test]
async fn what_happened_while_nobody_could_be_asked_is_told() {
    // Quiet folders are said to be so.
    let Some((etcd, mut objects)) = taken(&["--watch-progress-notify-interval", "50ms"]).await else {
        return;
    };
    let wire = Wire::to(etcd.address()).await;
    let at = wire.address;
    let mut followed = follow(config(at));
    followed.until_rendered("the start", &objects).await;
    followed.first_told();
    let mut wire = Some(wire);
    // The last peer is replaced by another one; of some of it the history is lost.
    for (number, is_compacted) in [(5, false), (6, true), (7, false), (8, true)] {
        drop(wire.take());
        if number > 5 {
            etcd.delete(&objects.pop().unwrap()).await;
        }
        objects.push(peer(number));
        etcd.apply(&peer(number)).await;
        if is_compacted {
            etcd.compact().await;
        }
        wire = Some(Wire::between(etcd.address(), at).await);
        followed.until_rendered("what happened", &objects).await;
        let told = followed.first_told();
        assert_eq!(told.len(), if number > 5 { 2 } else { 1 }, "{number}: {told:#?}");
    }
    // Nobody who follows minds.
    objects.push(peer(9));
    etcd.apply(&peer(9)).await;
    etcd.compact().await;
    followed.until_rendered("a peer", &objects).await;
    assert_eq!((followed.first_told().len(), followed.states[0].losses), (1, 0));
    followed.stop().await;
}

#[tokio::test]
async fn data_that_is_restored_from_a_copy_is_read_anew() {
    let Some((mut etcd, mut objects)) = taken(&[]).await else { return };
    etcd.end();
    etcd.save();
    etcd.begin().await;
    let mut followed = follow(etcd.config());
    followed.until_rendered("the start", &objects).await;
    followed.first_told();
    etcd.apply(&peer(9)).await;
    objects.push(peer(9));
    followed.until_rendered("a peer", &objects).await;
    followed.first_told();

    etcd.end();
    etcd.restore();
    etcd.begin().await;
    objects.pop();
    followed.until_rendered("the copy", &objects).await;
    let told = followed.first_told();
    assert!(told.len() == 1 && told[0].starts_with("Delete"), "{told:#?}");

    // Another cluster has other data, whatever its revisions are.
    etcd.end();
    etcd.replace();
    etcd.begin().await;
    objects.retain(|object| object["metadata"]["name"] != "rack");
    etcd.apply_all(&objects).await;
    for number in 0..20 {
        etcd.put("/calico/nobody/cares", &number.to_string()).await;
    }
    followed.until_rendered("another cluster", &objects).await;
    followed.stop().await;
}

#[tokio::test]
async fn whatever_happens_it_comes_to_what_is_there() {
    let Some((mut etcd, objects)) = taken(&["--watch-progress-notify-interval", "20ms"]).await else {
        return;
    };
    let wire = Wire::to(etcd.address()).await;
    let at = wire.address;
    let mut wire = Some(wire);
    let mut followed = follow(config(at));
    // Peers by their number: the AS number, or none while the value is no peer.
    let mut peers: BTreeMap<u64, Option<u64>> = BTreeMap::new();
    let mut random: u64 = 4711;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let peer = |number: u64, asn: u64| {
        let spec = json!({"peerIP": format!("10.2.0.{number}"), "asNumber": asn});
        calico("BGPPeer", &format!("random-{number}"), spec)
    };
    for step in 0..200 {
        let number = 1 + next(12);
        match next(20) {
            0..10 => {
                let asn = 65000 + next(100);
                etcd.apply(&peer(number, asn)).await;
                peers.insert(number, Some(asn));
            }
            10..14 => {
                if peers.remove(&number).is_some() {
                    etcd.delete(&peer(number, 1)).await;
                }
            }
            14 => {
                etcd.put(&format!("{OBJECTS}/bgppeers/random-{number}"), "{").await;
                peers.insert(number, None);
            }
            15 => etcd.compact().await,
            16 | 17 => drop(wire.take()),
            18 if step % 4 == 0 => {
                etcd.end();
                etcd.begin().await;
            }
            _ => {
                if wire.is_none() {
                    wire = Some(Wire::between(etcd.address(), at).await);
                }
            }
        }
        if step % 20 == 19 {
            if wire.is_none() {
                wire = Some(Wire::between(etcd.address(), at).await);
            }
            let there = peers.iter().filter_map(|(number, asn)| Some(peer(*number, (*asn)?)));
            let expected: Vec<Value> = objects.iter().cloned().chain(there).collect();
            followed.until_rendered(&format!("step {step}"), &expected).await;
        }
    }
    assert_eq!(followed.states[0].losses, 0);
    followed.stop().await;
}

#[tokio::test]
async fn a_dead_endpoint_is_survived() {
    let Some((etcd, mut objects)) = taken(&[]).await else { return };
    let [dead] = free_ports();
    let wire = Wire::to(etcd.address()).await;
    let endpoints = format!("http://127.0.0.1:{dead},http://{},http://{}", wire.address, etcd.address());
    let mut followed = follow(Config::new(endpoints.parse().unwrap()));
    followed.until_rendered("the start", &objects).await;
    drop(wire);
    objects.push(peer(9));
    etcd.apply(&peer(9)).await;
    followed.until_rendered("one has gone", &objects).await;
    assert_eq!(followed.states[0].losses, 0);
    followed.stop().await;

    // None is there: it is waited for, and says so at once.
    let mut followed = follow(config(([127, 0, 0, 1], dead).into()));
    followed.until("the reason", |followed| followed.first_lost().contains(&dead.to_string())).await;
    let _wire = Wire::between(etcd.address(), ([127, 0, 0, 1], dead).into()).await;
    followed.until_rendered("it has come", &objects).await;
    followed.stop().await;
}

/// Members who soon see that another one is gone.
const QUICK: [&str; 4] = ["--heartbeat-interval", "50", "--election-timeout", "500"];

#[tokio::test]
async fn a_member_that_is_frozen_is_left_for_another() {
    let Some(members) = Etcd::start_members::<3>(&QUICK).await else { return };
    let mut objects = calicos();
    members[0].apply_all(&objects).await;
    let at = |member: &Etcd| format!("http://{}", member.address());
    let endpoints = members.each_ref().map(at).join(",");
    let pace = Pace { silence: Duration::from_secs(1), ask: Duration::from_millis(200), ..etcd_pace() };
    let pace = Pace { answer: Duration::from_secs(1), dial: Duration::from_secs(1), ..pace };
    let mut followed = follow_alone(Config::new(endpoints.parse().unwrap()), settings(), pace);
    followed.until_rendered("the start", &objects).await;
    followed.until("it is named", |followed| followed.states[0].instance.is_some()).await;
    let first = followed.states[0].instance.clone().unwrap();
    let (frozen, others): (Vec<&Etcd>, Vec<&Etcd>) = members.iter().partition(|member| at(member) == first);
    frozen[0].freeze();
    objects.push(peer(9));
    let deadline = std::time::Instant::now() + AT_MOST;
    // The others may have to find a new leader first.
    while !others[0].try_put(&peer(9)).await {
        assert!(std::time::Instant::now() < deadline, "there is no leader");
    }
    followed.until_rendered("a peer while a member is frozen", &objects).await;
    followed.until("another is named", |followed| followed.states[0].instance != Some(first.clone())).await;
    assert_eq!(followed.states[0].losses, 0);
    followed.stop().await;
}

#[tokio::test]
async fn a_member_without_a_leader_is_no_source() {
    let Some(mut members) = Etcd::start_members::<3>(&QUICK).await else { return };
    let mut objects = calicos();
    members[0].apply_all(&objects).await;
    let pace = Pace { grace: Duration::ZERO, ..etcd_pace() };
    let mut followed = follow_alone(members[0].config(), settings(), pace);
    followed.until_rendered("the start", &objects).await;
    followed.first_told();
    let [_, second, third] = &mut members;
    second.end();
    third.end();
    followed.until("it is told", |followed| followed.first_lost().contains("no leader")).await;
    second.begin().await;
    followed.until("there is a leader", Followed::in_sync).await;
    assert_eq!(followed.first_told(), Vec::<String>::new());
    objects.push(peer(9));
    second.apply(&peer(9)).await;
    followed.until_rendered("a peer", &objects).await;
    followed.stop().await;
}

#[tokio::test]
async fn harm_on_the_way_changes_nothing_in_the_end() {
    let Some((etcd, objects)) = taken(&[]).await else { return };
    let wire = Wire::to(etcd.address()).await;
    let short = Pace { answer: Duration::from_secs(1), silence: Duration::from_secs(1), ..etcd_pace() };
    let harms = [
        Harm::Cut(0),
        Harm::Cut(100),
        Harm::Cut(900),
        Harm::Cut(3000),
        Harm::Silence(0),
        Harm::Silence(700),
        Harm::Garbage(0),
        Harm::Garbage(800),
        Harm::Flip(5),
        Harm::Slow,
    ];
    let follow = async |at| follow_alone(config(at), settings(), short);
    each_harm_changes_nothing_in_the_end(wire, &harms, &etcd, &objects, follow).await;
}

#[tokio::test]
async fn a_watch_that_falls_silent_is_left() {
    let Some((etcd, mut objects)) = taken(&[]).await else { return };
    let wire = Wire::to(etcd.address()).await;
    let pace = Pace { silence: Duration::from_secs(2), ask: Duration::from_millis(100), ..etcd_pace() };
    // One that is asked answers, and so is not silent.
    let mut followed = follow_alone(config(wire.address), settings(), pace);
    followed.until_rendered("the start", &objects).await;
    followed.during(pace.silence * 2).await;
    assert_eq!(wire.connections(), 1);
    followed.stop().await;
    // This much is enough for everything that is read.
    wire.harm(Harm::Silence(40_000));
    let mut followed = follow_alone(config(wire.address), settings(), pace);
    followed.until_rendered("the start", &objects).await;
    let deadline = std::time::Instant::now() + AT_MOST;
    while !wire.is_silent() {
        assert!(std::time::Instant::now() < deadline, "it goes on");
        etcd.put("/calico/ipam/v2/host/worker-1/ipv4/nothing", &"x".repeat(1000)).await;
    }
    objects.push(peer(9));
    etcd.apply(&peer(9)).await;
    followed.until_rendered("what happened in silence", &objects).await;
    followed.stop().await;
}

#[tokio::test]
async fn values_and_keys_that_are_not_what_they_should_be_harm_nothing_else() {
    let Some((etcd, mut objects)) = taken(&[]).await else { return };
    let mut followed = follow(etcd.config());
    followed.until_rendered("the start", &objects).await;
    let bad = format!("{OBJECTS}/bgppeers/bad");
    let blocks = "/calico/ipam/v2/host/worker-1";
    for (key, value) in [
        (bad.as_str(), "{"),
        (&format!("{OBJECTS}/bgppeers/a/b"), "{}"),
        (&format!("{OBJECTS}/bgppeers/"), "{}"),
        (&format!("{OBJECTS}/bgppeersx/x"), "{}"),
        (&format!("{OBJECTS}/tiers/x"), "{}"),
        (&format!("{blocks}-longer/ipv4/block/10.64.7.0-26"), r#"{"state":"confirmed"}"#),
        (&format!("{blocks}/ipv4/block/10.64.8.0-26"), r#"{"state":"pending"}"#),
        (&format!("{blocks}/ipv4/block/10.64.9.0-26"), r#"{"state":"confirmed","deleted":true}"#),
        (&format!("{blocks}/ipv4/else"), "{}"),
    ] {
        etcd.put(key, value).await;
    }
    // Its value says another name, which counts for nothing.
    let spec = json!({"peerIP": "10.1.0.9", "asNumber": 65001});
    let named = calico("BGPPeer", "another", spec.clone()).to_string();
    etcd.put(
        &format!("{OBJECTS}/bgppeers/own"),
        &named.replace("crd.projectcalico.org/v1", "projectcalico.org/v3"),
    )
    .await;
    objects.push(calico("BGPPeer", "own", spec));
    followed.until_rendered("the bad ones", &objects).await;
    let reports: Vec<String> = followed.engine.reports().map(|report| report.error.to_string()).collect();
    assert!(
        reports.iter().any(|report| report.contains("etcd has") && report.contains(&bad)),
        "{reports:#?}"
    );
    let problems = &followed.states[0].problems;
    assert_eq!(problems.len(), 2, "{problems:#?}");

    // An empty value confirms a block.
    etcd.put(&format!("{blocks}/ipv4/block/10.64.8.0-26"), "").await;
    objects.push(calico("BlockAffinity", "block", json!({"cidr": "10.64.8.0/26", "node": "worker-1"})));
    followed.until_rendered("a confirmed block", &objects).await;
    etcd.put(&bad, r#"{"kind":"BGPPeer","spec":{"peerIP":"10.1.0.8","asNumber":65001}}"#).await;
    objects.push(calico("BGPPeer", "bad", json!({"peerIP": "10.1.0.8", "asNumber": 65001})));
    followed.until_rendered("the bad one is good", &objects).await;
    followed.stop().await;
}

#[tokio::test]
async fn more_than_a_message_may_hold_comes_in_several() {
    let Some((etcd, objects)) = taken(&[]).await else { return };
    let mut large = calico("IPPool", "", json!({"cidr": "10.99.0.0/16", "disabled": true}));
    large["metadata"]["annotations"] = json!({"x": "x".repeat(50_000)});
    large["apiVersion"] = "projectcalico.org/v3".into();
    let large = large.to_string();
    // 2.5 MB in all.
    for number in 0..50 {
        etcd.put(&format!("{OBJECTS}/tiers/{number}"), &large).await;
        etcd.put(&format!("{OBJECTS}/ippools/z-{number}"), &large).await;
    }
    let pools = (0..50).map(|number| {
        calico("IPPool", &format!("z-{number}"), json!({"cidr": "10.99.0.0/16", "disabled": true}))
    });
    let objects: Vec<Value> = objects.into_iter().chain(pools).collect();
    let mut followed =
        follow_alone(etcd.config(), settings(), Pace { page: 500, message: 1 << 20, ..etcd_pace() });
    followed.until_rendered("large values", &objects).await;
    followed.stop().await;
}

#[tokio::test]
async fn with_tls_both_sides_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let papers = Papers::new(folder.path(), "authority");
    let here: IpAddr = [127, 0, 0, 1].into();
    papers.sign("server", ExtendedKeyUsagePurpose::ServerAuth, &[Name::Address(here)]);
    papers.sign("elsewhere", ExtendedKeyUsagePurpose::ServerAuth, &[Name::Address([192, 0, 2, 1].into())]);
    papers.sign("client", ExtendedKeyUsagePurpose::ClientAuth, &[]);
    Papers::new(folder.path(), "other").sign("stranger", ExtendedKeyUsagePurpose::ClientAuth, &[]);
    let file = |name: &str| folder.path().join(name);
    let Some((mut etcd, objects)) = taken(&[]).await else { return };
    for (server, tries) in [
        (
            "server",
            &[
                ("authority", Some("client"), None),
                ("other", Some("client"), Some("UnknownIssuer")),
                ("authority", Some("stranger"), Some("must trust the authority that signed")),
                ("authority", None, Some("name it by ETCD_CERT_FILE")),
                ("authority", Some("nobody"), Some("nobody.pem")),
                ("nobody", Some("client"), Some("nobody.pem")),
            ][..],
        ),
        ("elsewhere", &[("authority", Some("client"), Some("not valid for name"))]),
    ] {
        etcd.end();
        etcd.with_tls(folder.path(), server, "authority");
        etcd.begin().await;
        for (authority, client, told) in tries {
            let pem = |name: String| Pem::File(file(&name));
            let identity = client.map(|client| Identity {
                certificate: pem(format!("{client}.pem")),
                key: pem(format!("{client}.key")),
            });
            let tls = Tls { authority: Some(pem(format!("{authority}.pem"))), identity };
            let mut followed = follow(Config { tls, ..etcd.secure() });
            match told {
                None => followed.until_rendered("TLS", &objects).await,
                Some(told) => {
                    let what = format!("{authority}, {client:?}: {told}");
                    followed.until(&what, |followed| followed.first_lost().contains(told)).await;
                }
            }
            followed.stop().await;
        }
        // It speaks TLS, and is not spoken to with it.
        let mut followed = follow(config(etcd.secure_address()));
        followed.until("no TLS", |followed| followed.first_lost().contains("write `https://`")).await;
        followed.stop().await;
    }
}

#[tokio::test]
async fn a_user_reads_what_his_role_allows() {
    let Some((mut etcd, mut objects)) = taken(&["--auth-token-ttl", "1"]).await else { return };
    etcd.ask_who_asks("sesame", "/calico/", "/calico0").await;
    let user = |password: &str| Some(User::new("calico".to_owned(), password));
    let mut followed = follow(Config { user: user("sesame"), ..etcd.config() });
    followed.until_rendered("the start", &objects).await;
    for (user, told) in [(user("open"), "ETCD_PASSWORD"), (None, "ETCD_USERNAME")] {
        let mut refused = follow(Config { user, ..etcd.config() });
        refused.until(told, |followed| followed.first_lost().contains(told)).await;
        let lost = refused.first_lost();
        assert!(!lost.contains("\"open\"") && !lost.contains("sesame"), "{lost}");
        refused.stop().await;
    }
    // No token outlives the etcd that gave it.
    etcd.end();
    etcd.begin().await;
    etcd.ask_as_root().await;
    objects.push(peer(9));
    etcd.apply(&peer(9)).await;
    followed.until_rendered("a peer after a restart", &objects).await;
    assert_eq!(followed.states[0].losses, 0);
    followed.stop().await;
}

#[tokio::test]
async fn what_may_not_be_read_is_named() {
    let Some((etcd, _)) = taken(&[]).await else { return };
    etcd.ask_who_asks("sesame", "/calico/resources/", "/calico/resources0").await;
    let user = Some(User::new("calico".to_owned(), "sesame"));
    let mut followed = follow(Config { user, ..etcd.config() });
    let told = "reading /calico/ipam/v2/host/worker-1/: etcdserver: permission denied; grant";
    followed.until(told, |followed| followed.first_lost().contains(told)).await;
    followed.stop().await;

    let bench = Bench::new();
    let mut command = with_etcd(&bench, &etcd, "doctor");
    command.env("ETCD_USERNAME", "calico").env("CALICO_ETCD_PASSWORD", "sesame");
    let ran = ended(command).await.ends(1);
    let at = format!("http://{}", etcd.address());
    for line in [
        format!("ok      etcd: ask {at}: as \"calico\""),
        format!("ok      etcd: read {OBJECTS}/nodes/ at {at}: allowed"),
        format!(
            "FAILED  etcd: read /calico/ipam/v2/host/worker-1/ at {at}: etcdserver: permission denied; grant"
        ),
    ] {
        assert!(ran.out.lines().any(|own| own.starts_with(&line)), "{line}: {ran:#?}");
    }
    assert!(!format!("{ran:?}").contains("sesame"), "{ran:#?}");
}

/// The program on a node that has an etcd, and no Kubernetes unless more is said.
fn with_etcd(bench: &Bench, etcd: &Etcd, line: &str) -> Command {
    let mut command = bench.command(line);
    command.env("NODENAME", "worker-1").env("TAILORBIRD_BIRD_SOCKETS", bench.path("birds"));
    command.env("ETCD_ENDPOINTS", format!("http://{}", etcd.address()));
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_reads_etcd_and_says_what_keeps_it_from_there() {
    let Some((mut etcd, objects)) = taken(&[]).await else { return };
    let bench = Bench::new();
    let expected = from_files(&settings(), &objects);
    let run = |etcd: &Etcd, line: &str| ended(with_etcd(&bench, etcd, line));
    run(&etcd, "render --no-check --datastore etcd --out OUT").await.ends(0);
    assert_eq!(set(&bench.out()), expected);
    run(&etcd, "diff --datastore etcd --out OUT").await.ends(0);
    run(&etcd, "get --datastore etcd /calico/v1/ipam").await.ends(0).prints("10.64.0.0-16");

    // The file of Calico's clients says it as well, and then nothing else does.
    let file = json!({
        "apiVersion": "projectcalico.org/v3",
        "kind": "CalicoAPIConfig",
        "spec": {"datastoreType": "etcdv3", "etcdEndpoints": format!("http://{}", etcd.address())},
    });
    bench.put("calicoctl.cfg", &file.to_string());
    fs::remove_dir_all(bench.out()).unwrap();
    let mut command = with_etcd(&bench, &etcd, "render --no-check --calico-config calicoctl.cfg --out OUT");
    command.env("ETCD_ENDPOINTS", "nonsense");
    ended(command).await.ends(0);
    assert_eq!(set(&bench.out()), expected);
    bench.put("calicoctl.cfg", &file.to_string().replace("etcdEndpoints", "etcdEndpoint"));
    let line = "get --calico-config calicoctl.cfg";
    run(&etcd, line).await.ends(2).tells("calicoctl.cfg: \"etcdEndpoint\" is no key");

    let ran = run(&etcd, "doctor").await.ends(1);
    let at = format!("http://{}", etcd.address());
    for line in [
        "ok      datastore: etcd".to_owned(),
        "ok      kubernetes: configuration: none, and none is needed".to_owned(),
        format!("ok      etcd: look up {at}: 127.0.0.1"),
        format!("ok      etcd: connect to {at}: without TLS"),
        format!("ok      etcd: version of {at}: version 3."),
        format!("ok      etcd: read {OBJECTS}/bgppeers/ at {at}: allowed"),
    ] {
        assert!(ran.out.lines().any(|own| own.starts_with(&line)), "{line}: {ran:#?}");
    }
    let mut command = with_etcd(&bench, &etcd, "doctor");
    command.env("ETCD_ENDPOINTS", at.replace("http", "https"));
    ended(command)
        .await
        .ends(1)
        .prints(&format!("FAILED  etcd: connect to {}: TLS", at.replace("http", "https")));
    etcd.end();
    let failed = format!("FAILED  etcd: connect to {at}: no connection");
    run(&etcd, "doctor").await.ends(1).prints(&failed).prints("is etcd running there");
}

#[test]
fn what_says_nothing_of_use_is_told_with_its_variable() {
    let bench = Bench::new();
    for (variable, value, told) in [
        ("DATASTORE_TYPE", "etcdv3", "ETCD_ENDPOINTS=\"\": "),
        ("ETCD_ENDPOINTS", "etcd:2379", "ETCD_ENDPOINTS=\"…\": an endpoint does not begin"),
        ("DATASTORE_TYPE", "etcd", "DATASTORE_TYPE=\"etcd\": neither `kubernetes` nor `etcdv3`"),
    ] {
        let mut command = bench.command("run --node worker-1");
        Ran::of(command.env(variable, value)).ends(2).tells(told);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_daemon_follows_etcd_and_shows_which_and_what_is_done_without() {
    let Some((etcd, mut objects)) = taken(&[]).await else { return };
    let bench = Bench::new();
    let (_daemon, status) = Daemon::shown(&bench, |line| with_etcd(&bench, &etcd, line)).await;
    let source = &status["sources"][0];
    assert_eq!(
        (&source["name"], &source["instance"]),
        (&json!("etcd"), &json!(format!("http://{}", etcd.address())))
    );
    assert!(status["absent"][0].as_str().unwrap().contains("no Services are advertised"), "{status:#}");
    objects.push(peer(9));
    etcd.apply(&peer(9)).await;
    let expected = from_files(&settings(), &objects);
    crate::program::until("the peer is there", || set(&bench.out()) == expected).await;
}
