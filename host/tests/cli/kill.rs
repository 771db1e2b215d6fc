//! Killed at any instant, the files on disk are one whole set.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{Bench, names};

#[test]
fn a_render_that_is_killed_leaves_a_whole_set() {
    let bench = Bench::new();
    let line = |node: u32| format!("render --objects OBJECTS --node worker-{node} --out OUT");
    let mut sets = Vec::new();
    let start = Instant::now();
    for node in [2, 1] {
        bench.run(&line(node)).ends(0);
        sets.push(bench.set());
    }
    let whole = start.elapsed() / 2;
    let family = |set: &std::collections::BTreeMap<String, String>, six: bool| -> Vec<String> {
        set.iter()
            .filter(|(name, _)| name.starts_with("bird6") == six)
            .map(|(_, text)| text.clone())
            .collect()
    };
    let kills = 30;
    for i in 0..kills {
        let mut command = bench.command(&line(1 + i % 2));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Somewhere in its life, a little later each time.
        let until = Instant::now()
            + Duration::from_micros(u64::from(i) * whole.as_micros() as u64 / u64::from(kills));
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        let _ = child.kill();
        child.wait().unwrap();
        let now = bench.set();
        assert_eq!(now.len(), 6, "kill {i}");
        for six in [false, true] {
            let found = family(&now, six);
            assert!(sets.iter().any(|set| family(set, six) == found), "kill {i}: a mixed set");
        }
    }
    bench.run(&line(1)).ends(0);
    assert_eq!(bench.set(), sets[1]);
    let versions = names(&bench.out()).into_iter().filter(|name| name.contains('@'));
    assert_eq!(versions.count(), 2, "what the killed ones left is removed");
}
