//! From a rendering to files on disk: which files go together, what checks them, and what became of each group.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::bird::check::{Check, Daemon, MissingDaemon};
use crate::render::{RenderedFile, Rendering, ResourceError, Text};
use crate::stage::{self, Content, FileCheck, Options, Outcome, StageError, StagedFile};

/// Where files go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// To each resource's own destination.
    Own,
    /// All into this folder, under their own names.
    Folder(PathBuf),
}

impl Destination {
    /// Where a file goes.
    pub fn of(&self, dest: &Path) -> PathBuf {
        match (self, dest.file_name()) {
            (Destination::Folder(folder), Some(name)) => folder.join(name),
            _ => dest.to_owned(),
        }
    }
}

/// The files of one group, rendered at one revision.
#[derive(Debug)]
pub struct Group {
    /// The name.
    pub name: String,
    /// The files, with their final destinations.
    pub files: Vec<RenderedFile>,
    /// What could not be rendered; a group with any such file is not touched.
    pub errors: Vec<String>,
}

/// Why the files of two resources cannot both be written.
#[derive(Debug, thiserror::Error)]
#[error("two template resources write {}: give them different file names", .0.display())]
pub struct SameDestination(pub PathBuf);

/// Puts a rendering's files into groups. A resource without a group is one of its own; one that cannot be used holds
/// up its group and no other.
///
/// # Errors
/// Two files have one destination.
pub fn groups(
    rendering: Rendering,
    resources: &[(String, PathBuf)],
    unusable: &[ResourceError],
    to: &Destination,
) -> Result<Vec<Group>, SameDestination> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let empty = |name: &str| Group { name: name.to_owned(), files: Vec::new(), errors: Vec::new() };
    for error in unusable {
        let name = error.group.as_deref().unwrap_or_default();
        groups.entry(name.to_owned()).or_insert_with(|| empty(name)).errors.push(error.to_string());
    }
    let mut seen: Vec<PathBuf> = Vec::new();
    for (result, (name, dest)) in rendering.files.into_iter().zip(resources) {
        let group = groups.entry(name.clone()).or_insert_with(|| empty(name));
        let dest = to.of(dest);
        if seen.contains(&dest) {
            return Err(SameDestination(dest));
        }
        seen.push(dest.clone());
        match result {
            Ok(file) => group.files.push(RenderedFile { dest, ..file }),
            Err(error) => group.errors.push(error.to_string()),
        }
    }
    Ok(groups.into_values().collect())
}

/// The reason of a group that nothing can check.
pub const NO_CHECKER: &str = "no checker";

/// How a group is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The checkers accepted it.
    Accepted(Vec<String>),
    /// There is nothing that could check it, for this reason.
    Unchecked(&'static str),
    /// Nothing differs from what is there.
    Unchanged,
}

impl Group {
    /// The daemon of BIRD 1.x that reads the group, if it is one of theirs.
    pub fn daemon(&self) -> Option<Daemon> {
        [Daemon::Bird, Daemon::Bird6].into_iter().find(|daemon| daemon.program() == self.name)
    }

    /// The file that its daemon is started with, and that includes the others.
    pub fn main_file(&self) -> Option<&RenderedFile> {
        let name = format!("{}.cfg", self.daemon()?.program());
        self.files.iter().find(|file| file.dest.file_name().is_some_and(|own| own == &*name))
    }

    /// The checks of the group: its files' own commands; for the groups of BIRD 1.x without one, the daemon itself,
    /// if it is installed.
    ///
    /// # Errors
    /// The daemon is not where the environment says that it is.
    pub fn checks(&self) -> Result<Vec<FileCheck>, MissingDaemon> {
        let own = self.files.iter().filter_map(|file| {
            file.check_cmd
                .clone()
                .map(|command| FileCheck { dest: file.dest.clone(), check: Check::Command(command) })
        });
        let own: Vec<FileCheck> = own.collect();
        if !own.is_empty() {
            return Ok(own);
        }
        let Some(daemon) = self.daemon() else { return Ok(own) };
        Ok(match (self.main_file(), Check::installed(daemon)?) {
            (Some(file), Some(check)) => vec![FileCheck { dest: file.dest.clone(), check }],
            _ => own,
        })
    }

    /// Stages the group, checks it as a set, and swaps it in when `swap` says so.
    ///
    /// # Errors
    /// [`StageError`]; the files on disk are then those from before.
    pub fn deliver(
        &self,
        checks: Vec<FileCheck>,
        swap: bool,
        options: &Options,
    ) -> Result<(Outcome, Verdict), StageError> {
        let verdict = match &checks[..] {
            [] => Verdict::Unchecked(NO_CHECKER),
            checks => Verdict::Accepted(checks.iter().map(|check| check.check.name()).collect()),
        };
        let files = self.files.iter().map(|file| StagedFile {
            dest: file.dest.clone(),
            content: &file.text,
            mode: file.mode,
            uid: file.uid,
            gid: file.gid,
        });
        let group = stage::Group { name: self.name.clone(), files: files.collect(), checks };
        let prepared = stage::prepare(&group, options)?;
        if prepared.is_unchanged() {
            return Ok((prepared.outcome().clone(), Verdict::Unchanged));
        }
        prepared.check()?;
        let outcome = if swap { prepared.swap()? } else { prepared.outcome().clone() };
        Ok((outcome, verdict))
    }
}

impl Content for Text {
    fn len(&self) -> u64 {
        Text::len(self) as u64
    }

    fn chunks(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(Text::chunks(self))
    }
}
