use std::fmt;

/// What is wrong with a stream, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset} of the stream: {reason}")]
pub struct Error {
    /// How many bytes of the stream come before the place.
    pub offset: u64,
    /// What is wrong there.
    pub reason: String,
}

/// Why a value could not be read from what there is.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The rest of it has not come yet: so many bytes of the buffer are needed to go on.
    Incomplete { needed: usize },
    /// It cannot be read.
    Broken(String),
}

impl Stop {
    pub(crate) fn broken(reason: impl Into<String>) -> Self {
        Stop::Broken(reason.into())
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Incomplete { .. } => f.write_str("the value is not complete"),
            Stop::Broken(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Stop {}

impl serde::de::Error for Stop {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Stop::Broken(reason.to_string())
    }
}
