//! A connection to BIRD's control socket: one question at a time, each answered within a time.

use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};

use super::error::{ControlError, Fault, GREETING};
use super::file::ConfigFile;
use super::protocol::{self, Protocol};
use super::refusal::Refusal;
use super::reply::{Event, Parser, Reply};
use super::status::Status;

/// The longest time that is taken seriously; also no deadline overflows with it.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A connection that may do everything.
#[derive(Debug)]
pub enum Full {}

/// A connection that can only read: BIRD itself refuses everything else on it.
#[derive(Debug)]
pub enum ReadOnly {}

/// A connection to a BIRD.
///
/// Calls block, and none longer than the patience: by then the whole answer is there or the call has failed. After a
/// [`Fault`] other than [`Fault::Rejected`] the connection is closed and every later call fails with
/// [`Fault::Closed`]: an answer that comes late would be taken for another one's.
#[derive(Debug)]
pub struct Control<Access = Full> {
    socket: PathBuf,
    /// Absent after a fault.
    stream: Option<UnixStream>,
    parser: Parser,
    patience: Duration,
    access: PhantomData<Access>,
}

/// What BIRD says to a command that changes its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Configured {
    /// The new configuration is in force.
    Done,
    /// It is taken; BIRD is still going over to it. [`Status::state`] says when it is there.
    InProgress,
    /// It is taken, and follows the one that BIRD is still going over to.
    Queued,
    /// BIRD was still going over to another configuration, and forgets the one that was to follow.
    Unqueued,
    /// There is nothing to do: nothing that could be confirmed or undone.
    Nothing,
    /// BIRD cannot read it; what was in force stays.
    Refused(Refusal),
    /// BIRD is ending and does nothing more.
    ShuttingDown,
}

pub(super) const RESTRICT: &str = "restrict";
pub(super) const STATUS: &str = "show status";
pub(super) const PROTOCOLS: &str = "show protocols all";

impl Control<Full> {
    /// Connects, and waits to be greeted by a BIRD. `patience` is the time for that and then for each answer, at most a
    /// day.
    ///
    /// # Errors
    ///
    /// Nobody listens at the socket, nobody greets in time, or what greets is no BIRD.
    pub fn connect(socket: &Path, patience: Duration) -> Result<Self, ControlError> {
        let mut control = Self::unconnected(socket, patience);
        let deadline = Instant::now() + control.patience;
        match connect(socket, control.patience) {
            Ok(stream) => control.stream = Some(stream),
            Err(fault) => return Err(control.error(fault)),
        }
        control.greeted(deadline)?;
        Ok(control)
    }

    /// Gives up the right to change anything, for a connection that only reads.
    ///
    /// # Errors
    ///
    /// [`ControlError`].
    pub fn restrict(mut self) -> Result<Control<ReadOnly>, ControlError> {
        let reply = self.ask(RESTRICT)?;
        self.is_restricted(&reply)?;
        let Self { socket, stream, parser, patience, .. } = self;
        Ok(Control { socket, stream, parser, patience, access: PhantomData })
    }

    /// Has BIRD read a file and everything that it includes, and do nothing else with it.
    ///
    /// # Errors
    ///
    /// [`ControlError`]. A file that BIRD cannot read or does not understand is no error but a [`Refusal`].
    pub fn check(&mut self, file: &ConfigFile) -> Result<Result<(), Refusal>, ControlError> {
        let command = format!("configure check {file}");
        let reply = self.ask_for_configuration(&command)?;
        match reply.code() {
            20 => Ok(Ok(())),
            8002 => Ok(Err(Refusal::parse(reply.message()))),
            _ => Err(self.unexpected(&command, &reply)),
        }
    }

    /// Has BIRD read its configuration, or another file, and go over to it.
    ///
    /// `soft`: routes that a changed filter would judge otherwise stay as they are. `undo_after`: BIRD goes back to the
    /// configuration that is in force now when it was not told to [`confirm`](Self::confirm) within this many seconds.
    ///
    /// # Errors
    ///
    /// [`ControlError`].
    pub fn configure(
        &mut self,
        file: Option<&ConfigFile>,
        soft: bool,
        undo_after: Option<NonZeroU16>,
    ) -> Result<Configured, ControlError> {
        let mut command = String::from("configure");
        if soft {
            command.push_str(" soft");
        }
        if let Some(file) = file {
            command.push_str(&format!(" {file}"));
        }
        if let Some(seconds) = undo_after {
            command.push_str(&format!(" timeout {seconds}"));
        }
        self.change(&command)
    }

    /// Keeps the configuration that BIRD would otherwise undo. [`Configured::Done`], or [`Configured::Nothing`]: none
    /// waits to be confirmed, because it already was, or because its time ran out and BIRD went back.
    ///
    /// # Errors
    ///
    /// [`ControlError`].
    pub fn confirm(&mut self) -> Result<Configured, ControlError> {
        self.change("configure confirm")
    }

    /// Has BIRD go back to the configuration that was in force before the last one. There is one step: a second undo is
    /// [`Configured::Nothing`].
    ///
    /// # Errors
    ///
    /// [`ControlError`].
    pub fn undo(&mut self) -> Result<Configured, ControlError> {
        self.change("configure undo")
    }

    fn change(&mut self, command: &str) -> Result<Configured, ControlError> {
        let reply = self.ask_for_configuration(command)?;
        Ok(match reply.code() {
            3 | 18 => Configured::Done,
            4 => Configured::InProgress,
            5 => Configured::Queued,
            6 => Configured::ShuttingDown,
            17 => Configured::Unqueued,
            19 => Configured::Nothing,
            8002 => Configured::Refused(Refusal::parse(reply.message())),
            _ => return Err(self.unexpected(command, &reply)),
        })
    }
}

impl<Access> Control<Access> {
    fn unconnected(socket: &Path, patience: Duration) -> Self {
        Self {
            socket: socket.to_owned(),
            stream: None,
            parser: Parser::default(),
            patience: patience.min(LONGEST),
            access: PhantomData,
        }
    }

    /// Connects and asks before BIRD has greeted; the time by which all answers must be there.
    pub(super) fn ask_unseen(
        socket: &Path,
        patience: Duration,
        questions: &[&str],
    ) -> Result<(Self, Instant), ControlError> {
        let mut control = Self::unconnected(socket, patience);
        let deadline = Instant::now() + control.patience;
        let asked = connect(socket, control.patience).and_then(|stream| {
            control.stream = Some(stream);
            control.send(&questions.join("\n"), deadline)
        });
        match asked {
            Ok(()) => Ok((control, deadline)),
            Err(fault) => Err(control.error(fault)),
        }
    }

    /// Waits to be greeted by a BIRD.
    pub(super) fn greeted(&mut self, deadline: Instant) -> Result<(), ControlError> {
        match self.receive(GREETING, deadline) {
            Ok(greeting) if greeting.code() == 1 && greeting.message().starts_with("BIRD ") => Ok(()),
            Ok(greeting) => {
                let reason = format!("it greets with \"{:04} {}\"", greeting.code(), greeting.message());
                Err(self.error(Fault::garbage(GREETING, reason)))
            }
            Err(fault) => Err(self.error(fault)),
        }
    }

    pub(super) fn is_restricted(&mut self, reply: &Reply) -> Result<(), ControlError> {
        if reply.code() == 16 { Ok(()) } else { Err(self.unexpected(RESTRICT, reply)) }
    }

    /// The socket's path.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Changes the time that each answer may take from now on, at most a day.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience.min(LONGEST);
    }

    /// What BIRD says about itself.
    ///
    /// # Errors
    ///
    /// [`ControlError`].
    pub fn status(&mut self) -> Result<Status, ControlError> {
        let reply = self.ask(STATUS)?;
        self.status_in(&reply)
    }

    pub(super) fn status_in(&mut self, reply: &Reply) -> Result<Status, ControlError> {
        Status::parse(reply).map_err(|reason| self.error(Fault::garbage(STATUS, reason)))
    }

    /// All protocols that BIRD runs, in its order, BGP sessions and others.
    ///
    /// # Errors
    ///
    /// [`ControlError`].
    pub fn protocols(&mut self) -> Result<Vec<Protocol>, ControlError> {
        let reply = self.ask(PROTOCOLS)?;
        self.protocols_in(&reply)
    }

    pub(super) fn protocols_in(&mut self, reply: &Reply) -> Result<Vec<Protocol>, ControlError> {
        if reply.code() != 0 {
            return Err(self.unexpected(PROTOCOLS, reply));
        }
        protocol::parse(reply).map_err(|reason| self.error(Fault::garbage(PROTOCOLS, reason)))
    }

    /// Asks, and gives the answer unless BIRD refuses.
    fn ask(&mut self, command: &str) -> Result<Reply, ControlError> {
        let reply = self.ask_for_configuration(command)?;
        if reply.code() == 8002 {
            return Err(self.unexpected(command, &reply));
        }
        Ok(reply)
    }

    /// The same, where an answer may also be that a configuration cannot be read.
    fn ask_for_configuration(&mut self, command: &str) -> Result<Reply, ControlError> {
        let deadline = Instant::now() + self.patience;
        self.send(command, deadline).map_err(|fault| self.error(fault))?;
        self.answer(command, deadline)
    }

    /// Waits for the answer to a question that was sent.
    pub(super) fn answer(&mut self, command: &str, deadline: Instant) -> Result<Reply, ControlError> {
        let reply = self.receive(command, deadline).map_err(|fault| self.error(fault))?;
        match reply.code() {
            code @ (8000..=8001 | 8003..=9999) => {
                let (asked, message) = (command.to_owned(), reply.message().to_owned());
                // BIRD is in its right mind: the connection stays.
                Err(ControlError {
                    socket: self.socket.clone(),
                    fault: Fault::Rejected { asked, code, message },
                })
            }
            _ => Ok(reply),
        }
    }

    fn send(&mut self, command: &str, deadline: Instant) -> Result<(), Fault> {
        let patience = self.patience;
        let fault = |source| Fault::of(source, command, patience);
        // What is already there was not asked for, and would be taken for the answer.
        while let Some(event) = self.parser.next_event().map_err(|bad| Fault::malformed(command, &bad))? {
            if let Event::Reply(reply) = event {
                let reason = format!("{:04} {:?} came before the question", reply.code(), reply.message());
                return Err(Fault::garbage(command, reason));
            }
        }
        let stream = self.stream.as_mut().ok_or_else(|| Fault::Closed { asked: command.to_owned() })?;
        stream.set_write_timeout(Some(left(deadline).map_err(fault)?)).map_err(fault)?;
        stream.write_all(format!("{command}\n").as_bytes()).map_err(fault)
    }

    fn receive(&mut self, asked: &str, deadline: Instant) -> Result<Reply, Fault> {
        let patience = self.patience;
        let fault = |source| Fault::of(source, asked, patience);
        let mut buffer = [0; 16 * 1024];
        loop {
            while let Some(event) = self.parser.next_event().map_err(|bad| Fault::malformed(asked, &bad))? {
                if let Event::Reply(reply) = event {
                    return Ok(reply);
                }
            }
            let stream = self.stream.as_mut().ok_or_else(|| Fault::Closed { asked: asked.to_owned() })?;
            stream.set_read_timeout(Some(left(deadline).map_err(fault)?)).map_err(fault)?;
            match stream.read(&mut buffer) {
                Ok(0) => return Err(Fault::Closed { asked: asked.to_owned() }),
                Ok(count) => self.parser.feed(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(fault(error)),
            }
        }
    }

    fn unexpected(&mut self, asked: &str, reply: &Reply) -> ControlError {
        self.error(Fault::garbage(asked, format!("it is {:04} {:?}", reply.code(), reply.message())))
    }

    /// The error of a fault that ends the conversation.
    fn error(&mut self, fault: Fault) -> ControlError {
        self.stream = None;
        ControlError { socket: self.socket.clone(), fault }
    }
}

/// The time until the deadline, more than none.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Connects within a time: it waits while the queue of a daemon that does not accept is full.
fn connect(path: &Path, patience: Duration) -> Result<UnixStream, Fault> {
    let fault = |source| Fault::of(source, GREETING, patience);
    let address = SockAddr::unix(path).map_err(fault)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).map_err(fault)?;
    // The time for writing is also the one for connecting.
    socket.set_write_timeout(Some(patience.max(Duration::from_millis(1)))).map_err(fault)?;
    socket.connect(&address).map_err(fault)?;
    Ok(OwnedFd::from(socket).into())
}
