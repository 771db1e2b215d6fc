//! What every subcommand has in common: exit codes, formats, and writing to people and to programs.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::ValueEnum;

/// How a one-shot command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done.
    Done = 0,
    /// It could not be done. For `diff`: the files differ.
    Failed = 1,
    /// The command was used wrongly. For `diff`: trouble.
    Misused = 2,
    /// Done, but objects were left out.
    LeftOut = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The form of what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    // No help texts: the names say it, and `--help` stays on one page.
    Text,
    Json,
}

/// Prints to standard output. A reader that went away is no error: it has seen what it wanted.
pub(super) fn print(text: &str) -> io::Result<()> {
    print_with(|out| out.write_all(text.as_bytes()))
}

/// The same for output that is written piece by piece.
pub(super) fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Whether standard output is a terminal that wants colour.
pub(super) fn colour() -> bool {
    wants_colour(&io::stdout())
}

/// Whether this output is a terminal that wants colour.
pub(super) fn wants_colour(output: &impl IsTerminal) -> bool {
    output.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writes a unified diff, its lines in colour if that is wanted.
pub(super) fn write_diff(out: &mut dyn Write, diff: &str, colour: bool) -> io::Result<()> {
    for line in diff.split_inclusive('\n') {
        let shade = match line.as_bytes().first() {
            Some(b'+') => 32,
            Some(b'-') => 31,
            Some(b'@') => 36,
            _ => 0,
        };
        if colour && shade != 0 {
            writeln!(out, "\u{1b}[{shade}m{}\u{1b}[0m", line.trim_end_matches('\n'))?;
        } else {
            out.write_all(line.as_bytes())?;
        }
    }
    Ok(())
}

/// Tells the operator of something that failed or was left out.
pub(super) fn error(text: &str) {
    tell("error", 31, text);
}

/// Tells the operator of something that has no effect or is missing.
pub(super) fn warning(text: &str) {
    tell("warning", 33, text);
}

/// Tells the operator of something that is as it was asked for, and that is good to know.
pub(super) fn note(text: &str) {
    tell("note", 36, text);
}

fn tell(word: &str, colour: u8, text: &str) {
    let mut out = io::stderr().lock();
    let coloured = wants_colour(&out);
    // There is nobody left to tell when standard error is gone.
    let _ = if coloured {
        writeln!(out, "\u{1b}[{colour}m{word}\u{1b}[0m: {text}")
    } else {
        writeln!(out, "{word}: {text}")
    };
}

/// A line on a terminal that says what is going on, and goes away.
pub(super) struct Progress {
    shown: bool,
}

impl Progress {
    pub(super) fn new(what: &str) -> Self {
        let progress = Self { shown: io::stderr().is_terminal() };
        progress.say(what);
        progress
    }

    /// Says something else.
    pub(super) fn say(&self, what: &str) {
        if self.shown {
            let _ = write!(io::stderr(), "\r{what}\u{1b}[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
