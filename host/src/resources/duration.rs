//! Durations as Go writes them: `1m30s`, `1.5h`, `500ms`.

use crate::types::{Seconds, ValueError};

/// A duration in whole seconds, halves rounded up. A bare number has no unit and is refused, except `0`.
pub(super) fn parse_seconds(text: &str) -> Result<Seconds, ValueError> {
    let bad = || ValueError::new("not a time with units, as in 90s, 1m30s or 500ms");
    let body = text.strip_prefix('+').unwrap_or(text);
    if body == "0" {
        return Ok(Seconds(0));
    }
    if body.starts_with('-') {
        return Err(ValueError::new("a time cannot be negative"));
    }
    let mut rest = body;
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let whole_len = digits(rest);
        let (whole, after) = rest.split_at(whole_len);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(digits(after)),
            None => ("", after),
        };
        if (whole.is_empty() && fraction.is_empty()) || whole.len() > 18 {
            return Err(bad());
        }
        let unit_len = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_len);
        let scale: u128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(bad()),
        };
        nanos += whole.parse::<u128>().unwrap_or(0) * scale;
        // More digits than the unit can show do not count.
        let fraction = &fraction[..fraction.len().min(15)];
        nanos += fraction.parse::<u128>().unwrap_or(0) * scale / 10_u128.pow(fraction.len() as u32);
        rest = after;
    }
    if body.is_empty() {
        return Err(bad());
    }
    match u32::try_from((nanos + 500_000_000) / 1_000_000_000) {
        Ok(seconds) if nanos <= i64::MAX as u128 => Ok(Seconds(seconds)),
        _ => Err(ValueError::new("the time is too long")),
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}
