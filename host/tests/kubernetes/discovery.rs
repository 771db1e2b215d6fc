//! Members of etcd that DNS names.

use std::collections::BTreeMap;
use std::time::Duration;

use hickory_proto::op::ResponseCode;
use rcgen::ExtendedKeyUsagePurpose;
use tailorbird::syncer::Pem;
use tailorbird::syncer::etcd::{Config, Discovery, Identity, Members, NameServers, Pace, Tls, probe};

use crate::dns::{Dns, Says, Srv};
use crate::etcd::taken;
use crate::follow::{Followed, Store};
use crate::objects::{peer, settings};
use crate::papers::{Name, Papers, told_of_certificate};
use crate::server::free_ports;
use crate::stored::{etcd_pace, follow_alone};
use crate::wire::Wire;

const SECURE: &str = "_etcd-client-ssl._tcp.members.test";
const BARE: &str = "_etcd-client._tcp.members.test";

/// A member of this machine.
fn here(priority: u16, port: u16) -> Srv {
    (priority, 0, port, "localhost.")
}

fn config(dns: &Dns) -> Config {
    let discovery =
        Discovery { domain: "members.test.".parse().unwrap(), servers: NameServers::At(dns.address) };
    Config { members: Members::Discovered(discovery), user: None, tls: Tls::default() }
}

fn follow(config: Config) -> Followed {
    follow_alone(config, settings(), Pace { look_up: Duration::from_secs(1), ..etcd_pace() })
}

#[tokio::test]
async fn members_are_followed_wherever_they_move() {
    let Some((etcd, mut objects)) = taken(&[]).await else { return };
    let mut wire = Wire::to(etcd.address()).await;
    let [dead] = free_ports();
    let dns = Dns::start(Says::records(BARE, &[here(1, dead), here(2, wire.address.port())])).await;
    let mut followed = follow(config(&dns));
    followed.until_rendered("the start", &objects).await;
    followed.first_told();
    for number in [8, 9] {
        let moved = Wire::to(etcd.address()).await;
        let port = moved.address.port();
        dns.say(Says::records(BARE, &[here(1, dead), here(2, port)]));
        wire = moved;
        objects.push(peer(number));
        etcd.apply(&peer(number)).await;
        followed.until_rendered("a peer after a move", &objects).await;
        let instance = Some(format!("http://localhost:{port}"));
        assert_eq!((followed.first_told().len(), &followed.states[0].instance), (1, &instance));
    }
    // What is known goes on while DNS says nothing of use.
    dns.say(Says::Code(ResponseCode::ServFail));
    objects.push(peer(7));
    etcd.apply(&peer(7)).await;
    followed.until_rendered("a peer without DNS", &objects).await;
    assert_eq!(followed.states[0].losses, 0);
    drop(wire);
    followed.stop().await;
}

#[tokio::test]
async fn what_dns_does_not_say_is_told_and_asked_again() {
    let Some((etcd, objects)) = taken(&[]).await else { return };
    let dns = Dns::start(Says::Nothing).await;
    for (says, told) in [
        (Says::Nothing, format!("{BARE}.: the name servers do not answer")),
        (Says::Garbage, format!("{BARE}.: the name servers do not answer")),
        (Says::Code(ResponseCode::NXDomain), format!("{SECURE}.: there is no such name")),
        (Says::Code(ResponseCode::NoError), format!("{SECURE}.: it has no SRV records")),
        (Says::Code(ResponseCode::ServFail), format!("{BARE}.: the name servers say \"Server Failure\"")),
        (Says::records(BARE, &[(0, 0, 1, ".")]), format!("{BARE}.: cannot be used: \".\" port 1")),
        (Says::records(BARE, &[here(0, 0)]), "a port is none".to_owned()),
    ] {
        dns.say(says.clone());
        let mut followed = follow(config(&dns));
        let what = format!("{says:?}: {told}");
        followed.until(&what, |followed| followed.first_lost().contains(&told)).await;
        assert!(followed.first_lost().contains("right name servers"), "{}", followed.first_lost());
        dns.say(Says::records(BARE, &[here(0, etcd.address().port())]));
        followed.until_rendered(&what, &objects).await;
        followed.stop().await;
    }
    // More than a datagram holds; the one that counts is the last one.
    let [dead] = free_ports();
    let mut many: Vec<Srv> = (1..200).map(|priority| here(priority, dead)).collect();
    many.push(here(0, etcd.address().port()));
    dns.say(Says::records(BARE, &many));
    let mut followed = follow(config(&dns));
    followed.until_rendered("many", &objects).await;
    followed.stop().await;
}

#[tokio::test]
async fn a_certificate_must_have_the_name_of_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let papers = Papers::new(folder.path(), "authority");
    for (file, name) in [("server", "localhost"), ("domain", "members.test")] {
        papers.sign(file, ExtendedKeyUsagePurpose::ServerAuth, &[Name::Host(name)]);
    }
    papers.sign("client", ExtendedKeyUsagePurpose::ClientAuth, &[]);
    let pem = |name: &str| Pem::File(folder.path().join(name));
    let identity = Some(Identity { certificate: pem("client.pem"), key: pem("client.key") });
    let tls = Tls { authority: Some(pem("authority.pem")), identity };
    let Some((mut etcd, objects)) = taken(&[]).await else { return };
    let [bare, secure] = [etcd.address().port(), etcd.secure_address().port()];
    for (server, told) in [("server", None), ("domain", Some("not valid for name \"localhost\""))] {
        etcd.end();
        etcd.with_tls(folder.path(), server, "authority");
        etcd.begin().await;
        let dns = Dns::start(Says::records(SECURE, &[here(0, secure)])).await;
        let mut followed = follow(Config { tls: tls.clone(), ..config(&dns) });
        match told {
            Some(told) => followed.until(told, |followed| followed.first_lost().contains(told)).await,
            None => {
                followed.until_rendered("TLS", &objects).await;
                assert_eq!(followed.states[0].instance, Some(format!("https://localhost:{secure}")));
            }
        }
        followed.stop().await;

        // Where there are members without TLS too, those with it are tried alone, and each step is told.
        let both = BTreeMap::from([(SECURE, vec![here(5, secure)]), (BARE, vec![here(0, bare)])]);
        dns.say(Says::Records(both));
        let steps = probe(&Config { tls: tls.clone(), ..config(&dns) }, &settings()).await;
        assert_eq!(steps[0].what, "etcd: SRV records of members.test.");
        let found = format!("{SECURE}.: https://localhost:{secure}; {BARE}.: http://localhost:{bare}");
        assert_eq!(steps[0].found, Ok(found));
        let connects: Vec<_> = steps.iter().filter(|step| step.what.starts_with("etcd: connect")).collect();
        assert_eq!(connects[0].what, format!("etcd: connect to https://localhost:{secure}"));
        match &connects[0].found {
            Ok(found) => told_of_certificate(found, "CN=server", Some("hosts localhost")),
            Err(reason) => assert!(told.is_some_and(|told| reason.contains(told)), "{reason}"),
        }
        for file in ["authority", "client"] {
            let what = format!("etcd: {}", pem(&format!("{file}.pem")));
            let step = steps.iter().find(|step| step.what == what).unwrap();
            told_of_certificate(step.found.as_ref().unwrap(), &format!("CN={file}"), None);
        }

        dns.say(Says::Records(BTreeMap::new()));
        let steps = probe(&config(&dns), &settings()).await;
        assert_eq!(steps.len(), 1);
        let reason = steps[0].found.clone().unwrap_err();
        assert!(reason.contains("there is no such name") && reason.contains("SRV records"), "{reason}");
    }
}
