//! What the daemon costs: from an event to files in place, beside what the disk alone takes, and what it costs while
//! nothing happens.
//!
//! Each measurement is a process of its own, since the program that checks the files is found by the environment.

use std::ffi::OsStr;
use std::fs;
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tailorbird::daemon::config::Options;
use tailorbird::daemon::loader::{Loader, Method};
use tailorbird::daemon::schedule::Timing;
use tailorbird::daemon::{self, Parts, Settings};
use tailorbird::delivery::Destination;
use tailorbird::engine::{Engine, Settings as EngineSettings};
use tailorbird::generator::{Change, ClusterSpec, event};
use tailorbird::measure::{Floor, Times};
use tailorbird::pipeline::{Pipeline, Templates};
use tailorbird::plugin::PluginSet;
use tailorbird::syncer::{Syncer, Update, Updates};
use tailorbird::types::Name;
use tokio::sync::mpsc;

/// The allocator of the `tailorbird` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const NODES: u32 = 5_000;

/// Measurements of each side, in turn; odd, so that there is a middle one.
const TURNS: usize = 15;

/// Where the library looks for `bird` and `bird6`.
const BIRDS: &str = "TAILORBIRD_BIRD1";

/// What a child process measures.
const TASK: &str = "TAILORBIRD_BENCH_TASK";

const DAEMONS: [&str; 2] = ["bird", "bird6"];

fn main() -> anyhow::Result<()> {
    match std::env::var(TASK).as_deref() {
        Ok("idle") => idle(),
        Ok(checker) => change(checker),
        Err(_) => parent(),
    }
}

fn parent() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for daemon in DAEMONS {
        let path = folder.path().join(daemon);
        // Written by a process of its own, or a program that is started meanwhile could keep it open.
        let write = "printf '#!/bin/sh\\nexit 0\\n' > \"$1\" && chmod 755 \"$1\"";
        ensure!(Command::new("sh").args(["-c", write, "sh"]).arg(path).status()?.success());
    }
    measure("a check that answers at once", folder.path().as_os_str())?;
    match std::env::var_os(BIRDS) {
        Some(birds) => {
            measure("BIRD", &birds)?;
            measure("idle", &birds)
        }
        None => {
            println!("{BIRDS} names no folder with bird and bird6: nothing is measured with BIRD");
            Ok(())
        }
    }
}

fn measure(task: &str, birds: &OsStr) -> anyhow::Result<()> {
    let done = Command::new(std::env::current_exe()?).env(TASK, task).env(BIRDS, birds).status()?;
    ensure!(done.success(), "{task}: {done}");
    Ok(())
}

/// The datastore: tells what it is handed.
struct Feed(mpsc::UnboundedReceiver<Vec<Update>>);

impl Syncer for Feed {
    fn name(&self) -> &str {
        "bench"
    }

    fn run(mut self: Box<Self>, updates: Updates) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            while let Some(told) = self.0.recv().await {
                if updates.tell(told).await.is_err() {
                    return;
                }
            }
        })
    }
}

/// The daemon of a cluster's first node, in a thread; it ends with the process.
fn start(
    spec: &ClusterSpec,
    out: &Path,
    loader: Loader,
) -> anyhow::Result<mpsc::UnboundedSender<Vec<Update>>> {
    let node: Name = spec.node_name(0).parse()?;
    let plugins = PluginSet::default();
    let templates = Templates::load(None, &node, &plugins)?;
    let options = Options::default();
    let (tell, told) = mpsc::unbounded_channel();
    let parts = Parts {
        sources: vec![Box::new(Feed(told))],
        absent: Vec::new(),
        pipeline: Pipeline::new(Engine::new(EngineSettings::new(node)), plugins, templates),
        settings: Settings {
            to: Destination::Folder(out.to_owned()),
            timing: Timing { quiet: Duration::ZERO, ..options.timing },
            guard: options.guard,
            loader,
            probe: options.probe,
            check_timeout: options.check_timeout,
            confdir: None,
        },
        http: None::<SocketAddr>,
        templates: Vec::new(),
        configuration: Vec::new(),
        files_read: Box::new(|| None),
        reread: Box::new(|| Err("there is no configuration file".to_owned())),
        log: Box::new(|_| {}),
        herald: None,
    };
    thread::spawn(move || {
        if let Err(error) = daemon::run(parts) {
            eprintln!("{error}");
            std::process::exit(1);
        }
    });
    let mut updates: Vec<Update> = spec.objects().map(|object| Update::Event(event(object))).collect();
    updates.push(Update::InSync);
    tell.send(updates)?;
    Ok(tell)
}

/// The versions that the links of both groups show.
fn versions(out: &Path) -> [Option<PathBuf>; 2] {
    DAEMONS.map(|daemon| fs::read_link(out.join(format!("..{daemon}"))).ok())
}

/// Waits until both groups are in place, and others than before.
fn wait(out: &Path, before: &[Option<PathBuf>; 2]) -> anyhow::Result<()> {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let now = versions(out);
        if now.iter().zip(before).all(|(now, before)| now.is_some() && now != before) {
            return Ok(());
        }
        if Instant::now() > end {
            bail!("the files did not change");
        }
        thread::sleep(Duration::from_micros(50));
    }
}

fn main_files(out: &Path) -> [PathBuf; 2] {
    DAEMONS.map(|daemon| out.join(format!("{daemon}.cfg")))
}

/// One node's addresses change: from the event to both groups in place.
fn change(checker: &str) -> anyhow::Result<()> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let out = folder.path().join("out");
    fs::create_dir(&out)?;
    let floor = Floor::on(folder.path())?;
    let spec = ClusterSpec::mesh(NODES);
    let loader = Loader {
        method: Method::None,
        sockets: folder.path().to_owned(),
        patience: Duration::from_secs(30),
        undo_after: None,
    };
    let tell = start(&spec, &out, loader)?;
    wait(&out, &[None, None])?;
    let birds = PathBuf::from(std::env::var_os(BIRDS).context(BIRDS)?);
    let (mut disk, mut whole, mut checks) = (Times::default(), Times::default(), Times::default());
    let mut bytes = 0;
    for round in 1..=TURNS + 2 {
        let mut texts = [Vec::new(), Vec::new()];
        for (text, file) in texts.iter_mut().zip(main_files(&out)) {
            *text = fs::read(file)?;
        }
        bytes = texts.iter().map(Vec::len).sum::<usize>();
        let took_disk = floor.take(texts.iter().map(Vec::as_slice))?;

        let begin = Instant::now();
        for (daemon, file) in DAEMONS.iter().zip(main_files(&out)) {
            let mut check = Command::new(birds.join(daemon));
            let done = check.arg("-p").arg("-c").arg(file).stderr(Stdio::null()).status()?;
            ensure!(done.success(), "{daemon}: {done}");
        }
        let took_check = begin.elapsed();

        let before = versions(&out);
        let changed = spec.change(Change::NodeAddress(1), u32::try_from(round)?).context("node 1")?;
        let begin = Instant::now();
        tell.send(vec![Update::Event(event(changed))])?;
        wait(&out, &before)?;
        let took = begin.elapsed();
        // What is left of this round must not fall into the next measurement.
        thread::sleep(Duration::from_millis(200));
        // The first two warm up.
        if round > 2 {
            disk.push(took_disk);
            checks.push(took_check);
            whole.push(took);
        }
    }
    let [disk, whole, checks] = [disk, whole, checks].map(|times| times.median().as_secs_f64() * 1000.0);
    println!(
        "change/{NODES} with {checker}: {whole:.1} ms from the event to the files in place; the disk alone {disk:.1} ms for \
         {bytes} bytes, so {:.2} times that; the checks alone {checks:.1} ms, {:.0} % of the whole",
        whole / disk,
        100.0 * checks / whole
    );
    drop(folder);
    std::process::exit(0);
}

/// Both daemons of BIRD, where their routes reach nobody.
struct Birds(Vec<Child>);

impl Birds {
    fn start(birds: &Path, out: &Path, run: &Path) -> anyhow::Result<Self> {
        let mut children = Self(Vec::new());
        for daemon in DAEMONS {
            let at = |end: &str| run.join(format!("{daemon}.{end}"));
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "--net", "--"]).arg(birds.join(daemon)).args(["-f", "-c"]);
            command.arg(out.join(format!("{daemon}.cfg"))).arg("-s").arg(at("ctl")).arg("-P").arg(at("pid"));
            children.0.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        }
        Ok(children)
    }
}

impl Drop for Birds {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// The voluntary context switches of all threads so far.
fn switches() -> anyhow::Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(task?.path().join("status"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sum += line.context("no count of switches")?.trim().parse::<u64>()?;
    }
    Ok(sum)
}

/// What a daemon costs that has nothing to do but to ask both BIRDs every five seconds how they are.
fn idle() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let [out, run] = ["out", "run"].map(|name| folder.path().join(name));
    fs::create_dir(&out)?;
    fs::create_dir(&run)?;
    let spec = ClusterSpec { peers: 0, secrets: 0, ..ClusterSpec::mesh(3) };
    let loader = Loader {
        method: Method::Auto,
        sockets: run.clone(),
        patience: Duration::from_secs(30),
        undo_after: None,
    };
    let _tell = start(&spec, &out, loader)?;
    wait(&out, &[None, None])?;
    let birds = Birds::start(&PathBuf::from(std::env::var_os(BIRDS).context(BIRDS)?), &out, &run)?;
    thread::sleep(Duration::from_secs(12));
    const TIME: Duration = Duration::from_secs(30);
    let before = switches()?;
    thread::sleep(TIME);
    // This thread's own sleep is one of them.
    let rate = (switches()? - before - 1) as f64 / TIME.as_secs_f64();
    println!("idle with a probe of both BIRDs each 5 s: {rate:.2} voluntary context switches a second");
    drop(birds);
    drop(folder);
    std::process::exit(0);
}
