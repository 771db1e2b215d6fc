/// Why a plugin cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin {plugin}: {reason}")]
pub struct LoadError {
    /// The plugin's name, or its path where the name is not known yet.
    pub plugin: String,
    /// What is wrong and what to do, as a phrase that follows the plugin's name.
    pub reason: String,
}

impl LoadError {
    pub(crate) fn new(plugin: &str, reason: impl Into<String>) -> Self {
        Self { plugin: plugin.to_owned(), reason: reason.into() }
    }
}

/// A guest's text on one line, without anything that a terminal or a log could take for more than text.
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
