//! The part of `tailorbird.toml` that is about the daemon: `[daemon]`.

use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    #[serde(default, rename = "plugins")]
    _plugins: Option<IgnoredAny>,
    #[serde(default, rename = "plugin")]
    _plugin: Option<IgnoredAny>,
    #[serde(default)]
    daemon: DaemonForm,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DaemonForm {
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
    /// Reads the part of a file that is about the daemon; `text` is the whole file at `path`.
    ///
    /// # Errors
    /// What is wrong, with its place, in words.
    pub fn parse(text: &str, path: &Path) -> Result<Self, String> {
        let form: FileForm = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        let (form, base) = (form.daemon, Self::default());
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
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        Options::parse(text, Path::new("/etc/x/tailorbird.toml"))
    }

    #[test]
    fn the_daemon_is_configured_beside_plugins() {
        let text = r#"
            [plugins]
            cache = "c"
            [[plugin]]
            path = "p.wasm"
            [daemon]
            quiet = "0ms"
            bound = "2m"
            sockets = "run"
            undo_after = "1m"
            [daemon.guard]
            peers = 0
            routes = 0.5
            at_most = "1h"
        "#;
        let options = parse(text).expect("read");
        assert_eq!((options.timing.quiet, options.timing.bound), (Duration::ZERO, Duration::from_secs(120)));
        assert_eq!(options.sockets, Path::new("/etc/x/run"));
        assert_eq!(options.undo_after, NonZeroU16::new(60));
        assert_eq!((options.guard.peers, options.guard.routes), (None, Some(0.5)));
        assert_eq!(options.guard.at_most, Some(Duration::from_secs(3600)));
        assert_eq!(parse(""), Ok(Options::default()));
    }

    #[test]
    fn mistakes_are_told() {
        for (text, told) in [
            ("[daemon]\nquite = \"1s\"", "unknown field `quite`"),
            ("[daemon]\nquiet = \"1\"", "\"1\" is no time"),
            ("[daemon]\nquiet = \"99h\"", "is no time of at most a day"),
            ("[daemon]\nprobe = \"1ms\"", "daemon.probe"),
            ("[daemon]\nreload = \"maybe\"", "must be \"auto\" or \"none\""),
            ("[daemon.guard]\npeers = 2.0", "daemon.guard.peers = 2"),
            ("[daemon]\nundo_after = \"1500ms\"", "daemon.undo_after = 1.5s: must be whole seconds"),
            ("[daemon]\nundo_after = \"0s\"", "daemon.undo_after = 0ns"),
            ("[daemon]\nundo_after = \"20h\"", "daemon.undo_after"),
            ("[demon]", "unknown field `demon`"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn the_documentation_has_every_key_and_no_other() {
        let text = include_str!("../../../docs/daemon.md");
        let (_, text) = text.split_once("## tailorbird.toml").expect("the chapter");
        let (text, _) = text.split_once("## HTTP").expect("the next chapter");
        let (daemon, guard) = text.split_once("`[daemon.guard]`").expect("the guard's part");
        for (section, text, below) in [("daemon", daemon, Some("guard")), ("daemon.guard", guard, None)] {
            // An unknown key's error names all that there are.
            let error = parse(&format!("[{section}]\nnonsense = 1")).expect_err("unknown");
            let (_, known) = error.rsplit_once("expected one of").expect("all keys");
            let mut known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
            let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
            let mut told: Vec<&str> = rows.chain(below).collect();
            known.sort_unstable();
            told.sort_unstable();
            assert_eq!(told, known, "[{section}]");
        }
    }
}
