//! `tailorbird bird`.

use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::output::{self, Exit, Format};
use crate::bird::control::{
    self, ConfigFile, Control, ControlError, Protocol, Reload, Reloaded, State, Status,
};
use crate::environment;

/// Arguments of `bird`.
#[derive(Debug, clap::Args)]
#[command(after_help = super::EXIT_CODES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Ask whether BIRD is alive, and since when it runs its configuration
    Status(Common),
    /// List the BGP sessions with their state, routes and last errors
    Sessions(Common),
    /// Have the running BIRD read a file with all that it includes, and change nothing
    Check {
        /// The file, as BIRD sees it; without --socket a name that begins with bird6 goes to bird6.ctl, others to bird.ctl
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        common: Common,
    },
    /// Have BIRD read its configuration again, and wait until it is in force
    Reload {
        /// Leave routes as they are that a changed filter would judge otherwise
        #[arg(long)]
        soft: bool,
        /// The time until the configuration must be in force once BIRD took it, in seconds
        #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds())]
        wait: u32,
        /// Let BIRD go back to the old configuration unless the new one is in force within this many seconds
        #[arg(long, value_name = "SECONDS")]
        undo_after: Option<NonZeroU16>,
        #[command(flatten)]
        common: Common,
    },
}

/// What all subcommands take.
#[derive(Debug, clap::Args)]
struct Common {
    /// BIRD's control socket; can be repeated. Else bird.ctl and bird6.ctl in the folder that TAILORBIRD_BIRD_SOCKETS
    /// names, or in /var/run/calico
    #[arg(long = "socket", value_name = "PATH")]
    sockets: Vec<PathBuf>,
    /// The time for each answer of BIRD, in seconds; a large configuration takes it some
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds())]
    timeout: u32,
    /// What to print
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

fn seconds() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=3600)
}

fn default_sockets() -> [PathBuf; 2] {
    environment::bird_sockets(&|name| std::env::var(name).ok())
}

impl Common {
    fn sockets(&self) -> Vec<PathBuf> {
        if self.sockets.is_empty() { default_sockets().into() } else { self.sockets.clone() }
    }

    /// The sockets of the daemons that a file is for.
    fn sockets_for(&self, file: &Path) -> Vec<PathBuf> {
        if !self.sockets.is_empty() {
            return self.sockets.clone();
        }
        let [bird, bird6] = default_sockets();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        vec![if name.starts_with("bird6") { bird6 } else { bird }]
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout.into())
    }

    /// Asks each daemon, prints what they say, and fails if one of them could not do it.
    fn each(
        &self,
        sockets: &[PathBuf],
        ask: impl Fn(&Path) -> Result<Said, ControlError>,
    ) -> anyhow::Result<Exit> {
        let mut exit = Exit::Done;
        let (mut text, mut list, mut errors) = (String::new(), Vec::new(), Vec::new());
        for socket in sockets {
            let said = ask(socket).unwrap_or_else(Said::error);
            if let Some(error) = said.error {
                exit = Exit::Failed;
                errors.push(error);
            }
            text += &said.text;
            let mut object = Map::from_iter([("socket".to_owned(), json!(socket))]);
            object.extend(said.fields);
            list.push(Value::Object(object));
        }
        output::print(&match self.output {
            Format::Text => text,
            Format::Json => format!("{:#}\n", Value::Array(list)),
        })?;
        for error in errors {
            output::error(&error);
        }
        Ok(exit)
    }
}

/// What is printed of one daemon.
struct Said {
    text: String,
    fields: Map<String, Value>,
    error: Option<String>,
}

impl Said {
    fn new(text: String, fields: Value) -> Self {
        let fields = if let Value::Object(fields) = fields { fields } else { Map::new() };
        Self { text, fields, error: None }
    }

    fn error(error: ControlError) -> Self {
        let mut said = Self::new(String::new(), json!({ "error": error.fault.to_string() }));
        said.error = Some(error.to_string());
        said
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Status(common) => common.each(&common.sockets(), |socket| {
            let begin = Instant::now();
            let mut control = Control::connect(socket, common.patience())?.restrict()?;
            Ok(status(socket, &control.status()?, begin.elapsed()))
        }),
        Command::Sessions(common) => common.each(&common.sockets(), |socket| {
            let mut control = Control::connect(socket, common.patience())?.restrict()?;
            let mut sessions = control.protocols()?;
            sessions.retain(|protocol| protocol.bgp.is_some());
            Ok(Said::new(table(socket, &sessions), json!({ "sessions": sessions })))
        }),
        Command::Check { file, common } => {
            let path = std::path::absolute(file).with_context(|| file.display().to_string())?;
            let path = ConfigFile::new(&path)?;
            common.each(&common.sockets_for(file), |socket| check(socket, &path, common.patience()))
        }
        Command::Reload { soft, wait, undo_after, common } => {
            let options = Reload {
                file: None,
                soft: *soft,
                answer: common.patience(),
                in_force: Duration::from_secs((*wait).into()),
            };
            common.each(&common.sockets(), |socket| {
                Ok(reloaded(
                    socket,
                    &match undo_after {
                        Some(seconds) => control::reload_confirmed(socket, &options, *seconds, |_| Ok(())),
                        None => control::reload(socket, &options),
                    },
                ))
            })
        }
    }
}

fn status(socket: &Path, status: &Status, took: Duration) -> Said {
    let state = match status.state {
        State::UpToDate => "up, its configuration is in force",
        State::Reconfiguring => "up, going over to another configuration",
        State::ShuttingDown => "shutting down",
    };
    let age = status.configuration_age();
    let ago = age.map(|age| format!(" ({} s ago)", age.as_secs())).unwrap_or_default();
    let recovering = if status.recovering { "\n  waits for its peers after a graceful restart" } else { "" };
    let text = format!(
        "{}: BIRD {}, {state}{recovering}\n  router id           {}\n  time at BIRD        {}\n  started             {}\n  \
         configuration read  {}{ago}\n",
        socket.display(),
        status.version,
        status.router_id,
        status.server_time,
        status.last_reboot,
        status.last_reconfiguration,
    );
    let mut fields = json!(status);
    fields["configuration_age_seconds"] = json!(age.map(|age| age.as_secs_f64()));
    fields["answered_in_seconds"] = json!(took.as_secs_f64());
    Said::new(text, fields)
}

const HEADINGS: [&str; 7] = ["name", "neighbor", "AS", "state", "since", "routes in/out", "last error"];

/// The sessions in columns.
fn table(socket: &Path, sessions: &[Protocol]) -> String {
    let up = sessions.iter().filter(|session| session.is_established()).count();
    let mut text = format!("{}: {up} of {} sessions established\n", socket.display(), sessions.len());
    if sessions.is_empty() {
        return text;
    }
    let rows: Vec<_> = std::iter::once(HEADINGS.map(str::to_owned)).chain(sessions.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("  {cell:<width$}"));
        text += cells.collect::<String>().trim_end();
        text.push('\n');
    }
    text
}

fn row(session: &Protocol) -> [String; HEADINGS.len()] {
    let bgp = session.bgp.as_ref();
    let channels = session.channels.iter().filter_map(|channel| {
        let routes = channel.routes?;
        let name = channel.name.as_ref().map(|name| format!("{name} ")).unwrap_or_default();
        Some(format!("{name}{}/{}", routes.imported, routes.exported))
    });
    let or_dash =
        |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned());
    [
        session.name.clone(),
        or_dash(bgp.and_then(|bgp| bgp.neighbor.as_ref()).map(ToString::to_string)),
        or_dash(bgp.and_then(|bgp| bgp.neighbor_as).map(|number| number.to_string())),
        or_dash(bgp.map(|bgp| bgp.state.to_string())),
        session.since.clone(),
        or_dash(Some(channels.collect::<Vec<_>>().join(", "))),
        bgp.and_then(|bgp| bgp.last_error.clone()).unwrap_or_default(),
    ]
}

fn check(socket: &Path, file: &ConfigFile, patience: Duration) -> Result<Said, ControlError> {
    Ok(match Control::connect(socket, patience)?.check(file)? {
        Ok(()) => {
            let text = format!("{}: accepts {}\n", socket.display(), file.path().display());
            Said::new(text, json!({ "verdict": "accepted" }))
        }
        Err(refusal) => {
            let mut fields = json!(refusal);
            fields["verdict"] = json!("refused");
            let error = format!("{}: BIRD refuses {}: {refusal}", socket.display(), file.path().display());
            Said { error: Some(error), ..Said::new(String::new(), fields) }
        }
    })
}

fn reloaded(socket: &Path, reloaded: &Reloaded) -> Said {
    let (word, more) = match reloaded {
        Reloaded::InForce { status, took } => {
            ("in_force", json!({ "took_seconds": took.as_secs_f64(), "read": status.last_reconfiguration }))
        }
        Reloaded::Refused(refusal) => ("refused", json!(refusal)),
        Reloaded::AcceptedNotInForce { .. } => ("accepted_not_in_force", json!({})),
        Reloaded::Undone { .. } => ("undone", json!({})),
        Reloaded::ShuttingDown => ("shutting_down", json!({})),
        Reloaded::Unreachable { accepted, .. } => ("unreachable", json!({ "accepted": accepted })),
    };
    let mut fields = more;
    fields["result"] = json!(word);
    if reloaded.is_in_force() {
        return Said::new(format!("{}: {reloaded}\n", socket.display()), fields);
    }
    // The error of a socket begins with its path.
    let error = match reloaded {
        Reloaded::Unreachable { .. } => reloaded.to_string(),
        _ => format!("{}: {reloaded}", socket.display()),
    };
    fields["error"] = json!(error);
    Said { error: Some(error), ..Said::new(String::new(), fields) }
}
