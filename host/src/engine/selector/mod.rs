//! Calico's selector language over labels.
//!
//! A selector is kept as a flat program in postfix order: nothing in parsing, evaluating, printing or dropping it
//! recurses, so the nesting of a text costs memory in proportion and never the call stack.

mod parse;
mod print;

use std::sync::Arc;

use crate::resources::Labels;

/// The longest selector that is read, in bytes. The API itself allows 1024 characters.
pub const MAX_TEXT: usize = 64 * 1024;

/// A parsed selector.
///
/// ```
/// use tailorbird::engine::selector::Selector;
/// let selector = Selector::parse("role == 'spine' && !has(retired)").expect("valid");
/// assert!(selector.matches(&[("role".into(), "spine".into())].into_iter().collect()));
/// assert_eq!(selector.mentions().collect::<Vec<_>>(), ["retired", "role"]);
/// ```
#[derive(Debug, Clone)]
pub struct Selector {
    text: Arc<str>,
    keys: Vec<Arc<str>>,
    program: Vec<Op>,
    matches_empty: bool,
}

/// Why a text is not a selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct SelectorError {
    /// Where, in characters, beginning with 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

/// A step of the program. Operands come before their operator.
#[derive(Debug, Clone)]
enum Op {
    All,
    Global,
    Has(usize),
    Compare(usize, Comparison),
    Not,
    And,
    Or,
}

/// What is asked of a label's value. The sets are sorted and without repeats.
#[derive(Debug, Clone)]
enum Comparison {
    Equal(Box<str>),
    NotEqual(Box<str>),
    In(Vec<Box<str>>),
    NotIn(Vec<Box<str>>),
    Contains(Box<str>),
    StartsWith(Box<str>),
    EndsWith(Box<str>),
}

impl Comparison {
    fn holds(&self, value: Option<&str>) -> bool {
        let listed = |set: &[Box<str>], v: &str| set.binary_search_by(|member| (**member).cmp(v)).is_ok();
        match self {
            Self::Equal(s) => value == Some(&**s),
            Self::NotEqual(s) => value != Some(&**s),
            Self::In(set) => value.is_some_and(|v| listed(set, v)),
            Self::NotIn(set) => !value.is_some_and(|v| listed(set, v)),
            Self::Contains(s) => value.is_some_and(|v| v.contains(&**s)),
            Self::StartsWith(s) => value.is_some_and(|v| v.starts_with(&**s)),
            Self::EndsWith(s) => value.is_some_and(|v| v.ends_with(&**s)),
        }
    }
}

impl Selector {
    /// Parses a selector. A blank one matches everything.
    ///
    /// Words of the language are ordinary labels wherever a label is expected: only `has(`, `all(` and `global(`
    /// without a blank before the parenthesis are calls.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let (keys, program) = parse::program(text)?;
        let mut selector = Self { text: text.into(), keys, program, matches_empty: false };
        selector.matches_empty = selector.matches(&Labels::new());
        Ok(selector)
    }

    /// Whether something with these labels is selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        let value = |key: &usize| labels.get(&*self.keys[*key]).map(|v| &**v);
        let mut stack: Vec<bool> = Vec::with_capacity(8);
        // The parser gives every operator its operands, so the stack is never empty when one is taken.
        for op in &self.program {
            let result = match op {
                Op::All | Op::Global => true,
                Op::Has(key) => value(key).is_some(),
                Op::Compare(key, comparison) => comparison.holds(value(key)),
                Op::Not => !stack.pop().unwrap_or_default(),
                Op::And | Op::Or => {
                    let right = stack.pop().unwrap_or_default();
                    let left = stack.pop().unwrap_or_default();
                    if matches!(op, Op::And) { left && right } else { left || right }
                }
            };
            stack.push(result);
        }
        stack.pop().unwrap_or_default()
    }

    /// The labels whose values decide the result: unique, sorted.
    pub fn mentions(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| &**key)
    }

    /// Whether something without labels is selected.
    pub fn matches_empty(&self) -> bool {
        self.matches_empty
    }

    /// The text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Selectors are equal when they were written the same.
impl PartialEq for Selector {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Selector {}

impl std::str::FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}
