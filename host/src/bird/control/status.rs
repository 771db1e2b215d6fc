//! `show status`: what BIRD says about itself.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde::Serialize;

use super::reply::Reply;

/// What BIRD says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Its version, as `2.19.2`, or `v0.3.3+birdv1.6.8` for Calico's build.
    pub version: String,
    /// Its router id.
    pub router_id: Ipv4Addr,
    /// The host's name; BIRD 1.x does not say it.
    pub hostname: Option<String>,
    /// The time at BIRD, in its own form.
    pub server_time: String,
    /// When it was started, in its own form.
    pub last_reboot: String,
    /// When the configuration that is in force was read, in BIRD's own form.
    ///
    /// After an undo, BIRD 1.x and 2 say when the configuration that is back was read, BIRD 3 the time of the undo.
    pub last_reconfiguration: String,
    /// What it does.
    pub state: State,
    /// It was started for graceful restart and still waits for its peers.
    pub recovering: bool,
}

/// What BIRD does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It runs, and what it was last told is in force.
    UpToDate,
    /// It goes over to another configuration.
    Reconfiguring,
    /// It was told to end.
    ShuttingDown,
}

impl Status {
    /// How long ago the configuration in force was read, by BIRD's own clock at the time of the answer. Exact to
    /// [`Status::precision`]. `None` if it cannot be told: the operator gave BIRD another form for its times
    /// (`timeformat base`), or summer time ended between the two.
    pub fn configuration_age(&self) -> Option<Duration> {
        let now = microseconds(&self.server_time)?;
        let read = microseconds(&self.last_reconfiguration)?;
        u64::try_from(now - read).ok().map(Duration::from_micros)
    }

    /// How exact BIRD's times are. BIRD 1.x counts whole seconds, of two clocks that do not tick at the same instant.
    pub fn precision(&self) -> Duration {
        if self.server_time.contains('.') { Duration::from_millis(10) } else { Duration::from_secs(2) }
    }

    /// From the reply to `show status`.
    pub(super) fn parse(reply: &Reply) -> Result<Self, &'static str> {
        let find = |prefix: &str| {
            let found = reply.lines().find_map(|line| line.text.trim_start().strip_prefix(prefix));
            found.map(|rest| rest.trim().to_owned())
        };
        let state = match reply.message().trim() {
            "Daemon is up and running" => State::UpToDate,
            "Reconfiguration in progress" => State::Reconfiguring,
            "Shutdown in progress" => State::ShuttingDown,
            _ => return Err("it does not say what the daemon does"),
        };
        Ok(Self {
            version: find("BIRD ").ok_or("it names no version")?,
            router_id: find("Router ID is ").and_then(|id| id.parse().ok()).ok_or("it names no router id")?,
            hostname: find("Hostname is "),
            server_time: find("Current server time is ").ok_or("it does not say the time")?,
            last_reboot: find("Last reboot on ").ok_or("it does not say when BIRD was started")?,
            last_reconfiguration: find("Last reconfiguration on ")
                .ok_or("it does not say when the configuration was read")?,
            state,
            recovering: find("Graceful restart recovery in progress").is_some(),
        })
    }
}

/// A time as `2026-11-29 22:44:03` or `2026-11-29 22:44:03.674`, in microseconds since some instant.
fn microseconds(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(' ')?;
    let [year, month, day] = numbers(date, '-')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = numbers(time, ':')?;
    if fraction.len() > 6 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let micros: i64 = format!("{fraction:0<6}").parse().ok()?;
    let in_range = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    in_range
        .then(|| (((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let plain = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        if plain { part.parse().ok() } else { None }
    });
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

/// The days from the first of March of the year 0 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // A year that begins in March has its leap day at its end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1
}

#[cfg(test)]
mod tests {
    use super::microseconds;

    #[test]
    fn times_are_told_apart_across_months_and_years() {
        let at = |text| microseconds(text).unwrap_or_else(|| panic!("{text}"));
        let between = |from, to| at(to) - at(from);
        let (second, day) = (1_000_000, 86_400_000_000);
        assert_eq!(between("2026-11-29 22:44:03", "2026-11-29 22:44:03.674"), 674_000);
        assert_eq!(between("2024-02-28 23:59:59", "2024-02-29 00:00:00"), second);
        assert_eq!(between("2024-02-29 00:00:00", "2024-03-01 00:00:00"), day);
        assert_eq!(between("2025-02-28 00:00:00", "2025-03-01 00:00:00"), day);
        assert_eq!(between("2025-12-31 23:59:59.5", "2026-01-01 00:00:00"), second / 2);
        assert_eq!(between("2000-01-01 00:00:00", "2001-01-01 00:00:00"), 366 * day);
    }

    #[test]
    fn other_forms_are_no_times() {
        for text in
            ["", "22:44:03", "29-11-2026 22:44:03", "2026-11-29", "2026-13-01 00:00:00", "2026-11-29 22:44"]
        {
            assert_eq!(microseconds(text), None, "{text}");
        }
        assert_eq!(microseconds("2026-11-29 22:44:03.1234567"), None);
        assert_eq!(microseconds("2026-11-29 +2:44:03"), None);
    }
}
