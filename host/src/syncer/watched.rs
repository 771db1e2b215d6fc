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

/// Manifests in files and folders. While a file cannot be read, or not all of it, what it held before stays; if nothing is
/// known of what it held before, the source is out of sync until it can be read.
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
        // What cannot be read may be what switches the mesh off.
        follow(roots, updates, Gaps::Matter, move |folder| {
            folder.look(&paths, &mut |file| read_manifests(file, &defaults))
        })
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
        follow(vec![folder.clone()], updates, Gaps::AreTold, move |store| {
            Ok(store.look_at(workload_files(&folder)?, &mut |file| read_workload(file)))
        })
    }
}

/// What it means for a source's first listing that something in it cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gaps {
    /// The source is out of sync until all of it has been read.
    Matter,
    /// It is told, and the rest counts.
    AreTold,
}

/// Looks whenever something may have changed, on a thread of its own.
fn follow(
    roots: Vec<PathBuf>,
    updates: Updates,
    gaps: Gaps,
    mut look: impl FnMut(&mut Store) -> Result<Vec<Update>, String> + Send + 'static,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let mut watch = Watch::new(roots);
    let (nudge, closed) = (watch.nudge(), updates.clone());
    let work = tokio::task::spawn_blocking(move || {
        let mut store = Store::default();
        let (mut listed, mut in_sync) = (false, false);
        let mut lost = None;
        loop {
            let (mut told, fault) = match look(&mut store) {
                Ok(told) => (told, store.gap().filter(|_| !listed && gaps == Gaps::Matter)),
                Err(reason) => (Vec::new(), Some(reason)),
            };
            if fault.is_none() && !in_sync {
                told.push(Update::InSync);
            }
            in_sync = fault.is_none();
            listed |= in_sync;
            if fault != lost {
                told.extend(fault.clone().map(Update::Lost));
                lost = fault;
            }
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
    /// Each object that was told, with the file that it was told from.
    told: BTreeMap<ObjectKey, PathBuf>,
    problems: Vec<String>,
}

impl Store {
    /// Reads what changed, and says what follows.
    ///
    /// # Errors
    /// A path that cannot be listed.
    fn look(
        &mut self,
        paths: &[PathBuf],
        read: &mut dyn FnMut(&Path) -> Contents,
    ) -> Result<Vec<Update>, String> {
        Ok(self.look_at(files_of(paths)?, read))
    }

    /// The same for these files.
    fn look_at(&mut self, files: Vec<PathBuf>, read: &mut dyn FnMut(&Path) -> Contents) -> Vec<Update> {
        let mut old: BTreeMap<PathBuf, Contents> = std::mem::take(&mut self.files).into_iter().collect();
        // What files held that were read again or are gone.
        let mut before: BTreeMap<PathBuf, BTreeMap<ObjectKey, Parsed>> = BTreeMap::new();
        let mut touched: BTreeSet<ObjectKey> = BTreeSet::new();
        for path in files {
            let stamp = Stamp::of(&path);
            let contents = match old.remove(&path) {
                Some(contents) if contents.stamp.is_some() && contents.stamp == stamp => contents,
                kept => {
                    let mut contents = read(&path);
                    // A file that changed while it was read is read again at the next look.
                    contents.stamp = stamp.filter(|stamp| Stamp::of(&path) == Some(*stamp));
                    let kept = kept.unwrap_or_default().objects;
                    touched.extend(contents.objects.keys().chain(kept.keys()).cloned());
                    // A mistake in a file takes nothing away: what cannot be read may be what was there.
                    if !contents.problems.is_empty() {
                        for (key, object) in &kept {
                            contents.objects.entry(key.clone()).or_insert_with(|| object.clone());
                        }
                    }
                    before.insert(path.clone(), kept);
                    contents
                }
            };
            self.files.push((path, contents));
        }
        for (path, contents) in old {
            touched.extend(contents.objects.keys().cloned());
            before.insert(path, contents.objects);
        }
        let mut updates = Vec::new();
        for key in touched {
            let now = self.files.iter().rev().find(|(_, contents)| contents.objects.contains_key(&key));
            let Some((path, object)) = now.and_then(|(path, file)| Some((path, file.objects.get(&key)?)))
            else {
                if self.told.remove(&key).is_some() {
                    updates.push(Update::Event(Event::Delete(key)));
                }
                continue;
            };
            // An object that reads as it was told is not told again.
            let told = self.told.get(&key).and_then(|from| match before.get(from) {
                Some(objects) => objects.get(&key),
                // The file that it was told from is as it was.
                None => self.files.iter().find(|(file, _)| file == from)?.1.objects.get(&key),
            });
            if told != Some(object) {
                updates.push(Update::Event(Event::Upsert(object.clone())));
            }
            if self.told.get(&key) != Some(path) {
                let path = path.clone();
                self.told.insert(key, path);
            }
        }
        let problems: Vec<String> =
            self.files.iter().flat_map(|(_, contents)| contents.problems.iter().cloned()).collect();
        if problems != self.problems {
            self.problems.clone_from(&problems);
            updates.push(Update::Problems(problems));
        }
        updates
    }

    /// What cannot be read, in words.
    fn gap(&self) -> Option<String> {
        let first = self.problems.first()?;
        let more = self.problems.len() - 1;
        let others = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        Some(format!(
            "{first}{others}; what it holds is not known, so nothing is rendered before it is mended"
        ))
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
    manifest::read_regular(file, defaults, &mut |source, entry| match entry {
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
