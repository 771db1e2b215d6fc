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
        // Keys of thousands of nodes are looked at: byte by byte, and most end at the first that differs.
        let mut key = key.find('/').map_or(&[][..], |at| &key.as_bytes()[at..]);
        let mut wanted = self.text.as_bytes();
        while let Some((slash, rest)) = wanted.split_first() {
            if *slash == b'*' {
                let segment = key.iter().position(|byte| *byte == b'/').unwrap_or(key.len());
                (wanted, key) = (rest, &key[segment..]);
                continue;
            }
            match key.split_first() {
                Some((own, behind)) if own == slash => (wanted, key) = (rest, behind),
                _ => return false,
            }
        }
        key.first().is_none_or(|own| *own == b'/')
    }

    /// Whether it covers every key that another pattern covers.
    pub fn covers_pattern(&self, other: &KeyPattern) -> bool {
        self.covers(&other.text)
    }

    /// Whether there can be a key at or below `path`, or a key that `path` is below of, which the pattern covers.
    pub fn meets(&self, path: &str) -> bool {
        let mut path = path.trim_end_matches('/').split('/').skip(1);
        self.segments().all(|wanted| path.next().is_none_or(|segment| wanted == "*" || wanted == segment))
    }

    /// The segments.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.text.split('/').skip(1)
    }
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
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "x", "a/b", "//", "/a//b", "/a*", "/a\n"] {
            assert!(text.parse::<KeyPattern>().is_err(), "{text:?}");
        }
    }
}
