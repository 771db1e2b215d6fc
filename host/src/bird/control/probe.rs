//! Whether BIRD is alive, and what can be said of which configuration it runs.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use super::connection::Control;
use super::error::{ControlError, Fault};
use super::status::Status;

/// The symbolic links that are followed to a file, as the system does.
const LINKS: usize = 40;

/// A BIRD that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// What it says about itself.
    pub status: Status,
    /// When the conversation ended, by this machine's clock.
    pub at: SystemTime,
    /// How long it took, from connecting to the last answer.
    pub took: Duration,
}

/// Whether the configuration that BIRD runs was read after a change of the files.
///
/// BIRD does not say what it runs, only when it read it. So there is no proof; these are the limits:
/// - [`Current`](Freshness::Current) is wrong when BIRD was made to read another file, when BIRD 3 was made to undo (it
///   counts from the undo then), or when the machine's clock was put back between change and probe;
/// - [`Stale`](Freshness::Stale) is wrong when the clock was put forward between them. It costs a reload that
///   changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// It was read after the change.
    Current,
    /// It was read before the change: BIRD runs something else than what is on disk.
    Stale,
    /// The two are too close to tell which was first, or BIRD's times are in a form of the operator's own. To be sure, reload.
    Unknown,
}

impl Probe {
    /// Whether what BIRD runs was read after this instant, as [`last_change`] gives it.
    pub fn freshness(&self, changed: SystemTime) -> Freshness {
        let Some(age) = self.status.configuration_age() else { return Freshness::Unknown };
        let unsure = self.took + self.status.precision();
        let before = |time: SystemTime, by| time.checked_sub(by).unwrap_or(SystemTime::UNIX_EPOCH);
        let read = before(self.at, age);
        if before(read, unsure) > changed {
            Freshness::Current
        } else if before(changed, unsure) > read {
            Freshness::Stale
        } else {
            Freshness::Unknown
        }
    }
}

/// Asks BIRD how it is, on a connection of its own that can change nothing. `patience` is the time for all of it.
///
/// # Errors
///
/// There is no BIRD, it does not answer in time, or what answers is no BIRD.
pub fn probe(socket: &Path, patience: Duration) -> Result<Probe, ControlError> {
    let begin = Instant::now();
    let left = || patience.saturating_sub(begin.elapsed());
    let ask = || {
        let mut control = Control::connect(socket, patience)?;
        control.set_patience(left());
        let mut control = control.restrict()?;
        control.set_patience(left());
        control.status()
    };
    let status = ask().map_err(|mut error| {
        if let Fault::TimedOut { after, .. } = &mut error.fault {
            *after = patience;
        }
        error
    })?;
    Ok(Probe { status, at: SystemTime::now(), took: begin.elapsed() })
}

/// When a file was last changed or put in its place: the latest change of the file itself and of the symbolic links
/// on the way to it. A change is one of the contents, or of the place by renaming.
///
/// # Errors
///
/// The file is not there or may not be seen, or its links go in a circle.
pub fn last_change(file: &Path) -> io::Result<SystemTime> {
    let mut latest = SystemTime::UNIX_EPOCH;
    let mut path = std::path::absolute(file)?;
    for _ in 0..=LINKS {
        let Some(link) = first_link(&path)? else {
            return Ok(latest.max(changed(&fs::symlink_metadata(&path)?)));
        };
        latest = latest.max(changed(&fs::symlink_metadata(&link)?));
        let target = link.parent().unwrap_or(Path::new("/")).join(fs::read_link(&link)?);
        let rest = path.strip_prefix(&link).map_err(io::Error::other)?;
        path = if rest.as_os_str().is_empty() { target } else { target.join(rest) };
    }
    Err(io::Error::other(format!("{}: more than {LINKS} symbolic links on the way", file.display())))
}

/// The first part of an absolute path that is a symbolic link.
fn first_link(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut part = PathBuf::new();
    for component in path.components() {
        if component == Component::CurDir {
            continue;
        }
        part.push(component);
        if fs::symlink_metadata(&part)?.is_symlink() {
            return Ok(Some(part));
        }
    }
    Ok(None)
}

fn changed(metadata: &fs::Metadata) -> SystemTime {
    // Before 1970 there were no files.
    let seconds = Duration::from_secs(metadata.ctime().try_into().unwrap_or(0));
    let since = seconds + Duration::from_nanos(metadata.ctime_nsec().try_into().unwrap_or(0));
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
}
