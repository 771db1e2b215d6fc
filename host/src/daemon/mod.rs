//! The daemon: sources in, files in force out, for years.
//!
//! The rounds (`rounds`) run on a thread of their own and block as they like; sources, HTTP and signals are
//! asynchronous and only send them messages. What to do when is pure: [`schedule`], [`guard`].

pub mod config;
mod connections;
mod groups;
pub mod guard;
mod http;
pub mod loader;
mod memory;
pub mod metrics;
mod rounds;
pub mod schedule;
pub mod status;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc, oneshot};

pub use rounds::{Again, LogLevel, Settings};

use crate::allocator;
use crate::explain::{Explanation, Query};
use crate::notice::Herald;
use crate::pipeline::Pipeline;
use crate::syncer::{Syncer, Told, Updates};
use crate::watch::{self, Watch};
use groups::HeldId;
use metrics::Metrics;
use rounds::{Outputs, Rounds};
use status::Board;

/// How long the end of the program waits for a round that goes on.
const LAST_ROUND: Duration = Duration::from_secs(4);

/// How often watched files are looked at even if nothing was told.
const LOOK: Duration = Duration::from_secs(30);

/// The time that a change is given to be complete.
const SETTLE: Duration = Duration::from_millis(50);

/// Updates that may wait for the rounds.
const WAITING: usize = 64;

/// What is asked of the rounds.
enum Command {
    /// Let through what is held by these ids; the names of the groups, or why not, are the answer.
    Confirm(Vec<HeldId>, oneshot::Sender<Result<Vec<String>, String>>),
    /// The folder of templates changed.
    Templates,
    /// The configuration file or a plugin changed: this is what is to be used, or why it cannot be.
    Configuration(Box<Result<Again, String>>),
    /// End.
    Stop,
}

/// A question why something is there or is not, and whom to answer.
pub(crate) type Question = (Query, oneshot::Sender<Explanation>);

/// Reads the configuration and the plugins again.
pub type Reread = Box<dyn FnMut() -> Result<Again, String> + Send>;

/// The files that are read then; none while nobody can tell.
pub type FilesRead = Box<dyn FnMut() -> Option<Vec<PathBuf>> + Send>;

/// A file or folder, and what it was when it was read.
#[derive(Debug, Clone)]
pub struct Watched {
    path: PathBuf,
    stamp: u64,
}

impl Watched {
    /// A path as it is now, before it is read.
    pub fn before_reading(path: PathBuf) -> Self {
        let stamp = watch::stamp(std::slice::from_ref(&path));
        Self { path, stamp }
    }
}

/// What the daemon is made of.
pub struct Parts {
    /// Where objects come from.
    pub sources: Vec<Box<dyn Syncer>>,
    /// What is done without, and what follows: it is on the status page for as long as the daemon runs.
    pub absent: Vec<String>,
    /// The engine with its plugins and templates.
    pub pipeline: Pipeline,
    /// How the rounds work.
    pub settings: Settings,
    /// Where HTTP is answered, if anywhere.
    pub http: Option<SocketAddr>,
    /// The templates, if they come from a folder.
    pub templates: Vec<Watched>,
    /// The configuration file and what it names.
    pub configuration: Vec<Watched>,
    /// Which files these are after a change.
    pub files_read: FilesRead,
    /// Reads them again.
    pub reread: Reread,
    /// What follows the severity that the objects want to be logged.
    pub log: LogLevel,
    /// Who brings what users must know to them, if there is anybody.
    pub herald: Option<Box<dyn Herald>>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts")
            .field("settings", &self.settings)
            .field("http", &self.http)
            .finish_non_exhaustive()
    }
}

/// Why the daemon cannot run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The operating system refuses what the daemon needs.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A defect of the program.
    #[error("the thread `{0}` has ended by itself, which is a defect of this program; start it anew")]
    Ended(&'static str),
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// The daemon cannot begin. Once it runs, what goes wrong is told and retried.
pub fn run(parts: Parts) -> Result<(), DaemonError> {
    allocator::keep_nothing();
    let system = |what: &str| {
        let what = what.to_owned();
        move |source| DaemonError::System { what, source }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(system("start threads"))?;
    let outcome = runtime.block_on(begin(parts));
    let rounds = outcome?;
    finish(&runtime, rounds);
    runtime.shutdown_timeout(Duration::from_millis(500));
    Ok(())
}

/// Starts everything and waits for a signal to end; returns what tells when the rounds have ended.
async fn begin(parts: Parts) -> Result<oneshot::Receiver<()>, DaemonError> {
    let Parts {
        sources,
        absent,
        pipeline,
        settings,
        http,
        templates,
        configuration,
        files_read,
        mut reread,
        log,
        herald,
    } = parts;
    let system = |what: &str| {
        let what = what.to_owned();
        move |source| DaemonError::System { what, source }
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(system("listen for signals"))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(system("listen for signals"))?;
    let mut hangup = signal(SignalKind::hangup()).map_err(system("listen for signals"))?;

    let (tell, told) = mpsc::channel::<Told>(WAITING);
    let (command, commands) = mpsc::channel::<Command>(WAITING);
    let (question, questions) = mpsc::channel::<Question>(WAITING);
    let (secrets, needed) = tokio::sync::watch::channel(Arc::new(BTreeSet::new()));
    let (board, metrics) = (Board::default(), Arc::new(Metrics::new()));

    if let Some(address) = http {
        let listener =
            TcpListener::bind(address).await.map_err(system(&format!("answer HTTP at {address}")))?;
        let bound = listener.local_addr().unwrap_or(address);
        tracing::info!(%bound, "answers HTTP");
        let steps = settings.check_timeout + settings.loader.patience * 2;
        let asked = http::Asked { commands: command.clone(), questions: question };
        tokio::spawn(http::serve(listener, steps, board.clone(), metrics.clone(), asked));
    }
    let names = sources.iter().map(|source| source.name().to_owned()).collect();
    let now = Instant::now();
    let (notices, noticed) = tokio::sync::watch::channel(Arc::default());
    if let Some(herald) = herald {
        tokio::spawn(herald.run(noticed));
    }
    let outputs = Outputs { board, metrics: metrics.clone(), secrets, log, notices };
    let rounds = Rounds::new(settings, pipeline, (names, absent), outputs, now);
    let mut looks = Vec::new();
    for (place, source) in sources.into_iter().enumerate() {
        // One for each: what is asked for while a source is busy waits for it.
        let look = Arc::new(Notify::new());
        looks.push(look.clone());
        tokio::spawn(source.run(Updates::new(place, tell.clone(), needed.clone()).asked_by(look)));
    }
    drop(tell);

    let (ended, mut end) = oneshot::channel();
    // Its clock is its own: that of the others would have to wake one of their threads first.
    let own = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(system("start a thread"))?;
    std::thread::Builder::new()
        .name("rounds".to_owned())
        .spawn(move || {
            own.block_on(work(rounds, told, commands, questions, metrics));
            // Whoever waited may be gone.
            let _ = ended.send(());
        })
        .map_err(system("start a thread"))?;

    if !templates.is_empty() {
        let command = command.clone();
        follow(templates, || None, move || command.blocking_send(Command::Templates).is_ok())
            .map_err(system("start a thread"))?;
    }
    let (again, mut reload) = mpsc::channel::<()>(1);
    if !configuration.is_empty() {
        let again = again.clone();
        follow(configuration, files_read, move || again.blocking_send(()).is_ok())
            .map_err(system("start a thread"))?;
    }
    let (reader, mut reader_end) = oneshot::channel::<()>();
    let tell = command.clone();
    // To read plugins may take long, and whoever wants the program to end does not wait for it.
    let read = move || {
        let _reader = reader;
        while reload.blocking_recv().is_some() {
            if tell.blocking_send(Command::Configuration(Box::new(reread()))).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("configuration".to_owned())
        .spawn(read)
        .map_err(system("start a thread"))?;
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => {
                tracing::info!("SIGHUP: everything is read again");
                // A full channel means that it is going to happen anyway.
                let _ = command.try_send(Command::Templates);
                let _ = again.try_send(());
                looks.iter().for_each(|look| look.notify_one());
            }
            // Whoever supervises this process starts it anew; one that does nothing would look alive.
            _ = &mut end => return Err(DaemonError::Ended("rounds")),
            _ = &mut reader_end => return Err(DaemonError::Ended("configuration")),
        }
    }
    tracing::info!("ends");
    // The rounds may be in the middle of one, and read this after it.
    let _ = command.try_send(Command::Stop);
    Ok(end)
}

/// Waits for the round that goes on, but not long: it can be abandoned at any instant.
fn finish(runtime: &Runtime, rounds: oneshot::Receiver<()>) {
    let waited = runtime.block_on(async { tokio::time::timeout(LAST_ROUND, rounds).await });
    if waited.is_err() {
        tracing::warn!("the round that goes on is abandoned; the files are whole");
    }
}

/// Tells whenever files are others than they were when they were read, on a thread of its own, until nobody listens.
/// `which` says which files are to be followed after a change, if others are.
fn follow(
    watched: Vec<Watched>,
    mut which: impl FnMut() -> Option<Vec<PathBuf>> + Send + 'static,
    mut tell: impl FnMut() -> bool + Send + 'static,
) -> std::io::Result<()> {
    let mut watched = watched;
    let mut watch = Watch::new(watched.iter().map(|watched| watched.path.clone()).collect());
    let run = move || {
        loop {
            // An editor writes in several steps: what comes together is told together.
            let mut steps = 0;
            while watch.wait(SETTLE) && steps < 20 {
                steps += 1;
            }
            let mut changed = false;
            for watched in &mut watched {
                let now = Watched::before_reading(watched.path.clone());
                changed |= now.stamp != watched.stamp;
                *watched = now;
            }
            if changed {
                let old: Vec<PathBuf> = watched.iter().map(|watched| watched.path.clone()).collect();
                if let Some(paths) = which().filter(|paths| *paths != old) {
                    watch = Watch::new(paths.clone());
                    watched = paths.into_iter().map(Watched::before_reading).collect();
                }
                if !tell() {
                    return;
                }
            }
            watch.wait(LOOK);
        }
    };
    std::thread::Builder::new().name("watch".to_owned()).spawn(run).map(drop)
}

/// What the rounds wait for.
enum Happened {
    Command(Option<Command>),
    Told(Option<Told>),
    Due,
    Asked(Question),
}

/// The rounds' own loop.
async fn work(
    mut rounds: Rounds,
    mut told: mpsc::Receiver<Told>,
    mut commands: mpsc::Receiver<Command>,
    mut questions: mpsc::Receiver<Question>,
    metrics: Arc<Metrics>,
) {
    loop {
        metrics.busy(false);
        let next = rounds.next().into();
        // What is due comes before what arrives, or a source that never pauses would hold it up; questions come last.
        let happened = tokio::select! {
            biased;
            command = commands.recv() => Happened::Command(command),
            () = tokio::time::sleep_until(next) => Happened::Due,
            update = told.recv() => Happened::Told(update),
            Some(question) = questions.recv() => Happened::Asked(question),
        };
        metrics.busy(true);
        let now = Instant::now();
        match happened {
            Happened::Command(None | Some(Command::Stop)) | Happened::Told(None) => return,
            Happened::Command(Some(Command::Confirm(ids, answer))) => {
                // Whoever asked may have been told meanwhile that it took too long.
                if !answer.is_closed() {
                    let _ = answer.send(rounds.confirm(&ids, now));
                }
            }
            Happened::Asked((query, answer)) => {
                // Whoever asked may be gone.
                let _ = answer.send(rounds.explain(&query));
                continue;
            }
            Happened::Command(Some(Command::Templates)) => rounds.reload_templates(now),
            Happened::Command(Some(Command::Configuration(read))) => match *read {
                Ok(again) => rounds.configure(again, now),
                Err(reason) => rounds.refuse_configuration(reason),
            },
            Happened::Told(Some(update)) => rounds.take(update, now),
            Happened::Due => {
                // What has come meanwhile goes into the same round.
                for _ in 0..WAITING {
                    let Ok(update) = told.try_recv() else { break };
                    rounds.take(update, now);
                }
                rounds.work(now);
            }
        }
        rounds.publish();
    }
}
