//! Makes the page on performance of the last results in Cargo's target folder, and prints it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use tailorbird_bench::machine::Machine;
use tailorbird_bench::page::{self, Results};
use tailorbird_bench::results;

#[derive(Parser)]
#[command(about = "Makes the page on performance of the last results")]
struct Args {
    /// The page; its charts go into a folder of the same name
    #[arg(long, value_name = "FILE", default_value = "docs/performance.md")]
    page: PathBuf,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let folder = results::folder();
    let criterion = folder.with_file_name("criterion");
    let results = Results {
        estimates: results::estimates(&criterion).with_context(|| criterion.display().to_string())?,
        stage: results::read(&folder, "stage").with_context(|| folder.display().to_string())?,
        memory: results::read(&folder, "memory").with_context(|| folder.display().to_string())?,
    };
    page::write(&results, &Machine::this(), &args.page)?;
    print!("{}", std::fs::read_to_string(&args.page)?);
    eprintln!("written: {}", args.page.display());
    Ok(())
}
