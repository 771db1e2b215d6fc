//! What is told over HTTP, and its bounds.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use openmetrics_parser::OpenMetricsType;
use openmetrics_parser::openmetrics::parse_openmetrics;

use crate::common::SECRET;
use crate::world::{World, until};

#[test]
fn metrics_and_status_tell_everything_but_secrets() {
    let world = World::new();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    world.shows("bird.cfg", SECRET, true);
    // BIRD is asked how it is after the files are in force.
    let (code, head, text) = until("BIRD's sessions are counted", || {
        let answer = daemon.ask("GET", "/metrics");
        answer.2.contains("bird_sessions{bird=\"bird6\"").then_some(answer)
    });
    assert_eq!(code, 200);
    assert!(head.contains("application/openmetrics-text"), "{head}");
    // This parser has it that histograms have no unit; the standard says that they may have one.
    let units = |line: &&str| line.starts_with("# UNIT ");
    let (units, rest): (Vec<&str>, Vec<&str>) = text.split_inclusive('\n').partition(units);
    assert!(units.iter().all(|line| line.ends_with("_seconds seconds\n")), "{units:?}");
    let read = parse_openmetrics(&rest.concat()).unwrap_or_else(|error| panic!("{error}: {text}"));
    for (name, kind) in [
        ("tailorbird_rounds", OpenMetricsType::Counter),
        ("tailorbird_phase_seconds", OpenMetricsType::Histogram),
        ("tailorbird_ready", OpenMetricsType::Gauge),
    ] {
        assert_eq!(read.families.get(name).map(|family| &family.family_type), Some(&kind), "{text}");
    }
    for family in read.families.values() {
        assert!(!family.help.is_empty(), "{} has no help", family.family_name);
        assert!(family.iter_samples().all(|sample| sample.timestamp.is_none()));
    }
    for sample in [
        "tailorbird_ready 1",
        "tailorbird_bird_up{bird=\"bird6\"} 1",
        "tailorbird_peers{family=\"v4\",kind=\"mesh\"} 1",
        "tailorbird_bird_sessions{bird=\"bird\",state=\"Established\"} 1",
        "tailorbird_group_in_force{group=\"bird\"} 1",
    ] {
        assert!(text.lines().any(|line| line == sample), "`{sample}` is missing: {text}");
    }
    let status = daemon.status();
    assert_eq!((status["ready"].as_bool(), status["node"].as_str()), (Some(true), Some("worker-1")));
    for shown in [text, status.to_string(), daemon.get("/readyz").1, daemon.log()] {
        assert!(!shown.contains(SECRET), "{shown}");
    }
    assert_eq!(daemon.get("/livez"), (200, "ok\n".to_owned()));
    assert_eq!(daemon.get("/readyz"), (200, "ok\n".to_owned()));
}

#[test]
fn only_programs_on_the_node_can_confirm() {
    let world = World::new();
    let _birds = world.birds();
    let line = "run --objects OBJECTS --node worker-1 --out OUT --config tailorbird.toml --http 0.0.0.0:0";
    let daemon = world.start_as(world.bench.command(line));
    // The address that this machine would have for others; nothing is sent.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let own = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr()).map(|address| address.ip());
    let port = daemon.http.port();
    let ask = |host: IpAddr, request: &str| {
        let mut stream = TcpStream::connect((host, port)).unwrap();
        stream
            .write_all(format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    let here = IpAddr::from([127, 0, 0, 1]);
    // What is to be confirmed is missing.
    assert_eq!(ask(here, "POST /confirm"), "400");
    let Ok(own) = own else {
        println!("SKIPPED in part: this machine has no address but its loopback's");
        return;
    };
    assert_eq!((ask(own, "GET /livez"), ask(own, "POST /confirm")), ("200".to_owned(), "403".to_owned()));
}

#[test]
fn what_is_no_request_gets_its_answer_or_none_and_the_daemon_lives() {
    let world = World::new();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    for (method, path, code) in [
        ("GET", "/", 404),
        ("GET", "/../etc/passwd", 404),
        ("GET", "/confirm", 405),
        ("POST", "/status", 405),
    ] {
        assert_eq!(daemon.ask(method, path).0, code, "{method} {path}");
    }
    let say = |request: &[u8]| {
        let mut stream = TcpStream::connect(daemon.http).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
        // The other side may end it in the middle.
        drop(stream.write_all(request));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        String::from_utf8_lossy(&answer).into_owned()
    };
    let long = format!("GET /livez HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    for request in [b"\x00\x01\x02\r\n\r\n" as &[u8], b"GET\r\n\r\n", long.as_bytes()] {
        let answer = say(request);
        assert!(!answer.contains(" 200 "), "{answer}");
    }
    assert_eq!(daemon.get("/livez").0, 200);

    // Whoever says nothing holds a place for some seconds and no longer, so others come through.
    let begin = Instant::now();
    let silent: Vec<TcpStream> = (0..80).map(|_| TcpStream::connect(daemon.http).unwrap()).collect();
    assert_eq!(daemon.get("/livez").0, 200);
    let mut first = &silent[0];
    first.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
    assert_eq!(first.read(&mut [0; 10]).unwrap_or(0), 0, "it is closed");
    assert!(begin.elapsed() < Duration::from_secs(40));
}
