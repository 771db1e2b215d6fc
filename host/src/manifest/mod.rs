//! Manifests: files and folders of objects in YAML or JSON, read as a stream.
//!
//! A file is never held as a whole. A document is parsed at once if it is small; a large `List`, as `kubectl get -o
//! yaml` prints it, is taken apart and parsed item by item. A document that cannot be read is reported once, with its
//! file, number and line, and reading goes on behind it.
//!
//! What YAML leaves open is settled as Kubernetes' own loader does it (YAML 1.1: an unquoted `yes` is a boolean), save
//! that numbers in base 60 are text, and that a key that stands twice in a mapping is an error.

mod build;
mod input;
mod json;
mod scalar;
mod yaml;

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::resources::{self, Defaults, Document, Parsed};
use build::{Failure, Shape};

/// The largest object, and the largest document that is no list: 32 MiB of text.
pub const MAX_OBJECT_BYTES: usize = 32 << 20;

/// The depth to which mappings and lists may be nested.
pub const MAX_DEPTH: usize = 128;

/// How much YAML's aliases may add to one document: 8 MiB.
pub const MAX_ALIAS_BYTES: usize = 8 << 20;

/// Where a document or an item of a list stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub file: Arc<Path>,
    /// The document in the file, from 1; 0 when the file as a whole is meant.
    pub document: usize,
    /// The line in the file, from 1.
    pub line: u64,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.document {
            0 => write!(f, "{}", self.file.display()),
            document => write!(f, "{}: document {document}, line {}", self.file.display(), self.line),
        }
    }
}

/// What was found at a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// An object of a kind that is read; it may be malformed.
    Object(Parsed),
    /// An object of another kind.
    Ignored {
        /// Its `apiVersion`.
        api_version: String,
        /// Its `kind`.
        kind: String,
    },
    /// A file, document or item that cannot be read, and why.
    Problem(String),
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// YAML, with any number of documents.
    Yaml,
    /// JSON, with any number of values one behind the other.
    Json,
}

/// Reads files, and the `*.yaml`, `*.yml` and `*.json` files of folders (not of folders in them, and no hidden files),
/// in the order given; the files of a folder by name. Whatever is found goes to `sink` at once.
pub fn read(paths: &[PathBuf], defaults: &Defaults, sink: &mut dyn FnMut(Source, Entry)) {
    for path in paths {
        if path.is_dir() {
            match files_of(path) {
                Ok(files) => files.iter().for_each(|file| read_regular(file, defaults, sink)),
                Err(error) => {
                    sink(whole(path), Entry::Problem(format!("the folder cannot be read: {error}")));
                }
            }
        } else {
            read_file(path, defaults, sink);
        }
    }
}

/// Reads one stream; `file` only names it.
pub fn read_from(
    file: &Path,
    reader: impl BufRead,
    format: Format,
    defaults: &Defaults,
    sink: &mut dyn FnMut(Source, Entry),
) {
    let mut out = Out { file: file.into(), defaults, sink };
    let outcome = match format {
        Format::Yaml => yaml::read(reader, &mut out),
        Format::Json => json::read(reader, &mut out),
    };
    if let Err(error) = outcome {
        (out.sink)(whole(file), Entry::Problem(format!("the file cannot be read on: {error}")));
    }
}

/// Reads one file. What is there but no file, a pipe say, is a problem: it could keep the reader waiting for ever.
pub fn read_regular(path: &Path, defaults: &Defaults, sink: &mut dyn FnMut(Source, Entry)) {
    if path.metadata().is_ok_and(|meta| !meta.is_file()) {
        sink(whole(path), Entry::Problem("it is no regular file".to_owned()));
    } else {
        read_file(path, defaults, sink);
    }
}

/// Reads a text in YAML, or in JSON, that is a mapping.
///
/// # Errors
/// It is none: the line, and why.
pub(crate) fn read_mapping(text: &str) -> Result<Map<String, Value>, String> {
    let mut found = None;
    let read = build::parse(text, Shape::Mapping, &mut |_, value, _| found = Some(value));
    read.map_err(|Failure { line, reason }| format!("line {line}: {reason}"))?;
    match found {
        Some(Value::Object(map)) => Ok(map),
        _ => Err("there is no mapping in it".to_owned()),
    }
}

fn read_file(path: &Path, defaults: &Defaults, sink: &mut dyn FnMut(Source, Entry)) {
    let opened = File::open(path).and_then(|file| {
        let mut reader = BufReader::with_capacity(128 << 10, file);
        let format = format_of(path, &mut reader)?;
        Ok((reader, format))
    });
    match opened {
        Ok((reader, format)) => read_from(path, reader, format, defaults, sink),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            sink(whole(path), Entry::Problem("there is no such file or folder".to_owned()));
        }
        Err(error) => sink(whole(path), Entry::Problem(format!("the file cannot be read: {error}"))),
    }
}

/// The format by the file's ending, else by its first character.
fn format_of(path: &Path, reader: &mut impl BufRead) -> io::Result<Format> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => Ok(Format::Json),
        Some("yaml" | "yml") => Ok(Format::Yaml),
        _ => {
            let start = reader.fill_buf()?;
            let start = start.strip_prefix(input::BOM).unwrap_or(start);
            let first = start.iter().find(|b| !b.is_ascii_whitespace());
            Ok(if first == Some(&b'{') { Format::Json } else { Format::Yaml })
        }
    }
}

/// The files of a folder that [`read`] reads, by name.
///
/// # Errors
///
/// The folder cannot be listed.
pub fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let known = matches!(path.extension().and_then(|e| e.to_str()), Some("yaml" | "yml" | "json"));
        if known && !hidden && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn whole(path: &Path) -> Source {
    Source { file: path.into(), document: 0, line: 0 }
}

/// Where the formats send what they read.
struct Out<'a> {
    file: Arc<Path>,
    defaults: &'a Defaults,
    sink: &'a mut dyn FnMut(Source, Entry),
}

impl Out<'_> {
    /// Parses a value and passes it on. Items of a typed list, which have no kind of their own, get the list's.
    fn value(&mut self, document: usize, line: u64, mut value: Value, list: Option<&ListKind>) {
        if value.is_null() {
            return;
        }
        if let Some(items) = list_items(&mut value) {
            let kind = ListKind::of(&value);
            for item in items {
                self.value(document, line, item, kind.as_ref());
            }
            return;
        }
        if let (Some(list), Some(map)) = (list, value.as_object_mut())
            && !map.contains_key("kind")
        {
            map.insert("kind".to_owned(), list.kind.as_str().into());
            map.insert("apiVersion".to_owned(), list.api_version.as_str().into());
        }
        let entry = match resources::parse(&value, self.defaults) {
            Ok(Document::Object(parsed)) => Entry::Object(parsed),
            Ok(Document::Ignored { api_version, kind }) => Entry::Ignored { api_version, kind },
            Err(error) => Entry::Problem(error.to_string()),
        };
        (self.sink)(Source { file: self.file.clone(), document, line }, entry);
    }

    fn problem(&mut self, document: usize, line: u64, reason: String) {
        (self.sink)(Source { file: self.file.clone(), document, line }, Entry::Problem(reason));
    }
}

/// The items of a value that is a list of objects, taken out of it.
fn list_items(value: &mut Value) -> Option<Vec<Value>> {
    let map = value.as_object_mut()?;
    if !map.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List")) {
        return None;
    }
    match map.get_mut("items") {
        Some(Value::Array(items)) => Some(std::mem::take(items)),
        Some(Value::Null) | None => Some(Vec::new()),
        Some(_) => None,
    }
}

/// What the items of a typed list (`NodeList`) are.
#[derive(Debug, Clone)]
struct ListKind {
    kind: String,
    api_version: String,
}

impl ListKind {
    fn of(list: &Value) -> Option<Self> {
        let kind = list.get("kind")?.as_str()?.strip_suffix("List").filter(|kind| !kind.is_empty())?;
        Some(Self { kind: kind.to_owned(), api_version: list.get("apiVersion")?.as_str()?.to_owned() })
    }
}
