//! Killed at any instant of a loop of changes, what readers see is one whole set.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::names;
use crate::world::World;

const FILES: [&str; 3] = ["bird.cfg", "bird_aggr.cfg", "bird_ipam.cfg"];

type Set = BTreeMap<&'static str, String>;

/// The set that is the present one, read from one folder; none if it was replaced meanwhile.
fn present(out: &Path) -> Option<Set> {
    let folder = out.join(fs::read_link(out.join("..bird")).ok()?);
    FILES.into_iter().map(|name| Some((name, fs::read_to_string(folder.join(name)).ok()?))).collect()
}

/// The set as BIRD finds it: by the names of the files.
fn by_name(out: &Path) -> Set {
    FILES.into_iter().map(|name| (name, fs::read_to_string(out.join(name)).unwrap_or_default())).collect()
}

/// What a loop of kills came to.
#[derive(Debug, Default)]
struct Kills {
    kills: usize,
    /// Between the first file staged and the swap.
    staging: usize,
    /// By the reader that goes on all the while.
    looks: usize,
}

/// Half of the instants; one thread for each half.
const KILLS: usize = 500;

/// The longest that one half takes.
const TIME: Duration = Duration::from_secs(80);

#[test]
fn killed_at_a_thousand_instants_it_leaves_a_whole_set() {
    let begin = Instant::now();
    let halves: Vec<Kills> = thread::scope(|scope| {
        let halves = [0, 1].map(|half| scope.spawn(move || kill(half)));
        halves.into_iter().map(|half| half.join().unwrap()).collect()
    });
    let sum = |of: fn(&Kills) -> usize| halves.iter().map(of).sum::<usize>();
    let (kills, staging, looks) = (sum(|k| k.kills), sum(|k| k.staging), sum(|k| k.looks));
    eprintln!(
        "{kills} kills in {:.0?}, {staging} of them between the first staging and the swap; {looks} looks",
        begin.elapsed()
    );
    assert!(kills >= 40 && staging >= kills / 2, "{kills} kills, {staging} while something was staged");
}

fn kill(half: usize) -> Kills {
    let world = World::new();
    world.bench.put("tailorbird.toml", "[daemon]\nquiet = \"0ms\"\nreload = \"none\"\n");
    let out = world.path("out");
    // All three files differ between the two clusters.
    let block = |pool: u32| {
        format!(
            "apiVersion: crd.projectcalico.org/v1\nkind: BGPConfiguration\nmetadata: {{name: default}}\nspec: {{asNumber: {}}}\n---\n\
             apiVersion: crd.projectcalico.org/v1\nkind: IPPool\nmetadata: {{name: more}}\nspec: {{cidr: 10.{pool}.0.0/16}}\n---\n\
             apiVersion: crd.projectcalico.org/v1\nkind: BlockAffinity\nmetadata: {{name: b}}\nspec: {{cidr: 10.{pool}.1.0/26, node: worker-1, \
             state: confirmed, deleted: \"false\"}}\n",
            64500 + pool
        )
    };
    let clusters = [block(65), block(66)];
    let mut sets: Vec<Set> = Vec::new();
    for cluster in &clusters {
        world.put_object("more.yaml", cluster);
        let daemon = world.start();
        daemon.ready();
        sets.push(by_name(&out));
    }
    for name in FILES {
        assert_ne!(sets[0][name], sets[1][name], "{name}");
    }

    let (done, looks) = (AtomicBool::new(false), AtomicUsize::new(0));
    let versions = || names(&out).iter().filter(|name| name.contains('@')).count();
    let mut done_so_far = Kills::default();
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if let Some(set) = present(&out) {
                    assert!(sets.contains(&set), "a reader saw a mixed set: {set:#?}");
                    looks.fetch_add(1, Ordering::Relaxed);
                }
                thread::sleep(Duration::from_micros(200));
            }
        });
        let begin = Instant::now();
        for kill in 0..KILLS {
            if begin.elapsed() > TIME || reader.is_finished() {
                break;
            }
            world.put_object("more.yaml", &clusters[kill % 2]);
            let mut command = world.command();
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let start = Instant::now();
            if kill % 8 == 0 {
                // Anywhere in its life.
                let life = Duration::from_millis(1 + (kill as u64 * 7 + half as u64) % 120);
                thread::sleep(life);
            } else {
                // Soon after something is staged.
                while versions() == 2 && start.elapsed() < Duration::from_secs(2) {}
                let more = Duration::from_micros((kill as u64 * 37 + half as u64 * 17) % 2000);
                let seen = Instant::now();
                while seen.elapsed() < more {}
            }
            child.kill().unwrap();
            child.wait().unwrap();
            done_so_far.kills += 1;
            if versions() > 2 {
                done_so_far.staging += 1;
            }
            assert!(sets.contains(&by_name(&out)), "kill {kill}: {:#?}", by_name(&out));
        }
        done.store(true, Ordering::Relaxed);
    });
    let daemon = world.start();
    daemon.ready();
    assert_eq!(by_name(&out), sets[(done_so_far.kills - 1) % 2]);
    assert_eq!(versions(), 2, "leftovers are removed");
    Kills { looks: looks.into_inner(), ..done_so_far }
}
