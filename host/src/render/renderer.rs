use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use handlebars::{Context, RenderContext, Renderable};
use serde_json::{Value, json};

use super::functions::SharedCalls;
use super::guard::{MAX_FILE_BYTES, Piece, Sink};
use super::slot::{At, Slot};
use super::text::TextBuilder;
use super::{RenderError, Resource, Text};
use crate::engine::model::{Base, MODEL_VERSION};
use crate::engine::{Changes, CollectionId, Snapshot};
use crate::policy::Reads;

/// A file as it must be.
#[derive(Debug, Clone)]
pub struct RenderedFile {
    /// The file.
    pub dest: PathBuf,
    /// Files of one group are swapped together.
    pub group: Option<String>,
    /// The mode; unset, that of the existing file.
    pub mode: Option<u32>,
    /// The owner.
    pub uid: Option<u32>,
    /// The owning group.
    pub gid: Option<u32>,
    /// The command that checks the staged file.
    pub check_cmd: Option<String>,
    /// The command that runs after the file is replaced.
    pub reload_cmd: Option<String>,
    /// The contents.
    pub text: Text,
    /// Whether the contents may differ from those of the last rendering without an error; true at the first.
    pub changed: bool,
}

/// How much work a rendering was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Items of collections that were looked at, whether they are others now or not.
    pub items_compared: usize,
    /// Items of collections that were rendered.
    pub fragments_rendered: usize,
    /// Those of them whose text was that of others but for some values, so that no template ran.
    pub fragments_shared: usize,
    /// Templates of files that were rendered.
    pub templates_rendered: usize,
    /// The bytes of text that both gave. Other text of the files is as it was in the rendering before.
    pub bytes_rendered: usize,
}

/// What a rendering gave.
#[derive(Debug)]
pub struct Rendering {
    /// A result for each resource, in their order.
    pub files: Vec<Result<RenderedFile, RenderError>>,
    /// The work.
    pub stats: Stats,
}

/// Renders snapshots, and keeps all text that a change cannot have touched.
#[derive(Debug)]
pub struct Renderer {
    files: Vec<File>,
    dirty: Changes,
    sink: Sink,
}

#[derive(Debug)]
struct File {
    resource: Resource,
    kept: Option<Kept>,
}

/// What is kept of a file.
#[derive(Debug, Clone)]
struct Kept {
    inputs: Inputs,
    pieces: Arc<[Piece]>,
    /// What the functions of plugins read for the file's own template, and the revision of the view then.
    reads: Arc<Reads>,
    seen: u64,
    slots: Vec<Slot>,
}

/// All that a file's own template can read.
#[derive(Debug, Clone)]
struct Inputs {
    base: Option<(u64, Arc<Base>)>,
    has: [bool; CollectionId::ALL.len()],
    keys: Vec<u64>,
}

impl Inputs {
    fn same(&self, other: &Self) -> bool {
        let base = match (&self.base, &other.base) {
            (None, None) => true,
            (Some((a, x)), Some((b, y))) => Arc::ptr_eq(x, y) || (a == b && x == y),
            _ => false,
        };
        base && self.has == other.has && self.keys == other.keys
    }
}

impl Renderer {
    /// A renderer of these resources.
    pub fn new(resources: Vec<Resource>) -> Self {
        let files = resources.into_iter().map(|resource| File { resource, kept: None }).collect();
        Self { files, dirty: Changes::default(), sink: Sink::default() }
    }

    /// The resources, in the order of the results.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.files.iter().map(|file| &file.resource)
    }

    /// Notes what a batch changed, so that the next rendering need not look at all items. To leave one out costs
    /// time and nothing else.
    pub fn note(&mut self, changes: &Changes) {
        if changes.from == changes.to {
            return;
        }
        if self.dirty.to != changes.from {
            self.dirty = Changes { from: changes.from, ..Changes::default() };
        }
        self.dirty.to = changes.to;
        for (place, keys) in &changes.items {
            self.dirty.items.entry(*place).or_default().extend(keys.iter().cloned());
        }
    }

    /// Renders every resource at a snapshot. A resource that fails does not stop the others.
    pub fn render(&mut self, snapshot: &Snapshot) -> Rendering {
        self.render_with(snapshot, None)
    }

    /// The same; the functions of plugins that the resources were loaded with are called here.
    pub fn render_with(&mut self, snapshot: &Snapshot, calls: Option<&SharedCalls>) -> Rendering {
        for file in &self.files {
            file.resource.program.calls.lend(calls.cloned());
        }
        let rendering = self.render_files(snapshot);
        for file in &self.files {
            file.resource.program.calls.lend(None);
        }
        rendering
    }

    fn render_files(&mut self, snapshot: &Snapshot) -> Rendering {
        let mut stats = Stats::default();
        let files = self
            .files
            .iter_mut()
            .map(|file| file.render(snapshot, &self.dirty, &mut self.sink, &mut stats))
            .collect();
        if self.dirty.to == snapshot.revision {
            self.dirty = Changes { from: snapshot.revision, to: snapshot.revision, items: BTreeMap::new() };
        }
        Rendering { files, stats }
    }
}

impl File {
    fn render(
        &mut self,
        snapshot: &Snapshot,
        changes: &Changes,
        sink: &mut Sink,
        stats: &mut Stats,
    ) -> Result<RenderedFile, RenderError> {
        let resource = &self.resource;
        let inputs = resource.inputs(snapshot);
        let mut changed = self.kept.is_none();
        let mut next = match &self.kept {
            Some(kept)
                if kept.inputs.same(&inputs) && !kept.reads.changed_since(kept.seen, &snapshot.view) =>
            {
                Kept { inputs, seen: snapshot.view.revision(), ..kept.clone() }
            }
            kept => {
                stats.templates_rendered += 1;
                let (pieces, reads) = resource.pieces(snapshot, &inputs)?;
                stats.bytes_rendered += pieces.iter().map(Piece::bytes).sum::<usize>();
                changed |= kept.as_ref().is_none_or(|kept| *kept.pieces != *pieces);
                let slots = kept.as_ref().map_or_else(
                    || vec![Slot::default(); resource.program.fragments.len()],
                    |kept| kept.slots.clone(),
                );
                let seen = snapshot.view.revision();
                Kept { inputs, pieces: pieces.into(), reads: reads.into(), seen, slots }
            }
        };

        let used: BTreeSet<usize> = next
            .pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Slot(slot) => Some(*slot),
                Piece::Literal(_) => None,
            })
            .collect();
        if let Some(family) = resource.family {
            for index in used {
                let (fragment, slot) = (&resource.program.fragments[index], &mut next.slots[index]);
                let collection = snapshot.model(family).collection(fragment.collection);
                let none = BTreeSet::new();
                let dirty = match slot.revision {
                    Some(at) if at == snapshot.revision => Some(&none),
                    Some(at) if changes.from <= at && changes.to == snapshot.revision => {
                        Some(changes.items.get(&(family, fragment.collection)).unwrap_or(&none))
                    }
                    _ => None,
                };
                let at = At { revision: snapshot.revision, view: &snapshot.view };
                let update = slot.update(&resource.program, fragment, at, collection, dirty, sink);
                // The text of the last item may have a password.
                sink.clear();
                let update = update.map_err(|error| {
                    let item = format!("{} {}", fragment.collection.name(), error.key);
                    resource.error(&error.error, Some(item))
                })?;
                stats.items_compared += update.compared;
                stats.fragments_rendered += update.rendered;
                stats.fragments_shared += update.shared;
                stats.bytes_rendered += update.bytes;
                changed |= update.changed;
            }
        }

        let mut text = TextBuilder::default();
        for piece in next.pieces.iter() {
            match piece {
                Piece::Literal(literal) => text.literal(literal),
                Piece::Slot(index) => text.fragments(&next.slots[*index].fragments),
            }
        }
        let text = text.build();
        if text.len() > MAX_FILE_BYTES {
            return Err(resource.fault(format!("the file is longer than {MAX_FILE_BYTES} bytes")));
        }
        self.kept = Some(next);
        Ok(RenderedFile {
            dest: resource.dest.clone(),
            group: resource.group.clone(),
            mode: resource.mode,
            uid: resource.uid,
            gid: resource.gid,
            check_cmd: resource.check_cmd.clone(),
            reload_cmd: resource.reload_cmd.clone(),
            text,
            changed,
        })
    }
}

impl Resource {
    fn inputs(&self, snapshot: &Snapshot) -> Inputs {
        let model = self.family.map(|family| snapshot.model(family));
        Inputs {
            base: model.map(|model| (model.base_revision, model.base.clone())),
            has: CollectionId::ALL
                .map(|id| model.is_some_and(|model| !model.collection(id).items.is_empty())),
            keys: self.keys.iter().map(|key| snapshot.view.revision_of(key)).collect(),
        }
    }

    /// Renders the file's own template.
    fn pieces(&self, snapshot: &Snapshot, inputs: &Inputs) -> Result<(Vec<Piece>, Reads), RenderError> {
        let mut root = match &inputs.base {
            Some((_, base)) => serde_json::to_value(base).map_err(|error| self.fault(error.to_string()))?,
            None => json!({ "node": { "name": self.node } }),
        };
        if let Value::Object(root) = &mut root {
            root.insert("version".to_owned(), MODEL_VERSION.into());
            if self.family.is_some() {
                let has =
                    CollectionId::ALL.iter().map(|id| (id.name().to_owned(), inputs.has[id.index()].into()));
                root.insert("has".to_owned(), Value::Object(has.collect()));
            }
        }
        let context = Context::from(root);
        let mut sink = Sink::default();
        let registry = &self.program.registry;
        let template = registry.get_template(&self.program.main);
        let template = template.ok_or_else(|| self.fault("the template is not compiled".to_owned()))?;
        self.program.calls.take_reads();
        let result = self.program.reader.with(&snapshot.view, || {
            template.render(registry, &context, &mut RenderContext::new(None), &mut sink)
        });
        result.map_err(|error| self.error(&error, None))?;
        Ok((sink.into_pieces(), self.program.calls.take_reads()))
    }

    fn error(&self, error: &handlebars::RenderError, item: Option<String>) -> RenderError {
        RenderError {
            resource: self.file.clone(),
            template: error.template_name.clone().unwrap_or_else(|| self.src.clone()),
            line: error.line_no,
            item,
            reason: self.program.reader.mask(error.reason().to_string()),
        }
    }

    fn fault(&self, reason: String) -> RenderError {
        RenderError {
            resource: self.file.clone(),
            template: self.src.clone(),
            line: None,
            item: None,
            reason,
        }
    }
}
