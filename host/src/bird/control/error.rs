//! Why a conversation with BIRD came to nothing.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::reply::Malformed;

/// A socket, and what went wrong there. The message says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", socket.display())]
pub struct ControlError {
    /// The socket.
    pub socket: PathBuf,
    /// What went wrong.
    pub fault: Fault,
}

/// What went wrong at a control socket.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// There is no such file.
    #[error("there is no such socket: start BIRD, or give the path that it has for its socket (its flag -s)")]
    Missing,
    /// The file is there, and nobody listens: what a BIRD leaves behind that was killed.
    #[error("nobody listens at this socket, so BIRD is not running: start it")]
    NotRunning,
    /// This user may not connect.
    #[error("permission denied: run this as root, or as the user or group of BIRD's socket")]
    Denied,
    /// No whole answer within the time.
    #[error(
        "no answer to `{asked}` within {after:?}: BIRD hangs, or is busy with a large configuration; allow it more time, \
         or restart it"
    )]
    TimedOut {
        /// What was asked.
        asked: String,
        /// The time that there was for the answer.
        after: Duration,
    },
    /// BIRD went away before its answer was whole, or had gone before the question.
    #[error(
        "the connection was closed before the answer to `{asked}`: BIRD ended or was restarted; try again, and see its log"
    )]
    Closed {
        /// What was asked.
        asked: String,
    },
    /// What answered does not speak as BIRD does.
    #[error("the answer to `{asked}` is not BIRD's: {reason}; see that the path is BIRD's control socket")]
    Garbage {
        /// What was asked.
        asked: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// BIRD understood, and does not do it.
    #[error("BIRD refused `{asked}`: {code:04} {message}")]
    Rejected {
        /// What was asked.
        asked: String,
        /// BIRD's code, 8000 to 9999.
        code: u16,
        /// BIRD's words.
        message: String,
    },
    /// The system refused to connect, to read or to write.
    #[error("cannot talk to BIRD (`{asked}`): {source}")]
    Io {
        /// What was asked.
        asked: String,
        /// Why not.
        source: io::Error,
    },
}

/// What was asked before anything is: to be greeted.
pub(super) const GREETING: &str = "connect";

impl Fault {
    /// The fault behind an error of the system while an answer to `asked` was awaited for `patience`.
    pub(super) fn of(source: io::Error, asked: &str, patience: Duration) -> Self {
        let asked = asked.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Fault::Missing,
            io::ErrorKind::ConnectionRefused => Fault::NotRunning,
            io::ErrorKind::PermissionDenied => Fault::Denied,
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Fault::TimedOut { asked, after: patience },
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => {
                Fault::Closed { asked }
            }
            _ => Fault::Io { asked, source },
        }
    }

    pub(super) fn garbage(asked: &str, reason: impl Into<String>) -> Self {
        Fault::Garbage { asked: asked.to_owned(), reason: reason.into() }
    }

    pub(super) fn malformed(asked: &str, malformed: &Malformed) -> Self {
        Self::garbage(asked, malformed.to_string())
    }
}
