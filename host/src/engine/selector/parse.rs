use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Comparison, MAX_TEXT, Op, SelectorError};

/// What waits for its right operand, or for its end.
enum Pending {
    And,
    Or,
    Paren { column: usize, negated: bool },
}

/// Parses a text into the sorted labels that it mentions and the program that refers to them by index.
pub(super) fn program(text: &str) -> Result<(Vec<Arc<str>>, Vec<Op>), SelectorError> {
    if text.len() > MAX_TEXT {
        let column = text.char_indices().take_while(|(at, _)| *at < MAX_TEXT).count() + 1;
        return Err(SelectorError { column, message: format!("longer than {MAX_TEXT} bytes") });
    }
    let mut parser =
        Parser { cursor: Cursor { rest: text, column: 1 }, keys: BTreeMap::new(), program: Vec::new() };
    parser.cursor.skip_blanks();
    if parser.cursor.rest.is_empty() {
        parser.program.push(Op::All);
    } else {
        parser.expression()?;
    }
    Ok(parser.finish())
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    /// The labels, numbered as they come.
    keys: BTreeMap<&'a str, usize>,
    program: Vec<Op>,
}

impl<'a> Parser<'a> {
    /// Operator precedence with a stack of its own.
    fn expression(&mut self) -> Result<(), SelectorError> {
        let mut pending: Vec<Pending> = Vec::new();
        loop {
            let mut negated = false;
            while self.cursor.take("!") {
                negated = !negated;
            }
            let column = self.cursor.column;
            if self.cursor.take("(") {
                pending.push(Pending::Paren { column, negated });
                continue;
            }
            self.operand()?;
            self.negate(negated);
            // Closing parentheses, and then an operator or the end.
            loop {
                if self.cursor.rest.is_empty() {
                    return self.end(pending);
                } else if self.cursor.take("&&") {
                    while let Some(Pending::And) = pending.last() {
                        pending.pop();
                        self.program.push(Op::And);
                    }
                    pending.push(Pending::And);
                    break;
                } else if self.cursor.take("||") {
                    self.close(&mut pending);
                    pending.push(Pending::Or);
                    break;
                } else if self.cursor.rest.starts_with(')') {
                    self.close(&mut pending);
                    match pending.pop() {
                        Some(Pending::Paren { negated, .. }) => self.negate(negated),
                        _ => return self.cursor.error("a `)` without its `(`"),
                    }
                    self.cursor.take(")");
                } else {
                    return self.cursor.error("expected `&&`, `||`, `)` or the end");
                }
            }
        }
    }

    fn negate(&mut self, negated: bool) {
        if negated {
            self.program.push(Op::Not);
        }
    }

    /// Emits the operators that wait, down to the innermost open parenthesis.
    fn close(&mut self, pending: &mut Vec<Pending>) {
        loop {
            match pending.last() {
                Some(Pending::And) => self.program.push(Op::And),
                Some(Pending::Or) => self.program.push(Op::Or),
                _ => return,
            }
            pending.pop();
        }
    }

    fn end(&mut self, mut pending: Vec<Pending>) -> Result<(), SelectorError> {
        self.close(&mut pending);
        match pending.pop() {
            Some(Pending::Paren { column, .. }) => {
                self.cursor.error(format!("expected the `)` for the `(` of column {column}"))
            }
            _ => Ok(()),
        }
    }

    fn operand(&mut self) -> Result<(), SelectorError> {
        let start = self.cursor;
        let label = self.cursor.label();
        if label.is_empty() {
            return self.cursor.error("expected a label, `has(…)`, `all()`, `!` or `(`");
        }
        let op = match label {
            "has" if self.cursor.take("(") => {
                let key = self.cursor.label();
                if key.is_empty() {
                    return self.cursor.error("expected a label");
                }
                self.cursor.skip_blanks();
                self.cursor.expect(")")?;
                Op::Has(self.key(key))
            }
            "all" | "global" if self.cursor.take("(") => {
                self.cursor.expect(")")?;
                if label == "all" { Op::All } else { Op::Global }
            }
            _ => {
                self.cursor.skip_blanks();
                let comparison = self.comparison(start)?;
                Op::Compare(self.key(label), comparison)
            }
        };
        self.cursor.skip_blanks();
        self.program.push(op);
        Ok(())
    }

    fn comparison(&mut self, label: Cursor<'a>) -> Result<Comparison, SelectorError> {
        let cursor = &mut self.cursor;
        Ok(if cursor.take("==") {
            Comparison::Equal(cursor.string()?)
        } else if cursor.take("!=") {
            Comparison::NotEqual(cursor.string()?)
        } else if cursor.take_words("not", "in", true) {
            Comparison::NotIn(cursor.set()?)
        } else if cursor.take_words("", "in", true) {
            Comparison::In(cursor.set()?)
        } else if cursor.take("contains") {
            Comparison::Contains(cursor.string()?)
        } else if cursor.take_words("starts", "with", false) {
            Comparison::StartsWith(cursor.string()?)
        } else if cursor.take_words("ends", "with", false) {
            Comparison::EndsWith(cursor.string()?)
        } else if cursor.rest.starts_with('=') {
            return cursor.error("expected `==`");
        } else {
            let message = "expected an operator after the label (`==`, `!=`, `in`, `not in`, `contains`, \
                           `starts with`, `ends with`)";
            // A label that ends the text is what is wrong, not the end.
            return if cursor.rest.is_empty() { label.error(message) } else { cursor.error(message) };
        })
    }

    fn key(&mut self, key: &'a str) -> usize {
        let next = self.keys.len();
        *self.keys.entry(key).or_insert(next)
    }

    /// Numbers the labels anew, in their order.
    fn finish(self) -> (Vec<Arc<str>>, Vec<Op>) {
        let Self { keys, mut program, .. } = self;
        let mut rank = vec![0; keys.len()];
        for (sorted, met) in keys.values().enumerate() {
            rank[*met] = sorted;
        }
        for op in &mut program {
            if let Op::Has(key) | Op::Compare(key, _) = op {
                *key = rank[*key];
            }
        }
        (keys.into_keys().map(Arc::from).collect(), program)
    }
}

/// The text that is left, and where it begins.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    rest: &'a str,
    column: usize,
}

impl<'a> Cursor<'a> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, SelectorError> {
        Err(SelectorError { column: self.column, message: message.into() })
    }

    /// Moves on by a number of bytes that ends on a character.
    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.column += taken.chars().count();
        self.rest = rest;
        taken
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        self.advance(self.rest.len() - rest.len());
    }

    /// Takes the token and the blanks after it, if it is next.
    fn take(&mut self, token: &str) -> bool {
        let found = self.rest.starts_with(token);
        if found {
            self.advance(token.len());
            self.skip_blanks();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), SelectorError> {
        if self.take(token) { Ok(()) } else { self.error(format!("expected `{token}`")) }
    }

    /// Takes two words with or without blanks between them; `bounded`: no letter or digit may follow.
    fn take_words(&mut self, first: &str, second: &str, bounded: bool) -> bool {
        let mut ahead = *self;
        if !ahead.rest.starts_with(first) {
            return false;
        }
        ahead.take(first);
        if !ahead.rest.starts_with(second) {
            return false;
        }
        ahead.advance(second.len());
        if bounded && ahead.rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return false;
        }
        ahead.skip_blanks();
        *self = ahead;
        true
    }

    /// Takes a label; empty if there is none. Blanks after it stay.
    fn label(&mut self) -> &'a str {
        let outside = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-'));
        self.advance(self.rest.find(outside).unwrap_or(self.rest.len()))
    }

    fn string(&mut self) -> Result<Box<str>, SelectorError> {
        let start = *self;
        let Some(quote) = self.rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return self.error("expected a string in quotes");
        };
        self.advance(1);
        let Some(end) = self.rest.find(quote) else {
            return start.error("a string without its end");
        };
        let value = self.advance(end);
        self.advance(1);
        self.skip_blanks();
        Ok(value.into())
    }

    /// Takes `{"a", "b"}`; it may be empty, and a comma may be last.
    fn set(&mut self) -> Result<Vec<Box<str>>, SelectorError> {
        self.expect("{")?;
        let mut members = Vec::new();
        while !self.take("}") {
            members.push(self.string()?);
            if !self.take(",") && !self.rest.starts_with('}') {
                return self.error("expected `,` or `}`");
            }
        }
        members.sort_unstable();
        members.dedup();
        Ok(members)
    }
}
