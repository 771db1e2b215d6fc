//! The cluster that is measured on: an operator's own objects, held in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};

use crate::cli::cluster::{Cluster, TemplateArgs};
use crate::cli::output::{self, Progress};
use crate::cli::plugins::PluginArgs;
use crate::delivery::{self, Destination, Group};
use crate::engine::Event;
use crate::environment;
use crate::manifest::{self, Entry};
use crate::measure::{Floor, MeasuredNode, Step, StepError, Times};
use crate::pipeline::Templates;
use crate::plugin::PluginSet;
use crate::render::{Rendering, Resource};
use crate::resources::{self, ObjectKey};
use crate::stage::Options;
use crate::types::Name;

/// Which cluster, node, plugins and templates.
#[derive(Debug, clap::Args)]
pub(super) struct SceneArgs {
    /// Manifests: files, folders (their *.yaml, *.yml and *.json), as `kubectl get -o yaml` prints them
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    pub(super) objects: Vec<PathBuf>,
    /// The node's name
    #[arg(long, value_name = "NAME", env = "NODENAME", hide_env_values = true)]
    pub(super) node: Name,
    #[command(flatten)]
    pub(super) plugins: PluginArgs,
    #[command(flatten)]
    pub(super) templates: TemplateArgs,
}

impl SceneArgs {
    /// The plugins.
    pub(super) fn load_plugins(&self) -> anyhow::Result<PluginSet> {
        self.plugins.load(&self.plugins.configuration()?.plugins)
    }

    /// Reads the objects as `render` does, tells what is wrong with them, and makes sure that a rendering is possible.
    pub(super) fn cluster(&self, plugins: PluginSet) -> anyhow::Result<Cluster> {
        if self.objects.iter().any(|path| path == Path::new("-")) {
            bail!("--objects -: standard input can be read once only; name a file");
        }
        let settings = environment::settings(self.node.clone(), &|name| std::env::var(name).ok())?;
        let progress = Progress::new(READING);
        let cluster = Cluster::read(&self.objects, None, settings, plugins)?;
        drop(progress);
        cluster.report();
        cluster.require_rendering()?;
        Ok(cluster)
    }

    /// The templates, each one usable.
    pub(super) fn resources(&self, plugins: &PluginSet) -> anyhow::Result<Vec<Resource>> {
        let loaded = Templates::resources(self.templates.confdir.as_deref(), &self.node, plugins)?;
        Ok(loaded.into_iter().collect::<Result<_, _>>()?)
    }
}

/// What is being done while objects are read.
const READING: &str = "reading the objects";

/// Objects in memory, ready to be rendered from nothing as often as it takes.
pub(super) struct Scene<'a> {
    args: &'a SceneArgs,
    /// What was read first; it has the plugins, and knows how the command ends.
    pub(super) cluster: Cluster,
    events: Vec<Event>,
    /// The groups and files of the templates.
    named: Vec<(String, PathBuf)>,
    /// The time of reading all of it.
    pub(super) read: Times,
}

impl<'a> Scene<'a> {
    /// Reads the objects and tells what is wrong with them.
    pub(super) fn load(args: &'a SceneArgs) -> anyhow::Result<Self> {
        let cluster = args.cluster(args.load_plugins()?)?;
        let progress = Progress::new(READING);
        let defaults = cluster.engine.settings().defaults();
        let mut read = Times::default();
        let mut events = Vec::new();
        // A large dump takes seconds, and always about the same.
        while read.is_empty() || read.len() < 3 && read.sum() < Duration::from_secs(3) {
            events.clear();
            let begun = Instant::now();
            manifest::read(&args.objects, &defaults, &mut |_, entry| {
                if let Entry::Object(parsed) = entry {
                    events.push(Event::Upsert(parsed));
                }
            });
            read.push(begun.elapsed());
        }
        drop(progress);
        let resources = args.resources(&cluster.plugins)?;
        let named = resources.iter().map(|resource| (resource.group_name(), resource.dest.clone())).collect();
        Ok(Self { args, cluster, events, named, read })
    }

    /// All objects, as events.
    pub(super) fn events(&self) -> Vec<Event> {
        self.events.clone()
    }

    /// The objects that are well-formed, by kind and name.
    pub(super) fn objects(&self) -> BTreeMap<ObjectKey, resources::Resource> {
        let objects = self.events.iter().filter_map(|event| match event {
            Event::Upsert(parsed) => Some((parsed.key.clone(), parsed.resource.as_ref().ok()?.clone())),
            Event::Delete(_) => None,
        });
        objects.collect()
    }

    /// The node that is measured.
    pub(super) fn node(&self) -> &Name {
        &self.args.node
    }

    /// The templates anew.
    pub(super) fn resources(&self) -> anyhow::Result<Vec<Resource>> {
        self.args.resources(&self.cluster.plugins)
    }

    /// A node that knows nothing yet.
    pub(super) fn fresh(&self) -> anyhow::Result<MeasuredNode> {
        self.fresh_with(self.cluster.plugins.clone())
    }

    /// The same without plugins.
    pub(super) fn fresh_without_plugins(&self) -> anyhow::Result<MeasuredNode> {
        self.fresh_with(PluginSet::default())
    }

    fn fresh_with(&self, plugins: PluginSet) -> anyhow::Result<MeasuredNode> {
        let resources = self.args.resources(&plugins)?;
        Ok(MeasuredNode::new(self.cluster.engine.settings().clone(), plugins, resources))
    }

    /// The groups of files of a rendering that may have changed, in a folder.
    pub(super) fn groups(&self, rendering: Rendering, folder: &Path) -> anyhow::Result<Vec<Group>> {
        let groups = delivery::groups(rendering, &self.named, &[], &Destination::Folder(folder.to_owned()))?;
        Ok(groups.into_iter().filter(|group| group.files.iter().any(|file| file.changed)).collect())
    }
}

/// How much is measured, and where.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// How often each is measured
    #[arg(long, value_name = "NUMBER", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) runs: u32,
    /// A folder on the disk that files are written to; unless given, that of temporary files
    #[arg(long, value_name = "DIR")]
    disk: Option<PathBuf>,
}

impl RunArgs {
    /// The folder on the disk.
    pub(super) fn folder(&self) -> PathBuf {
        self.disk.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// A folder of its own there, and the floor of that disk. A disk that is none is told.
    pub(super) fn disk(&self) -> anyhow::Result<Disk> {
        let folder = self.folder();
        let failed = |error| anyhow!("--disk {}: no files can be written there: {error}", folder.display());
        let own =
            tempfile::Builder::new().prefix(".tailorbird-bench-").tempdir_in(&folder).map_err(failed)?;
        let floor = Floor::on(own.path()).map_err(failed)?;
        if is_memory(own.path()) {
            output::warning(&format!(
                "{} is in memory and not on a disk, so syncing costs nothing there; name a folder on a disk with --disk",
                folder.display()
            ));
        }
        Ok(Disk { own, floor, made: 0 })
    }
}

/// The number of file systems in memory (`TMPFS_MAGIC`).
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

fn is_memory(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|stat| stat.f_type == TMPFS)
}

/// Where files are written while it is measured; all of it goes in the end.
pub(super) struct Disk {
    own: tempfile::TempDir,
    floor: Floor,
    made: u32,
}

impl Disk {
    /// A folder without any file.
    pub(super) fn fresh(&mut self) -> anyhow::Result<PathBuf> {
        self.made += 1;
        let folder = self.own.path().join(self.made.to_string());
        std::fs::create_dir(&folder)
            .map_err(|error| anyhow!("{}: cannot be made: {error}", folder.display()))?;
        Ok(folder)
    }

    /// What the disk alone takes for these texts.
    pub(super) fn floor(&self, texts: &[Vec<u8>]) -> anyhow::Result<Duration> {
        let took = self.floor.take(texts.iter().map(Vec::as_slice));
        took.map_err(|error| anyhow!("{}: cannot be written to: {error}", self.own.path().display()))
    }
}

/// The times of the phases from events to files in place.
#[derive(Default)]
pub(super) struct Phases {
    pub(super) engine: Times,
    pub(super) policy: Times,
    pub(super) render: Times,
    pub(super) put: Times,
}

impl Phases {
    /// Adds those of a step; its files are still to be put in place.
    pub(super) fn push(&mut self, step: &Step) {
        self.engine.push(step.engine);
        self.policy.push(step.policy);
        self.render.push(step.render);
    }

    /// Each with what it is for, in words.
    pub(super) fn named(&self) -> [(&'static str, &Times); 4] {
        [
            ("the engine", &self.engine),
            ("what plugins change", &self.policy),
            ("the templates", &self.render),
            ("staging and swapping", &self.put),
        ]
    }
}

/// Puts the files of groups in place without a check; returns how long that took.
pub(super) fn put(groups: &[Group]) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    for group in groups {
        group
            .deliver(delivery::Checks::Programs(Vec::new()), true, &Options::default())
            .map_err(|error| anyhow!("group {}: {error}", group.name))?;
    }
    Ok(begun.elapsed())
}

/// A step that failed, as an error of the command.
pub(super) fn failed(error: StepError) -> anyhow::Error {
    match error {
        StepError::Plugin(_) | StepError::Abandoned(_) => {
            anyhow!("nothing is measured, because plugins fail with these objects: {error}")
        }
        StepError::Template(error) => {
            anyhow!("nothing is measured, because a template fails with these objects: {error}")
        }
    }
}
