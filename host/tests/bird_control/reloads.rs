//! One reload to its end, as it may go.

use std::num::NonZeroU16;
use std::time::{Duration, Instant};

use tailorbird::bird::control::{
    Control, Fault, NotInForce, Reload, Reloaded, State, UndoneBy, reload, reload_confirmed,
};

use crate::fake::{BUSY, ENDING, Fake, Step, UP, answer, greet, say, status};

const DONE: &str = "0002-Reading configuration from /etc/bird.cfg\n0003 Reconfigured\n";
const IN_PROGRESS: &str = "0002-Reading configuration from /etc/bird.cfg\n0004 Reconfiguration in progress\n";
const QUEUED: &str = "0002-Reading\n0005 Reconfiguration already in progress, queueing new config\n";
const TIMED: &str = "0002-Reading configuration\n0022-Undo scheduled in 9 s\n0003 Reconfigured\n";
const UNDONE: &str = "0021-Undo requested\n0003 Reconfigured\n";

const SHORT: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(60);

fn patient() -> Reload {
    Reload { answer: LONG, in_force: LONG, ..Reload::default() }
}

fn nine() -> NonZeroU16 {
    NonZeroU16::new(9).unwrap()
}

/// A server that greets and then answers these.
fn answering(pairs: &[(&'static str, &str)]) -> Fake {
    Fake::once([greet()].into_iter().chain(pairs.iter().flat_map(|(command, text)| answer(command, *text))))
}

fn agree(_: &mut Control) -> Result<(), String> {
    Ok(())
}

#[test]
fn in_force_at_once() {
    let fake = answering(&[("configure", DONE), ("show status", &status(UP, 0))]);
    let Reloaded::InForce { status, .. } = reload(&fake.socket(), &patient()) else { panic!() };
    assert_eq!(status.state, State::UpToDate);
    fake.finish();
}

#[test]
fn in_force_after_a_while() {
    for accepted in [IN_PROGRESS, QUEUED] {
        let (busy, up) = (status(BUSY, 0), status(UP, 0));
        let pairs =
            [("configure", accepted), ("show status", &busy), ("show status", &busy), ("show status", &up)];
        let fake = answering(&pairs);
        let reloaded = reload(&fake.socket(), &patient());
        assert!(reloaded.is_in_force(), "{reloaded}");
        fake.finish();
    }
}

#[test]
fn never_in_force_in_time() {
    let steps =
        [greet(), Step::Expect("configure"), say(IN_PROGRESS), Step::Each("show status", status(BUSY, 0))];
    let fake = Fake::once(steps);
    let begin = Instant::now();
    let reloaded = reload(&fake.socket(), &Reload { in_force: SHORT, ..patient() });
    let Reloaded::AcceptedNotInForce { why, waited } = &reloaded else { panic!("{reloaded}") };
    assert_eq!(*why, NotInForce::StillReconfiguring);
    assert!(*waited >= SHORT && begin.elapsed() < LONG);
    assert!(reloaded.to_string().contains("still going over"), "{reloaded}");
    fake.finish();
}

#[test]
fn done_is_not_believed_when_an_older_configuration_runs() {
    let fake = answering(&[("configure", DONE), ("show status", &status(UP, 59))]);
    let reloaded = reload(&fake.socket(), &patient());
    let Reloaded::AcceptedNotInForce { why: NotInForce::Older { read }, .. } = &reloaded else {
        panic!("{reloaded}")
    };
    assert_eq!(read, "2026-11-29 12:00:00.500");
    fake.finish();
}

#[test]
fn times_in_a_form_of_the_operators_own_prove_nothing() {
    let odd = status(UP, 59).replace("2026-11-29 12:00", "Sunday noon");
    let fake = answering(&[("configure", DONE), ("show status", &odd)]);
    assert!(reload(&fake.socket(), &patient()).is_in_force());
    fake.finish();
}

#[test]
fn refused() {
    let fake = answering(&[("configure", "0002-Reading\n8002 /etc/bird.cfg:4:2 syntax error\n")]);
    let reloaded = reload(&fake.socket(), &patient());
    assert!(matches!(reloaded, Reloaded::Refused(_)));
    assert_eq!(
        reloaded.to_string(),
        "BIRD refused the configuration and runs the old one: /etc/bird.cfg, line 4: syntax error"
    );
    fake.finish();
}

#[test]
fn shutting_down_before_and_after() {
    let fake = answering(&[("configure", "0002-Reading\n0006 Reconfiguration ignored, shutting down\n")]);
    assert!(matches!(reload(&fake.socket(), &patient()), Reloaded::ShuttingDown));
    fake.finish();
    let fake = answering(&[("configure", IN_PROGRESS), ("show status", &status(ENDING, 0))]);
    assert!(matches!(reload(&fake.socket(), &patient()), Reloaded::ShuttingDown));
    fake.finish();
}

#[test]
fn no_answer_or_a_closed_one_may_have_been_accepted() {
    let fake = Fake::once([greet(), Step::Expect("configure"), Step::Hang]);
    let reloaded = reload(&fake.socket(), &Reload { answer: SHORT, ..patient() });
    let Reloaded::Unreachable { error, accepted: true, undo_within: None } = &reloaded else {
        panic!("{reloaded}")
    };
    assert!(matches!(error.fault, Fault::TimedOut { .. }), "{error}");
    fake.finish();

    let fake = answering(&[("configure", DONE)]);
    let reloaded = reload(&fake.socket(), &patient());
    let Reloaded::Unreachable { error, accepted: true, .. } = &reloaded else { panic!("{reloaded}") };
    assert!(matches!(error.fault, Fault::Closed { .. }), "{error}");
    fake.finish();
}

#[test]
fn nobody_there_or_denied_was_not_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let reloaded = reload(&folder.path().join("bird.ctl"), &patient());
    assert!(matches!(&reloaded, Reloaded::Unreachable { accepted: false, .. }), "{reloaded}");
    for text in ["8007 Access denied\n", "0019 Nothing to do\n", "0000 \n"] {
        let fake = answering(&[("configure", text)]);
        let reloaded = reload(&fake.socket(), &patient());
        assert!(matches!(&reloaded, Reloaded::Unreachable { accepted: false, .. }), "{reloaded}");
        fake.finish();
    }
}

#[test]
fn confirmed() {
    let fake = answering(&[
        ("configure timeout 9", TIMED),
        ("show status", &status(UP, 0)),
        ("show protocols all", "0000 \n"),
        ("configure confirm", "0018 Reconfiguration confirmed\n"),
    ]);
    let reloaded = reload_confirmed(&fake.socket(), &patient(), nine(), |control| {
        control.protocols().map(|_| ()).map_err(|error| error.to_string())
    });
    assert!(reloaded.is_in_force(), "{reloaded}");
    fake.finish();
}

#[test]
fn undone_when_something_speaks_against_it() {
    let fake = answering(&[
        ("configure timeout 9", TIMED),
        ("show status", &status(UP, 0)),
        ("configure undo", UNDONE),
    ]);
    let reloaded =
        reload_confirmed(&fake.socket(), &patient(), nine(), |_| Err("no session came up".to_owned()));
    assert!(matches!(&reloaded, Reloaded::Undone { by: UndoneBy::Command, .. }));
    assert_eq!(
        reloaded.to_string(),
        "the new configuration was undone and BIRD runs the old one: no session came up"
    );
    fake.finish();
}

#[test]
fn undone_when_it_is_not_in_force_in_time() {
    let fake = Fake::once([
        greet(),
        Step::Expect("configure timeout 9"),
        say(TIMED),
        Step::Each("show status", status(BUSY, 0)),
        Step::Expect("configure undo"),
        say("0021-Undo requested\n0005 Reconfiguration already in progress, queueing new config\n"),
    ]);
    let reloaded = reload_confirmed(&fake.socket(), &Reload { in_force: SHORT, ..patient() }, nine(), agree);
    let Reloaded::Undone { why, by: UndoneBy::Command } = &reloaded else { panic!("{reloaded}") };
    assert!(why.contains("still going over"), "{why}");
    fake.finish();
}

#[test]
fn undone_by_birds_timer_before_it_was_confirmed() {
    let fake = answering(&[
        ("configure timeout 9", TIMED),
        ("show status", &status(UP, 0)),
        ("configure confirm", "+Config timeout expired, starting undo\n0019 Nothing to do\n"),
    ]);
    let reloaded = reload_confirmed(&fake.socket(), &patient(), nine(), agree);
    let Reloaded::Undone { by, .. } = &reloaded else { panic!("{reloaded}") };
    assert_eq!(*by, UndoneBy::Timer(nine()));
    fake.finish();
}

#[test]
fn undone_over_a_new_connection_when_the_old_one_broke() {
    let first = [greet()]
        .into_iter()
        .chain(answer("configure timeout 9", TIMED))
        .chain(answer("show status", status(UP, 0)))
        .chain(answer("show protocols all", "nonsense\n"));
    let second = [greet()].into_iter().chain(answer("configure undo", UNDONE));
    let fake = Fake::new([first.collect(), second.collect()]);
    let reloaded = reload_confirmed(&fake.socket(), &patient(), nine(), |control| {
        control.protocols().map(|_| ()).map_err(|error| error.to_string())
    });
    let Reloaded::Undone { why, by: UndoneBy::Command } = &reloaded else { panic!("{reloaded}") };
    assert!(why.contains("nonsense"), "{why}");
    fake.finish();
}

#[test]
fn what_cannot_be_undone_is_left_to_birds_timer() {
    let fake = answering(&[("configure timeout 9", TIMED), ("show status", &status(UP, 0))]);
    let socket = fake.socket();
    let reloaded = reload_confirmed(&socket, &patient(), nine(), |_| {
        std::fs::remove_file(&socket).unwrap();
        Err("no session came up".to_owned())
    });
    let Reloaded::Undone { by, .. } = &reloaded else { panic!("{reloaded}") };
    assert_eq!(*by, UndoneBy::Timer(nine()));
    assert!(reloaded.to_string().contains("by itself, 9 s after"), "{reloaded}");
    fake.finish();
}

#[test]
fn a_bird_that_goes_before_it_is_confirmed_goes_back_by_itself() {
    let fake = answering(&[("configure timeout 9", TIMED), ("show status", &status(UP, 0))]);
    let reloaded = reload_confirmed(&fake.socket(), &patient(), nine(), agree);
    let Reloaded::Unreachable { accepted: true, undo_within, .. } = &reloaded else { panic!("{reloaded}") };
    assert_eq!(*undo_within, Some(nine()));
    assert!(reloaded.to_string().contains("within 9 s"), "{reloaded}");
    fake.finish();
}
