//! All that `docs/performance.md` tells, in one program: what a rendering costs, files in place against the disk alone, memory,
//! instructions.
//!
//! Words choose what is measured: `stage`, `memory`, `instructions`, or part of a Criterion benchmark's name.

mod calls;
mod instructions;
mod memory;
mod render;
mod stage;

use anyhow::Result;
use criterion::Criterion;
use tailorbird_bench::scene::is_quick;

/// The allocator of the `tailorbird` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A part that is no Criterion suite, by its name.
type Part = (&'static str, fn() -> Result<()>);

fn main() -> Result<()> {
    if let Some(done) = memory::asked().or_else(instructions::asked) {
        return done;
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [Part; 3] =
        [("stage", stage::run), ("memory", memory::run), ("instructions", instructions::run)];
    let chosen: Vec<_> =
        parts.iter().filter(|(name, _)| words.is_empty() || words.iter().any(|word| word == name)).collect();
    for (name, run) in &chosen {
        println!("\n{name}");
        run()?;
    }
    if words.is_empty() || chosen.is_empty() {
        criterion();
    }
    Ok(())
}

fn criterion() {
    // The page draws its own charts, and Criterion's, one a benchmark, take longer than the measurements.
    let mut criterion = Criterion::default().without_plots();
    if is_quick() {
        criterion = criterion.nresamples(10_000);
    }
    criterion = criterion.configure_from_args();
    for suite in [
        render::cold,
        render::change,
        render::selectors,
        render::assembling,
        render::parse,
        calls::functions,
        calls::policies,
        calls::plugin_functions,
    ] {
        suite(&mut criterion);
    }
    criterion.final_summary();
}
