//! How measurements are printed.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::measure::{Times, nanoseconds, shown};

/// What was measured of one thing.
pub(super) struct Row {
    /// What it is.
    pub(super) what: String,
    pub(super) times: Times,
    /// What the disk alone takes, where that can be compared.
    pub(super) floor: Option<Duration>,
    /// Its part of a whole, from 0 to 1.
    pub(super) share: Option<f64>,
    /// More about it: for people, and for programs.
    pub(super) note: String,
    pub(super) facts: Value,
}

impl Row {
    pub(super) fn new(what: impl Into<String>, times: Times) -> Self {
        Self { what: what.into(), times, floor: None, share: None, note: String::new(), facts: Value::Null }
    }

    pub(super) fn against(self, floor: &Times) -> Self {
        Self { floor: Some(floor.median()), ..self }
    }

    pub(super) fn of(self, whole: Duration) -> Self {
        Self { share: Some(ratio(self.times.median(), whole)), ..self }
    }

    pub(super) fn noting(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    pub(super) fn with(self, facts: Value) -> Self {
        Self { facts, ..self }
    }

    fn of_floor(&self) -> Option<f64> {
        self.floor.filter(|floor| !floor.is_zero()).map(|floor| ratio(self.times.median(), floor))
    }

    pub(super) fn to_json(&self) -> Value {
        let mut value = json!({
            "what": self.what,
            "samples": self.times.len(),
            "median_ns": nanoseconds(self.times.median()),
            "p99_ns": nanoseconds(self.times.percentile(99)),
            "of_floor": self.of_floor(),
            "share": self.share,
        });
        if let (Some(value), Some(facts)) = (value.as_object_mut(), self.facts.as_object()) {
            value.extend(facts.clone());
        }
        value
    }
}

/// How often a time goes into another one; zero if that is none.
pub(super) fn ratio(time: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { time.as_secs_f64() / whole.as_secs_f64() }
}

/// A part of a whole, in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A table of rows under a title; a column that no row has is left out, and nothing is left of a table without rows.
pub(super) fn table(title: &str, rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let floors = rows.iter().any(|row| row.floor.is_some());
    let shares = rows.iter().any(|row| row.share.is_some());
    let width =
        rows.iter().map(|row| row.what.chars().count()).chain([title.chars().count()]).max().unwrap_or(0);
    let mut text = String::new();
    let mut line = |what: &str, cells: [&str; 5], note: &str| {
        let [samples, median, p99, floor, share] = cells;
        let mut line = format!("{what:<width$}  {samples:>7}  {median:>9}  {p99:>9}");
        // A String takes everything.
        if floors {
            let _ = write!(line, "  {floor:>8}");
        }
        if shares {
            let _ = write!(line, "  {share:>6}");
        }
        let _ = write!(line, "  {note}");
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(title, ["samples", "median", "p99", "of floor", "share"], "");
    for row in rows {
        let floor = row.of_floor().map_or_else(String::new, |ratio| format!("{ratio:.2} x"));
        let share = row.share.map_or_else(String::new, percent);
        let (samples, median) = (row.times.len().to_string(), shown(row.times.median()));
        let p99 = shown(row.times.percentile(99));
        line(&row.what, [&samples, &median, &p99, &floor, &share], &row.note);
    }
    text.push('\n');
    text
}

/// The sentences that say what is slow.
pub(super) fn sentences(said: &[String]) -> String {
    let mut text = String::new();
    for sentence in said {
        text.push_str(sentence);
        text.push('\n');
    }
    text
}
