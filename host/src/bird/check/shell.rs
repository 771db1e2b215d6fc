//! Puts a file's path into a shell command without letting the path change the command.

use std::ffi::OsString;
use std::path::Path;

use super::{CheckError, SOURCE_VARIABLE};

const PLACEHOLDERS: [&str; 2] = ["{{.src}}", "{{src}}"];

/// Whether a command is about a file.
pub(super) fn names_source(command: &str) -> bool {
    PLACEHOLDERS.iter().any(|text| command.contains(text)) || command.contains(SOURCE_VARIABLE)
}

/// The command with the file in the place of its placeholders; see `Check::Command`.
pub(super) fn place_source(command: &str, file: &Path) -> Result<OsString, CheckError> {
    let variable = format!("\"${SOURCE_VARIABLE}\"");
    let mut text = command.to_owned();
    for placeholder in PLACEHOLDERS {
        for quote in ['"', '\''] {
            text = text.replace(&format!("{quote}{placeholder}{quote}"), placeholder);
        }
    }
    let mut placed = OsString::new();
    let (mut rest, mut quotes) = (text.as_str(), Quotes::default());
    while let Some((at, placeholder)) =
        PLACEHOLDERS.iter().filter_map(|text| Some((rest.find(text)?, *text))).min()
    {
        quotes.pass(&rest[..at]);
        placed.push(&rest[..at]);
        if quotes.open.is_none() {
            placed.push(&variable);
        } else if is_plain(file) {
            placed.push(file);
        } else {
            return Err(CheckError::UnsafePath { checker: command.to_owned(), path: file.to_owned() });
        }
        rest = &rest[at + placeholder.len()..];
    }
    placed.push(rest);
    Ok(placed)
}

fn is_plain(path: &Path) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@,:=".contains(byte);
    path.as_os_str().as_encoded_bytes().iter().all(plain)
}

/// Which quotes are open at a place of a shell command.
#[derive(Default)]
struct Quotes {
    open: Option<char>,
    escaped: bool,
}

impl Quotes {
    fn pass(&mut self, text: &str) {
        for c in text.chars() {
            match (self.open, c) {
                _ if self.escaped => self.escaped = false,
                (None | Some('"'), '\\') => self.escaped = true,
                (None, '"' | '\'') => self.open = Some(c),
                (Some(open), _) if open == c => self.open = None,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(command: &str, path: &str) -> Option<String> {
        place_source(command, Path::new(path)).ok().map(|text| text.to_string_lossy().into_owned())
    }

    #[test]
    fn the_path_is_a_variable_outside_quotes() {
        for command in
            ["bird -p -c {{.src}}", "bird -p -c {{src}}", "bird -p -c '{{.src}}'", "bird -p -c \"{{src}}\""]
        {
            assert_eq!(placed(command, "/a b/$(c)").as_deref(), Some("bird -p -c \"$TAILORBIRD_SRC\""));
        }
    }

    #[test]
    fn inside_quotes_only_a_plain_path_is_put_in() {
        let nested = "sh -c 'bird -p -c {{.src}}' && echo \"it\\\"s {{src}}\"";
        assert_eq!(
            placed(nested, "/a/b").as_deref(),
            Some("sh -c 'bird -p -c /a/b' && echo \"it\\\"s /a/b\"")
        );
        assert_eq!(placed(nested, "/a/b;c"), None);
    }
}
