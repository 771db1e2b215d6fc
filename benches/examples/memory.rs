//! Renders the largest cluster from a dump and prints how much memory and time that took.
//!
//! It runs the `tailorbird` command that stands beside it in the target folder, else the one on the `PATH`; build it
//! first with `cargo build --release`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use tailorbird_bench::{ClusterSpec, write_json, write_yaml};

#[derive(Parser)]
#[command(about = "Renders the largest cluster from a dump and prints the peak memory")]
struct Args {
    /// The command to measure
    #[arg(long, value_name = "PATH")]
    tailorbird: Option<PathBuf>,
    /// Write the dump in JSON
    #[arg(long)]
    json: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let spec = ClusterSpec::large();
    let folder = tempfile::tempdir().context("a folder for the dump")?;
    let dump = folder.path().join(if args.json { "dump.json" } else { "dump.yaml" });
    let bytes = write(&spec, &dump, args.json).with_context(|| dump.display().to_string())?;
    println!(
        "dump: {} nodes, {} Services, {} EndpointSlices, {:.1} MiB",
        spec.nodes,
        spec.services,
        spec.services * spec.slices_per_service,
        mebibytes(bytes)
    );

    let program = args.tailorbird.unwrap_or_else(built);
    let said = folder.path().join("said");
    let begin = Instant::now();
    let mut child = Command::new(&program)
        .args(["render", "--no-check", "--objects"])
        .arg(&dump)
        .arg("--out")
        .arg(folder.path().join("out"))
        .args(["--node", &spec.node_name(0)])
        .stdout(Stdio::null())
        .stderr(File::create(&said).context("a file for the warnings")?)
        .spawn()
        .with_context(|| format!("{}: cannot be run", program.display()))?;
    let peak = watch(&mut child).with_context(|| std::fs::read_to_string(&said).unwrap_or_default())?;
    let seconds = begin.elapsed().as_secs_f64();
    println!("{}: {seconds:.2} s, peak {:.1} MiB resident", program.display(), mebibytes(peak));
    Ok(())
}

fn write(spec: &ClusterSpec, path: &Path, json: bool) -> std::io::Result<u64> {
    let mut out = BufWriter::new(File::create(path)?);
    if json {
        write_json(spec, &mut out)?;
    } else {
        write_yaml(spec, &mut out)?;
    }
    out.flush()?;
    Ok(path.metadata()?.len())
}

/// The command that is built together with this example.
fn built() -> PathBuf {
    let target = std::env::current_exe().ok();
    let beside = target.as_deref().and_then(Path::parent).and_then(Path::parent);
    let command = beside.map(|folder| folder.join("tailorbird")).filter(|path| path.is_file());
    command.unwrap_or_else(|| "tailorbird".into())
}

/// Waits for a process; gives the most memory that it had resident, in bytes, as the kernel counts it.
fn watch(child: &mut Child) -> Result<u64> {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        // The mark never falls, so the last one that can be read is the highest but for the last millisecond.
        peak = peak.max(high_water_mark(&status).unwrap_or(0));
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    ensure!(ended.success(), "tailorbird failed: {ended}");
    ensure!(peak > 0, "{status} does not tell of memory");
    Ok(peak)
}

fn high_water_mark(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
