//! Notices that files or folders changed.
//!
//! It says *that* something may have changed, not what: whoever listens looks again. So an event too many costs a look,
//! and one that was lost is made up for by a look from time to time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::hash::{BuildHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use rustc_hash::FxBuildHasher;

/// How deep folders are looked into.
const MAX_DEPTH: usize = 16;

/// The most folders that are watched below one path.
const MAX_FOLDERS: usize = 4096;

/// Watches paths: files, or folders with all that is in them.
pub struct Watch {
    roots: Vec<PathBuf>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeMap<PathBuf, (u64, u64)>,
    ticks: Receiver<()>,
    nudge: Nudge,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("roots", &self.roots).finish_non_exhaustive()
    }
}

/// Makes a [`Watch`] tell that something changed.
#[derive(Debug, Clone)]
pub struct Nudge(SyncSender<()>);

impl Nudge {
    /// Tells.
    pub fn nudge(&self) {
        // Full means that it has been told and not yet heard.
        let _ = self.0.try_send(());
    }
}

impl Watch {
    /// Watches these paths. One that is not there yet is noticed when it comes, if the folder that it belongs into is
    /// there.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        // One tick that has not been heard stands for any number.
        let (ticker, ticks) = sync_channel(1);
        let nudge = Nudge(ticker);
        let (names, links, told) = (names(&roots), roots.clone(), nudge.clone());
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // A link may lead by way of what lies beside it, as in a ConfigMap: then all of that counts.
            let beside = || matters(&event, None) && links.iter().any(|root| root.is_symlink());
            if matters(&event, names.as_deref()) || beside() {
                told.nudge();
            }
        });
        let watcher = watcher
            .inspect_err(|error| tracing::warn!("files are looked at from time to time only: {error}"))
            .ok();
        let mut watch = Self { roots, watcher, watched: BTreeMap::new(), ticks, nudge };
        watch.refresh();
        watch
    }

    /// What tells this watch, from elsewhere, that something changed.
    pub fn nudge(&self) -> Nudge {
        self.nudge.clone()
    }

    /// Waits until something may have changed, at most for a time; whether something did.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        let changed = self.ticks.recv_timeout(at_most).is_ok();
        self.refresh();
        changed
    }

    /// Watches the folders that are there now: one that was replaced is another one by the same name.
    fn refresh(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let mut wanted = BTreeSet::new();
        for root in &self.roots {
            if let Some(parent) = parent(root) {
                wanted.insert(parent);
            }
            folders(root, &mut wanted);
        }
        let mut now = BTreeMap::new();
        for path in wanted {
            if let Ok(meta) = path.metadata() {
                now.insert(path, (meta.dev(), meta.ino()));
            }
        }
        if now == self.watched {
            return;
        }
        for (path, id) in &self.watched {
            if now.get(path) != Some(id) {
                // It may be gone with its folder.
                let _ = watcher.unwatch(path);
            }
        }
        let mut failed = None;
        now.retain(|path, id| {
            if self.watched.get(path) == Some(id) {
                return true;
            }
            match watcher.watch(path, RecursiveMode::NonRecursive) {
                Ok(()) => true,
                Err(error) => {
                    failed = Some((path.clone(), error));
                    false
                }
            }
        });
        if let Some((path, error)) = failed {
            tracing::debug!("{}: looked at from time to time only: {error}", path.display());
        }
        self.watched = now;
        // What happened between the last look and the new watches was told by nobody.
        self.nudge.nudge();
    }
}

/// Whether an event may mean that something changed at or below a path of these; without any, at all.
fn matters(event: &notify::Result<notify::Event>, names: Option<&[PathBuf]>) -> bool {
    match event {
        // The system had no room for all events: look again.
        Ok(event) if event.need_rescan() => true,
        Ok(event) => {
            // Others' files in the folder that a path belongs into are watched with it.
            let ours = |path: &PathBuf| {
                names.is_none_or(|names| {
                    names.iter().any(|name| path.starts_with(name) || name.starts_with(path))
                })
            };
            let touched = event.paths.is_empty() || event.paths.iter().any(ours);
            touched && !matches!(event.kind, EventKind::Access(_))
        }
        // A watch that ended.
        Err(_) => true,
    }
}

/// Paths as events name them; nothing if one has no name of its own.
fn names(roots: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let named = |root: &PathBuf| root.file_name().and_then(|_| std::path::absolute(root).ok());
    roots.iter().map(named).collect()
}

/// What tells two states of a file apart without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    file: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The state of a file now, if it is there; links are followed.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        path.metadata().ok().as_ref().map(Self::from)
    }
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Self {
        Self {
            file: (meta.dev(), meta.ino()),
            length: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// The same for files and folders with all that is in them.
pub fn stamp(paths: &[PathBuf]) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    for path in paths {
        let walk = walkdir::WalkDir::new(path).follow_links(true).max_depth(MAX_DEPTH).sort_by_file_name();
        for entry in walk.into_iter().flatten().take(MAX_FOLDERS * 16) {
            entry.path().hash(&mut hasher);
            let file = entry.metadata().ok().filter(Metadata::is_file);
            file.as_ref().map(Stamp::from).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// The folder that a path belongs into.
fn parent(path: &Path) -> Option<PathBuf> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Some(PathBuf::from(".")),
        parent => parent.map(Path::to_owned),
    }
}

/// The folders at and below a path, through links.
fn folders(root: &Path, found: &mut BTreeSet<PathBuf>) {
    let mut count = 0;
    for entry in walkdir::WalkDir::new(root).follow_links(true).max_depth(MAX_DEPTH).into_iter().flatten() {
        if entry.file_type().is_dir() {
            count += 1;
            if count > MAX_FOLDERS {
                return;
            }
            found.insert(entry.into_path());
        }
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind, Event, Flag};

    use super::*;

    #[test]
    fn all_but_reading_matters_and_an_overflow_does() {
        let event = |kind| Ok(Event::new(kind));
        assert!(matters(&event(EventKind::Create(CreateKind::File)), None));
        assert!(matters(&event(EventKind::Other), None));
        assert!(!matters(&event(EventKind::Access(AccessKind::Read)), None));
        for kind in [EventKind::Other, EventKind::Access(AccessKind::Any)] {
            assert!(matters(&Ok(Event::new(kind).set_flag(Flag::Rescan)), Some(&[])));
        }
        assert!(matters(&Err(notify::Error::watch_not_found()), Some(&[])));
    }

    #[test]
    fn what_others_do_beside_a_watched_path_does_not_matter() {
        let names = names(&["/x/objects", "/x/file.toml"].map(PathBuf::from)).expect("all have names");
        for (path, expected) in [
            ("/x/objects", true),
            ("/x/objects/a/b.yaml", true),
            ("/x/./file.toml", true),
            ("/x", true),
            ("/x/objects2", false),
            ("/x/log", false),
        ] {
            let event = Ok(Event::new(EventKind::Other).add_path(path.into()));
            assert_eq!(matters(&event, Some(&names)), expected, "{path}");
        }
        for root in ["/", "..", "."] {
            assert_eq!(super::names(&[PathBuf::from(root)]), None);
        }
    }

    #[test]
    fn a_change_is_told_whichever_way_the_path_is_written() {
        let folder = tempfile::tempdir_in(".").expect("a folder here");
        let name = folder.path().file_name().expect("its name");
        let relative = Path::new(name).join("objects");
        for root in [relative.clone(), Path::new(".").join(&relative), folder.path().join("objects")] {
            std::fs::create_dir_all(&root).expect("created");
            let mut watch = Watch::new(vec![root.clone()]);
            // The watch itself tells once, since nobody knows what was before.
            while watch.wait(Duration::from_millis(50)) {}
            std::fs::write(root.join("a.yaml"), "").expect("written");
            assert!(watch.wait(Duration::from_secs(20)), "{}: a file within", root.display());
            while watch.wait(Duration::from_millis(50)) {}
            std::fs::remove_dir_all(&root).expect("removed");
            assert!(watch.wait(Duration::from_secs(20)), "{}: itself", root.display());
        }
    }
}
