use std::fmt;
use std::path::PathBuf;

/// Why a template resource cannot be used: the file, the field if one is at fault, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceError {
    /// The resource's file, relative to the folder of resources.
    pub file: String,
    /// The field at fault.
    pub field: Option<String>,
    /// What is wrong.
    pub reason: String,
    /// The group that the resource belongs to, if its file says as much; the group is held up, and no other.
    pub group: Option<String>,
}

impl fmt::Display for ResourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{}: `{field}`: {}", self.file, self.reason),
            None => write!(f, "{}: {}", self.file, self.reason),
        }
    }
}

impl std::error::Error for ResourceError {}

/// Why a file was not rendered. It never holds a value that may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderError {
    /// The resource's file.
    pub resource: String,
    /// The template or partial at fault.
    pub template: String,
    /// The line in it, from 1.
    pub line: Option<usize>,
    /// The collection and the key of the item that was being rendered, if it was one.
    pub item: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: template {}", self.resource, self.template)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(item) = &self.item {
            write!(f, " ({item})")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for RenderError {}

/// Why the built-in templates were not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A file is there and is not the same; nothing was written.
    #[error("{} exists and differs; nothing was written", .0.display())]
    Differs(PathBuf),
    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}
