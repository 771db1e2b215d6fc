//! Against the daemons themselves.

use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroU16;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tailorbird::bird::control::{
    BgpState, ConfigFile, Configured, Control, ControlError, Fault, Look, Neighbor, Protocol, ProtocolState,
    Reload, Reloaded, State, Status, UndoneBy, reload, reload_confirmed,
};

use crate::daemon::{Daemon, PATIENCE, addresses, each, until};

fn protocol(daemon: &Daemon, name: &str) -> Option<Protocol> {
    daemon.control().protocols().unwrap().into_iter().find(|protocol| protocol.name == name)
}

/// How many networks the running configuration has.
fn networks(daemon: &Daemon) -> u64 {
    let channels = protocol(daemon, "networks").unwrap().channels;
    channels.iter().filter_map(|channel| channel.routes).map(|routes| routes.imported).sum()
}

fn file(daemon: &Daemon, name: &str) -> ConfigFile {
    ConfigFile::new(&daemon.path(name)).unwrap()
}

fn seconds(seconds: u16) -> NonZeroU16 {
    NonZeroU16::new(seconds).unwrap()
}

fn look(daemon: &Daemon, patience: Duration) -> Result<(Status, Vec<Protocol>), ControlError> {
    Look::begin(&daemon.socket(), patience).and_then(Look::end)
}

const ONE: &[&str] = &["10.1.0.0/24"];
const TWO: &[&str] = &["10.1.0.0/24", "10.2.0.0/24"];

#[test]
fn status_and_protocols() {
    each(|version| {
        let daemon = version.start(&version.config(7, TWO, ""));
        let mut control = daemon.control().restrict().unwrap();
        let status = control.status().unwrap();
        assert_eq!((status.router_id, status.state), ([10, 0, 0, 7].into(), State::UpToDate));
        assert!(status.version.contains(&format!("{}.", version.number)), "{status:?}");
        assert!(!status.recovering);
        assert!(status.configuration_age().unwrap() < Duration::from_secs(60), "{status:?}");
        let protocols = control.protocols().unwrap();
        assert_eq!(protocols.len(), 2, "{protocols:?}");
        let (status, seen) = look(&daemon, PATIENCE).unwrap();
        assert_eq!((status.state, seen.len()), (State::UpToDate, 2));
        assert!(
            protocols.iter().all(|protocol| protocol.state == ProtocolState::Up && protocol.bgp.is_none())
        );
        assert_eq!(networks(&daemon), 2);
    });
}

#[test]
fn a_restricted_connection_can_change_nothing() {
    each(|version| {
        let daemon = version.start(&version.config(1, ONE, ""));
        // The type has no command that changes; that the daemon has none either is seen without the type.
        let mut stream = BufReader::new(UnixStream::connect(daemon.socket()).unwrap());
        stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        let mut greeting = String::new();
        stream.read_line(&mut greeting).unwrap();
        for (command, code) in [("restrict", "0016 "), ("configure", "8007 "), ("down", "8007 ")] {
            stream.get_mut().write_all(format!("{command}\n").as_bytes()).unwrap();
            let mut said = String::new();
            stream.read_line(&mut said).unwrap();
            assert!(said.starts_with(code), "BIRD {}: {command}: {said}", version.number);
        }
    });
}

#[test]
fn check_reads_and_changes_nothing() {
    each(|version| {
        let daemon = version.start(&version.config(1, ONE, ""));
        daemon.write("two.cfg", &version.config(1, TWO, ""));
        daemon.write("include.cfg", "router id 10.0.0.1;\ninclude \"bad.cfg\";\n");
        daemon.write("bad.cfg", "# fine\n# fine\nprotocol nonsense { }\n# more\n");
        let mut control = daemon.control();
        assert_eq!(control.check(&file(&daemon, "two.cfg")).unwrap(), Ok(()));
        let refusal = control.check(&file(&daemon, "include.cfg")).unwrap().unwrap_err();
        let place = refusal.place.unwrap();
        assert!(place.file.ends_with("bad.cfg") && place.line == 3, "{place:?}");
        let refusal = control.check(&file(&daemon, "none.cfg")).unwrap().unwrap_err();
        assert!(refusal.message.contains("No such file"), "{refusal}");
        assert_eq!(networks(&daemon), 1);
    });
}

#[test]
fn reload_until_in_force_and_refused() {
    each(|version| {
        let daemon = version.start(&version.config(1, ONE, ""));
        daemon.write("bird.cfg", &version.config(1, TWO, ""));
        let reloaded = reload(&daemon.socket(), &Reload::default());
        assert!(reloaded.is_in_force(), "BIRD {}: {reloaded}", version.number);
        assert_eq!(networks(&daemon), 2);

        daemon.write("bird.cfg", "protocol nonsense { }\n");
        let reloaded = reload(&daemon.socket(), &Reload::default());
        let Reloaded::Refused(refusal) = &reloaded else { panic!("{reloaded}") };
        assert_eq!(refusal.place.as_ref().unwrap().line, 1);
        assert_eq!(networks(&daemon), 2);

        daemon.write("other file.cfg", &version.config(1, ONE, ""));
        let options = Reload { file: Some(file(&daemon, "other file.cfg")), soft: true, ..Reload::default() };
        let reloaded = reload(&daemon.socket(), &options);
        assert!(reloaded.is_in_force(), "BIRD {}: {reloaded}", version.number);
        assert_eq!(networks(&daemon), 1);
    });
}

#[test]
fn a_reload_is_confirmed_or_undone() {
    each(|version| {
        let daemon = version.start(&version.config(1, ONE, ""));
        daemon.write("bird.cfg", &version.config(1, TWO, ""));
        let reloaded = reload_confirmed(&daemon.socket(), &Reload::default(), seconds(600), |control| {
            assert_eq!(control.status().unwrap().state, State::UpToDate);
            Err("it is not wanted".to_owned())
        });
        assert!(matches!(&reloaded, Reloaded::Undone { by: UndoneBy::Command, .. }), "{reloaded}");
        until("the old configuration is back", || (networks(&daemon) == 1).then_some(()));

        let reloaded = reload_confirmed(&daemon.socket(), &Reload::default(), seconds(600), |_| Ok(()));
        assert!(reloaded.is_in_force(), "{reloaded}");
        assert_eq!(networks(&daemon), 2);
        assert_eq!(daemon.control().confirm().unwrap(), Configured::Nothing);
    });
}

#[test]
fn undo_goes_one_step() {
    each(|version| {
        let daemon = version.start(&version.config(1, ONE, ""));
        daemon.write("bird.cfg", &version.config(1, TWO, ""));
        assert!(reload(&daemon.socket(), &Reload::default()).is_in_force());
        let mut control = daemon.control();
        let undone = control.undo().unwrap();
        assert!(matches!(undone, Configured::Done | Configured::InProgress), "{undone:?}");
        until("the old configuration is back", || (networks(&daemon) == 1).then_some(()));
        assert_eq!(control.undo().unwrap(), Configured::Nothing);
    });
}

#[test]
fn what_is_not_confirmed_in_time_is_undone_by_bird() {
    each(|version| {
        let daemon = version.start(&version.config(1, ONE, ""));
        daemon.write("bird.cfg", &version.config(1, TWO, ""));
        let reloaded = reload_confirmed(&daemon.socket(), &Reload::default(), seconds(1), |_| {
            until("BIRD goes back", || (networks(&daemon) == 1).then_some(()));
            Ok(())
        });
        let Reloaded::Undone { by, .. } = &reloaded else { panic!("BIRD {}: {reloaded}", version.number) };
        assert_eq!(*by, UndoneBy::Timer(seconds(1)));
    });
}

#[test]
fn a_session_from_nothing_to_established_and_down() {
    each(|version| {
        let [here, there] = addresses();
        let a = version.config(1, ONE, &version.session(&here, 64512, &there, 4_200_000_000));
        let b = version.config(2, TWO, &version.session(&there, 4_200_000_000, &here, 64512));
        let a = version.start(&a);
        let session = protocol(&a, "session").unwrap();
        assert_eq!(session.kind, "BGP");
        assert!(!session.is_established());
        let bgp = session.bgp.unwrap();
        assert_ne!(bgp.state, BgpState::Established);
        let address = there.parse().unwrap();
        assert_eq!(bgp.neighbor, Some(Neighbor::Address { address, interface: None }));
        assert_eq!(bgp.neighbor_as.unwrap().get(), 4_200_000_000);

        let mut b = version.start(&b);
        let session = until("the session is established and has its routes", || {
            let session = protocol(&a, "session").unwrap();
            let routes = session.channels.first().and_then(|channel| channel.routes).unwrap_or_default();
            (session.is_established() && routes.imported == 2 && routes.exported == 1).then_some(session)
        });
        assert_eq!(session.state, ProtocolState::Up);
        assert_eq!(session.channels.len(), 1);
        assert_eq!(
            session.channels[0].name.as_deref(),
            if version.number == 1 { None } else { Some("ipv4") }
        );
        assert_eq!(session.channels[0].routes.unwrap().preferred, Some(1), "one of the two is known already");
        assert_eq!(session.description.as_deref(), (version.number > 1).then_some("the other one"));

        b.kill();
        let session = until("the session is down and says why", || {
            let session = protocol(&a, "session").unwrap();
            let bgp = session.bgp.clone().unwrap();
            (!session.is_established() && bgp.last_error.is_some()).then_some(session)
        });
        assert_ne!(session.state, ProtocolState::Up);

        // Taking a session out is a change that may take BIRD a while.
        a.write("bird.cfg", &version.config(1, ONE, ""));
        assert!(reload(&a.socket(), &Reload::default()).is_in_force());
        assert_eq!(protocol(&a, "session"), None);
    });
}

#[test]
fn a_session_that_is_taken_out_while_it_is_established() {
    each(|version| {
        let [here, there] = addresses();
        let a = version.start(&version.config(1, ONE, &version.session(&here, 64512, &there, 64513)));
        let _b = version.start(&version.config(2, TWO, &version.session(&there, 64513, &here, 64512)));
        until("the session is established", || protocol(&a, "session").filter(Protocol::is_established));
        a.write("bird.cfg", &version.config(1, ONE, ""));
        let reloaded = reload(&a.socket(), &Reload::default());
        assert!(reloaded.is_in_force(), "BIRD {}: {reloaded}", version.number);
        assert_eq!(protocol(&a, "session"), None);
    });
}

#[test]
fn a_bird_that_hangs_is_noticed_and_so_is_its_return() {
    each(|version| {
        let daemon = version.start(&version.config(1, ONE, ""));
        daemon.signal(Signal::STOP);
        let error = look(&daemon, Duration::from_millis(200)).unwrap_err();
        assert!(matches!(error.fault, Fault::TimedOut { .. }), "{error}");
        let mut kept = Vec::new();
        // Until its queue is full, and then also.
        for _ in 0..20 {
            match Control::connect(&daemon.socket(), Duration::from_millis(20)) {
                Ok(control) => kept.push(control),
                Err(error) => assert!(matches!(error.fault, Fault::TimedOut { .. }), "{error}"),
            }
        }
        daemon.signal(Signal::CONT);
        assert!(kept.is_empty());
        let alive = look(&daemon, PATIENCE).unwrap();
        assert_eq!(alive.0.state, State::UpToDate);
    });
}

#[test]
fn a_bird_that_was_killed_and_one_that_ended() {
    each(|version| {
        let mut daemon = version.start(&version.config(1, ONE, ""));
        let mut control = daemon.control();
        daemon.kill();
        let error = control.status().unwrap_err();
        assert!(matches!(error.fault, Fault::Closed { .. }), "{error}");
        let error = look(&daemon, PATIENCE).unwrap_err();
        assert!(matches!(error.fault, Fault::NotRunning), "{error}");

        let daemon = version.start(&version.config(1, ONE, ""));
        daemon.signal(Signal::TERM);
        until("the socket is gone", || (!daemon.socket().exists()).then_some(()));
        let error = look(&daemon, PATIENCE).unwrap_err();
        assert!(matches!(error.fault, Fault::Missing), "{error}");
    });
}

#[test]
fn the_age_of_what_runs_is_that_of_the_last_reload() {
    each(|version| {
        let daemon = version.start(&version.config(1, ONE, ""));
        let age = || {
            let (status, _) = look(&daemon, PATIENCE).unwrap();
            (status.configuration_age().unwrap(), status.precision())
        };
        until("what runs has an age", || {
            let (age, precision) = age();
            (age > precision).then_some(())
        });
        let begin = Instant::now();
        assert!(reload(&daemon.socket(), &Reload::default()).is_in_force());
        let (age, precision) = age();
        assert!(age <= begin.elapsed() + precision, "BIRD {}: {age:?}", version.number);
    });
}
