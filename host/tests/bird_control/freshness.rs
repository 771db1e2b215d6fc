//! What can be said of whether BIRD runs what is on disk.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tailorbird::bird::control::{Freshness, Probe, State, Status, last_change};

/// A probe of a BIRD that read its configuration 100 seconds ago.
fn probed(fraction: &str) -> Probe {
    let status = Status {
        version: "2.19.2".into(),
        router_id: [10, 0, 0, 1].into(),
        hostname: None,
        server_time: format!("2026-11-29 12:01:40{fraction}"),
        last_reboot: format!("2026-11-29 11:00:00{fraction}"),
        last_reconfiguration: format!("2026-11-29 12:00:00{fraction}"),
        state: State::UpToDate,
        recovering: false,
    };
    Probe { status, at: SystemTime::now(), took: Duration::from_millis(40) }
}

#[test]
fn older_and_younger_than_the_files_and_too_close_to_tell() {
    let exact = probed(".000");
    let seconds = probed("");
    let read = |probe: &Probe| probe.at - Duration::from_secs(100);
    let judge = |probe: &Probe, later: i64| {
        let by = Duration::from_millis(later.unsigned_abs());
        probe.freshness(if later < 0 { read(probe) - by } else { read(probe) + by })
    };
    // 40 ms of the conversation and 10 ms of the clock.
    assert_eq!(judge(&exact, -51), Freshness::Current);
    assert_eq!(judge(&exact, -49), Freshness::Unknown);
    assert_eq!(judge(&exact, 49), Freshness::Unknown);
    assert_eq!(judge(&exact, 51), Freshness::Stale);
    // Whole seconds of two clocks.
    assert_eq!(judge(&seconds, -2041), Freshness::Current);
    assert_eq!(judge(&seconds, -2039), Freshness::Unknown);
    assert_eq!(judge(&seconds, 2039), Freshness::Unknown);
    assert_eq!(judge(&seconds, 2041), Freshness::Stale);
}

#[test]
fn times_that_cannot_be_read_say_nothing() {
    let mut probe = probed(".000");
    probe.status.last_reconfiguration = "long ago".into();
    assert_eq!(probe.freshness(SystemTime::UNIX_EPOCH), Freshness::Unknown);
}

#[test]
fn a_file_of_any_time_is_judged() {
    let mut probe = probed(".000");
    probe.at = SystemTime::UNIX_EPOCH;
    assert_eq!(probe.freshness(SystemTime::now()), Freshness::Stale);
}

/// The change is later than the one before; file systems tick slowly, so it is made until they do.
fn changes(file: &Path, mut change: impl FnMut()) {
    let before = last_change(file).unwrap();
    let patience = std::time::Instant::now() + Duration::from_secs(20);
    while last_change(file).unwrap() == before {
        assert!(std::time::Instant::now() < patience, "the change is not seen");
        change();
    }
    assert!(last_change(file).unwrap() > before);
}

#[test]
fn a_change_of_the_file_or_of_a_link_to_it_counts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for version in ["v1", "v2"] {
        fs::create_dir(at(version)).unwrap();
        fs::write(at(version).join("bird.cfg"), version).unwrap();
    }
    symlink("v1", at("current")).unwrap();
    symlink("current/bird.cfg", at("bird.cfg")).unwrap();
    let file = at("bird.cfg");

    changes(&file, || fs::write(at("v1/bird.cfg"), "more").unwrap());
    // An older file comes in its place: the swap is the change.
    changes(&file, || {
        symlink("v2", at("next")).unwrap();
        fs::rename(at("next"), at("current")).unwrap();
    });
    changes(&file, || {
        symlink(at("v2/bird.cfg"), at("next")).unwrap();
        fs::rename(at("next"), at("bird.cfg")).unwrap();
    });
    // What is not on the way does not count.
    let before = last_change(&file).unwrap();
    fs::write(at("v1/bird.cfg"), "nobody sees this").unwrap();
    assert_eq!(last_change(&file).unwrap(), before);
}

#[test]
fn a_file_that_is_not_there_has_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(last_change(&at("none")).is_err());
    symlink("none", at("dangling")).unwrap();
    assert!(last_change(&at("dangling")).is_err());
    symlink("b", at("a")).unwrap();
    symlink("a", at("b")).unwrap();
    assert!(last_change(&at("a")).unwrap_err().to_string().contains("symbolic links"));
}
