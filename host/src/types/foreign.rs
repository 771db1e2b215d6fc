/// Somebody else's text on one line, without anything that a terminal or a log could take for more than text. `max` bytes of
/// it are kept at most.
pub(crate) fn tame(text: &str, max: usize) -> String {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut tamed = String::with_capacity(end);
    for c in text[..end].chars() {
        if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            tamed.extend(c.escape_default());
        } else {
            tamed.push(c);
        }
    }
    if end < text.len() {
        tamed.push('…');
    }
    tamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_on_its_line_and_within_its_bound() {
        for (text, max, tamed) in [
            ("v3.30.0", 7, "v3.30.0"),
            ("a\nb\u{1b}[31m", 80, "a\\nb\\u{1b}[31m"),
            ("\u{202e}txt", 80, "\\u{202e}txt"),
            ("123456789", 8, "12345678…"),
            ("1234567é", 8, "1234567…"),
        ] {
            assert_eq!(tame(text, max), tamed);
        }
    }
}
