//! The part of `tailorbird.toml` that is about the daemon: `[daemon]`.

use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::guard::Limits;
use super::loader::Method;
use super::schedule::Timing;

/// How the daemon works, as the operator wants it.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How changes are taken together.
    pub timing: Timing,
    /// When a removal is held.
    pub guard: Limits,
    /// How BIRD comes to run the files.
    pub reload: Method,
    /// The folder of BIRD's control sockets.
    pub sockets: PathBuf,
    /// How often BIRD is asked how it is; 5 s.
    pub probe: Duration,
    /// The time that a check may take; 30 s.
    pub check_timeout: Duration,
    /// The time that a reload may take; 30 s.
    pub reload_timeout: Duration,
    /// BIRD goes back by itself after these seconds, unless the files were seen in force by then; never.
    pub undo_after: Option<NonZeroU16>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timing: Timing::default(),
            guard: Limits::default(),
            reload: Method::Auto,
            sockets: PathBuf::from("/var/run/calico"),
            probe: Duration::from_secs(5),
            check_timeout: Duration::from_secs(30),
            reload_timeout: Duration::from_secs(30),
            undo_after: None,
        }
    }
}

/// The part `[daemon]`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DaemonForm {
    quiet: Option<Span>,
    bound: Option<Span>,
    distance: Option<Span>,
    jitter: Option<Span>,
    reload: Option<String>,
    sockets: Option<PathBuf>,
    probe: Option<Span>,
    check_timeout: Option<Span>,
    reload_timeout: Option<Span>,
    undo_after: Option<Span>,
    guard: GuardForm,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct GuardForm {
    peers: Option<f64>,
    peers_at_least: Option<usize>,
    routes: Option<f64>,
    routes_at_least: Option<usize>,
    at_most: Option<Span>,
    let_deliberate_through: Option<bool>,
}

/// A time as text: `250ms`, `5s`, `2m`, `1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Span(Duration);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let number: Option<u64> = number.parse().ok();
        let milliseconds = match unit {
            "ms" => Some(1),
            "s" => Some(1000),
            "m" => Some(60_000),
            "h" => Some(3_600_000),
            _ => None,
        };
        let span = number.zip(milliseconds).and_then(|(number, unit)| number.checked_mul(unit));
        match span {
            Some(span) if span <= 24 * 3_600_000 => Ok(Self(Duration::from_millis(span))),
            _ => Err(format!("{text:?} is no time of at most a day, as \"250ms\", \"5s\", \"2m\" or \"1h\"")),
        }
    }
}

impl Options {
    /// What the part says; paths in it are relative to `folder`.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn new(form: DaemonForm, folder: &Path) -> Result<Self, String> {
        let base = Self::default();
        let time = |span: Option<Span>, base: Duration| span.map_or(base, |Span(time)| time);
        let share = |name: &str, share: Option<f64>, base: Option<f64>| match share {
            None => Ok(base),
            Some(0.0) => Ok(None),
            Some(share) if share > 0.0 && share <= 1.0 => Ok(Some(share)),
            Some(share) => Err(format!(
                "daemon.guard.{name} = {share}: must be above 0 and at most 1, or 0 to switch the guard off"
            )),
        };
        let guard = Limits {
            peers: share("peers", form.guard.peers, base.guard.peers)?,
            peers_at_least: form.guard.peers_at_least.unwrap_or(base.guard.peers_at_least),
            routes: share("routes", form.guard.routes, base.guard.routes)?,
            routes_at_least: form.guard.routes_at_least.unwrap_or(base.guard.routes_at_least),
            at_most: form.guard.at_most.map(|Span(time)| time),
            let_deliberate_through: form.guard.let_deliberate_through.unwrap_or(false),
        };
        let timing = Timing {
            quiet: time(form.quiet, base.timing.quiet),
            bound: time(form.bound, base.timing.bound),
            distance: time(form.distance, base.timing.distance),
            jitter: time(form.jitter, base.timing.jitter),
        };
        let reload = match form.reload.as_deref() {
            None | Some("auto") => Method::Auto,
            Some("none") => Method::None,
            Some(other) => return Err(format!("daemon.reload = {other:?}: must be \"auto\" or \"none\"")),
        };
        let probe = time(form.probe, base.probe);
        if probe < Duration::from_millis(100) {
            return Err("daemon.probe: must be at least 100ms".to_owned());
        }
        let undo_after = form.undo_after.map(|Span(time)| whole_seconds(time).ok_or(time)).transpose();
        let undo_after = undo_after.map_err(|time| {
            format!("daemon.undo_after = {time:?}: must be whole seconds, from 1 s to 18 h")
        })?;
        Ok(Self {
            timing,
            guard,
            reload,
            sockets: form.sockets.map_or(base.sockets, |sockets| folder.join(sockets)),
            probe,
            check_timeout: time(form.check_timeout, base.check_timeout),
            reload_timeout: time(form.reload_timeout, base.reload_timeout),
            undo_after,
        })
    }
}

/// A time as BIRD counts it.
fn whole_seconds(time: Duration) -> Option<NonZeroU16> {
    let seconds = u16::try_from(time.as_secs()).ok().and_then(NonZeroU16::new);
    seconds.filter(|_| time.subsec_nanos() == 0)
}
