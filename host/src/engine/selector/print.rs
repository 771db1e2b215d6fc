use std::fmt;

use super::{Comparison, Op, Selector};

/// What is still to be written.
enum Todo {
    Text(&'static str),
    Node(usize),
}

/// The canonical form: one spelling of each operator, double quotes where that is possible, sets sorted, and no
/// parentheses but those that are needed. It parses back to the same program, unless its blanks make it too long.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.left_operands();
        let mut todo = vec![Todo::Node(self.program.len() - 1)];
        while let Some(next) = todo.pop() {
            let at = match next {
                Todo::Text(text) => {
                    f.write_str(text)?;
                    continue;
                }
                Todo::Node(at) => at,
            };
            match &self.program[at] {
                Op::All => f.write_str("all()")?,
                Op::Global => f.write_str("global()")?,
                Op::Has(key) => write!(f, "has({})", self.keys[*key])?,
                Op::Compare(key, comparison) => write!(f, "{} {comparison}", self.keys[*key])?,
                Op::Not => {
                    f.write_str("!")?;
                    let simple = matches!(self.program[at - 1], Op::All | Op::Global | Op::Has(_));
                    push(&mut todo, at - 1, !simple);
                }
                op @ (Op::And | Op::Or) => {
                    let and = matches!(op, Op::And);
                    // `&&` and `||` group to the left.
                    let right_parens = if and {
                        matches!(self.program[at - 1], Op::And | Op::Or)
                    } else {
                        matches!(self.program[at - 1], Op::Or)
                    };
                    push(&mut todo, at - 1, right_parens);
                    todo.push(Todo::Text(if and { " && " } else { " || " }));
                    push(&mut todo, left[at], and && matches!(self.program[left[at]], Op::Or));
                }
            }
        }
        Ok(())
    }
}

impl Selector {
    /// Where the left operand of each two-sided operator ends; the right one ends just before the operator.
    fn left_operands(&self) -> Vec<usize> {
        let mut left = vec![0; self.program.len()];
        let mut stack: Vec<usize> = Vec::new();
        for (at, op) in self.program.iter().enumerate() {
            match op {
                Op::Not => drop(stack.pop()),
                Op::And | Op::Or => {
                    stack.pop();
                    left[at] = stack.pop().unwrap_or_default();
                }
                Op::All | Op::Global | Op::Has(_) | Op::Compare(..) => {}
            }
            stack.push(at);
        }
        left
    }
}

fn push(todo: &mut Vec<Todo>, node: usize, parens: bool) {
    if parens {
        todo.extend([Todo::Text(")"), Todo::Node(node), Todo::Text("(")]);
    } else {
        todo.push(Todo::Node(node));
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal(s) => write!(f, "== {}", Quoted(s)),
            Self::NotEqual(s) => write!(f, "!= {}", Quoted(s)),
            Self::In(set) => write!(f, "in {}", Set(set)),
            Self::NotIn(set) => write!(f, "not in {}", Set(set)),
            Self::Contains(s) => write!(f, "contains {}", Quoted(s)),
            Self::StartsWith(s) => write!(f, "starts with {}", Quoted(s)),
            Self::EndsWith(s) => write!(f, "ends with {}", Quoted(s)),
        }
    }
}

/// A string in the quotes that it does not hold; it never holds both kinds.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.0.contains('"') { '\'' } else { '"' };
        write!(f, "{quote}{}{quote}", self.0)
    }
}

struct Set<'a>(&'a [Box<str>]);

impl fmt::Display for Set<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, member) in self.0.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, Quoted(member))?;
        }
        f.write_str("}")
    }
}
