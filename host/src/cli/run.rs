//! `tailorbird run` and `tailorbird confirm`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{anyhow, bail};

use super::LogFormat;
use super::cluster::TemplateArgs;
use super::datastore::{CalicoArgs, Datastore, Opened};
use super::output::{self, Exit};
use super::plugins::{self, PluginArgs};
use crate::daemon::LogLevel;
use crate::daemon::config::Options;
use crate::daemon::loader::Loader;
use crate::daemon::{self, Again, Parts, Settings, Watched};
use crate::delivery::Destination;
use crate::engine::{Engine, Settings as EngineSettings};
use crate::environment;
use crate::pipeline::{Pipeline, Templates};
use crate::syncer::{Files, Workloads};
use crate::types::Name;

/// Where the daemon answers HTTP unless told otherwise.
pub(super) const HTTP: &str = "127.0.0.1:9179";

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Manifests that are followed: files, and folders (their *.yaml, *.yml and *.json). A later object replaces an
    /// earlier one of its kind and name. Without any, the objects are those of the datastore that the environment
    /// names: Typha, etcd, or the cluster that this runs in or KUBECONFIG leads to
    #[arg(long, value_name = "PATH", conflicts_with = "calico_config", num_args = 1..)]
    objects: Vec<PathBuf>,
    /// The datastore, if it is not the one that the environment names
    #[arg(long, value_name = "KIND", conflicts_with = "objects")]
    datastore: Option<Datastore>,
    #[command(flatten)]
    calico: CalicoArgs,
    /// The node's name
    #[arg(long, value_name = "NAME", env = "NODENAME", hide_env_values = true)]
    node: Name,
    #[command(flatten)]
    plugins: PluginArgs,
    #[command(flatten)]
    templates: TemplateArgs,
    /// The folder that all files go to, instead of each template's own destination; it must be there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where /livez, /readyz, /metrics and /status are answered; `none` for nowhere
    #[arg(long, value_name = "ADDRESS", default_value = HTTP)]
    http: String,
    /// How events are logged on standard error
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) log_format: LogFormat,
}

pub(super) fn run(args: &Args, log: LogLevel) -> anyhow::Result<Exit> {
    let http = match args.http.as_str() {
        "none" => None,
        text => Some(
            text.parse::<SocketAddr>()
                .map_err(|_| anyhow!("--http {text}: not an address and port as {HTTP}, and not `none`"))?,
        ),
    };
    let lookup = |name: &str| std::env::var(name).ok();
    let watched = |path: &PathBuf| Watched::before_reading(path.clone());
    let template_files: Vec<Watched> = args.templates.confdir.iter().map(watched).collect();
    // A file that cannot be read is an error in the next step.
    let files: Vec<Watched> = args.plugins.files().unwrap_or_default().iter().map(watched).collect();
    let configuration = args.plugins.configuration()?;
    let plugins = args.plugins.load(&configuration.plugins)?;

    let settings = environment::settings(args.node.clone(), &lookup)?;
    let settings = EngineSettings { published: plugins.published().into(), ..settings };
    let Opened { mut sources, herald, absent } = match args.objects.is_empty() {
        true => {
            let file = args.calico.read()?;
            let named = args.datastore.map_or_else(|| Datastore::choose(&lookup, file.as_ref()), Ok);
            named?.sources(&settings, file.as_ref())?
        }
        false => {
            let files = Box::new(Files::new(args.objects.clone(), settings.defaults()));
            Opened { sources: vec![files], herald: None, absent: Vec::new() }
        }
    };
    sources.push(Box::new(Workloads::new(environment::endpoint_status_folder(&lookup))));
    let published = settings.published.clone();
    let templates = Templates::load(args.templates.confdir.as_deref(), &args.node, &plugins)?;
    let pipeline = Pipeline::new(Engine::new(settings), plugins, templates);
    let fixed = Fixed {
        to: args.out.clone().map_or(Destination::Own, Destination::Folder),
        confdir: args.templates.confdir.clone(),
        sockets: environment::bird_socket_folder(&lookup),
    };
    let settings = fixed.settings(configuration.daemon);
    let (named, again) = (args.plugins.clone(), args.plugins.clone());
    let reread = Box::new(move || {
        let configuration = again.configuration().map_err(|error| error.to_string())?;
        let plugins = plugins::reload(&configuration.plugins)?;
        if plugins.published() != *published {
            return Err(
                "the plugins read other keys than before, of which not all are kept: start the daemon anew"
                    .to_owned(),
            );
        }
        Ok(Again { plugins, settings: fixed.settings(configuration.daemon) })
    });
    daemon::run(Parts {
        sources,
        absent,
        pipeline,
        settings,
        http,
        templates: template_files,
        configuration: files,
        files_read: Box::new(move || named.files()),
        reread,
        log,
        herald,
    })?;
    Ok(Exit::Done)
}

/// What the command line and the environment say of the rounds, whatever the file says.
struct Fixed {
    to: Destination,
    confdir: Option<PathBuf>,
    sockets: Option<PathBuf>,
}

impl Fixed {
    fn settings(&self, options: Options) -> Settings {
        let sockets = self.sockets.clone().unwrap_or(options.sockets);
        Settings {
            to: self.to.clone(),
            timing: options.timing,
            guard: options.guard,
            loader: Loader {
                method: options.reload,
                sockets,
                patience: options.reload_timeout,
                undo_after: options.undo_after,
            },
            probe: options.probe,
            check_timeout: options.check_timeout,
            confdir: self.confdir.clone(),
        }
    }
}

/// Arguments of `confirm`.
#[derive(Debug, clap::Args)]
pub(super) struct ConfirmArgs {
    /// What is let through, as /status and an earlier `confirm` named it; all that is held unless given
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Where the daemon answers HTTP
    #[arg(long, value_name = "ADDRESS", default_value = HTTP)]
    http: SocketAddr,
}

pub(super) fn confirm(args: &ConfirmArgs) -> anyhow::Result<Exit> {
    let status = ask_json(args.http, "GET", "/status", "")?;
    let mut ids = Vec::new();
    for group in status["groups"].as_array().into_iter().flatten() {
        let text = |field: &str| group[field].as_str();
        let Some(id) = text("held").filter(|id| args.ids.is_empty() || args.ids.iter().any(|own| own == id))
        else {
            continue;
        };
        let (name, reason) = (text("name").unwrap_or_default(), text("reason").unwrap_or_default());
        output::print(&format!("group {name}: {reason} (id {id})\n"))?;
        ids.push(id.to_owned());
    }
    if let Some(id) = args.ids.iter().find(|id| !ids.contains(id)) {
        bail!("nothing is held by the id {id}: what is held now is in /status");
    }
    if ids.is_empty() {
        output::print("nothing is held\n")?;
        return Ok(Exit::Done);
    }
    let answer = ask_json(args.http, "POST", "/confirm", &ids.join("\n"))?;
    let groups: Vec<&str> =
        answer["confirmed"].as_array().into_iter().flatten().filter_map(|group| group.as_str()).collect();
    output::print(&format!("let through: {}\n", groups.join(", ")))?;
    Ok(Exit::Done)
}

/// Asks a daemon on this machine; the body of its answer.
pub(super) fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> anyhow::Result<String> {
    let time = Duration::from_secs(15);
    let fail = |error: std::io::Error| anyhow!("the daemon at {address} does not answer: {error}");
    let mut stream = TcpStream::connect_timeout(&address, time).map_err(fail)?;
    stream.set_read_timeout(Some(time)).map_err(fail)?;
    stream.set_write_timeout(Some(time)).map_err(fail)?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).map_err(fail)?;
    let mut answer = String::new();
    stream.take(64 << 20).read_to_string(&mut answer).map_err(fail)?;
    let stranger = || anyhow!("{address}: this is no tailorbird daemon");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(stranger)?;
    if head.split_whitespace().nth(1) != Some("200") {
        bail!("the daemon at {address} refuses: {}", body.trim());
    }
    Ok(body.to_owned())
}

/// The same for an answer that is JSON.
pub(super) fn ask_json(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &str,
) -> anyhow::Result<serde_json::Value> {
    serde_json::from_str(&ask(address, method, path, body)?)
        .map_err(|_| anyhow!("{address}: this is no tailorbird daemon"))
}
