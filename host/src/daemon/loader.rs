//! How BIRD comes to run what is on disk.

use std::collections::BTreeSet;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::status::{BirdStatus, SessionStatus};
use crate::bird::check::{Check, MissingDaemon};
use crate::bird::control::{self, Look, Mark, Neighbor, Protocol, Reload, Reloaded, Status};
use crate::delivery::{Checks, Group};

/// The longest time for the answers to a probe.
const PROBE_PATIENCE: Duration = Duration::from_secs(2);

/// What loads groups of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// The files' own `reload_cmd` where there is one; else the control socket for the groups of BIRD's two daemons.
    #[default]
    Auto,
    /// Nothing: somebody else tells BIRD.
    None,
}

/// A load that came into force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// When it began.
    began: Instant,
    /// The group's files as they were then, unless one of them was gone again.
    files: Option<Vec<Mark>>,
}

impl Loaded {
    /// A load of a group that begins now.
    fn now(group: &Group) -> Self {
        Self { began: Instant::now(), files: marks(group) }
    }

    /// Whether BIRD surely runs something that it read before this load. Only clocks that do not jump are asked: BIRD's own
    /// age of it, and this process' time.
    fn is_older_at(&self, status: &Status) -> bool {
        status
            .configuration_age()
            .is_some_and(|age| age > self.began.elapsed().saturating_add(status.precision()))
    }

    /// Whether the files of the group are those that were loaded.
    pub fn has_files_of(&self, group: &Group) -> bool {
        self.files.is_some() && self.files == marks(group)
    }
}

/// The files of a group as they are now, if all are there.
fn marks(group: &Group) -> Option<Vec<Mark>> {
    group.files.iter().map(|file| Mark::of(&file.dest).ok()).collect()
}

/// Loads groups and looks after the daemons that read them.
#[derive(Debug, Clone)]
pub struct Loader {
    /// How.
    pub method: Method,
    /// The folder of the control sockets `bird.ctl` and `bird6.ctl`.
    pub sockets: PathBuf,
    /// The time that a command, or BIRD's answer, may take.
    pub patience: Duration,
    /// BIRD goes back by itself after these seconds, unless the files were seen in force by then.
    pub undo_after: Option<NonZeroU16>,
}

impl Loader {
    /// Whether another loader tells the same BIRDs in the same way, be it with more or less patience.
    pub fn tells_as(&self, other: &Self) -> bool {
        self.method == other.method && self.sockets == other.sockets
    }

    /// The control socket of the daemon that reads a group, if this loader uses one for it.
    pub fn socket(&self, group: &Group) -> Option<PathBuf> {
        let own = group.files.iter().any(|file| file.reload_cmd.is_some());
        match self.method {
            Method::Auto if !own => group.daemon().map(|daemon| self.sockets.join(daemon.socket())),
            _ => None,
        }
    }

    /// What checks a group: its own commands, or the program of its daemon; without these the BIRD that is going to load
    /// it, which may run in another container.
    ///
    /// # Errors
    /// The program is not where the environment says that it is.
    pub fn checks(&self, group: &Group) -> Result<Checks, MissingDaemon> {
        let programs = group.checks()?;
        Ok(match self.socket(group) {
            Some(socket) if programs.is_empty() => Checks::Running(socket),
            _ => Checks::Programs(programs),
        })
    }

    /// Has the files of a group loaded, and waits until they are in force.
    ///
    /// # Errors
    /// The step that failed, and why, in words.
    pub fn load(&self, group: &Group) -> Result<Loaded, (&'static str, String)> {
        let loaded = Loaded::now(group);
        if self.method == Method::None {
            return Ok(loaded);
        }
        let mut done = BTreeSet::new();
        for file in &group.files {
            let Some(command) = &file.reload_cmd else { continue };
            let check = Check::Command(command.clone());
            // One that names no file is for the whole group.
            if done.insert((command, check.names_file().then_some(&file.dest))) {
                check.run(&file.dest, self.patience).map_err(|error| ("reload", error.to_string()))?;
            }
        }
        let Some(socket) = self.socket(group) else { return Ok(loaded) };
        let options = Reload { answer: self.patience, in_force: self.patience, ..Reload::default() };
        let reloaded = match self.undo_after {
            Some(seconds) => control::reload_confirmed(&socket, &options, seconds, |_| Ok(())),
            None => control::reload(&socket, &options),
        };
        match reloaded {
            Reloaded::InForce { .. } => Ok(loaded),
            other @ (Reloaded::AcceptedNotInForce { .. } | Reloaded::Undone { .. }) => {
                Err(("verify", other.to_string()))
            }
            other => Err(("reload", other.to_string())),
        }
    }

    /// Asks the daemons of groups how they are, all at once, and whether each surely runs something that it read
    /// before its last load; `last` gives a group's last load. Groups for which this loader has no socket are passed over.
    pub fn look<'a>(
        &self,
        groups: &[Group],
        last: impl Fn(&str) -> Option<&'a Loaded>,
    ) -> Vec<(BirdStatus, bool)> {
        let sockets = groups.iter().filter_map(|group| Some((group, self.socket(group)?)));
        // An idle daemon wakes as seldom as can be: while the first one is waited for, the others answer too.
        let looks: Vec<_> =
            sockets.map(|(group, socket)| (group, Look::begin(&socket, PROBE_PATIENCE), socket)).collect();
        let seen = looks.into_iter().map(|(group, look, socket)| {
            let mut bird = BirdStatus {
                group: group.name.clone(),
                socket: socket.display().to_string(),
                up: false,
                error: None,
                version: None,
                sessions: Vec::new(),
            };
            match look.and_then(Look::end) {
                Ok((status, protocols)) => {
                    let stale = last(&group.name).is_some_and(|loaded| loaded.is_older_at(&status));
                    bird.up = true;
                    bird.version = Some(status.version);
                    bird.sessions = protocols.into_iter().filter_map(session).collect();
                    (bird, stale)
                }
                Err(error) => {
                    bird.error = Some(error.to_string());
                    (bird, false)
                }
            }
        });
        seen.collect()
    }
}

fn session(protocol: Protocol) -> Option<SessionStatus> {
    let bgp = protocol.bgp?;
    Some(SessionStatus {
        name: protocol.name,
        state: bgp.state.as_str().to_owned(),
        neighbor: bgp.neighbor.map(|neighbor| match neighbor {
            Neighbor::Address { address, .. } => address.to_string(),
            Neighbor::Range { range } => range.to_string(),
        }),
        last_error: bgp.last_error,
    })
}
