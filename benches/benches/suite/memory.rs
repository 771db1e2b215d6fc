//! The memory of an engine and of what is kept for the next rendering, by the size of the cluster, each size in a process of its own.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use tailorbird::engine::{Engine, Settings};
use tailorbird::generator::event;
use tailorbird::measure::Resident;
use tailorbird::render::Renderer;
use tailorbird_bench::results::{self, Measured};
use tailorbird_bench::scene::{cluster, node_name, sizes_to_the_largest, templates};

/// The size that a process is to measure.
const SIZE: &str = "TAILORBIRD_BENCH_SIZE";

/// What a process of its own is asked to do, if this is one.
pub(crate) fn asked() -> Option<Result<()>> {
    let size = std::env::var(SIZE).ok()?;
    Some(size.parse().map_err(anyhow::Error::from).and_then(child))
}

pub(crate) fn run() -> Result<()> {
    let mut measured = Vec::new();
    println!(
        "{:>6}  {:>14}  {:>14}  {:>14}  {:>12}",
        "nodes", "engine", "texts, kept", "peak", "engine/node"
    );
    for size in sizes_to_the_largest() {
        let done = Command::new(std::env::current_exe()?).env(SIZE, size.to_string()).output()?;
        ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let numbers = String::from_utf8(done.stdout)?;
        let numbers: Vec<f64> = numbers.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [engine, texts, peak] = numbers[..].try_into().context("three numbers")?;
        let mebibytes = |bytes: f64| bytes / f64::from(1 << 20);
        println!(
            "{size:>6}  {:>10.1} MiB  {:>10.1} MiB  {:>10.1} MiB  {:>8.2} KiB",
            mebibytes(engine),
            mebibytes(texts),
            mebibytes(peak),
            engine / 1024.0 / f64::from(size)
        );
        for (what, value) in [("engine", engine), ("texts", texts), ("peak", peak)] {
            measured.push(Measured { what: what.to_owned(), size, value });
        }
    }
    results::write("memory", &measured)?;
    Ok(())
}

/// Prints what the engine added to this process, what the first rendering added, and the peak, in bytes. Objects are made one by one.
fn child(size: u32) -> Result<()> {
    let spec = cluster(size);
    let name = node_name(&spec);
    let mut renderer = Renderer::new(templates(&name));
    let begin = Resident::settled()?;
    let mut engine = Engine::new(Settings::new(name));
    let mut batch = engine.batch();
    spec.objects().for_each(|object| batch.push(event(object)));
    batch.finish();
    let with_engine = Resident::settled()?;
    let rendering = renderer.render(engine.snapshot());
    ensure!(rendering.files.iter().all(Result::is_ok), "a template failed");
    let rendered = Resident::settled()?;
    let engine_bytes = with_engine.now.saturating_sub(begin.now);
    println!("{engine_bytes} {} {}", rendered.now.saturating_sub(with_engine.now), rendered.peak);
    Ok(())
}
