//! What answers become: the layouts of the three BIRDs, and the words of commands.

use std::num::NonZeroU16;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use tailorbird::bird::control::{
    BgpState, Channel, ConfigFile, Configured, Control, Fault, Neighbor, Place, Protocol, ProtocolState,
    Refusal, Routes, State,
};

use crate::fake::{Fake, Step, answer, greet, say};

const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) const BIRD1: &str = "\
2002-name     proto    table    state  since       info
1002-device1  Device   master   up     22:47:05    \n\
1006-  Preference:     240
   Input filter:   ACCEPT
   Routes:         0 imported, 0 exported, 0 preferred
   Route change stats:     received   rejected   filtered    ignored   accepted
     Import updates:              0          0          0          0          0
 \n\
1002-p1       Pipe     master   up     2026-11-28  => t2
1006-  Routes:         3 imported, 4 exported
 \n\
1002-Mesh_10_0_0_2 BGP      master   up     2026-11-29 22:47:09    Established   \n\
1006-  Preference:     100
   Import limit:   10
     Action:       restart
   Routes:         2 imported, 1 filtered, 5 exported, 2 preferred
   BGP state:          Established
     Neighbor address: 10.0.0.2
     Neighbor AS:      4200000000
     Neighbor ID:      10.0.0.2
     Session:          internal multihop AS4 add-path-rx add-path-tx
     Hold timer:       202/240
 \n\
1002-lost     BGP      master   start  22:47:05    Active        Socket: Connection refused
1006-  Preference:     100
   Input filter:   ACCEPT
   BGP state:          Active
     Neighbor address: fe80::1%eth0
     Neighbor AS:      64513
     Last error:       Socket: Connection refused
 \n\
0000 \n";

pub(crate) const BIRD3: &str = "\
2002-Name       Proto      Table      State  Since         Info
1002-device1    Device     ---        up     22:47:52.119  \n\
1006-  Created:            22:47:52.119
 \n\
1002-Mesh       BGP        ---        start  22:47:52.119  Passive       \n\
1006-  Description:        State: of the art
   Created:            22:47:52.119
   BGP state:          Passive
     Neighbor range:   10.5.0.0/24
     Neighbor AS:      0
     Local AS:         64512
     Connect delay:    2.562/5
   Channel ipv4
     State:          UP
     Import state:   UP
     Export state:   READY
     Table:          master4
     Preference:     100
     Routes:         7 imported, 8 exported, 6 preferred
     Route change stats:     received   rejected   filtered    ignored   RX limit      limit   accepted
       Import updates:              1          0          0          0          0          0          1
   Channel ipv6
     State:          DOWN
     Table:          master6
     IGP IPv6 table: master6
 \n\
1002-new        Wonder     t1         dancing 22:47:52.119  \n\
1006-
0000 \n";

fn protocols(text: &str) -> Vec<Protocol> {
    let fake = Fake::once([greet()].into_iter().chain(answer("show protocols all", text)));
    let protocols = Control::connect(&fake.socket(), PATIENCE).unwrap().protocols().unwrap();
    fake.finish();
    protocols
}

fn routes(imported: u64, exported: u64, preferred: Option<u64>) -> Option<Routes> {
    Some(Routes { imported, exported, preferred, filtered: 0 })
}

#[test]
fn the_layout_of_bird_1() {
    let all = protocols(BIRD1);
    let names: Vec<_> = all.iter().map(|p| (p.name.as_str(), p.kind.as_str(), p.since.as_str())).collect();
    assert_eq!(
        names,
        [
            ("device1", "Device", "22:47:05"),
            ("p1", "Pipe", "2026-11-28"),
            ("Mesh_10_0_0_2", "BGP", "2026-11-29 22:47:09"),
            ("lost", "BGP", "22:47:05"),
        ]
    );
    let [device, pipe, mesh, lost] = &all[..] else { panic!() };
    assert_eq!(
        (&device.state, &device.table, &device.bgp),
        (&ProtocolState::Up, &Some("master".into()), &None)
    );
    assert_eq!(pipe.channels[0].routes, routes(3, 4, None));
    assert_eq!(pipe.info, "=> t2");

    let bgp = mesh.bgp.as_ref().unwrap();
    assert!(mesh.is_established() && !lost.is_established());
    assert_eq!(bgp.neighbor_as.unwrap().get(), 4_200_000_000);
    assert_eq!(
        bgp.neighbor,
        Some(Neighbor::Address { address: "10.0.0.2".parse().unwrap(), interface: None })
    );
    assert_eq!(bgp.last_error, None);
    let routes = Routes { imported: 2, filtered: 1, exported: 5, preferred: Some(2) };
    let table = Some("master".to_owned());
    assert_eq!(mesh.channels, [Channel { name: None, table, up: None, routes: Some(routes) }]);

    let bgp = lost.bgp.as_ref().unwrap();
    assert_eq!((&lost.state, &bgp.state), (&ProtocolState::Start, &BgpState::Active));
    assert_eq!(bgp.neighbor.as_ref().unwrap().to_string(), "fe80::1%eth0");
    assert_eq!(bgp.last_error.as_deref(), Some("Socket: Connection refused"));
    assert_eq!(lost.info, "Active        Socket: Connection refused");
    assert!(lost.channels.is_empty());
}

#[test]
fn the_layout_of_bird_2_and_3() {
    let all = protocols(BIRD3);
    let [device, mesh, new] = &all[..] else { panic!("{all:?}") };
    assert_eq!((&device.table, device.channels.len()), (&None, 0));
    let bgp = mesh.bgp.as_ref().unwrap();
    assert_eq!(mesh.description.as_deref(), Some("State: of the art"));
    assert_eq!(bgp.state, BgpState::Passive);
    assert_eq!(bgp.neighbor, Some(Neighbor::Range { range: "10.5.0.0/24".parse().unwrap() }));
    assert_eq!(bgp.neighbor_as, None);
    let channel = |name: &str, table: &str, up, routes| Channel {
        name: Some(name.into()),
        table: Some(table.into()),
        up: Some(up),
        routes,
    };
    assert_eq!(
        mesh.channels,
        [channel("ipv4", "master4", true, routes(7, 8, Some(6))), channel("ipv6", "master6", false, None)]
    );
    assert_eq!(new.state, ProtocolState::Other("dancing".into()));
}

#[test]
fn a_bird_without_protocols_has_none() {
    assert_eq!(protocols("0000 \n"), []);
    assert_eq!(protocols("2002-name     proto    table    state  since       info\n0000 \n"), []);
}

#[test]
fn the_status_of_each_bird() {
    let one = "1000-BIRD v0.3.3+birdv1.6.8\n1011-Router ID is 10.0.0.1\n Current server time is 2026-11-29 22:47:18\n \
               Last reboot on 2026-11-29 22:47:06\n Last reconfiguration on 2026-11-29 22:46:48\n\
               0024-Graceful restart recovery in progress\n   Waiting for 1 protocols to recover\n\
               0013 Daemon is up and running\n";
    let two = "1000-BIRD 2.19.2\n1011-Router ID is 10.0.0.2\n Hostname is node\n Current server time is \
               2026-11-29 22:47:40.660\n Last reboot on 2026-11-29 22:47:30.919\n Last reconfiguration on \
               2026-11-29 22:47:30.919\n0013 Reconfiguration in progress\n";
    let odd = "1000-BIRD 2.19.2\n1011-Router ID is 10.0.0.2\n Hostname is node\n Current server time is 29 Nov\n \
               Last reboot on 28 Nov\n Last reconfiguration on 29 Nov\n0013 Shutdown in progress\n";
    let steps = [one, two, odd].into_iter().flat_map(|text| answer("show status", text));
    let fake = Fake::once([greet()].into_iter().chain(steps));
    let mut control = Control::connect(&fake.socket(), PATIENCE).unwrap();

    let status = control.status().unwrap();
    assert_eq!((status.version.as_str(), &status.hostname), ("v0.3.3+birdv1.6.8", &None));
    assert_eq!((status.router_id.to_string().as_str(), status.state), ("10.0.0.1", State::UpToDate));
    assert_eq!(status.configuration_age(), Some(Duration::from_secs(30)));
    assert_eq!(status.last_reboot, "2026-11-29 22:47:06");
    assert!(status.recovering);

    let status = control.status().unwrap();
    assert_eq!((status.state, status.hostname.as_deref()), (State::Reconfiguring, Some("node")));
    assert_eq!(status.configuration_age(), Some(Duration::from_millis(9741)));
    assert!(!status.recovering);

    let status = control.status().unwrap();
    assert_eq!((status.state, status.configuration_age()), (State::ShuttingDown, None));
    fake.finish();
}

#[test]
fn commands_are_said_as_bird_reads_them() {
    let file = ConfigFile::new(Path::new("/etc/a b/bird.cfg")).unwrap();
    let reading = "0002-Reading configuration from /x\n";
    let steps = [
        answer("configure check \"/etc/a b/bird.cfg\"", format!("{reading}0020 Configuration OK\n")),
        answer("configure", format!("{reading}0003 Reconfigured\n")),
        answer(
            "configure soft \"/etc/a b/bird.cfg\" timeout 9",
            format!("{reading}0022-Undo scheduled in 9 s\n0004 Reconfiguration in progress\n"),
        ),
        answer("configure confirm", "0018 Reconfiguration confirmed\n"),
        answer("configure confirm", "0019 Nothing to do\n"),
        answer("configure undo", "0021-Undo requested\n0003 Reconfigured\n"),
        answer(
            "configure undo",
            "0021-Undo requested\n0017 Reconfiguration already in progress, removing queued config\n",
        ),
        answer(
            "configure",
            format!("{reading}0005 Reconfiguration already in progress, queueing new config\n"),
        ),
        answer("configure", format!("{reading}0006 Reconfiguration ignored, shutting down\n")),
    ];
    let fake = Fake::once([greet()].into_iter().chain(steps.into_iter().flatten()));
    let mut control = Control::connect(&fake.socket(), PATIENCE).unwrap();
    assert_eq!(control.check(&file).unwrap(), Ok(()));
    assert_eq!(control.configure(None, false, None).unwrap(), Configured::Done);
    assert_eq!(control.configure(Some(&file), true, NonZeroU16::new(9)).unwrap(), Configured::InProgress);
    assert_eq!(control.confirm().unwrap(), Configured::Done);
    assert_eq!(control.confirm().unwrap(), Configured::Nothing);
    assert_eq!(control.undo().unwrap(), Configured::Done);
    assert_eq!(control.undo().unwrap(), Configured::Unqueued);
    assert_eq!(control.configure(None, false, None).unwrap(), Configured::Queued);
    assert_eq!(control.configure(None, false, None).unwrap(), Configured::ShuttingDown);
    fake.finish();
}

#[test]
fn a_refusal_names_file_and_line_in_all_its_forms() {
    let forms = [
        ("/etc/b:1/bird.cfg:3:17 syntax error", "/etc/b:1/bird.cfg", 3, "syntax error"),
        ("/etc/bird.cfg:12:0: Unknown: thing", "/etc/bird.cfg", 12, "Unknown: thing"),
        ("/etc/bird.cfg, line 7: syntax error", "/etc/bird.cfg", 7, "syntax error"),
    ];
    let refuse =
        |words: &str| answer("configure", format!("0002-Reading configuration from /x\n8002 {words}\n"));
    let odd =
        ["/etc/bird.cfg: No such file or directory", "/etc/bird.cfg:99999999999:1 far", "", ":", "a:1:2"];
    let steps = forms.iter().map(|form| form.0).chain(odd).flat_map(refuse);
    let fake = Fake::once([greet()].into_iter().chain(steps));
    let mut control = Control::connect(&fake.socket(), PATIENCE).unwrap();
    for (words, file, line, message) in forms {
        let refusal = Refusal { message: message.into(), place: Some(Place { file: file.into(), line }) };
        assert_eq!(control.configure(None, false, None).unwrap(), Configured::Refused(refusal), "{words}");
    }
    for words in odd {
        let refusal = Refusal { message: words.into(), place: None };
        assert_eq!(control.configure(None, false, None).unwrap(), Configured::Refused(refusal), "{words}");
    }
    fake.finish();
}

#[test]
fn a_refusal_shows_no_password() {
    let words = "8002 /etc/bird.cfg:3:17 syntax error near password \"sesame\";\n";
    let fake = Fake::once([greet()].into_iter().chain(answer("configure", words)));
    let configured =
        Control::connect(&fake.socket(), PATIENCE).unwrap().configure(None, false, None).unwrap();
    assert!(matches!(configured, Configured::Refused(_)) && !format!("{configured:?}").contains("sesame"));
    fake.finish();
}

#[test]
fn a_path_that_could_change_the_command_is_refused() {
    let long = format!("/{}", "x".repeat(1024));
    for path in ["/etc/\"; down; \"", "/etc/a\nconfigure", "/etc/\u{7f}", "bird.cfg", "", &long] {
        let error = ConfigFile::new(Path::new(path)).unwrap_err();
        assert!(error.to_string().contains(": "), "{error}");
    }
    use std::os::unix::ffi::OsStrExt;
    assert!(ConfigFile::new(Path::new(std::ffi::OsStr::from_bytes(b"/etc/\xff"))).is_err());
    assert_eq!(ConfigFile::new(Path::new("/etc/ü ;'{}")).unwrap().to_string(), "\"/etc/ü ;'{}\"");
}

#[test]
fn what_bird_denies_leaves_the_connection_as_it_was() {
    let steps = [
        answer("restrict", "0016 Access restricted\n"),
        answer("show protocols all", "8007 Access denied\n"),
        answer("show status", crate::fake::status(crate::fake::UP, 5)),
    ];
    let fake = Fake::once([greet()].into_iter().chain(steps.into_iter().flatten()));
    let mut control = Control::connect(&fake.socket(), PATIENCE).unwrap().restrict().unwrap();
    let error = control.protocols().unwrap_err();
    assert!(matches!(error.fault, Fault::Rejected { code: 8007, .. }), "{error}");
    assert!(error.to_string().contains("`show protocols all`: 8007 Access denied"), "{error}");
    assert!(control.status().is_ok());
    fake.finish();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn answers_with_faults_are_read_or_refused(
        two in any::<bool>(),
        changes in proptest::collection::vec((any::<Index>(), any::<Index>(), "\\PC{0,6}|\n|: |  Channel |1002-|1006-"), 1..6),
    ) {
        let mut text = (if two { BIRD3 } else { BIRD1 }).to_owned();
        for (from, to, with) in changes {
            let mut range = [from.index(text.len()), to.index(text.len()).min(from.index(text.len()) + 40)];
            range.sort_unstable();
            if text.is_char_boundary(range[0]) && text.is_char_boundary(range[1]) {
                text.replace_range(range[0]..range[1], &with);
            }
        }
        // The server goes after that, so that an answer without an end is closed in the middle.
        let fake = Fake::once([greet(), Step::Expect("show protocols all"), say(text)]);
        match Control::connect(&fake.socket(), PATIENCE).unwrap().protocols() {
            Ok(protocols) => prop_assert!(protocols.iter().all(|protocol| !protocol.name.is_empty())),
            Err(error) => prop_assert!(matches!(error.fault, Fault::Garbage { .. } | Fault::Closed { .. } | Fault::Rejected { .. }), "{error}"),
        }
        fake.finish();
    }
}
