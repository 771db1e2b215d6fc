//! From texts to files in place: staged, checked and swapped, beside what the disk alone takes for the same bytes (written, synced,
//! renamed), by turns on one disk in one run. One of a mesh's nodes has changed; both main files are others.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tailorbird::delivery::{self, Checks, Destination, Group};
use tailorbird::generator::{Change, event};
use tailorbird::measure::{Floor, Times, shown};
use tailorbird::plugin::PluginSet;
use tailorbird::render::Rendering;
use tailorbird::stage::Options;
use tailorbird_bench::results::{self, Measured};
use tailorbird_bench::scene::{cluster, is_quick, node_name, rendered, sizes, templates};

/// Measurements of each side, in turn; odd, so that there is a middle one.
const TURNS: u32 = 15;

pub(crate) fn run() -> Result<()> {
    let mut measured = Vec::new();
    println!(
        "{:>6}  {:>10}  {:>10}  {:>10}  {:>10}  {:>8}",
        "nodes", "bytes", "disk", "stage+swap", "checked", "of disk"
    );
    for size in sizes() {
        let [bytes, floor, swap, check] = measure(size)?;
        let ratio = swap / floor;
        let time = |nanoseconds: f64| shown(Duration::from_nanos(nanoseconds as u64));
        let checked = if check > 0.0 { time(check) } else { "no BIRD".to_owned() };
        println!(
            "{size:>6}  {bytes:>10}  {:>10}  {:>10}  {checked:>10}  {ratio:>6.2} x",
            time(floor),
            time(swap)
        );
        for (what, value) in [("bytes", bytes), ("floor", floor), ("stage and swap", swap), ("check", check)]
        {
            measured.push(Measured { what: what.to_owned(), size, value });
        }
    }
    results::write("stage", &measured)?;
    Ok(())
}

fn groups(rendering: Rendering, named: &[(String, std::path::PathBuf)], out: &Path) -> Result<Vec<Group>> {
    Ok(delivery::groups(rendering, named, &[], &Destination::Folder(out.to_owned()))?)
}

/// The bytes of the files that change, and the medians of the disk alone, of staging and swapping, and of BIRD's check of both
/// files (0 where no BIRD is), in nanoseconds.
fn measure(size: u32) -> Result<[f64; 4]> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let out = folder.path().join("out");
    std::fs::create_dir(&out)?;
    let floor = Floor::on(folder.path())?;
    let spec = cluster(size);
    let name = node_name(&spec);
    let named: Vec<_> =
        templates(&name).iter().map(|resource| (resource.group_name(), resource.dest.clone())).collect();
    let mut node = rendered(&spec, &PluginSet::default());
    let (mut disk, mut swaps, mut checks, mut bytes) =
        (Times::default(), Times::default(), Times::default(), 0);
    let options = Options::default();
    for turn in 0..=if is_quick() { 5 } else { TURNS } {
        let changed = spec.change(Change::NodeAddress(1), turn + 1).context("node 1")?;
        let step = node.step([event(changed)]).map_err(|error| anyhow!("{error}"))?;
        let texts = step.texts();
        bytes = texts.iter().map(Vec::len).sum();
        let alone = floor.take(texts.iter().map(Vec::as_slice))?;
        let groups = groups(step.rendering, &named, &out)?;
        let mut taken = Times::default();
        for group in &groups {
            taken.time(|| group.deliver(Checks::Programs(Vec::new()), true, &options))?;
        }
        let mut checked = Times::default();
        for check in groups.iter().map(Group::checks).collect::<Result<Vec<_>, _>>()?.iter().flatten() {
            checked.time(|| check.check.run(&check.dest, options.check_timeout))?;
        }
        // The first one makes the folders.
        if turn > 0 {
            disk.push(alone);
            swaps.push(taken.sum());
            checks.push(checked.sum());
        }
    }
    // What is still to be written must not fall into the next size.
    let _ = Command::new("sync").status();
    let nanoseconds = |times: &Times| times.median().as_nanos() as f64;
    Ok([bytes as f64, nanoseconds(&disk), nanoseconds(&swaps), nanoseconds(&checks)])
}
