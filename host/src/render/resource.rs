use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::{Table, Value};

use super::ResourceError;
use super::compile::{self, Program};
use super::functions::{PluginFunction, Scope};
use super::source::Sources;
use crate::engine::model::MODEL_VERSION;
use crate::types::{Family, Name};

/// What the text of a file is, which decides what its expressions may put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A file of BIRD: typed values and single words.
    Bird,
    /// Any text, without control characters.
    Text,
}

/// A template resource with its compiled source: everything about it has been checked.
#[derive(Debug)]
pub struct Resource {
    /// The file that defines it, relative to the folder of resources.
    pub file: String,
    /// The source, relative to the folder of templates.
    pub src: String,
    /// The file that it writes.
    pub dest: PathBuf,
    /// Resources of one group are swapped together.
    pub group: Option<String>,
    /// The mode of the file; unset, that of the existing file.
    pub mode: Option<u32>,
    /// The owner of the file.
    pub uid: Option<u32>,
    /// The group of the file.
    pub gid: Option<u32>,
    /// The command that checks a staged file.
    pub check_cmd: Option<String>,
    /// The command that runs after the file is replaced.
    pub reload_cmd: Option<String>,
    /// The family whose model the template sees.
    pub family: Option<Family>,
    /// The format of the file.
    pub format: Format,
    /// The paths that the template may read, absolute.
    pub keys: Vec<String>,
    /// The name of this node.
    pub node: Name,
    pub(super) program: Program,
}

/// Loads all resources of a configuration folder, for the node of this name: the files under `conf.d`, at any
/// depth, whose names end in `toml`, in the order of their paths.
///
/// A resource that cannot be used is an error of its own and does not touch the others. A folder without
/// `conf.d` has none.
pub fn load(folder: &Path, node: &Name) -> Vec<Result<Resource, ResourceError>> {
    load_with(folder, node, &[])
}

/// The same with functions of plugins at hand.
pub fn load_with(
    folder: &Path,
    node: &Name,
    functions: &[PluginFunction],
) -> Vec<Result<Resource, ResourceError>> {
    let root = folder.join("conf.d");
    let mut found = Vec::new();
    // Folders that begin with two dots are how Kubernetes keeps the versions of a mounted ConfigMap.
    let walk = walkdir::WalkDir::new(&root).follow_links(true).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|entry| !entry.file_name().to_string_lossy().starts_with("..")) {
        match entry {
            Ok(entry)
                if entry.file_type().is_file() && entry.file_name().to_string_lossy().ends_with("toml") =>
            {
                let path = entry.path();
                let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
                found.push((name, fs::read_to_string(path).map_err(|error| error.to_string())));
            }
            Ok(_) => {}
            Err(error)
                if error.depth() == 0
                    && error.io_error().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound) => {}
            Err(error) => {
                let name = error.path().unwrap_or(&root).display().to_string();
                found.push((name, Err(error.to_string())));
            }
        }
    }
    load_all(found, &Sources::Folder(folder.join("templates")), node, functions)
}

/// Loads resources from their texts. Of two that write the same file the second is an error.
pub(super) fn load_all(
    files: impl IntoIterator<Item = (String, Result<String, String>)>,
    sources: &Sources,
    node: &Name,
    functions: &[PluginFunction],
) -> Vec<Result<Resource, ResourceError>> {
    let mut owners: BTreeMap<PathBuf, String> = BTreeMap::new();
    files
        .into_iter()
        .map(|(file, text)| {
            let unreadable = |reason| ResourceError { file: file.clone(), field: None, reason, group: None };
            let text = text.map_err(unreadable)?;
            let fail = |(field, reason): Fault| ResourceError {
                file: file.clone(),
                field,
                reason,
                group: group_of(&text),
            };
            let resource = parse(&file, &text, sources, node, functions).map_err(fail)?;
            if let Some(owner) = owners.insert(resource.dest.clone(), file.clone()) {
                owners.insert(resource.dest.clone(), owner.clone());
                return Err(fail(at("dest", format!("{} is written by {owner}", resource.dest.display()))));
            }
            Ok(resource)
        })
        .collect()
}

/// The group that a resource means to belong to, whatever else is wrong with it.
fn group_of(text: &str) -> Option<String> {
    let root: Table = text.parse().ok()?;
    let template = root.get("template")?;
    let dest = Path::new(template.get("dest")?.as_str()?);
    Some(group_name(template.get("group").and_then(Value::as_str), dest))
}

/// The name of a resource's group: its own, or one made of its file's name.
fn group_name(group: Option<&str>, dest: &Path) -> String {
    let own = || dest.file_name().map_or("file".to_owned(), |name| name.to_string_lossy().into_owned());
    group.map_or_else(own, str::to_owned)
}

impl Resource {
    /// The name of the group: that of the resource, or one made of its file's name.
    pub fn group_name(&self) -> String {
        group_name(self.group.as_deref(), &self.dest)
    }
}

/// The field at fault and the reason.
type Fault = (Option<String>, String);

fn at(field: &str, reason: impl Into<String>) -> Fault {
    (Some(field.to_owned()), reason.into())
}

fn parse(
    file: &str,
    text: &str,
    sources: &Sources,
    node: &Name,
    functions: &[PluginFunction],
) -> Result<Resource, Fault> {
    let mut root: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        (None, format!("{line}no TOML: {}", error.message()))
    })?;
    let Some(Value::Table(template)) = root.remove("template") else {
        return Err(at("template", "the section is missing"));
    };
    if let Some(key) = root.keys().next() {
        return Err(at(key, "unknown key"));
    }
    let mut fields = Fields(template);

    let dest = PathBuf::from(fields.required("dest")?);
    if !dest.is_absolute() || dest.file_name().is_none() || dest.components().any(|c| c.as_os_str() == "..") {
        return Err(at("dest", "not an absolute path of a file"));
    }
    let src = fields.required("src")?;
    let group = fields.text("group")?;
    if group.as_ref().is_some_and(|group| group.parse::<Name>().is_err()) {
        return Err(at("group", "not a name (letters, digits, `-`, `_`, `.`)"));
    }
    let family = match fields.text("family")?.as_deref() {
        None => None,
        Some("v4") => Some(Family::V4),
        Some("v6") => Some(Family::V6),
        Some(_) => return Err(at("family", "neither `v4` nor `v6`")),
    };
    let format = match fields.text("format")?.as_deref() {
        None | Some("bird") => Format::Bird,
        Some("text") => Format::Text,
        Some(_) => return Err(at("format", "neither `bird` nor `text`")),
    };
    if let Some(version) = fields.number("model")?
        && (version == 0 || version > MODEL_VERSION)
    {
        return Err(at("model", format!("version {version} is not known; this program has {MODEL_VERSION}")));
    }
    let mode = match fields.text("mode")? {
        None => None,
        Some(text) => match u32::from_str_radix(&text, 8) {
            Ok(mode) if mode <= 0o7777 && !text.starts_with('+') => Some(mode),
            _ => return Err(at("mode", "not an octal mode such as \"0644\"")),
        },
    };
    let (uid, gid) = (fields.number("uid")?, fields.number("gid")?);
    let (check_cmd, reload_cmd) = (fields.text("check_cmd")?, fields.text("reload_cmd")?);
    let prefix = fields.text("prefix")?.unwrap_or_default();
    let prefix = path("prefix", &prefix, node)?;
    let mut keys = Vec::new();
    for key in fields.list("keys")? {
        keys.push(format!("{prefix}{}", path("keys", &key, node)?));
    }
    if let Some(key) = fields.0.keys().next() {
        return Err(at(key, "unknown key"));
    }

    let scope =
        Scope { prefix: prefix.into(), keys: keys.iter().map(|key| Arc::from(key.as_str())).collect() };
    let program = compile::compile(sources, &src, family.is_some(), format, scope, functions)
        .map_err(|reason| at("src", reason))?;
    Ok(Resource {
        file: file.to_owned(),
        src,
        dest,
        group,
        mode,
        uid,
        gid,
        check_cmd,
        reload_cmd,
        family,
        format,
        keys,
        node: node.clone(),
        program,
    })
}

/// A path of the view in its plain form: `/a/b`, or empty for the root. `//NODENAME` is `/` and this node's name.
fn path(field: &str, text: &str, node: &Name) -> Result<String, Fault> {
    if text.chars().any(char::is_control) {
        return Err(at(field, "a control character"));
    }
    let text = text.replace("//NODENAME", &format!("/{node}"));
    let parts = text.split('/').filter(|part| !part.is_empty());
    Ok(parts.flat_map(|part| ["/", part]).collect())
}

/// The fields of a resource that have not been read yet.
struct Fields(Table);

impl Fields {
    fn text(&mut self, name: &str) -> Result<Option<String>, Fault> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(at(name, "not a text")),
        }
    }

    fn required(&mut self, name: &str) -> Result<String, Fault> {
        self.text(name)?.filter(|text| !text.is_empty()).ok_or_else(|| at(name, "missing"))
    }

    fn number(&mut self, name: &str) -> Result<Option<u32>, Fault> {
        match self.0.remove(name) {
            None => Ok(None),
            // The value that confd takes for "not set".
            Some(Value::Integer(-1)) => Ok(None),
            Some(Value::Integer(n)) => u32::try_from(n).map(Some).map_err(|_| at(name, "out of range")),
            Some(_) => Err(at(name, "not a number")),
        }
    }

    fn list(&mut self, name: &str) -> Result<Vec<String>, Fault> {
        let not_texts = || at(name, "not a list of texts");
        match self.0.remove(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(values)) => {
                values.into_iter().map(|v| v.as_str().map(str::to_owned).ok_or_else(not_texts)).collect()
            }
            Some(_) => Err(not_texts()),
        }
    }
}
