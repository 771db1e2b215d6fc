//! Keeps passwords out of messages.

use crate::types::Password;

const KEYWORD: &str = "password";

/// A line as it may be shown. If it has the word `password`, or the line before it ends with it, whatever stands in
/// double quotes is hidden, and so is the word after `password` if it has no quotes.
pub(super) fn mask(before: &str, line: &str) -> String {
    let lower = line.to_ascii_lowercase();
    let continued = before.trim_end().to_ascii_lowercase().ends_with(KEYWORD);
    if !continued && !lower.contains(KEYWORD) {
        return line.to_owned();
    }
    let mut shown = String::new();
    let (mut rest, mut secret_next) = (line, continued);
    while !rest.is_empty() {
        let (piece, secret, tail) = next_piece(rest, secret_next);
        shown.push_str(if secret { Password::HIDDEN } else { piece });
        if !piece.trim().is_empty() {
            secret_next = !secret && piece.to_ascii_lowercase().trim_end().ends_with(KEYWORD);
        }
        rest = tail;
    }
    shown
}

/// The next piece of a line, whether it is secret, and the rest: a quoted text, a blank, or a word.
fn next_piece(text: &str, secret_next: bool) -> (&str, bool, &str) {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = quoted.find('"').map_or(text.len(), |at| at + 2);
        return (&text[..end], true, &text[end..]);
    }
    let blank = text.starts_with([' ', '\t']);
    let end = if blank {
        text.find(|c| c != ' ' && c != '\t')
    } else {
        text.find([' ', '\t', '"', ';']).filter(|at| *at > 0)
    };
    let end = end.unwrap_or_else(|| if text.starts_with(';') { 1 } else { text.len() });
    (&text[..end], secret_next && !blank && !text.starts_with(';'), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, line: &str, shown: &str) {
        assert_eq!(mask(before, line), shown);
    }

    #[test]
    fn what_may_be_a_password_is_hidden() {
        check("", r#"  password "geheim" foo;"#, "  password (hidden) foo;");
        check("", r#"  password "ge;heim"#, "  password (hidden)");
        check("", r#"  Password geheim;"#, "  Password (hidden);");
        check("  password", r#"  "geheim";"#, "  (hidden);");
        check("password", r#"geheim; x"#, "(hidden); x");
        check("", r#"interface "eth0"; password"a b";"#, "interface (hidden); password(hidden);");
    }

    #[test]
    fn other_lines_are_shown() {
        check("", r#"  interface "eth0";"#, r#"  interface "eth0";"#);
        check(r#"password "x";"#, r#"  interface "eth0";"#, r#"  interface "eth0";"#);
    }
}
