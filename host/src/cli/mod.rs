//! The command line: one file for each subcommand.

mod bench;
mod bird;
mod check;
mod cluster;
mod completions;
mod datastore;
mod diff;
mod doctor;
mod explain;
mod get;
mod output;
mod plugin;
mod plugins;
mod render;
mod run;
mod templates;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, reload};

use crate::daemon::LogLevel;
use crate::environment::{CalicoConfigError, EnvironmentError};
use crate::resources::LogSeverity;
use output::Exit;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  could not be done; a group of files that failed keeps its old files
  2  used wrongly
  3  done, but objects were left out
  diff: 0 the same, 1 different, 2 trouble";

const ENVIRONMENT: &str = "\
Environment:
  NODENAME              the node, unless --node is given
  TAILORBIRD_CONFIG     the configuration file, unless --config is given
  TAILORBIRD_BIRD1      the folder of BIRD 1.x (bird, bird6), which checks files; else the PATH
  TAILORBIRD_BIRD_SOCKETS
                        the folder of the control sockets bird.ctl and bird6.ctl; else /var/run/calico
  CALICO_K8S_NODE_REF   the node's name in Kubernetes, if it has another one there
  CALICO_ROUTER_ID      `hash` or an IPv4 address; else the node's own address
  CALICO_ADVERTISE_CLUSTER_IPS
                        a prefix, in place of the serviceClusterIPs of the BGPConfiguration
  CALICO_ENDPOINT_STATUS_PATH_PREFIX
                        the folder that endpoint-status is in; else /var/run/calico
  DATASTORE_TYPE        where Calico's objects are: kubernetes, or etcdv3, which is meant if ETCD_ENDPOINTS is set alone
  ETCD_ENDPOINTS        the members of etcd: http://HOST:2379, https for TLS, several with commas
  ETCD_USERNAME, ETCD_PASSWORD
                        who asks etcd, if both are set
  ETCD_CA_CERT_FILE, ETCD_CERT_FILE, ETCD_KEY_FILE
                        TLS with etcd: the authority, else the system's; this node's certificate and its key. These six may
                        begin with CALICO_, and then count first
  FELIX_TYPHAADDR       the host and port of Typha, which `run` without --objects then follows
  FELIX_TYPHAK8SSERVICENAME, FELIX_TYPHAK8SNAMESPACE
                        the Service of Typha, in place of the address; its namespace, else kube-system
  FELIX_TYPHACAFILE, FELIX_TYPHACERTFILE, FELIX_TYPHAKEYFILE
                        TLS with Typha: the authority, this node's certificate and its key
  FELIX_TYPHACN, FELIX_TYPHAURISAN
                        the common name or the URI of Typha's certificate
  FELIX_TYPHAREADTIMEOUT, FELIX_TYPHAWRITETIMEOUT
                        in seconds, else 30 and 10. All of these may begin with CONFD_ or CALICO_ as well
  KUBECONFIG            the kubeconfig of the cluster; else the pod's service account, else ~/.kube/config
  CALICO_API_GROUP      the group of Calico's objects, if it is not to be found out
  NAMESPACE             the namespace of the Secrets with passwords; else kube-system
  USE_POD_CIDR          true: the node's blocks are its pod CIDRs
  BGP_LOGSEVERITYSCREEN what is logged: debug, info, error; else warnings and errors. The daemon begins with info, and
                        follows the logSeverityScreen of the BGPConfiguration once there is one
  NO_COLOR              no colours on a terminal either";

/// Renders BIRD's configuration for one node of a cluster with Calico networking.
///
/// The cluster's objects come from manifests, as `kubectl get -o yaml` prints them. Errors, each with the object that is
/// at fault, and warnings go to standard error, results to standard output; passwords are in BIRD's files alone.
#[derive(Debug, Parser)]
#[command(
    name = "tailorbird",
    version,
    about,
    long_about,
    arg_required_else_help = true,
    after_help = EXIT_CODES,
    after_long_help = format!("{EXIT_CODES}\n\n{ENVIRONMENT}")
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Render a node's files, have BIRD check them, and put them in place
    Render(render::Args),
    /// Render a node's files and have BIRD check them; put nothing in place
    Check(check::Args),
    /// Compare what would be rendered with what is on disk
    Diff(diff::Args),
    /// Follow the objects and keep the node's files, and BIRD, up to date
    Run(run::Args),
    /// Let through what the running daemon holds because it would remove too much
    Confirm(run::ConfirmArgs),
    /// Print the keys and values that templates read, passwords hidden
    Get(get::Args),
    /// Say why a peer, a route, a filter or a node is there or is not
    Explain(explain::Args),
    /// Try every connection that this node needs, and say what fails and what to do
    Doctor(doctor::Args),
    /// Ask the running BIRD how it is, have it check a file or reload
    Bird(bird::Args),
    /// Write out the built-in templates
    Templates(templates::Args),
    /// Make plugins, look into them, and try them
    Plugin(plugin::Args),
    /// Measure what a node's rendering costs, on your own cluster's objects or on made-up ones
    Bench(bench::Args),
    /// Print the completions of a shell
    Completions(completions::Args),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let log = start_log(&cli.command);
    let exit = match cli.command {
        Command::Render(args) => render::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Get(args) => get::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Run(args) => run::run(&args, log),
        Command::Doctor(args) => doctor::run(&args),
        Command::Confirm(args) => run::confirm(&args),
        Command::Bird(args) => bird::run(&args),
        Command::Templates(args) => templates::run(&args),
        Command::Plugin(args) => plugin::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Completions(args) => completions::run(&args),
    };
    exit.unwrap_or_else(|error| {
        // Errors hold their causes in their own texts.
        output::error(&error.to_string());
        let is_misused = error.is::<EnvironmentError>() || error.is::<CalicoConfigError>();
        if is_misused { Exit::Misused } else { Exit::Failed }
    })
    .into()
}

/// How events are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LogFormat {
    /// Lines for people.
    Text,
    /// A JSON object a line, with the time.
    Json,
}

/// Logs go to standard error; `BGP_LOGSEVERITYSCREEN` sets the level as it always did. Only this program's own events
/// are logged: a library would log the values that it works on, passwords too.
///
/// What is returned makes the level that of the objects.
fn start_log(command: &Command) -> LogLevel {
    let daemon = match command {
        Command::Run(args) => Some(args.log_format),
        _ => None,
    };
    let level = match std::env::var("BGP_LOGSEVERITYSCREEN").unwrap_or_default().to_ascii_lowercase().as_str()
    {
        "trace" => Level::TRACE,
        "debug" => Level::DEBUG,
        "info" => Level::INFO,
        "error" | "fatal" | "panic" => Level::ERROR,
        "" if daemon.is_some() => Level::INFO,
        _ => Level::WARN,
    };
    let mut own = Targets::new().with_target("tailorbird", level);
    if let Command::Plugin(_) = command {
        // What the plugin logs is part of what these print.
        own = own.with_target("tailorbird::guest", LevelFilter::OFF);
    }
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match daemon {
        Some(LogFormat::Json) => lines.json().flatten_event(true).boxed(),
        _ => lines.with_ansi(output::wants_colour(&std::io::stderr())).without_time().boxed(),
    };
    let (own, handle) = reload::Layer::new(own);
    tracing_subscriber::registry().with(own).with(lines).init();
    Box::new(move |wanted| {
        let level = match wanted {
            Some(LogSeverity::Debug) => Level::DEBUG,
            Some(LogSeverity::Info) => Level::INFO,
            Some(LogSeverity::None) => Level::WARN,
            None => level,
        };
        // It fails only once the program logs nothing any more.
        let _ = handle.reload(Targets::new().with_target("tailorbird", level));
    })
}
