//! By way of a real Typha everything is rendered as from files.

use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use rcgen::ExtendedKeyUsagePurpose;
use serde_json::{Value, json};
use tailorbird::syncer::typha::{At, Config, ServerIdentity, Tls, probe};

use crate::cluster::Cluster;
use crate::common::Bench;
use crate::etcd;
use crate::follow::{Store, from_files};
use crate::objects::{cluster, peer, settings};
use crate::papers::{Name, Papers, told_of_certificate};
use crate::program::{Daemon, ended, program, set};
use crate::server::{free_ports, skipped};
use crate::typhas::{Typha, config, follow, follow_alone, has_typha};
use crate::wire::{Harm, Wire, each_harm_changes_nothing_in_the_end};

/// The cluster, with a little of everything in it, and its objects.
async fn taken() -> Option<(Cluster, Vec<Value>)> {
    let api = Cluster::take().await?;
    if !has_typha() {
        return None;
    }
    let objects = cluster();
    api.apply_all(&objects).await;
    Some((api, objects))
}

#[tokio::test]
async fn a_cluster_is_followed_through_typhas_absence() {
    let Some((api, mut objects)) = taken().await else { return };
    let typha = Typha::start(&api, &[]).await;
    let port = typha.port;
    let kubeconfig = api.deployed(&["bgp"]).await;
    let mut followed = follow(typha.config(), kubeconfig, settings()).await;
    followed.until_rendered("the start", &objects).await;
    followed.until_more_came_and_went(&api, &objects).await;

    // Nothing happens while it is away: there is nothing to tell.
    followed.first_told();
    drop(typha);
    let typha = Typha::start_at(&api, port, &[]).await;
    api.apply(&peer(8)).await;
    objects.push(peer(8));
    followed.until_rendered("a peer after a restart", &objects).await;
    let events = followed.first_told();
    assert!(events.len() == 1 && events[0].contains("peer-8"), "{events:#?}");

    // A peer goes and another comes while it is away.
    drop(typha);
    api.delete(&objects.pop().unwrap()).await;
    objects.push(peer(7));
    api.apply(&peer(7)).await;
    let _typha = Typha::start_at(&api, port, &[]).await;
    followed.until_rendered("changes during an absence", &objects).await;
    let events = followed.first_told();
    assert_eq!(events.len(), 2, "{events:#?}");
    assert_eq!(followed.states[0].losses, 0, "an absence within the time that is given is no loss");
    followed.stop().await;
}

#[tokio::test]
async fn older_data_behind_a_typha_that_begins_anew_is_what_there_is() {
    if !has_typha() {
        return;
    }
    let Some((mut etcd, mut objects)) = etcd::taken(&[]).await else { return };
    etcd.end();
    etcd.save();
    etcd.begin().await;
    let (folder, [port]) = (tempfile::tempdir().unwrap(), free_ports());
    let typha = Typha::start_on(&etcd, port, folder.path());
    let mut followed = follow_alone(typha.config(), settings());
    followed.until_rendered("the start", &objects).await;
    etcd.apply(&peer(9)).await;
    objects.push(peer(9));
    followed.until_rendered("a peer", &objects).await;
    followed.first_told();

    drop(typha);
    etcd.end();
    etcd.restore();
    etcd.begin().await;
    let _typha = Typha::start_on(&etcd, port, folder.path());
    objects.pop();
    followed.until_rendered("the copy", &objects).await;
    let told = followed.first_told();
    assert!(told.len() == 1 && told[0].starts_with("Delete"), "{told:#?}");
    assert_eq!(followed.states[0].losses, 0);
    followed.stop().await;
}

/// An address of this machine that an endpoint may have.
fn own_address() -> Option<String> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent: this only asks for the way there.
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then(|| address.to_string())
}

#[tokio::test]
async fn one_of_two_is_drained_and_the_other_is_followed() {
    let Some((api, mut objects)) = taken().await else { return };
    let Some(own) = own_address() else {
        skipped("this machine has no address that an endpoint may have");
        return;
    };
    let typhas = [Typha::start(&api, &[]).await, Typha::start(&api, &[]).await];
    for (at, typha) in typhas.iter().enumerate() {
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": format!("typha-{at}"),
                "namespace": "kube-system",
                "labels": {"kubernetes.io/service-name": "calico-typha"},
            },
            "addressType": "IPv4",
            "ports": [{"name": "calico-typha", "port": typha.port}],
            // The first one is on this node.
            "endpoints": [{"addresses": [own], "nodeName": format!("worker-{}", at + 1), "conditions": {"ready": true}}],
        });
        api.apply(&slice).await;
        objects.push(slice);
    }
    let at = At::Service { namespace: "kube-system".parse().unwrap(), name: "calico-typha".parse().unwrap() };
    let by_service = Config { read: Duration::from_secs(5), ..Config::new(at) };
    let mut followed = follow(by_service, api.deployed(&["bgp"]).await, settings()).await;
    followed.until_rendered("the start", &objects).await;
    followed.first_told();

    let [first, second] = typhas;
    first.drain();
    objects.push(peer(9));
    api.apply(&peer(9)).await;
    followed.until_rendered("a peer while one is drained", &objects).await;
    drop(first);
    objects.push(peer(8));
    api.apply(&peer(8)).await;
    followed.until_rendered("a peer after one has gone", &objects).await;
    let events = followed.first_told();
    assert_eq!((events.len(), followed.states[0].losses), (2, 0), "{events:#?}");
    drop(second);
    followed.stop().await;
}

#[tokio::test]
async fn with_tls_both_sides_are_known() {
    let Some((api, objects)) = taken().await else { return };
    let folder = api.files.path();
    let papers = Papers::new(folder, "authority");
    papers.sign("typha-server", ExtendedKeyUsagePurpose::ServerAuth, &[Name::Uri("spiffe://cluster/typha")]);
    papers.sign("typha-client", ExtendedKeyUsagePurpose::ClientAuth, &[]);
    papers.sign("stranger", ExtendedKeyUsagePurpose::ClientAuth, &[]);
    Papers::new(folder, "other");
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let typha = Typha::start(
        &api,
        &[
            ("TYPHA_CAFILE", &file("authority.pem")),
            ("TYPHA_SERVERCERTFILE", &file("typha-server.pem")),
            ("TYPHA_SERVERKEYFILE", &file("typha-server.key")),
            ("TYPHA_CLIENTCN", "typha-client"),
        ],
    )
    .await;
    let kubeconfig = api.deployed(&["bgp"]).await;
    let common = |name: &str| ServerIdentity::CommonName(name.to_owned());
    let uri = |uri: &str| ServerIdentity::Uri(uri.to_owned());
    let either = ServerIdentity::Either("someone".into(), "spiffe://cluster/typha".into());
    for (authority, client, server, told) in [
        ("authority", "typha-client", common("typha-server"), None),
        ("authority", "typha-client", uri("spiffe://cluster/typha"), None),
        ("authority", "typha-client", either, None),
        ("authority", "typha-client", common("someone"), Some("the common name \"typha-server\"")),
        ("authority", "typha-client", uri("spiffe://other"), Some("spiffe://cluster/typha")),
        ("other", "typha-client", common("typha-server"), Some("UnknownIssuer")),
        ("authority", "stranger", common("typha-server"), Some("TLS")),
        ("authority", "nobody", common("typha-server"), Some("nobody.pem")),
    ] {
        let tls = Tls {
            authority: folder.join(format!("{authority}.pem")),
            certificate: folder.join(format!("{client}.pem")),
            key: folder.join(format!("{client}.key")),
            server: server.clone(),
        };
        let config = Config { tls: Some(tls), ..typha.config() };
        let mut followed = follow(config.clone(), kubeconfig.clone(), settings()).await;
        match told {
            None => followed.until_rendered(&format!("{server:?}"), &objects).await,
            Some(told) => {
                let what = format!("{authority}, {client}, {server:?}: {told}");
                followed.until(&what, |followed| followed.first_lost().contains(told)).await;
            }
        }
        followed.stop().await;
        let steps = probe(&config, None, &settings()).await;
        let step = |what: &str| steps.iter().find(|step| step.what.starts_with(what)).map(|step| &step.found);
        match told {
            None => {
                let subject = "CN=typha-server";
                let connected = step("typha: connect").unwrap().as_ref().unwrap();
                told_of_certificate(connected, subject, Some("URIs spiffe://cluster/typha"));
                let own = step(&format!("typha: {}", file("typha-client.pem"))).unwrap().as_ref().unwrap();
                told_of_certificate(own, "CN=typha-client", None);
            }
            Some(told) => {
                let failed = steps.iter().filter_map(|step| step.found.as_ref().err());
                assert!(failed.clone().any(|reason| reason.contains(told)), "{told}: {steps:#?}");
            }
        }
    }
}

#[tokio::test]
async fn harm_on_the_way_changes_nothing_in_the_end() {
    let Some((api, objects)) = taken().await else { return };
    let typha = Typha::start(&api, &[]).await;
    let wire = Wire::to(typha.address()).await;
    let kubeconfig = api.deployed(&["bgp"]).await;
    // Before there was ever anything, and while it is read again.
    let harms = [
        Harm::Cut(0),
        Harm::Cut(100),
        Harm::Cut(900),
        Harm::Silence(0),
        Harm::Silence(700),
        Harm::Garbage(0),
        Harm::Garbage(800),
        Harm::Flip(200),
        Harm::Flip(1000),
        Harm::Slow,
    ];
    let short = |at| Config { read: Duration::from_secs(2), ..config(at) };
    let follow = async |at| follow(short(at), kubeconfig.clone(), settings()).await;
    each_harm_changes_nothing_in_the_end(wire, &harms, &api, &objects, follow).await;
}

#[tokio::test]
async fn a_typha_that_comes_later_is_waited_for() {
    let Some((api, objects)) = taken().await else { return };
    let [port] = free_ports();
    let kubeconfig = api.deployed(&["bgp"]).await;
    let mut followed = follow(config(([127, 0, 0, 1], port).into()), kubeconfig, settings()).await;
    followed.until("the reason", |followed| followed.first_lost().contains(&port.to_string())).await;
    let _typha = Typha::start_at(&api, port, &[]).await;
    followed.until_rendered("it has come", &objects).await;
    followed.stop().await;
}

/// The program on a node that has Typha.
fn with_typha(api: &Cluster, bench: &Bench, typha: &str, line: &str) -> Command {
    let mut command = program(api, bench, line);
    command.env("FELIX_TYPHAADDR", typha).env("TAILORBIRD_BIRD_SOCKETS", bench.path("birds"));
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_reads_typha_and_says_what_keeps_it_from_there() {
    let Some((api, objects)) = taken().await else { return };
    let typha = Typha::start(&api, &[]).await;
    api.deployed(&["bgp"]).await;
    let bench = Bench::new();
    let address = typha.address().to_string();
    let run = |line: &str| ended(with_typha(&api, &bench, &address, line));
    run("render --no-check --datastore typha --out OUT").await.ends(0);
    assert_eq!(set(&bench.out()), from_files(&settings(), &objects));
    let direct = run("get --datastore kubernetes /calico/v1/ipam").await.out;
    let ran = run("get --datastore typha /calico/v1/ipam").await.ends(0);
    assert_eq!(ran.out, direct);

    let ran = run("doctor").await.ends(1);
    let line = |start: &str| ran.out.lines().find(|line| line.starts_with(start)).unwrap_or_default();
    assert!(line(&format!("ok      typha: greet {address}: version")).len() > 10, "{ran:#?}");
    assert!(line("ok      kubernetes: list and watch services").ends_with("allowed"), "{ran:#?}");
    assert!(line("FAILED  bird: ").contains("is BIRD running"), "{ran:#?}");
    assert_eq!(line("ok      templates"), "ok      templates: can be used", "{ran:#?}");

    // Nobody is there: it says so, and what to do.
    drop(typha);
    let failed = format!("FAILED  typha: connect to {address}: no connection");
    run("doctor").await.ends(1).prints(&failed).prints("is Typha running there");
    ended(with_typha(&api, &bench, "typha", "doctor")).await.ends(1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_daemon_follows_typha_where_it_is_configured_and_shows_it() {
    let Some((api, _)) = taken().await else { return };
    let typha = Typha::start(&api, &[]).await;
    api.deployed(&["bgp"]).await;
    let bench = Bench::new();
    let address = typha.address().to_string();
    let (_daemon, status) = Daemon::shown(&bench, |line| with_typha(&api, &bench, &address, line)).await;
    let sources = status["sources"].as_array().unwrap();
    assert_eq!(sources[0]["instance"], address.as_str(), "{status:#}");
    let names: Vec<&str> = sources.iter().map(|source| source["name"].as_str().unwrap()).collect();
    assert_eq!(
        names[..4],
        ["typha", "kubernetes/services", "kubernetes/endpointslices", "kubernetes/secrets"],
        "Calico's objects are asked of nobody else: {names:?}"
    );
    assert!(!names[4..].iter().any(|name| name.starts_with("kubernetes")), "{names:?}");
}
