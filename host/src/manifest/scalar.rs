//! What an unquoted YAML scalar means: YAML 1.1 as Kubernetes' loader has it, without numbers in base 60.

use serde_json::{Number, Value};

/// The value of a plain scalar.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        _ => match text.as_bytes()[0] {
            b'0'..=b'9' | b'+' | b'-' | b'.' => {
                number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
            }
            _ => Value::String(text.to_owned()),
        },
    }
}

/// An integer (decimal, `0x`, `0o`, `0b`, or octal by a leading zero) or a float; underscores between digits are
/// allowed.
pub(super) fn number(text: &str) -> Option<Number> {
    let allowed =
        |b: u8| b.is_ascii_hexdigit() || matches!(b, b'+' | b'-' | b'.' | b'_' | b'x' | b'X' | b'o' | b'O');
    // The longest number there is any use for; a longer text of digits stays text.
    if text.len() > 128 || !text.bytes().all(allowed) {
        return None;
    }
    let plain: String = if text.contains('_') { text.replace('_', "") } else { text.to_owned() };
    integer(&plain).or_else(|| float(&plain))
}

fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    if !negative {
        return Some(value.into());
    }
    0_i64.checked_sub_unsigned(value).map(Number::from)
}

fn float(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let mantissa_is_good = match mantissa.split_once('.') {
        None => digits(mantissa),
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
    };
    let exponent_is_good = exponent.is_none_or(|part| digits(part.strip_prefix(['+', '-']).unwrap_or(part)));
    if !mantissa_is_good || !exponent_is_good {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    // What has no fraction and fits is an integer to every reader (`08`, `1e3`).
    if value.fract() == 0.0 && value.abs() < 9.0e15 && !mantissa.contains('.') {
        return Some((value as i64).into());
    }
    Number::from_f64(value)
}
