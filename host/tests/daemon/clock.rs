//! The machine's clock is set while the daemon runs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::world::{World, until};

/// Between the program and the system: adds the seconds that stand in a file to the time of day.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    long done = syscall(SYS_clock_gettime, clock, time);
    const char *path = getenv("CLOCK_SHIFT");
    char text[32] = {0};
    int file;
    if (done == 0 && clock == CLOCK_REALTIME && path && (file = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
        if (read(file, text, sizeof text - 1) > 0) time->tv_sec += atol(text);
        close(file);
    }
    return done;
}
"#;

/// The shim as a library; the compiler that links Rust programs makes it.
fn shim(world: &World) -> Option<PathBuf> {
    let (source, library) = (world.bench.put("shim/shim.c", SHIM), world.path("shim/shim.so"));
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).output().ok()?;
    made.status.success().then_some(library)
}

#[test]
fn a_clock_that_jumps_neither_holds_up_a_change_nor_loads_anything_again() {
    let world = World::new();
    let Some(shim) = shim(&world) else {
        eprintln!("skipped: there is no C compiler here");
        return;
    };
    let birds = world.birds();
    let shift = |seconds: i64| {
        fs::write(world.path("shim/new"), seconds.to_string()).unwrap();
        fs::rename(world.path("shim/new"), world.path("shim/shift")).unwrap();
    };
    shift(0);
    let mut command = world.command();
    command.env("LD_PRELOAD", shim).env("CLOCK_SHIFT", world.path("shim/shift"));
    command.args(["--log-format", "json"]);
    let daemon = world.start_as(command);
    daemon.ready();
    let loads = || birds.iter().map(|bird| bird.loads()).sum::<usize>();
    let hour = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["timestamp"].as_str().unwrap()[..13].to_owned()
    };
    let mut hours = vec![hour(daemon.log().lines().last().unwrap())];
    const DAY: i64 = 24 * 3600;
    for (number, seconds) in [-DAY, DAY, 30 * DAY, -3600, 0].into_iter().enumerate() {
        shift(seconds);
        let before = loads();
        let address = format!("10.9.0.{}", number + 1);
        world.put_peer("extra.yaml", &address);
        world.shows("bird.cfg", &address, true);
        daemon.ready();
        until("it is loaded once", || (loads() == before + 1).then_some(()));
        // What BIRD runs is as new as the files, whatever their times say: several looks find nothing to do.
        birds[0].looked(5);
        assert_eq!(loads(), before + 1, "shifted by {seconds} s: {}", daemon.log());
        hours.push(hour(daemon.log().lines().last().unwrap()));
    }
    // The shim did what it is for.
    assert!(hours.windows(2).all(|two| two[0] != two[1]), "{hours:?}");
    assert!(!daemon.log().contains("something else than what is on disk"), "{}", daemon.log());
}
