use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::ValueError;

/// Keys of the view: a path, and all that is below it. A segment that is `*` stands for any one segment.
///
/// `/tailorbird/v1/node/*/labels` covers `/tailorbird/v1/node/a/labels/rack`, and not `/tailorbird/v1/node/a`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPattern {
    text: Arc<str>,
}

impl KeyPattern {
    /// The pattern as text, without a final slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it covers a key.
    pub fn covers(&self, key: &str) -> bool {
        let (wanted, key) = self.follow(key);
        wanted.is_empty() && ends(key)
    }

    /// Goes along a path as far as it fits; what is left of the pattern and of the path. Paths of thousands of nodes are
    /// looked at: it goes byte by byte, and most end at the first that differs.
    fn follow<'a>(&'a self, path: &'a str) -> (&'a [u8], &'a [u8]) {
        let mut path = path.find('/').map_or(&[][..], |at| &path.as_bytes()[at..]);
        let mut wanted = self.text.as_bytes();
        while let Some((first, rest)) = wanted.split_first() {
            if *first == b'*' {
                let segment = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
                (wanted, path) = (rest, &path[segment..]);
                continue;
            }
            match path.split_first() {
                Some((own, behind)) if own == first => (wanted, path) = (rest, behind),
                _ => break,
            }
        }
        (wanted, path)
    }

    /// Whether it covers every key that another pattern covers.
    pub fn covers_pattern(&self, other: &KeyPattern) -> bool {
        self.covers(&other.text)
    }

    /// Whether there can be a key at or below `path`, or a key that `path` is below of, which the pattern covers.
    pub fn meets(&self, path: &str) -> bool {
        let (wanted, path) = self.follow(path.trim_end_matches('/'));
        (wanted.is_empty() || path.is_empty()) && ends(wanted) && ends(path)
    }

    /// The segments.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.text.split('/').skip(1)
    }
}

/// Whether a segment ended before what is left.
fn ends(left: &[u8]) -> bool {
    left.first().is_none_or(|byte| *byte == b'/')
}

impl FromStr for KeyPattern {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let trimmed = text.strip_suffix('/').unwrap_or(text);
        if !text.starts_with('/') {
            return Err(ValueError::new("not a path of keys: it must begin with `/`"));
        }
        if text.len() > 1024 || text.contains(char::is_control) {
            return Err(ValueError::new("not a path of keys: too long, or with control characters"));
        }
        if trimmed
            .split('/')
            .skip(1)
            .any(|segment| segment.is_empty() || (segment.contains('*') && segment != "*"))
        {
            return Err(ValueError::new(
                "not a path of keys: an empty segment, or `*` beside other characters",
            ));
        }
        Ok(Self { text: trimmed.into() })
    }
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.text.is_empty() { "/" } else { &self.text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> KeyPattern {
        text.parse().expect(text)
    }

    #[test]
    fn a_pattern_covers_by_segments() {
        let labels = pattern("/tailorbird/v1/node/*/labels/");
        for (key, covered) in [
            ("/tailorbird/v1/node/a/labels", true),
            ("/tailorbird/v1/node/a/labels/x/y", true),
            ("/tailorbird/v1/node/a/labelsx", false),
            ("/tailorbird/v1/node/a", false),
            ("/calico", false),
        ] {
            assert_eq!(labels.covers(key), covered, "{key}");
        }
        assert!(pattern("/").covers("/x") && pattern("/").covers_pattern(&labels));
        assert!(
            pattern("/tailorbird").covers_pattern(&labels) && !labels.covers_pattern(&pattern("/tailorbird"))
        );
        assert!(!pattern("/tailorbird/v1/node/a").covers_pattern(&labels));
        assert!(labels.meets("/tailorbird/v1") && labels.meets("/") && labels.meets("/tailorbird/v1/node/b"));
        assert!(!labels.meets("/calico") && !labels.meets("/tailorbird/v1/node/b/unschedulable"));
        assert!(labels.meets("") && labels.meets("/tailorbird/v1/node/b/labels/x"));
        assert!(!labels.meets("/tailorbird/v1/nod") && !labels.meets("/tailorbird/v1/node/b/labelsx"));
        assert!(!labels.meets("/tailorbird/v10/node"));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "x", "a/b", "//", "/a//b", "/a*", "/a\n"] {
            assert!(text.parse::<KeyPattern>().is_err(), "{text:?}");
        }
    }
}
