//! A BIRD that is not there, hangs, goes away, or is none.

use std::io;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};
use tailorbird::bird::control::{Control, ControlError, Fault, Look};

use crate::fake::{Fake, Step, UP, answer, greet, say, status};

/// Short, for what must be waited out; nothing else depends on it.
const SHORT: Duration = Duration::from_millis(150);
/// What a bounded wait may take besides, on a machine that is busy.
const BUSY: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs something that must end with this error soon after `SHORT`.
fn times_out<T: std::fmt::Debug>(asked: &str, run: impl FnOnce() -> Result<T, ControlError>) {
    let begin = Instant::now();
    let error = run().unwrap_err();
    let took = begin.elapsed();
    assert!(matches!(&error.fault, Fault::TimedOut { asked: what, .. } if what == asked), "{error}");
    assert!(took >= SHORT && took < SHORT + BUSY, "{took:?}");
    assert!(error.to_string().contains("within 150ms"), "{error}");
}

#[test]
fn a_socket_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("bird.ctl");
    let error = Control::connect(&socket, PATIENCE).unwrap_err();
    assert!(matches!(error.fault, Fault::Missing));
    assert!(
        error.to_string().starts_with(&format!("{}: there is no such socket", socket.display())),
        "{error}"
    );
}

#[test]
fn a_socket_or_file_that_nobody_listens_at() {
    let folder = tempfile::tempdir().unwrap();
    let left_behind = folder.path().join("bird.ctl");
    drop(UnixListener::bind(&left_behind).unwrap());
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for socket in [left_behind, file] {
        let error = Control::connect(&socket, PATIENCE).unwrap_err();
        assert!(matches!(error.fault, Fault::NotRunning), "{error}");
    }
}

#[test]
fn paths_that_can_be_no_socket() {
    for path in ["", "/proc/version/bird.ctl", &format!("/{}", "x".repeat(300))] {
        let error = Control::connect(path.as_ref(), PATIENCE).unwrap_err();
        assert!(matches!(error.fault, Fault::Io { .. }), "{path:?}: {error}");
    }
}

#[test]
fn a_daemon_that_does_not_accept_and_whose_queue_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bird.ctl");
    let listener = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    listener.bind(&SockAddr::unix(&path).unwrap()).unwrap();
    listener.listen(0).unwrap();
    let mut waiting = Vec::new();
    loop {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        socket.set_nonblocking(true).unwrap();
        match socket.connect(&SockAddr::unix(&path).unwrap()) {
            Ok(()) => waiting.push(socket),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    times_out("connect", || Control::connect(&path, SHORT));
}

#[test]
fn a_daemon_that_does_not_greet_or_only_half() {
    for said in ["", "0001 BIRD 2.19", "0001-BIRD 2.19\n", "+notice\n"] {
        let fake = Fake::once([say(said), Step::Hang]);
        times_out("connect", || Control::connect(&fake.socket(), SHORT));
        fake.finish();
    }
}

#[test]
fn an_answer_that_stops_half_way_or_never_begins() {
    let whole = status(UP, 1);
    for said in [&whole[..0], &whole[..9], &whole[..whole.len() - 1]] {
        let fake = Fake::once([greet(), Step::Expect("show status"), say(said), Step::Hang]);
        let mut control = Control::connect(&fake.socket(), PATIENCE).unwrap();
        control.set_patience(SHORT);
        times_out("show status", || control.status());
        drop(control);
        fake.finish();
    }
}

#[test]
fn an_answer_that_never_ends() {
    // Small pieces that always come before a time for one piece would be over.
    for endless in [&b"1000-a\n"[..], b"+n\n", b" "] {
        let fake =
            Fake::once([greet(), Step::Expect("show status"), say("1000-BIRD\n"), Step::Flood(endless)]);
        let mut control = Control::connect(&fake.socket(), PATIENCE).unwrap();
        control.set_patience(SHORT);
        let begin = Instant::now();
        let error = control.status().unwrap_err();
        assert!(matches!(error.fault, Fault::TimedOut { .. } | Fault::Garbage { .. }), "{error}");
        assert!(begin.elapsed() < SHORT + BUSY);
        fake.finish();
    }
}

#[test]
fn a_line_that_never_ends_is_refused_without_waiting() {
    let fake = Fake::once([Step::Flood(b"0001 BIRD BIRD BIRD")]);
    let error = Control::connect(&fake.socket(), PATIENCE).unwrap_err();
    assert!(matches!(&error.fault, Fault::Garbage { reason, .. } if reason.contains("bytes")), "{error}");
    fake.finish();
}

#[test]
fn a_server_that_is_no_bird() {
    for greeting in
        ["HTTP/1.1 400 Bad Request\r\n\r\n", "220 mail ready\n", "0000 \n", "0001 Quagga ready\n", "\u{0}\n"]
    {
        let fake = Fake::once([say(greeting)]);
        let error = Control::connect(&fake.socket(), PATIENCE).unwrap_err();
        assert!(matches!(error.fault, Fault::Garbage { .. }), "{greeting:?}: {error}");
        assert!(error.to_string().contains("see that the path is BIRD's control socket"), "{error}");
        fake.finish();
    }
}

#[test]
fn answers_to_other_questions_are_garbage() {
    for text in [
        "0000 \n",
        "0013 Daemon is up and running\n",
        "1000-BIRD 2\n0013 Daemon is on holiday\n",
        "0003 Reconfigured\n",
    ] {
        let fake = Fake::once([greet()].into_iter().chain(answer("show status", text)));
        let error = Control::connect(&fake.socket(), PATIENCE).unwrap().status().unwrap_err();
        assert!(matches!(error.fault, Fault::Garbage { .. }), "{text:?}: {error}");
        fake.finish();
    }
    let fake =
        Fake::once([greet()].into_iter().chain(answer("show protocols all", "1002-short row\n0000 \n")));
    let error = Control::connect(&fake.socket(), PATIENCE).unwrap().protocols().unwrap_err();
    assert!(matches!(&error.fault, Fault::Garbage { reason, .. } if reason.contains("short row")), "{error}");
    fake.finish();
    let fake = Fake::once([greet()].into_iter().chain(answer("restrict", "0000 \n")));
    let error = Control::connect(&fake.socket(), PATIENCE).unwrap().restrict().unwrap_err();
    assert!(matches!(error.fault, Fault::Garbage { .. }), "{error}");
    fake.finish();
}

#[test]
fn a_connection_that_closes_in_the_middle_stays_closed() {
    let fake = Fake::once([greet(), Step::Expect("show status"), say("1000-BIRD 2\n")]);
    let mut control = Control::connect(&fake.socket(), PATIENCE).unwrap();
    let error = control.status().unwrap_err();
    assert!(matches!(&error.fault, Fault::Closed { asked } if asked == "show status"), "{error}");
    let error = control.protocols().unwrap_err();
    assert!(matches!(&error.fault, Fault::Closed { asked } if asked == "show protocols all"), "{error}");
    fake.finish();

    let fake = Fake::once([]);
    let error = Control::connect(&fake.socket(), PATIENCE).unwrap_err();
    assert!(matches!(error.fault, Fault::Closed { .. }), "{error}");
    fake.finish();
}

#[test]
fn an_answer_that_comes_too_late_is_nobodys() {
    let fake = Fake::once([greet(), Step::Expect("show protocols all"), Step::Hang]);
    let mut control = Control::connect(&fake.socket(), PATIENCE).unwrap();
    control.set_patience(SHORT);
    times_out("show protocols all", || control.protocols());
    control.set_patience(PATIENCE);
    // The fake sees the connection closed and ends; a second question could not be told from the first.
    let error = control.status().unwrap_err();
    assert!(matches!(error.fault, Fault::Closed { .. }), "{error}");
    fake.finish();
}

#[test]
fn an_answer_before_the_question_is_not_taken_for_it() {
    let fake = Fake::once([say(format!("0001 BIRD 2.19.2 ready.\n{}", status(UP, 1))), Step::Hang]);
    let mut control = Control::connect(&fake.socket(), PATIENCE).unwrap();
    let error = control.status().unwrap_err();
    assert!(matches!(&error.fault, Fault::Garbage { reason, .. } if reason.contains("before")), "{error}");
    drop(control);
    fake.finish();
}

#[test]
fn notices_change_no_answer() {
    let noisy = status(UP, 1).replace('\n', "\n+2026-11-29 INFO something\n");
    let noisy = noisy.strip_suffix("+2026-11-29 INFO something\n").unwrap();
    let steps = [say("+a\n"), greet(), say("+b\n"), Step::Expect("show status"), say(noisy)];
    let fake = Fake::once(steps);
    let mut control = Control::connect(&fake.socket(), PATIENCE).unwrap();
    assert_eq!(control.status().unwrap().version, "2.19.2");
    fake.finish();
}

#[test]
fn a_look_asks_at_once_and_has_one_time_for_all_of_it() {
    let steps = [greet()].into_iter().chain(answer("restrict", "0016 Access restricted\n"));
    let steps = steps.chain(answer("show status", status(UP, 7)));
    let protocols = answer("show protocols all", "2002-Name Proto Table State Since Info\n0000 \n");
    let fake = Fake::once(steps.clone().chain(protocols));
    let (seen, protocols) = Look::begin(&fake.socket(), PATIENCE).unwrap().end().unwrap();
    assert_eq!(seen.configuration_age(), Some(Duration::from_secs(7)));
    assert!(protocols.is_empty());
    fake.finish();

    let fake = Fake::once(steps.chain([Step::Expect("show protocols all"), Step::Hang]));
    let look = Look::begin(&fake.socket(), SHORT).unwrap();
    times_out("show protocols all", || look.end());
    fake.finish();

    // What cannot be restricted is not looked at.
    let fake = Fake::once([greet()].into_iter().chain(answer("restrict", "0000 \n")));
    let error = Look::begin(&fake.socket(), PATIENCE).unwrap().end().unwrap_err();
    assert!(matches!(error.fault, Fault::Garbage { .. }), "{error}");
    fake.finish();
}

#[test]
fn no_time_at_all_and_all_the_time_there_is() {
    let fake = Fake::new([vec![greet(), Step::Hang], vec![greet()]]);
    let error = Control::connect(&fake.socket(), Duration::ZERO).unwrap_err();
    assert!(matches!(error.fault, Fault::TimedOut { .. }), "{error}");
    assert!(Control::connect(&fake.socket(), Duration::MAX).is_ok());
    fake.finish();
}
