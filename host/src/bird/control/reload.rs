//! One reload from the command to the proof that it is in force.

use std::fmt;
use std::num::NonZeroU16;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::connection::{Configured, Control, LONGEST};
use super::error::{ControlError, Fault};
use super::file::ConfigFile;
use super::refusal::Refusal;
use super::status::{State, Status};

/// The first and the longest pause between two looks at a BIRD that is going over to a configuration.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// How to reload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reload {
    /// The file; BIRD's own if there is none.
    pub file: Option<ConfigFile>,
    /// Leave routes as they are that a changed filter would judge otherwise.
    pub soft: bool,
    /// The time for each answer. BIRD answers when it has read the configuration, which for a large one takes seconds.
    pub answer: Duration,
    /// The time from BIRD's answer until the configuration is in force.
    pub in_force: Duration,
}

impl Default for Reload {
    /// BIRD's own file, not softly, 30 seconds for an answer, and 30 until it is in force.
    fn default() -> Self {
        let time = Duration::from_secs(30);
        Self { file: None, soft: false, answer: time, in_force: time }
    }
}

/// What became of a reload. Its text is for the operator.
#[derive(Debug)]
pub enum Reloaded {
    /// BIRD runs the new configuration.
    InForce {
        /// What BIRD says about itself since.
        status: Status,
        /// From the command to the proof.
        took: Duration,
    },
    /// BIRD cannot read the configuration and stays with the old one.
    Refused(Refusal),
    /// BIRD took it, but it was not seen in force in time. It may still come to be.
    AcceptedNotInForce {
        /// What was seen instead.
        why: NotInForce,
        /// How long it was waited for.
        waited: Duration,
    },
    /// BIRD took it, something was wrong, and BIRD is back at the old configuration or goes back to it.
    Undone {
        /// What was wrong.
        why: String,
        /// Who undid it.
        by: UndoneBy,
    },
    /// BIRD is ending and takes nothing any more.
    ShuttingDown,
    /// BIRD could not be asked, or went away.
    Unreachable {
        /// Why.
        error: ControlError,
        /// BIRD had already taken the new configuration.
        accepted: bool,
        /// BIRD, if it lives, goes back by itself within this many seconds.
        undo_within: Option<NonZeroU16>,
    },
}

/// What was seen in place of the new configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotInForce {
    /// BIRD was still going over to it.
    StillReconfiguring,
    /// BIRD said that it was done, and then that it runs a configuration which was read before.
    Older {
        /// When that was read, as BIRD says it.
        read: String,
    },
}

/// Who undid a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoneBy {
    /// BIRD was told to.
    Command,
    /// BIRD's own timer: it ran out, or does so within these seconds.
    Timer(NonZeroU16),
}

impl Reloaded {
    /// Whether BIRD runs the new configuration.
    pub fn is_in_force(&self) -> bool {
        matches!(self, Reloaded::InForce { .. })
    }
}

/// Has BIRD read its configuration, and waits until that is in force.
///
/// In force means: BIRD says that it is not going over to anything, and what it runs was read after the command. The second
/// is by BIRD's own clock and as exact as [`Status::precision`]; it is not looked at where BIRD's times cannot be read.
/// A configuration that comes too late is left to come: undoing what is only slow would do the work twice.
pub fn reload(socket: &Path, options: &Reload) -> Reloaded {
    Attempt { socket, options, undo_after: None }.run(|_| Ok(()))
}

/// The same, and BIRD goes back to the old configuration unless the new one proves itself: it must be in force in time,
/// and `verify`, which may look at BIRD's sessions, must say nothing against it. Then it is confirmed. If this process dies
/// before, BIRD itself goes back after `undo_after` seconds.
///
/// All of it, `verify` too, has to be done within `undo_after`.
pub fn reload_confirmed(
    socket: &Path,
    options: &Reload,
    undo_after: NonZeroU16,
    verify: impl FnOnce(&mut Control) -> Result<(), String>,
) -> Reloaded {
    Attempt { socket, options, undo_after: Some(undo_after) }.run(verify)
}

/// How the wait for a configuration ended.
enum Seen {
    InForce(Status),
    Not(NotInForce),
    ShuttingDown,
}

struct Attempt<'a> {
    socket: &'a Path,
    options: &'a Reload,
    undo_after: Option<NonZeroU16>,
}

impl Attempt<'_> {
    fn run(&self, verify: impl FnOnce(&mut Control) -> Result<(), String>) -> Reloaded {
        let mut control = match Control::connect(self.socket, self.options.answer) {
            Ok(control) => control,
            Err(error) => return self.unreachable(error, false),
        };
        let begin = Instant::now();
        match control.configure(self.options.file.as_ref(), self.options.soft, self.undo_after) {
            Ok(Configured::Done | Configured::InProgress | Configured::Queued) => {}
            Ok(Configured::Refused(refusal)) => return Reloaded::Refused(refusal),
            Ok(Configured::ShuttingDown) => return Reloaded::ShuttingDown,
            Ok(answer @ (Configured::Unqueued | Configured::Nothing)) => {
                let fault = Fault::garbage("configure", format!("it is that of an undo, {answer:?}"));
                return self.unreachable(ControlError { socket: self.socket.to_owned(), fault }, false);
            }
            Err(error) => {
                // BIRD may have taken it, and then gone or hung.
                let accepted = matches!(error.fault, Fault::TimedOut { .. } | Fault::Closed { .. });
                return self.unreachable(error, accepted);
            }
        }
        let status = match self.await_in_force(&mut control, begin) {
            Ok(Seen::InForce(status)) => status,
            Ok(Seen::Not(why)) if self.undo_after.is_some() => return self.undo(control, why.to_string()),
            Ok(Seen::Not(why)) => return Reloaded::AcceptedNotInForce { why, waited: begin.elapsed() },
            Ok(Seen::ShuttingDown) => return Reloaded::ShuttingDown,
            Err(error) => return self.unreachable(error, true),
        };
        if let Some(undo_after) = self.undo_after {
            if let Err(why) = verify(&mut control) {
                return self.undo(control, why);
            }
            match control.confirm() {
                Ok(Configured::Done) => {}
                Ok(_) => {
                    let why = "it was not confirmed in time".to_owned();
                    return Reloaded::Undone { why, by: UndoneBy::Timer(undo_after) };
                }
                Err(error) => return self.unreachable(error, true),
            }
        }
        Reloaded::InForce { status, took: begin.elapsed() }
    }

    /// Waits until the configuration is in force that BIRD was told to read at `begin`.
    fn await_in_force(&self, control: &mut Control, begin: Instant) -> Result<Seen, ControlError> {
        let deadline = Instant::now() + self.options.in_force.min(LONGEST);
        let mut pause = PAUSES.0;
        loop {
            let status = control.status()?;
            match status.state {
                State::ShuttingDown => return Ok(Seen::ShuttingDown),
                State::UpToDate => {
                    let possible = begin.elapsed() + status.precision();
                    return Ok(match status.configuration_age() {
                        Some(age) if age > possible => {
                            Seen::Not(NotInForce::Older { read: status.last_reconfiguration })
                        }
                        _ => Seen::InForce(status),
                    });
                }
                State::Reconfiguring => {}
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Seen::Not(NotInForce::StillReconfiguring));
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Goes back, on a new connection if this one is of no more use.
    fn undo(&self, mut control: Control, why: String) -> Reloaded {
        let undone = control.undo().or_else(|_| Control::connect(self.socket, self.options.answer)?.undo());
        match (undone, self.undo_after) {
            (Ok(Configured::ShuttingDown), _) => Reloaded::ShuttingDown,
            // The timer was first.
            (Ok(Configured::Nothing) | Err(_), Some(seconds)) => {
                Reloaded::Undone { why, by: UndoneBy::Timer(seconds) }
            }
            (Ok(_), _) => Reloaded::Undone { why, by: UndoneBy::Command },
            (Err(error), None) => self.unreachable(error, true),
        }
    }

    fn unreachable(&self, error: ControlError, accepted: bool) -> Reloaded {
        Reloaded::Unreachable { error, accepted, undo_within: self.undo_after.filter(|_| accepted) }
    }
}

impl fmt::Display for Reloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InForce { took, .. } => write!(f, "the new configuration is in force, after {:.1?}", took),
            Self::Refused(refusal) => {
                write!(f, "BIRD refused the configuration and runs the old one: {refusal}")
            }
            Self::AcceptedNotInForce { why, waited } => {
                write!(f, "BIRD accepted the configuration, but {why} ({waited:.1?} after the command)")
            }
            Self::Undone { why, by: UndoneBy::Command } => {
                write!(f, "the new configuration was undone and BIRD runs the old one: {why}")
            }
            Self::Undone { why, by: UndoneBy::Timer(seconds) } => write!(
                f,
                "{why}: BIRD goes back to the old configuration by itself, {seconds} s after it took the new one"
            ),
            Self::ShuttingDown => f.write_str(
                "BIRD is shutting down and takes no configuration; it reads the file when it is started again",
            ),
            Self::Unreachable { error, accepted: false, .. } => error.fmt(f),
            Self::Unreachable { error, accepted: true, undo_within: None } => {
                write!(f, "{error}; BIRD may have taken the new configuration: see `tailorbird bird status`")
            }
            Self::Unreachable { error, accepted: true, undo_within: Some(seconds) } => write!(
                f,
                "{error}; if BIRD took the new configuration and lives, it goes back to the old one within {seconds} s"
            ),
        }
    }
}

impl fmt::Display for NotInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StillReconfiguring => f.write_str(
                "it is still going over to it: sessions that end may take their time; see `tailorbird bird status`",
            ),
            Self::Older { read } => write!(
                f,
                "it runs one that it read on {read}: see BIRD's log, and that nothing else configures this BIRD"
            ),
        }
    }
}
