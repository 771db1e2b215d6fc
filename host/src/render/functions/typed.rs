use serde_json::Value;

use super::{Reader, text_of, value};
use crate::bird::Literal;
use crate::types::{Community, ValueError};

type Answer = Result<Value, String>;

/// The longest symbol that BIRD reads.
const MAX_SYMBOL: usize = 64;

/// A string of BIRD: it has no escapes, so the text has no quote, and it ends with its line.
pub(super) fn quote(arguments: &[&Value], _: &Reader) -> Answer {
    let text = text_of(arguments[0])?;
    if text.contains(|c: char| c == '"' || c.is_control()) {
        return Err("the text has a double quote or a control character, which BIRD cannot write".to_owned());
    }
    Ok(format!("{}\"{text}\"", Literal::MARK).into())
}

/// A symbol of BIRD between single quotes.
pub(super) fn symbol(arguments: &[&Value], _: &Reader) -> Answer {
    let text = text_of(arguments[0])?;
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
    if text.is_empty() || text.len() > MAX_SYMBOL || !text.bytes().all(allowed) {
        return Err(format!("not a symbol (1 to {MAX_SYMBOL} letters, digits, `_`, `-`, `.`, `:`)"));
    }
    Ok(format!("{}'{text}'", Literal::MARK).into())
}

/// A community as a tuple: `65000:1` or `65000:1:2`.
pub(super) fn community(arguments: &[&Value], _: &Reader) -> Answer {
    let community: Community = text_of(arguments[0])?.parse().map_err(|error: ValueError| error.reason)?;
    Ok(format!("{}{}", Literal::MARK, Literal::community(community)).into())
}

pub(super) fn number(arguments: &[&Value], _: &Reader) -> Answer {
    value::integer(arguments[0]).map(Value::from)
}
