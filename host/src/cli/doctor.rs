//! `tailorbird doctor`: tries everything that this node's environment asks for, step by step.

use std::path::Path;
use std::time::Duration;

use tokio::runtime;

use super::cluster::TemplateArgs;
use super::datastore::{self, CalicoArgs, Datastore};
use super::output::{self, Exit};
use super::plugins::{self, PluginArgs};
use crate::bird::control::Control;
use crate::engine::Settings;
use crate::environment::{self, Lookup};
use crate::pipeline::Templates;
use crate::syncer::Step;
use crate::syncer::etcd;
use crate::syncer::kubernetes::{self, Access};
use crate::syncer::typha::{self, At};
use crate::types::Name;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The node's name
    #[arg(long, value_name = "NAME", env = "NODENAME", hide_env_values = true)]
    node: Name,
    #[command(flatten)]
    calico: CalicoArgs,
    #[command(flatten)]
    plugins: PluginArgs,
    #[command(flatten)]
    templates: TemplateArgs,
}

/// How long BIRD may take for an answer.
const BIRD: Duration = Duration::from_secs(10);

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let lookup = |name: &str| std::env::var(name).ok();
    let settings = environment::settings(args.node.clone(), &lookup)?;
    let mut steps = Steps { failed: 0 };
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(datastores(&args.calico, &settings, &lookup, &mut steps))?;
    for socket in environment::bird_sockets(&lookup) {
        steps.take(Step::new(format!("bird: {}", socket.display()), bird(&socket)))?;
    }
    let configuration = args.plugins.configuration();
    let found = configuration.as_ref().map(|_| "can be used".to_owned()).map_err(ToString::to_string);
    steps.take(Step::new("configuration file", found))?;
    let plugins = plugins::reload(&configuration.unwrap_or_default().plugins);
    let found =
        plugins.as_ref().map(|set| format!("{} can be used", set.facts().len())).map_err(Clone::clone);
    steps.take(Step::new("plugins", found))?;
    let loaded = Templates::load(args.templates.confdir.as_deref(), &args.node, &plugins.unwrap_or_default());
    let found = match loaded {
        Ok(templates) => match templates.unusable() {
            errors if errors.is_empty() => Ok("can be used".to_owned()),
            errors => Err(errors.join("; ")),
        },
        Err(error) => Err(error.to_string()),
    };
    steps.take(Step::new("templates", found))?;
    output::print(&match steps.failed {
        0 => "all is as it should be\n".to_owned(),
        1 => "1 step failed\n".to_owned(),
        failed => format!("{failed} steps failed\n"),
    })?;
    Ok(if steps.failed == 0 { Exit::Done } else { Exit::Failed })
}

/// Prints steps as they are done.
struct Steps {
    failed: usize,
}

impl Steps {
    fn take(&mut self, step: Step) -> std::io::Result<()> {
        let line = match step.found {
            Ok(found) => format!("ok      {}: {found}\n", step.what),
            Err(reason) => {
                self.failed += 1;
                format!("FAILED  {}: {reason}\n", step.what)
            }
        };
        output::print(&line)
    }
}

async fn datastores(
    calico: &CalicoArgs,
    settings: &Settings,
    lookup: Lookup<'_>,
    steps: &mut Steps,
) -> anyhow::Result<()> {
    let file = match calico.read() {
        Ok(file) => file,
        Err(error) => return Ok(steps.take(Step::new("datastore", Err(error.to_string())))?),
    };
    let file = file.as_ref();
    let chosen = Datastore::choose(lookup, file);
    let name = |datastore: &Datastore| match datastore {
        Datastore::Kubernetes => "kubernetes".to_owned(),
        Datastore::Typha => "typha, with Services and Secrets from kubernetes".to_owned(),
        Datastore::Etcd => "etcd, with Services and Secrets from kubernetes".to_owned(),
    };
    steps.take(Step::new("datastore", chosen.as_ref().map(name).map_err(ToString::to_string)))?;
    let Ok(chosen) = chosen else { return Ok(()) };
    let typha = environment::typha(lookup)?.filter(|_| chosen == Datastore::Typha);
    let is_by_service = typha.as_ref().is_some_and(|config| matches!(config.at, At::Service { .. }));
    let is_needed = chosen == Datastore::Kubernetes || is_by_service;
    let access = match !is_needed && datastore::may_lack_kubernetes(lookup, file)? {
        true => None,
        false => Some(Access::open(datastore::place(file)).await),
    };
    let found = match &access {
        None => Ok("none, and none is needed".to_owned()),
        Some(Ok(_)) => Ok("there is one".to_owned()),
        Some(Err(error)) => Err(error.to_string()),
    };
    steps.take(Step::new("kubernetes: configuration", found))?;
    let access = access.and_then(Result::ok);
    if let Some(access) = &access {
        let group = environment::calico_group(lookup)?;
        for step in kubernetes::probe(access, settings, group, chosen == Datastore::Kubernetes).await {
            steps.take(step)?;
        }
    }
    if let Some(config) = typha {
        let finder = access.filter(|_| is_by_service);
        for step in typha::probe(&config, finder, settings).await {
            steps.take(step)?;
        }
    }
    if chosen == Datastore::Etcd {
        match datastore::etcd(lookup, file) {
            Ok(config) => {
                for step in etcd::probe(&config, settings).await {
                    steps.take(step)?;
                }
            }
            Err(error) => steps.take(Step::new("etcd: configuration", Err(error.to_string())))?,
        }
    }
    Ok(())
}

fn bird(socket: &Path) -> Result<String, String> {
    let status =
        Control::connect(socket, BIRD).and_then(Control::restrict).and_then(|mut control| control.status());
    match status {
        Ok(status) => Ok(format!("BIRD {}", status.version)),
        Err(error) => {
            Err(format!("{}; is BIRD running, and is its folder shared with this container?", error.fault))
        }
    }
}
