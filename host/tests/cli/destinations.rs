//! Destinations that resist, and files that another renderer left.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Bench, FILES, names, read_set};

const RENDER: &str = "render --objects OBJECTS --node worker-1 --out OUT";

#[test]
fn files_of_another_renderer_are_taken_over() {
    let bench = Bench::new();
    for file in FILES {
        bench.put(&format!("out/{file}"), &format!("# an old {file}\n"));
    }
    bench.put("out/other.cfg", "# not ours\n");
    let ran = bench.run(RENDER).ends(0).silent();
    assert_eq!(ran.out.matches("  written  ").count(), 6);
    assert!(bench.set().values().all(|text| !text.contains("# an old")));
    assert_eq!(fs::read_to_string(bench.out().join("other.cfg")).unwrap(), "# not ours\n");
    bench.run(RENDER).ends(0).prints("unchanged");

    // Going back: what another renderer puts in the place of the links stays until the next rendering.
    for file in FILES {
        let new = bench.put("new", &format!("# back again: {file}\n"));
        fs::rename(new, bench.out().join(file)).unwrap();
    }
    assert!(bench.set().values().all(|text| text.contains("# back again")));
    bench.run(RENDER).ends(0).silent();
    assert!(bench.set().values().all(|text| !text.contains("# back again")));
}

#[test]
fn a_folder_in_the_place_of_a_file() {
    let bench = Bench::new();
    fs::create_dir_all(bench.out().join("bird.cfg")).unwrap();
    bench
        .run(RENDER)
        .ends(1)
        .tells("bird.cfg is a directory, not a file")
        .prints("bird: FAILED")
        .prints("bird6: accepted");
    assert!(bench.out().join("bird.cfg").is_dir());
    assert_eq!(bench.set().len(), 3);
}

#[test]
fn a_file_in_the_place_of_the_folder() {
    let bench = Bench::new();
    bench.put("out", "a file\n");
    let ran = bench.run(RENDER).ends(1).prints_nothing().tells("out: this is no folder\n");
    assert_eq!(ran.err.lines().count(), 1);
    bench.run("templates export OUT").ends(1).prints_nothing().tells("error: ");
    bench
        .run("render --objects OBJECTS --node worker-1 --out out/deeper")
        .ends(1)
        .prints_nothing()
        .tells("error: cannot create the directory ");
}

/// Each template's own destination, in a directory that is not there.
#[test]
fn a_directory_that_is_missing() {
    let bench = Bench::new();
    bench.run("templates export conf").ends(0);
    let conf = bench.path("conf/conf.d");
    let out = bench.out();
    for name in names(&conf) {
        let text = fs::read_to_string(conf.join(&name)).unwrap();
        fs::write(conf.join(&name), text.replace("/etc/calico/confd/config", out.to_str().unwrap())).unwrap();
    }
    let line = "render --objects OBJECTS --node worker-1 --confdir conf";
    let ran =
        bench.run(line).ends(1).tells(&format!("the directory {} does not exist: create it", out.display()));
    assert_eq!(ran.err.lines().count(), 2, "one for each group: {}", ran.err);
    assert!(!out.exists());
    fs::create_dir(&out).unwrap();
    bench.run(line).ends(0).silent();
    bench.run("diff --objects OBJECTS --node worker-1 --confdir conf").ends(0).silent().prints_nothing();
    assert_eq!(bench.set().len(), 6);
}

struct Mount<'a>(&'a Path);

impl<'a> Mount<'a> {
    fn new(arguments: &[&str], at: &'a Path) -> Option<Self> {
        let done = Command::new("mount").args(arguments).arg(at).output();
        if done.is_ok_and(|done| done.status.success()) {
            return Some(Self(at));
        }
        println!("SKIPPED: mounting is not allowed here");
        None
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).output();
    }
}

#[test]
fn a_directory_that_is_read_only() {
    let bench = Bench::new();
    bench.run(RENDER).ends(0);
    let (out, before) = (bench.out(), bench.set());
    let Some(_mount) = Mount::new(&["--bind", "-o", "ro", out.to_str().unwrap()], &out) else { return };
    bench
        .run(&RENDER.replace("worker-1", "worker-2"))
        .ends(1)
        .tells("mount the volume writable")
        .prints("bird: FAILED")
        .prints("bird6: FAILED");
    assert_eq!(bench.set(), before);
    // What is there already needs no writing.
    bench.run("diff --objects OBJECTS --node worker-1 --out OUT").ends(0);
}

#[test]
fn a_disk_that_is_full() {
    let bench = Bench::new();
    let out = bench.out();
    fs::create_dir(&out).unwrap();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], &out) else { return };
    bench.run(RENDER).ends(0);
    let before = bench.set();
    // The rest of the disk.
    while fs::write(out.join(format!("filler-{}", names(&out).len())), [b'#'; 4096]).is_ok() {}
    bench
        .run(&RENDER.replace("worker-1", "worker-2"))
        .ends(1)
        .tells("free some space")
        .prints("bird: FAILED");
    assert_eq!(bench.set(), before);
    for name in names(&out).iter().filter(|name| name.starts_with("filler")) {
        fs::remove_file(out.join(name)).unwrap();
    }
    bench.run(&RENDER.replace("worker-1", "worker-2")).ends(0);
    let links = names(&out).into_iter().filter(|name| name.contains('@'));
    assert_eq!(links.count(), 2, "nothing that was staged is left");
}

#[test]
fn a_destination_that_is_a_bind_mount() {
    let bench = Bench::new();
    let (source, dest) = (bench.put("source.cfg", "# mounted\n"), bench.put("out/bird.cfg", ""));
    let Some(_mount) = Mount::new(&["--bind", source.to_str().unwrap()], &dest) else { return };
    bench.run(RENDER).ends(0);
    assert_eq!(fs::read_to_string(&source).unwrap(), bench.set()["bird.cfg"]);
    bench.run(RENDER).ends(0).prints("bird: unchanged");
    assert_eq!(read_set(&bench.out()).len(), 6);
}
