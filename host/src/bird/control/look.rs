//! A look at a BIRD that changes nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use super::connection::{Control, PROTOCOLS, RESTRICT, ReadOnly, STATUS};
use super::error::ControlError;
use super::protocol::Protocol;
use super::status::Status;

/// The least time for the answers. They may have come in time, and only be read late: after a daemon that hangs.
const GRACE: Duration = Duration::from_millis(50);

/// Questions that were put to a BIRD, all at once: what it says about itself, and all its protocols. Before these the
/// connection gave up the right to change anything.
///
/// Whoever looks at several daemons begins with all of them before it waits for the first, so that they answer meanwhile.
#[derive(Debug)]
pub struct Look {
    control: Control<ReadOnly>,
    deadline: Instant,
}

impl Look {
    /// Connects and asks; waits for no answer. `patience` is the time until all answers must be there, at most a
    /// day.
    ///
    /// # Errors
    ///
    /// Nobody listens at the socket.
    pub fn begin(socket: &Path, patience: Duration) -> Result<Self, ControlError> {
        let (control, deadline) = Control::ask_unseen(socket, patience, &[RESTRICT, STATUS, PROTOCOLS])?;
        Ok(Self { control, deadline })
    }

    /// Waits for the answers.
    ///
    /// # Errors
    ///
    /// BIRD does not answer in time, or what answers is no BIRD.
    pub fn end(self) -> Result<(Status, Vec<Protocol>), ControlError> {
        let Self { mut control, deadline } = self;
        let deadline = deadline.max(Instant::now() + GRACE);
        control.greeted(deadline)?;
        let restricted = control.answer(RESTRICT, deadline)?;
        control.is_restricted(&restricted)?;
        let status = control.answer(STATUS, deadline)?;
        let status = control.status_in(&status)?;
        let protocols = control.answer(PROTOCOLS, deadline)?;
        Ok((status, control.protocols_in(&protocols)?))
    }
}
