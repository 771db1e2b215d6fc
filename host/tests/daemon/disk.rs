//! The disk does not take the files.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::world::World;

#[test]
fn a_destination_that_is_gone_is_told_and_comes_back() {
    let world = World::new();
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    fs::rename(world.path("out"), world.path("elsewhere")).unwrap();
    world.put_peer("extra.yaml", "10.9.0.1");
    let reason = daemon.unready("group bird: failed at stage");
    assert!(reason.contains("out"), "{reason}");
    fs::rename(world.path("elsewhere"), world.path("out")).unwrap();
    daemon.ready();
    world.shows("bird.cfg", "10.9.0.1", true);
}

/// A file system of its own, gone with this value.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    /// Only root can do it.
    fn new(at: &'a Path, size: &str) -> Option<Self> {
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", size, "none"]).arg(at).output().ok()?;
        done.status.success().then_some(Self(at))
    }

    fn remount(&self, option: &str) {
        let option = format!("remount,{option}");
        assert!(Command::new("mount").args(["-o", &option]).arg(self.0).status().unwrap().success());
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.0).status());
    }
}

#[test]
fn a_disk_that_is_full_or_read_only_keeps_the_old_files() {
    let world = World::new();
    let out = world.path("out");
    let Some(disk) = Mounted::new(&out, "size=256k") else {
        eprintln!("skipped: no file system can be mounted here");
        return;
    };
    let _birds = world.birds();
    let daemon = world.start();
    daemon.ready();
    let before = world.out("bird.cfg");

    // Filled to the last byte.
    let mut filling = fs::File::create(out.join("filling")).unwrap();
    while std::io::Write::write_all(&mut filling, &[0; 4096]).is_ok() {}
    world.put_peer("extra.yaml", "10.9.0.1");
    daemon.unready("No space left");
    assert_eq!(world.out("bird.cfg"), before);
    drop(filling);
    fs::remove_file(out.join("filling")).unwrap();
    daemon.ready();
    world.shows("bird.cfg", "10.9.0.1", true);

    disk.remount("ro");
    world.put_peer("extra.yaml", "10.9.0.2");
    daemon.unready("Read-only file system");
    world.shows("bird.cfg", "10.9.0.1", true);
    disk.remount("rw");
    daemon.ready();
    world.shows("bird.cfg", "10.9.0.2", true);
    let left = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = left.filter(|name| name.contains('@')).collect();
    left.sort();
    assert_eq!(left.len(), 2, "one folder for each daemon: {left:?}");
}
