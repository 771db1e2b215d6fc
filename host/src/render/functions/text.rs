use serde_json::Value;

use super::{Reader, list_of, text_of};

type Answer = Result<Value, String>;

pub(super) fn base(arguments: &[&Value], _: &Reader) -> Answer {
    let text = text_of(arguments[0])?;
    Ok(text.rsplit('/').next().unwrap_or_default().into())
}

pub(super) fn dir(arguments: &[&Value], _: &Reader) -> Answer {
    let text = text_of(arguments[0])?;
    Ok(match text.rsplit_once('/') {
        Some(("", _)) => "/".into(),
        Some((dir, _)) => dir.into(),
        None => ".".into(),
    })
}

pub(super) fn concat(arguments: &[&Value], _: &Reader) -> Answer {
    arguments.iter().map(|argument| text_of(argument)).collect::<Result<String, _>>().map(Value::from)
}

pub(super) fn split(arguments: &[&Value], _: &Reader) -> Answer {
    let (text, separator) = (text_of(arguments[0])?, text_of(arguments[1])?);
    if separator.is_empty() {
        return Err("the separator is empty".to_owned());
    }
    Ok(text.split(separator.as_str()).collect())
}

pub(super) fn join(arguments: &[&Value], _: &Reader) -> Answer {
    let parts = list_of(arguments[0])?.iter().map(text_of).collect::<Result<Vec<_>, _>>()?;
    Ok(parts.join(&text_of(arguments[1])?).into())
}

pub(super) fn replace(arguments: &[&Value], _: &Reader) -> Answer {
    let (text, from, to) = (text_of(arguments[0])?, text_of(arguments[1])?, text_of(arguments[2])?);
    if from.is_empty() {
        return Err("the text to replace is empty".to_owned());
    }
    Ok(text.replace(&from, &to).into())
}

pub(super) fn upper(arguments: &[&Value], _: &Reader) -> Answer {
    Ok(text_of(arguments[0])?.to_uppercase().into())
}

pub(super) fn lower(arguments: &[&Value], _: &Reader) -> Answer {
    Ok(text_of(arguments[0])?.to_lowercase().into())
}

pub(super) fn contains(arguments: &[&Value], _: &Reader) -> Answer {
    match arguments[0] {
        Value::Array(values) => Ok(values.contains(arguments[1]).into()),
        text => Ok(text_of(text)?.contains(&text_of(arguments[1])?).into()),
    }
}

pub(super) fn underscore(arguments: &[&Value], _: &Reader) -> Answer {
    Ok(text_of(arguments[0])?.replace(['.', ':'], "_").into())
}
