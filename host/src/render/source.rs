use std::path::{Component, Path, PathBuf};

use super::builtin;

/// The longest source: 1 MiB.
const MAX_SOURCE: usize = 1 << 20;

/// How deep blocks and sub-expressions may be nested.
const MAX_DEPTH: usize = 40;

/// Where the sources of templates are.
#[derive(Debug, Clone)]
pub(super) enum Sources {
    BuiltIn,
    Folder(PathBuf),
}

impl Sources {
    /// Reads a source by the path that a resource or a partial names.
    pub(super) fn read(&self, name: &str) -> Result<String, String> {
        let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if name.is_empty() || !Path::new(name).components().all(inside) {
            return Err(format!("`{name}` is no path inside the folder of templates"));
        }
        match self {
            Sources::BuiltIn => {
                builtin::template(name).map(str::to_owned).ok_or_else(|| format!("no template `{name}`"))
            }
            Sources::Folder(folder) => read_inside(folder, name),
        }
    }

    /// Reads a partial: `name`, else `name.hbs`.
    pub(super) fn read_partial(&self, name: &str) -> Result<String, String> {
        self.read(name).or_else(|first| self.read(&format!("{name}.hbs")).map_err(|_| first))
    }
}

fn read_inside(folder: &Path, name: &str) -> Result<String, String> {
    let fail = |error: std::io::Error| format!("`{name}`: {error}");
    let root = folder
        .canonicalize()
        .map_err(|error| format!("the folder of templates {}: {error}", folder.display()))?;
    let path = folder.join(name).canonicalize().map_err(fail)?;
    if !path.starts_with(&root) {
        return Err(format!("`{name}` leads out of the folder of templates"));
    }
    let meta = std::fs::metadata(&path).map_err(fail)?;
    if !meta.is_file() {
        return Err(format!("`{name}` is no file"));
    }
    if meta.len() > MAX_SOURCE as u64 {
        return Err(format!("`{name}` is longer than {MAX_SOURCE} bytes"));
    }
    std::fs::read_to_string(&path).map_err(fail)
}

/// Refuses what must not reach the parser: too long or too deep a source, control characters, and Go's language.
pub(super) fn check(name: &str, source: &str) -> Result<(), String> {
    if source.len() > MAX_SOURCE {
        return Err(format!("`{name}` is longer than {MAX_SOURCE} bytes"));
    }
    let stray = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if let Some(at) = source.find(stray) {
        return Err(format!("`{name}`, line {}: a control character", line_of(source, at)));
    }
    let mut depth = 0usize;
    for (at, tag) in tags(source) {
        let line = line_of(source, at);
        if let Some(word) = go_word(tag) {
            return Err(format!(
                "`{name}`, line {line}: `{word}` is Go's template language, which is not supported; templates are \
                 written in Handlebars (`{{{{name}}}}`, `{{{{#each …}}}}`, `{{{{#if …}}}}`; see docs/templates.md)"
            ));
        }
        let tag = tag.trim_start_matches(['{', '~']);
        match tag.as_bytes().first() {
            Some(b'#') => depth += 1,
            Some(b'/') => depth = depth.saturating_sub(1),
            _ => {}
        }
        let mut open = 0usize;
        let deepest = tag.bytes().map(|b| {
            match b {
                b'(' => open += 1,
                b')' => open = open.saturating_sub(1),
                _ => {}
            }
            open
        });
        if depth.max(deepest.max().unwrap_or(0)) > MAX_DEPTH {
            return Err(format!("`{name}`, line {line}: nested deeper than {MAX_DEPTH}"));
        }
    }
    Ok(())
}

fn line_of(source: &str, at: usize) -> usize {
    source[..at].matches('\n').count() + 1
}

/// The insides of all `{{…}}` with their places, comments left out.
fn tags(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + source[from..].find("{{")?;
            let inside = at + 2;
            let rest = &source[inside..];
            let comment = rest.trim_start_matches('~');
            let close = if comment.starts_with("!--") { "--" } else { "}}" };
            let skip = rest.len() - comment.len() + if close == "--" { 3 } else { 0 };
            let end = rest.get(skip..).and_then(|rest| rest.find(close)).map_or(rest.len(), |end| skip + end);
            from = (inside + end).min(source.len());
            if !comment.starts_with('!') {
                return Some((at, &rest[..end]));
            }
        }
    })
}

/// The word that gives a tag away as one of Go's template language.
fn go_word(tag: &str) -> Option<String> {
    const WORDS: [&str; 9] =
        ["range", "if", "end", "define", "template", "with", "block", "break", "continue"];
    let trimmed = tag.strip_prefix('-').unwrap_or(tag).trim();
    let first: &str = trimmed.split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
    let field = |text: &str| {
        text.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    let bare = strip_strings(trimmed);
    let argument = bare.split([' ', '\t', '\n', '(', ')']).find(|word| field(word) || word.starts_with('$'));
    let odd =
        tag.starts_with("- ") || tag.ends_with(" -") || bare.contains(":=") || trimmed.starts_with("/*");
    if WORDS.contains(&first) || field(first) || first.starts_with('$') {
        Some(format!("{{{{{first}"))
    } else if let Some(word) = argument {
        Some(word.to_owned())
    } else if odd || (bare.contains(" | ") && !bare.contains(" as |")) {
        Some(format!("{{{{{}}}}}", trimmed.chars().take(40).collect::<String>()))
    } else {
        None
    }
}

/// The text without what stands between quotes.
fn strip_strings(text: &str) -> String {
    let mut quote = None;
    text.chars()
        .filter(|&c| match quote {
            Some(open) => {
                if c == open {
                    quote = None;
                }
                false
            }
            None if matches!(c, '"' | '\'' | '`') => {
                quote = Some(c);
                false
            }
            None => true,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_templates_are_recognised() {
        for go in [
            "{{.Name}}",
            "{{- $x := 1 -}}",
            "{{range gets \"/x\"}}a{{end}}",
            "{{define \"x\"}}",
            "{{if eq .x \"y\"}}",
            "{{ if exists \"/x\" }}",
            "{{$node}}",
            "{{getv \"/x\" | upper}}",
            "{{end}}",
            "{{/* comment */}}",
            "{{json (getv .Key)}}",
        ] {
            let error = check("x.tmpl", go).expect_err(go);
            assert!(error.contains("Go's template language") && error.contains("line 1"), "{error}");
        }
    }

    #[test]
    fn handlebars_is_not_taken_for_go() {
        for hbs in [
            "{{name}} {{this.name}} {{./name}} {{../name}} {{.}} {{this}}",
            "{{#if (eq log \"a.b $x := |\")}}{{else if x}}{{else}}{{/if}}",
            "{{#each xs as |x i|}}{{x.y}}{{/each}}",
            "{{getv \"/x\"}}{{~name~}}{{!-- {{.Name}} {{range}} --}}{{! if .x }}",
            "{ a { b } }",
        ] {
            assert_eq!(check("x.hbs", hbs), Ok(()), "{hbs}");
        }
    }

    #[test]
    fn deep_sources_are_refused() {
        assert!(check("x", &"{{#if a}}".repeat(50)).is_err());
        assert!(check("x", &format!("{{{{f {}}}}}", "(f ".repeat(50))).is_err());
        assert!(check("x", "a\0b").is_err());
    }
}
