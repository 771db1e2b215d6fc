//! The datastore of files, followed.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::{Duration, Instant};

use super::files::workload_files;
use super::{Stopped, Syncer, Update, Updates};
use crate::engine::Event;
use crate::manifest::{self, Entry};
use crate::resources::{Defaults, ObjectKey, Parsed, parse_workload};
use crate::watch::{Stamp, Watch};

/// How often all files are looked at even if nothing was told.
const LOOK: Duration = Duration::from_secs(10);

/// The time that a change is given to be complete: an editor writes in several steps.
const SETTLE: Duration = Duration::from_millis(20);

/// The longest time that changes which follow each other are waited for.
const SETTLE_AT_MOST: Duration = Duration::from_millis(200);

/// Manifests in files and folders. While a file cannot be read, or not all of it, what it held before stays.
#[derive(Debug)]
pub struct Files {
    paths: Vec<PathBuf>,
    defaults: Defaults,
}

impl Files {
    /// Follows these files and folders.
    pub fn new(paths: Vec<PathBuf>, defaults: Defaults) -> Self {
        Self { paths, defaults }
    }
}

impl Syncer for Files {
    fn name(&self) -> &str {
        "files"
    }

    fn run(self: Box<Self>, updates: Updates) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let Self { paths, defaults } = *self;
        let roots = paths.clone();
        follow(roots, updates, move |folder| folder.look(&paths, &mut |file| read_manifests(file, &defaults)))
    }
}

/// The status files of local workloads.
#[derive(Debug)]
pub struct Workloads {
    folder: PathBuf,
}

impl Workloads {
    /// Follows a folder; while it is not there, there is no workload.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }
}

impl Syncer for Workloads {
    fn name(&self) -> &str {
        "endpoint-status"
    }

    fn run(self: Box<Self>, updates: Updates) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let folder = self.folder;
        follow(vec![folder.clone()], updates, move |store| {
            let files = match workload_files(&folder) {
                Ok(files) => files,
                Err(error) => return Err(error),
            };
            store.look(&files, &mut |file| read_workload(file))
        })
    }
}

/// Looks whenever something may have changed, on a thread of its own.
fn follow(
    roots: Vec<PathBuf>,
    updates: Updates,
    mut look: impl FnMut(&mut Store) -> Result<Vec<Update>, String> + Send + 'static,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let mut watch = Watch::new(roots);
    let (nudge, closed) = (watch.nudge(), updates.clone());
    let work = tokio::task::spawn_blocking(move || {
        let mut store = Store::default();
        let mut in_sync = false;
        let mut lost = None;
        loop {
            let told = match look(&mut store) {
                Ok(mut told) => {
                    lost = None;
                    if !in_sync {
                        told.push(Update::InSync);
                    }
                    in_sync = true;
                    told
                }
                Err(reason) if lost.as_ref() == Some(&reason) => Vec::new(),
                Err(reason) => {
                    in_sync = false;
                    lost = Some(reason.clone());
                    vec![Update::Lost(reason)]
                }
            };
            if !told.is_empty() && updates.tell_blocking(told).is_err() {
                return Stopped;
            }
            let at_most = if in_sync { LOOK } else { Duration::from_secs(1) };
            if watch.wait(at_most) {
                // What else comes with it is seen in the same look.
                let end = Instant::now() + SETTLE_AT_MOST;
                while Instant::now() < end && watch.wait(SETTLE) {
                    if updates.is_closed() {
                        return Stopped;
                    }
                }
            }
            if updates.is_closed() {
                return Stopped;
            }
        }
    });
    Box::pin(async move {
        closed.closed().await;
        nudge.nudge();
        // The thread ends by itself; nothing of it is worth waiting for.
        drop(work);
    })
}

/// What a file holds.
#[derive(Debug, Default)]
struct Contents {
    stamp: Option<Stamp>,
    objects: BTreeMap<ObjectKey, Parsed>,
    problems: Vec<String>,
}

/// All files as they were at the last look, and what was told of them.
#[derive(Debug, Default)]
struct Store {
    /// In the order in which later objects replace earlier ones.
    files: Vec<(PathBuf, Contents)>,
    told: BTreeSet<ObjectKey>,
    problems: Vec<String>,
}

impl Store {
    /// Reads what changed, and says what follows.
    fn look(
        &mut self,
        paths: &[PathBuf],
        read: &mut dyn FnMut(&Path) -> Contents,
    ) -> Result<Vec<Update>, String> {
        let files = files_of(paths)?;
        let mut old: BTreeMap<PathBuf, Contents> = std::mem::take(&mut self.files).into_iter().collect();
        let mut before: BTreeMap<ObjectKey, Option<Parsed>> = BTreeMap::new();
        let mut touched: BTreeSet<ObjectKey> = BTreeSet::new();
        let order: Vec<&PathBuf> = files.iter().collect();
        for path in order {
            let stamp = Stamp::of(path);
            let kept = old.remove(path);
            let contents = match kept {
                Some(contents) if contents.stamp.is_some() && contents.stamp == stamp => contents,
                kept => {
                    let mut contents = read(path);
                    // A file that changed while it was read is read again at the next look.
                    contents.stamp = stamp.filter(|stamp| Stamp::of(path) == Some(*stamp));
                    let kept = kept.unwrap_or_default();
                    touched.extend(contents.objects.keys().cloned());
                    for (key, object) in kept.objects {
                        before.insert(key.clone(), Some(object.clone()));
                        touched.insert(key.clone());
                        // A mistake in a file takes nothing away: what cannot be read may be what was there.
                        if !contents.problems.is_empty() {
                            contents.objects.entry(key).or_insert(object);
                        }
                    }
                    contents
                }
            };
            self.files.push((path.clone(), contents));
        }
        for contents in old.into_values() {
            touched.extend(contents.objects.into_keys());
        }
        let mut updates = Vec::new();
        for key in touched {
            let now = self.files.iter().rev().find_map(|(_, contents)| contents.objects.get(&key));
            match now {
                // An object that reads the same was told already, unless another file's had hidden it.
                Some(object)
                    if self.told.contains(&key) && before.get(&key) == Some(&Some(object.clone())) => {}
                Some(object) => {
                    self.told.insert(key);
                    updates.push(Update::Event(Event::Upsert(object.clone())));
                }
                None => {
                    if self.told.remove(&key) {
                        updates.push(Update::Event(Event::Delete(key)));
                    }
                }
            }
        }
        let problems: Vec<String> =
            self.files.iter().flat_map(|(_, contents)| contents.problems.iter().cloned()).collect();
        if problems != self.problems {
            self.problems.clone_from(&problems);
            updates.push(Update::Problems(problems));
        }
        Ok(updates)
    }
}

/// The files of all paths, in their order.
fn files_of(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in paths {
        let fail = |error: std::io::Error| format!("{}: {error}", path.display());
        if path.metadata().map_err(fail)?.is_dir() {
            files.extend(manifest::files_of(path).map_err(fail)?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn read_manifests(file: &Path, defaults: &Defaults) -> Contents {
    let mut contents = Contents::default();
    manifest::read(&[file.to_owned()], defaults, &mut |source, entry| match entry {
        Entry::Object(parsed) => drop(contents.objects.insert(parsed.key.clone(), parsed)),
        Entry::Ignored { .. } => {}
        Entry::Problem(problem) => contents.problems.push(format!("{source}: {problem}")),
    });
    contents
}

fn read_workload(file: &Path) -> Contents {
    let mut contents = Contents::default();
    match super::files::read_workload(file) {
        Ok(None) => {}
        Ok(Some((name, bytes))) => {
            let parsed = parse_workload(&name, &bytes);
            contents.objects.insert(parsed.key.clone(), parsed);
        }
        Err(problem) => contents.problems.push(problem),
    }
    contents
}
