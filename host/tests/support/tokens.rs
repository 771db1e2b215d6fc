//! BIRD files compared as streams of tokens: comments and white space do not count.

/// A token and its line.
type Token<'a> = (usize, &'a str);

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut rest = line.trim_start();
        while !rest.is_empty() && !rest.starts_with('#') {
            let len = token_len(rest);
            tokens.push((number + 1, &rest[..len]));
            rest = rest[len..].trim_start();
        }
    }
    tokens
}

fn token_len(text: &str) -> usize {
    let first = text.chars().next().unwrap();
    if matches!(first, '"' | '\'')
        && let Some(end) = text[1..].find(first)
    {
        return end + 2;
    }
    let word = |c: char| c.is_ascii_alphanumeric() || "_.:/-".contains(c);
    match text.find(|c| !word(c)) {
        Some(0) => first.len_utf8(),
        Some(end) => end,
        None => text.len(),
    }
}

/// Says where two files first differ, if they do.
pub fn compare(expected: &str, actual: &str) -> Result<(), String> {
    let (expected, actual) = (tokens(expected), tokens(actual));
    for at in 0..expected.len().max(actual.len()) {
        let end = (0, "<end>");
        let (want, got) = (expected.get(at).unwrap_or(&end), actual.get(at).unwrap_or(&end));
        if want.1 != got.1 {
            let near: Vec<_> =
                expected[at.saturating_sub(8)..at.min(expected.len())].iter().map(|t| t.1).collect();
            return Err(format!(
                "after `{}` expected `{}` (line {}), got `{}` (line {})",
                near.join(" "),
                want.1,
                want.0,
                got.1,
                got.0
            ));
        }
    }
    Ok(())
}

/// The tokens with one blank between them.
pub fn normal(text: &str) -> String {
    tokens(text).into_iter().map(|(_, token)| token).collect::<Vec<_>>().join(" ")
}
