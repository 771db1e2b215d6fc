//! What is measured in processes of their own, or on a disk: files in place against the disk alone, memory, instructions.
//!
//! As with other benches, words choose what is measured: `stage`, `memory`, `instructions`.

mod instructions;
mod memory;
mod stage;

use anyhow::Result;

/// The allocator of the `tailorbird` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    if let Some(done) = memory::asked().or_else(instructions::asked) {
        return done;
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let chosen = |part: &str| words.is_empty() || words.iter().any(|word| part.contains(word.as_str()));
    let parts: [(&str, fn() -> Result<()>); 3] =
        [("stage", stage::run), ("memory", memory::run), ("instructions", instructions::run)];
    for (name, run) in parts {
        if chosen(name) {
            println!("\n{name}");
            run()?;
        }
    }
    Ok(())
}
