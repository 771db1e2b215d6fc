//! The sources of a cluster at work, with an engine behind them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tailorbird::engine::{Engine, Event, Settings};
use tailorbird::manifest::{self, Entry, Format};
use tailorbird::resources::Defaults;
use tailorbird::syncer::files::load_workloads;
use tailorbird::syncer::kubernetes::{Access, CalicoGroup, Pace, Place, sources};
use tailorbird::syncer::{Syncer, Told, Update, Updates};
use tailorbird::types::Name;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::cluster::Cluster;
use crate::objects::{calico, node, peer, service};
use crate::server::AT_MOST;
use crate::support::rendered::{Files, files, renderer};

/// Waits that suit a test.
pub(crate) fn pace() -> Pace {
    Pace {
        first_wait: Duration::from_millis(20),
        longest_wait: Duration::from_millis(200),
        spread: Duration::from_millis(20),
        grace: Duration::from_millis(300),
        vanished: Duration::from_millis(300),
        answer: Duration::from_secs(10),
        ..Pace::default()
    }
}

/// What objects are put into.
pub(crate) trait Store {
    /// Puts an object there, or in the place of the one of its name.
    async fn apply(&self, object: &Value);
    /// Takes an object away.
    async fn delete(&self, object: &Value);
}

impl Store for Cluster {
    async fn apply(&self, object: &Value) {
        Cluster::apply(self, object).await;
    }

    async fn delete(&self, object: &Value) {
        Cluster::delete(self, object).await;
    }
}

/// What a source says of itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) in_sync: bool,
    pub(crate) lost: Option<String>,
    pub(crate) instance: Option<String>,
    pub(crate) problems: Vec<String>,
    /// All that it told of events.
    pub(crate) events: Vec<Event>,
    /// How often it was lost.
    pub(crate) losses: usize,
}

/// Sources that are followed.
pub(crate) struct Followed {
    pub(crate) engine: Engine,
    pub(crate) states: Vec<State>,
    /// The folder of the local workloads.
    workloads: PathBuf,
    told: mpsc::Receiver<Told>,
    /// The Secrets that a source asks for, if there is such a source.
    asked: Option<Arc<BTreeSet<Name>>>,
    secrets: watch::Sender<Arc<BTreeSet<Name>>>,
    tasks: JoinSet<()>,
}

impl Followed {
    pub(crate) async fn start(kubeconfig: PathBuf, settings: Settings, pace: Pace) -> Self {
        Self::start_with(kubeconfig, settings, None, pace).await
    }

    pub(crate) async fn start_with(
        kubeconfig: PathBuf,
        settings: Settings,
        group: Option<CalicoGroup>,
        pace: Pace,
    ) -> Self {
        let access = Access::open(Place::File(kubeconfig)).await.unwrap();
        let (sources, _) = sources(access, &settings, group, pace);
        Self::start_from(sources, settings)
    }

    /// Follows these sources.
    pub(crate) fn start_from(sources: Vec<Box<dyn Syncer>>, settings: Settings) -> Self {
        let (sender, told) = mpsc::channel(64);
        let (secrets, needed) = watch::channel(Arc::default());
        let mut tasks = JoinSet::new();
        let mut states = Vec::new();
        for (at, source) in sources.into_iter().enumerate() {
            states.push(State { name: source.name().to_owned(), ..State::default() });
            tasks.spawn(source.run(Updates::new(at, sender.clone(), needed.clone())));
        }
        Self {
            engine: Engine::new(settings),
            states,
            workloads: "no-such-folder".into(),
            told,
            asked: None,
            secrets,
            tasks,
        }
    }

    /// Takes the local workloads of a folder.
    pub(crate) fn load_workloads(&mut self, folder: &Path) {
        let mut batch = self.engine.batch();
        assert_eq!(load_workloads(folder, &mut batch), Vec::<String>::new());
        let _ = batch.finish();
        self.workloads = folder.to_owned();
    }

    /// The source of a resource.
    pub(crate) fn of(&self, resource: &str) -> &State {
        let name = format!("kubernetes/{resource}");
        self.states.iter().find(|state| state.name == name).unwrap()
    }

    pub(crate) fn in_sync(&self) -> bool {
        let secrets = self.engine.secret_names();
        self.states.iter().all(|state| state.in_sync)
            && self.asked.as_ref().is_none_or(|asked| **asked == secrets)
    }

    /// The names of the sources that are not in sync.
    pub(crate) fn not_in_sync(&self) -> Vec<&str> {
        let lost = self.states.iter().filter(|state| !state.in_sync);
        lost.map(|state| state.name.trim_start_matches("kubernetes/")).collect()
    }

    fn take(&mut self, told: Told) {
        let state = &mut self.states[told.source];
        let mut batch = self.engine.batch();
        for update in told.updates {
            match update {
                Update::Event(event) => {
                    state.events.push(event.clone());
                    batch.push(event);
                }
                Update::InSync => {
                    assert!(!state.in_sync, "{} is in sync twice", state.name);
                    (state.in_sync, state.lost) = (true, None);
                }
                Update::Lost(reason) => {
                    state.losses += usize::from(state.in_sync);
                    (state.in_sync, state.lost) = (false, Some(reason));
                }
                Update::Instance(instance) => state.instance = Some(instance),
                Update::Problems(problems) => state.problems = problems,
                Update::Secrets(names) => self.asked = Some(names),
            }
        }
        let _ = batch.finish();
        let needed = self.engine.secret_names();
        self.secrets.send_if_modified(|secrets| {
            let differs = **secrets != needed;
            *secrets = Arc::new(needed);
            differs
        });
    }

    /// Takes what the sources tell until something holds.
    pub(crate) async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = tokio::time::Instant::now() + AT_MOST;
        while !holds(self) {
            match tokio::time::timeout_at(deadline, self.told.recv()).await {
                Ok(told) => self.take(told.expect("the sources ended")),
                Err(_) => {
                    for state in &mut self.states {
                        state.events.clear();
                    }
                    panic!("{what}: not within {AT_MOST:?}; {:#?}", self.states);
                }
            }
        }
    }

    /// Takes what the sources tell until all are in sync and the node's files are those of these objects in a file.
    pub(crate) async fn until_rendered(&mut self, what: &str, objects: &[Value]) {
        let expected = from_files_and_workloads(self.engine.settings(), objects, &self.workloads);
        let deadline = tokio::time::Instant::now() + AT_MOST;
        loop {
            if self.in_sync() {
                let files = self.render();
                if files == expected {
                    return;
                }
                if tokio::time::Instant::now() > deadline {
                    assert_eq!(files, expected, "{what}");
                }
            }
            match tokio::time::timeout_at(deadline, self.told.recv()).await {
                Ok(told) => self.take(told.expect("the sources ended")),
                Err(_) => {
                    assert_eq!(self.not_in_sync(), Vec::<&str>::new(), "{what}");
                    assert_eq!(self.render(), expected, "{what}");
                }
            }
        }
    }

    /// More objects come and go again: each time all is rendered that there is.
    pub(crate) async fn until_more_came_and_went(&mut self, api: &impl Store, objects: &[Value]) {
        let mut more = vec![node(9), peer(9), calico("IPPool", "second", json!({"cidr": "10.65.0.0/16"}))];
        more.extend(service(2));
        for object in &more {
            api.apply(object).await;
        }
        self.until_rendered("new objects", &[objects, &more].concat()).await;
        for object in &more {
            api.delete(object).await;
        }
        self.until_rendered("deleted objects", objects).await;
    }

    /// What the first source has told since this was asked last.
    pub(crate) fn first_told(&mut self) -> Vec<String> {
        let events = std::mem::take(&mut self.states[0].events);
        events.iter().map(|event| format!("{event:?}")).collect()
    }

    /// Why the first source cannot be followed.
    pub(crate) fn first_lost(&self) -> &str {
        self.states[0].lost.as_deref().unwrap_or_default()
    }

    /// Takes what the sources tell for a time.
    pub(crate) async fn during(&mut self, time: Duration) {
        let deadline = tokio::time::Instant::now() + time;
        while let Ok(told) = tokio::time::timeout_at(deadline, self.told.recv()).await {
            self.take(told.expect("the sources ended"));
        }
    }

    pub(crate) fn render(&self) -> Files {
        render(&self.engine)
    }

    /// Nobody listens any more: every source ends.
    pub(crate) async fn stop(self) {
        let Self { told, mut tasks, .. } = self;
        drop(told);
        let all = async {
            while let Some(ended) = tasks.join_next().await {
                ended.unwrap();
            }
        };
        tokio::time::timeout(AT_MOST, all).await.expect("the sources do not end");
    }
}

fn render(engine: &Engine) -> Files {
    files(&mut renderer(&engine.settings().node), engine.snapshot())
}

/// What is rendered from objects in a file.
pub(crate) fn from_files(settings: &Settings, objects: &[Value]) -> Files {
    from_files_and_workloads(settings, objects, Path::new("no-such-folder"))
}

/// The same with local workloads.
fn from_files_and_workloads(settings: &Settings, objects: &[Value], workloads: &Path) -> Files {
    let defaults = Defaults::new(settings.secret_namespace.clone());
    let mut engine = Engine::new(settings.clone());
    let mut batch = engine.batch();
    let text: String = objects.iter().map(|object| format!("{object}\n")).collect();
    manifest::read_from(
        Path::new("objects.json"),
        text.as_bytes(),
        Format::Json,
        &defaults,
        &mut |_, entry| match entry {
            Entry::Object(parsed) => batch.push(Event::Upsert(parsed)),
            other => panic!("{other:?}"),
        },
    );
    assert_eq!(load_workloads(workloads, &mut batch), Vec::<String>::new());
    let _ = batch.finish();
    render(&engine)
}
