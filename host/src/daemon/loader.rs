//! How BIRD comes to run what is on disk.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::status::{BirdStatus, SessionStatus};
use crate::bird::check::Check;
use crate::bird::control::{self, Control, ControlError, Freshness, Neighbor, Probe, Reload, Reloaded};
use crate::delivery::Group;

/// The longest time for each answer to a probe.
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

/// Loads groups and looks after the daemons that read them.
#[derive(Debug, Clone)]
pub struct Loader {
    /// How.
    pub method: Method,
    /// The folder of the control sockets `bird.ctl` and `bird6.ctl`.
    pub sockets: PathBuf,
    /// The time that a command, or BIRD's answer, may take.
    pub patience: Duration,
}

impl Loader {
    /// The control socket of the daemon that reads a group, if this loader uses one for it.
    pub fn socket(&self, group: &Group) -> Option<PathBuf> {
        let own = group.files.iter().any(|file| file.reload_cmd.is_some());
        match self.method {
            Method::Auto if !own => group.daemon().map(|daemon| self.sockets.join(daemon.socket())),
            _ => None,
        }
    }

    /// Has the files of a group loaded, and waits until they are in force.
    ///
    /// # Errors
    /// The step that failed, and why, in words.
    pub fn load(&self, group: &Group) -> Result<(), (&'static str, String)> {
        if self.method == Method::None {
            return Ok(());
        }
        let mut commands: Vec<&str> =
            group.files.iter().filter_map(|file| file.reload_cmd.as_deref()).collect();
        commands.dedup();
        let Some(first) = group.files.first() else { return Ok(()) };
        for command in &commands {
            let check = Check::Command((*command).to_owned());
            check.run(&first.dest, self.patience).map_err(|error| ("reload", error.to_string()))?;
        }
        let Some(socket) = self.socket(group) else { return Ok(()) };
        let options = Reload { answer: self.patience, in_force: self.patience, ..Reload::default() };
        match control::reload(&socket, &options) {
            Reloaded::InForce { .. } => Ok(()),
            other @ (Reloaded::AcceptedNotInForce { .. } | Reloaded::Undone { .. }) => {
                Err(("verify", other.to_string()))
            }
            other => Err(("reload", other.to_string())),
        }
    }

    /// Asks the daemon of a group how it is, and whether it surely runs something older than the group's main file.
    /// Nothing if this loader has no socket for the group.
    pub fn look(&self, group: &Group) -> Option<(BirdStatus, bool)> {
        let socket = self.socket(group)?;
        let mut status = BirdStatus {
            group: group.name.clone(),
            socket: socket.display().to_string(),
            up: false,
            error: None,
            version: None,
            sessions: Vec::new(),
        };
        match ask(&socket) {
            Ok((probe, sessions)) => {
                let changed = group.main_file().and_then(|file| control::last_change(&file.dest).ok());
                let stale = changed.is_some_and(|at| probe.freshness(at) == Freshness::Stale);
                status.up = true;
                status.version = Some(probe.status.version);
                status.sessions = sessions;
                Some((status, stale))
            }
            Err(error) => {
                status.error = Some(error.to_string());
                Some((status, false))
            }
        }
    }
}

/// One conversation, so that an idle daemon wakes as seldom as can be.
fn ask(socket: &Path) -> Result<(Probe, Vec<SessionStatus>), ControlError> {
    let begin = Instant::now();
    let mut control = Control::connect(socket, PROBE_PATIENCE)?.restrict()?;
    let status = control.status()?;
    let probe = Probe { status, at: SystemTime::now(), took: begin.elapsed() };
    let sessions = control.protocols()?.into_iter().filter_map(|protocol| {
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
    });
    Ok((probe, sessions.collect()))
}
